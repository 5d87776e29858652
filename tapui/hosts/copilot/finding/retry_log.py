"""CLIs that could not be attached to: the person is told once, and they are tried again."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass

from tapui.hosts.copilot.finding.discovery import Process
from tapui.hosts.copilot.finding.doors import ExtensionDoor
from tapui.hosts.port import Report

Target = Process | ExtensionDoor | int
"""What is attached to: a CLI, a session of one by its extension, or a port that was named."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
"""Seconds until the next attempt: twice as many after each."""


@dataclass(slots=True)
class _Trouble:
    text: str
    pause: float
    again_at: float


class Troubles:
    """What was said of each, and when it is tried again. `report` tells the person."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._of: dict[Target, _Trouble] = {}

    def __len__(self) -> int:
        return len(self._of)

    def is_due(self, target: Target) -> bool:
        """Return whether it is to be tried now."""
        trouble = self._of.get(target)
        return trouble is None or asyncio.get_running_loop().time() >= trouble.again_at

    def failed(self, target: Target, port: int, text: str) -> None:
        """Note a failure, and tell it where it is another one than before."""
        former = self._of.get(target)
        pause = min(former.pause * 2, _LONGEST_PAUSE) if former else _FIRST_PAUSE
        now = asyncio.get_running_loop().time()
        self._of[target] = _Trouble(text, pause, now + pause)
        if former is None or former.text != text:
            self._report(
                f"cannot attach to port {port}: {text}. It is tried again; is Copilot CLI "
                "running there with --ui-server, or with tapui's extension (tapui copilot)?",
                "warning",
            )

    def over(self, target: Target) -> None:
        """It is attached to."""
        self._of.pop(target, None)

    def keep(self, here: Collection[Target]) -> None:
        """Forget those that are not here any more."""
        for target in [one for one in self._of if one not in here]:
            del self._of[target]
