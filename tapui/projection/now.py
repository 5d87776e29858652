"""What a session does now, and since when; how often something failed."""

from dataclasses import dataclass
from typing import Literal

from tapui.projection.state import State
from tapui.projection.turns.programs import program
from tapui.projection.turns.turn import LiveStep, LiveTurn

LOOPING = 3
"""So many failures of one program in a turn are a loop."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A program that fails again and again in a turn: its name, its last exit code, how often."""

    program: str
    exit_code: int | None
    times: int


@dataclass(frozen=True, slots=True)
class SessionNow:
    """What a session does. `since` is when that began (RFC 3339), not when the session did.

    `call` and `waiting`: `tool` with its `text`, the summary. `writing`: the intent or the last
    message. `thinking`: nothing was told yet. `idle`: `text` is the last message.
    """

    kind: Literal["waiting", "call", "writing", "thinking", "idle"]
    since: str
    tool: str = ""
    text: str = ""
    agent: str = ""
    """The subagent's name whose step it is."""
    loop: Loop | None = None


def now_of(state: State, session_id: str) -> SessionNow | None:
    """Return what a session does; None for one without a turn."""
    turns = state.turns.get(session_id)
    turn = turns.latest if turns is not None else None
    if turns is None or turn is None:
        return None
    standing, ended_at = turn.told_state()
    loop = loop_of(turn)
    found = _open_step(turn, "waiting") or _open_step(turn, "running")
    if found is not None:
        step, agent = found
        step.condense()
        kind: Literal["waiting", "call"] = "waiting" if step.state == "waiting" else "call"
        return SessionNow(kind, step.at, step.tool, step.summary, agent, loop)
    message = _last_message(turn)
    if standing != "running":
        text = message.summary if message is not None else ""
        return SessionNow("idle", ended_at or turn.started_at, text=text, loop=loop)
    is_newer = message is None or message.at < (turns.intent_at or "")
    if turns.intent and turns.intent_at is not None and is_newer:
        return SessionNow("writing", turns.intent_at, text=turns.intent, loop=loop)
    if message is not None:
        return SessionNow("writing", message.at, text=message.summary, loop=loop)
    return SessionNow("thinking", turn.started_at, loop=loop)


def agent_now(state: State, session_id: str, agent_id: str) -> SessionNow | None:
    """Return what a subagent at work does; None where nothing of it was told."""
    turns = state.turns.get(session_id)
    agent = turns.agents.get(agent_id) if turns is not None else None
    if agent is None:
        return None
    inner = agent.steps or []
    step = next((one for one in reversed(inner) if one.is_open), None)
    if step is not None:
        step.condense()
        kind: Literal["waiting", "call"] = "waiting" if step.state == "waiting" else "call"
        return SessionNow(kind, step.at, step.tool, step.summary)
    message = next((one for one in reversed(inner) if one.kind == "message"), None)
    if message is not None:
        return SessionNow("writing", message.at, text=message.summary)
    return SessionNow("thinking", agent.at, text=agent.summary)


def _open_step(turn: LiveTurn, state: str) -> tuple[LiveStep, str] | None:
    """Return the newest step that stands so, its own steps first, and its subagent's name."""
    for step in reversed(turn.steps):
        for inner in reversed(step.steps or ()):
            if inner.state == state:
                return inner, step.tool
        if step.state == state:
            return step, step.tool if step.kind == "subagent" else ""
    return None


def _last_message(turn: LiveTurn) -> LiveStep | None:
    return next((step for step in reversed(turn.steps) if step.kind == "message"), None)


def loop_of(turn: LiveTurn) -> Loop | None:
    """Return the program that failed most often in a turn, if that is a loop."""
    if turn.failed < LOOPING:
        return None
    times: dict[str, list[LiveStep]] = {}
    for step in turn.all_steps():
        if step.state == "failed" and step.kind == "call":
            step.condense()
            name = program(step.summary) if step.exit_code is not None else step.tool
            times.setdefault(name, []).append(step)
    name, steps = max(times.items(), key=lambda item: len(item[1]), default=("", []))
    return Loop(name, steps[-1].exit_code, len(steps)) if len(steps) >= LOOPING else None


def failed_since(state: State, since: str) -> int:
    """Return how many steps that began at `since` (RFC 3339) or later have failed, as far as the
    state keeps them."""
    return sum(
        step.state == "failed" and step.at >= since
        for turns in state.turns.values()
        for turn in turns.turns
        if turn.failed and (turn.ended_at is None or turn.ended_at >= since)
        for step in turn.all_steps()
    )
