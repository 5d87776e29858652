"""Nothing of the folder in which a program of tapui starts is imported."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tapui.hosts.copilot.install.mcp_config import own_entry
from tapui.invocation import program
from tapui.runtime.children.supervisor import own_program
from tests.rig.gateway import Home, tapui_argv
from tests.rig.processes import has_ended
from tests.rig.waiting import until

MODULES = ("tapui/__init__.py", "websockets.py", "sitecustomize.py", "usercustomize.py", "json.py")
SOURCE = "import os\nopen(os.path.join({folder!r}, 'imported'), 'a').write(__name__)\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A folder whose modules have the names of tapui's, and of what it imports."""
    for name in MODULES:
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(SOURCE.format(folder=str(tmp_path)))
    return tmp_path


def test_the_folder_is_hostile(repository: Path) -> None:
    subprocess.run([sys.executable, "-m", "tapui"], cwd=repository, check=False)
    assert (repository / "imported").exists()


@pytest.mark.parametrize("way", ["mcp door", "of its own", "hint", "script"])
def test_nothing_of_it_is_imported(repository: Path, home: Home, way: str) -> None:
    entry = own_entry({})
    argv = {
        "mcp door": [entry["command"], *entry["args"], "--help"],
        "of its own": [*own_program("tapui", "--version", environ={}).argv],
        "hint": [*shlex.split(program("/x/tapui/__main__.py", None)), "--version"],
        "script": tapui_argv("--version"),
    }[way]
    done = subprocess.run(argv, cwd=repository, env=home.env(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert not (repository / "imported").exists()


def test_a_gateway_in_the_background_imports_nothing_of_it(repository: Path, home: Home) -> None:
    serve = [sys.executable, "-P", "-m", "tapui", "serve", "--port", "0", "--no-attach"]
    done = subprocess.run(
        [*serve, "--detach", "--json"],
        cwd=repository,
        env=home.env(),
        capture_output=True,
        text=True,
        check=True,
    )
    ready = json.loads(done.stdout)
    try:
        assert not (repository / "imported").exists()
        argv = Path(f"/proc/{ready['pid']}/cmdline").read_bytes().split(b"\0")
        assert argv[1:4] == [b"-P", b"-m", b"tapui"]
    finally:
        os.kill(ready["pid"], signal.SIGTERM)
        until(lambda: has_ended(ready["pid"]), what="the gateway has ended")
