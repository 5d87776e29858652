"""The token for tools alone, as a part: the gateway takes it while its file is there."""

import asyncio
import contextlib

from tapui.home.tools_token import ToolsTokenFile
from tapui.secret import Secret
from tapui.station.parts.part import GatewayAccess
from tapui.text import safe_text

LOOK_SECONDS = 0.5
"""Seconds between two looks at the file: so soon is a token revoked."""


class ToolsToken:
    """Reads the token at the gateway's start, and again whenever its file was changed."""

    name = "the token for tools"

    def __init__(self) -> None:
        self._stopping = asyncio.Event()
        self._fault = ""
        """What was told of the file that is there."""

    def start(self, access: GatewayAccess) -> None:
        """Read it before anybody comes with it."""
        file = ToolsTokenFile(access.home.state)
        access.turn.tools_token_read(self._read(access, file))
        access.spawn(self._watch(access, file))

    async def stop(self) -> None:
        self._stopping.set()

    async def _watch(self, access: GatewayAccess, file: ToolsTokenFile) -> None:
        seen = await asyncio.to_thread(_stamp, file)
        access.turn.tools_token_read(await asyncio.to_thread(self._read, access, file))
        while not self._stopping.is_set():
            with contextlib.suppress(TimeoutError):  # the time is up: look
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._stopping.wait()
            stamp = await asyncio.to_thread(_stamp, file)
            if stamp != seen:
                seen = stamp
                access.turn.tools_token_read(await asyncio.to_thread(self._read, access, file))

    def _read(self, access: GatewayAccess, file: ToolsTokenFile) -> Secret | None:
        fault = ""
        try:
            return file.read()
        except OSError as error:
            fault = f"{file.path} is not used: {error.strerror or error}"
            if fault != self._fault:
                access.report(safe_text(fault), "warning")
            return None
        finally:
            self._fault = fault


def _stamp(file: ToolsTokenFile) -> tuple[int, ...] | None:
    """Return what changes with the file; None without one."""
    try:
        found = file.path.lstat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_mode, found.st_uid
