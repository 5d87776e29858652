"""A server process of the CLI that is ours: starting one, ending it, deleting a session with it."""

import asyncio
import contextlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tapui.hosts.copilot import sdk
from tapui.hosts.copilot.sdk import NO_CLI, AttachError, NoCliError
from tapui.runtime.processes.status import INSIDE

if TYPE_CHECKING:
    from copilot import CopilotClient

START_TIME = 60.0
"""Seconds that the process may take: the first one of a version unpacks itself."""
END_TIME = 5.0


def found_program(environ: Mapping[str, str]) -> str:
    """Return the CLI's program on the environment's PATH. Raises `NoCliError`."""
    program = shutil.which("copilot", path=environ.get("PATH"))
    if program is None:
        raise NoCliError(NO_CLI)
    return program


async def start_server(copilot_home: Path, environ: Mapping[str, str]) -> "CopilotClient":
    """Start a server in the environment `environ`; return its client.

    Raises `NoCliError` where there is no CLI, `AttachError` where it does not start.
    """
    program = found_program(environ)
    sdk.load()
    from copilot import CopilotClient, RuntimeConnection

    client = CopilotClient(
        connection=RuntimeConnection.for_stdio(path=program),
        env={**environ, "COPILOT_HOME": str(copilot_home), INSIDE: "1"},
        log_level="warning",
    )
    try:
        await sdk.call("start Copilot's server", client.start(), within=START_TIME)
    except BaseException:
        await end_server(client)
        raise
    return client


async def end_server(client: "CopilotClient") -> None:
    """End the process, whose sessions have been left; its answer no longer matters."""
    with contextlib.suppress(AttachError):  # it has ended: that is what was wanted
        await sdk.call("end Copilot's server", client.force_stop(), within=END_TIME)


def delete_session(copilot_home: Path, session_id: str) -> None:
    """Delete a stored session that no program holds; raises `AttachError`. Blocks for seconds."""
    asyncio.run(_delete(copilot_home, session_id))


async def _delete(copilot_home: Path, session_id: str) -> None:
    client = await start_server(copilot_home, os.environ)
    try:
        await sdk.call(f"delete session {session_id}", client.delete_session(session_id))
    finally:
        await end_server(client)
