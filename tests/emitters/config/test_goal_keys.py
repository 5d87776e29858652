"""Goals of a file: each spelling, and what is refused with its place."""

from pathlib import Path
from typing import Any

import pytest

from tapui.emitters.config.entries import MAX_FILE_GOALS, GoalEntry
from tapui.wire import limits
from tapui.wire.criteria import Called, FileIs, PersonSays, Ran
from tapui.wire.goals import CriterionGiven
from tests.emitters.config.folder import configured, problems

LS = Ran(command="ls")


def goals(folder: Path, *entries: Any) -> tuple[GoalEntry, ...]:
    """Return the goals of a configuration, which has no problem."""
    found = configured(folder, {"goals": entries})
    assert problems(found) == []
    return found.goals


@pytest.mark.parametrize(
    "entry",
    [
        "ls",
        {"criteria": "ls"},
        {"criteria": ["ls"]},
        {"title": None, "criteria": [{"check": "ls"}]},
        {"title": "  ", "criteria": [{"check": {"kind": "ran", "command": "ls"}}]},
    ],
)
def test_a_command_alone_is_a_goal(tmp_path: Path, entry: Any) -> None:
    (goal,) = goals(tmp_path, entry)
    assert goal == GoalEntry(name="ls", criteria=(CriterionGiven(check=LS),), line=1, index=0)


def test_everything_that_a_goal_can_have(tmp_path: Path) -> None:
    entry = {
        "title": "The cart\nworks",
        "agent": "reviewer",
        "deadline": "2999-01-01T00:00:00+01:00",
        "criteria": [
            {"id": "look", "text": "The page looks good"},
            {"text": "it was saved", "check": {"kind": "call", "tool": "save"}},
            {"check": {"kind": "file", "path": "a.txt", "contains": "x"}},
            {"check": {"kind": "person", "text": "ship it"}},
            {"check": {"kind": "ran", "command": "npm test", "exitCode": 1, "minTests": 3}},
        ],
    }
    (goal,) = goals(tmp_path, entry)
    assert (goal.name, goal.agent, goal.deadline) == (
        "The cart ⏎ works",
        "reviewer",
        "2999-01-01T00:00:00+01:00",
    )
    assert list(goal.criteria) == [
        CriterionGiven("look", "The page looks good"),
        CriterionGiven(None, "it was saved", Called(tool="save")),
        CriterionGiven(check=FileIs(path="a.txt", contains=["x"])),
        CriterionGiven(check=PersonSays(text="ship it")),
        CriterionGiven(check=Ran(command="npm test", exit_code=1, min_tests=3)),
    ]


@pytest.mark.parametrize(
    ("entry", "title"),
    [
        ({"criteria": [{"text": "it is nice"}, "ls"]}, "it is nice"),
        ({"criteria": [{"text": "lists", "check": "ls"}]}, "lists"),
        ({"criteria": [{"check": {"kind": "file", "path": "a"}}]}, "a is as demanded"),
    ],
)
def test_without_a_title_it_has_that_of_its_first_criterion(
    tmp_path: Path, entry: Any, title: str
) -> None:
    (goal,) = goals(tmp_path, entry)
    assert goal.name == title


SEND_BACK = "a file cannot have an agent sent back: you switch that on at the goal itself"
NO_DEADLINE = "a deadline is a time of RFC 3339 with its zone, such as 2026-11-20T18:00:00Z"
NO_CRITERIA = "a goal has criteria: commands, or objects with text and check"
CHECKS = "one of ran, call, file, stream, person, command"


@pytest.mark.parametrize(
    ("keys", "key", "text"),
    [
        ({"unproven": "send back"}, ".unproven", SEND_BACK),
        ({"unproven": "tell"}, ".unproven", SEND_BACK),
        ({"deadline": "soon"}, ".deadline", NO_DEADLINE),
        ({"deadline": "2999-01-01"}, ".deadline", NO_DEADLINE),
        ({"deadline": 7}, ".deadline", "a deadline is a text, not 7"),
        ({"title": ["x"]}, ".title", 'a title is a text, not ["x"]'),
        ({"title": "x" * 301}, ".title", "a title has at most 300 characters"),
        ({"criteria": None}, "", NO_CRITERIA),
        ({"criteria": []}, "", NO_CRITERIA),
        ({"criteria": " "}, ".criteria", 'a command is a text, not " "'),
        ({"criteria": {"text": "x"}}, ".criteria",
         'criteria are a command or a list, not {"text":"x"}'),
        ({"criteria": ["ls"] * 51}, ".criteria", "a goal has at most 50 criteria"),
        ({"criteria": ["ls", 3]}, ".criteria[1]", "a criterion is a command or an object, not 3"),
        ({"criteria": [{}]}, ".criteria[0]", "a criterion has a text or a check"),
        ({"criteria": [{"text": "x" * 2001}]}, ".criteria[0].text",
         "a text has at most 2,000 characters"),
        ({"criteria": [{"check": "x" * 2001}]}, ".criteria[0].check",
         "a command has at most 2,000 characters"),
        ({"criteria": [{"check": {"kind": "deploy"}}]}, ".criteria[0].check", f"kind: {CHECKS}"),
        ({"criteria": [{"check": {"kind": "ran"}}]}, ".criteria[0].check",
         "Object missing required field `command`"),
        ({"criteria": [{"check": {"kind": "ran", "command": "ls", "exitcode": 1}}]},
         ".criteria[0].check",
         "exitcode: not known here; known: after, command, exitCode, globs, minTests, root"),
        ({"criteria": [{"check": ["ls"]}]}, ".criteria[0].check", "expected an object or a text"),
        ({"criteria": [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]}, ".criteria",
         "criteria[1].id: a is there already"),
    ],
)  # fmt: skip
def test_what_is_no_goal_is_refused_with_its_place(
    tmp_path: Path, keys: dict[str, Any], key: str, text: str
) -> None:
    found = configured(tmp_path, {"goals": [{"title": "g", "criteria": "ls", **keys}, "make"]})
    (problem,) = found.problems
    assert (problem.key, problem.text, problem.is_error) == (f"goals[0]{key}", text, True)
    assert [one.name for one in found.goals] == ["make"]


def test_a_problem_names_its_line_and_its_goal(tmp_path: Path) -> None:
    text = """{
  // what we want
  "goals": [
    {
      "title": "the cart",
      "criteria": [
        "npm test",
        {"check": {"kind": "file"}}
      ]
    }
  ]
}"""
    (problem,) = configured(tmp_path, text).problems
    assert (problem.line, problem.name) == (8, "the cart")


def test_of_two_goals_with_one_title_the_first_counts(tmp_path: Path) -> None:
    found = configured(tmp_path, {"goals": ["ls", {"title": "ls", "criteria": "make"}]})
    assert [one.criteria[0].check for one in found.goals] == [LS]
    assert problems(found) == ["1:19: goals[1].title: ls is there already, in line 1"]


def test_a_deadline_that_has_passed_is_a_warning(tmp_path: Path) -> None:
    entry = {"criteria": "ls", "deadline": "2020-01-01T00:00:00Z"}
    found = configured(tmp_path, {"goals": [entry]})
    (problem,) = found.problems
    assert (problem.key, problem.is_error) == ("goals[0].deadline", False)
    assert problem.text == "it has passed: the goal is not opened any more"
    assert [one.name for one in found.goals] == ["ls"]


def test_unknown_keys_are_named_and_kept(tmp_path: Path) -> None:
    found = configured(tmp_path, {"goals": [{"criteria": [{"text": "x", "chek": 1}], "tilte": 2}]})
    unknown = "this key is not known: it is kept, and not used"
    assert [(one.key, one.text) for one in found.problems] == [
        ("goals[0].criteria[0].chek", unknown),
        ("goals[0].tilte", unknown),
    ]


def test_a_misspelled_list_and_too_many_goals_are_told(tmp_path: Path) -> None:
    found = configured(tmp_path, {"goal": ["ls"]})
    assert problems(found) == ["1:2: goal: this key is not known: is it goals?"]
    many = [f"ls {number}" for number in range(MAX_FILE_GOALS + 1)]
    found = configured(tmp_path, {"goals": many})
    assert len(found.goals) == MAX_FILE_GOALS < limits.MAX_GOALS
    assert found.problems[0].text == "goals has at most 20 entries: the rest of 21 is not used"
