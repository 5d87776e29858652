"""What things are called and how long they take, in words. Nothing here is made safe yet."""

import re
from collections.abc import Sequence
from itertools import pairwise

from tapui import times
from tapui.projection.state import is_in_flight, is_open, is_waiting
from tapui.projection.turns.turn import LiveTurn
from tapui.projection.turns.usage import tokens
from tapui.tower.app.view import View
from tapui.tower.wording import marks
from tapui.wire import subjects
from tapui.wire.message import label_of
from tapui.wire.subjects import Budget

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int, *, top: float | None = None) -> str:
    """Return values as bars in at most so many cells, as Textual's Sparkline draws them: of more
    values a cell has the greatest of its part. `top` is the value of a whole bar, by default the
    greatest; "" where all are zero."""
    most = max(values, default=0.0) if top is None else top
    if most <= 0 or not any(values):
        return ""
    cells = min(width, len(values))
    edges = [len(values) * at // cells for at in range(cells + 1)]
    parts = [max(values[start:end]) for start, end in pairwise(edges)]
    return "".join(_BARS[int(min(part / most, 1.0) * (len(_BARS) - 1))] for part in parts)


def name_of(provider: subjects.Provider) -> str:
    """Return `name` or `name/instance`."""
    return label_of(provider.name, provider.instance)


def session_of(view: View, provider: subjects.Provider) -> str:
    """Return where a provider is bound, in words."""
    if provider.session_id is None:
        return "no session"
    return (
        "all sessions" if provider.session_id == "all" else view.session_name(provider.session_id)
    )


def can_cancel(call: subjects.Call) -> bool:
    return call.state in ("queued", "running") and not marks.is_own_tool(call)


def can_call(view: View, call: subjects.Call) -> bool:
    """Return whether the person can call the same tool here."""
    session = view.state.sessions.get(call.session_id)
    return session is not None and is_open(session) and not marks.is_own_tool(call)


def taken(call: subjects.Call, now: float, waited: float = 0.0) -> str:
    """Return how long a call took, or how long it runs and its timeout, without the `waited`
    milliseconds for which it waited for the person."""
    if not is_in_flight(call):
        took = call.duration
        return times.span(None if took is None else max(took - waited, 0.0) / 1000)
    since = times.since(call.started_at, now)
    elapsed = times.lasting(None if since is None else max(since - waited / 1000, 0.0))
    return elapsed if call.timeout is None else f"{elapsed} / {times.age(call.timeout / 1000)}"


def duration_of(call: subjects.Call, now: float, waited: float = 0.0) -> str:
    """Return what `taken` returns, as a phrase; for ended calls also when they began."""
    since = times.since(call.started_at, now)
    if not is_in_flight(call):
        return f"started {times.age(since)} ago, took {taken(call, now, waited)}"
    limit = "" if call.timeout is None else f", timeout {times.age(call.timeout / 1000)}"
    runs = None if since is None else max(since - waited / 1000, 0.0)
    return f"running for {times.age(runs)}{limit}"


def time_left(approval: subjects.Approval, now: float) -> str:
    """Return what is left of the time to decide; nothing once settled, or without any hurry."""
    end = times.epoch(approval.expires_at)
    if not is_waiting(approval) or end is None or end - now > times.NO_HURRY:
        return ""
    return times.lasting(max(end - now, 0.0) + 0.999)


def quantity(count: int, noun: str) -> str:
    """Return `1 call`, `20 calls`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def rate(per_second: float) -> str:
    """Return a rate, or a large count, in four characters: `0`, `9.9k`, `120k`, `2.1M`."""
    if per_second < 1000:
        return f"{per_second:.0f}"
    if per_second >= 999_500:
        return f"{per_second / 1e6:.1f}M" if per_second < 9.95e6 else f"{per_second / 1e6:.0f}M"
    return f"{per_second / 1000:.1f}k" if per_second < 9950 else f"{per_second / 1000:.0f}k"


def again_words(turn: LiveTurn | None) -> str:
    """Return how often the agent was sent back in a turn, and the tokens that it used since: `sent
    back 1 of 3 ↑38k`; "" where it was not."""
    if turn is None or not turn.sent_back:
        return ""
    used = tokens(turn.again)
    times_ = f"{turn.sent_back} of {turn.tries}" if turn.tries else f"{turn.sent_back}×"
    often = f"sent back {times_}"  # records of before do not say of how many
    return f"{often} ↑{rate(used)}" if used else often


def losses_of(view: View) -> list[str]:
    """Return what ends with an embedded gateway, a line each; nothing if it is gone already."""
    if view.link.state == "ended":
        return []
    providers, others = view.providers, view.towers - 1
    calls = sum(call.provider_id is not None for call in view.state.calls.values())
    headless = [one for one in view.open_sessions if one.headless]
    losses = []
    if providers:
        names = ", ".join(name_of(one) for one in providers[:4])
        more = " …" if len(providers) > 4 else ""
        losses.append(f"• {quantity(len(providers), 'provider')} disconnected: {names}{more}")
    if headless:
        names = ", ".join(one.label or one.id for one in headless[:4])
        more = " …" if len(headless) > 4 else ""
        losses.append(f"• {quantity(len(headless), 'headless session')} ended: {names}{more}")
    if calls:
        losses.append(f"• {quantity(calls, 'running call')} cancelled")
    if others > 0:
        losses.append(f"• {quantity(others, 'other tower')} disconnected")
    return losses


MANY = 9000
"""More than these are not counted on."""


def short_count(number: int) -> str:
    """Return a count, not more than can be read at a glance; nothing for none."""
    return ("9k+" if number > MANY else str(number)) if number else ""


def size_of(count: int) -> str:
    """Return a number of bytes as people read it: `340 B`, `56 kB`, `1.2 MB`."""
    if count < 1000:
        return f"{count} B"
    amount = count / 1000
    for unit in ("kB", "MB"):
        if amount < 1000:
            return f"{amount:.1f} {unit}" if amount < 10 else f"{amount:.0f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


HINT = "Such as 400k tokens, 30 requests; none for no budget."
_PART = re.compile(
    r"(\d[\d,_]*(?:\.\d+)?)\s*([kKmM]?)\s*(tokens?|(?:premium )?requests?|premium)?\Z"
)
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}
_MOST = 2**53


class BudgetError(ValueError):
    """What was written is no budget; the text says what is."""


def read_budget(text: str) -> Budget:
    """Return the budget that is meant; one without bounds for `none`. Raises `BudgetError`."""
    written = text.strip()
    if written.lower() in ("none", "no", "0"):
        return Budget()
    tokens: int | None = None
    requests: float | None = None
    for part in re.split(r",\s+|\s+and\s+|;", written):
        amount_of = _PART.match(part.strip())
        if amount_of is None:
            raise BudgetError(f"“{part.strip()}” is no budget. {HINT}")
        amount = float(re.sub("[,_]", "", amount_of[1])) * _TIMES[amount_of[2].lower()]
        if not 0 < amount <= _MOST:
            raise BudgetError(f"“{part.strip()}” must be above 0. {HINT}")
        if amount_of[3] is None or amount_of[3].startswith("token"):
            tokens = max(int(amount), 1)
        else:
            requests = amount
    return Budget(tokens, requests)


def budget_words(budget: Budget | None) -> str:
    """Return a budget as it can be written; `none` where there is none."""
    bounds = []
    if budget is not None and budget.tokens is not None:
        bounds.append(f"{budget.tokens:,} tokens")
    if budget is not None and budget.requests is not None:
        bounds.append(f"{budget.requests:g} requests")
    return ", ".join(bounds) or "none"
