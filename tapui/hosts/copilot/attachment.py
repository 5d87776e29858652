"""One running CLI: the connection to it, and the sessions in it."""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Container, Iterable
from pathlib import Path
from typing import ClassVar

from tapui.hosts.copilot.connection import (
    AttachError,
    CliConnection,
    LostError,
    NoAnswerError,
    ProtocolError,
    text_of,
)
from tapui.hosts.copilot.finding.discovery import (
    ExtensionDoor,
    Process,
    doors_of,
    listening_ports,
)
from tapui.hosts.copilot.session.attached_session import AttachedSession
from tapui.hosts.copilot.uplink import Uplink
from tapui.runtime.tasks import BackgroundTasks, cancelled
from tapui.text import safe_text
from tapui.wire import limits
from tapui.wire.host import SessionUpdate

WATCH_INTERVAL = 0.5
"""Seconds between two looks at whether the process lives."""
PING_INTERVAL = 1.0
SHORT = 5.0
"""Seconds: a connection that is lost sooner is made again after a pause."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
RECONNECT_TIMES = (0.0, 0.3, 0.7)
"""Seconds before each attempt to get a lost connection back."""
ENDED = "the session ended in the CLI"
_GONE = "Copilot CLI ended"


class Attachment:
    """The connection to the CLI that listens on `port`, with its sessions.

    `process` is the CLI where it is known; its end ends the attachment. `copilot_home` and `cwd`
    say where the sessions' folders are and where the CLI was started.
    """

    BY_EXTENSION: ClassVar[bool] = False
    """Whether its session is reached by tapui's extension of the CLI."""

    def __init__(
        self,
        process: Process | None,
        port: int,
        uplink: Uplink,
        *,
        copilot_home: Path,
        cwd: str,
    ) -> None:
        self.process = process
        self.port = port
        self.sessions: dict[str, AttachedSession] = {}
        self._is_silent = False
        """Whether the CLI has not answered for `HostTiming.ping`."""
        self._uplink = uplink
        self._timing = uplink.timing
        self._copilot_home = copilot_home
        self._cwd = cwd
        self._connection: CliConnection | None = None
        self._foreground: str | None = None
        self._joining: set[str] = set()
        self._told: dict[str, str] = {}
        self._noticed: dict[str, float] = {}
        self._tasks = BackgroundTasks(uplink.on_fault)
        self._replaced: set[str] = set()
        """Sessions whose place another is about to take: `_follow` ends them."""
        self._succession = Succession()
        self._is_leaving = False

    # The connection

    async def connect(self, sessions: Iterable[str]) -> None:
        """Connect and join the foreground session and those of `sessions`.

        Raises `AttachError`; then nothing is left open.
        """
        try:
            connection = await self._open()
            self._foreground = await _foreground_of(connection)
            await self._join_all(self._wanted(sessions))
        except BaseException:
            self._close_sessions("attaching failed")
            await self._drop()
            raise

    def _wanted(self, sessions: Iterable[str]) -> list[str]:
        """Return the sessions to be joined at first. Raises `AttachError` where there are none."""
        shown = [self._foreground] if self._foreground else []
        wanted = list(dict.fromkeys([*shown, *sessions]))
        if not wanted:
            raise AttachError("the CLI has no session yet")
        return wanted

    async def _join_all(self, wanted: Iterable[str]) -> None:
        """Join sessions, each for itself. Raises the first `AttachError` if none can be joined."""
        errors: dict[str, AttachError] = {}
        for session_id in wanted:
            try:
                await self._join(session_id)
            except AttachError as failure:
                errors[session_id] = failure
        if errors and not self.sessions:
            raise next(iter(errors.values()))
        for session_id, error in errors.items():
            self._tell(session_id, error)

    def _tell(self, session_id: str, error: AttachError) -> None:
        """Tell why a session cannot be joined, once: it is tried again and again."""
        if self._told.get(session_id) != str(error):
            self._told[session_id] = str(error)
            self._uplink.report(f"session {session_id}: {error}; it is tried again", "warning")

    async def _open(self) -> CliConnection:
        pid, token = self._listener()
        if pid is not None:
            await self._check_port(pid)
        connection = await CliConnection.open(
            self.port, token, within=self._timing.connect, on_foreground=self._shows
        )
        if self._is_leaving:
            await connection.close()
            raise AttachError("it was left meanwhile")
        self._connection = connection
        return connection

    def _listener(self) -> tuple[int | None, str | None]:
        """Return the process that listens, where it is known, and the token that it wants."""
        return (None if self.process is None else self.process.pid), None

    async def _check_port(self, pid: int) -> None:
        """Make sure that the port is this very process's, a moment before it is connected to."""
        import psutil

        try:
            ports = await asyncio.to_thread(listening_ports, pid)
        except psutil.Error as error:
            raise AttachError(f"process {pid} is gone: {error}") from None
        if self.port not in ports or self._is_gone():
            raise LostError(f"process {pid} no longer listens on port {self.port}")

    async def _drop(self) -> None:
        """Close the socket at once; the CLI takes our tools away and lives on."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def run(self) -> None:
        """Stay until the CLI ends or cannot be reached any more; close its sessions then."""
        reason = "the connection to the CLI is lost"
        pause = 0.0
        try:
            while True:
                began = time.monotonic()
                await self._until_trouble()
                if self._is_leaving:
                    return
                if self._is_gone():
                    reason = _GONE
                    return
                if self._connection is not None and self._connection.refusal is not None:
                    raise self._connection.refusal
                for session in self.sessions.values():
                    session.lost()
                pause = await self._paused(pause, time.monotonic() - began)
                if self._is_gone():
                    reason = _GONE
                    return
                if not await self._reconnect():
                    return
        except ProtocolError as error:
            reason = safe_text(str(error), limit=limits.MAX_EXPLANATION)
            raise
        finally:
            self._close_sessions(reason, by_itself=reason == _GONE)
            self._tasks.cancel()
            await self._drop()

    async def _paused(self, pause: float, lasted: float) -> float:
        """Wait before a connection that lasted so many seconds is made again: not the first time;
        return the next pause."""
        if lasted >= SHORT or self.BY_EXTENSION:  # that comes and goes with `/clear`
            return 0.0
        if pause == FIRST_PAUSE:
            text = f"the connection to port {self.port} is lost at once, each time"
            self._uplink.report(f"{text}; tapui connects again after pauses", "warning")
        with contextlib.suppress(TimeoutError):  # it is there still
            await asyncio.wait_for(self._watch(), pause)
        return min(2 * pause, LONGEST_PAUSE) or FIRST_PAUSE

    def _is_gone(self) -> bool:
        return self.process is not None and not self.process.is_alive()

    async def _until_trouble(self) -> None:
        watching = [asyncio.ensure_future(self._watch()), asyncio.ensure_future(self._ping())]
        try:
            await asyncio.wait(watching, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancelled(watching)

    async def _watch(self) -> None:
        while not self._is_gone():  # noqa: ASYNC110 - another process's end is no event
            await asyncio.sleep(WATCH_INTERVAL)

    async def _ping(self) -> None:
        """Return when the connection is lost. A CLI that is stopped (Ctrl-Z) keeps it."""
        while (connection := self._connection) is not None:
            try:
                await connection.ping(within=self._timing.ping)
            except NoAnswerError:
                self._answers(is_silent=True)  # it is stopped, or very busy
                continue
            except (LostError, ProtocolError):
                return
            self._answers(is_silent=False)
            await asyncio.sleep(PING_INTERVAL)

    def _answers(self, *, is_silent: bool) -> None:
        """Tell of the sessions whether their CLI answers, where that has changed."""
        if is_silent != self._is_silent:
            self._is_silent = is_silent
            for session_id in self.sessions:
                self._uplink.send(SessionUpdate(session_id=session_id, silent=is_silent))

    async def _reconnect(self) -> bool:
        for pause in self._pauses():
            await asyncio.sleep(pause)
            if self._is_leaving or self._is_gone():
                return False
            await self._drop()
            if not self._is_there():
                continue
            try:
                await self._rejoin(await self._open())
            except ProtocolError:
                raise
            except AttachError:
                continue  # the last failure is reported when the attempts are over
            return True
        return False

    def _pauses(self) -> Iterable[float]:
        return RECONNECT_TIMES

    def _is_there(self) -> bool:
        """Return whether there is something to connect to again."""
        return True

    async def _rejoin(self, connection: CliConnection) -> None:
        """Join the sessions again over a new connection. Raises `AttachError`."""
        for session in list(self.sessions.values()):
            await self._reattach(session, connection)
        self._shows(await _foreground_of(connection))
        self._uplink.report(f"the connection to port {self.port} is back", "info")

    async def _reattach(self, session: AttachedSession, connection: CliConnection) -> None:
        """Join a session again; one that cannot be joined is closed, and the others keep running.

        Raises `AttachError` when the connection is lost once more.
        """
        try:
            await session.reattach(connection)
        except ProtocolError:
            raise
        except AttachError as error:
            await connection.ping(within=self._timing.ping)
            self._uplink.report(f"session {session.id}: {error}; it is closed here", "warning")
            self._end(session.id, "it cannot be reached any more")

    # The sessions

    async def _join(self, session_id: str, *, replaces: str | None = None) -> None:
        connection = self._connection
        if connection is None or session_id in self.sessions or session_id in self._joining:
            return
        session = AttachedSession(
            session_id,
            self._uplink,
            workspace=self._copilot_home / "session-state" / session_id,
            cwd=self._cwd,
            port=self.port,
            pid=self.process.pid if self.process is not None else None,
            by_extension=self.BY_EXTENSION,
        )
        self._joining.add(session_id)
        self.sessions[session_id] = session
        try:
            await session.attach(
                connection, foreground=session_id == self._foreground, replaces=replaces
            )
        except BaseException as error:
            self.sessions.pop(session_id, None)
            session.close("attaching failed")
            if isinstance(error, ProtocolError):
                connection.refuse(error)  # so would be all of its sessions
            raise
        finally:
            self._joining.discard(session_id)
        self._told.pop(session_id, None)
        self._tasks.start(self._when_ended(session))

    async def _when_ended(self, session: AttachedSession) -> None:
        await session.ended.wait()
        successor = self._successor(session.id)
        if successor is not None:
            self._end(session.id, ENDED, replaced_by=successor)
            return
        await asyncio.sleep(self._shutdown_time())
        if session.id not in self._replaced:
            self._end(session.id, ENDED)

    def _shutdown_time(self) -> float:
        return self._timing.after_shutdown

    def _successor(self, session_id: str) -> str | None:
        live = self.sessions.keys() - self._joining
        return self._succession.successor(session_id, live, time.monotonic())

    def _end(
        self,
        session_id: str,
        reason: str | None,
        *,
        replaced_by: str | None = None,
        by_itself: bool = False,
    ) -> None:
        session = self.sessions.pop(session_id, None)
        if session is not None:
            session.close(reason, replaced_by=replaced_by, by_itself=by_itself)

    def _shows(self, session_id: str | None) -> None:
        if session_id is not None and _is_id(session_id) and session_id != self._foreground:
            former, self._foreground = self._foreground, session_id
            self._tasks.start(self._follow(session_id, former))

    async def _follow(self, session_id: str, former: str | None) -> None:
        """The screen shows another session: one we know, a further one, or a replacement."""
        old = self.sessions.get(former or "")
        self._succession.shown(session_id)
        if session_id in self.sessions:
            self.sessions[session_id].in_foreground(True)
            if old is not None:
                old.in_foreground(False)
            return
        self._joining.add(session_id)
        replaces = None
        if old is not None:
            self._succession.followed(old.id, session_id, time.monotonic())
            self._replaced.add(old.id)
            try:
                await asyncio.wait_for(old.ended.wait(), self._timing.replace)
                replaces = old.id
            except TimeoutError:
                old.in_foreground(False)
        self._joining.discard(session_id)
        is_joined = True
        try:
            await self._join(session_id, replaces=replaces)
        except AttachError as error:
            is_joined = False
            self._uplink.report(f"{error}; it is tried again", "warning")
        if old is None:
            return
        self._replaced.discard(old.id)
        if is_joined and replaces is not None:
            self._end(old.id, None)
        elif old.ended.is_set():
            self._end(old.id, ENDED, replaced_by=self._successor(old.id))

    def sync(self, held: Iterable[str]) -> None:
        """Compare with the sessions that the process holds, as discovery sees them.

        Background sessions are joined or closed once they have been there, or gone, for a while.
        """
        now = time.monotonic()
        held = set(held)
        for id_ in self._told.keys() - held:
            del self._told[id_]
        changed = held.symmetric_difference(self.sessions) - self._joining
        self._noticed = {id_: self._noticed.get(id_, now) for id_ in changed}
        for id_ in [id_ for id_, at in self._noticed.items() if now - at >= self._timing.settle]:
            del self._noticed[id_]
            if id_ in self.sessions:
                self._end(id_, ENDED)
            else:
                self._tasks.start(self._join_late(id_))

    async def _join_late(self, session_id: str) -> None:
        try:
            await self._join(session_id)
        except AttachError as error:
            self._tell(session_id, error)

    def _close_sessions(self, reason: str, *, by_itself: bool = False) -> None:
        for session_id in list(self.sessions):
            self._end(session_id, reason, by_itself=by_itself)

    async def leave(self, *, is_lost: bool = False) -> None:
        """Leave all sessions as they were found and disconnect.

        With `is_lost`, they are left because the gateway is gone.
        """
        self._is_leaving = True
        self._tasks.cancel()
        sessions = list(self.sessions.values())
        self.sessions.clear()
        await asyncio.gather(*(session.detach(is_lost=is_lost) for session in sessions))
        await self._drop()


async def _foreground_of(connection: CliConnection) -> str | None:
    told = await connection.ask("ask for the CLI's session", "session.getForeground")
    shown = text_of(told, "sessionId")
    return shown if shown is not None and _is_id(shown) else None


def _is_id(text: str) -> bool:
    """Whether a session of this id could be joined: it names a folder, too."""
    is_name = "/" not in text and text not in (".", "..") and safe_text(text) == text
    return 0 < len(text) <= limits.MAX_ID and is_name


LATE_SECONDS = 10.0
"""A session that ends within this time after a switch to another counts as replaced."""


class Succession:
    """Remembers which session followed which one on screen. Times are seconds, of any clock."""

    def __init__(self) -> None:
        self._followers: dict[str, tuple[str, float]] = {}

    def shown(self, session_id: str) -> None:
        """A session is on screen: its follower did not take its place."""
        self._followers.pop(session_id, None)

    def followed(self, former: str, current: str, now: float) -> None:
        """`current` came on screen at `now` in place of `former`, which has not ended."""
        self._followers = {
            id_: (by, at) for id_, (by, at) in self._followers.items() if now - at <= LATE_SECONDS
        }
        self._followers[former] = (current, now)

    def successor(self, former: str, live: Container[str], now: float) -> str | None:
        """Return which of the `live` sessions took the place of one that ended at `now`.

        A follower that was replaced itself hands on to its own.
        """
        asked: set[str] = set()
        current: str | None = former
        while current is not None and current not in asked:
            asked.add(current)
            current, at = self._followers.get(current, (None, now))
            if now - at > LATE_SECONDS:
                return None
            if current in live:
                return current
        return None


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
        return self._timing.extension_pauses

    def _is_there(self) -> bool:
        doors = doors_of(self._copilot_home, self._cli.pid, os.getuid())
        here = [one for one in doors if one.session in self.sessions]
        here += [one for one in doors if not self._is_attached(one.session)]
        if here:
            self.door, self.port = here[0], here[0].port
        return bool(here)

    async def _rejoin(self, connection: CliConnection) -> None:
        if self.door.session not in self.sessions:
            await self._replace_by(self.door.session)
            return
        for session in list(self.sessions.values()):
            await self._reattach(session, connection)

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
        # Its successor is only known once the extension has come back.
        return self._timing.after_shutdown + sum(self._timing.extension_pauses)

    def _shows(self, session_id: str | None) -> None:
        for id_, session in self.sessions.items():
            if (id_ == session_id) is not (id_ == self._foreground):
                session.in_foreground(id_ == session_id)
        self._foreground = session_id
