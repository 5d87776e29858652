"""One provider: what it offers and wants, and what it was refused."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from tapui import times
from tapui.tower import marks
from tapui.tower.plain import headline
from tapui.tower.reader import Paragraph, Reader, title, value
from tapui.tower.screens.live import LiveScreen
from tapui.tower.view import View
from tapui.tower.words import name_of, session_of
from tapui.wire import events as ev


class ProviderScreen(LiveScreen[None]):
    """A provider's facts, tools and errors."""

    CSS_PATH = "reading.tcss"
    TOPICS = frozenset({"providers", "errors", "clock"})

    def __init__(self, provider_id: str) -> None:
        super().__init__()
        self._provider_id = provider_id

    def compose(self) -> ComposeResult:
        """A headline and the text."""
        with Vertical(classes="sheet"):
            yield Static("", classes="headline", markup=False)
            yield Reader()

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint it as it is now."""
        provider = view.state.providers.get(self._provider_id)
        if provider is None:
            return
        provider = self.tower.bodies.whole(provider)
        age = times.age(times.since(provider.connected_at, view.now))
        self.query_one(".headline", Static).update(
            headline(marks.PROVIDER[provider.state], name_of(provider), f"connected {age} ago")
        )
        if not dirty & {"providers", "errors"}:
            return
        facts = {
            "id": provider.id,
            "trust": provider.trust,
            "origin": provider.origin or "local program",
            "session": session_of(view, provider),
            "instance": provider.instance,
            "revision": str(provider.revision) if provider.revision else None,
            "injects": _injects(view, provider),
            "rules": f"{provider.rules} before tools" if provider.rules else None,
            "sections": _sections(provider),
            "patterns": f"{provider.pattern_faults} timed out" if provider.pattern_faults else None,
            "reason": provider.reason,
        }
        parts = [
            Paragraph(f"{name:<10}{' '.join(fact.splitlines())}", "muted")
            for name, fact in facts.items()
            if fact
        ]
        if provider.context:
            parts += [
                Paragraph(""),
                title("context added to every prompt"),
                value(provider.context),
            ]
        metadata = self.tower.bodies.metadata(provider)
        if metadata is not None:
            parts += [Paragraph(""), title("metadata"), value(metadata.text)]
        parts += [Paragraph(""), title("tools")]
        parts += [value(" ".join(tool.splitlines())) for tool in provider.tools] or [value("none")]
        parts += [Paragraph(""), title("errors sent to it")]
        refused = [
            value(f"{times.moment(ts)}  {error.code}  {error.message}", "error")
            for ts, error in reversed(view.errors)
            if error.provider_id == provider.id
        ]
        self.query_one(Reader).set_parts(parts + (refused or [value("none")]))


def _sections(provider: ev.Provider) -> str:
    """Return what it does to sections of the system prompt, and where that may come to nothing."""
    said = ", ".join(f"{name} ({what})" for name, what in provider.sections.items())
    without = ", ".join(provider.sections_unapplied)
    return f"{said}; may have no effect in {without}" if without else said


def _injects(view: View, provider: ev.Provider) -> str | None:
    """Return what waits of its injects, and where the loop brake is on."""
    said = [f"{provider.held} waiting"] if provider.held else []
    said += [f"held in {view.session_name(session_id)}" for session_id in provider.paused]
    return ", ".join(said) or None
