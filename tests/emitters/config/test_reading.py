"""Every key with its spellings, its default and what is refused."""

import os
from pathlib import Path
from typing import Any

import pytest

from tapui.core.emitters.plans import Schedule
from tapui.emitters.config.entries import (
    MAX_EMITTERS,
    MAX_PATTERN_CHARACTERS,
    EmitterEntry,
    normalised_name,
)
from tapui.emitters.config.reading import read
from tests.emitters.config.folder import command, configured, emitter, problems


def test_defaults(tmp_path: Path) -> None:
    assert command(tmp_path) == EmitterEntry(
        name="e", command="./e", schedule=Schedule("continuous"), stream="e", line=1, index=0
    )


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("My Emitter!", "my-emitter"),
        ("a/b@c", "a-b-c"),
        ("Ünï", "n"),
        (" A.b_c-d ", "a.b_c-d"),
        ("###", ""),
        ("--x--", "x"),
    ],
)
def test_names_are_normalised(spelled: str, name: str) -> None:
    assert normalised_name(spelled) == name


@pytest.mark.parametrize(
    ("interval", "seconds", "written"),
    [
        ("30s", 30, "every 30s"),
        ("every 5 minutes", 300, "every 5m"),
        ("EVERY 2HRS", 7200, "every 2h"),
        ("1 day", 86400, "every 1d"),
        ("every1sec", 1, "every 1s"),
        ("90 secs", 90, "every 90s"),
        ("3 hours", 10800, "every 3h"),
        ("2 mins", 120, "every 2m"),
        ("0007 Days", 604800, "every 7d"),
    ],
)
@pytest.mark.parametrize("key", ["runInterval", "every"])
def test_intervals(tmp_path: Path, key: str, interval: str, seconds: int, written: str) -> None:
    found = command(tmp_path, **{key: interval})
    assert found.schedule == Schedule("timed", seconds)
    assert str(found.schedule) == written


@pytest.mark.parametrize(
    "interval",
    ["5", "1.5h", "-5m", "5w", "100ms", "5m30s", "every idle", "every", "m", "٣s", "5m x", 5, True],
)
def test_texts_that_are_no_intervals(tmp_path: Path, interval: Any) -> None:
    said = {"name": "e", "command": "x", "runInterval": interval}
    (problem,) = problems(configured(tmp_path, {"emitters": [said]}))
    assert "emitters[0].runInterval: " in problem
    assert "30s" in problem


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"command": "x", "every": "0s"}, "every: an interval must be 1 or greater"),
        ({"command": "x", "every": "367d"}, "every: an interval is at most 366 days"),
        ({"command": "x", "every": "9" * 5000 + "s"}, "every: an interval is at most 366 days"),
        ({"command": "x", "every": "idle"}, "every: idle is for prompts only"),
        (
            {"command": "x", "cron": "0 24 * * *"},
            'cron: field 2, the hour, cannot be "24": hours are 0 to 23',
        ),
        ({"command": "x", "cron": "@daily"}, "cron: a cron expression has five fields"),
        ({"command": "x", "cron": 5}, "cron: a cron expression is a text, not 5"),
        ({"command": "x", "cron": "* " * 60}, "cron: a cron expression has at most 100 char"),
        (
            {"command": "x", "cron": "0 9 * * *", "every": "5m"},
            "cron: it has every as well: give an interval, or a cron expression",
        ),
        ({}, "must define either a command or a prompt"),
        ({"command": " \n"}, "must define either a command or a prompt"),
        ({"command": "x", "prompt": "y"}, "prompt: an emitter cannot define both"),
        ({"command": ["x"]}, 'command: a command is a text, not ["x"]'),
        ({"command": "x" * 9000}, "command: a command has at most 8,192 characters"),
        ({"command": "a\0b"}, "command: a command cannot hold the character NUL"),
        ({"prompt": "x" * 70_000}, "prompt: a prompt has at most 65,536 characters"),
        ({"command": "x", "name": "###"}, 'name: nothing remains of the name "###"'),
        ({"command": "x", "name": None}, "must have a name"),
        ({"command": "x", "name": "n" * 65}, "name: a name has at most 64 characters"),
        ({"command": "x", "name": 5}, "name: a name is a text, not 5"),
        ({"command": "x", "stream": "s" * 65}, "stream: a name has at most 64 characters"),
        ({"command": "x", "cwd": 5}, "cwd: cwd is a text, not 5"),
        ({"command": "x", "shell": "./sh"}, "shell: a shell is the name of a program"),
        ({"command": "x", "shell": "bash -x"}, "shell: a shell is the name of a program"),
        ({"command": "x", "shell": "-c"}, "shell: a shell is the name of a program"),
        ({"command": "x", "env": ["A=b"]}, "env: env is an object"),
        ({"command": "x", "env": {"A B": "c"}}, "env.A B: this is no name of a variable"),
        ({"command": "x", "env": {"A": 1}}, "env.A: a variable is a text, not 1"),
        ({"command": "x", "env": {"TAPUI_HOME": "/"}}, "belongs to tapui"),
        ({"command": "x", "env": {"TAP_PROVIDER_TOKEN": "x"}}, "belongs to tapui"),
        ({"command": "x", "env": {f"A{n}": "" for n in range(65)}}, "at most 64 variables"),
        ({"command": "x", "eventFilter": "x"}, "eventFilter: a filter is a list of rules"),
        ({"command": "x", "eventFilter": [5]}, "eventFilter[0]: a rule is {match, outcome}"),
        (
            {"command": "x", "eventFilter": [{"match": "a", "outcome": "keep"}, {"match": "a"}]},
            "eventFilter[1]: rule 2 has no outcome",
        ),
        (
            {"command": "x", "eventFilter": [{"match": "a", "outcome": "DROP"}]},
            'eventFilter[0].outcome: rule 1 has the outcome "DROP": it is one of drop, keep',
        ),
        (
            {"command": "x", "eventFilter": [{"match": "a(b", "outcome": "drop"}]},
            "eventFilter[0].match: rule 1: bad pattern: missing ) at position 3",
        ),
        (
            {"command": "x", "eventFilter": [{"match": "(?u)a", "outcome": "drop"}]},
            "rule 1: bad pattern: ASCII, LOCALE and UNICODE flags",
        ),
        (
            {"command": "x", "eventFilter": [{"match": "a" * 1001, "outcome": "drop"}]},
            "rule 1: a pattern has at most 1,000 characters",
        ),
        ({"command": "x", "eventFilter": [{}] * 51}, "a filter has at most 50 rules"),
        ({"command": "x", "notifyPattern": "["}, "notifyPattern: bad pattern"),
        ({"command": "x", "classifier": {"includePattern": 1}}, "classifier.includePattern: a p"),
    ],
)
def test_what_is_refused_costs_only_its_entry(
    tmp_path: Path, keys: dict[str, Any], text: str
) -> None:
    bad = {"name": "bad", **keys}
    good = {"name": "good", "command": "true"}
    found = configured(tmp_path, {"emitters": [good, bad, {**good, "name": "last"}]})
    assert [one.name for one in found.emitters] == ["good", "last"]
    (problem,) = found.problems
    assert problem.is_error
    assert str(problem).startswith("tap.config.json:1:")
    assert f"{problem.key}: {problem.text}".startswith("emitters[1]")
    assert text in f"{problem.key}: {problem.text}"


@pytest.mark.parametrize(
    ("keys", "field", "value", "text"),
    [
        ({"autoStart": "no"}, "auto_start", True, "neither true nor false"),
        ({"includeStderr": 0}, "include_stderr", True, "neither true nor false"),
        ({"maxRuns": "x"}, "max_runs", None, "no number"),
        ({"maxRuns": True}, "max_runs", None, "no number"),
        ({"maxRuns": [1]}, "max_runs", None, "no number"),
        ({"ownership": "mine"}, "ownership", "userOwned", "neither userOwned nor modelOwned"),
        ({"description": 5}, "description", "", "a description is a text"),
        ({"description": "x" * 501}, "description", "x" * 500, "cut at 500"),
        ({"comand": "y"}, "command", "./e", "comand: this key is not known"),
        ({"metadata": "x" * 70_000}, "metadata", None, "more than 65,536"),
        (
            {"runSchedule": "weekly"},
            "schedule",
            Schedule("continuous"),
            "runSchedule: it is one of",
        ),
        (
            {"runSchedule": "oneTime", "every": "5m"},
            "schedule",
            Schedule("timed", 300),
            "runSchedule: not used",
        ),
        (
            {"stream": "a", "channel": "b"},
            "stream",
            "a",
            "channel: not used: stream means the same",
        ),
        ({"eventFilter": [], "rules": []}, "rules", (), "rules: not used: eventFilter goes first"),
        (
            {"eventFilter": [{"outcome": "inject"}]},
            "rules",
            (),
            "eventFilter[0]: rule 1 has no match: it never matches",
        ),
    ],
)
def test_what_is_wrong_beside_costs_only_itself(
    tmp_path: Path, keys: dict[str, Any], field: str, value: Any, text: str
) -> None:
    found = configured(tmp_path, {"emitters": [{"name": "e", "command": "./e", **keys}]})
    assert getattr(found.emitters[0], field) == value
    (problem,) = found.problems
    assert not problem.is_error
    assert text in str(problem)


@pytest.mark.parametrize(
    ("given", "runs"),
    [
        (0, 1),
        (-3, 1),
        (1.9, 1),
        (5, 5),
        ("7", 7),
        (2.5e300, None),
        ("1e999", None),
        (10**400, None),
        (None, None),
    ],
)
def test_max_runs_is_clamped(tmp_path: Path, given: Any, runs: int | None) -> None:
    assert command(tmp_path, maxRuns=given).max_runs == runs


@pytest.mark.parametrize(
    ("keys", "field", "value"),
    [
        ({"stream": "A b"}, "stream", "a-b"),
        ({"stream": "###"}, "stream", "main"),
        ({"channel": "ops"}, "stream", "ops"),
        ({"autoStart": False}, "auto_start", False),
        ({"includeStderr": False}, "include_stderr", False),
        ({"managedBy": "model"}, "ownership", "modelOwned"),
        ({"ownership": "modelOwned"}, "ownership", "modelOwned"),
        ({"scope": "temporary"}, "lifespan", "persistent"),
        ({"lifespan": "temporary"}, "lifespan", "persistent"),
        ({"cwd": "../x"}, "cwd", "../x"),
        ({"cwd": " "}, "cwd", None),
        ({"shell": "zsh"}, "shell", "zsh"),
        ({"shell": "/opt/my shell"}, "shell", "/opt/my shell"),
        ({"env": {"A": "b"}}, "env", {"A": "b"}),
        ({"metadata": [1, {"a": None}]}, "metadata", '[1,{"a":null}]'),
        ({"every": None}, "schedule", Schedule("continuous")),
        ({"every": "  "}, "schedule", Schedule("continuous")),
        ({"cron": " "}, "schedule", Schedule("continuous")),
        ({"cron": " 0  9 * * mon-fri"}, "schedule", Schedule("timed", cron="0 9 * * mon-fri")),
        ({"runSchedule": "oneTime"}, "schedule", Schedule("oneTime")),
    ],
)
def test_keys_and_their_spellings(
    tmp_path: Path, keys: dict[str, Any], field: str, value: Any
) -> None:
    assert getattr(command(tmp_path, **keys), field) == value


@pytest.mark.parametrize(
    ("keys", "kind", "words"),
    [
        ({}, "oneTime", "once"),
        ({"runInterval": "1h"}, "timed", "every 1h"),
        ({"every": "Idle"}, "idle", "when idle"),
        ({"cron": "30 9 * * *"}, "timed", "at 09:30 every day (cron 30 9 * * *)"),
    ],
)
def test_schedules_of_prompts(tmp_path: Path, keys: dict[str, Any], kind: str, words: str) -> None:
    schedule = emitter(tmp_path, prompt="look", **keys).schedule
    assert (schedule.kind, str(schedule)) == (kind, words)


RULE = {"match": "a", "outcome": "drop"}


@pytest.mark.parametrize(
    ("keys", "rules", "owner"),
    [
        ({"eventFilter": [RULE]}, ["a drop"], "userOwned"),
        ({"eventFilter": {"rules": [RULE]}}, ["a drop"], "userOwned"),
        ({"eventFilter": {"rules": [RULE], "managedBy": "model"}}, ["a drop"], "modelOwned"),
        ({"classifier": {"rules": [RULE]}}, ["a drop"], "userOwned"),
        ({"rules": [RULE]}, ["a drop"], "userOwned"),
        ({"notifyPattern": "n"}, ["n inject"], "userOwned"),
        ({"excludePattern": "x", "includePattern": ""}, ["x drop"], "userOwned"),
        (
            {"includePattern": "i", "excludePattern": "x", "notifyPattern": "n"},
            ["x drop", "n inject", "i keep", ".* drop"],
            "userOwned",
        ),
        ({"eventFilter": {}}, [], "userOwned"),
    ],
)
def test_filters_in_all_their_forms(
    tmp_path: Path, keys: dict[str, Any], rules: list[str], owner: str
) -> None:
    found = command(tmp_path, **keys)
    assert [f"{rule.match} {rule.outcome}" for rule in found.rules] == rules
    assert found.filter_ownership == owner


def test_an_empty_filter_goes_before_a_classifier(tmp_path: Path) -> None:
    said = {"name": "e", "command": "x", "eventFilter": {}, "classifier": {"notifyPattern": "n"}}
    found = configured(tmp_path, {"emitters": [said]})
    assert found.emitters[0].rules == ()
    assert "classifier: not used" in problems(found)[0]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({}, ("unset", "surface", "userOwned")),
        ({"sessionInjector": None}, ("unset", "surface", "userOwned")),
        ({"sessionInjector": {}}, ("disabled", "surface", "userOwned")),
        ({"sessionInjector": {"enabled": True}}, ("enabled", "surface", "userOwned")),
        ({"sessionInjector": {"enabled": False}}, ("disabled", "surface", "userOwned")),
        ({"subscription": {"enabled": True, "delivery": "all"}}, ("enabled", "all", "userOwned")),
        (
            {"sessionInjector": {"enabled": True, "delivery": "important", "managedBy": "model"}},
            ("enabled", "important", "modelOwned"),
        ),
    ],
)
def test_streams(tmp_path: Path, keys: dict[str, Any], said: tuple[str, ...]) -> None:
    found = configured(tmp_path, {"streams": [{"name": "S 1", "description": "d", **keys}]})
    assert found.problems == ()
    stream = found.stream("s-1")
    assert stream.description == "d"
    assert (stream.injector, stream.delivery, stream.ownership) == said


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"sessionInjector": True}, "sessionInjector: sessionInjector is an object"),
        ({"sessionInjector": {"enabled": "yes"}}, "enabled: neither true nor false"),
        ({"sessionInjector": {"delivery": "loud"}}, "delivery: it is one of surface, important"),
        ({"sessioninjector": {}}, "sessioninjector: this key is not known"),
    ],
)
def test_wrong_streams(tmp_path: Path, keys: dict[str, Any], text: str) -> None:
    (problem,) = problems(configured(tmp_path, {"streams": [{"name": "s", **keys}]}))
    assert text in problem


def test_a_stream_without_a_name_is_main(tmp_path: Path) -> None:
    assert [one.name for one in configured(tmp_path, {"streams": [{}]}).streams] == ["main"]


def test_providers(tmp_path: Path) -> None:
    said = {"name": "db", "command": "uv", "args": ["run", "x"], "env": {"A": "b"}, "cwd": "p"}
    found = configured(tmp_path, {"providers": [said]})
    assert found.problems == ()
    provider = found.provider("db")
    assert provider is not None
    assert (provider.command, provider.args, provider.env, provider.cwd) == (
        "uv",
        ("run", "x"),
        {"A": "b"},
        "p",
    )
    assert provider.auto_start


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"name": "a@b"}, "a provider's name has letters"),
        ({"name": "tap"}, "and is not tap"),
        ({"name": None}, "a provider must have a name"),
        ({"command": None}, "a provider must have a command"),
        ({"args": "x"}, "args: args is a list of texts"),
        ({"args": [1]}, "args: args is a list of texts"),
        ({"args": ["x"] * 65}, "args: there are at most 64 arguments"),
        ({"args": ["x" * 5000]}, "args: an argument has at most 4,096"),
        ({"prompt": "x"}, "prompt: this key is not known"),
    ],
)
def test_wrong_providers(tmp_path: Path, keys: dict[str, Any], text: str) -> None:
    said = {"name": "p", "command": "c", **keys}
    (problem,) = problems(configured(tmp_path, {"providers": [said]}))
    assert text in problem


def test_the_second_of_a_name_is_refused(tmp_path: Path) -> None:
    text = '{"emitters": [\n{"name": "A b", "command": "1"},\n{"name": "a-b", "command": "2"}]}'
    found = configured(tmp_path, text)
    assert [one.command for one in found.emitters] == ["1"]
    assert problems(found) == ["3:2: emitters[1].name: a-b is there already, in line 2"]


@pytest.mark.parametrize("value", [None, 5, "x", [], True])
def test_entries_that_are_no_objects_cost_only_themselves(tmp_path: Path, value: Any) -> None:
    found = configured(tmp_path, {"emitters": [value, {"name": "e", "command": "x"}]})
    assert [one.name for one in found.emitters] == ["e"]
    assert "emitters[0]: this is an object, not" in problems(found)[0]


@pytest.mark.parametrize("key", ["emitters", "streams", "providers", "monitors"])
def test_a_list_that_is_none_costs_only_itself(tmp_path: Path, key: str) -> None:
    other = "streams" if key != "streams" else "providers"
    found = configured(tmp_path, {key: {"a": 1}, other: [{"name": "x", "command": "c"}]})
    assert found.is_readable
    assert f'{key}: {key} is a list, not {{"a":1}}' in " ".join(problems(found))
    assert len(found.streams) + len(found.providers) == 1


def test_a_misspelled_list_is_told(tmp_path: Path) -> None:
    found = configured(tmp_path, {"emiters": [], "guardian": {}})
    assert problems(found) == ["1:2: emiters: this key is not known: is it emitters?"]


def test_old_names_of_lists_work_in_a_new_file(tmp_path: Path) -> None:
    found = configured(tmp_path, {"monitors": [{"name": "m", "command": "x"}]})
    assert [one.name for one in found.emitters] == ["m"]


def test_more_than_may_be_are_left_out_and_told(tmp_path: Path) -> None:
    many = [{"name": f"e{n}", "command": "x"} for n in range(MAX_EMITTERS + 3)]
    found = configured(tmp_path, {"emitters": many})
    assert len(found.emitters) == MAX_EMITTERS
    assert "emitters has at most 100 entries: the rest of 103 is not used" in problems(found)[0]


def test_all_patterns_of_a_file_are_bounded_together(tmp_path: Path) -> None:
    rule = {"match": "a" * 1000, "outcome": "drop"}
    many = [{"name": f"e{n}", "command": "x", "eventFilter": [rule] * 20} for n in range(9)]
    found = configured(tmp_path, {"emitters": many})
    assert sum(len(one.rules) for one in found.emitters) * 1000 <= MAX_PATTERN_CHARACTERS
    assert "all patterns together have at most 131,072 characters" in problems(found)[0]


def test_problems_are_bounded_and_safe_to_show(tmp_path: Path) -> None:
    many = [{"name": "\x1b[31m\u202e", "command": ["\x07" * 100], "\x1b]0;x": 1}] * 200
    found = configured(tmp_path, {"emitters": many})
    assert len(found.problems) == 101
    assert str(found.problems[-1]).endswith("and 1 more problems")
    assert all(str(problem).isprintable() for problem in found.problems)


def test_comments_a_mark_and_trailing_commas(tmp_path: Path) -> None:
    text = (
        b'\xef\xbb\xbf// what runs\n{ /* no\n streams */ "emitters": [\n'
        b'  {"name": "e", "command": "echo // no /* comment */", }, // one\n ],\n}\n'
    )
    found = configured(tmp_path, text)
    assert found.problems == ()
    assert [(one.command, one.line) for one in found.emitters] == [("echo // no /* comment */", 4)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"emitters": [\n  {"name": "e",', "2:16: not JSON: it ends too early"),
        (b"", "1:1: the file is empty"),
        (b" \n// x\n", "1:1: the file is empty"),
        (b'{"a": 1}\n{', "2:1: not JSON: something follows its end"),
        (b'{\n "a": tru }', "2:11: not JSON: this is not expected here"),
        ('{"ä": "\x07"}'.encode(), "1:8: not JSON: this is not expected here"),
        (b'{\n"a": "\xff"}', "2:7: not valid UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "1:1: it is UTF-16: save it as UTF-8"),
        (b"[1, /* x", "1:5: not JSON: this is not expected here"),
        (b"[,]", "1:2: not JSON: this is not expected here"),
        (b"{,}", "1:2: not JSON: object keys must be strings"),
        (b"[1,,]", "1:4: not JSON: this is not expected here"),
        (b"[1]", "1:1: a configuration is an object, not [1]"),
        (b"null", "1:1: a configuration is an object, not null"),
        pytest.param(b"[" * 100_000, "1:1: it has more than 64 levels", id="deepest"),
        pytest.param(b"[" * 100 + b"]" * 100, "1:1: it has more than 64 levels", id="deep"),
    ],
)
def test_a_file_that_cannot_be_read_names_the_place(tmp_path: Path, text: bytes, said: str) -> None:
    found = configured(tmp_path, text)
    assert not found.is_readable
    assert problems(found) == [said]


def test_places_count_characters_behind_other_letters(tmp_path: Path) -> None:
    text = '{"ä": 1, "emitters": [{"name": "ü", "command": "x"}]}'
    assert problems(configured(tmp_path, text))[0].startswith("1:24: emitters[0].name: nothing")


def test_of_a_key_that_is_there_twice_the_last_counts(tmp_path: Path) -> None:
    text = '{"emitters": [{"name": "a", "command": "1",\n "command": 5}]}'
    assert problems(configured(tmp_path, text))[0].startswith("2:2: emitters[0].command")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    found = read(tmp_path / "gone")
    assert not found.is_readable
    assert "the folder cannot be read" in str(found.problems[0])


def test_a_folder_without_a_file_is_empty(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert (found.path, found.problems, found.is_readable) == (None, (), True)
    assert found.folder == os.path.realpath(tmp_path)
