"""The rules and the token for tools alone, as parts: files that are read again when they change."""

import asyncio

from tapui.home.tokens import ToolsTokenFile
from tapui.policies.rule_reader import RuleFault
from tapui.secret import Secret
from tapui.settings.rule_files import RuleFiles, guards
from tapui.station.parts.part import GatewayAccess, pause
from tapui.text import safe_text

RULES_LOOK_SECONDS = 1.0
TOKEN_LOOK_SECONDS = 0.5
"""Seconds between two looks at the file: so soon is a token revoked."""


class Rules:
    """Hands the rules to the gateway at its start, and whenever a file was changed."""

    name = "the rules"

    def __init__(self, files: RuleFiles) -> None:
        self._files = files
        self._stopping = asyncio.Event()

    def start(self, access: GatewayAccess) -> None:
        found = self._files.read()
        self._guards = guards(access.home, access.options.config_path, access.announced.port)
        access.turn.tell(access.turn.gateway.policies.rules_read, found.rules, self._guards)
        _tell(access, found.faults)
        access.spawn(self._watch(access))

    async def stop(self) -> None:
        self._stopping.set()

    async def _watch(self, access: GatewayAccess) -> None:
        policies = access.turn.gateway.policies
        while not self._stopping.is_set():
            await pause(self._stopping, RULES_LOOK_SECONDS)
            changes = await asyncio.to_thread(self._files.look)
            if changes.found is not None:
                access.turn.tell(policies.rules_read, changes.found.rules, self._guards)
            for folder in changes.folders:
                access.turn.tell(policies.folder_changed, folder)
            _tell(access, changes.faults)


def _tell(access: GatewayAccess, faults: list[RuleFault]) -> None:
    """Tell the person what is wrong, one line a file."""
    for file in dict.fromkeys(fault.file for fault in faults):
        mine = [fault for fault in faults if fault.file == file]
        more = f", and {len(mine) - 1} more (`tapui config` lists them)" if len(mine) > 1 else ""
        access.report(safe_text(f"no rule of it allows anything: {mine[0]}{more}"), "warning")


class ToolsToken:
    """Reads the token at the gateway's start, and again whenever its file was changed."""

    name = "the token for tools"

    def __init__(self) -> None:
        self._stopping = asyncio.Event()
        self._fault = ""
        """What was told of the file that is there."""

    def start(self, access: GatewayAccess) -> None:
        """Read it before the first connection shows it."""
        file = ToolsTokenFile(access.home.state)
        access.turn.tell(access.turn.gateway.tool_hosts.token_read, self._read(access, file))
        access.spawn(self._watch(access, file))

    async def stop(self) -> None:
        self._stopping.set()

    async def _watch(self, access: GatewayAccess, file: ToolsTokenFile) -> None:
        def take(token: Secret | None) -> None:
            access.turn.tell(access.turn.gateway.tool_hosts.token_read, token)

        seen = await asyncio.to_thread(_stamp, file)
        take(await asyncio.to_thread(self._read, access, file))
        while not self._stopping.is_set():
            await pause(self._stopping, TOKEN_LOOK_SECONDS)
            stamp = await asyncio.to_thread(_stamp, file)
            if stamp != seen:
                seen = stamp
                take(await asyncio.to_thread(self._read, access, file))

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
