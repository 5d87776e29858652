"""The sessions that Copilot has stored: find one, resume it, go to it, delete it."""

import asyncio
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from tapui import times
from tapui.tower.app.services import SessionOnDisk, SessionStore, StoreFault
from tapui.tower.app.tower import RowAction
from tapui.tower.table.columns import Cell, Column, Row
from tapui.tower.table.filter import Filter, FilterError, Undecided, parse
from tapui.tower.table.table import Table
from tapui.tower.textual.dialogs import ActionsScreen, AnswerInput
from tapui.tower.textual.sheet import DIALOG_CSS, ConfirmScreen, LiveScreen
from tapui.tower.textual.widgets import plain
from tapui.tower.wording.words import size_of

COLUMNS = (
    Column("title", 16, grows=True, half=True),
    Column("folder", 12, 48, cuts_middle=True),
    Column("branch", 6, 20, rank=2),
    Column("used", 4, 5, right=True),
    Column("size", 6, 7, right=True, rank=1),
    Column("", 9, 9),
)


class StoredScreen(LiveScreen[None]):
    """What is typed filters the list, Enter shows what can be done with the selected one."""

    CSS_PATH = DIALOG_CSS
    TOPICS = frozenset({"clock"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "step(1)", "Next", show=False),
        Binding("up", "step(-1)", "Previous", show=False),
    ]

    def __init__(self, store: SessionStore) -> None:
        super().__init__()
        self._store = store
        self._found: dict[str, SessionOnDisk] | None = None
        self._sought: Filter | None = None
        self._trouble = ""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(plain("Stored sessions", "bold"), markup=False)
            yield AnswerInput(placeholder="type to filter", compact=True, max_length=200)
            yield Table(COLUMNS)
            yield Static("", classes="keys", markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(Table).styles.height = "1fr"
        self.query_one(AnswerInput).focus()
        self._say("Reading them …")
        self.run_worker(self._read(), group="stored", exclusive=True)

    async def _read(self) -> None:
        try:
            found = await asyncio.to_thread(self._store.sessions)
        except StoreFault as fault:
            self._trouble = str(fault)
        else:
            self._trouble = ""
            self._found = {one.id: one for one in found}
        self._fill()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        try:
            self._sought = parse(event.value)
        except FilterError as error:
            self._say(str(error))
        else:
            self._fill()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._open(self.query_one(Table).selected)

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        self._open(event.key)

    def action_step(self, step: int) -> None:
        self.query_one(Table).action_move(step)

    def _fill(self) -> None:
        if self._found is None:
            self._say(self._trouble or "Reading them …")
            return
        now = self.tower.view.now
        here = {one.id for one in self.tower.view.open_sessions}
        rows = [_row(one, now, is_here=one.id in here) for one in self._found.values()]
        left = [row for row in rows if self._sought is None or _finds(self._sought, row)]
        self.query_one(Table).set_rows(left)
        if not rows:
            self._say("Copilot has stored no session.    Esc back")
            return
        count = f"{len(left)} of {len(rows)}" if len(left) < len(rows) else f"{len(rows)}"
        self._say(self._trouble or f"{count}    Enter what to do    Esc back")

    def _say(self, text: str) -> None:
        self.query_one(".keys", Static).update(plain(text, "$text-muted", limit=300))

    # What can be done with one

    def _open(self, key: str | None) -> None:
        session = (self._found or {}).get(key or "")
        if session is not None:
            name = session.title or session.id
            self.app.push_screen(ActionsScreen(name, self._actions(session)))

    def _actions(self, session: SessionOnDisk) -> list[RowAction]:
        panes = self._store.panes
        found = []
        if session.pid is not None:
            if panes:
                found.append(RowAction("g", f"go to its pane ({panes})", self._going(session)))
            about = f"it is open in process {session.pid}"
            return [*found, RowAction("c", f"copy its id ({about})", self._copying(session.id))]
        if panes:
            found.append(RowAction("r", f"resume it in a pane ({panes})", self._resuming(session)))
        line = self._store.resume_line(session)
        found.append(RowAction("c", "copy the line that resumes it", self._copying(line)))
        return [*found, RowAction("d", "delete it (asks first)", self._deleting(session))]

    def _going(self, session: SessionOnDisk) -> Callable[[], None]:
        return lambda: self._do(lambda: self._store.go_to(session.id), "")

    def _resuming(self, session: SessionOnDisk) -> Callable[[], None]:
        return lambda: self._do(
            lambda: self._store.resume(session), "It is opened in a pane beside this one."
        )

    def _copying(self, text: str) -> Callable[[], None]:
        return lambda: self.tower.copy(text, "It")

    def _deleting(self, session: SessionOnDisk) -> Callable[[], None]:
        def ask() -> None:
            lines = [session.title, session.cwd, f"{size_of(session.size)}, all of it, for good"]
            question = f"Delete session {session.id}?"
            self.app.push_screen(
                ConfirmScreen(question, [one for one in lines if one], "delete it"), decided
            )

        def decided(is_sure: bool | None) -> None:
            if is_sure:
                self._say("Deleting it …")
                self._do(lambda: self._store.delete(session), "It is deleted.")

        return ask

    def _do(self, what: Callable[[], None], done: str) -> None:
        async def do() -> None:
            try:
                await asyncio.to_thread(what)
            except StoreFault as fault:
                self.notify(str(fault), severity="error", timeout=12)
            else:
                if done:
                    self.notify(done, timeout=5)
            await self._read()

        self.run_worker(do(), group="stored")


def _row(one: SessionOnDisk, now: float, *, is_here: bool) -> Row:
    state = "open here" if is_here else "open" if one.pid is not None else ""
    return Row(
        one.id,
        (
            Cell(one.title or one.id, "strong" if state else ""),
            Cell(one.cwd, "muted"),
            Cell(one.branch, "muted"),
            Cell(times.age(max(now - one.used_at, 0.0)), "muted"),
            Cell(size_of(one.size), "muted"),
            Cell(state, "success" if is_here else "muted"),
        ),
    )


def _finds(sought: Filter, row: Row) -> bool:
    try:
        return sought.finds("  ".join((row.key, *(cell.text for cell in row.cells))))
    except Undecided:
        return False
