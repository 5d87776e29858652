"""Entries are written in place; all else in the file stays as it is."""

import fcntl
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tapui.core.emitters.plans import Schedule
from tapui.emitters.config import saving
from tapui.emitters.config.entries import EmitterEntry, StreamEntry
from tapui.emitters.config.reading import read
from tapui.emitters.config.saving import (
    SaveError,
    remove_emitter,
    save_emitter,
    save_stream,
    set_filter,
    set_injector,
)
from tapui.wire.provider import FilterRule
from tests.emitters.config.folder import written

ENTRY = EmitterEntry(
    name="new",
    command="make watch",
    schedule=Schedule("timed", 90),
    stream="ops",
    cwd="a",
    env={"A": "b"},
    auto_start=False,
    ownership="modelOwned",
    max_runs=3,
    rules=(FilterRule("x", "drop"), FilterRule("y", "inject")),
)
HAND_WRITTEN = """\
// ours
{
    "guardian": {"on": true}, // theirs
    "emitters": [
        // the first
        {"name": "Pulse", "command": "./pulse.sh", "every": "5m", "own": [1, 2,],},

        /* the second */ {
            "name": "later",
            "prompt": "look", // why
            "channel": "ops",
            "classifier": {"includePattern": "a"},
        },
    ],
}
"""


def pulse(folder: Path) -> EmitterEntry:
    entry = read(folder).emitter("pulse")
    assert entry is not None
    return entry


def later(folder: Path) -> EmitterEntry:
    entry = read(folder).emitter("later")
    assert entry is not None
    return entry


def bare(entry: EmitterEntry) -> EmitterEntry:
    return msgspec.structs.replace(entry, line=None, index=None)


def test_a_folder_without_a_file_gets_one(tmp_path: Path) -> None:
    found = save_emitter(tmp_path, ENTRY)
    assert [bare(one) for one in found.emitters] == [ENTRY]
    assert found == read(tmp_path)
    assert (tmp_path / "tap.config.json").read_text() == (
        "{\n"
        '  "emitters": [\n'
        "    {\n"
        '      "name": "new",\n'
        '      "command": "make watch",\n'
        '      "stream": "ops",\n'
        '      "runInterval": "90s",\n'
        '      "maxRuns": 3,\n'
        '      "cwd": "a",\n'
        '      "env": {"A": "b"},\n'
        '      "autoStart": false,\n'
        '      "ownership": "modelOwned",\n'
        '      "eventFilter": [\n'
        '        {"match": "x", "outcome": "drop"},\n'
        '        {"match": "y", "outcome": "inject"}\n'
        "      ]\n"
        "    }\n"
        "  ]\n"
        "}\n"
    )


def test_a_value_is_replaced_where_it_stands(tmp_path: Path) -> None:
    path = written(tmp_path, HAND_WRITTEN)
    save_emitter(tmp_path, msgspec.structs.replace(pulse(tmp_path), schedule=Schedule("timed", 30)))
    assert path.read_text() == HAND_WRITTEN.replace('"5m"', '"30s"')


def test_what_is_new_is_written_as_the_file_is(tmp_path: Path) -> None:
    path = written(tmp_path, HAND_WRITTEN)
    save_emitter(tmp_path, bare(msgspec.structs.replace(later(tmp_path), name="third", rules=())))
    added = '        },\n        {"name": "third", "prompt": "look", "stream": "ops"},\n    ],\n'
    assert path.read_text() == HAND_WRITTEN.replace("        },\n    ],\n", added)


def test_a_file_of_one_line_stays_one(tmp_path: Path) -> None:
    path = written(tmp_path, '{"emitters":[{"name":"a","command":"b"}],"x":1}')
    entry = EmitterEntry(name="n", prompt="p", schedule=Schedule("idle"), stream="n")
    save_emitter(tmp_path, entry)
    assert path.read_text() == (
        '{"emitters":[{"name":"a","command":"b"}, '
        '{"name": "n", "prompt": "p", "runInterval": "idle"}],"x":1}'
    )


@pytest.mark.parametrize(
    "text", ["{}", '{"emitters":[]}', '{"emitters": [ /* none */ ]}', "{\n}\n"]
)
def test_an_empty_list_gets_its_first_entry(tmp_path: Path, text: str) -> None:
    written(tmp_path, text)
    assert [bare(one) for one in save_emitter(tmp_path, ENTRY).emitters] == [ENTRY]


@pytest.mark.parametrize(
    ("text", "changed", "saved"),
    [
        ('"command":"x","autoStart":false', {"auto_start": True}, '"command":"x","autoStart":true'),
        (
            '"command":"x","managedBy":"model"',
            {"ownership": "userOwned"},
            '"command":"x","managedBy":"userOwned"',
        ),
        ('"command":"x","channel":"a"', {"stream": "b"}, '"command":"x","channel":"b"'),
        ('"command":"x","channel":"a"', {"stream": "e"}, '"command":"x"'),
        ('"command":"x","maxRuns":3', {"max_runs": None}, '"command":"x"'),
        (
            '"command":"x","every":"5m"',
            {"schedule": Schedule("oneTime")},
            '"command":"x", "runSchedule": "oneTime"',
        ),
        (
            '"command":"x","runSchedule":"oneTime"',
            {"schedule": Schedule("continuous")},
            '"command":"x"',
        ),
        ('"command":"x"', {"command": None, "prompt": "p"}, '"prompt": "p"'),
    ],
)
def test_a_changed_key_keeps_its_spelling(
    tmp_path: Path, text: str, changed: dict[str, Any], saved: str
) -> None:
    path = written(tmp_path, f'{{"emitters":[{{"name":"e",{text}}}]}}')
    entry = msgspec.structs.replace(read(tmp_path).emitters[0], **changed)
    if entry.prompt is not None:
        entry = msgspec.structs.replace(entry, schedule=Schedule("oneTime"))
    save_emitter(tmp_path, entry)
    assert path.read_text().replace(", ", ",") == (
        f'{{"emitters":[{{"name":"e",{saved}}}]}}'.replace(", ", ",")
    )


def test_a_change_that_no_file_can_say_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, '{"emitters":[{"name":"e","prompt":"x"}]}')
    entry = msgspec.structs.replace(read(tmp_path).emitters[0], schedule=Schedule("continuous"))
    with pytest.raises(SaveError, match="its meaning would change"):
        save_emitter(tmp_path, entry)
    assert path.read_text() == '{"emitters":[{"name":"e","prompt":"x"}]}'


def test_a_filter_takes_the_place_of_all_its_older_forms(tmp_path: Path) -> None:
    path = written(tmp_path, HAND_WRITTEN)
    set_filter(tmp_path, "later", (FilterRule("z", "surface"),), "userOwned")
    text = path.read_text()
    assert "classifier" not in text
    assert '"prompt": "look", // why\n' in text
    assert [(one.match, one.outcome) for one in later(tmp_path).rules] == [("z", "surface")]


def test_a_filter_of_the_model_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, HAND_WRITTEN)
    set_filter(tmp_path, "pulse", (), "modelOwned")
    assert pulse(tmp_path).filter_ownership == "modelOwned"
    set_filter(tmp_path, "pulse", (), "userOwned")
    assert path.read_text() == HAND_WRITTEN


def test_a_filter_of_an_emitter_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SaveError, match="there is no emitter gone in the file"):
        set_filter(tmp_path, "gone", (), "userOwned")
    assert not (tmp_path / "tap.config.json").exists()


def test_a_removed_entry_leaves_the_comments(tmp_path: Path) -> None:
    path = written(tmp_path, HAND_WRITTEN)
    remove_emitter(tmp_path, "pulse")
    gone = '        {"name": "Pulse", "command": "./pulse.sh", "every": "5m", "own": [1, 2,],},\n'
    assert path.read_text() == HAND_WRITTEN.replace(gone, "")
    remove_emitter(tmp_path, "later")
    assert read(tmp_path).emitters == ()
    assert "/* the second */" in path.read_text()


def test_all_of_a_name_are_removed(tmp_path: Path) -> None:
    entries = [{"name": "A"}, {"name": "b", "command": "x"}, {"name": "a", "command": "x"}]
    written(tmp_path, {"emitters": entries})
    assert [one.name for one in remove_emitter(tmp_path, "a").emitters] == ["b"]


def test_removing_what_is_not_there_writes_nothing(tmp_path: Path) -> None:
    remove_emitter(tmp_path, "gone")
    assert list(tmp_path.iterdir()) == []
    written(tmp_path, '{"monitors":[]}', "copilot-channels.config.json")
    remove_emitter(tmp_path, "gone")
    assert [one.name for one in tmp_path.iterdir()] == ["copilot-channels.config.json"]


def test_an_entry_that_was_refused_is_replaced(tmp_path: Path) -> None:
    written(tmp_path, {"emitters": [{"name": "New", "every": "x"}, {"name": "z", "command": "y"}]})
    found = save_emitter(tmp_path, ENTRY)
    assert [one.name for one in found.emitters] == ["new", "z"]
    assert found.problems == ()


def test_of_two_entries_with_a_name_the_one_that_counts_is_changed(tmp_path: Path) -> None:
    text = '{"emitters":[{"name":"e"},{"name":"E","command":"x"},{"name":"e","command":"y"}]}'
    path = written(tmp_path, text)
    (entry,) = read(tmp_path).emitters
    save_emitter(tmp_path, msgspec.structs.replace(entry, command="z"))
    assert path.read_text() == text.replace('"x"', '"z"')


def test_an_injector_keeps_the_spelling_of_its_keys(tmp_path: Path) -> None:
    text = '{"streams":[{"name":"S","subscription":{"enabled":true,"managedBy":"model","x":1}}]}'
    path = written(tmp_path, text)
    set_injector(tmp_path, "s", "disabled", ownership="modelOwned")
    assert json.loads(path.read_text())["streams"] == [
        {
            "name": "S",
            "subscription": {
                "enabled": False,
                "managedBy": "modelOwned",
                "x": 1,
                "delivery": "surface",
            },
        }
    ]


def test_a_stream_is_added_and_changed(tmp_path: Path) -> None:
    set_injector(tmp_path, "ops", "enabled", delivery="all")
    stream = StreamEntry(name="ops", description="d", injector="enabled", delivery="all")
    found = save_stream(tmp_path, stream)
    assert msgspec.structs.replace(found.streams[0], line=None, index=None) == stream
    found = set_injector(tmp_path, "ops", "unset")
    assert (found.stream("ops").injector, found.stream("ops").description) == ("unset", "d")


def test_an_old_file_is_never_written(tmp_path: Path) -> None:
    old = '{"channels":[{"name":"ops"}],"monitors":[{"name":"m","command":"x","odd":1}]}'
    path = written(tmp_path, old, "copilot-channels.config.json")
    found = set_injector(tmp_path, "ops", "enabled")
    assert path.read_text() == old
    assert (found.path, found.is_old) == (str(tmp_path / "tap.config.json"), False)
    new = json.loads((tmp_path / "tap.config.json").read_bytes())
    assert new["emitters"] == [{"name": "m", "command": "x", "odd": 1}]
    assert [one.injector for one in found.streams] == ["enabled"]
    assert set(new) == {"streams", "emitters"}


def test_the_place_the_mode_the_mark_and_the_line_ends_stay(tmp_path: Path) -> None:
    text = b'\xef\xbb\xbf{\r\n\t"emitters": [\r\n\t]\r\n}\r\n'
    path = written(tmp_path, text, ".github/tap.config.json")
    path.chmod(0o640)
    save_emitter(tmp_path, ENTRY)
    data = path.read_bytes()
    assert data.startswith(b'\xef\xbb\xbf{\r\n\t"emitters": [\r\n\t\t{\r\n\t\t\t"name": "new",\r\n')
    assert data.count(b"\n") == data.count(b"\r\n")
    assert path.stat().st_mode & 0o777 == 0o640
    assert [one.name for one in path.parent.iterdir()] == ["tap.config.json"]
    assert not (tmp_path / "tap.config.json").exists()


@pytest.mark.parametrize("text", ["{", b"\xff", "[]", "", '{"emitters": {}}'])
def test_what_cannot_be_read_is_never_replaced(tmp_path: Path, text: Any) -> None:
    path = written(tmp_path, text)
    before = path.read_bytes()
    with pytest.raises(SaveError):
        save_emitter(tmp_path, ENTRY)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["tap.config.json"]


def test_a_link_is_not_written_to(tmp_path: Path) -> None:
    written(tmp_path, "{}", "other.json")
    (tmp_path / "tap.config.json").symlink_to("other.json")
    with pytest.raises(SaveError, match=r"tap\.config\.json is a link"):
        save_emitter(tmp_path, ENTRY)
    assert (tmp_path / "other.json").read_text() == "{}"


def test_a_folder_that_is_a_link_is_not_written_to(tmp_path: Path) -> None:
    written(tmp_path, "{}", "real/tap.config.json")
    (tmp_path / ".github").symlink_to("real")
    with pytest.raises(SaveError, match=r"\.github is a link"):
        save_emitter(tmp_path, ENTRY)


def test_a_folder_that_went_away(tmp_path: Path) -> None:
    with pytest.raises(SaveError, match="No such file"):
        save_emitter(tmp_path / "gone", ENTRY)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"name": "A b"}, "its meaning would change"),
        ({"command": None}, "must define either a command or a prompt"),
        ({"rules": (FilterRule("(", "drop"),)}, "bad pattern"),
        ({"command": "\ud800"}, "a character that no file can hold"),
        ({"command": "x" * 9000}, "a command has at most 8,192 characters"),
    ],
)
def test_an_entry_that_could_not_be_read_back_is_refused(
    tmp_path: Path, changed: dict[str, Any], text: str
) -> None:
    path = written(tmp_path, HAND_WRITTEN)
    with pytest.raises(SaveError, match=text):
        save_emitter(tmp_path, msgspec.structs.replace(ENTRY, **changed))
    assert path.read_text() == HAND_WRITTEN


def test_a_change_that_somebody_else_makes_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, '{"emitters":[]}')
    real = saving.configuration_of
    others = ['{"emitters":[], "first": 1}', '{"emitters":[], "second": 1}']

    def written_meanwhile(found: Any) -> Any:
        if others:
            path.write_text(others.pop(0))
        return real(found)

    monkeypatch.setattr(saving, "configuration_of", written_meanwhile)
    save_emitter(tmp_path, ENTRY)
    assert json.loads(path.read_bytes()).keys() == {"emitters", "second"}


def test_a_file_that_is_written_all_the_time_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, "{}")
    real = saving.configuration_of
    count = iter(range(1000))

    def written_meanwhile(found: Any) -> Any:
        path.write_text(json.dumps({"n": next(count)}))
        return real(found)

    monkeypatch.setattr(saving, "configuration_of", written_meanwhile)
    with pytest.raises(SaveError, match="another program writes the file all the time"):
        save_emitter(tmp_path, ENTRY)
    assert [one.name for one in tmp_path.iterdir()] == ["tap.config.json"]


def test_a_lock_that_another_holds_is_not_waited_for_without_end(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        with pytest.raises(SaveError, match="another program has locked it"):
            save_emitter(tmp_path, ENTRY)
    finally:
        os.close(fd)
    save_emitter(tmp_path, ENTRY)
