"""The sessions: what each is, what it is doing, and what to do where there is none."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from tapui import invocation, times
from tapui.projection.offered import tools_that_wait
from tapui.tower import marks
from tapui.tower.panes.table_pane import TablePane
from tapui.tower.plain import facts, headline, plain
from tapui.tower.table import Cell, Column, Row, Table, heading
from tapui.tower.view import View
from tapui.wire import events as ev
from tapui.wire.message import Mode
from tapui.wire.tower import SessionMode

ENDED_SHOWN = 60.0
"""How long an ended session stays on screen, in seconds."""

MODES: tuple[tuple[Mode, str], ...] = (
    ("interactive", "asks before it acts"),
    ("plan", "plans and changes nothing"),
    ("autopilot", "continues without asking"),
)

_APART = "apart "
_OWN_LINES = 7
"""Lines of the pane besides the next steps: the titles, two rows, a border, the session."""
_NEXT_STEPS = (
    ("No Copilot yet. In another terminal:", invocation.command("copilot")),
    ("or, for a session that already ran:", "copilot --ui-server --resume ID"),
    ("To see a demonstration:", invocation.command("demo")),
)


class SessionsPane(TablePane):
    """Sessions that are open, that just ended, and that cannot be reached."""

    TOPICS = frozenset({"sessions", "providers", "clock"})
    HELP = """\
Each row is one conversation; `busy` means that it is working on a turn. *Age* is how long it has
been open. Sessions under *not attached* run without a port for tapui: the line below the table says
how to change that.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "mode", "Mode", tooltip="Switch this session's mode"),
    ]
    COLUMNS = (
        Column("session", 12, 64),
        Column("state", 9),
        Column("mode", 11, rank=2),
        Column("model", 6, 18, rank=5),
        Column("context", 7, rank=3, right=True),
        Column("prov", 4, rank=4, right=True),
        Column("age", 4, right=True),
    )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A mode can be set where there is a session that goes on."""
        del parameters
        if action == "mode":
            session = self._session()
            return session is not None and session.state != "ended"
        return True

    def on_table_opened(self, event: Table.Opened) -> None:
        """Show what happened in a session."""
        event.stop()
        if event.key in self.tower.view.state.sessions:
            from tapui.tower.screens.session import SessionScreen

            self.app.push_screen(SessionScreen(event.key))

    def action_mode(self) -> None:
        """Ask for a mode and set it."""
        session = self._session()
        if session is None:
            return
        from tapui.tower.screens.choose import Choice, ChooseScreen

        def chosen(mode: str | None) -> None:
            for known, _about in MODES:
                if mode == known != session.mode:
                    self.send(SessionMode(session_id=session.id, mode=known))

        choices = [Choice(mode, mode, about) for mode, about in MODES]
        title = f"Mode of {session.label or session.id}"
        self.app.push_screen(ChooseScreen(title, choices, selected=session.mode), chosen)

    def rows(self, view: View) -> list[Row]:
        """Open sessions, ended ones, then those that cannot be reached."""
        rows = [_row(view, session) for session in view.open_sessions]
        for session in reversed(view.state.sessions.values()):
            gone = times.since(session.ended_at, view.now)
            if session.state == "ended" and gone is not None and gone < ENDED_SHOWN:
                rows.append(_row(view, session))
        apart = [one for found in view.state.unattached.values() for one in found]
        if apart:
            rows.append(heading("not attached"))
            rows.extend(_row_apart(one) for one in apart)
        return rows

    def about(self, view: View, key: str) -> list[Content]:
        """Return a session in full."""
        if key.startswith(_APART):
            return _about_apart(view, key.removeprefix(_APART))
        session = view.state.sessions.get(key)
        if session is None:
            return []
        age = times.age(times.since(_stamp(session), view.now))
        use = session.context
        return [
            headline(
                marks.SESSION[session.state],
                session.label or session.id,
                f"ended {age} ago" if session.state == "ended" else f"open for {age}",
            ),
            facts(
                [
                    session.host,
                    session.mode,
                    session.model,
                    "foreground" if session.foreground else None,
                    f"{use.tokens:,} of {use.limit:,} tokens" if use else None,
                    session.reason,
                ]
            ),
            facts([session.cwd, session.id, tools_that_wait(view.state, session)]),
            *(self._next_steps() if _is_alone(view, session) else ()),
        ]

    def _next_steps(self) -> list[Content]:
        """What to do while there is nothing but the built-in session: as much of it as fits below
        the table and the lines about that session."""
        room = self.size.height - _OWN_LINES
        steps: list[Content] = [Content("")]
        for what, command in _NEXT_STEPS[: -1 if self.tower.is_demo else None]:
            if len(steps) + 2 <= room:
                steps += [plain(what), plain(f"  {command}", "bold $primary")]
        return steps if len(steps) > 1 else []

    def first_steps(self) -> list[tuple[str, str]]:
        """What to do when nothing is connected, with the literal commands."""
        command = "bold $primary"
        starts = invocation.command("demo")
        demo = [("To see a demonstration:", ""), (f"  {starts}", command), ("", "")]
        return [
            ("No session yet. In another terminal:", ""),
            (f"  {invocation.command('copilot')}", command),
            ("or, for a session that already ran:", ""),
            ("  copilot --ui-server --resume ID", command),
            ("", ""),
            *([] if self.tower.is_demo else demo),
            ("A provider connects to the address above with the token in", ""),
            (f"  {self.tower.token_file}", command),
        ]

    def _session(self) -> ev.Session | None:
        return self.tower.view.state.sessions.get(self.selected)


def _is_alone(view: View, session: ev.Session) -> bool:
    """Return whether the built-in session is all that there is."""
    state = view.state
    return session.host == "local" and len(view.open_sessions) == 1 and not state.unattached


def _stamp(session: ev.Session) -> str | None:
    return session.ended_at if session.state == "ended" else session.opened_at


def _row(view: View, session: ev.Session) -> Row:
    mark = marks.SESSION[session.state]
    quiet = "muted" if session.state == "ended" else ""
    return Row(
        session.id,
        (
            Cell(session.label or session.id, quiet or ("strong" if session.foreground else "")),
            Cell(mark.text, mark.tone),
            Cell(session.mode or "-", quiet or marks.MODE_TONE.get(session.mode or "", "")),
            Cell(session.model or "-", "muted"),
            _context(session),
            Cell(str(len(session.providers)), quiet),
            Cell(times.age(times.since(_stamp(session), view.now)), "muted"),
        ),
    )


def _row_apart(one: ev.Unattached) -> Row:
    cells = (one.id, "- no port", "-", "-", "-", "-", "-")
    return Row(_APART + one.id, tuple(Cell(text, "muted") for text in cells))


def _context(session: ev.Session) -> Cell:
    use = session.context
    if use is None or use.limit <= 0:
        return Cell("-", "muted")
    share = use.tokens / use.limit
    return Cell(f"{share:.0%}", "error" if share >= 0.9 else "warning" if share >= 0.7 else "")


def _about_apart(view: View, session_id: str) -> list[Content]:
    for found in view.state.unattached.values():
        for one in found:
            if one.id == session_id:
                return [
                    plain(f"- no port  {one.id}", limit=200),
                    facts([f"pid {one.pid} runs without a port for tapui", one.cwd]),
                    plain(one.hint, "bold $primary", limit=400),
                ]
    return []
