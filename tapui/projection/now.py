"""What a session does now, and since when; how often something failed."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from tapui.projection.state import State
from tapui.projection.turns.programs import program
from tapui.projection.turns.turn import COUNTED, LiveStep, LiveTurn
from tapui.projection.words import model_wait_words, shell_wait_words
from tapui.wire.turns import StepState

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
    """What a session does. `since` is when that began (RFC 3339), not when the session did; of the
    time since then it waited for the person so many milliseconds (`waited`).

    `call` and `waiting`: `tool` with its `text`, the summary. `model`: a request to the model
    failed, and is made again. `writing`: the intent or the last
    message. `thinking`: nothing was told yet. `shell`: the turn ended, and commands go on in the
    background. `idle`: `text` is the last message.
    """

    kind: Literal["waiting", "call", "model", "writing", "thinking", "shell", "idle"]
    since: str
    tool: str = ""
    text: str = ""
    agent: str = ""
    """The subagent's name whose step it is."""
    loop: Loop | None = None
    waited: float = 0.0


def now_of(state: State, session_id: str, *, is_asking: bool = False) -> SessionNow | None:
    """Return what a session does; None for one without a turn. Of one that `is_asking`: what it
    does besides."""
    turns = state.turns.get(session_id)
    turn = turns.latest if turns is not None else None
    if turns is None or turn is None:
        return None
    standing, ended_at = turn.told_state()
    loop = loop_of(turn)
    session = state.sessions.get(session_id)
    waits = model_wait_words(session) if session is not None else None
    asked = None if is_asking else _open_step(turn, "waiting")
    if session is not None and session.model_wait is not None and waits and asked is None:
        return SessionNow("model", session.model_wait.since, text=waits, loop=loop)
    found = asked or _open_step(turn, "running")
    if found is not None:
        step, agent = found
        step.condense()
        if step.state == "waiting":
            return SessionNow("waiting", step.at, step.tool, step.summary, agent, loop)
        waited = step.asked or 0.0
        return SessionNow("call", step.at, step.tool, step.summary, agent, loop, waited)
    message = _last_message(turn)
    if standing != "running":
        shells = shell_wait_words(session) if session is not None else None
        if shells is not None:
            return SessionNow("shell", ended_at or turn.started_at, text=shells, loop=loop)
        text = message.summary if message is not None else ""
        return SessionNow("idle", ended_at or turn.started_at, text=text, loop=loop)
    is_newer = message is None or message.at < (turns.intent_at or "")
    if turns.intent and turns.intent_at is not None and is_newer:
        since, text = turns.intent_at, turns.intent
    elif message is not None:
        since, text = message.at, message.summary
    else:
        return SessionNow("thinking", turn.started_at, loop=loop, waited=turn.waited)
    return SessionNow("writing", since, text=text, loop=loop, waited=_waited_since(turn, since))


def _waited_since(turn: LiveTurn, since: str) -> float:
    """Return for how long the steps of a turn that began since then waited for the person."""
    waits = sum(step.asked or 0.0 for step in turn.all_steps() if step.at >= since)
    return min(waits, turn.waited)  # what waits at once counts once


def agent_now(
    state: State, session_id: str, agent_id: str, is_asking: bool = False
) -> SessionNow | None:
    """Return what a subagent at work does; None where nothing of it was told. Of one that
    `is_asking`: what it does besides."""
    turns = state.turns.get(session_id)
    agent = turns.agents.get(agent_id) if turns is not None else None
    if agent is None:
        return None
    inner = agent.steps or []
    states = ("running",) if is_asking else ("running", "waiting")
    step = next((one for one in reversed(inner) if one.state in states), None)
    if step is not None:
        step.condense()
        if step.state == "waiting":
            return SessionNow("waiting", step.at, step.tool, step.summary)
        return SessionNow("call", step.at, step.tool, step.summary, waited=step.asked or 0.0)
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


def counted_since(state: State, since: str) -> Counter[StepState]:
    """Return how many steps that began at `since` (RFC 3339) or later ended other than well, by how
    they did, as far as the state keeps them."""
    return Counter(
        step.state
        for turns in state.turns.values()
        for turn in turns.turns
        if turn.counted() and (turn.ended_at is None or turn.ended_at >= since)
        for step in turn.all_steps()
        if step.state in COUNTED and step.at >= since
    )
