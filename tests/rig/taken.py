"""Waiting until the agent of a real session can call what providers offer to it."""

from tests.rig.copilot import Copilot
from tests.rig.gateway import Home
from tests.rig.waiting import until


def are_taken(home: Home, session_id: str, *, providers: int = 0) -> bool:
    """Return whether a session is open, has so many `providers` at least, and has taken the newest
    list of its tools."""
    return any(
        one["id"] == session_id and one.get("toolsTaken") and len(one["providers"]) >= providers
        for one in home.state().get("sessions", [])
    )


def wait_for_tools(home: Home, copilot: Copilot, *, providers: int = 0) -> None:
    """Wait until this is so for the session of a CLI."""
    until(
        lambda: are_taken(home, copilot.session_id, providers=providers),
        what=lambda: f"the tools are taken: {home.state()}",
    )
