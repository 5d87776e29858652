"""The gateway in a thread of its own: commands go in, what it tells comes out.

The thread's loop and everything on it belong to the thread. The main thread holds its two
mailboxes and the tower's lane, and gives up on it after a deadline.
"""

import asyncio
import logging
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from tapui.hosts.port import ReportLevel
from tapui.runtime import tuning
from tapui.runtime.right_of_way import RightOfWay
from tapui.station import loop
from tapui.station.crossing import Mailbox, TowerLane
from tapui.station.embedded import FeedSource
from tapui.station.options import Options
from tapui.station.start_fault import StartFault, start_fault
from tapui.wire.limits import SHUTDOWN_MS
from tapui.wire.message import Message

_log = logging.getLogger(__name__)


# What the main thread sends


@dataclass(frozen=True, slots=True)
class Stop:
    """End, with at most `within` seconds for providers."""

    within: float = SHUTDOWN_MS / 1000


@dataclass(frozen=True, slots=True)
class Force:
    """Do not wait for providers any longer."""


@dataclass(frozen=True, slots=True)
class StartOver:
    """The tower has fallen behind: send it a new snapshot."""


@dataclass(frozen=True, slots=True)
class ScreenLost:
    """The terminal has vanished: go on without a tower while somebody is attached, else end."""


Command = Message | Stop | Force | StartOver | ScreenLost


# What the gateway tells


@dataclass(frozen=True, slots=True)
class Started:
    """It runs."""


@dataclass(frozen=True, slots=True)
class Reported:
    """Something for the person that is no event."""

    text: str
    level: ReportLevel


@dataclass(frozen=True, slots=True)
class StopAsked:
    """A client asked it to end (`tapui stop`), or it is idle; it waits for `Stop`."""


@dataclass(frozen=True, slots=True)
class GoesOn:
    """It goes on without a tower; it asks to be stopped once nobody is attached."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """It is ending, and waits for providers to clean up."""


@dataclass(frozen=True, slots=True)
class GatewayEnded:
    """The last that comes. `fault` says why it could not start, or why it died."""

    fault: StartFault | None = None


Told = Started | Reported | StopAsked | GoesOn | Waiting | GatewayEnded


class GatewayThread:
    """A gateway on its own thread and loop, as the main thread sees it.

    It listens on `sockets`, which it closes; its tower's feed goes into `lane`; what it tells is
    put into `told`.
    """

    def __init__(
        self,
        options: Options,
        sockets: Sequence[socket.socket],
        lane: TowerLane,
        told: Mailbox[Told],
    ) -> None:
        self._options = options
        self._sockets = sockets
        self._lane = lane
        self._told = told
        self.way = RightOfWay()
        """The gateway's, which the main thread gives between the pieces of its work."""
        self._commands: Mailbox[Command] = Mailbox()
        self._life: _Life | None = None
        self._thread = threading.Thread(target=self._main, name="gateway", daemon=True)

    def start(self) -> None:
        """Begin; `Started` or `GatewayEnded` is told."""
        self._thread.start()

    def send(self, command: Command) -> None:
        self._commands.put(command)

    def join(self, seconds: float) -> bool:
        """Wait for the thread's end; return whether it came."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def remove_files(self) -> None:
        """Remove the gateway's token files in its place, when it hangs."""
        if self._life is not None:
            self._life.running.remove_files()

    # The gateway's thread

    def _main(self) -> None:
        fault: StartFault | None = None
        try:
            with asyncio.Runner(loop_factory=loop.new_loop) as runner:
                fault = runner.run(self._live())
        except BaseException as error:  # noqa: BLE001 - logged and told; the thread ends with it
            _log.critical("the gateway's thread died", exc_info=error)
            fault = StartFault(1, f"the gateway died: {type(error).__name__}")
        finally:
            self._lane.close()
            self._told.put(GatewayEnded(fault))

    async def _live(self) -> StartFault | None:
        self._life = life = _Life(self._options, self._lane, self._told, self.way)
        self._commands.open(life.take)
        return await life.live(self._sockets)


class _Life:
    """The gateway's side of the thread: one gateway from its start to its end."""

    def __init__(
        self, options: Options, lane: TowerLane, told: Mailbox[Told], way: RightOfWay
    ) -> None:
        from tapui.station.running import RunningGateway

        self._lane = lane
        self._told = told
        self._way = way
        self._feed: FeedSource | None = None
        self._stop: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._has_screen = True
        self.running = RunningGateway(options, self._report, self._asked)

    async def live(self, sockets: Sequence[socket.socket]) -> StartFault | None:
        try:
            await self.running.start(sockets)
        except Exception as error:  # noqa: BLE001 - told; what is not foreseen is logged
            return start_fault(error)
        self.running.turn.way = self._way
        self._feed = FeedSource(self.running.turn, self._lane)
        self._told.put(Started())
        within = 0.0
        try:
            self.running.load()
            with tuning.settled():
                within = await self._stop
        finally:
            if within and self.running.is_waited_for:
                self._told.put(Waiting())
            await self.running.stop(within)
        return None

    def take(self, command: Command) -> None:
        """Carry out a command of the main thread."""
        match command:
            case Stop():
                self._end(command.within)
            case Force():
                self.running.force()
            case StartOver():
                if self._feed is not None:
                    self._feed.start_over()
            case ScreenLost():
                self._lose_screen()
            case _:
                if self._feed is not None:
                    self._feed.send(command)

    def _lose_screen(self) -> None:
        if not self._has_screen:
            return
        self._has_screen = False
        if self._feed is not None:
            self._feed.close()
        if self._stop.done() or self._feed is None or not self.running.has_company:
            self._end(Stop().within)
            return
        self._told.put(GoesOn())
        self.running.end_when_idle(lambda: self.running.has_company, self._asked)

    def _asked(self) -> None:
        self._told.put(StopAsked())

    def _end(self, within: float) -> None:
        if not self._stop.done():
            self._stop.set_result(within)

    def _report(self, text: str, level: ReportLevel) -> None:
        self._told.put(Reported(text, level))
