"""One provider: what it offers and wants, and what it was refused."""

from collections.abc import Sequence

from tapui import times
from tapui.projection.paragraphs import Paragraph, title, value
from tapui.projection.provider_status import ProviderStatus, statuses
from tapui.tower.app.view import View
from tapui.tower.calls.bodies import body_of
from tapui.tower.textual.detail import DetailView, fact
from tapui.tower.wording import marks
from tapui.tower.wording.words import name_of, session_of
from tapui.wire import subjects


class ProviderDetail(DetailView):
    """A provider's facts, tools and errors."""

    SIGNS = marks.signs(*marks.PROVIDER.values())

    TOPICS = frozenset({"providers", "errors", "streams", "clock"})
    _said: Sequence[ProviderStatus] = ()

    def show(self, view: View, dirty: frozenset[str]) -> None:
        provider = view.state.providers.get(self.key)
        if provider is None:
            return
        provider = self.tower.bodies.whole(provider)
        age = times.lasting(times.since(provider.connected_at, view.now))
        mark = marks.PROVIDER[provider.state]
        self.set_frame(mark, name_of(provider), f"{mark.word}, connected {age} ago")
        said = [one for one in statuses(view.state) if one.provider.id == provider.id]
        if not dirty & {"providers", "errors"} and said == self._said:
            return
        self._said = said
        faults = f"{provider.pattern_faults} timed out" if provider.pattern_faults else None
        parts = [
            *fact("id", provider.id),
            *fact("trust", provider.trust),
            *fact("origin", provider.origin or "local program"),
            *fact("session", session_of(view, provider)),
            *fact("instance", provider.instance),
            *fact("revision", str(provider.revision) if provider.revision else None),
            *fact("for agent", _injects(view, provider)),
            *fact("rules", f"{provider.rules} before tools" if provider.rules else None),
            *fact("sections", _sections(provider)),
            *fact("patterns", faults),
            *fact("reason", provider.reason),
        ]
        for status in said:
            words = f"wrong: {status.text}" if status.is_wrong else status.text
            parts += fact("status", words, "error" if status.is_wrong else "muted")
        if provider.context:
            parts += [
                Paragraph(""),
                title("context added to every prompt"),
                value(provider.context),
            ]
        if provider.metadata is not None:
            parts += [Paragraph(""), title("metadata"), value(body_of(provider.metadata))]
        parts += [Paragraph(""), title("tools")]
        parts += [value(" ".join(tool.splitlines())) for tool in provider.tools] or [value("none")]
        parts += [Paragraph(""), title("errors sent to it")]
        refused = [
            value(f"{times.moment(ts)}  {error.code}  {error.message}", "error")
            for ts, error in reversed(view.errors)
            if error.provider_id == provider.id
        ]
        self.reader.set_parts(parts + (refused or [value("none")]))


def _sections(provider: subjects.Provider) -> str:
    """Return what it does to sections of the system prompt, and where that may come to nothing."""
    changes = ", ".join(f"{name} ({what})" for name, what in provider.sections.items())
    without = ", ".join(provider.sections_unapplied)
    return f"{changes}; may have no effect in {without}" if without else changes


def _injects(view: View, provider: subjects.Provider) -> str | None:
    injects = [f"{provider.held} waiting"] if provider.held else []
    injects += [f"held in {view.session_name(session_id)}" for session_id in provider.paused]
    return ", ".join(injects) or None
