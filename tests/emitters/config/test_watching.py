"""Changes are told once, when they have settled, and a half-written file only after a while."""

import os
from pathlib import Path
from typing import Any

import pytest

from tapui.emitters.config.entries import Configuration
from tapui.emitters.config.reading import read
from tapui.emitters.config.watching import (
    ConfigChange,
    ConfigChanged,
    ConfigWatch,
    NamedFilesChanged,
)
from tests.emitters.config.folder import written


def one(name: str) -> dict[str, Any]:
    return {"emitters": [{"name": name, "command": "x"}]}


def told(found: list[ConfigChange]) -> list[list[str]]:
    """Return the emitters of the configurations that were told."""
    return [
        [entry.name for entry in change.configuration.emitters]
        for change in found
        if isinstance(change, ConfigChanged)
    ]


@pytest.fixture
def watch(tmp_path: Path) -> ConfigWatch:
    written(tmp_path, one("a"))
    watch = ConfigWatch()
    assert [entry.name for entry in watch.add(tmp_path, 0.0).emitters] == ["a"]
    return watch


def test_a_change_is_told_once_it_has_settled(watch: ConfigWatch, tmp_path: Path) -> None:
    assert watch.look(2.0) == []
    written(tmp_path, one("b"))
    assert watch.look(4.0) == []
    written(tmp_path, one("bc"))
    assert watch.look(6.0) == []
    assert told(watch.look(8.0)) == [["bc"]]
    assert watch.look(10.0) == []


def test_a_file_that_is_written_anew_with_the_same_text_is_not_told(
    watch: ConfigWatch, tmp_path: Path
) -> None:
    path = written(tmp_path, one("a"))
    os.utime(path, ns=(7, 7))
    assert [watch.look(now) for now in (2.0, 4.0, 6.0)] == [[], [], []]


def test_a_half_written_file_is_not_told(watch: ConfigWatch, tmp_path: Path) -> None:
    written(tmp_path, '{"emitters": [')
    assert [watch.look(now) for now in (2.0, 3.0, 3.9)] == [[], [], []]
    written(tmp_path, one("whole"))
    assert watch.look(4.2) == []
    assert told(watch.look(5.0)) == [["whole"]]


def test_a_file_that_stays_unreadable_is_told_once(watch: ConfigWatch, tmp_path: Path) -> None:
    written(tmp_path, '{"emitters": [')
    assert watch.look(2.0) == []
    (change,) = watch.look(4.0)
    assert isinstance(change, ConfigChanged)
    assert not change.configuration.is_readable
    assert watch.look(6.0) == []
    written(tmp_path, one("a"))
    assert watch.look(8.0) == []
    assert told(watch.look(10.0)) == [["a"]]


def test_files_that_come_and_go_are_told(watch: ConfigWatch, tmp_path: Path) -> None:
    written(tmp_path, one("inner"), ".github/tap.config.json")
    assert [watch.look(now) for now in (2.0, 4.0)] == [[], []]
    (tmp_path / "tap.config.json").unlink()
    assert watch.look(6.0) == []
    assert told(watch.look(8.0)) == [["inner"]]
    (tmp_path / ".github" / "tap.config.json").unlink()
    assert watch.look(10.0) == []
    assert told(watch.look(12.0)) == [[]]


def test_named_files_are_told_with_their_names(watch: ConfigWatch, tmp_path: Path) -> None:
    for name in ("x.sh", "y.sh"):
        (tmp_path / name).write_text("1")
    watch.watch_files(tmp_path, ["x.sh", "y.sh", "z.sh"], 0.0)
    assert watch.look(2.0) == []
    (tmp_path / "y.sh").write_text("22")
    (tmp_path / "z.sh").write_text("3")
    assert watch.look(4.0) == []
    assert watch.look(6.0) == [NamedFilesChanged(str(tmp_path), ("y.sh", "z.sh"))]
    assert watch.look(8.0) == []
    watch.watch_files(tmp_path, [], 8.0)
    (tmp_path / "x.sh").unlink()
    assert [watch.look(now) for now in (10.0, 12.0)] == [[], []]


def test_a_folder_that_is_watched_no_more(watch: ConfigWatch, tmp_path: Path) -> None:
    watch.remove(tmp_path)
    written(tmp_path, one("b"))
    watch.watch_files(tmp_path, ["x"], 1.0)
    assert [watch.look(now) for now in (2.0, 4.0)] == [[], []]


def test_folders_are_bounded(tmp_path: Path) -> None:
    watch = ConfigWatch(most=2)
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        watch.add(tmp_path / name, 0.0)
        written(tmp_path / name, one(name))
    watch.look(2.0)
    assert told(watch.look(4.0)) == [["b"], ["c"]]


def test_a_folder_that_goes_away_is_told_after_a_while(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    written(folder, one("a"))
    watch = ConfigWatch()
    watch.add(folder, 0.0)
    (folder / "tap.config.json").unlink()
    folder.rmdir()
    assert watch.look(2.0) == []
    (change,) = watch.look(4.0)
    assert isinstance(change, ConfigChanged)
    assert not change.configuration.is_readable


@pytest.mark.expects_error_log("a look at the configuration of a folder failed")
def test_a_folder_that_cannot_be_looked_at_costs_no_other(tmp_path: Path) -> None:
    failing = [False]

    def reads(folder: str | Path) -> Configuration:
        if failing[0] and str(folder).endswith("bad"):
            raise OverflowError("unforeseen")
        return read(folder)

    folders = [tmp_path / name for name in ("bad", "good")]
    watch = ConfigWatch(reads=reads)
    for folder in folders:
        folder.mkdir()
        written(folder, one("a"))
        watch.add(folder, 0.0)
    failing[0] = True
    for folder in folders:
        written(folder, one("b"))
    assert watch.look(2.0) == []
    assert told(watch.look(4.0)) == [["b"]]
    assert watch.look(6.0) == []
    failing[0] = False
    written(folders[0], one("c"))
    assert watch.look(8.0) == []
    assert told(watch.look(10.0)) == [["c"]]
