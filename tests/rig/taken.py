"""Waiting until the agent of a real CLI session can call what providers offer to it."""

import json

from tests.rig.copilot import Copilot
from tests.rig.gateway import Home
from tests.rig.waiting import until


def wait_for_tools(home: Home, copilot: Copilot, *, providers: int = 0) -> None:
    """Wait until the CLI's session is open, has so many `providers` at least, and has taken the
    newest list of its tools."""

    def status() -> str:
        return home.run("status", "--json").stdout

    def are_taken() -> bool:
        said = status()
        sessions = json.loads(said)["state"]["sessions"] if said else []
        return any(
            one["id"] == copilot.session_id
            and one.get("toolsTaken")
            and len(one["providers"]) >= providers
            for one in sessions
        )

    until(are_taken, within=30, what=lambda: f"the tools are taken: {status()}")
