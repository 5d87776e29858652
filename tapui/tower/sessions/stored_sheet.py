"""The sessions that Copilot has stored: find one, resume it, go to it, delete it."""

import asyncio
from collections.abc import Callable
from functools import partial

from textual import work

from tapui import times
from tapui.tower.app.services import SessionOnDisk, SessionStore, StoreFault
from tapui.tower.app.tower import RowAction
from tapui.tower.table.columns import Cell, Column, Row
from tapui.tower.textual.dialogs import ActionsScreen, FilteredListScreen
from tapui.tower.textual.sheet import confirm
from tapui.tower.wording.words import size_of

COLUMNS = (
    Column("title", 16, grows=True, half=True),
    Column("folder", 12, 48, cuts_middle=True),
    Column("branch", 6, 20, rank=2),
    Column("used", 4, 5, right=True),
    Column("size", 6, 7, right=True, rank=1),
    Column("", 9, 9),
)


class StoredScreen(FilteredListScreen[None]):
    """Enter shows what can be done with the selected one."""

    TOPICS = frozenset({"clock"})
    COLUMNS = COLUMNS

    def __init__(self, store: SessionStore) -> None:
        super().__init__()
        self._store = store
        self._sessions: dict[str, SessionOnDisk] | None = None
        self._trouble = ""

    def heading(self) -> str:
        return "Stored sessions"

    def on_mount(self) -> None:
        super().on_mount()
        self.say("Reading them …")
        self._begin()

    @work(group="stored", exclusive=True)
    async def _begin(self) -> None:
        await self._read()

    async def _read(self) -> None:
        try:
            stored = await asyncio.to_thread(self._store.sessions)
        except StoreFault as fault:
            self._trouble = str(fault)
        else:
            self._trouble = ""
            self._sessions = {one.id: one for one in stored}
        self.fill()

    def fill(self) -> None:
        if self._sessions is None:
            self.say(self._trouble or "Reading them …")
            return
        now = self.tower.view.now
        here = {one.id for one in self.tower.view.open_sessions}
        rows = [_row(one, now, is_here=one.id in here) for one in self._sessions.values()]
        count = self.set_rows(rows)
        if not rows:
            self.say("Copilot has stored no session.    Esc back")
            return
        self.say(self._trouble or f"{count}    Enter what to do    Esc back")

    # What can be done with one

    def choose(self, key: str) -> None:
        session = (self._sessions or {}).get(key)
        if session is not None:
            name = session.title or session.id
            self.app.push_screen(ActionsScreen(name, self._actions(session)))

    def _actions(self, session: SessionOnDisk) -> list[RowAction]:
        store, panes = self._store, self._store.panes
        actions = []
        if session.pid is not None:
            go_to = partial(self._do, partial(store.go_to, session.id))
            actions.append(RowAction("g", "go to its terminal, or say where it is", go_to))
            about = f"it is open in process {session.pid}"
            copy = partial(self.tower.copy, session.id, "It")
            return [*actions, RowAction("c", f"copy its id ({about})", copy)]
        if panes:
            done = "It is opened in a pane beside this one."
            resume = partial(self._do, partial(store.resume, session), done)
            actions.append(RowAction("r", f"resume it in a pane ({panes})", resume))
        copy = partial(self.tower.copy, store.resume_line(session), "It")
        actions.append(RowAction("c", "copy the line that resumes it", copy))
        delete = partial(self._ask_delete, session)
        return [*actions, RowAction("d", "delete it (asks first)", delete)]

    def _ask_delete(self, session: SessionOnDisk) -> None:
        def delete() -> None:
            self.say("Deleting it …")
            self._do(partial(self._store.delete, session), "It is deleted.")

        lines = [session.title, session.cwd, f"{size_of(session.size)}, all of it, for good"]
        question = f"Delete session {session.id}?"
        confirm(self.app, question, [one for one in lines if one], "delete it", delete)

    @work(group="stored")
    async def _do(self, what: Callable[[], None], done: str = "") -> None:
        try:
            await asyncio.to_thread(what)
        except StoreFault as fault:
            self.notify(str(fault), severity="error", timeout=12)
        else:
            if done:
                self.notify(done, timeout=5)
        await self._read()


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
