"""A gateway that runs: core, journal, server, token files and the parts beside it."""

import asyncio
import contextlib
import logging
import os
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from tapui.core.gateway import Gateway
from tapui.core.trust.places import places_for
from tapui.files.locked_folder import folder_name
from tapui.home.paths import Home, persist_dir
from tapui.home.run_folder import GatewayFile
from tapui.home.tokens import fresh_token
from tapui.hosts.port import Report, ReportLevel
from tapui.projection.state import is_connected, is_local, is_open
from tapui.records.journal import Journal
from tapui.records.masking import Masks
from tapui.runtime import tuning
from tapui.runtime.agents import Agents
from tapui.runtime.matcher import RegexMatcher
from tapui.runtime.mint import SystemMint, new_run
from tapui.runtime.turn import LoopTurn
from tapui.runtime.websocket.server import Server
from tapui.settings.rule_files import RuleFiles
from tapui.station.gateway_files import GatewayFiles
from tapui.station.idleness import Idleness
from tapui.station.options import Options
from tapui.station.parts.chosen import chosen_parts
from tapui.station.parts.part_list import PartList
from tapui.wire.limits import SHUTDOWN_MS

_log = logging.getLogger(__name__)

_JOURNAL_SECONDS = 5.0
"""How long the last records may take to reach the disk."""


class RunningGateway:
    """One gateway of this process, all of it on the loop that `start` was called on.

    `start` and `stop` once each. `report` gets lines for the person that are no events (a torn
    record, a full disk); it may be called from any thread. `on_stop` is called when a client asks
    the gateway to end.
    """

    def __init__(self, options: Options, report: Report, on_stop: Callable[[], None]) -> None:
        self._options = options
        self._report = report
        self._on_stop = on_stop
        self.home = Home.at(options.home, options.copilot_home)
        self._rule_files = RuleFiles(options.config_path, options.managed_path)
        self._parts = PartList(chosen_parts(options, self._rule_files), self._tell)
        self._files: GatewayFiles | None = None
        self._removing = threading.Lock()
        self._idleness: Idleness | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._is_forced = False
        self._waited = asyncio.Event()
        """Set when nobody need be waited for any longer."""

    async def start(self, sockets: Sequence[socket.socket] = ()) -> GatewayFile:
        """Listen, write the token files, start the parts; return what was announced.

        `sockets` are those to listen on, where they are open already.
        Raises `ListenError`, `PortClaimedError` or `OSError`; nothing is left behind then, and
        `sockets` are closed.
        """
        options, home = self._options, self.home
        provider_token, internal_token = fresh_token("ptk-"), fresh_token("itk-")
        run, mint = new_run(), SystemMint()
        agents = Agents(home.state, os.getpid(), lambda text: self._tell(text, "warning"))
        most = places_for(tuning.descriptors())
        try:
            self.gateway = Gateway(
                run=run,
                mint=mint,
                settings=options.settings,
                persist_dir=lambda name: str(home.copilot / "providers" / folder_name(name)),
                matcher=RegexMatcher(),
                provider_token=provider_token.reveal(),
                internal_token=internal_token.reveal(),
                most_connections=most,
            )
            records = options.settings.records
            masks = Masks([RegexMatcher().compile(pattern) for pattern in records.mask])
            self.journal = Journal(home.state, run, records, self._tell, masks=masks)
            self.turn = LoopTurn(
                self.gateway,
                self.journal,
                mint,
                asyncio.get_running_loop(),
                on_stop=self._on_stop,
                agents=agents,
                persist_dir=lambda name: persist_dir(home, name),
                masks=masks,
                folder_rules=self._rule_files.folder,
            )
        except BaseException:
            _close(sockets)
            raise
        self._server = Server(self.turn, max_transient=most // 2)
        try:
            agents.begin()
            port = await self._server.start(options.port, sockets)
            self.turn.flush = self._server.flush
            self._files = await asyncio.to_thread(
                GatewayFiles.leave,
                home,
                port,
                provider_token,
                internal_token,
                is_private=options.is_private,
                settings=msgspec.to_builtins(options.settings),
            )
            if self._files.listening is not None:
                await self._server.listen(self._files.listening)
        except BaseException:
            await self._server.stop(0)
            self.remove_files()
            _close(sockets)
            self.turn.close()
            await asyncio.to_thread(self.journal.close, _JOURNAL_SECONDS)
            raise
        for problem in self._files.problems:
            self._report(problem, "warning")
        self._parts.start(self.turn, self._files.announced, home, options)
        return self._files.announced

    def load(self) -> None:
        """Load what the first client needs; it takes some 50 ms, so it comes after the start."""
        self._server.load()

    def _tell(self, text: str, level: ReportLevel) -> None:
        """Tell every tower, and whoever started this gateway."""
        with contextlib.suppress(RuntimeError):  # the loop has closed: only the log is left
            self.turn.notify(text, level)
        self._report(text, level)

    # Who needs it

    @property
    def has_sessions(self) -> bool:
        """Whether a session other than the built-in one is open."""
        sessions = self.gateway.state.sessions.values()
        return any(is_open(one) and not is_local(one) for one in sessions)

    @property
    def has_company(self) -> bool:
        """Whether a session other than the built-in one is open, or a provider connected."""
        providers = self.gateway.state.providers.values()
        return self.has_sessions or any(is_connected(one) for one in providers)

    def end_when_idle(self, is_needed: Callable[[], bool], expired: Callable[[], None]) -> None:
        """Call `expired` once the gateway was not needed for as long as the settings say."""
        seconds = self._options.settings.timeouts.idle_exit
        self._idleness = Idleness(is_needed, seconds, expired)
        self.turn.on_turn = self._idleness.look
        self._idleness.look()

    # The end

    @property
    def is_waited_for(self) -> bool:
        """Whether `stop` would have to wait for providers."""
        return self.gateway.busy_with()[0] > 0 and not self._is_forced

    def force(self) -> None:
        """Do not wait for providers any longer."""
        self._is_forced = True
        self._waited.set()

    async def stop(self, within: float = SHUTDOWN_MS / 1000) -> None:
        """End: tell the providers, let them clean up, sync the records, remove our files.

        Providers have `within` seconds. Further calls wait for the first one's work, which goes
        on whatever becomes of its caller. Whatever fails, our files are removed.
        """
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop(within), name="stop the gateway")
        await asyncio.shield(self._stopping)

    async def _stop(self, within: float) -> None:
        try:
            if self._idleness is not None:
                self._idleness.close()
            self._server.drain()
            await self._step(self._close_sessions, within)
            await self._step(self._parts.stop)
            await self._step(self._close_connections)
            self.turn.close()
            await asyncio.to_thread(self.journal.close, _JOURNAL_SECONDS)
        finally:
            self.remove_files()

    async def _step(self, step: Callable[..., Awaitable[None]], *given: float) -> None:
        """Take one step of the end; one that fails must not keep the next from being taken."""
        try:
            await step(*given)
        except Exception:  # noqa: BLE001 - logged; the end goes on
            _log.exception("a step of the gateway's end failed")

    async def _close_sessions(self, within: float) -> None:
        """Close every session and wait until its providers have cleaned up."""
        self.turn.on_turn = self._look_for_quiet
        self.turn.shut_down()
        self.turn.run_now()
        with contextlib.suppress(TimeoutError):  # they had their time; what is open is closed
            async with asyncio.timeout(within):
                await self._waited.wait()

    def _look_for_quiet(self) -> None:
        if self.gateway.is_quiet:
            self._waited.set()

    async def _close_connections(self) -> None:
        self.turn.run_now()
        await self._server.stop()
        self.turn.run_now()

    def remove_files(self) -> None:
        """Remove what others find this gateway by; for the end, or for one that hangs.

        Any thread may call it. It returns once they are gone, whichever call removes them: behind
        it the process may end at once.
        """
        with self._removing:
            files, self._files = self._files, None
            problems = files.remove() if files is not None else []
        for problem in problems:
            self._report(problem, "warning")


def _close(sockets: Sequence[socket.socket]) -> None:
    for opened in sockets:
        opened.close()
