"""The gateway in a thread of its own, and its host on the main thread, behind the screen.

The thread's loop and everything on it belong to the thread. The main thread holds two mailboxes
(commands in, reports out) and the tower's lane, and gives up on the thread after a deadline.

`GatewayHost` starts the thread after the first frame and ends it after the last. It takes the
reports on the main loop; what concerns the app is done by a task that the app made, because Textual
finds the active app by the context of the caller.
"""

import asyncio
import logging
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tapui.hosts.port import ReportLevel
from tapui.runtime import tuning
from tapui.runtime.tuning import RightOfWay
from tapui.station import process_end, terminal
from tapui.station.embedded_feed import EmbeddedFeed, FeedSource, Mailbox, TowerLane
from tapui.station.faults import StartFault, start_fault
from tapui.station.options import Options
from tapui.wire.limits import SHUTDOWN_MS
from tapui.wire.message import Message

if TYPE_CHECKING:
    from tapui.station.running_gateway import RunningGateway
    from tapui.tower.app.app import TowerApp

_log = logging.getLogger(__name__)

_ANSWER_SECONDS = 5.0
"""How long the gateway's thread may take to say whether it keeps running without a screen."""
_JOIN_SECONDS = 5.0
"""How long the thread may take after `GatewayEnded`."""
_STOP_SECONDS = SHUTDOWN_MS / 1000
"""How long providers may take to clean up."""


# What the gateway reports


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
    """A client asked it to end (`tapui stop`), or it is idle; it waits for `stop`."""


@dataclass(frozen=True, slots=True)
class GoesOn:
    """It keeps running without a tower; it asks to be stopped once nothing is attached."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """It is ending, and waits for providers to clean up."""


@dataclass(frozen=True, slots=True)
class GatewayEnded:
    """The last that comes. `fault` says why it could not start, or why it died."""

    fault: StartFault | None = None


Told = Started | Reported | StopAsked | GoesOn | Waiting | GatewayEnded


class GatewayThread:
    """A gateway on its own thread and loop.

    It listens on `sockets`, which it closes; its tower's feed goes into `lane`; what it reports is
    put into `told`. The public methods are the main thread's: they hand over to the loop, on which
    all else runs.
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
        self._calls: Mailbox[Callable[[], None]] = Mailbox()
        self._running: RunningGateway | None = None
        self._feed: FeedSource | None = None
        self._has_screen = True
        self._thread = threading.Thread(target=self._main, name="gateway", daemon=True)

    def start(self) -> None:
        """Begin; reports `Started` or `GatewayEnded`."""
        self._thread.start()

    def send(self, message: Message) -> None:
        """Pass a message of the tower on; dropped while the gateway does not run."""
        self._calls.put(lambda: self._feed.send(message) if self._feed is not None else None)

    def start_over(self) -> None:
        """The tower has fallen behind: send it a new snapshot."""
        self._calls.put(lambda: self._feed.start_over() if self._feed is not None else None)

    def lose_screen(self) -> None:
        """The terminal has vanished: keep running while a session or provider is attached, else
        end."""
        self._calls.put(self._lose_screen)

    def stop(self, within: float) -> None:
        """End, with at most `within` seconds for providers."""
        self._calls.put(lambda: self._end(within))

    def force(self) -> None:
        self._calls.put(lambda: self._running.force() if self._running is not None else None)

    def join(self, seconds: float) -> bool:
        """Wait for the thread's end; return whether it came."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def remove_files(self) -> None:
        """Remove the gateway's token files in its place, when it hangs."""
        if self._running is not None:
            self._running.remove_files()

    # The gateway's thread

    def _main(self) -> None:
        fault: StartFault | None = None
        try:
            with asyncio.Runner(loop_factory=tuning.new_loop) as runner:
                fault = runner.run(self._live())
        except BaseException as error:  # noqa: BLE001 - logged and reported; the thread ends with it
            _log.critical("the gateway's thread died", exc_info=error)
            fault = StartFault(1, f"the gateway died: {type(error).__name__}")
        finally:
            self._lane.close()
            self._told.put(GatewayEnded(fault))

    async def _live(self) -> StartFault | None:
        from tapui.station.running_gateway import RunningGateway

        self._stop: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        running = self._running = RunningGateway(self._options, self._report, self._stop_asked)
        self._calls.open(lambda call: call())
        try:
            await running.start(self._sockets)
        except Exception as error:  # noqa: BLE001 - reported; what is not foreseen is logged
            return start_fault(error)
        running.turn.way = self.way
        self._feed = FeedSource(running.turn, self._lane)
        self._told.put(Started())
        within = 0.0
        try:
            running.load()
            with tuning.settled():
                within = await self._stop
        finally:
            if within and running.is_waited_for:
                self._told.put(Waiting())
            await running.stop(within)
        return None

    def _lose_screen(self) -> None:
        running = self._running
        if not self._has_screen or running is None:
            return
        self._has_screen = False
        if self._feed is not None:
            self._feed.close()
        if self._stop.done() or self._feed is None or not running.has_company:
            self._end(_STOP_SECONDS)
            return
        self._told.put(GoesOn())
        running.end_when_idle(lambda: running.has_company, self._stop_asked)

    def _end(self, within: float) -> None:
        if not self._stop.done():
            self._stop.set_result(within)

    def _stop_asked(self) -> None:
        self._told.put(StopAsked())

    def _report(self, text: str, level: ReportLevel) -> None:
        self._told.put(Reported(text, level))


class GatewayHost:
    """A gateway of this process and its feed. `begin` and `end` once each.

    `log` is where the faults of this process are logged.
    """

    def __init__(self, options: Options, sockets: list[socket.socket], log: Path) -> None:
        self._log = log
        self._sockets = sockets
        self._told: Mailbox[Told] = Mailbox()
        self._lane = TowerLane()
        self._thread = GatewayThread(options, sockets, self._lane, self._told)
        self.give_way = self._thread.way.give
        """Lets the gateway's thread go first; called by the app between the pieces of its work."""
        self._for_app: asyncio.Queue[Told] = asyncio.Queue()
        self._attending: asyncio.Task[None] | None = None
        self._has_begun = False
        self._has_screen = True
        self._is_ending = False
        self._goes_on: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._over = asyncio.Event()
        """Set when a gateway without a screen need not go on: asked to end, idle, or ended."""
        self._ended = asyncio.Event()
        self._deadline: float | None = None
        """When an end that has begun has taken too long, by the loop's clock."""
        self.fault: StartFault | None = None
        """Why the gateway could not start, or why it died."""
        self.feed = EmbeddedFeed(
            f"ws://localhost:{sockets[0].getsockname()[1]}",
            self._lane,
            send=self._thread.send,
            start_over=self._thread.start_over,
            end=self._end_feed,
        )

    def begin(self, app: "TowerApp") -> None:
        """Start the gateway; called by the app, after its first frame."""
        self._has_begun = True
        self._told.open(self._take)
        self._thread.start()
        self._attending = asyncio.create_task(self._attend(app), name="attend the gateway")

    def _take(self, told: Told) -> None:
        match told:
            case GoesOn():
                self._answer(goes_on=True)
            case StopAsked() if not self._has_screen:
                self._over.set()
            case Waiting() if not self._has_screen:
                terminal.tell("tapui: waiting for providers to clean up (ctrl+c: do not wait)")
            case GatewayEnded(fault=fault):
                self.fault = fault
                self._ended.set()
                self._over.set()
                self._answer(goes_on=False)
        self._for_app.put_nowait(told)

    async def _attend(self, app: "TowerApp") -> None:
        """Tell the app what concerns it, in the app's own context."""
        is_started = False
        while True:
            match await self._for_app.get():
                case Started():
                    is_started = True
                case Reported(text=text, level=level) if not is_started and level != "info":
                    # Later ones come with the feed.
                    app.notify(text, severity="warning", timeout=12)
                case StopAsked():
                    app.leave("the gateway was asked to end (`tapui stop`)")
                case GatewayEnded(fault=fault) if not self._is_ending:
                    # A fault is shown by itself, once the terminal is back.
                    app.leave("quit" if fault is not None else "the gateway has ended")

    # The terminal has vanished

    async def goes_on(self) -> bool:
        """Tell the gateway that its screen is gone; return whether it keeps running without one."""
        self._has_screen = False
        if not self._has_begun:
            return False
        self._thread.lose_screen()
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                return await asyncio.shield(self._goes_on)
        except TimeoutError:
            _log.warning("the gateway did not say whether it goes on without a screen; it is ended")
            return False

    def _answer(self, *, goes_on: bool) -> None:
        if not self._goes_on.done():
            self._goes_on.set_result(goes_on)

    async def over(self) -> None:
        await self._over.wait()

    def signalled(self, number: signal.Signals) -> None:
        """A signal came while there is no screen: end; while it ends, do not wait any longer."""
        if self._is_ending:
            self._thread.force()
        elif number is not signal.SIGHUP:  # the terminal is gone already
            self._over.set()

    # The end

    async def _end_feed(self, within: float) -> None:
        """End the gateway while its tower still shows that it ends."""
        if self._has_begun:
            await self._has_ended(within)

    async def _has_ended(self, within: float) -> bool:
        """Have the gateway end, unless it is ending; return whether it has, in time."""
        self._is_ending = True
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + process_end.END_SECONDS
            self._thread.stop(within)
        try:
            async with asyncio.timeout_at(self._deadline):
                await self._ended.wait()
        except TimeoutError:
            return False
        return True

    async def end(self) -> None:
        """The screen is gone: end the gateway, if there is one, and its thread.

        A thread that does not end in time is given up: what it was doing goes into the log, its
        token files are removed, and the process ends.
        """
        self._has_screen = False
        self._is_ending = True
        if self._attending is not None:
            self._attending.cancel()
        if not self._has_begun:
            for opened in self._sockets:
                opened.close()
            return
        if not await self._has_ended(_STOP_SECONDS):
            self._give_up()
        if not await asyncio.to_thread(self._thread.join, _JOIN_SECONDS):
            self._give_up()

    def _give_up(self) -> None:
        process_end.give_up(self._log, "the gateway's thread", self._thread.remove_files)
