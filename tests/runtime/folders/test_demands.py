"""Files held against demands: what leaves the folder, is none, or never ends is not looked at."""

import os
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from tapui.core.effects import (
    FileSeen,
    LinesRead,
    LinesWanted,
    LookAtFiles,
    SurfaceRead,
    SurfaceWanted,
    TextsTried,
)
from tapui.runtime.folders import demands
from tapui.runtime.folders.demands import DemandReader
from tapui.wire.criteria import FileIs, JsonValue

BOMB = "(a|aa)+$"
LONG = "a" * 40 + "!"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    return folder


def seen(folder: Path, path: str = "a.txt", **demand: Any) -> FileSeen:
    effect = LookAtFiles(1, str(folder), (FileIs(path=path, **demand),))
    (found,) = DemandReader().look(effect).files
    return found


def outcome(folder: Path, path: str = "a.txt", **demand: Any) -> tuple[str, str]:
    found = seen(folder, path, **demand)
    return found.status, found.reason


def test_a_file_is_as_demanded(folder: Path) -> None:
    (folder / "a.txt").write_text("one\ntwo ok\n")
    found = seen(
        folder, min_bytes=1, contains=["two"], not_contains=["three"], matches="^two \\w+$"
    )
    assert (found.status, found.size) == ("fail", 11)  # `^` is the text's beginning
    found = seen(folder, min_bytes=1, contains=["two"], not_contains=["three"], matches="two \\w+")
    assert (found.status, found.actual, found.size) == ("pass", "11 bytes", 11)
    assert found.sha256 is not None
    assert outcome(folder, sha256=found.sha256) == ("pass", "")


@pytest.mark.parametrize(
    ("demand", "reason"),
    [
        ({"contains": ["four"]}, "it does not have: four"),
        ({"not_contains": ["one"]}, "it has: one"),
        ({"min_bytes": 100}, "at least 100 are wanted"),
        ({"max_bytes": 2}, "at most 2 are wanted"),
        ({"matches": "four"}, "nothing in it matches"),
        ({"not_matches": "one"}, "something in it matches"),
        ({"modified_since": "2999-01-01T00:00:00Z"}, "not since 2999-01-01T00:00:00Z"),
        ({"exists": False}, ""),
    ],
)
def test_what_a_file_lacks_is_named(folder: Path, demand: Any, reason: str) -> None:
    (folder / "a.txt").write_text("one\ntwo\n")
    assert outcome(folder, **demand) == ("fail", reason)


def test_a_file_that_is_not_there(folder: Path) -> None:
    assert outcome(folder)[0] == "fail"
    assert outcome(folder, exists=False) == ("pass", "")


@pytest.mark.parametrize(
    "path", ["../secret", "/etc/passwd", "sub/../../secret", "out", "outer/secret"]
)
def test_a_path_that_leaves_the_folder_is_an_error(folder: Path, path: str) -> None:
    (folder.parent / "secret").write_text("x")
    (folder / "sub").mkdir()
    (folder / "out").symlink_to(folder.parent / "secret")
    (folder / "outer").symlink_to(folder.parent)
    outside = ("error", "it is not in the session's folder")
    assert outcome(folder, path) == outside
    for demand in ({"exists": False}, {"contains": ["x"]}, {"sha256": "0" * 64}):
        found = seen(folder, path, **demand)
        assert (found.status, found.reason) == outside
        assert (found.actual, found.sha256, found.size) == ("", None, None)


def test_a_link_that_stays_in_the_folder_is_followed(folder: Path) -> None:
    (folder / "real").write_text("x")
    (folder / "a.txt").symlink_to("real")
    assert outcome(folder) == ("pass", "")


def test_a_link_that_is_swapped_while_it_is_opened_is_not_followed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder.parent / "secret").write_text("x")
    (folder / "sub").mkdir()
    (folder / "sub" / "a.txt").write_text("y")
    real = os.path.realpath

    def swapped(path: Any, **more: Any) -> Any:
        found = real(path, **more)
        if str(path).endswith("a.txt"):
            (folder / "sub" / "a.txt").unlink()
            (folder / "sub" / "a.txt").symlink_to(folder.parent / "secret")
        return found

    monkeypatch.setattr(os.path, "realpath", swapped)
    assert outcome(folder, "sub/a.txt") == ("error", "it is no regular file")


def test_pipes_devices_and_folders_are_not_opened(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "null").symlink_to("/dev/null")
    (folder / "sub").mkdir()
    for path in ("pipe", "sub"):
        assert outcome(folder, path, contains=["x"]) == ("error", "it is no regular file")
    assert outcome(folder, "null")[0] == "error"


def test_a_file_of_5_gb_is_not_read(folder: Path) -> None:
    with (folder / "a.txt").open("wb") as file:
        file.truncate(5 * 1024**3)
    assert outcome(folder, min_bytes=1) == ("pass", "")
    assert outcome(folder, contains=["x"]) == ("error", "it has more than 20 MiB")


def test_a_pattern_that_runs_away_is_unknown(folder: Path) -> None:
    (folder / "a.txt").write_text(LONG)
    why = "the pattern takes too long, or a line is too long for it"
    assert outcome(folder, matches=BOMB) == ("unknown", why)
    assert outcome(folder, not_matches=BOMB) == ("unknown", why)
    effect = LookAtFiles(1, "", texts=(TextsTried(BOMB, (LONG, "b")),))
    assert DemandReader().look(effect).matched == ((None, False),)


def test_a_long_text_is_tried_line_by_line() -> None:
    lines = ("x" * 99 + "\n") * 1_000
    texts = (f"{lines}12 passed\n", lines, "y" * 100_000)
    effect = LookAtFiles(1, "", texts=(TextsTried("^12 passed$", texts),))
    assert DemandReader().look(effect).matched == ((True, False, None),)


def test_a_look_that_takes_too_long_ends(folder: Path) -> None:
    (folder / "a.txt").write_text("x")
    times = iter([0.0, 100.0, 100.0])
    reader = DemandReader(now=lambda: next(times))
    (found,) = reader.look(LookAtFiles(1, str(folder), (FileIs(path="a.txt"),))).files
    assert (found.status, found.reason) == ("unknown", "the look took too long")


def test_what_is_no_pattern_or_no_text_is_unknown(folder: Path) -> None:
    (folder / "a.txt").write_text("x")
    assert outcome(folder, matches="(") == ("unknown", "the pattern is none")
    (folder / "a.txt").write_bytes(b"\xff\x00")
    assert outcome(folder, contains=["x"]) == ("unknown", "it is no text")
    assert outcome(folder, min_bytes=2) == ("pass", "")


def test_tapuis_own_files_are_not_looked_at(folder: Path) -> None:
    (folder / "state").mkdir()
    (folder / "state" / "token").write_text("secret")
    reader = DemandReader((folder / "state",))
    (found,) = reader.look(LookAtFiles(1, str(folder), (FileIs(path="state/token"),))).files
    assert (found.status, found.reason) == ("error", "it is tapui's own")


@pytest.mark.parametrize(
    ("wanted", "status"),
    [
        ({"pointer": "/a/1", "equals": Raw(b"2")}, "pass"),
        ({"pointer": "/a/1", "equals": Raw(b"true")}, "fail"),
        ({"pointer": "/t", "equals": Raw(b"1")}, "fail"),
        ({"pointer": "/x~1y", "contains": "b"}, "pass"),
        ({"pointer": "/x~1y", "matches": "^a"}, "pass"),
        ({"pointer": "/a/01", "exists": False}, "pass"),
        ({"pointer": "/a/9"}, "fail"),
        ({"pointer": "/a", "type": "array"}, "pass"),
        ({"pointer": "/t", "type": "number"}, "fail"),
        ({"pointer": "", "type": "object"}, "pass"),
        ({"pointer": "a"}, "fail"),
    ],
)
def test_values_in_json(folder: Path, wanted: Any, status: str) -> None:
    (folder / "a.txt").write_text('{"a": [1, 2], "t": true, "x/y": "ab"}')
    assert outcome(folder, json=JsonValue(**wanted))[0] == status


def test_json_with_a_byte_order_mark_is_read(folder: Path) -> None:
    (folder / "a.txt").write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n')
    assert outcome(folder, json=JsonValue(pointer="/a"))[0] == "pass"
    (folder / "a.txt").write_bytes('{"a": 1}'.encode("utf-16"))
    assert outcome(folder, json=JsonValue(pointer="/a"))[0] == "unknown"


def test_json_that_is_none_fails(folder: Path) -> None:
    for text in ("", "[" * 100_000, "{'a': 1}"):
        (folder / "a.txt").write_text(text)
        assert outcome(folder, json=JsonValue(pointer="/a"))[0] == "fail"


# What a check does


def surface(folder: Path, *globs: str, at: str = "") -> SurfaceRead:
    effect = LookAtFiles(1, str(folder), surfaces=(SurfaceWanted(at, globs),))
    (found,) = DemandReader().look(effect).surfaces
    return found


def test_a_surface_is_the_part_of_its_files_that_is_about_checks(folder: Path) -> None:
    (folder / ".git").mkdir()
    package = folder / "package.json"
    package.write_text('{"version": "1", "scripts": {"test": "jest"}}')
    first = surface(folder, "package.json")
    package.write_text('{"version": "2", "scripts": {"test": "jest"}}')
    assert surface(folder, "package.json") == first
    package.write_text('{"version": "2", "scripts": {"test": "true"}}')
    assert surface(folder, "package.json").digest != first.digest


def test_a_byte_order_mark_makes_no_version_part_of_a_surface(folder: Path) -> None:
    (folder / ".git").mkdir()
    project = folder / "pyproject.toml"
    found = []
    for version in "12":
        text = f"\ufeff[project]\nversion = '{version}'\n[tool.pytest]\nx = 1\n"
        project.write_bytes(text.encode())
        found.append(surface(folder, "pyproject.toml"))
    assert found[0] == found[1]


def test_a_surface_reaches_from_the_checks_folder_to_the_repositorys_root(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder.parent / "tox.ini").write_text("no part of it")
    (folder / "tox.ini").write_text("a")
    below = folder / "src" / "inner"
    below.mkdir(parents=True)
    (below / "conftest.py").write_text("b")
    found = surface(folder / "src", "tox.ini", "**/conftest.py")
    assert set(found.files) == {"tox.ini", "src/inner/conftest.py"}


def test_a_surface_that_cannot_be_read_whole_says_why(folder: Path) -> None:
    (folder / ".git").mkdir()
    os.mkfifo(folder / "Makefile")
    (folder / "tox.ini").symlink_to("/etc/passwd")
    (folder / "conftest.py").write_text("#" * 1_100_000)
    for name, why in (
        ("Makefile", "it is no regular file"),
        ("tox.ini", "it is not in the session's folder"),
        ("conftest.py", "it has more than 1 MiB"),
    ):
        found = surface(folder, name)
        assert found.fault == f"{name}: not read: {why}"
        assert found.files == {name: f"not read: {why}"}


def test_the_digest_of_what_cannot_be_read_whole_is_of_the_rest_and_of_that(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / "below").mkdir()
    (folder / "below" / "conftest.py").symlink_to("/etc/passwd")
    (folder / "conftest.py").write_text("a")
    first = surface(folder, "**/conftest.py")
    assert first.digest
    assert surface(folder, "**/conftest.py") == first
    (folder / "conftest.py").write_text("b")
    second = surface(folder, "**/conftest.py")
    assert second.digest not in ("", first.digest)
    (folder / "below" / "conftest.py").unlink()
    assert surface(folder, "**/conftest.py").digest not in ("", first.digest, second.digest)


def test_a_folder_with_too_many_files_is_not_searched_to_its_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demands, "_MAX_ENTRIES", 20)
    (folder / ".git").mkdir()
    (folder / "b").mkdir()
    (folder / "b" / "conftest.py").write_text("b")
    (folder / "conftest.py").write_text("a")
    for at in range(30):
        (folder / "b" / f"{at}.txt").write_text("")
    found = surface(folder, "**/conftest.py")
    assert found.fault == "the folder has too many files"
    assert found.files == {".": f"not all was read: {found.fault}", "conftest.py": "a"}
    assert found.digest


def test_what_takes_too_long_has_no_digest(folder: Path) -> None:
    (folder / "conftest.py").write_text("a")
    effect = LookAtFiles(1, str(folder), surfaces=(SurfaceWanted("", ("**/conftest.py",)),))
    (found,) = DemandReader(now=iter(range(0, 99, 3)).__next__).look(effect).surfaces
    assert (found.digest, bool(found.fault)) == ("", True)


# Lines that a finding is about


def lines_of(folder: Path, path: str, first: int, last: int, **reader: Any) -> LinesRead:
    effect = LookAtFiles(1, str(folder), lines=(LinesWanted(path, first, last),))
    (found,) = DemandReader(**reader).look(effect).lines
    return found


def test_lines_come_with_those_around_them(folder: Path) -> None:
    (folder / "a.py").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    found = lines_of(folder, "a.py", 50, 52)
    assert found.quote == "line 50\nline 51\nline 52"
    assert found.around[found.first - 1] == "line 50"
    assert (found.around[0], found.around[-1]) == ("line 30", "line 70")
    assert lines_of(folder, "a.py", 1, 1).around[:2] == ("line 1", "line 2")
    beyond = lines_of(folder, "a.py", 500, 600)
    assert (beyond.quote, beyond.around, beyond.fault) == ("", (), "")


def test_a_quote_is_cut_and_masked(folder: Path) -> None:
    (folder / "a.py").write_bytes(b"secret = 1\r\n" + b"x" * 100_000 + b"\n\xff\n")
    found = lines_of(folder, "a.py", 1, 3, masked=lambda text: text.replace("secret", "***"))
    assert found.quote.startswith("*** = 1\n" + "x" * 100)
    assert len(found.quote) <= 400
    assert max(map(len, found.around)) <= 2_000


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "out", "gone.py", "sub", "pipe"])
def test_lines_of_what_is_no_file_of_the_folder_are_not_read(folder: Path, path: str) -> None:
    (folder.parent / "secret").write_text("x")
    (folder / "sub").mkdir()
    (folder / "out").symlink_to(folder.parent / "secret")
    os.mkfifo(folder / "pipe")
    found = lines_of(folder, path, 1, 1)
    assert (found.quote, found.around) == ("", ())
    assert found.fault


def test_lines_of_a_binary_file_are_not_read(folder: Path) -> None:
    (folder / "a.bin").write_bytes(b"a\0b\n")
    assert lines_of(folder, "a.bin", 1, 1).fault == "it is no text"
