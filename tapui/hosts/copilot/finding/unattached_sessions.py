"""The sessions that can be seen and not reached, each with the command that makes it reachable."""

import asyncio
import math
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from tapui.hosts.copilot.finding.discovery import Cli, ExtensionDoor, Process, ports_of
from tapui.hosts.copilot.install.own_files import ExtensionFile
from tapui.hosts.port import Report
from tapui.text import cut, safe_text
from tapui.wire import limits
from tapui.wire.host import SessionsUnattached
from tapui.wire.message import Message
from tapui.wire.subjects import Unattached


class AttachRefusal(NamedTuple):
    """Why a CLI is not attached to, and the command that may change it."""

    why: str
    hint: str


START_TIME = 3.0
"""Seconds that a CLI has to open its port before it counts as one without."""


class SeenSessions:
    """Tells the gateway which sessions cannot be reached, and the ports of all CLIs: where either
    has changed."""

    def __init__(self, copilot_home: Path, *, with_ports: bool) -> None:
        self._copilot_home = copilot_home
        self._with_ports = with_ports
        self.told: SessionsUnattached | None = None

    def tell(
        self,
        send: Callable[[Message], None],
        found: Iterable[Cli],
        apart: list[Cli],
        refused: Mapping[str, AttachRefusal] = MappingProxyType({}),
    ) -> None:
        """Tell of the CLIs that were `found`; of these, nothing is attached to `apart`, and some
        sessions are `refused`."""
        listed = [
            Unattached(id_, cli.cwd, cli.process.pid, refusal.hint, why=refusal.why)
            for cli in found
            for id_ in cli.sessions
            if (refusal := refused.get(id_)) is not None
        ]
        others = unattached(apart, self._copilot_home, with_ports=self._with_ports)
        listed += [session for session in others if session.id not in refused]
        del listed[limits.MAX_UNATTACHED :]
        news = SessionsUnattached(unattached=listed, ports=ports_of(found))
        if news != self.told:
            self.told = news
            send(news)


def unattached(
    found: Iterable[Cli], copilot_home: Path, *, with_ports: bool = True
) -> list[Unattached]:
    """Return the sessions of the CLIs that have no way in, as many as may be told.

    A CLI without a session yet is named by its process. Those of a headless server are left
    out: they cannot be resumed while it runs.
    Where there is another way in than a port, `tapui copilot` chooses it.
    """
    has_extension = ExtensionFile(copilot_home).path.exists()
    start = "copilot --ui-server" if with_ports and not has_extension else "tapui copilot"
    told = [
        Unattached(id_, cli.cwd, cli.process.pid, f"{start} --resume {word}")
        for cli in found
        if not (cli.is_attachable or cli.is_headless) and cli.age > START_TIME
        for id_, word in ((id_, shlex.quote(id_)) for id_ in cli.sessions)
    ]
    told += [
        Unattached(
            f"pid {cli.process.pid}",
            cli.cwd,
            cli.process.pid,
            "",
            why=f"starting in {safe_text(cli.cwd)}: look at its terminal",
        )
        for cli in found
        if not cli.sessions and cli.age > START_TIME
    ]
    return told[: limits.MAX_UNATTACHED]


Target = Process | ExtensionDoor | int
"""What is attached to: a CLI, a session of one by its extension, or a port that was named."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
"""Seconds until the next attempt: twice as many after each."""


@dataclass(slots=True)
class _Failures:
    text: str
    times: int
    pause: float
    again_at: float
    refusal: AttachRefusal | None = None


class RetryLog:
    """What was said of each, and when it is tried again. `report` tells the person."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._of: dict[Target, _Failures] = {}

    def targets(self) -> list[Target]:
        return list(self._of)

    def failures(self, target: Target) -> int:
        trouble = self._of.get(target)
        return 0 if trouble is None else trouble.times

    def is_due(self, target: Target) -> bool:
        trouble = self._of.get(target)
        return trouble is None or asyncio.get_running_loop().time() >= trouble.again_at

    def refused(self, target: Target, why: str, hint: str, *, is_final: bool) -> None:
        """Note a refusal, and tell it where it is another than before. One that is final is not
        tried again as long as the target is there."""
        refusal = AttachRefusal(cut(safe_text(why), limits.MAX_EXPLANATION), hint)
        former, pause = self._of.get(target), math.inf if is_final else self._pause(target)
        again_at = asyncio.get_running_loop().time() + pause
        self._of[target] = _Failures(why, self.failures(target) + 1, pause, again_at, refusal)
        if former is None or former.text != why:
            self._report(f"not attached: {refusal.why} ({hint})", "warning")

    def _pause(self, target: Target) -> float:
        former = self._of.get(target)
        return min(former.pause * 2, _LONGEST_PAUSE) if former else _FIRST_PAUSE

    def refusal(self, targets: Iterable[Target]) -> AttachRefusal | None:
        found = (self._of[target].refusal for target in targets if target in self._of)
        return next((refusal for refusal in found if refusal is not None), None)

    def failed(self, target: Target, port: int, text: str, hint: str = "") -> None:
        """Note a failure, and tell it where it is another one than before."""
        former, pause = self._of.get(target), self._pause(target)
        now, times = asyncio.get_running_loop().time(), self.failures(target) + 1
        said = safe_text(text, limit=limits.MAX_EXPLANATION)
        refusal = AttachRefusal(said, hint) if times > 1 else None  # no passing one
        self._of[target] = _Failures(text, times, pause, now + pause, refusal)
        if former is None or former.text != text:
            self._report(
                f"cannot attach to port {port}: {said}. It is tried again; is Copilot CLI "
                "running there with --ui-server, or with tapui's extension (tapui copilot)?",
                "warning",
            )

    def attached(self, target: Target) -> None:
        """It is attached to; whether that holds is not known yet."""
        if target in self._of:
            self._of[target].refusal = None

    def over(self, target: Target) -> None:
        self._of.pop(target, None)

    def keep(self, here: Collection[Target]) -> None:
        for target in [one for one in self._of if one not in here]:
            del self._of[target]
