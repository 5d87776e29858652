"""The keys of goals, checked: each criterion is a command, a text, or a text with its check."""

import time
from typing import Any

from tapui import times
from tapui.core.goals.goals import criteria_of
from tapui.emitters.config.entries import GoalEntry
from tapui.emitters.config.fields import EntryRefusedError, Fields, quoted
from tapui.projection.summary import one_line
from tapui.tools.goals import criterion_check
from tapui.wire import limits
from tapui.wire.criteria import AnyDemand, Ran
from tapui.wire.errors import WireError
from tapui.wire.goals import CriterionGiven


def goal_of(entry: Fields) -> GoalEntry:
    """Return a goal. Raises `EntryRefusedError`."""
    if (key := entry.key("unproven")) is not None:
        text = "a file cannot have an agent sent back: you switch that on at the goal itself"
        raise entry.refuse(key, text)
    title = entry.text("title", most=limits.MAX_SUMMARY, what="a title")
    agent = entry.text("agent", most=limits.MAX_ID, what="an agent's name")
    deadline = _deadline(entry)
    criteria = _criteria(entry)
    entry.tell_unknown()
    try:
        made = criteria_of(criteria, [], "file")
    except WireError as error:
        raise entry.refuse("criteria", error.text) from None
    name = one_line(title or _first_words(criteria[0]) or made[0].text)
    return GoalEntry(name=name, criteria=criteria, agent=agent, deadline=deadline)


def _first_words(first: CriterionGiven) -> str:
    """Return the title of a goal without one: its first criterion's text, or command."""
    return first.check.command if isinstance(first.check, Ran) and not first.text else first.text


def _deadline(entry: Fields) -> str | None:
    text = entry.text("deadline", most=limits.MAX_ID, what="a deadline")
    if text is None:
        return None
    when = times.instant(text)
    if when is None:
        example = "a time of RFC 3339 with its zone, such as 2026-11-20T18:00:00Z"
        raise entry.refuse("deadline", f"a deadline is {example}")
    if when <= time.time():
        entry.warn("deadline", "it has passed: the goal is not opened any more")
    return text


def _criteria(entry: Fields) -> tuple[CriterionGiven, ...]:
    given = entry.value("criteria")
    if isinstance(given, str):
        return (CriterionGiven(check=_command(entry, "criteria", given)),)
    if given is None or given == []:
        raise entry.refuse(None, "a goal has criteria: commands, or objects with text and check")
    if not isinstance(given, list):
        what = f"criteria are a command or a list, not {quoted(given)}"
        raise entry.refuse("criteria", what)
    if len(given) > limits.MAX_CRITERIA:
        raise entry.refuse("criteria", f"a goal has at most {limits.MAX_CRITERIA} criteria")
    return tuple(_criterion(entry, at, one) for at, one in enumerate(given))


def _criterion(entry: Fields, at: int, value: Any) -> CriterionGiven:
    path = (*entry.path, "criteria", at)
    fields = {"check": value} if isinstance(value, str) else value
    if not isinstance(fields, dict):
        what = f"a criterion is a command or an object, not {quoted(value)}"
        raise EntryRefusedError(path, what)
    given = Fields(fields, path, entry.problems)
    id_ = given.text("id", most=limits.MAX_ID, what="an id")
    text = given.text("text", most=limits.MAX_CRITERION, what="a text") or ""
    check = _check(given)
    if check is None and not text:
        raise given.refuse(None, "a criterion has a text or a check")
    given.tell_unknown()
    return CriterionGiven(id_, text, check)


def _check(given: Fields) -> AnyDemand | None:
    value = given.value("check")
    if isinstance(value, str):
        return _command(given, "check", value)
    try:
        return criterion_check(value, "check")
    except (ValueError, WireError) as error:
        text = error.text if isinstance(error, WireError) else str(error)
        raise given.refuse("check", text.removeprefix("check").lstrip(".: ")) from None


def _command(given: Fields, key: str, value: Any) -> Ran:
    command = given.text(key, most=limits.MAX_CRITERION, what="a command")
    if command is None:
        raise given.refuse(key, f"a command is a text, not {quoted(value)}")
    return Ran(command=command)
