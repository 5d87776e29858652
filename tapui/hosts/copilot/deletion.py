"""Deleting a stored session as the CLI does it: its folder, and what is indexed of it."""

import asyncio
import os
import shutil
from pathlib import Path

from tapui.hosts.copilot import sdk
from tapui.hosts.copilot.errors import AttachError

START_TIME = 60.0
"""Seconds that the CLI's server may take to start: the first one of a version unpacks itself."""


def delete_session(copilot_home: Path, session_id: str) -> None:
    """Delete a stored session that no program holds; raises `AttachError`. Blocks for seconds."""
    asyncio.run(_delete(copilot_home, session_id))


async def _delete(copilot_home: Path, session_id: str) -> None:
    program = shutil.which("copilot")
    if program is None:
        raise AttachError(
            "Copilot CLI was not found on PATH; install it with: npm install -g @github/copilot"
        )
    sdk.load()
    from copilot import CopilotClient, RuntimeConnection

    client = CopilotClient(
        connection=RuntimeConnection.for_stdio(path=program),
        env={**os.environ, "COPILOT_HOME": str(copilot_home)},
        log_level="warning",
    )
    try:
        await sdk.call("start Copilot's server", client.start(), within=START_TIME)
        await sdk.call(f"delete session {session_id}", client.delete_session(session_id))
    finally:
        await sdk.call("end Copilot's server", client.force_stop())
