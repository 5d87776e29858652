"""Consent to a folder's tool files: to all of `tools/`, and to exactly these contents."""

from pathlib import Path

import pytest

from tapui.consents.consents import Consented, Proposal
from tapui.consents.emitters import EmitterConsents
from tapui.core.emitters.plans import EmitterPlan
from tapui.emitters.config.reading import read
from tapui.folder_tools.files import MAX_FILES, read_files
from tapui.shipped.tools import ConsentedFiles
from tests.emitters.config.folder import written
from tests.folder_tools.folder import folder_with, source

pytestmark = pytest.mark.machine  # a process reads the files


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(folder_with(tmp_path / "repo", one=source("one"), _base="x = 1"))


def standing(state: Path, folder: Path) -> Consented[EmitterPlan] | Proposal[EmitterPlan]:
    found = read(folder)
    entry = found.provider("tools")
    assert entry is not None
    return EmitterConsents(state).standing(found, entry)


def proposal(state: Path, folder: Path) -> Proposal[EmitterPlan]:
    found = standing(state, folder)
    assert isinstance(found, Proposal)
    return found


def allow(state: Path, folder: Path, *, later: bool = False) -> None:
    EmitterConsents(state).allow(proposal(state, folder), later_versions=later)


def test_all_files_are_shown_with_what_they_import_from_elsewhere(
    state: Path, folder: Path
) -> None:
    (folder / "tools/words.txt").write_text("a")
    folder_with(folder, one=source("one", "import requests"))
    shown = proposal(state, folder)
    names = [name for name, _ in shown.files]
    assert names == ["tools/_base.py", "tools/one.py", "tools/words.txt"]
    assert shown.uncovered == ("requests: tools/one.py imports it from elsewhere",)
    assert shown.entry.is_folder_tools


@pytest.mark.parametrize("change", ["edit", "new", "gone", "helper", "data"])
def test_each_change_is_asked_about(state: Path, folder: Path, change: str) -> None:
    (folder / "tools/words.txt").write_text("a")
    allow(state, folder)
    assert isinstance(standing(state, folder), Consented)
    match change:
        case "edit":
            folder_with(folder, one=source("one", body="return 'x'"))
        case "new":
            folder_with(folder, two=source("two"))
        case "gone":
            (folder / "tools/words.txt").unlink()
        case "helper":
            folder_with(folder, _base="x = 2")
        case "data":
            (folder / "tools/words.txt").write_text("b")
    assert proposal(state, folder).why.startswith("files that it names: tools/")


def test_later_versions_are_never_allowed_with_it(state: Path, folder: Path) -> None:
    allow(state, folder, later=True)
    folder_with(folder, two=source("two"))
    assert proposal(state, folder).why == "files that it names: tools/two.py"


def test_the_provider_knows_what_was_allowed_by_the_same_file(state: Path, folder: Path) -> None:
    consented, files = ConsentedFiles(state), read_files(str(folder))
    assert files is not None
    assert not consented.has(files)
    allow(state, folder)
    assert consented.has(files)
    folder_with(folder, two=source("two"))
    changed = read_files(str(folder))
    assert changed is not None
    assert not consented.has(changed)
    EmitterConsents(state).revoke(str(folder))
    assert not consented.has(files)


def test_a_folder_without_tool_files_asks_nothing(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, build="print('a script')")
    assert read(folder).providers == ()


def test_more_files_than_can_be_covered_are_not_started(state: Path, folder: Path) -> None:
    found = read(folder)
    folder_with(folder, **{f"t{at}": "" for at in range(MAX_FILES)})
    entry = found.provider("tools")
    assert entry is not None
    with pytest.raises(OSError, match="more than 500 files"):
        EmitterConsents(state).standing(found, entry)


def test_a_provider_of_the_same_name_in_the_file_stays_and_is_told(folder: Path) -> None:
    own = {"name": "tools", "command": "./own", "args": ["-P", "-m", "tapui.shipped", "tools"]}
    written(folder, {"providers": [own]})
    found = read(folder)
    (entry,) = found.providers
    assert (entry.command, entry.is_folder_tools) == ("./own", False)
    assert "a provider of this name is in the folder's file" in str(found.problems[0])


def test_what_is_wrong_with_the_files_is_a_problem_of_the_folder(folder: Path) -> None:
    folder_with(folder, two=source("zwei"))
    (problem,) = read(folder).problems
    assert str(problem) == (
        "tools/two.py:2:1: SCHEMA: SCHEMA[\"name\"] is 'zwei', but the file is two.py: they are the"
        " same"
    )
    assert (problem.name, problem.is_error) == ("two", True)
