"""A server process of the CLI that is ours: starting one, deleting a session with it."""

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from tapui.hosts.copilot.connection import (
    NO_CLI,
    AttachError,
    CliConnection,
    NoCliError,
    ProtocolError,
)
from tapui.invocation import INSIDE
from tapui.runtime.children.lines import LastWords

START_TIME = 60.0
"""Seconds that the process may take: the first one of a version unpacks itself."""
_ARGUMENTS = ("--headless", "--no-auto-update", "--log-level", "warning", "--stdio")
_LAST_WORDS = 2_000
"""Bytes of what the process wrote last beside its messages."""


def found_program(environ: Mapping[str, str]) -> str:
    """Return the CLI's program on the environment's PATH. Raises `NoCliError`."""
    program = shutil.which("copilot", path=environ.get("PATH"))
    if program is None:
        raise NoCliError(NO_CLI)
    return program


async def start_server(copilot_home: Path, environ: Mapping[str, str]) -> CliConnection:
    """Start a server in the environment `environ`.

    Raises `NoCliError` where there is no CLI, `AttachError` where it does not start.
    """
    what = "start Copilot's server"
    try:
        process = await asyncio.create_subprocess_exec(
            found_program(environ),
            *_ARGUMENTS,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            env={
                **environ,
                "COPILOT_HOME": str(copilot_home),
                "COPILOT_RUNTIME_PROCESS_FILE_LOGGING": "1",
                INSIDE: "1",
            },
        )
    except OSError as error:
        raise AttachError(f"{what}: {error.strerror}") from None
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    said = LastWords(process.stderr, _LAST_WORDS)
    connection = CliConnection(process.stdout, process.stdin, process=process)
    try:
        await connection.greet(what, within=START_TIME)
    except ProtocolError as error:
        await connection.close()
        raise AttachError(f"{error} ({error.hint})") from None
    except AttachError as error:
        await connection.close()
        last = await said.line()
        raise AttachError(f"{error}{f' ({last})' if last else ''}") from None
    except BaseException:
        await connection.close()
        raise
    return connection


def delete_session(copilot_home: Path, session_id: str) -> None:
    """Delete a stored session that no program holds; raises `AttachError`. Blocks for seconds."""
    asyncio.run(_delete(copilot_home, session_id))


async def _delete(copilot_home: Path, session_id: str) -> None:
    server = await start_server(copilot_home, os.environ)
    what = f"delete session {session_id}"
    try:
        deleted = await server.ask(what, "session.delete", {"sessionId": session_id})
    finally:
        await server.close()
    if deleted.get("success") is not True:
        raise AttachError(f"{what}: {deleted.get('error') or 'the CLI could not'}")
