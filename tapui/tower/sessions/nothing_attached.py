"""What can be done while no session is attached: a row each, only for what is there."""

import asyncio
from collections.abc import Awaitable, Callable

from tapui import invocation, times
from tapui.tower.app.services import PastChecks, SessionStore, StoreFault
from tapui.tower.app.tower import Tower
from tapui.tower.app.view import View
from tapui.tower.table.columns import Cell, Row
from tapui.tower.wording.marks import SESSION
from tapui.wire.subjects import Unattached

_KEY = "act "
_JOIN = "join "
LATE_SECONDS = 10.0
"""A host whose first look takes longer is named, with how long it has taken."""
_COPIED = {"terminal": "copilot", "demo-line": "demo", "past": "proof --past 30d"}
"""Commands that rows copy."""
PAST_DAYS = 30
_DAY = 86_400.0


class FirstActions:
    """Rows that act. What takes a while to know is read on a thread, once, and shown when it has
    come: `wake` is called then. `run` runs a coroutine for as long as the pane is there."""

    def __init__(
        self, tower: Tower, run: Callable[[Awaitable[None]], object], wake: Callable[[], object]
    ) -> None:
        self._tower = tower
        self._run = run
        self._wake = wake
        self._past: PastChecks | None = None
        self._titles: dict[str, str] = {}
        self._has_read = False

    def heading(self, view: View) -> str:
        """Say that nothing is attached, once each host has told that its first look is over."""
        looks = view.state.looks.values()
        looking = [one for one in looks if one.state == "looking"]
        if looking:
            first = looking[0]
            lasts = times.since(first.since, view.now) or 0.0
            said = "looking for sessions …"
            if lasts < LATE_SECONDS:
                return said
            return f"{said}   {first.host} has not told what it found for {times.lasting(lasts)}"
        failed = [f"{one.host} cannot look: {one.error}" for one in looks if one.state == "failed"]
        return "   ".join(["Nothing is attached", *failed])

    def rows(self, view: View) -> list[Row]:
        """Return the rows for while nothing is attached, besides those to join sessions."""
        tower, rows = self._tower, []
        if tower.check_action("start_session", ()) and not tower.is_demo:
            line = invocation.command("copilot")
            here = f"start Copilot here   (in another terminal: {line})"
            rows.append(_row("start", tower.key_of("start-session"), here))
        if self._past is not None and self._past.turns:
            past = self._past
            words = f"{past.unchecked:,} of {past.turns:,} turns unchecked"
            glyph = "○" if past.unchecked else "✓"
            rows.append(_row("past", glyph, f"your last {PAST_DAYS} days: {words}"))
        if tower.can_show_demo:
            rows.append(_row("demo", tower.key_of("demo"), "demonstration"))
        elif not tower.is_demo:
            line = invocation.command("demo")
            rows.append(_row("demo-line", "-", f"demonstration   (in another terminal: {line})"))
        if not rows:
            text = f"in another terminal: {invocation.command('copilot')}"
            rows.append(_row("terminal", SESSION["idle"].glyph, text))
        self._read(view.now)
        return rows

    def join_row(self, one: Unattached) -> Row:
        """Return the row of a session that its host cannot reach."""
        self._read(self._tower.view.now)
        name = self._titles.get(one.id) or one.id
        words = f"join “{name}”: Enter copies its line"
        if one.why is not None:
            words = f"“{name}”: {one.why}"
        return _row(_JOIN + one.id, "-", words, one.hint)

    def act(self, key: str) -> bool:
        """Do what a row is for; return whether it is one of these."""
        if not key.startswith(_KEY):
            return False
        what, tower = key.removeprefix(_KEY), self._tower
        if what.startswith(_JOIN):
            found = [one for host in tower.view.state.unattached.values() for one in host]
            apart = next((one for one in found if one.id == what.removeprefix(_JOIN)), None)
            if apart is not None and apart.hint:
                tower.copy(apart.hint, "The line")
            elif apart is not None and tower.store is not None:
                self._run(self._go_to(tower.store, apart.pid))
        elif what in _COPIED:
            tower.copy(invocation.command(_COPIED[what]), "The line")
        else:
            action = "start_session" if what == "start" else "demo"
            tower.call_later(tower.run_action, f"app.{action}")
        return True

    async def _go_to(self, store: SessionStore, pid: int) -> None:
        try:
            await asyncio.to_thread(store.go_to_process, pid)
        except StoreFault as fault:
            self._tower.notify(str(fault), severity="error", timeout=12)

    def _read(self, now: float) -> None:
        store = self._tower.store
        if not self._has_read and store is not None and not self._tower.is_demo:
            self._has_read = True
            self._run(self._read_all(store, now - PAST_DAYS * _DAY))

    async def _read_all(self, store: SessionStore, since: float) -> None:
        try:
            found = await asyncio.to_thread(store.sessions)
            self._titles = {one.id: one.title for one in found if one.title}
            tower = self._tower
            self._past = await asyncio.to_thread(store.past_checks, since, lambda: tower.is_running)
        except StoreFault:
            return  # there is nothing to show, and nothing that the person could do
        finally:
            self._wake()


def _row(name: str, glyph: str, words: str, line: str = "") -> Row:
    cells = (Cell(words, "", glyph, "accent"), Cell(line, "muted"))
    return Row(_KEY + name, (*cells, *[Cell("")] * 5), is_wide=True)
