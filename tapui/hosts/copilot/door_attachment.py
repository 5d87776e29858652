"""One session of a running CLI, reached by tapui's extension in it."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from tapui.hosts.copilot.attachment import SHUTDOWN_TIME, Attachment
from tapui.hosts.copilot.finding.discovery import Process
from tapui.hosts.copilot.finding.doors import ExtensionDoor, doors_of
from tapui.hosts.copilot.gateway_host import Uplink

if TYPE_CHECKING:
    from copilot import CopilotClient

DOOR_TIMES = (0.2,) * 10 + (0.5,) * 16
"""Seconds before each attempt to get the extension back, which the CLI starts again when another
session is on screen."""

DOOR_SHUTDOWN_TIME = SHUTDOWN_TIME + sum(DOOR_TIMES)
"""Seconds after which a session that shut down, and for whose successor the extension has not come
back, is closed."""


class DoorAttachment(Attachment):
    """The connection to the extension behind `door`, with its session.

    `process` is the CLI. The extension comes back for the session that takes the former one's
    place; `is_attached` says whether anybody has a session already.
    """

    BY_EXTENSION: ClassVar[bool] = True

    def __init__(
        self,
        process: Process,
        door: ExtensionDoor,
        uplink: Uplink,
        *,
        copilot_home: Path,
        cwd: str,
        is_attached: Callable[[str], bool],
    ) -> None:
        super().__init__(process, door.port, uplink, copilot_home=copilot_home, cwd=cwd)
        self.door = door
        self._cli = process
        self._is_attached = is_attached

    def _wanted(self, sessions: Iterable[str]) -> list[str]:
        del sessions
        return [self.door.session]

    def _listener(self) -> tuple[int | None, str | None]:
        return self.door.pid, self.door.token.reveal()

    def _pauses(self) -> Iterable[float]:
        return DOOR_TIMES

    def _is_there(self) -> bool:
        """Find the extension of our session, or of the one that took its place."""
        doors = doors_of(self._copilot_home, self._cli.pid, os.getuid())
        here = [one for one in doors if one.session in self.sessions]
        here += [one for one in doors if not self._is_attached(one.session)]
        if here:
            self.door, self.port = here[0], here[0].port
        return bool(here)

    async def _rejoin(self, client: "CopilotClient") -> None:
        if self.door.session not in self.sessions:
            await self._replace_by(self.door.session)
            return
        for session in list(self.sessions.values()):
            await self._reattach(session, client)

    async def _replace_by(self, session_id: str) -> None:
        """Join the session for which the extension came back; it took the former one's place.

        Raises `AttachError`.
        """
        former = next(iter(self.sessions), None)
        self._foreground = session_id
        if former is not None:
            self._replaced.add(former)
        await self._join(session_id, replaces=former)
        if former is not None:
            self._replaced.discard(former)
            self._end(former, None)

    def _shutdown_time(self) -> float:
        return DOOR_SHUTDOWN_TIME

    def _shows(self, session_id: str | None) -> None:
        for id_, session in self.sessions.items():
            if (id_ == session_id) is not (id_ == self._foreground):
                session.in_foreground(id_ == session_id)
        self._foreground = session_id
