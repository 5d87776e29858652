"""`tapui serve`: the gateway without a screen."""

import asyncio
import contextlib
import json
import signal
import sys
from typing import TextIO

from tapui import invocation
from tapui.home.paths import Home
from tapui.home.run_folder import GatewayFile
from tapui.hosts.port import ReportLevel
from tapui.runtime import tuning
from tapui.station import loop
from tapui.station.log_file import faults_logged
from tapui.station.options import Options
from tapui.station.overdue import EndWatch
from tapui.station.running import RunningGateway
from tapui.station.signals import Signals, refuse_stop
from tapui.station.start_fault import start_fault
from tapui.text import safe_text


def run(options: Options) -> int:
    """Serve until a signal, `tapui stop` or idleness; return the exit code."""
    home = Home.at(options.home, options.copilot_home)
    with faults_logged(home, on_stderr=True) as log, EndWatch(log, "the gateway") as watch:
        return loop.run(_serve(options, watch))


async def _serve(options: Options, watch: EndWatch) -> int:
    ended = asyncio.Event()
    running = RunningGateway(options, _say, ended.set)
    watch.remove_files = running.remove_files

    def came(_number: signal.Signals) -> None:
        """End in order; a second signal no longer waits for providers."""
        if ended.is_set():
            running.force()
        ended.set()

    refuse_stop(lambda text: _say(text, "warning"))
    with Signals(came), watch.on_signals():
        try:
            announced = await running.start()
        except Exception as error:  # noqa: BLE001 - told; what is not foreseen is logged
            fault = start_fault(error, Home.at(options.home, options.copilot_home))
            _write(sys.stderr, f"tapui: {fault.text}")
            return fault.code
        try:
            _announce(options, announced)
            running.load()
            if options.exit_when_idle:
                running.end_when_idle(lambda: running.has_sessions, ended.set)
            with tuning.settled():
                await ended.wait()
        finally:
            watch.begin()
            await running.stop()
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
        _write(sys.stdout, f"stop it with ctrl+c or `{invocation.command('stop')}`")


def _say(text: str, level: ReportLevel) -> None:
    _write(sys.stderr, f"{level}: {safe_text(text)}")


def _write(stream: TextIO, text: str) -> None:
    """Write a line; a reader that is gone is no reason to stop serving."""
    with contextlib.suppress(OSError):  # see above
        stream.write(f"{text}\n")
        stream.flush()
