"""One session, what happened in it, and what it used by model and by turn."""

from tapui import times
from tapui.projection.approvals import by_whom
from tapui.projection.paragraphs import Paragraph, title, value
from tapui.projection.state import model_words
from tapui.projection.turns import usage as used
from tapui.projection.turns.session import LiveTurns
from tapui.projection.words import became, order_words, tools_that_wait
from tapui.text import safe_text
from tapui.tower.app.view import View
from tapui.tower.calls.bodies import data_of
from tapui.tower.table.columns import fit
from tapui.tower.textual.sheet import Sheet, fact
from tapui.tower.turns import steps
from tapui.tower.wording import marks
from tapui.tower.wording.words import budget_words, name_of, quantity
from tapui.wire import subjects
from tapui.wire.subjects import ContextUse
from tapui.wire.turns import Usage

_NAME, _TOKENS, _ANSWERS = 24, 13, 11
_PROMPT = 40
OTHER = "other models"


class UsageScreen(Sheet):
    """`key` is a session's id."""

    TOPICS = frozenset({"sessions", "life", "calls"})

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del dirty
        session = view.state.sessions.get(self.key)
        if session is None:
            return
        turns = view.state.turns.get(session.id) or LiveTurns(session.id)
        whole = turns.used()
        mark = marks.SESSION[session.state]
        name = f"What {session.label or session.id} used"
        self.set_frame(mark, name, steps.tokens(whole) or "nothing yet")
        cached = f"{whole.cache_read:,} read, {whole.cache_write:,} written"
        parts = [
            *fact("model", session.model),
            *fact("context", context_words(session.context)),
            *fact("budget", budget_words(session.budget) if session.budget else None),
            *fact("tokens", tokens_words(whole)),
            *fact("cache", cached if whole.cache_read or whole.cache_write else None),
            *fact("charged", charged_words(whole)),
        ]
        if turns.models:
            parts += [Paragraph(""), title("by model")]
            parts += [value(_model(model, one)) for model, one in _most_first(turns.models)]
        of_turns = [turn for turn in reversed(turns.turns) if turn.usage != Usage()]
        if of_turns:
            parts += [Paragraph(""), title("by turn, the newest first")]
        for turn in of_turns:
            prompt = fit(_one_line(turn.prompt), _PROMPT)
            head = f"{turn.number:>4}  {times.moment(turn.started_at)}  {prompt}  "
            parts.append(value(head + _figures(turn.usage)))
        self.reader.set_parts(parts)


def context_words(context: ContextUse | None) -> str | None:
    """Return how full a context is, and when it is compacted; None where it is not told."""
    if context is None or context.limit <= 0:
        return None
    words = f"{context.tokens:,} of {context.limit:,} tokens ({context.tokens / context.limit:.0%})"
    if context.compacts_at is None:
        return words
    return f"{words}, compacted at {context.compacts_at:,}"


def tokens_words(usage: Usage) -> str | None:
    """Return what was read and written; None for nothing."""
    if usage == Usage():
        return None
    answers = f", {quantity(usage.calls, 'answer')}" if usage.calls else ""
    return f"{usage.input:,} in, {usage.output:,} out{answers}"


def charged_words(usage: Usage, *, is_brief: bool = False) -> str:
    """Return cost, premium requests and credits, as far as they are known."""
    premium = "premium" if is_brief else "premium requests"
    words = []
    if usage.cost is not None:
        words.append(f"cost {usage.cost:g}")
    if usage.requests is not None:
        words.append(f"{usage.requests:g} {premium}")
    if usage.credits is not None:
        words.append(f"{usage.credits:g} credits")
    return ", ".join(words)


def _most_first(models: used.Used) -> list[tuple[str, Usage]]:
    return sorted(models.items(), key=lambda item: -used.tokens(item[1]))


def _model(name: str, usage: Usage) -> str:
    return f"{fit(_one_line(name) or OTHER, _NAME)}  {_figures(usage)}"


def _figures(usage: Usage) -> str:
    answers = quantity(usage.calls, "answer") if usage.calls else ""
    charged = charged_words(usage, is_brief=True)
    return f"{fit(steps.tokens(usage), _TOKENS)} {fit(answers, _ANSWERS)} {charged}".rstrip()


def _one_line(text: str) -> str:
    return safe_text(" ".join(text.split()))


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
        known = [view.state.providers.get(one) for one in session.providers]
        providers = [one for one in known if one is not None]
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
            data = data_of(one)
            parts.append(
                Paragraph(f"{times.moment(one.ts)}  {' '.join(one.event.split())}", "primary")
            )
            if data is not None:
                parts.append(value(data))
        self.reader.set_parts(parts)


def _used(view: View, session: subjects.Session) -> str | None:
    turns = view.state.turns.get(session.id)
    if turns is None:
        return None
    whole = turns.used()
    words = (tokens_words(whole), charged_words(whole))
    return ", ".join(one for one in words if one) or None


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
        words = (
            f"{times.moment(one.started_at)}  {' '.join((one.display_name or one.agent).split())}",
            _state_of(one),
            f"context {context_words(one.context)}" if one.context is not None else "",
            quantity(step.calls, "call") if step is not None else "",
            steps.tokens(step.usage) if step is not None else "",
            f"“{step.summary}”" if step is not None and step.summary else "",
        )
        parts.append(value("  ".join(word for word in words if word)))
    return parts


def _headless(session: subjects.Session) -> str:
    if not session.headless:
        return ""
    by = f", started by {by_whom(session.started_by)}" if session.started_by else ""
    unattended = ", unattended" if session.unattended else ""
    return f"headless{by}{unattended}"


def _ordered(view: View, session: subjects.Session) -> list[Paragraph]:
    orders = [one for one in view.state.orders.values() if one.session_id == session.id]
    parts: list[Paragraph] = []
    if orders:
        parts += [Paragraph(""), title("what you ordered")]
    for order in orders[-SHOWN_ORDERS:][::-1]:
        outcome = f"{order_words(order)}: {became(order)}"
        parts.append(value(f"{times.moment(order.at)}  {' '.join(outcome.split())}"))
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
