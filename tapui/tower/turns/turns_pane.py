"""The turns of the selected session: a head for each, and the steps of those that are unfolded."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import ClassVar, NamedTuple

from textual.binding import BindingType

from tapui import times
from tapui.projection.proof import proof_line
from tapui.projection.state import is_open, is_waiting, listed
from tapui.projection.turns.earlier_turns import TAPUI_ENDED
from tapui.projection.turns.programs import program
from tapui.projection.turns.turn import LiveStep, LiveTurn
from tapui.projection.words import can_stop
from tapui.tower.app.tower import RowAction
from tapui.tower.app.view import View
from tapui.tower.keys.bindings import bindings
from tapui.tower.table.columns import Cell, Column, Piece, Row
from tapui.tower.table.filter import Filter
from tapui.tower.table.pane import FrameNote, ListPlace
from tapui.tower.table.table import Table
from tapui.tower.table.table_pane import TablePane
from tapui.tower.textual.detail import DetailView
from tapui.tower.turns import steps
from tapui.tower.turns.steps import StepFilter, StepPlace, parse_steps
from tapui.tower.wording import marks
from tapui.tower.wording.marks import Mark
from tapui.tower.wording.words import again_words, quantity
from tapui.wire.subjects import Session
from tapui.wire.tower import TurnsRead

COLUMNS = (
    Column("", 24, grows=True, half=True, stays=True, flows=True),
    Column("", 6, 16, rank=1),
    Column("", 5, 7, right=True),
)
_LABEL = 6
_LONGEST_LABEL = 24
_INSET = "  "
_TO_SIGN = 3
"""Cells before the sign of a step."""

IsUnfolded = Callable[[str, LiveTurn | LiveStep], bool]
"""Returns whether a turn, or a subagent's step, shows what is in it."""


class TurnRows:
    """Makes the rows of one session. Rows of steps that ended are kept: they do not change."""

    def __init__(self) -> None:
        self.places: dict[str, StepPlace] = {}
        """The steps among the rows, by key."""
        self.turns: dict[str, LiveTurn] = {}
        """The turns, by key, newest first."""
        self._kept: dict[int, _KeptRow] = {}
        """By the `id` of their steps."""
        self._before: dict[int, _KeptRow] = {}

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
        self._before, self._kept = self._kept, {}
        self.places, self.turns = {}, {}
        rows: list[Row] = []
        for key, turn in steps.keyed_turns(view, session_id):
            self.turns[key] = turn
            is_open = is_unfolded(key, turn)
            rows.append(_head(view, key, turn, is_unfolded=is_open))
            if is_open:
                rows.extend(self._steps(view, key, turn, is_unfolded, give_way))
                rows += _proof(view, key, turn)
        return rows

    def _steps(
        self,
        view: View,
        key: str,
        turn: LiveTurn,
        is_unfolded: IsUnfolded,
        give_way: Callable[[], None],
    ) -> Iterator[Row]:
        missing = _missing(view, turn)
        if missing:
            yield Row("", (Cell(_INSET + missing),), is_heading=True, under=key)
        hidden: LiveStep | None = None
        keys = steps.StepKeys(key)
        for step, agent in steps.nested(turn):
            known = self._before.get(id(step))
            if known is not None and known.step is not step:
                known = None
            name = steps.name_of(step) if known is None else known.name
            count = keys.count(name)
            if agent is not None and agent is hidden:
                continue
            if known is not None and count == 1 and known.stands(turn):
                self._kept[id(step)] = known
                self.places[known.row.key] = known.place
                yield known.row
                continue
            step_key = keys.key(name, count)
            has_more = step.kind == "subagent"
            unfolded = has_more and is_unfolded(step_key, step)
            if has_more and not unfolded:
                hidden = step
            place = self.places[step_key] = StepPlace(turn, step, agent)
            step.condense()
            row = _row(view, step_key, place, key, is_unfolded=unfolded)
            if count == 1 and not step.is_open and not has_more:
                self._kept[id(step)] = _KeptRow(step, name, place, _looks(step, turn), row)
            yield row
            give_way()


class _KeptRow(NamedTuple):
    """The row of a step that has ended, the first of its name in its turn.

    All steps under way are made into rows in each frame; of two hundred that ended none is.
    """

    step: LiveStep
    name: str
    place: StepPlace
    looks: tuple[object, ...]
    row: Row

    def stands(self, turn: LiveTurn) -> bool:
        """Return whether the step is as it was."""
        is_whole = self.step.call is None and self.place.turn is turn
        return is_whole and self.looks == _looks(self.step, turn)


def _looks(step: LiveStep, turn: LiveTurn) -> tuple[object, ...]:
    return step.state, step.summary, step.error, turn.is_history


def _missing(view: View, turn: LiveTurn) -> str:
    """Return what is said in place of steps that are not here."""
    if not turn.is_whole:
        if view.is_turn_awaited(turn.session_id, turn.number):
            return "its steps are being read …"
        return "its steps are not here" if turn.made else "it had no steps"
    gone = turn.made - sum(step.size for step in turn.steps)
    if gone <= 0:
        is_over = turn.told_state()[1] is not None  # a turn under way may still get some
        return "it had no steps" if is_over and not turn.steps else ""
    what = quantity(gone, "earlier step" if turn.steps else "step")
    return f"{what} no longer kept here; the records have them"


def _proof(view: View, key: str, turn: LiveTurn) -> list[Row]:
    """Return the line at a turn's end, its sign below those of the steps."""
    if turn.proof is None:
        return []
    line = " " * _TO_SIGN + proof_line(turn.proof, partial(times.when, now=view.now))
    tone = marks.PROOF[turn.proof.state].tone
    return [Row("", (Cell(line, tone),), is_heading=True, under=key)]


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
    if turn.sent_back:
        rest.append((f"   {again_words(turn)}", "muted"))
    if not is_unfolded:
        rest += [(f"   {one.word}", one.tone) for one in steps.counts_of(turn.counted())]
    if state == "unknown":
        rest.append((f"   {TAPUI_ENDED}", "muted"))
    elif mark == marks.PROOF["unknown"]:
        pass  # a ✓ would read as checked
    elif state == "done" and turn.proof is None:
        # Of a turn that is folded, the count of what failed stands before it.
        has_count = mark.tone == "error" and is_unfolded
        rest.append((f"   {mark.text if has_count else mark.glyph}", mark.tone))
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
            Cell(""),
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
                    (" " * _TO_SIGN + inset, ""),
                    (f"{mark.glyph} ", mark.tone),
                    (f"{label:<{_LABEL}} ", "strong" if step.is_open else quiet),
                ),
                rest=tuple(rest),
            ),
            Cell(note, note_tone),
            Cell(steps.lasted(steps.seconds_of(view, place.turn.session_id, step)), "muted"),
        ),
        calls_out=_calls_out(step, mark),
        under=turn_key,
    )


def _calls_out(step: LiveStep, mark: Mark) -> Piece | None:
    is_asked = mark.tone == "warning"
    if not is_asked and step.state != "failed":
        return None
    name = program(step.summary) if step.exit_code is not None else ""
    return f"{mark.glyph} {name or steps.label_of(step)}", "warning" if is_asked else "error"


READ_AT_ONCE = 8
"""Turns that are asked for together: the one that is wanted, and those before it."""
_KEPT_SESSIONS = 100


@dataclass(slots=True)
class _Look:
    """How the person looks at a session: what was folded by hand, where the cursor is, whether it
    follows what happens."""

    unfolded: dict[str, bool] = field(default_factory=dict)
    cursor: str = ""
    follows: bool = True
    seen_until: str = ""
    """When the newest began that was here as it ceased to follow."""
    newest: str = ""
    unread: int = 0
    """How many turns were not here when a filter last asked for them."""


class TurnsPane(TablePane):
    """The newest turn on top, unfolded; the cursor on its last step follows what happens."""

    TOPICS = frozenset({"sessions", "calls", "approvals", "life", "clock"})
    HELP = """\
The turns of the session that is selected in Sessions, the newest on top. Enter folds and unfolds a
turn or a subagent, and opens a step, or the request that it waits for. The cursor on the newest
step follows what happens, and `g` goes there; elsewhere the frame counts what is newer. Filter: a
text, how steps ended (`failed`, `denied`, `cancelled`, `stopped`, `timed out`), `>10s` (or `ms`,
`m`, `h`: steps that took longer), or several of them: `failed >1m npm`. The line at the end of a
turn that changed files: ✓ checked, ✗ the check failed, ○ unchecked since the last change. A turn
without it has a ✓ where nothing failed, or passed later in it; else ✗.
"""
    BINDINGS: ClassVar[list[BindingType]] = bindings("stop")
    COLUMNS = COLUMNS
    HAS_TITLES = False
    SIGNS = marks.signs(*marks.STEP.values(), *marks.PROOF.values())
    ROWS_BELOW = 2

    def __init__(self) -> None:
        super().__init__()
        self._rows = TurnRows()
        self._session_id = ""
        self._looks: dict[str, _Look] = {}
        self._read_ids = count(1)
        self.table.on_newest = self._follow

    # What is shown

    @property
    def holds_place(self) -> bool:
        """The rows in view keep their lines; the turns keep their order."""
        return not self._look.follows

    def _ordered(self, rows: list[Row]) -> list[Row]:
        return rows if self._filter is None else self.filtered(rows, self._filter)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        session_id = view.shown_session
        is_other = session_id != self._session_id
        if is_other:
            self._look.cursor = self.selected
            self._session_id = session_id
            self._rows = TurnRows()
            self.table.set_rows([])
        super().show(view, dirty)
        if self._filter is not None:
            self._read_for_filter()
        if is_other and not self._look.follows:
            self.table.select(self._look.cursor)

    def followed(self, rows: list[Row]) -> str | None:
        """Return the last step of the newest turn, while the cursor follows what happens."""
        return _end_of(rows) or None if self._look.follows else None

    @property
    def _look(self) -> _Look:
        look = self._looks.get(self._session_id)
        if look is None:
            while len(self._looks) >= _KEPT_SESSIONS:
                del self._looks[next(iter(self._looks))]
            look = self._looks[self._session_id] = _Look()
        return look

    def rows(self, view: View) -> list[Row]:
        """The head of each turn, and the steps of those that are unfolded."""
        look = self._look
        turns = steps.keyed_turns(view, self._session_id)
        newest = turns[0][0] if turns else ""
        if look.newest and newest != look.newest and not look.follows:
            look.unfolded.setdefault(look.newest, True)  # the rows in view keep their lines
        look.newest = newest
        return self._rows.of(view, self._session_id, self._is_unfolded, self.tower.give_way)

    def _is_unfolded(self, key: str, part: LiveTurn | LiveStep) -> bool:
        if self._filter is not None:
            return True
        return self._look.unfolded.get(key, isinstance(part, LiveTurn) and key == self._look.newest)

    def first_steps(self) -> list[tuple[str, str]]:
        if not self._about:
            return [("The turns of a session are shown here.", ""), ("", ""), *_HOW]
        return [(f"No turn of {self._about} yet.", ""), ("", ""), *_HOW]

    def title(self) -> str:
        return f"{self.kind.title}: {self._about}" if self._about else self.kind.title

    @property
    def _about(self) -> str:
        """The name of its session; "" without one, also where Sessions lists none."""
        view = self.tower.view
        session = view.state.sessions.get(self._session_id)
        is_hidden = session is not None and not listed([session])
        return view.session_name(self._session_id) if self._session_id and not is_hidden else ""

    def place(self) -> ListPlace | None:
        """Count what began since it ceased to follow."""
        look = self._look
        if look.follows:
            return ListPlace(is_following=True)
        newer = sum(self._began(row) > look.seen_until for row in self.table.rows)
        return ListPlace(newer=newer, is_paused=newer > 0)

    def _follow(self) -> None:
        """Go to the newest step, and on with what happens."""
        self._look.follows = True
        self.show_again()

    def _pause(self) -> None:
        look = self._look
        if look.follows:
            look.follows = False
            turns = self._rows.turns.values()
            steps_ = [step.at for turn in turns for step in turn.all_steps()]
            look.seen_until = max([*steps_, *(turn.started_at for turn in turns)], default="")

    def _began(self, row: Row) -> str:
        place, turn = self._rows.places.get(row.key), self._rows.turns.get(row.key)
        return place.step.at if place is not None else turn.started_at if turn is not None else ""

    def frame_notes(self) -> list[FrameNote]:
        if self.has_class("-empty"):
            return []
        key = self.tower.key_of("filter")
        return super().frame_notes() or [FrameNote(f"{key} filter", "", "filter")]

    # The filter

    def parsed(self, text: str) -> Filter | None:
        self._look.unread = 0
        return parse_steps(text)

    def _read_for_filter(self) -> None:
        """Read the turns of which only heads are here, for as long as that brings some."""
        unread = [turn for turn in self._rows.turns.values() if not turn.is_whole]
        look = self._look
        if unread and (not look.unread or len(unread) < look.unread):
            look.unread = len(unread)
            self._read(*unread)

    def filtered(self, rows: list[Row], wanted: Filter) -> list[Row]:
        """Return the steps that a filter leaves, below the heads of their turns."""
        left: list[Row] = []
        for row in rows:
            if not row.is_heading and self.finds(wanted, row):
                head_in_place = left[-1].under or left[-1].key if left else ""
                if row.under and row.under != head_in_place:
                    left.append(next(one for one in rows if one.key == row.under))
                left.append(row)
        return left

    def finds(self, wanted: Filter, row: Row) -> bool:
        """Return whether a filter finds a step, or a turn by its prompt."""
        if isinstance(wanted, StepFilter) and not self._may_show(wanted, row):
            return False
        return super().finds(wanted, row)

    def _may_show(self, wanted: StepFilter, row: Row) -> bool:
        place, turn = self._rows.places.get(row.key), self._rows.turns.get(row.key)
        if place is not None:
            seconds = steps.seconds_of(self.tower.view, place.turn.session_id, place.step)
            return wanted.may_show(state=place.step.state, seconds=seconds)
        return wanted.may_show(state="" if turn is None else turn.state, seconds=None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("sort", "reverse"):
            return False
        if action == "stop":
            session = self._session
            return session is not None and can_stop(session)
        return super().check_action(action, parameters)

    @property
    def _session(self) -> Session | None:
        return self.tower.view.state.sessions.get(self._session_id)

    def action_stop(self) -> None:
        session = self._session
        if session is not None and can_stop(session):
            self.tower.ask_stop(session)

    # The cursor

    def moved(self, *, is_own: bool) -> None:
        """The cursor on the newest step follows; a turn that it comes to is read."""
        if is_own and self.selected == _end_of(self.table.rows):
            self._look.follows = True
        elif is_own:
            self._pause()
        if is_own or self._look.follows:
            turn = self._rows.turns.get(self.selected)
            if turn is not None and not turn.is_whole:
                self._read(turn)

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        self._open(event.key)

    def _open(self, key: str) -> None:
        place, turn = self._rows.places.get(key), self._rows.turns.get(key)
        if turn is not None:
            self._fold(key, turn)
        elif place is not None and place.step.kind == "subagent":
            self._fold(key, place.step)
        elif place is not None:
            self.open_shown()

    def _waiting_for(self, step: LiveStep) -> str | None:
        """Return the request that a step waits for, None where the person cannot answer it."""
        approval = self.tower.view.state.approvals.get(step.approval_id or "")
        is_asked = step.state == "waiting" and approval is not None and is_waiting(approval)
        return step.approval_id if is_asked else None

    def _fold(self, key: str, part: LiveTurn | LiveStep) -> None:
        if self._filter is not None:
            return  # it shows what it finds
        self._set_unfolded(key, part, is_unfolded=not self._is_unfolded(key, part))
        self.show_again()

    def _set_unfolded(self, key: str, part: LiveTurn | LiveStep, *, is_unfolded: bool) -> None:
        look = self._look
        look.unfolded[key] = is_unfolded
        if is_unfolded and isinstance(part, LiveTurn) and not part.is_whole:
            self._read(part)
        self._pause()

    def _read(self, *turns: LiveTurn) -> None:
        """Read turns of which only the heads are here, and some of those before them."""
        view = self.tower.view
        for turn in turns:
            if view.is_turn_awaited(turn.session_id, turn.number):
                continue
            numbers = range(max(turn.number - READ_AT_ONCE, 0) + 1, turn.number + 1)
            read_id = f"turns-{next(self._read_ids)}"
            view.expect_turns(read_id, turn.session_id, numbers)
            message = TurnsRead(read_id, turn.session_id, turn.number + 1, len(numbers))
            self.tower.send(message)

    # Going there, and what can be done

    def go_to(self, session_id: str, key: str) -> None:
        """Show a step, or a turn, wherever it is; `key` is one of `tower.steps`."""
        view = self.tower.view
        view.choose_session(session_id)
        self._filter = None
        self.show(view, self.TOPICS)
        turn_key = steps.turn_key_of(key)
        turn = self._rows.turns.get(turn_key)
        if turn is None:
            return
        self._set_unfolded(turn_key, turn, is_unfolded=True)
        place = steps.place_of(view, key)
        if place is not None and place.agent is not None:
            for step_key, one in steps.keyed_steps(turn_key, turn):
                if one.step is place.agent:
                    self._set_unfolded(step_key, one.step, is_unfolded=True)
        self.show_again()
        self.table.select(key)

    @property
    def subject(self) -> str:
        place, turn = self._rows.places.get(self.selected), self._rows.turns.get(self.selected)
        if place is not None:
            folder = self.tower.view.folder_of(place.turn.session_id)
            return f"{steps.label_of(place.step)}  {steps.step_words(place.step, folder)}"
        return f"Turn {turn.number}" if turn is not None else ""

    @property
    def has_actions(self) -> bool:
        return bool(self.selected)

    def row_actions(self) -> list[RowAction]:
        key = self.selected
        if not key:
            return []
        turn = self._rows.turns.get(steps.turn_key_of(key))
        session = self.tower.view.state.sessions.get(turn.session_id) if turn else None
        checks = []
        if session is not None:
            from tapui.tower.turns.check_detail import check_actions, copy_action

            if is_open(session) and not self.tower.is_replay:
                checks += check_actions(self.tower, session)
            checks.append(copy_action(self.tower, session))
        return [
            *checks,
            RowAction("o", "open it in full", self.open_shown),
            RowAction("f", "fold all turns", lambda: self._fold_all(is_unfolded=False)),
            RowAction("u", "unfold all turns", lambda: self._fold_all(is_unfolded=True)),
        ]

    def _fold_all(self, *, is_unfolded: bool) -> None:
        for key, turn in self._rows.turns.items():
            self._set_unfolded(key, turn, is_unfolded=is_unfolded)
        if not is_unfolded and self.selected in self._rows.places:
            self.table.select(steps.turn_key_of(self.selected))
        self.show_again()

    def shown(self) -> DetailView | None:
        """A turn, a step, or the request that it waits for."""
        key = self.selected
        from tapui.tower.turns.turn_detail import StepDetail, TurnDetail

        if key in self._rows.turns:
            return TurnDetail(key, self._turn_keys)
        place = self._rows.places.get(key)
        if place is None:
            return None
        request = self._waiting_for(place.step)
        if request is None:
            return StepDetail(key, self._step_keys)
        from tapui.tower.requests.request_detail import RequestDetail

        return RequestDetail(request)

    def _turn_keys(self) -> list[str]:
        return [row.key for row in self.table.rows if row.key in self._rows.turns]

    def _step_keys(self) -> list[str]:
        return [row.key for row in self.table.rows if row.key in self._rows.places]


_HOW = [
    ("A prompt opens a turn; what the agent does until it rests are its steps.", ""),
]


def _end_of(rows: list[Row]) -> str:
    key = ""
    for row in rows:
        if key and not row.under:
            break
        key = row.key or key
    return key
