"""Tool files are imported unchanged, and one that misbehaves costs itself alone."""

import os
import sys
from pathlib import Path

import pytest

from tapui.folder_tools.importing import ImportedTools, import_tools
from tapui.folder_tools.importing import tried as tried_in_children
from tests.folder_tools.folder import SAMPLES, files_of, folder_with, source
from tests.rig.processes import has_ended
from tests.rig.waiting import until


def imported(folder: str) -> ImportedTools:
    return import_tools(files_of(folder))


def names(found: ImportedTools) -> list[str]:
    return sorted(one.name for one in found.tools)


def told(found: ImportedTools) -> list[str]:
    return [str(one) for one in found.faults if one.is_error]


def test_the_documents_samples_are_imported_and_nothing_is_written(tmp_path: Path) -> None:
    samples = {one.name.partition(".")[0]: one.read_text() for one in SAMPLES.iterdir()}
    found = imported(folder_with(tmp_path, **samples))
    assert names(found) == ["get_changed_files", "memory", "your_tool_name"]
    assert sorted(one.name for one in (tmp_path / "tools").iterdir()) == sorted(
        f"{name}.py" for name in samples
    )
    package = sys.modules["tools"]
    assert sorted(package.TOOL_SCHEMAS) == names(found)  # type: ignore[attr-defined]
    assert sorted(package.TOOL_EXECUTORS) == names(found)  # type: ignore[attr-defined]


def test_the_folders_own_base_and_modules_are_used(tmp_path: Path) -> None:
    base = "class ToolContext:\n    mark = 'own'\n"
    inner = "from tools._base import ToolContext\nfrom tools.deep.words import WORD\n"
    folder = folder_with(tmp_path, _base=base, one=source("one", inner, "return WORD"))
    (tmp_path / "tools/deep").mkdir()
    (tmp_path / "tools/deep/words.py").write_text("WORD = 'a word'\n")
    found = imported(folder)
    assert found.tools[0].execute({}, None) == "a word"
    assert found.context is not None
    assert found.context.mark == "own"  # type: ignore[attr-defined]


def test_an_init_of_the_folders_own_is_not_run(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, __init__="raise SystemExit", one=source("one"))
    assert names(imported(folder)) == ["one"]


def test_a_module_of_the_folder_hides_none_of_pythons(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit\n")
    (tmp_path / "beside.py").write_text("WORD = 'beside'\n")
    head = "import json\nfrom beside import WORD\n"
    folder = folder_with(tmp_path, one=source("one", head, "return json.dumps(WORD)"))
    assert imported(folder).tools[0].execute({}, None) == '"beside"'


def test_what_was_hashed_is_what_is_imported(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, one=source("one", body="return 'allowed'"))
    files = files_of(folder)
    (tmp_path / "tools/one.py").write_text(source("one", body="return 'changed'"))
    assert import_tools(files).tools[0].execute({}, None) == "allowed"


BAD = {
    "loops": ("while True:\n    pass", "it is still being imported after 3 s"),
    "holds_on": (
        "import time\nwhile True:\n    try:\n        time.sleep(9)\n    except: pass",
        "it is still being imported after 3 s",
    ),
    "exits": ("import sys\nsys.exit(3)", "it ends the program while it is imported (sys.exit(3))"),
    "ends": ("import os\nos._exit(4)", "it ends Python while it is imported (exit code 4)"),
    "kills": (
        "import os\nos.kill(os.getpid(), 9)",
        "it ends Python while it is imported (SIGKILL)",
    ),
    "raises": (
        "1 / 0",
        "it cannot be imported: ZeroDivisionError: division by zero, at line 1",
    ),
    "lacks": (
        "import no_such_module",
        "it cannot be imported: ModuleNotFoundError: No module named 'no_such_module', at line 1",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_misbehaves_costs_itself_alone(tmp_path: Path, name: str) -> None:
    head, text = BAD[name]
    files = {"first": source("first"), name: source(name, head), "zulu": source("zulu")}
    found = imported(folder_with(tmp_path, **files))
    assert names(found) == ["first", "zulu"]
    assert told(found) == [f"tools/{name}.py:1: {text}"]


def test_one_that_forks_is_a_tool_and_no_second_provider(tmp_path: Path) -> None:
    mark = tmp_path / "marks"
    mark.mkdir()
    head = f"import os\nos.fork()\nopen({str(mark)!r} + f'/{{os.getpid()}}', 'w').close()"
    found = imported(folder_with(tmp_path, forks=source("forks", head), zulu=source("zulu")))
    assert names(found) == ["forks", "zulu"]
    own = os.getpid()
    left = {int(one.name) for one in mark.iterdir()} - {own}
    until(lambda: all(map(has_ended, left)), what="a child that it forked has ended")
    assert own in {int(one.name) for one in mark.iterdir()}


def test_one_that_prints_is_a_tool(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = imported(folder_with(tmp_path, prints=source("prints", "print('x' * 100_000)")))
    assert names(found) == ["prints"]
    assert capfd.readouterr().out.count("x") == 100_000  # once: not in the trial


def test_a_schema_that_is_wrong_once_it_is_computed_is_left_out(tmp_path: Path) -> None:
    text = "SCHEMA = dict(name='two')\n\n\ndef execute(given, ctx):\n    return 'x'\n"
    found = imported(folder_with(tmp_path, one=text, good=source("good")))
    assert names(found) == ["good"]
    assert all(one.startswith("tools/one.py:1: ") for one in told(found))


def test_all_files_are_tried_by_one_child_while_none_misbehaves(tmp_path: Path) -> None:
    head = f"import os\nopen({str(tmp_path)!r} + f'/{{os.getpid()}}.pid', 'w').close()"
    folder = folder_with(tmp_path, **{f"t{at}": source(f"t{at}", head) for at in range(20)})
    files = files_of(folder)
    assert tried_in_children(files, files.tool_files(), 5.0) == []
    assert len(list(tmp_path.glob("*.pid"))) == 1
