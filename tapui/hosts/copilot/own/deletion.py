"""Deleting a stored session as the CLI does it: its folder, and what is indexed of it."""

import asyncio
import os
from pathlib import Path

from tapui.hosts.copilot import sdk
from tapui.hosts.copilot.own.server import end_server, start_server


def delete_session(copilot_home: Path, session_id: str) -> None:
    """Delete a stored session that no program holds; raises `AttachError`. Blocks for seconds."""
    asyncio.run(_delete(copilot_home, session_id))


async def _delete(copilot_home: Path, session_id: str) -> None:
    client = await start_server(copilot_home, os.environ)
    try:
        await sdk.call(f"delete session {session_id}", client.delete_session(session_id))
    finally:
        await end_server(client)
