"""What a session used: its context, then by model and by turn."""

from tapui import times
from tapui.projection.paragraphs import Paragraph, title, value
from tapui.projection.turns import usage as used
from tapui.projection.turns.session import LiveTurns
from tapui.text import safe_text
from tapui.tower.app.view import View
from tapui.tower.table.columns import fit
from tapui.tower.textual.sheet import Sheet, fact
from tapui.tower.turns import steps
from tapui.tower.wording import marks
from tapui.tower.wording.words import budget_words, quantity
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
            said = f"{turn.number:>4}  {times.moment(turn.started_at)}  {prompt}  "
            parts.append(value(said + _figures(turn.usage)))
        self.reader.set_parts(parts)


def context_words(context: ContextUse | None) -> str | None:
    """Return how full a context is, and when it is compacted; None where it is not told."""
    if context is None or context.limit <= 0:
        return None
    said = f"{context.tokens:,} of {context.limit:,} tokens ({context.tokens / context.limit:.0%})"
    if context.compacts_at is None:
        return said
    return f"{said}, compacted at {context.compacts_at:,}"


def tokens_words(usage: Usage) -> str | None:
    """Return what was read and written; None for nothing."""
    if usage == Usage():
        return None
    answers = f", {quantity(usage.calls, 'answer')}" if usage.calls else ""
    return f"{usage.input:,} in, {usage.output:,} out{answers}"


def charged_words(usage: Usage, *, is_brief: bool = False) -> str:
    """Return cost, premium requests and credits, as far as they are known."""
    premium = "premium" if is_brief else "premium requests"
    said = []
    if usage.cost is not None:
        said.append(f"cost {usage.cost:g}")
    if usage.requests is not None:
        said.append(f"{usage.requests:g} {premium}")
    if usage.credits is not None:
        said.append(f"{usage.credits:g} credits")
    return ", ".join(said)


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
