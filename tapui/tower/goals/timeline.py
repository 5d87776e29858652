"""A goal's timeline: what was noted at it and checked, and the turns with their steps meanwhile."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from tapui import times
from tapui.projection.goal_words import OPENER_WORDS, STATUS_WORDS, closer_words
from tapui.projection.turns.turn import LiveStep, LiveTurn
from tapui.tower.app.view import View
from tapui.tower.table.columns import Cell, Column, Piece, Row
from tapui.tower.turns import steps
from tapui.tower.turns.steps import StepPlace
from tapui.tower.wording.marks import Mark
from tapui.wire.goals import Goal
from tapui.wire.message import Line

COLUMNS = (
    Column("", 24, grows=True, half=True),
    Column("", 8, 40, rank=1),
    Column("", 8, 8, rank=2, right=True),
)
LINE = "line "
"""Before the number of a line, in its row's key; turns and steps have keys of their own."""
_LABEL = 6
_NOTED = Mark("·", "", "muted")
_VERIFIED = Mark("○", "", "muted")
_ACHIEVED = Mark("✓", "", "success")

Timed = tuple[str, Row]
"""A row, and when that was."""


def call_ids(goal: Goal) -> frozenset[str]:
    """Return the calls that a verdict on one of its criteria rests on."""
    return frozenset(
        pointer.uri.removeprefix("call:")
        for one in goal.criteria
        if one.verdict is not None
        for pointer in one.verdict.pointers
        if pointer.uri.startswith("call:")
    )


def lines_of(goal: Goal, lines: Iterable[Line]) -> list[tuple[Line, str]]:
    """Return the lines of the goals' stream that are about a goal, each with its kind."""
    found = []
    for line in lines:
        told = _metadata(line)
        if told.get("goalId") == goal.id:
            found.append((line, str(told.get("kind", ""))))
    return found


def _metadata(line: Line) -> dict[str, Any]:
    try:
        told = msgspec.json.decode(line.metadata) if line.metadata is not None else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}  # of records that others wrote
    return told if isinstance(told, dict) else {}


def turns_between(view: View, goal: Goal) -> list[tuple[str, LiveTurn]]:
    """Return the turns from a goal's opening to its end with their keys, oldest first."""
    found = []
    for key, turn in reversed(steps.keyed_turns(view, goal.session_id)):
        state, ended_at = turn.told_state()
        until = None if state in ("running", "waiting") else ended_at or turn.started_at
        is_before = until is not None and until < goal.opened_at
        if not is_before and (goal.closed_at is None or turn.started_at <= goal.closed_at):
            found.append((key, turn))
    return found


class GoalTimeline:
    """Makes the rows of one goal. Those of turns that ended are kept: they do not change."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[object, list[Timed]]] = {}

    def rows(self, view: View, goal: Goal, lines: Sequence[tuple[Line, str]]) -> list[Row]:
        """Return them in order of time. Steps are those that changed a file, failed, or that a
        verdict rests on; that the agent was sent back is a line."""
        evidence = call_ids(goal)
        before, self._kept = self._kept, {}
        moments = list(_of_goal(goal, lines))
        for key, turn in turns_between(view, goal):
            state = (turn.made, turn.is_whole, turn.ended_at, turn.proof, evidence)
            known = before.get(key)
            if known is None or known[0] != state or turn.ended_at is None:
                known = (state, list(_of_turn(view, key, turn, evidence)))
            self._kept[key] = known
            moments += known[1]
        moments.sort(key=lambda one: one[0])
        return [row for _at, row in moments]


def _of_goal(goal: Goal, lines: Sequence[tuple[Line, str]]) -> Iterator[Timed]:
    """Yield what happened to the goal itself; its beginning and end also where no line of the
    stream has them."""
    if not any(kind == "goal.opened" for _line, kind in lines):
        words = f"opened by {OPENER_WORDS[goal.opened_by]}"
        yield goal.opened_at, _moment(goal.opened_at, _NOTED, words)
    for line, kind in lines:
        words = line.event.removesuffix(f": {goal.title}")
        mark = _NOTED
        if kind == "goal.verified":
            mark = _ACHIEVED if words == "achieved" else _VERIFIED
        lead = ((f"{times.moment(line.ts)} ", "muted"), (f"{mark.glyph} ", mark.tone))
        cells = (Cell(words, "strong", lead=lead), Cell(""), Cell(""))
        yield line.ts, Row(f"{LINE}{line.seq}", cells)
    closed_at = goal.closed_at
    if closed_at is not None and not any(line.ts >= closed_at for line, _kind in lines):
        mark = _ACHIEVED if goal.status == "achieved" else _NOTED
        words = f"{STATUS_WORDS[goal.status]}: {closer_words(goal)}"
        yield closed_at, _moment(closed_at, mark, words)


def _moment(at: str, mark: Mark, words: str) -> Row:
    return Row("", (Cell(f"{times.moment(at)} {mark.glyph} {words}"),), is_heading=True)


def _of_turn(view: View, key: str, turn: LiveTurn, evidence: frozenset[str]) -> Iterator[Timed]:
    yield turn.started_at, _turn(view, key, turn)
    if not any(_counts(step, evidence) for step in turn.all_steps()):
        return
    for step_key, place in steps.keyed_steps(key, turn):
        step = place.step
        if _counts(step, evidence):
            row = _step(view, step_key, place, is_evidence=step.call_id in evidence)
            yield step.at, row


def _turn(view: View, key: str, turn: LiveTurn) -> Row:
    mark = steps.mark_of_turn(view, turn)
    lead = (
        (f"{times.moment(turn.started_at)} ", "muted"),
        ("▸ ", "accent"),
        (f"{turn.number}  ", ""),
    )
    is_over = turn.told_state()[1] is not None
    seconds = steps.seconds_of_turn(turn, view.now) if is_over else None
    return Row(
        key,
        (
            Cell(steps.prompt_words(view, turn), lead=lead),
            Cell(mark.text, mark.tone),
            Cell(steps.lasted(seconds), "muted"),
        ),
    )


def _counts(step: LiveStep, evidence: frozenset[str]) -> bool:
    """Return whether a step says something about how the goal came to stand as it does."""
    step.condense()
    changed = step.added is not None or step.removed is not None
    return changed or step.state == "failed" or step.call_id in evidence


def _step(view: View, key: str, place: StepPlace, *, is_evidence: bool) -> Row:
    step = place.step
    mark = steps.mark_of(view, step)
    note, note_tone = steps.note_of(view, step)
    if is_evidence:
        note, note_tone = "  ".join(filter(None, (note, "evidence"))), note_tone or "muted"
    rest: tuple[Piece, ...] = ()
    if lines := steps.lines_changed(step.added, step.removed):
        rest = ((f"  {lines}", "muted"),)
    seconds = None if step.is_open else steps.seconds_of(view, place.turn.session_id, step)
    return Row(
        key,
        (
            Cell(
                steps.step_words(step, view.folder_of(place.turn.session_id)),
                lead=(
                    (f"{times.moment(step.at)} ", "muted"),
                    (f"  {mark.glyph} ", mark.tone),
                    (f"{steps.label_of(step):<{_LABEL}} ", ""),
                ),
                rest=rest,
            ),
            Cell(note, note_tone),
            Cell(steps.lasted(seconds), "muted"),
        ),
    )
