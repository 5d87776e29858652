"""The sessions: what each does now and since when, those first that need the person."""

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import ClassVar

from textual import work
from textual.binding import BindingType

from tapui import times
from tapui.projection.state import is_local, is_open, listed, subagent_name
from tapui.projection.turns.turn import LiveTurn
from tapui.projection.words import can_stop, context_share, unsupervised
from tapui.tower.app.services import FolderHead, SessionStore, StoreFault
from tapui.tower.app.tower import RowAction
from tapui.tower.app.view import View
from tapui.tower.keys.bindings import bindings
from tapui.tower.sessions import session_status
from tapui.tower.sessions.nothing_attached import FirstActions
from tapui.tower.sessions.session_status import STATE, SessionStatus
from tapui.tower.table.columns import GLYPH, Cell, Column, Piece, Row, heading
from tapui.tower.table.pane import FrameNote, ListPlace
from tapui.tower.table.table import Table
from tapui.tower.table.table_pane import TablePane
from tapui.tower.textual.detail import DetailView
from tapui.tower.textual.sheet import Sheet, ask
from tapui.tower.wording import marks
from tapui.tower.wording.words import (
    HINT,
    BudgetError,
    again_words,
    budget_words,
    read_budget,
)
from tapui.wire.message import Mode
from tapui.wire.subjects import ContextUse, Session, Subagent
from tapui.wire.tower import SessionBudget, SessionMode

ENDED_SHOWN = 60.0
"""How long an ended session stays on screen, in seconds."""
TWO_LINES_BELOW = 112
"""A narrower table has two lines for each session."""

MODES: tuple[tuple[Mode, str], ...] = (
    ("interactive", "asks before it acts"),
    ("plan", "plans and changes nothing"),
    ("autopilot", "goes on by itself, asks permissions"),
)

_AGENT = "agent "
_NAME, _NOW, _STATE, _FAILED, _MODE, _FOR, _CONTEXT = range(7)
_REPOSITORY, _AGE = _NOW, _STATE
"""Columns in place of which rows are sorted by what no column has."""
_SORTS = {_REPOSITORY: "by repository", _CONTEXT: "by context", _AGE: "by age", _FOR: "by time"}


class SessionsPane(TablePane):
    """Sessions that are open with their subagents, that just ended, that cannot be reached."""

    TOPICS = frozenset({"sessions", "calls", "approvals", "life", "clock"})
    HELP = """\
Those that need you come first: waiting, failed, done without a check that passed, busy, idle. A
session that changed files is done ✓ (checked since the last change), ✗ (the check failed) or ○
(unchecked), and without a sign where no check is known. `shell runs`: the turn ended, and the
session waits for a command in the background. Behind what a session does stands how long
it has been at that, and how full its context is. Sessions under *not attached* run without a
port for tapui: Enter copies the line that changes this. `t` tells the marked sessions (`+` before
the row) one text.
"""
    BINDINGS: ClassVar[list[BindingType]] = bindings("stop", "mark-session")
    COLUMNS = (
        Column("", 24, 64, cuts_middle=True, is_fixed=True),
        Column("", 10, grows=True, half=True, below=True, is_fixed=True),
        Column("", STATE, STATE, is_fixed=True, stays=True),
        Column("", 4, 4, is_fixed=True),
        Column("", 9, 9, rank=3, is_spare=True, is_fixed=True),
        Column("", 7, 7, right=True, is_fixed=True),
        Column("", 4, 4, right=True, is_fixed=True),
    )
    BESIDE = (
        Column("", 10, 19, cuts_middle=True, is_fixed=True),
        Column("", 11, rank=2, grows=True, is_fixed=True),
        Column("", STATE - GLYPH, STATE - GLYPH, is_fixed=True, stays=True),
        Column("", 3, 3, is_fixed=True),
        Column("", 0, 0, rank=3, is_spare=True),
        *COLUMNS[_FOR:],
    )
    """The columns beside a detail, which says what runs, and in which mode. Their places depend on
    the width alone; where there is no room the name is cut first, then the place. A state has its
    sign before the name: the room goes to the place, which else had none at 140 columns."""
    HAS_TITLES = False
    GROWS = "more"
    HOLDS_LINE = HOLDS_ORDER = False
    SIGNS = marks.signs(
        marks.STEP["waiting"],
        *marks.SESSION.values(),
        *marks.PROOF.values(),
        marks.SHELL_RUNS,
        marks.NO_EVENT,
    )
    TWO_LINES_BELOW = TWO_LINES_BELOW

    def __init__(self) -> None:
        super().__init__()
        self._pinned: list[str] = []
        self._first: FirstActions | None = None
        self._sought = ""
        """The session that was gone to from elsewhere: it has a row, also where it ended long ago,
        until another one is selected."""

    @property
    def _columns(self) -> tuple[Column, ...]:
        return self.BESIDE if self.tower.has_detail else self.COLUMNS

    def on_resize(self) -> None:
        """Show it anew where a detail has come beside it or is gone: nothing else has changed."""
        if self.table.columns != self._columns:
            self.show_again()

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint the rows; the selected one is the session that other panes are about."""
        self.table.set_columns(self._columns)
        super().show(view, dirty)
        self._choose()
        if self.tower.store is not None:
            there = (one.cwd for one in view.open_sessions if not is_local(one))
            self.tower.heads.look(self.tower.store, there, view.now)

    @property
    def first(self) -> FirstActions:
        if self._first is None:
            self._first = FirstActions(
                self.tower, partial(self.run_worker, group="first"), self.show_again
            )
        return self._first

    def rows(self, view: View) -> list[Row]:
        """Open sessions by their need, ended ones, then those that cannot be reached; while nothing
        is attached, what can be done."""
        groups = self._groups(view)
        rows = [row for _need, group in groups for row in group]
        apart = [one for of_host in view.state.unattached.values() for one in of_host]
        if apart:
            rows.append(heading("not attached", heads_rows=True))
            rows.extend(self.first.join_row(one) for one in apart)
        if view.run and not self.tower.is_replay and all(map(is_local, view.open_sessions)):
            if not apart:
                rows.append(heading(self.first.heading(view)))
            rows.extend(self.first.rows(view))
        return rows

    def _groups(self, view: View) -> list[tuple[tuple[object, ...], list[Row]]]:
        requests = session_status.requests_by_session(view)
        marked = {one.id for one in view.marked_sessions}
        failed = view.unseen_failures
        groups: list[tuple[tuple[object, ...], list[Row]]] = []
        for session in listed(view.state.sessions.values()):
            gone = times.since(session.ended_at, view.now)
            is_past = session.state == "ended" and (gone is None or gone >= ENDED_SHOWN)
            if is_past and session.id != self._sought and not view.has_unseen_end(session):
                continue
            stands = session_status.of_session(
                view.state,
                session,
                requests.get((session.id, "")),
                failed[session.id],
                view.writing.get(session.id, ""),
            )
            head = self.tower.heads.of(session.cwd)
            place = place_words(session, head) if self.tower.has_detail else None
            group = [_row(view, session, stands, place, head.repository)]
            need = stands.need
            for agent in session_status.agents(session):
                one = session_status.of_agent(
                    view.state, session.id, agent, requests.get((session.id, agent.id))
                )
                group.append(_agent_row(view, session, agent, one, is_beside=place is not None))
                need = min(need, one.need)
            pin = (
                self._pinned.index(session.id) if session.id in self._pinned else len(self._pinned)
            )
            if session.id in marked:
                group[0] = replace(group[0], is_marked=True)
            groups.append(((pin, need, -_began(stands)), group))
        groups.sort(key=lambda one: one[0])
        return groups

    def moved(self, *, is_own: bool) -> None:
        del is_own
        session = self._session()
        if session is None or session.id != self._sought:
            self._sought = ""
        self._choose()

    @property
    def holds_place(self) -> bool:
        """Also while the person is in another pane: some show the selected session."""
        return self.tower.was_touched

    def _choose(self) -> None:
        session = self._session()
        self.tower.view.choose_session(session.id if session is not None else "")

    def select_session(self, session_id: str) -> None:
        self._sought = session_id
        if session_id not in self.shown_keys():
            self.show_again()
        self.table.select(session_id)
        self._choose()

    def frame_notes(self) -> list[FrameNote]:
        """Return the order, and the titles of the columns at the right."""
        if self.has_class("-empty"):
            return []
        filtered = super().frame_notes()
        by = "by need" if self.order_by is None else _SORTS[self.order_by[0]]
        arrow = "" if self.order_by is None else "▼" if self.order_by[1] else "▲"
        notes = [*filtered, FrameNote(f"{by}{arrow}", "", "sort")]
        if marked := len(self.tower.view.marked_sessions):
            notes.insert(0, FrameNote(f"{marked} marked", "bold"))
        ends = {index: end for index, _start, end in self.table.spans}
        for index, title in ((_FOR, "for"), (_CONTEXT, "ctx")):
            if index in ends:
                notes.append(FrameNote(title, "", f"sort_column({index})", ends[index] + 1))
        return notes

    def place(self) -> ListPlace | None:
        """Say only that there are rows above: it is sorted by need, and follows nothing."""
        place = super().place()
        return place if place is not None and place.newer else None

    def sort_columns(self) -> list[int]:
        return [_REPOSITORY, _CONTEXT, _AGE]

    def action_sort_column(self, column: int) -> None:
        """The title of a column was clicked: of the time that a session is at something, too."""
        if self.order_by is None or self.order_by[0] != column:
            self.sort_by((column, False))
        else:
            self.sort_by(None if self.order_by[1] else (column, True))

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        if not self.first.act(event.key):
            self.open_shown()

    def shown(self) -> DetailView | None:
        session = self._session()
        if session is None:
            return None
        from tapui.tower.sessions.session_detail import SessionDetail

        return SessionDetail(session.id, self._shown_ids)

    def _shown_ids(self) -> list[str]:
        shown = (self._session(row.key) for row in self.table.rows if row.key)
        return list(dict.fromkeys(one.id for one in shown if one is not None))

    # What can be done to the selected row

    @property
    def subject(self) -> str:
        session = self._session()
        return session.label or session.id if session else ""

    @property
    def has_actions(self) -> bool:
        session = self._session()
        return session is not None and not (session.state == "ended" and is_local(session))

    def row_actions(self) -> list[RowAction]:
        session = self._session()
        if session is None:
            return []
        from tapui.tower.turns.check_detail import check_actions, copy_action

        copies = [] if is_local(session) else [copy_action(self.tower, session)]
        if session.state == "ended":
            return copies
        pinned = "unpin: sort it by its need again" if session.id in self._pinned else "pin on top"
        from tapui.tower.goals.goal_orders import ask_goal
        from tapui.tower.sessions.steering import SessionOrders

        actions = [
            RowAction("p", pinned, partial(self._pin, session.id)),
            RowAction(
                "m", f"mode (now {session.mode or 'unknown'})", partial(self._choose_mode, session)
            ),
        ]
        if not is_local(session):
            actions += SessionOrders(self.tower, self.app, session).actions()
            actions += [*check_actions(self.tower, session), *copies]
            if not self.tower.is_replay:
                goal = "a goal of yours for it: a command that is to pass"
                actions.append(RowAction("a", goal, partial(ask_goal, self.tower, session)))
            budget = f"budget (now {budget_words(session.budget)})"
            actions.append(RowAction("b", budget, partial(self._set_budget, session)))
        usage = "what it used: tokens, by model and by turn"
        actions.append(RowAction("u", usage, partial(self._usage, session)))
        if not is_local(session) and not self.tower.is_replay:
            tools = "its tools: what they cost; switch them off or on"
            actions.append(RowAction("t", tools, partial(self._tools, session)))
        store = self.tower.store
        if not is_local(session) and store is not None:
            go_to = partial(self._go_to, store, session.id)
            actions.append(RowAction("g", "go to its terminal, or say where it is", go_to))
        if can_stop(session):
            actions.append(RowAction("x", "stop its turn", self.action_stop))
        inspect = partial(self._inspect, session)
        return [*actions, RowAction("i", "inspect its host's conversation", inspect)]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "stop":
            session = self._session()
            return session is not None and can_stop(session)
        if action == "mark_session":
            session = self._session()
            return session is not None and is_open(session) and not is_local(session)
        return super().check_action(action, parameters)

    def action_mark_session(self) -> None:
        """Mark the session to be told something with others, or unmark it."""
        session = self._session()
        if session is not None:
            self.tower.view.mark_session(session.id)
            self.show_again()

    def close_topmost(self) -> bool:
        if self.tower.view.marked_sessions:
            self.tower.view.unmark_sessions()
            self.show_again()
            return True
        return super().close_topmost()

    def action_stop(self) -> None:
        session = self._session()
        if session is not None and can_stop(session):
            self.tower.ask_stop(session)

    def _set_budget(self, session: Session) -> None:
        """Ask what the session may use before its next prompt waits."""
        if self.tower.is_demo:
            self.notify("The demonstration does not hold prompts; tapui itself does.")
            return
        from tapui.tower.textual.dialogs import AskLineScreen

        def set_budget(text: str) -> None:
            try:
                budget = read_budget(text)
            except BudgetError as error:
                self.app.notify(str(error), severity="warning", markup=False)
            else:
                self.tower.send(SessionBudget(session.id, budget.tokens, budget.requests))

        title = f"Budget of {session.label or session.id}"
        ask(self.app, AskLineScreen(title, budget_words(session.budget), HINT), set_budget)

    def _usage(self, session: Session) -> None:
        from tapui.tower.sessions.session_detail import UsageDetail

        self.app.push_screen(Sheet(UsageDetail(session.id, self._shown_ids)))

    def _tools(self, session: Session) -> None:
        from tapui.tower.sessions.session_tools import SessionToolsDetail

        self.app.push_screen(Sheet(SessionToolsDetail(session.id, self._shown_ids)))

    @work(group="go")
    async def _go_to(self, store: SessionStore, session_id: str) -> None:
        try:
            await asyncio.to_thread(store.go_to, session_id)
        except StoreFault as fault:
            self.notify(str(fault), severity="warning", timeout=12)

    def _inspect(self, session: Session) -> None:
        from tapui.tower.providers.inspector import InspectorScreen

        name = f"the host of {session.label or session.id}"
        self.app.push_screen(InspectorScreen(name, session_id=session.id))

    def _pin(self, session_id: str) -> None:
        if session_id in self._pinned:
            self._pinned.remove(session_id)
        else:
            self._pinned.append(session_id)
        self.show_again()

    def _choose_mode(self, session: Session) -> None:
        from tapui.tower.textual.dialogs import Choice, ChooseScreen

        def set_mode(mode: str) -> None:
            for known, _about in MODES:
                if mode == known != session.mode:
                    self.tower.send(SessionMode(session_id=session.id, mode=known))

        choices = [Choice(mode, mode, about) for mode, about in MODES]
        title = f"Mode of {session.label or session.id}"
        ask(self.app, ChooseScreen(title, choices, selected=session.mode), set_mode)

    def _session(self, key: str | None = None) -> Session | None:
        key = self.selected if key is None else key
        if key.startswith(_AGENT):
            key = key.removeprefix(_AGENT).partition("\n")[0]
        return self.tower.view.state.sessions.get(key)

    def first_steps(self) -> list[tuple[str, str]]:
        return [("looking for sessions …", "")]


ALONE = {"allow all": "error"}
"""Tones of how a session works without the person."""


def _began(stands: SessionStatus) -> float:
    """Return a number that is larger the longer it waits; 0 where that makes no order."""
    if stands.need is not session_status.Need.WAITING:
        return 0.0
    return -(times.epoch(stands.since) or 0.0)


def _row(
    view: View, session: Session, stands: SessionStatus, place: str | None, repository: str
) -> Row:
    """Return the row; `place` stands in it instead of what the session does, if given."""
    is_beside = place is not None
    is_over = stands.need is session_status.Need.ENDED
    name = view.session_name(session.id)
    tone = "muted" if is_over else "strong" if session.foreground else ""
    share = context_share(session.context)
    turns = view.state.turns.get(session.id)
    turn = turns.latest if turns is not None and not is_over else None
    is_muted = is_over or is_beside or stands.is_said
    failed = _failed(stands)
    values: dict[int, str | float] = {
        _REPOSITORY: repository or session.cwd,
        _FOR: times.since(stands.since, view.now) or 0.0,
        _AGE: times.since(session.opened_at, view.now) or 0.0,
    }
    if share is not None:
        values[_CONTEXT] = share
    return Row(
        session.id,
        (
            Cell(
                f"{name}  headless" if session.headless else name,
                tone,
                *_glyph(stands, is_beside=is_beside),
            ),
            _what(
                stands.now if place is None else place,
                "" if is_over else unsupervised(session),
                turn,
                is_muted=is_muted,
            ),
            _state(stands, is_beside=is_beside),
            Cell(failed.replace(" ", "") if is_beside else failed, "error"),
            Cell(session.mode if session.mode == "plan" and not is_beside else "", "muted"),
            Cell(session_status.for_how_long(stands, view.now), "muted"),
            _fullness(session.context),
        ),
        values=values,
        calls_out=_calls_out(stands, name),
    )


def _calls_out(stands: SessionStatus, name: str) -> Piece | None:
    if stands.need is session_status.Need.WAITING:
        return f"! {name}", "warning"
    return (f"✗ {name}", "error") if stands.need is session_status.Need.FAILED else None


def _what(text: str, alone: str, turn: LiveTurn | None, *, is_muted: bool) -> Cell:
    """Return what a session does, or its place: that is cut before how it works `alone`, and how
    often it was sent back."""
    tone = "muted" if is_muted else ""
    again = again_words(turn)
    if alone:
        words = f"{alone}  {again}" if again else alone
        return Cell(f"  {text}", tone, lead=((words, ALONE.get(alone, "muted")),), briefer=(alone,))
    if not again:
        return Cell(text, tone)
    often = again.partition(" ↑")[0]
    briefer = (often, often.removeprefix("sent "))
    return Cell(f"  {text}", tone, lead=((again, ""),), briefer=briefer)


def place_words(session: Session, head: FolderHead) -> str:
    """Return the folder of a session, and what is checked out in it: `app ⎇ pairing`."""
    name = PurePath(session.cwd or "").name
    return f"{name} ⎇ {head.branch}" if head.branch else name


def _failed(stands: SessionStatus) -> str:
    return f"✗ {stands.failed if stands.failed < 10 else '9+'}" if stands.failed else ""


def _state(stands: SessionStatus, *, is_beside: bool) -> Cell:
    mark = stands.mark
    has_sign = mark.glyph in "!↻" and not is_beside
    return Cell(mark.text if has_sign else mark.word, mark.tone)


def _glyph(stands: SessionStatus, *, is_beside: bool) -> tuple[str, str]:
    """Return the glyph before a name, with its tone; what loops is busy, where its state has the
    sign."""
    mark = stands.mark
    if mark.glyph == "↻" and not is_beside:
        mark = session_status.BUSY
    return mark.glyph, mark.tone


def _agent_row(
    view: View, session: Session, agent: Subagent, stands: SessionStatus, *, is_beside: bool
) -> Row:
    name = called = subagent_name(agent)
    if is_beside and stands.now:
        name = f"{called}: {stands.now}"
    now = "" if is_beside else stands.now
    return Row(
        f"{_AGENT}{session.id}\n{agent.id}",
        (
            Cell(name, "", "└", "muted"),
            Cell(now, "muted" if stands.is_said else ""),
            _state(stands, is_beside=is_beside),
            Cell(""),
            Cell(""),
            Cell(session_status.for_how_long(stands, view.now), "muted"),
            _fullness(agent.context),
        ),
        calls_out=_calls_out(stands, called),
        indent=2,
    )


def _fullness(use: ContextUse | None) -> Cell:
    share = context_share(use)
    if share is None:
        return Cell("")
    return Cell(f"{min(share, 9.99):.0%}", marks.context_tone(share))
