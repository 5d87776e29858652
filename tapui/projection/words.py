"""Orders, checks, alarms and offered tools in words; nothing here is made safe yet."""

from collections.abc import Callable

from msgspec.structs import replace

from tapui.projection.approvals import by, by_whom
from tapui.projection.requests.permissions import MODE_ASKERS
from tapui.projection.requests.request_kind import session_name
from tapui.projection.state import State, is_open
from tapui.projection.summary import one_line
from tapui.projection.turns.turn import LiveTurn
from tapui.wire.events import OrderChanged
from tapui.wire.proving import ProofOutcome, ProofPlan
from tapui.wire.steering import Order, OrderKind, OrderState, Way
from tapui.wire.subjects import YOU, Account, Alarm, ContextUse, Quota, Session, TodoState
from tapui.wire.turns import StepState, TurnSource

ENDED: dict[StepState, str] = {
    "failed": "failed",
    "denied": "denied",
    "cancelled": "cancelled",
    "stopped": "stopped",
    "timedOut": "timed out",
}
"""How a call or a step ended, where that is not well."""
WAYS: dict[Way, str] = {
    "after": "after this turn",
    "now": "now",
    "stopFirst": "stop, then send",
}
_WANTED: dict[OrderKind, str] = {
    "tell": "tell",
    "stop": "stop the turn",
    "compact": "compact the context",
    "model": "model",
    "effort": "reasoning effort",
    "label": "rename to",
    "close": "end the session",
}
_BECAME: dict[OrderState, str] = {
    "given": "sent",
    "queued": "waits for the turn's end",
    "stopping": "stopping",
    "working": "under way",
    "done": "done",
    "failed": "failed",
}


OUTCOMES: dict[ProofOutcome, str] = {
    "passed": "✓ passed",
    "failed": "✗ failed",
    "unknown": "○ unknown",
}


def plan_lines(plan: ProofPlan) -> list[str]:
    """Return what the person is shown before a check runs."""
    lines = [plan.command, f"in {plan.cwd}"]
    if plan.changed:
        more = f" and {plan.more} more" if plan.more else ""
        files = f"{', '.join(plan.changed)}{more}"
        lines.append(f"of its own files, changed since the session began: {files}")
    if plan.doubt:
        lines.append(f"not all that changed of its own files is known: {plan.doubt}")
    return [*lines, "runs with your rights"]


def outcome_words(outcome: ProofOutcome, text: str) -> str:
    return f"{OUTCOMES[outcome]}: {text}"


def changed(order: Order, change: OrderChanged) -> Order:
    return replace(
        order,
        state=change.state,
        error=change.error,
        running=change.running,
        dropped=change.dropped,
    )


def is_stopping(state: State, session_id: str) -> bool:
    """Return whether a session was told to stop its turn and has not come to rest."""
    return any(
        order.session_id == session_id
        and (order.state == "stopping" or (order.kind == "stop" and order.state == "given"))
        for order in state.orders.values()
    )


def can_stop(session: Session) -> bool:
    return is_open(session) and session.state == "busy" and "stop" in session.can


def order_words(order: Order) -> str:
    if order.kind == "tell":
        way = f" ({WAYS[order.way]})" if order.way is not None else ""
        return f"tell{way}: {one_line(order.text)}"
    return f"{_WANTED[order.kind]} {one_line(order.text)}".rstrip()


def became(order: Order) -> str:
    return "; ".join([_state(order), *consequences(order)])


def _state(order: Order) -> str:
    if order.state == "failed":
        head = "not delivered" if order.kind == "tell" else "failed"
        return f"{head}: {order.error}" if order.error else head
    if order.state == "done":
        return {"tell": "delivered", "stop": "stopped", "close": "ended"}.get(order.kind, "done")
    if order.state == "queued" and order.way == "now":
        return "waits until the turn can take it"
    return _BECAME[order.state]


def consequences(order: Order) -> list[str]:
    """Return what else the person must know: commands that go on, texts that were lost."""
    parts = []
    if order.running:
        parts.append(f"still running in the background: {', '.join(order.running)}")
    if order.dropped:
        parts.append(f"dropped with the turn: {', '.join(order.dropped)}")
    return parts


CONTEXT_HIGH, CONTEXT_FULL = 0.8, 0.95
"""Shares of a context from which on it is shown in amber, and in red with an alarm."""


def source_words(source: TurnSource) -> str:
    """Return who asked: `you`, a provider's name, `autopilot`, `agent x1` …"""
    match source.kind:
        case "person":
            return by_whom(source.name or YOU)
        case "provider":
            return source.name or "a provider"
        case "host":
            return source.name or "its own program"
        case "unknown":
            return source.name or "a sender that was not seen"
        case _:
            return f"{source.kind} {source.name}".rstrip()


def context_share(use: ContextUse | None) -> float | None:
    """Return how much of what fits before the CLI compacts is used, or of the whole context where
    it does not say when it does. None where nothing is known."""
    if use is None:
        return None
    most = use.compacts_at if use.compacts_at is not None and use.compacts_at > 0 else use.limit
    return use.tokens / most if most > 0 else None


def context_words(use: ContextUse | None) -> str | None:
    """Return how full a context is, and when it is compacted; None where it is not known."""
    share = context_share(use)
    if use is None or share is None:
        return None
    if use.compacts_at is None:
        return f"{share:.0%}: {use.tokens:,} of {use.limit:,} tokens"
    fits = f"{use.tokens:,} of {use.compacts_at:,} tokens, then it is compacted"
    return f"{share:.0%}: {fits} (the window has {use.limit:,})"


def alarm_words(alarm: Alarm) -> str:
    """Return what is wrong: `pnpm test fails: exit 1, 4×`."""
    match alarm.kind:
        case "waiting":
            return "waits for you, and has for long"
        case "quiet":
            return "a turn without an event"
        case "failing":
            return f"{alarm.program} fails: {how_often(alarm)}"
        case "context":
            return f"its context is {alarm.why} full: compact it, or the CLI does"
        case "ledger":
            return f"what was proven is unknown: {alarm.why}"


def how_often(alarm: Alarm) -> str:
    """Return how often a program failed, and how at last: `exit 1, 4×`."""
    code = "" if alarm.exit_code is None else f"exit {alarm.exit_code}, "
    return f"{code}{alarm.times}×"


def alarm_session(state: State, alarm: Alarm) -> str:
    """Return the name of the session that it is about; "" where it is about none."""
    return session_name(state, alarm.session_id)


def alarms_of(state: State, session_id: str) -> list[Alarm]:
    return [one for one in state.alarms.values() if one.session_id == session_id]


def ledger_words(state: State, session_id: str, clock: Callable[[str], str]) -> str | None:
    """Return why what was proven in a session is unknown, and since when; None where its ledger is
    believed. `clock` shows a time as the person reads it."""
    for alarm in alarms_of(state, session_id):
        if alarm.kind == "ledger":
            return f"{alarm_words(alarm)}, {clock(alarm.since)}"
    return None


def mode_words(state: State, session: Session) -> str | None:
    """Return a session's mode, and whose it is: `plan, userOwned: set by you`."""
    known = state.modes.get(session.id)
    if session.mode is None or known is None or known.ownership is None:
        return session.mode
    how = "set" if known.ownership == "userOwned" else "allowed"
    return f"{session.mode}, {known.ownership}: {how} {by(known.by)}"


_PERMISSIONS = {
    "manual": "Copilot asks you",
    "assisted": "assisted: a model of Copilot's may allow in your place",
    "allow-all": "allow all: Copilot asks about nothing",
}


def permission_words(session: Session) -> str:
    """Return how a session's program asks for permissions, "" where that is not known."""
    return _PERMISSIONS.get(session.permissions or "", session.permissions or "")


UNCHECKED_ANSWERS = "answers are not checked"
"""What is said of a gateway that takes them of any process of the user."""


def unsupervised(session: Session) -> str:
    """Return in a word how a session works on without the person, "" where each step is asked."""
    if session.permissions == "allow-all":
        return "allow all"
    if session.mode == "autopilot":
        return session.mode
    return "assisted" if session.permissions == "assisted" else ""


def refused_mode(state: State, session: Session) -> str | None:
    """Return the last request for another mode that was refused, and why; None for none."""
    known = state.modes.get(session.id)
    if known is None or known.refused is None:
        return None
    refused = known.refused
    who = MODE_ASKERS[refused.asker]
    return f"{refused.to}, asked by {who} ({refused.policy}): {refused.reason}"


def context_parts_words(context: ContextUse | None) -> str | None:
    """Return what fills a context, in tokens; None where that is not told."""
    if context is None:
        return None
    named = (
        (context.system, "system prompt"),
        (context.tools, "tools"),
        (context.conversation, "conversation"),
    )
    return ", ".join(f"{count:,} {name}" for count, name in named if count is not None) or None


def quota_words(session: Session, clock: Callable[[str], str]) -> str | None:
    """Return what is left of each quota: `premium_interactions 35% left (97 of 150 used), anew
    1 Dec`; None where none is known. `clock` shows a time as the person reads it."""
    return "; ".join(_quota(one, clock) for one in session.quotas) or None


def _quota(quota: Quota, clock: Callable[[str], str]) -> str:
    if quota.entitled is None:
        return f"{one_line(quota.name)} unlimited"
    anew = f", anew {clock(quota.resets_at)}" if quota.resets_at else ""
    used = f"({quota.used:,g} of {quota.entitled:,g} used)"
    return f"{one_line(quota.name)} {quota.remaining:.0f}% left {used}{anew}"


def account_words(account: Account | None) -> str | None:
    """Return who is signed in: `ada at https://github.com (user, business)`; None where it is not
    known."""
    if account is None:
        return None
    if not account.signed_in:
        note = one_line(account.note or "")
        return f"not signed in: {note}" if note else "not signed in"
    login = account.login or "signed in"
    told = f"{login} at {account.host}" if account.host else login
    how = ", ".join(filter(None, (account.kind, account.plan)))
    return one_line(f"{told} ({how})" if how else told)


def undone_words(turn: LiveTurn) -> str | None:
    """Return that a turn was taken back; None for one that was not."""
    return "undone: the agent knows it no longer" if turn.undone else None


def asks_there_words(session: Session) -> str | None:
    """Return what a session's program asks in its own terminal; None where it asks nothing."""
    if not session.asks_there or not is_open(session):
        return None
    return f"asks in its terminal: {one_line(session.asks_there)}"


def model_wait_words(session: Session) -> str | None:
    """Return that a session waits to ask its model again: `waits for the model: 429, failed 2×`;
    None where it does not. Copilot does not tell when it tries again."""
    wait = session.model_wait
    if wait is None or not is_open(session):
        return None
    why = str(wait.status) if wait.status is not None else wait.reason or "no answer"
    more = f", failed {wait.times}×" if wait.times > 1 else ""
    return f"waits for the model: {why}{more}"


def shell_wait_words(session: Session) -> str | None:
    """Return for which commands in the background a session waits: `waits for shell “npm test”`;
    None for none, and while its agent works."""
    if not session.shells or session.state != "idle":
        return None
    commands = ", ".join(f"“{one_line(command)}”" for command in session.shells)
    count = len(session.shells)
    return f"waits for {'shell' if count == 1 else f'{count} shells:'} {commands}"


TODOS: dict[TodoState, str] = {"done": "✓", "inProgress": "●", "blocked": "✗", "pending": "○"}


def todo_lines(session: Session) -> list[str]:
    """Return what a session's agent wants to do, one line for each entry: `✓ collect tags`."""
    return [f"{TODOS[one.state]} {one_line(one.title)}" for one in session.todos]


def todo_words(session: Session) -> str | None:
    """Return the list on one line, with how much of it is done; None for none."""
    if not session.todos:
        return None
    lines, counts = todo_lines(session), session.todo_counts
    if counts is None:
        done = sum(one.state == "done" for one in session.todos)
        return f"{done} of {len(session.todos)} done: {'   '.join(lines)}"
    more = f"and {counts.total - len(session.todos):,} more"
    return f"{counts.done:,} of {counts.total:,} done: {'   '.join((*lines, more))}"


def warning_words(session: Session, clock: Callable[[str], str]) -> str | None:
    """Return the newest warning of a session's program, and when it came; None for none."""
    warned = session.warning
    return None if warned is None else f"{one_line(warned.text)}, {clock(warned.at)}"


def tools_that_wait(state: State, session: Session) -> str | None:
    """As `tools_of`, but None where the session's agent has its tools."""
    return tools_of(state, session) if session.tools_taken is False else None


def tools_of(state: State, session: Session) -> str | None:
    """Return how many tools providers offer to a session, and whether its agent has them yet.

    None where there is nothing to say.
    """
    known = [state.providers[id_] for id_ in session.providers if id_ in state.providers]
    count = len({tool for provider in known for tool in provider.tools})
    if session.state == "ended" or (not count and session.tools_taken is not False):
        return None
    words = "1 tool" if count == 1 else f"{count} tools"
    return f"{words} (not yet taken)" if session.tools_taken is False else words
