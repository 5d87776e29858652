"""The rows of the Turns pane: a head for each turn, and the steps of those that are unfolded."""

from collections.abc import Callable, Iterator

from tapui import times
from tapui.projection.turns.restored import TAPUI_ENDED
from tapui.projection.turns.step import LiveStep
from tapui.projection.turns.turn import LiveTurn
from tapui.tower.app.view import View
from tapui.tower.table.columns import Cell, Column, Piece, Row
from tapui.tower.turns import steps
from tapui.tower.turns.steps import StepPlace
from tapui.tower.wording.words import quantity

COLUMNS = (
    Column("", 24, grows=True, half=True),
    Column("", 6, 16, rank=1),
    Column("", 5, 7, right=True),
)
_LABEL = 6
_LONGEST_LABEL = 24
_INSET = "  "

IsUnfolded = Callable[[str, LiveTurn | LiveStep], bool]
"""Returns whether a turn, or a subagent's step, shows what is in it."""


class TurnRows:
    """Makes the rows of one session. Rows of steps that ended are kept: they do not change."""

    def __init__(self) -> None:
        self.places: dict[str, StepPlace] = {}
        """The steps among the rows, by key."""
        self.turns: dict[str, LiveTurn] = {}
        """The turns, by key, newest first."""
        self._kept: dict[str, tuple[LiveStep, object, Row]] = {}

    def of(
        self,
        view: View,
        session_id: str,
        is_unfolded: IsUnfolded,
        give_way: Callable[[], None],
    ) -> list[Row]:
        """Return the rows, the newest turn on top, its steps in the order in which they began.

        `give_way` is called between two of them.
        """
        before, self._kept = self._kept, {}
        self.places, self.turns = {}, {}
        rows: list[Row] = []
        for key, turn in steps.keyed_turns(view, session_id):
            self.turns[key] = turn
            is_open = is_unfolded(key, turn)
            rows.append(_head(view, key, turn, is_unfolded=is_open))
            if is_open:
                for row in self._steps(view, key, turn, is_unfolded, before):
                    rows.append(row)
                    give_way()
        return rows

    def _steps(
        self,
        view: View,
        key: str,
        turn: LiveTurn,
        is_unfolded: IsUnfolded,
        before: dict[str, tuple[LiveStep, object, Row]],
    ) -> Iterator[Row]:
        missing = _missing(view, turn)
        if missing:
            yield Row("", (Cell(_INSET + missing),), is_heading=True, under=key)
        hidden: LiveStep | None = None
        for step_key, place in steps.keyed_steps(key, turn):
            step = place.step
            if place.agent is not None and place.agent is hidden:
                continue
            has_more = step.kind == "subagent"
            unfolded = has_more and is_unfolded(step_key, step)
            if has_more and not unfolded:
                hidden = step
            self.places[step_key] = place
            step.condense()
            look = (step.state, step.summary, step.error, unfolded, turn.is_history)
            known = before.get(step_key)
            if known is None or step.is_open or has_more or known[:2] != (step, look):
                known = (step, look, _row(view, step_key, place, key, is_unfolded=unfolded))
            self._kept[step_key] = known
            yield known[2]


def _missing(view: View, turn: LiveTurn) -> str:
    """Return what is said in place of steps that are not here."""
    if not turn.is_whole:
        if view.is_turn_awaited(turn.session_id, turn.number):
            return "its steps are being read …"
        return "its steps are not here" if turn.made else "it had no steps"
    gone = turn.made - sum(step.size for step in turn.steps)
    if gone <= 0:
        return "" if turn.steps or turn.told_state()[1] is None else "it had no steps"
    what = quantity(gone, "earlier step" if turn.steps else "step")
    return f"{what} no longer kept here; the records have them"


def _head(view: View, key: str, turn: LiveTurn, *, is_unfolded: bool) -> Row:
    state, _ended_at = turn.told_state()
    mark = steps.mark_of_turn(view, turn)
    quiet = "muted" if turn.is_history else ""
    began = times.epoch(turn.started_at)
    when = times.hour_and_minute(began) if began is not None else "--:--"
    rest: list[Piece] = []
    if not is_unfolded and turn.made:
        rest.append((f"   {quantity(turn.made, 'step')}", "muted"))
    lines = steps.turn_lines(turn)
    if lines:
        rest.append((f"   {lines}", "muted"))
    if turn.is_history:
        rest.append(("   history", "muted"))
    if not is_unfolded and turn.failed:
        rest.append((f"   {turn.failed} failed", "error"))
    if state == "unknown":
        rest.append((f"   {TAPUI_ENDED}", "muted"))
    elif state == "done":
        rest.append((f"   {mark.glyph}", mark.tone))
    elif state in ("stopped", "failed") or not is_unfolded or steps.alarm_of_turn(view, turn):
        rest.append((f"   {mark.text}", mark.tone))
    seconds = steps.seconds_of_turn(turn, view.now)
    return Row(
        key,
        (
            Cell(
                steps.prompt_words(view, turn),
                quiet or "strong",
                lead=(
                    (f"{when} ", "muted"),
                    ("▾ " if is_unfolded else "▸ ", "accent"),
                    (f"{turn.number}  ", quiet),
                ),
                rest=tuple(rest),
            ),
            Cell(steps.tokens(turn.usage), "muted"),
            Cell(steps.lasted(seconds), "muted"),
        ),
        opens_within=len(when) + 3,  # the cursor's cell, the time, a blank and the mark
    )


def _row(view: View, key: str, place: StepPlace, turn_key: str, *, is_unfolded: bool) -> Row:
    step = place.step
    mark = steps.mark_of(view, step)
    note, note_tone = steps.note_of(view, step)
    quiet = "muted" if place.turn.is_history else ""
    label = steps.label_of(step)
    if len(label) > _LONGEST_LABEL:
        label = label[: _LONGEST_LABEL - 1] + "…"
    rest: list[Piece] = []
    lines = steps.lines_changed(step.added, step.removed)
    if lines:
        rest.append((f"  {lines}", "muted"))
    if step.kind == "subagent":
        count = quantity(max(step.calls, 0), "call")
        rest.append((f"   {'▾' if is_unfolded else '▸'} {count}", "accent"))
    inset = _INSET if place.agent is not None else ""
    is_wrong = step.state == "failed" and bool(step.error)
    return Row(
        key,
        (
            Cell(
                steps.step_words(step, view.folder_of(place.turn.session_id)),
                "error" if is_wrong else quiet,
                lead=(
                    (f"{inset}{times.moment(step.at)} ", "muted"),
                    (f"{mark.glyph} ", mark.tone),
                    (f"{label:<{_LABEL}} ", "strong" if step.is_open else quiet),
                ),
                rest=tuple(rest),
            ),
            Cell(note, note_tone),
            Cell(steps.lasted(steps.seconds_of(step, view.now)), "muted"),
        ),
        under=turn_key,
    )
