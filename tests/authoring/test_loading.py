"""An author's file: its provider, and the errors that its author reads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tapui.authoring.author_file import LoadError, load

GREETER = """
from tapui.provider import Provider

provider = Provider("greeter")

@provider.tool
def greet(name: str) -> str:
    "Greet somebody by name."
    return f"Hello, {name}!"
"""


def written(folder: Path, text: str, name: str = "greeter.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def in_a_process(code: str, path: Path) -> str:
    """Run code that knows `load`, `run` and the `path`; return what it prints."""
    head = "from pathlib import Path; from tapui.authoring.author_file import load, run"
    done = subprocess.run(
        [sys.executable, "-c", f"{head}; path = Path({str(path)!r}); {code}"],
        stdout=subprocess.PIPE,
        text=True,
        timeout=30,
        check=False,
    )
    return done.stdout


def test_the_one_provider_of_a_file_is_found(tmp_path: Path) -> None:
    loaded = load(written(tmp_path, GREETER))
    assert loaded.provider.name == "greeter"
    assert not loaded.runs_at_import
    assert loaded.module.__name__ == "greeter"


@pytest.mark.parametrize("name", ["json.py", "my-tools.py", "pytest.py"])
def test_a_name_that_is_taken_takes_nothing_from_others(tmp_path: Path, name: str) -> None:
    before = {module: sys.modules.get(module) for module in ("json", "pytest")}
    assert load(written(tmp_path, GREETER, name)).provider.name == "greeter"
    assert {module: sys.modules.get(module) for module in before} == before


@pytest.mark.parametrize("guard", ["", "if __name__ == '__main__':\n    "])
def test_loading_does_not_run_the_provider(tmp_path: Path, guard: str) -> None:
    text = f"{GREETER}\n{guard}provider.run()\n"
    loaded = load(written(tmp_path, text))
    assert loaded.provider.tools[0].name == "greet"
    assert loaded.runs_at_import is not bool(guard)


def test_a_save_within_the_same_second_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, GREETER)
    load(path)
    again = written(tmp_path, GREETER.replace("greet(", "greed("))
    os.utime(again, (1, 1))
    assert load(again).provider.tools[0].name == "greed"


@pytest.mark.parametrize(
    "text",
    [
        "@provider.tool\ndef add(): ...",
        "if __name__ == '__main__':\n    provider.run()",
        "provider = Provider('greeter')",
    ],
)
def test_modules_beside_the_file_can_be_imported(tmp_path: Path, text: str) -> None:
    written(tmp_path, GREETER, "the_provider_beside.py")
    path = written(tmp_path, f"from the_provider_beside import Provider, provider\n{text}")
    assert load(path).provider.name == "greeter"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("test_it.py", 'if __name__ == "__main__": unittest.main()'),
        ("again.py", 'if __name__ == "__main__": provider.run()'),
    ],
)
def test_what_a_file_only_imports_is_not_served(tmp_path: Path, name: str, line: str) -> None:
    written(tmp_path, GREETER, "the_provider_of_others.py")
    path = written(tmp_path, "from the_provider_of_others import provider", name)
    with pytest.raises(LoadError, match="no provider or tool of its own") as error:
        load(path)
    assert line in str(error.value)


def test_a_program_that_has_tested_what_it_imports_ends(tmp_path: Path) -> None:
    written(tmp_path, GREETER, "the_tested_provider.py")
    path = written(
        tmp_path,
        "import asyncio\nfrom the_tested_provider import provider\n"
        "print(asyncio.run(provider.call('greet', {'name': 'Ada'})))",
        "test_it.py",
    )
    assert in_a_process("run(path)", path) == "Hello, Ada!\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ["greeter.py has no provider; it needs one such as:", 'Provider("greeter")']),
        (
            GREETER + "other = Provider('second')",
            ["has 2 providers: provider ('greeter'), other ('second'); a file has one"],
        ),
        (
            f"{GREETER}\n@provider.tool(name='greet')\ndef again(): ...",
            ["two tools are called 'greet', at ", "greeter.py:6 and ", "greeter.py:11; give one"],
        ),
        ("def (", ["greeter.py", "def (", "SyntaxError: invalid syntax"]),
        ("x = '\\ud800\\0'\n\0", ["SyntaxError"]),
        ("import no_such_module", ["import no_such_module", "ModuleNotFoundError"]),
        ("import sys\nsys.exit(3)", ["sys.exit(3), at line 2: sys.exit(3)", "__main__"]),
        (
            "from tapui.provider import Provider\nProvider('tap')",
            ["line 2", "Provider('tap')", "DeclarationError: name: 'tap' is tapui's own"],
        ),
        ("def f(): f()\nf()", ["RecursionError"]),
        ("raise ValueError('x' * 100_000)", ["…"]),
        ("class E(BaseException): ...\nraise E('odd')", ["E: odd"]),
    ],
)
def test_what_is_wrong_is_told_with_the_place(tmp_path: Path, text: str, told: list[str]) -> None:
    with pytest.raises(LoadError) as error:
        load(written(tmp_path, text))
    for part in told:
        assert part in str(error.value)
    assert "tapui/provider" not in str(error.value)
    assert "loading.py" not in str(error.value)
    assert len(str(error.value)) < 10_000


def test_the_cause_of_an_error_is_told_without_our_frames(tmp_path: Path) -> None:
    text = "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise KeyError('k') from error"
    with pytest.raises(LoadError) as error:
        load(written(tmp_path, text))
    assert "ZeroDivisionError" in str(error.value)
    assert "direct cause" in str(error.value)
    assert "loading.py" not in str(error.value)


def test_what_a_file_prints_is_no_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load(written(tmp_path, f"print('hello')\n{GREETER}"))
    assert capsys.readouterr() == ("", "hello\n")


def test_a_child_that_the_file_forks_does_not_go_on_as_the_one_that_loads_it(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, f"import os\nos.fork()\n{GREETER}")
    assert in_a_process("print(load(path).provider.name)", path) == "greeter\n"


def test_a_file_that_takes_long_is_told_with_the_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held = "import os, select\nr, w = os.pipe()\nselect.select([r], [], [], 0.5)\n"
    load(written(tmp_path, held + "os.close(r); os.close(w)\n" + GREETER), slow_seconds=0.05)
    told = capsys.readouterr().err
    assert "greeter.py is still being loaded after 0.05 s, at line 3: select.select" in told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys; print(__name__, sys.argv[1:])", "__main__ ['--loud']\n"),
        (f"{GREETER}\nProvider.run = lambda self, argv=None: print(self)", "Provider('greeter')\n"),
    ],
)
def test_a_file_is_run_as_a_program(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path, text)
    assert in_a_process("run(path, ['--loud'])", path) == said
