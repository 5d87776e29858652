"""The gateway behind the screen: started after the first frame, ended after the last.

All of it runs on the main thread. What the gateway's thread tells is taken on the main loop; what
concerns the app is done by a task that the app made, because Textual finds the active app by the
context of whoever calls it.
"""

import asyncio
import logging
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from tapui.station import overdue, terminal
from tapui.station.crossing import Mailbox, TowerLane
from tapui.station.embedded import EmbeddedFeed
from tapui.station.gateway_thread import (
    Force,
    GatewayEnded,
    GatewayThread,
    GoesOn,
    Reported,
    ScreenLost,
    Started,
    StartOver,
    Stop,
    StopAsked,
    Told,
    Waiting,
)
from tapui.station.options import Options
from tapui.station.start_fault import StartFault

if TYPE_CHECKING:
    from tapui.tower.app.app import TowerApp

_log = logging.getLogger(__name__)

_ANSWER_SECONDS = 5.0
"""How long the gateway's thread may take to say whether it goes on without a screen."""
_JOIN_SECONDS = 5.0
"""How long the thread may take after its last word."""


class Backstage:
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
            start_over=lambda: self._thread.send(StartOver()),
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
                    # A fault is told by itself, once the terminal is back.
                    app.leave("quit" if fault is not None else "the gateway has ended")

    # The terminal has vanished

    async def goes_on(self) -> bool:
        """Tell the gateway that its screen is gone; return whether it goes on without one."""
        self._has_screen = False
        if not self._has_begun:
            return False
        self._thread.send(ScreenLost())
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
        """Wait until a gateway without a screen need not go on."""
        await self._over.wait()

    def signalled(self, number: signal.Signals) -> None:
        """A signal came while there is no screen: end; while it ends, do not wait any longer."""
        if self._is_ending:
            self._thread.send(Force())
        elif number is not signal.SIGHUP:  # the terminal is gone already
            self._over.set()

    # The end

    async def _end_feed(self, within: float) -> None:
        """End the gateway while its tower still shows that it ends."""
        if self._has_begun:
            await self._has_ended(within)

    async def _has_ended(self, within: float) -> bool:
        """Have the gateway end, unless it was told to; return whether it has, in time."""
        self._is_ending = True
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + overdue.END_SECONDS
            self._thread.send(Stop(within))
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
        if not await self._has_ended(Stop().within):
            self._give_up()
        if not await asyncio.to_thread(self._thread.join, _JOIN_SECONDS):
            self._give_up()

    def _give_up(self) -> None:
        overdue.give_up(self._log, "the gateway's thread", self._thread.remove_files)
