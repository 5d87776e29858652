"""`tapui`: the tower on this terminal, with a gateway of its own or on the one that runs."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tapui.client import gateways
from tapui.client.errors import NoGateway
from tapui.runtime import memory
from tapui.runtime.home import Home, PortClaimedError
from tapui.runtime.listening import ListenError, PortTaken
from tapui.station import config_file, loop
from tapui.station.embedded import EmbeddedFeed
from tapui.station.options import Options
from tapui.station.running import ReportLevel, RunningGateway
from tapui.text import safe_text
from tapui.tower.themes import builtin_folder

if TYPE_CHECKING:
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


def _gateway_to_join(home: Home, options: Options) -> gateways.Gateway | None:
    if options.port == 0:
        return None
    try:
        return gateways.find(home, options.port, is_explicit=True)
    except NoGateway:
        return None


async def _own_gateway(options: Options) -> int:
    """The tower and its gateway in one loop. Raises what `RunningGateway.start` raises."""
    notices: list[str] = []
    is_shown = False

    def report(text: str, level: ReportLevel) -> None:
        if not is_shown and level != "info":
            notices.append(text)

    def shown() -> None:
        nonlocal is_shown
        is_shown = True
        memory.settle()
        running.attach()

    asked_to_end = asyncio.Event()
    running = RunningGateway(options, report, asked_to_end.set)
    announced = await running.start()
    feed = EmbeddedFeed(running, announced.url, running.stop)
    app = _app(options, feed, note="", notices=notices, on_shown=shown)
    ender = asyncio.create_task(_end_when_asked(asked_to_end, app), name="end when asked")
    try:
        return await _show(app)
    finally:
        ender.cancel()
        await _end(running)
        feed.end()


async def _end(running: RunningGateway) -> None:
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


async def _end_when_asked(asked: asyncio.Event, app: "TowerApp") -> None:
    await asked.wait()
    app.leave("the gateway was asked to end (`tapui stop`)")


async def _second_tower(options: Options, home: Home, first: gateways.Gateway) -> int | None:
    from tapui.client.remote_feed import RemoteFeed

    feed = RemoteFeed(first, lambda: gateways.find(home, first.port, is_explicit=True))
    starts_here: list[bool] = []
    app = _app(
        options,
        feed,
        note=f"second tower (gateway: pid {first.pid})",
        notices=[],
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
    notices: list[str],
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
        notices=notices,
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
