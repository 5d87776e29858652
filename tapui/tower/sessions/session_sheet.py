"""One session and what happened in it."""

from tapui import times
from tapui.projection.asking import by_whom
from tapui.projection.offered import tools_that_wait
from tapui.projection.orders import became, wanted
from tapui.projection.paragraphs import Paragraph, title, value
from tapui.projection.state import model_words
from tapui.tower.app.view import View
from tapui.tower.sessions.usage_sheet import charged_words, context_words, tokens_words
from tapui.tower.textual.sheet import Sheet, fact
from tapui.tower.turns import steps
from tapui.tower.wording import marks
from tapui.tower.wording.words import name_of, quantity
from tapui.wire import subjects

SHOWN_EVENTS = 60
SHOWN_ORDERS = 8


class SessionScreen(Sheet):
    """A session's facts, then its own events, newest first."""

    TOPICS = frozenset({"sessions", "providers", "life", "clock"})

    def show(self, view: View, dirty: frozenset[str]) -> None:
        session = view.state.sessions.get(self.key)
        if session is None:
            return
        age = times.lasting(times.since(session.opened_at, view.now))
        name = session.label or session.id
        mark = marks.SESSION[session.state]
        self.set_frame(mark, name, f"{mark.word}, open for {age}")
        if not dirty & {"sessions", "providers", "life"}:
            return
        found = [view.state.providers.get(one) for one in session.providers]
        providers = [one for one in found if one is not None]
        parts = [
            *fact("id", session.id),
            *fact("folder", session.cwd),
            *fact("workspace", session.workspace),
            *fact("host", session.host),
            *fact("runs", _headless(session)),
            *fact("mode", session.mode),
            *fact("model", model_words(session)),
            *fact("context", context_words(session.context)),
            *fact("used", _used(view, session)),
            *fact("providers", ", ".join(one.name for one in providers)),
            *fact("tools", tools_that_wait(view.state, session)),
            *fact("reason", session.reason),
        ]
        parts += _subagents(view, session)
        parts += _wanted(providers)
        parts += _ordered(view, session)
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
        self.reader.set_parts(parts)


def _used(view: View, session: subjects.Session) -> str | None:
    """Return what its models used; the sheet of a session's use has more."""
    turns = view.state.turns.get(session.id)
    if turns is None:
        return None
    whole = turns.used()
    said = (tokens_words(whole), charged_words(whole))
    return ", ".join(one for one in said if one) or None


def _subagents(view: View, session: subjects.Session) -> list[Paragraph]:
    """Return its subagents, newest first: how each stands, how full it is, what it used."""
    turns = view.state.turns.get(session.id)
    of_agent = {
        step.agent: step
        for turn in (turns.turns if turns is not None else ())
        for step in turn.steps
        if step.kind == "subagent"
    }
    parts: list[Paragraph] = []
    if session.subagents:
        parts += [Paragraph(""), title("subagents")]
    for one in reversed(session.subagents):
        step = of_agent.get(one.id)
        said = (
            f"{times.moment(one.started_at)}  {' '.join((one.display_name or one.agent).split())}",
            _state_of(one),
            f"context {context_words(one.context)}" if one.context is not None else "",
            quantity(step.calls, "call") if step is not None else "",
            steps.tokens(step.usage) if step is not None else "",
            f"“{step.summary}”" if step is not None and step.summary else "",
        )
        parts.append(value("  ".join(word for word in said if word)))
    return parts


def _headless(session: subjects.Session) -> str:
    """Return how a session that was started here runs, empty for others."""
    if not session.headless:
        return ""
    by = f", started by {by_whom(session.started_by)}" if session.started_by else ""
    asked = ", unattended" if session.unattended else ""
    return f"headless{by}{asked}"


def _ordered(view: View, session: subjects.Session) -> list[Paragraph]:
    """Return what the person ordered, newest first, and what became of it."""
    given = [one for one in view.state.orders.values() if one.session_id == session.id]
    parts: list[Paragraph] = []
    if given:
        parts += [Paragraph(""), title("what you ordered")]
    for order in given[-SHOWN_ORDERS:][::-1]:
        said = f"{wanted(order)}: {became(order)}"
        parts.append(value(f"{times.moment(order.at)}  {' '.join(said.split())}"))
    return parts


def _wanted(providers: list[subjects.Provider]) -> list[Paragraph]:
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


def _state_of(subagent: subjects.Subagent) -> str:
    if subagent.state != "failed":
        return subagent.state
    return f"failed: {' '.join(subagent.error.split())}" if subagent.error else "stopped or failed"
