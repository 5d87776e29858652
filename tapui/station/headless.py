"""Gateways without a screen: `tapui serve`, and one for this process alone (`tapui run`)."""

import asyncio
import contextlib
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Self

from msgspec.structs import replace as with_settings

from tapui import invocation
from tapui.client.gateways import FoundGateway, found_in
from tapui.home.paths import Home
from tapui.home.run_folder import GatewayFile
from tapui.hosts.port import ReportLevel
from tapui.runtime import tuning
from tapui.station.faults import faults_logged, start_fault
from tapui.station.options import Options
from tapui.station.process_end import EndWatch, Signals, refuse_stop
from tapui.station.running_gateway import RunningGateway
from tapui.station.serve_prompt import ServePrompt
from tapui.text import safe_text

_STOP_SECONDS = 5.0
_LINES = 1_000
"""Lines for standard error that wait; further ones are dropped, faults stand in the log as well."""
_LAST_LINES_SECONDS = 1.0


class StderrLines:
    """Standard error, written on a thread: a stopped terminal (ctrl+s) holds nothing else up."""

    def __init__(self) -> None:
        self._lines: queue.Queue[str | None] = queue.Queue(_LINES)
        self._thread = threading.Thread(target=self._run, name="stderr", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(queue.Full):  # it is stopped: what waits is dropped
            self._lines.put_nowait(None)
            self._thread.join(_LAST_LINES_SECONDS)

    def write(self, text: str) -> None:
        with contextlib.suppress(queue.Full):  # dropped
            self._lines.put_nowait(text)

    def _run(self) -> None:
        # By number: the lock of `sys.stderr`, held by a stopped write, would abort Python's end.
        number = -1 if sys.stderr is None else sys.stderr.fileno()
        for text in iter(self._lines.get, None):
            data = text.encode("utf-8", "backslashreplace")
            with contextlib.suppress(OSError):  # its reader is gone
                while data:
                    data = data[os.write(number, data) :]


def run(options: Options) -> int:
    """Serve until a signal, `tapui stop` or idleness; return the exit code."""
    home = Home.at(options.home, options.copilot_home)
    with (
        StderrLines() as stderr,
        faults_logged(home, stderr) as log,
        EndWatch(log, "the gateway") as watch,
        asyncio.Runner(loop_factory=tuning.new_loop) as runner,
    ):
        return runner.run(_serve(options, watch, stderr))


async def _serve(options: Options, watch: EndWatch, stderr: StderrLines) -> int:
    ended = asyncio.Event()

    def say(text: str, level: ReportLevel) -> None:
        stderr.write(f"{level}: {safe_text(text)}\n")

    running = RunningGateway(options, say, ended.set, command="serve")
    watch.remove_files = running.remove_files

    def came(_number: signal.Signals) -> None:
        """End in order; a second signal no longer waits for providers."""
        if ended.is_set():
            running.force()
        ended.set()

    refuse_stop(lambda text: say(text, "warning"))
    with Signals(came), watch.on_signals():
        try:
            announced = await running.start()
        except Exception as error:  # noqa: BLE001 - told; what is not foreseen is logged
            fault = start_fault(error, Home.at(options.home, options.copilot_home))
            stderr.write(f"tapui: {fault.text}\n")
            return fault.code
        try:
            _announce(options, announced)
            running.load()
            if sys.stdin.isatty() and sys.stderr.isatty():
                with contextlib.suppress(OSError):  # no controlling terminal: none can be asked
                    ServePrompt(running.turn)
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
    else:
        line = (
            f"tapui serves {announced.url} (pid {announced.pid})\n"
            f"provider token: {announced.token_file}\n"
            f"stop it with ctrl+c or `{invocation.command('stop')}`"
        )
    with contextlib.suppress(OSError):  # a reader that is gone is no reason to stop serving
        print(line, flush=True)


@contextlib.asynccontextmanager
async def private_gateway(options: Options) -> AsyncIterator[FoundGateway]:
    """Run a gateway while the context lasts. It starts sessions and attaches to none.

    Raises `OSError`, or `ListenError`.
    """
    settings = with_settings(
        options.settings,
        local_session=False,
        approvals=with_settings(options.settings.approvals, command_line="always"),
    )
    chosen = replace(
        options,
        settings=settings,
        attach=False,
        attach_port=None,
        port=0,
        port_is_explicit=True,
        is_private=True,
    )
    home = Home.at(options.home, options.copilot_home)
    running = RunningGateway(chosen, _not_told, lambda: None)
    with faults_logged(home):
        try:
            announced = await running.start()
            running.load()
            yield found_in(announced)
        finally:
            await running.stop(_STOP_SECONDS)


def _not_told(_text: str, _level: ReportLevel) -> None:
    """Dropped: what matters of it reaches the one client as a notice."""
