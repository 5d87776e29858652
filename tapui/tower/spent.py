"""Where the time of steps and turns went: tools, queues, gates, the person."""

from typing import NamedTuple

from tapui.projection.turns.step import LiveStep
from tapui.projection.turns.turn import LiveTurn
from tapui.tower import steps
from tapui.tower.view import View

_LEAST = 0.5
"""Milliseconds below which a part is not told."""


class Spent(NamedTuple):
    """Milliseconds: in tools, waiting for a place, asking providers, waiting for the person."""

    tools: float = 0.0
    queue: float = 0.0
    gates: float = 0.0
    you: float = 0.0

    def plus(self, other: "Spent") -> "Spent":
        """Return both together."""
        return Spent(*(one + more for one, more in zip(self, other, strict=True)))

    def words(self, tools: str) -> str:
        """Return `1.2s at shop, 300ms in the queue, 40ms gates, 12s waiting for you`; "" for none.

        `tools` says which tools.
        """
        named = (
            (self.tools, tools),
            (self.queue, "in the queue"),
            (self.gates, "gates"),
            (self.you, "waiting for you"),
        )
        return ", ".join(f"{steps.lasted(ms / 1000)} {what}" for ms, what in named if ms >= _LEAST)


def on_step(view: View, session_id: str, step: LiveStep) -> Spent:
    """Return where the time of a step went, without the steps within it.

    The duration of a session's own calls holds the wait for the person.
    """
    step.condense()
    session = view.state.sessions.get(session_id)
    queue, gates, you = step.queued or 0.0, step.gated or 0.0, step.asked or 0.0
    tools = 0.0
    if step.kind == "call" and not step.is_open:
        is_own = session is not None and step.provider == session.host
        tools = max((step.duration or 0.0) - queue - (you if is_own else 0.0), 0.0)
    return Spent(tools, queue, gates, you)


def in_turn(view: View, turn: LiveTurn) -> Spent:
    """Return where the time of a turn's steps went; what ran at once counts each."""
    total = Spent()
    for step in turn.all_steps():
        spent = on_step(view, turn.session_id, step)
        if step.kind == "call":
            spent = spent._replace(gates=0.0)  # they are steps of their own
        total = total.plus(spent)
    return total
