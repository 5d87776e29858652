"""The rules, as a part: files that were changed are read again, and the gateway is told."""

import asyncio
import contextlib

from tapui.policies.reading import RuleFault
from tapui.settings.rule_files import RuleFiles, guards
from tapui.station.parts.part import GatewayAccess
from tapui.text import safe_text

LOOK_SECONDS = 1.0
"""Seconds between two looks at the files."""


class Rules:
    """Hands the rules to the gateway at its start, and whenever a file was changed."""

    name = "the rules"

    def __init__(self, files: RuleFiles) -> None:
        self._files = files
        self._stopping = asyncio.Event()

    def start(self, access: GatewayAccess) -> None:
        found = self._files.read()
        self._guards = guards(access.home, access.options.config_path, access.announced.port)
        access.turn.rules_read(found.rules, self._guards)
        _tell(access, found.faults)
        access.spawn(self._watch(access))

    async def stop(self) -> None:
        self._stopping.set()

    async def _watch(self, access: GatewayAccess) -> None:
        while not self._stopping.is_set():
            with contextlib.suppress(TimeoutError):  # the time is up: look
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._stopping.wait()
            changes = await asyncio.to_thread(self._files.look)
            if changes.found is not None:
                access.turn.rules_read(changes.found.rules, self._guards)
            for folder in changes.folders:
                access.turn.folder_rules_changed(folder)
            _tell(access, changes.faults)


def _tell(access: GatewayAccess, faults: list[RuleFault]) -> None:
    """Tell the person what is wrong, one line a file."""
    for file in dict.fromkeys(fault.file for fault in faults):
        mine = [fault for fault in faults if fault.file == file]
        more = f", and {len(mine) - 1} more (`tapui config` lists them)" if len(mine) > 1 else ""
        access.report(safe_text(f"no rule of it allows anything: {mine[0]}{more}"), "warning")
