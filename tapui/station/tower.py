"""`tapui`: the tower on this terminal, with a gateway of its own or on the one that runs."""

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tapui.client import gateways
from tapui.client.errors import NoGateway
from tapui.home.paths import Home
from tapui.home.run_folder import PortClaimedError
from tapui.runtime import memory
from tapui.runtime.listening import ListenError, PortTaken, open_loopback
from tapui.station import config_file, loop
from tapui.station.embedded import EmbeddedFeed
from tapui.station.options import Options
from tapui.text import safe_text
from tapui.tower.themes import builtin_folder

if TYPE_CHECKING:
    from tapui.station.parts.part import ReportLevel
    from tapui.station.running import RunningGateway
    from tapui.tower.app import TowerApp
    from tapui.tower.feed import Feed

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def run(options: Options) -> int:
    """Show the tower until the person leaves; return the exit code."""
    return loop.run(_run(options))


async def _run(options: Options) -> int:
    while True:
        outcome = await _once(options)
        if isinstance(outcome, int):
            return outcome
        # The second tower lost its gateway, and the person wants one started here.


async def _once(options: Options) -> int | None:
    """Run one tower. Returns the exit code, or None to begin again with a gateway here."""
    home = Home.at(options.home, options.copilot_home)
    running_one = _gateway_to_join(home, options)
    if running_one is not None:
        return await _second_tower(options, home, running_one)
    try:
        return await _own_gateway(options)
    except PortTaken as error:
        # Somebody was faster: it may have been a gateway of this person's.
        running_one = _gateway_to_join(home, options)
        if running_one is not None:
            return await _second_tower(options, home, running_one)
        return _refuse(str(error))
    except (ListenError, PortClaimedError) as error:
        return _refuse(str(error))
    except OSError as error:
        _tell(f"{safe_text(str(error.filename or 'tapui'))}: {error.strerror}")
        return 1


def _refuse(text: str) -> int:
    _tell(safe_text(text))
    return 2


def _tell(text: str) -> None:
    """Write a line for the person; a terminal that has closed is no reason to fail."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{text}\n")


def _gateway_to_join(home: Home, options: Options) -> gateways.FoundGateway | None:
    if options.port == 0:
        return None
    try:
        return gateways.find(home, options.port, is_explicit=True)
    except NoGateway:
        return None


async def _own_gateway(options: Options) -> int:
    """The tower and its gateway in one loop: the screen first, the gateway behind it.

    Raises `ListenError` before there is a screen.
    """
    sockets = await open_loopback(options.port)
    feed = EmbeddedFeed(f"ws://localhost:{sockets[0].getsockname()[1]}")
    backstage = _Backstage(options, sockets, feed)
    app = _app(options, feed, note="", on_shown=backstage.begin)
    backstage.app = app
    try:
        code = await _show(app)
    finally:
        await backstage.end()
    return backstage.fault or code


class _Backstage:
    """The gateway behind the screen: it starts once there is something to look at."""

    def __init__(
        self,
        options: Options,
        sockets: list[socket.socket],
        feed: EmbeddedFeed,
    ) -> None:
        self._options = options
        self._sockets = sockets
        self._feed = feed
        self._running: RunningGateway | None = None
        self._starting: asyncio.Task[None] | None = None
        self._ender: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self.app: TowerApp | None = None
        self.fault = 0

    def begin(self) -> None:
        """The first frame is on screen."""
        self._starting = asyncio.create_task(self._start(), name="start the gateway")

    async def _start(self) -> None:
        from tapui.station.running import RunningGateway

        asked = asyncio.Event()
        running = RunningGateway(self._options, self._report, asked.set)
        try:
            await running.start(self._sockets)
        except PortClaimedError as error:
            self._fail(2, str(error))
            return
        except OSError as error:
            self._fail(1, f"{error.filename or 'tapui'}: {error.strerror}")
            return
        self._running = running
        self._feed.attach(running)
        self._ender = asyncio.create_task(self._end_when_asked(asked), name="end when asked")
        memory.settle()

    def _report(self, text: str, level: "ReportLevel") -> None:
        """Tell what comes before the feed does, from any thread; later the feed brings it."""
        if self._running is None and level != "info":
            self._loop.call_soon_threadsafe(self._notify, text)

    def _notify(self, text: str) -> None:
        if self.app is not None and self.app.is_running:
            self.app.notify(text, severity="warning", timeout=12)

    def _fail(self, code: int, text: str) -> None:
        self.fault = code
        assert self.app is not None, "the app shows the screen"
        self.app.leave(text)

    async def _end_when_asked(self, asked: asyncio.Event) -> None:
        await asked.wait()
        if self.app is not None:
            self.app.leave("the gateway was asked to end (`tapui stop`)")

    async def end(self) -> None:
        """The screen is gone: end the gateway, if it came to one."""
        if self._starting is not None:
            await self._starting
        if self._ender is not None:
            self._ender.cancel()
        if self._running is not None:
            await _end(self._running)
        else:
            for opened in self._sockets:
                opened.close()
        self._feed.end()


async def _end(running: "RunningGateway") -> None:
    """End the gateway after its tower: a signal, or ctrl+c, no longer waits for providers."""
    here = asyncio.get_running_loop()
    for number in _SIGNALS:
        here.add_signal_handler(number, running.force)
    if running.is_waited_for:
        _tell("tapui: waiting for providers to clean up (ctrl+c: do not wait)")
    try:
        await running.stop()
    finally:
        for number in _SIGNALS:
            here.remove_signal_handler(number)


async def _second_tower(options: Options, home: Home, first: gateways.FoundGateway) -> int | None:
    from tapui.client.remote_feed import RemoteFeed

    feed = RemoteFeed(first, lambda: gateways.find(home, first.port, is_explicit=True))
    starts_here: list[bool] = []
    app = _app(
        options,
        feed,
        note=f"second tower (gateway: pid {first.pid})",
        on_start_here=lambda: starts_here.append(True),
    )
    try:
        code = await _show(app)
    finally:
        await feed.stop(1.0)
    return None if starts_here else code


def _app(
    options: Options,
    feed: "Feed",
    *,
    note: str,
    on_start_here: Callable[[], None] | None = None,
    on_shown: Callable[[], None] | None = None,
) -> "TowerApp":
    from tapui.tower.app import TowerApp

    themes: list[Path] = [builtin_folder(), options.config_path.parent / "themes"]
    return TowerApp(
        feed,
        theme=options.theme,
        theme_folders=themes,
        bell=options.settings.bell,
        note=note,
        on_theme=partial(_remember, options.config_path),
        on_start_here=on_start_here,
        on_shown=on_shown,
    )


def _remember(path: Path, name: str) -> None:
    # The theme is on screen. Only the memory of it failed, as when the file is not valid TOML.
    with contextlib.suppress(OSError, ValueError):
        config_file.remember_theme(path, name)


async def _show(app: "TowerApp") -> int:
    """Run the app on this terminal; signals end it in order and leave the terminal as it was."""
    reasons: list[str] = []
    here = asyncio.get_running_loop()

    def came(number: signal.Signals) -> None:
        reasons.append(number.name)
        app.leave(number.name)

    for number in _SIGNALS:
        here.add_signal_handler(number, came, number)
    try:
        said = await app.run_async()
    finally:
        for number in _SIGNALS:
            here.remove_signal_handler(number)
    if app.return_code:
        return 1
    if reasons:
        return 130 if reasons[0] == "SIGINT" else 0
    if said not in (None, "quit", "start-here"):
        _tell(f"tapui: {safe_text(said)}")
    return 0
