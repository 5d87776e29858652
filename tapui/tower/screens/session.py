"""One session and what happened in it."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from tapui import times
from tapui.projection.offered import tools_that_wait
from tapui.tower import marks
from tapui.tower.plain import headline
from tapui.tower.reader import Paragraph, Reader, title, value
from tapui.tower.screens.live import LiveScreen
from tapui.tower.view import View
from tapui.tower.words import name_of
from tapui.wire import events as ev

SHOWN_EVENTS = 60


class SessionScreen(LiveScreen[None]):
    """A session's facts, then its own events, newest first."""

    CSS_PATH = "reading.tcss"
    TOPICS = frozenset({"sessions", "providers", "life", "clock"})

    def __init__(self, session_id: str) -> None:
        super().__init__()
        self._session_id = session_id

    def compose(self) -> ComposeResult:
        """A headline and the text."""
        with Vertical(classes="sheet"):
            yield Static("", classes="headline", markup=False)
            yield Reader()

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint it as it is now."""
        session = view.state.sessions.get(self._session_id)
        if session is None:
            return
        age = times.age(times.since(session.opened_at, view.now))
        self.query_one(".headline", Static).update(
            headline(marks.SESSION[session.state], session.label or session.id, f"open for {age}")
        )
        if not dirty & {"sessions", "providers", "life"}:
            return
        known = [view.state.providers.get(one) for one in session.providers]
        facts = {
            "id": session.id,
            "folder": session.cwd,
            "workspace": session.workspace,
            "host": session.host,
            "mode": session.mode,
            "model": session.model,
            "providers": ", ".join(one.name for one in known if one is not None),
            "tools": tools_that_wait(view.state, session),
            "reason": session.reason,
        }
        parts = [
            Paragraph(f"{name:<10}{' '.join(fact.splitlines())}", "muted")
            for name, fact in facts.items()
            if fact
        ]
        parts += _wanted([one for one in known if one is not None])
        life = list(view.life.get(session.id, ()))[-SHOWN_EVENTS:]
        parts += [
            Paragraph(""),
            title("events" if life else "Nothing has happened since tapui attached"),
        ]
        for one in reversed(life):
            data = self.tower.bodies.happening(one)
            parts.append(
                Paragraph(f"{times.moment(one.ts)}  {' '.join(one.event.split())}", "primary")
            )
            if data is not None:
                parts.append(value(data.text))
        self.query_one(Reader).set_parts(parts)


def _wanted(providers: list[ev.Provider]) -> list[Paragraph]:
    """Return what providers add to prompts, and who changes which section, in their order."""
    parts: list[Paragraph] = []
    contexts = [one for one in providers if one.context]
    if contexts:
        parts += [Paragraph(""), title("context in force")]
        for one in contexts:
            parts += [Paragraph(f"from {' '.join(name_of(one).split())}", "primary")]
            parts += [value(one.context or "")]
    changes = [
        f"{section}: {action} by {name_of(one)}"
        for one in providers
        for section, action in one.sections.items()
    ]
    if changes:
        parts += [Paragraph(""), title("sections of the system prompt")]
        parts += [value(" ".join(change.split())) for change in changes]
    return parts
