"""What is covered of a folder's `tools/`, and what is told of the rest."""

import os
from pathlib import Path

import pytest

from tapui.folder_tools import files
from tapui.folder_tools.files import FolderRefusedError, mark_of, read_files
from tests.folder_tools.folder import files_of, folder_with, source


def test_each_file_is_covered_also_below_and_no_cache(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, one=source("one"), _help="x = 1")
    (tmp_path / "tools/data").mkdir()
    (tmp_path / "tools/data/words.json").write_text("{}")
    (tmp_path / "tools/__pycache__").mkdir()
    (tmp_path / "tools/__pycache__/one.pyc").write_bytes(b"x")
    found = files_of(folder)
    assert list(found.digests) == ["tools/_help.py", "tools/data/words.json", "tools/one.py"]
    assert found.tool_files() == ["tools/one.py"]
    assert found.uncovered == []


def test_a_changed_byte_is_another_digest(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, one=source("one"))
    before = files_of(folder).digests
    (tmp_path / "tools/one.py").write_text(source("one", body="return 'x'"))
    assert files_of(folder).digests != before


def test_what_is_imported_from_elsewhere_is_named(tmp_path: Path) -> None:
    head = "import os, requests as r\nfrom tools._base import ToolContext\nfrom yaml import load"
    folder = folder_with(tmp_path, one=source("one", head))
    assert files_of(folder).uncovered == [
        "requests: tools/one.py imports it from elsewhere",
        "yaml: tools/one.py imports it from elsewhere",
    ]


@pytest.mark.parametrize(
    "text",
    ["print('a script')\n", "SCHEMA = 'create table'\n", "def execute(sql):\n    pass\n"],
    ids=["script", "schema alone", "execute alone"],
)
def test_a_file_that_is_no_tool_is_none(tmp_path: Path, text: str) -> None:
    folder = folder_with(tmp_path, build=text)
    assert files_of(folder).tool_files() == []


def test_names_with_an_underline_are_no_tools(tmp_path: Path) -> None:
    assert files_of(folder_with(tmp_path, _one=source("_one"))).tool_files() == []


def test_a_folder_without_tools_has_none(tmp_path: Path) -> None:
    assert read_files(str(tmp_path)) is None
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "tools").symlink_to(tmp_path / "elsewhere")
    assert read_files(str(tmp_path)) is None


def test_links_pipes_and_large_files_are_named_and_not_read(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, one=source("one"))
    outside = tmp_path / "outside.py"
    outside.write_text(source("two"))
    (tmp_path / "tools/two.py").symlink_to(outside)
    os.mkfifo(tmp_path / "tools/pipe.py")
    (tmp_path / "tools/big.py").write_bytes(source("big").encode() + b"#" * 50_000_000)
    found = files_of(folder)
    assert found.tool_files() == ["tools/one.py"]
    assert found.faults == {
        "tools/big.py": "it has more than 262,144 bytes",
        "tools/pipe.py": "it is no file, and is not followed",
        "tools/two.py": "it is a link, and is not followed",
    }
    assert "tools/two.py: a link, what is behind it is not followed" in found.uncovered
    assert sorted(found.digests) == [f"tools/{name}.py" for name in ("big", "one", "pipe", "two")]


def test_more_files_than_can_be_covered_are_refused(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, **{f"t{at}": "" for at in range(files.MAX_FILES + 1)})
    with pytest.raises(FolderRefusedError, match="more than 500 files"):
        read_files(folder)


def test_the_mark_changes_with_what_is_saved(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, one=source("one"))
    before = mark_of(folder)
    assert mark_of(folder) == before
    os.utime(tmp_path / "tools/one.py", ns=(1, 1))
    touched = mark_of(folder)
    folder_with(tmp_path, two=source("two"))
    assert len({before, touched, mark_of(folder)}) == 3
    assert mark_of(str(tmp_path / "none")) == ()


def test_a_name_that_is_no_text_is_covered(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, one=source("one"))
    name = os.fsencode(f"{folder}/tools/") + b"\xff.py"
    Path(os.fsdecode(name)).write_text(source("x"))
    found = files_of(folder)
    assert len(found.digests) == 2
