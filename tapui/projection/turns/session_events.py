"""A session's own events as turns and steps; the table `HAPPENED` says which."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tapui.projection.approvals import of_program
from tapui.projection.summary import head_strings, last_line, one_line
from tapui.projection.turns.programs import is_answer
from tapui.projection.turns.session import UNKNOWN, LiveTurns
from tapui.projection.turns.turn import UNNAMED
from tapui.projection.turns.usage import add_to, added, amount, count, model_of, totals_of, usage_of
from tapui.wire import limits
from tapui.wire.events import SessionHappened
from tapui.wire.turns import SourceKind, StepState, TurnSource, Usage

Data = Mapping[str, Any]
_HIGHEST_CODE = 2**31
_AUTOMATIC: tuple[SourceKind, ...] = ("autopilot", "agent", "schedule", "host")


def happened(session: LiveTurns, event: SessionHappened, at: str) -> None:
    """Fold an event of the session's own; an unknown one is a step by its own name."""
    take = HAPPENED.get(event.event)
    if take is not None:
        take(session, _data(event), at)
    elif event.event not in _QUIET:
        _other(session, event.event, _data(event), at)


def _data(event: SessionHappened) -> Data:
    if event.data is not None:
        try:
            data = msgspec.json.decode(event.data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return {}
        return data if isinstance(data, dict) else {}
    return head_strings(event.data_cut.head) if event.data_cut is not None else {}


def _text(data: Data, name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _name(data: Data, name: str) -> str | None:
    value = _text(data, name)
    return value if value and len(value) <= limits.MAX_ID else None


# Prompts


def _person(session: LiveTurns, data: Data, at: str) -> None:
    if "agentId" not in data:
        name = _text(data, "from")[: limits.MAX_NAME]
        _prompt(session, data, TurnSource("person", name), at)


def _provider(session: LiveTurns, data: Data, at: str) -> None:
    _prompt(session, data, TurnSource("provider", _text(data, "from")[: limits.MAX_NAME]), at)


def _automatic(session: LiveTurns, data: Data, at: str) -> None:
    source = _text(data, "source")[: limits.MAX_NAME]
    kind = next((one for one in _AUTOMATIC if one in source), None)
    if kind is None:
        _prompt(session, data, TurnSource("unknown", source), at)
        return
    name = "" if source == kind else source.removeprefix(f"{kind}-")
    _prompt(session, data, TurnSource(kind, name), at)


def _prompt(session: LiveTurns, data: Data, source: TurnSource, at: str) -> None:
    """Begin a turn; a prompt that steers the turn under way is a step of it."""
    content = _text(data, "content")
    if data.get("delivery") == "steering" and session.running is not None:
        step = session.add("prompt", "done", at, content)
        step.provider = source.name
        return
    session.begin(at, source, content)
    session.intent, session.intent_at = "", None


def _not_sent(session: LiveTurns, data: Data, at: str) -> None:
    session.add("error", "failed", at).error = one_line(_text(data, "error"))


# The agent's work


def _busy(session: LiveTurns, data: Data, at: str) -> None:
    if "agentId" not in data and session.running is None:
        session.begin(at, UNKNOWN)


def _message(session: LiveTurns, data: Data, at: str) -> None:
    content = _text(data, "content")
    if content.strip():
        session.add("message", "done", at, content, _name(data, "agentId"))
        if "agentId" not in data and session.latest is not None:
            session.latest.says = last_line(content)


def _intent(session: LiveTurns, data: Data, at: str) -> None:
    intent = _text(data, "intent")
    if intent.strip() and "agentId" not in data:
        session.intent, session.intent_at = one_line(intent), at


def _usage(session: LiveTurns, data: Data, at: str) -> None:  # noqa: ARG001 - as the table has it
    used = usage_of(data)
    add_to(session.models, model_of(data), used)
    turn = session.latest
    if turn is None:
        return
    turn.used(used)
    agent = session.agents.get(_name(data, "agentId") or "")
    if agent is not None:
        agent.usage = added(agent.usage or Usage(), used)


def _totals(session: LiveTurns, data: Data, at: str) -> None:  # noqa: ARG001
    """The host tells what was used since the session began: that holds, in place of any sum."""
    totals = totals_of(data)
    if totals is not None:
        session.models = totals


def _error(session: LiveTurns, data: Data, at: str) -> None:
    step = session.add("error", "failed", at, _text(data, "errorType"), _name(data, "agentId"))
    step.error = one_line(_text(data, "message"))


def _warned(session: LiveTurns, data: Data, at: str) -> None:
    """A warning in a turn is a step of it; the newest one stands with the session."""
    if session.running is not None:
        session.add("event", "done", at, _text(data, "message")).tool = "warning"


_STOPPED = {
    "task_complete": "the task is complete",
    "aborted": "it was stopped",
    "error": "of an error",
    "background_timeout": "work in the background took too long",
}


def _autopilot_stopped(session: LiveTurns, data: Data, at: str) -> None:
    """The session's program goes on by itself no more; other reasons are shown as it has them."""
    reason = _text(data, "reason")
    if session.latest is not None:
        step = session.add("event", "done", at, _STOPPED.get(reason, reason.replace("_", " ")))
        step.tool = "autopilot stopped"


def _compaction_started(session: LiveTurns, data: Data, at: str) -> None:
    if "agentId" not in data:
        session.add("compaction", "running", at)


def _compacted(session: LiveTurns, data: Data, at: str) -> None:
    if "agentId" in data:
        return
    turn = session.latest
    steps = reversed(turn.steps) if turn is not None else ()
    step = next((one for one in steps if one.kind == "compaction" and one.is_open), None)
    if step is None:
        step = session.add("compaction", "running", at)
    before, gone = count(data.get("tokensBefore")), count(data.get("tokensRemoved"))
    if before and gone:
        step.summary = f"{before} → {max(before - gone, 0)}"
    session.end(step, "done" if data.get("success") is not False else "failed", at)


# The end


def _idle(session: LiveTurns, data: Data, at: str) -> None:
    _stop_agents(session, "done", at)
    turn = session.running
    if turn is None:
        return
    if data.get("aborted") is True:
        turn.end("stopped", at)
    elif turn.steps and turn.steps[-1].kind == "error":
        turn.end("failed", at)
    else:
        turn.end("done", at)


def _aborted(session: LiveTurns, data: Data, at: str) -> None:
    agent = _name(data, "agentId")
    if agent is not None:
        step = session.agents.get(agent)
        if step is not None:
            session.end(step, "stopped", at)
        return
    if "agentId" not in data:
        _stop_agents(session, "stopped", at)
        if session.running is not None:
            session.running.end("stopped", at)


def _rewound(session: LiveTurns, data: Data, at: str) -> None:  # noqa: ARG001
    """The session's program took back all that began at `since` or later."""
    since = _text(data, "since")
    for turn in session.turns if since else ():
        if turn.started_at >= since:
            turn.undone = True


def _stop_agents(session: LiveTurns, state: StepState, at: str) -> None:
    """End what runs only as long as its turn: subagents, a compaction, calls that never began."""
    for step in list(session.agents.values()):
        session.end(step, state, at)
    turn = session.latest
    for step in list(turn.all_steps()) if turn is not None else ():
        if step.kind == "compaction" and step.is_open:
            session.end(step, "cancelled", at)
        elif step.is_asked_only and step.state == "running":
            session.end(step, "unknown", at)


# Subagents


def _agent_started(session: LiveTurns, data: Data, at: str) -> None:
    agent, call_id = _name(data, "remoteSessionId"), _name(data, "toolCallId")
    if agent is None or agent in session.agents:
        return
    step = session.open.get(call_id) if call_id is not None else None
    if step is None or step.kind != "call":
        step = session.add("subagent", "running", at)
    step.condense()
    step.kind = "subagent"
    step.agent = agent
    name = _text(data, "agentDisplayName") or _text(data, "agentName")
    step.tool = one_line(name)[: limits.MAX_NAME]
    step.summary = one_line(_text(data, "description")) or step.summary
    session.agents[agent] = step


def _agent_ended(state: StepState) -> "Callable[[LiveTurns, Data, str], None]":
    def ended(session: LiveTurns, data: Data, at: str) -> None:
        call_id = _name(data, "toolCallId")
        agent = session.agents.get(_name(data, "remoteSessionId") or "")
        if agent is None and call_id is not None:
            of_call = (one for one in session.agents.values() if one.call_id == call_id)
            agent = next(of_call, None)
        if agent is None:
            return
        agent.calls = max(agent.calls, count(data.get("calls")))
        agent.duration = amount(data.get("durationMs"))
        session.end(agent, state, at, _text(data, "error"))

    return ended


def _shell_ended(session: LiveTurns, data: Data, at: str) -> None:
    """A command that went on after its call has ended. In a later turn that is a step of its own:
    of earlier ones not everybody knows the steps."""
    call_id, code = _name(data, "toolCallId"), data.get("exitCode")
    if call_id is None or type(code) is not int or abs(code) > _HIGHEST_CODE:
        return
    turn = session.turns[-1] if session.turns else None
    for step in turn.all_steps() if turn is not None else ():
        step.condense()
        if step.call_id == call_id and step.kind == "call":
            if step.exit_code is None:
                step.exit_code = code
                if step.state == "done" and code and not is_answer(step.summary, code):
                    session.end(step, "failed", at)
            return
    command = one_line(_text(data, "command"))
    state: StepState = "failed" if code and not is_answer(command, code) else "done"
    step = session.add("call", state, at, command)
    step.tool = _text(data, "tool")[: limits.MAX_NAME] or UNNAMED
    step.call_id, step.exit_code = call_id, code


def _permitted(session: LiveTurns, data: Data, at: str) -> None:
    """The host's program decided by itself. What it denied is no failure of the tool."""
    step = session.open.get(_text(data, "toolCallId"))
    if step is not None and step.decided_by is None:
        step.decided_by = of_program(_name(data, "by") or UNNAMED)
        if data.get("decision") == "deny":
            session.end(step, "denied", at, _text(data, "reason"))


def _other(session: LiveTurns, name: str, data: Data, at: str) -> None:
    """Show what a newer host tells, as long as a turn runs; what it repeats is one step."""
    turn = session.running
    if turn is None:
        return
    text = one_line(_text(data, "message"))
    last = turn.steps[-1] if turn.steps else None
    if last is not None and (last.kind, last.tool) == ("event", name):
        last.summary = text
    else:
        session.add("event", "done", at, text).tool = name


_QUIET = frozenset(
    {
        "assistant.reasoning",
        "assistant.turn_end",
        "capabilities.changed",
        "commands.changed",
        "model.call_failure",
        "prompt.submitted",
        "session.info",
        "session.permissions_changed",
        "tool.execution_partial_result",
        "tool.execution_progress",
    }
)
"""Events that other parts of the state tell of, or that say nothing to a person."""

HAPPENED: dict[str, Callable[[LiveTurns, Data, str], None]] = {
    "user.message": _person,
    "prompt.injected": _provider,
    "prompt.automatic": _automatic,
    "prompt.failed": _not_sent,
    "session.busy": _busy,
    "assistant.turn_start": _busy,
    "assistant.message": _message,
    "assistant.intent": _intent,
    "assistant.usage": _usage,
    "session.usage": _totals,
    "permission.completed": _permitted,
    "shell.completed": _shell_ended,
    "session.error": _error,
    "session.snapshot_rewind": _rewound,
    "session.warning": _warned,
    "session.autopilot_stopped": _autopilot_stopped,
    "session.compaction_start": _compaction_started,
    "session.compaction_complete": _compacted,
    "session.idle": _idle,
    "abort": _aborted,
    "subagent.started": _agent_started,
    "subagent.completed": _agent_ended("done"),
    "subagent.failed": _agent_ended("failed"),
}
