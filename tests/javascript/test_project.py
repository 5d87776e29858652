"""`tapui provider new --lang javascript`: the project runs, and its test passes."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from tapui.authoring.projects import Language, make
from tests.javascript.conftest import PROGRAMS, environment
from tests.rig.gateway import Gateway, Home, tapui_argv
from tests.rig.node import MODULE, module_in, node, typescript
from tests.rig.waiting import HUNG, until


def made(home: Home, language: Language) -> Path:
    """Make a project in a home; return its folder."""
    home.root.mkdir(exist_ok=True)
    make("my-tools", language, home.root)
    return home.root / "my-tools"


def test_a_project_runs_and_its_test_passes(home: Home, running: Gateway) -> None:
    new = ("provider", "new", "my-tools", "--lang", "javascript")
    done = subprocess.run(
        tapui_argv(*new),
        env=home.env(),
        cwd=home.root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "npm start" in done.stdout
    folder = home.root / "my-tools"
    text = "".join(file.read_text() for file in folder.iterdir())
    assert "{{" not in text.replace("${{", "")
    done = subprocess.run(
        [node(), "--test"], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "# pass 3" in done.stdout
    env = environment(running, "local")
    linked = home.root / "linked"
    linked.symlink_to(folder)
    with (home.root / "out").open("wb") as out:
        program = subprocess.Popen([node(), str(linked / "my_tools.js")], env=env, stdout=out)
    try:
        call = ("call", "greet", "name=Ada", "times=2", "--port", str(running.port))
        said = until(lambda: running.home.run(*call).stdout, what="the call")
        assert said == '"Hello, Ada!\\nHello, Ada!"\n'
    finally:
        program.terminate()
        assert program.wait(HUNG) == 0


def test_the_types_name_what_the_module_has(tmp_path: Path) -> None:
    exported = re.compile(r"^export (?:async )?(?:class|function|const) (\w+)", re.MULTILINE)
    typed = re.compile(r"^export declare (?:class|function|const) (\w+)", re.MULTILINE)
    types = MODULE.with_suffix(".d.ts").read_text()
    names = set(exported.findall(MODULE.read_text()))
    assert names == set(typed.findall(types))
    program = f"""
        const module = await import({os.fspath(MODULE)!r});
        for (const name of ["Provider", "Session", "Context"])
          for (const member of Object.getOwnPropertyNames(module[name].prototype))
            console.log(member);
    """
    done = subprocess.run(
        [node(), "--no-warnings", "--input-type=module", "-e", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    internal = {
        *("constructor", "changed", "resultFolder", "hello", "beyondPairing", "backgrounds"),
        *("filters", "functionOf", "gateOf", "rewriterOf", "handlersOf"),
    }
    members = set(done.stdout.split()) - internal
    assert {"tool", "gate", "push", "query", "progress"} < members
    untyped = [
        one for one in members if not re.search(rf"^  (?:readonly )?{one}\b", types, re.MULTILINE)
    ]
    assert untyped == []


def test_the_types_fit_what_a_provider_is_written_like(tmp_path: Path) -> None:
    module_in(tmp_path)
    shutil.copy(PROGRAMS / "typed.mts", tmp_path)
    options = ("--noEmit", "--strict", "--target", "esnext", "--module", "nodenext")
    done = subprocess.run(
        [node(), typescript(), *options, "--lib", "esnext,dom", "typed.mts"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")
