"""Which file counts, and what is in its place that cannot be read."""

import os
from pathlib import Path

import pytest

from tapui.emitters.config.entries import MAX_FILE, Configuration
from tapui.emitters.config.reading import read
from tests.emitters.config.folder import configured, problems, written

PLACES = [
    "tap.config.json",
    ".github/tap.config.json",
    "copilot-channels.config.json",
    ".github/copilot-channels.config.json",
]


def one(name: str) -> dict[str, list[dict[str, str]]]:
    return {"emitters": [{"name": name, "command": "x"}]}


def test_the_first_place_counts_whole(tmp_path: Path) -> None:
    for at in reversed(range(len(PLACES))):
        found = configured(tmp_path, one(f"e{at}"), PLACES[at])
        assert [entry.name for entry in found.emitters] == [f"e{at}"]
        assert found.path == str(tmp_path / PLACES[at])
        assert found.is_old == (at > 1)


def test_a_first_file_that_cannot_be_read_hides_the_others(tmp_path: Path) -> None:
    written(tmp_path, one("e"), PLACES[1])
    found = configured(tmp_path, "{", PLACES[0])
    assert (found.emitters, found.is_readable) == ((), False)


def test_folders_above_are_not_looked_into(tmp_path: Path) -> None:
    written(tmp_path, one("e"))
    (tmp_path / "inner").mkdir()
    assert read(tmp_path / "inner").path is None


def refused(folder: Path, text: str) -> Configuration:
    found = read(folder)
    assert not found.is_readable
    assert text in problems(found)[0]
    return found


def test_a_link_within_the_folder_is_followed(tmp_path: Path) -> None:
    written(tmp_path, one("e"), "other.json")
    (tmp_path / PLACES[0]).symlink_to("other.json")
    assert [entry.name for entry in read(tmp_path).emitters] == ["e"]


@pytest.mark.parametrize("place", PLACES)
def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path, place: str) -> None:
    outside, folder = tmp_path / "outside.json", tmp_path / "folder"
    written(tmp_path, one("secret"), "outside.json")
    (folder / ".github").mkdir(parents=True)
    (folder / place).symlink_to(outside)
    assert "secret" not in str(refused(folder, "it leads out of the folder"))


def test_a_folder_of_the_place_that_leads_out_is_not_followed(tmp_path: Path) -> None:
    written(tmp_path, one("secret"), ".github/tap.config.json")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / ".github").symlink_to(tmp_path / ".github")
    refused(tmp_path / "folder", "it leads out of the folder")


def test_a_link_to_nothing_and_one_to_itself(tmp_path: Path) -> None:
    path = tmp_path / PLACES[0]
    path.symlink_to("nothing")
    refused(tmp_path, "No such file")
    path.unlink()
    path.symlink_to(PLACES[0])
    refused(tmp_path, "it cannot be read")


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / PLACES[0]
    os.mkfifo(path)
    refused(tmp_path, "it is not a file")
    path.unlink()
    path.mkdir()
    refused(tmp_path, "it is not a file")
    path.rmdir()
    path.symlink_to("/dev/zero")
    refused(tmp_path, "it leads out of the folder")


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    with written(tmp_path, "").open("wb") as file:
        file.truncate(10 * 1024 * 1024)
    refused(tmp_path, f"it is larger than {MAX_FILE:,} bytes")
    written(tmp_path, "{}" + " " * (MAX_FILE - 2))
    assert read(tmp_path).is_readable


def test_a_folder_that_is_a_link_is_known_by_its_real_path(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    written(tmp_path / "real", one("e"))
    assert read(tmp_path / "link") == read(tmp_path / "real")


def test_a_folder_whose_name_no_folder_can_have() -> None:
    refused(Path("/a\0b"), "the folder cannot be read")
