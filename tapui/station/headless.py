"""Gateways without a screen: `tapui serve`, and one for this process alone (`tapui run`)."""

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TextIO

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
from tapui.station.serve_prompt import ServePrompt, can_ask
from tapui.text import safe_text

_STOP_SECONDS = 5.0


def run(options: Options) -> int:
    """Serve until a signal, `tapui stop` or idleness; return the exit code."""
    home = Home.at(options.home, options.copilot_home)
    with (
        faults_logged(home, on_stderr=True) as log,
        EndWatch(log, "the gateway") as watch,
        asyncio.Runner(loop_factory=tuning.new_loop) as runner,
    ):
        return runner.run(_serve(options, watch))


async def _serve(options: Options, watch: EndWatch) -> int:
    ended = asyncio.Event()
    running = RunningGateway(options, _say, ended.set, command="serve")
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
            if can_ask():
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
    with faults_logged(home, on_stderr=False):
        try:
            announced = await running.start()
            running.load()
            yield found_in(announced)
        finally:
            await running.stop(_STOP_SECONDS)


def _not_told(_text: str, _level: ReportLevel) -> None:
    """Dropped: what matters of it reaches the one client as a notice."""
