"""`tapui serve`: the gateway without a screen."""

import asyncio
import contextlib
import json
import signal
import sys
from typing import TextIO

from tapui.home.run_folder import GatewayFile, PortClaimedError
from tapui.runtime import memory
from tapui.runtime.listening import ListenError
from tapui.station import loop
from tapui.station.options import Options
from tapui.station.parts.part import ReportLevel
from tapui.station.running import RunningGateway
from tapui.text import safe_text

_IDLE_POLL = 0.5


def run(options: Options) -> int:
    """Serve until a signal, `tapui stop` or idleness; return the exit code."""
    return loop.run(_serve(options))


async def _serve(options: Options) -> int:
    ended = asyncio.Event()
    running = RunningGateway(options, _say, ended.set)
    try:
        announced = await running.start()
    except (ListenError, PortClaimedError) as error:
        _write(sys.stderr, str(error))
        return 2
    except OSError as error:
        _write(sys.stderr, f"{error.filename or 'the state folder'}: {error.strerror}")
        return 1
    signals = _Signals(ended, running)
    signals.install()
    _announce(options, announced)
    memory.settle()
    try:
        if options.exit_when_idle:
            await _until_idle(running, ended, options.settings.timeouts.idle_exit)
        else:
            await ended.wait()
    finally:
        await running.stop()
        signals.remove()
    return 0


def _announce(options: Options, announced: GatewayFile) -> None:
    if options.json:
        line = json.dumps(
            {
                "event": "ready",
                "url": announced.url,
                "pid": announced.pid,
                "tokenFile": announced.token_file,
                "internalTokenFile": announced.internal_token_file,
            }
        )
        _write(sys.stdout, line)
    else:
        _write(sys.stdout, f"tapui serves {announced.url} (pid {announced.pid})")
        _write(sys.stdout, f"provider token: {announced.token_file}")
        _write(sys.stdout, "stop it with ctrl+c or `tapui stop`")


def _say(text: str, level: ReportLevel) -> None:
    _write(sys.stderr, f"{level}: {safe_text(text)}")


def _write(stream: TextIO, text: str) -> None:
    """Write a line; a reader that is gone is no reason to stop serving."""
    with contextlib.suppress(BrokenPipeError, OSError):
        stream.write(f"{text}\n")
        stream.flush()


class _Signals:
    """The first SIGTERM, SIGINT or SIGHUP ends the gateway in order; a second one hurries it."""

    def __init__(self, ended: asyncio.Event, running: RunningGateway) -> None:
        self._ended = ended
        self._running = running
        self._loop = asyncio.get_running_loop()

    def install(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            self._loop.add_signal_handler(number, self._came)

    def remove(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            self._loop.remove_signal_handler(number)

    def _came(self) -> None:
        if self._ended.is_set():
            self._running.force()
        self._ended.set()


async def _until_idle(running: RunningGateway, ended: asyncio.Event, seconds: float) -> None:
    """Wait until asked to end, or until no session but `local` was open for `seconds`."""
    clock = asyncio.get_running_loop().time
    since = clock()
    while not ended.is_set():
        state = running.gateway.state
        if any(one.state != "ended" and one.host != "local" for one in state.sessions.values()):
            since = clock()
        elif clock() - since >= seconds:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(_IDLE_POLL, seconds)):
                await ended.wait()
