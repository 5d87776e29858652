"""What a status bar is told: a few characters (`tapui status --line`)."""

from tapui.cli import output
from tapui.client.gateways import FoundGateway
from tapui.client.glance import glance
from tapui.projection.state import State, is_open, is_waiting


def run(chosen: FoundGateway) -> None:
    """Print how much waits and failed."""
    if said := in_short(State.of(glance(chosen, name="tapui status").state)):
        output.say(said)


def in_short(state: State) -> str:
    """Return how many requests wait, and how many steps failed in the newest turns of the open
    sessions, `!2 ✗1`; empty for nothing."""
    waiting = sum(is_waiting(one) for one in state.approvals.values())
    sessions = (one for one in state.sessions.values() if is_open(one))
    known = (state.turns[one.id] for one in sessions if one.id in state.turns)
    failed = sum(one.latest.failed for one in known if one.latest is not None)
    counts = ((waiting, "!"), (failed, "✗"))
    return " ".join(f"{sign}{count}" for count, sign in counts if count)
