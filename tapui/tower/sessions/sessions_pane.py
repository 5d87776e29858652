"""The sessions: what each does now and since when, those first that need the person."""

import asyncio
from collections import Counter
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from tapui import invocation, times
from tapui.projection.state import is_local, listed
from tapui.projection.words import can_stop
from tapui.tower.app.services import SessionStore, StoreFault
from tapui.tower.app.tower import RowAction
from tapui.tower.app.view import View
from tapui.tower.keys.bindings import bindings
from tapui.tower.sessions import session_status
from tapui.tower.sessions.session_status import SessionStatus
from tapui.tower.table.columns import Cell, Column, Row, heading
from tapui.tower.table.pane import FrameNote
from tapui.tower.table.table import Table
from tapui.tower.table.table_pane import TablePane
from tapui.tower.textual.sheet import ask
from tapui.tower.textual.widgets import plain
from tapui.tower.wording.words import HINT, BudgetError, budget_words, read_budget
from tapui.wire.message import Mode
from tapui.wire.subjects import ContextUse, Session, Subagent, Unattached
from tapui.wire.tower import SessionBudget, SessionMode

ENDED_SHOWN = 60.0
"""How long an ended session stays on screen, in seconds."""
TWO_LINES_BELOW = 112
"""A narrower table has two lines for each session."""
FULL = 0.8
"""The share of the context from which on its number stands out."""

MODES: tuple[tuple[Mode, str], ...] = (
    ("interactive", "asks before it acts"),
    ("plan", "plans and changes nothing"),
    ("autopilot", "continues without asking"),
)

_APART = "apart "
_AGENT = "agent "
_NAME, _NOW, _STATE, _FAILED, _MODE, _FOR, _CONTEXT = range(7)
_SORTS = {_NAME: "by name", _FOR: "by time", _CONTEXT: "by context"}


class SessionsPane(TablePane):
    """Sessions that are open with their subagents, that just ended, that cannot be reached."""

    TOPICS = frozenset({"sessions", "calls", "approvals", "life", "clock"})
    HELP = """\
Those that need you come first: waiting, failed, busy, idle. Behind what a session does stands how
long it has been at that, and how full its context is. Sessions under *not attached* run without a
port for tapui; the command beside them changes that.
"""
    BINDINGS: ClassVar[list[BindingType]] = bindings("stop")
    COLUMNS = (
        Column("", 22, 64, cuts_middle=True),
        Column("", 10, grows=True, half=True, below=True),
        Column("", 10, 22),
        Column("", 2, 5),
        Column("", 11, 11, rank=3, is_spare=True, is_common=True),
        Column("", 6, 7, right=True),
        Column("", 4, 8, right=True, rank=1),
    )
    HAS_TITLES = False
    TWO_LINES_BELOW = TWO_LINES_BELOW

    def __init__(self) -> None:
        super().__init__()
        self._pinned: list[str] = []

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield Static("", classes="first", markup=False)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        super().show(view, dirty)
        self._choose()
        is_first = view.is_empty and bool(self.table.rows)
        self.set_class(is_first, "-first")
        if is_first:
            steps = [plain(text, style) for text, style in self.first_steps()]
            self.query_one(".first", Static).update(Content("\n").join(steps))

    def rows(self, view: View) -> list[Row]:
        """Open sessions by their need, ended ones, then those that cannot be reached."""
        groups = self._groups(view)
        rows = [row for _need, group in groups for row in group]
        apart = [one for of_host in view.state.unattached.values() for one in of_host]
        if apart:
            rows.append(heading("not attached"))
            rows.extend(_row_apart(one) for one in apart)
        return rows

    def _groups(self, view: View) -> list[tuple[tuple[object, ...], list[Row]]]:
        requests = session_status.requests_by_session(view)
        failed = Counter(one.session_id for one in view.failures if one.at > view.looked_at)
        groups: list[tuple[tuple[object, ...], list[Row]]] = []
        for session in listed(view.state.sessions.values()):
            gone = times.since(session.ended_at, view.now)
            if session.state == "ended" and (gone is None or gone >= ENDED_SHOWN):
                continue
            stands = session_status.of_session(
                view.state,
                session,
                requests.get((session.id, "")),
                failed[session.id],
                view.writing.get(session.id, ""),
            )
            group = [_row(view, session, stands)]
            need = stands.need
            for agent in session_status.agents(session):
                one = session_status.of_agent(
                    view.state, session.id, agent, requests.get((session.id, agent.id))
                )
                group.append(_agent_row(view, session, agent, one))
                need = min(need, one.need)
            pin = (
                self._pinned.index(session.id) if session.id in self._pinned else len(self._pinned)
            )
            groups.append(((pin, need, -_began(stands)), group))
        groups.sort(key=lambda one: one[0])
        return groups

    def moved(self, *, is_own: bool) -> None:
        del is_own
        self._choose()

    @property
    def holds_place(self) -> bool:
        """Also while the person is in another pane: some show the selected session."""
        return self.tower.was_touched

    def _choose(self) -> None:
        session = self._session()
        self.tower.view.choose_session(session.id if session is not None else "")

    def select_session(self, session_id: str) -> None:
        self.table.select(session_id)
        self._choose()

    def frame_notes(self) -> list[FrameNote]:
        """Return the order, and the titles of the columns at the right."""
        if self.has_class("-empty"):
            return []
        filtered = super().frame_notes()
        by = "needs you first" if self.order_by is None else _SORTS[self.order_by[0]]
        arrow = "" if self.order_by is None else "▼" if self.order_by[1] else "▲"
        notes = [*filtered, FrameNote(f"{by}{arrow}", "", "sort")]
        ends = {index: end for index, _start, end in self.table.spans}
        for index, title in ((_FOR, "for"), (_CONTEXT, "ctx")):
            if index in ends:
                notes.append(FrameNote(title, "", f"sort_column({index})", ends[index] + 1))
        return notes

    def action_sort_column(self, column: int) -> None:
        self.sort_by_click(column)

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        session = self._session(event.key)
        if session is not None:
            from tapui.tower.sessions.session_sheet import SessionScreen

            self.app.push_screen(SessionScreen(session.id, self._shown_ids))

    def _shown_ids(self) -> list[str]:
        shown = (self._session(row.key) for row in self.table.rows if row.key)
        return list(dict.fromkeys(one.id for one in shown if one is not None))

    # What can be done to the selected row

    @property
    def subject(self) -> str:
        session = self._session()
        return session.label or session.id if session else ""

    def row_actions(self) -> list[RowAction]:
        session = self._session()
        if session is None or session.state == "ended":
            return []
        pinned = "unpin: sort it by its need again" if session.id in self._pinned else "pin on top"
        from tapui.tower.sessions.steering import SessionOrders

        actions = [
            RowAction("p", pinned, partial(self._pin, session.id)),
            RowAction(
                "m", f"mode (now {session.mode or 'unknown'})", partial(self._choose_mode, session)
            ),
        ]
        if not is_local(session):
            actions += SessionOrders(self.tower, self.app, session).actions()
            budget = f"budget (now {budget_words(session.budget)})"
            actions.append(RowAction("b", budget, partial(self._set_budget, session)))
        usage = "what it used: tokens, by model and by turn"
        actions.append(RowAction("u", usage, partial(self._usage, session)))
        store = self.tower.store
        if not is_local(session) and store is not None and store.panes:
            go_to = partial(self._go_to, store, session.id)
            actions.append(RowAction("g", f"go to its pane ({store.panes})", go_to))
        if can_stop(session):
            actions.append(RowAction("x", "stop its turn", self.action_stop))
        inspect = partial(self._inspect, session)
        return [*actions, RowAction("i", "inspect its host's conversation", inspect)]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "stop":
            session = self._session()
            return session is not None and can_stop(session)
        return super().check_action(action, parameters)

    def action_stop(self) -> None:
        session = self._session()
        if session is not None and can_stop(session):
            from tapui.tower.sessions.steering import SessionOrders

            SessionOrders(self.tower, self.app, session).ask_stop()

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
        from tapui.tower.sessions.session_sheet import UsageScreen

        self.app.push_screen(UsageScreen(session.id, self._shown_ids))

    def _go_to(self, store: SessionStore, session_id: str) -> None:
        async def go() -> None:
            try:
                await asyncio.to_thread(store.go_to, session_id)
            except StoreFault as fault:
                self.notify(str(fault), severity="warning", timeout=12)

        self.run_worker(go(), group="go")

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
        """What to do when nothing is connected, with the literal commands."""
        tower, starts = self.tower, invocation.command("copilot")
        steps = [
            (f"Nothing is attached. In another terminal:  {starts}", "bold"),
            ("A session that runs already:  copilot --ui-server --resume ID", ""),
        ]
        if tower.can_show_demo:
            steps.append((f"Press {tower.key_of('demo')} for a demonstration.", ""))
        elif not tower.is_demo:
            steps.append((f"For a demonstration:  {invocation.command('demo')}", ""))
        return steps


def _began(stands: SessionStatus) -> float:
    """Return a number that is larger the longer it waits; 0 where that makes no order."""
    if stands.need is not session_status.Need.WAITING:
        return 0.0
    return -(times.epoch(stands.since) or 0.0)


def _row(view: View, session: Session, stands: SessionStatus) -> Row:
    is_over = stands.need is session_status.Need.ENDED
    name = session.label or session.id
    tone = "muted" if is_over else "strong" if session.foreground else ""
    share = _share(session.context)
    values: dict[int, str | float] = {_NAME: name, _FOR: times.since(stands.since, view.now) or 0.0}
    if share is not None:
        values[_CONTEXT] = share
    return Row(
        session.id,
        (
            Cell(f"{name}  headless" if session.headless else name, tone, *_glyph(stands)),
            Cell(stands.now, "muted" if is_over or stands.is_said else ""),
            _state(stands),
            Cell(f"✗ {stands.failed}" if stands.failed else "", "error"),
            Cell(session.mode or "", "muted"),
            Cell(session_status.for_how_long(stands, view.now), "muted"),
            _fullness(session.context),
        ),
        values=values,
    )


def _state(stands: SessionStatus) -> Cell:
    mark = stands.mark
    return Cell(mark.text if mark.glyph in "!↻" else mark.word, mark.tone)


def _glyph(stands: SessionStatus) -> tuple[str, str]:
    """Return the glyph before a name, with its tone; what loops is busy."""
    mark = session_status.BUSY if stands.mark.glyph == "↻" else stands.mark
    return mark.glyph, mark.tone


def _agent_row(view: View, session: Session, agent: Subagent, stands: SessionStatus) -> Row:
    return Row(
        f"{_AGENT}{session.id}\n{agent.id}",
        (
            Cell(agent.agent, "", "└", "muted"),
            Cell(stands.now, "muted" if stands.is_said else ""),
            _state(stands),
            Cell(""),
            Cell(""),
            Cell(session_status.for_how_long(stands, view.now), "muted"),
            _fullness(agent.context),
        ),
        indent=2,
    )


def _row_apart(one: Unattached) -> Row:
    cells = (
        Cell(one.id, "muted", "-", "muted"),
        Cell(one.hint, "primary"),
        Cell("no port", "muted"),
        *[Cell("")] * 4,
    )
    return Row(_APART + one.id, cells)


def _share(use: ContextUse | None) -> float | None:
    return use.tokens / use.limit if use is not None and use.limit > 0 else None


def _fullness(use: ContextUse | None) -> Cell:
    share = _share(use)
    is_full = share is not None and share >= FULL
    return Cell("" if share is None else f"{share:.0%}", "strong" if is_full else "muted")
