"""A gateway that runs: core, journal, server, token files and the parts beside it."""

import asyncio
import contextlib
import errno
import importlib
import logging
import os
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tapui import __version__, update
from tapui.core.gateway import Gateway
from tapui.core.trust.person import ALWAYS, SessionShell, shell_of, short, shown_in
from tapui.core.trust.places import places_for
from tapui.files.locked_folder import folder_name
from tapui.home.local_socket import SOCKET_FILE
from tapui.home.paths import Home, persist_dir
from tapui.home.run_folder import GatewayFile, RunFolder
from tapui.home.tokens import ProviderTokenFile, TokenFileUnavailable, fresh_token
from tapui.hosts.port import Report, ReportLevel
from tapui.invocation import hide
from tapui.projection.state import is_connected, is_local, is_open
from tapui.records.journal import Journal
from tapui.records.masking import Masks
from tapui.runtime import tuning
from tapui.runtime.processes.sights import look, system
from tapui.runtime.processes.status import Key, is_tapui
from tapui.runtime.system import RegexMatcher, SystemIds, new_run
from tapui.runtime.turn import LoopTurn
from tapui.runtime.websocket.server import Server
from tapui.secret import Secret
from tapui.settings.rule_files import RuleFiles
from tapui.station.last_approvals import changed_approvals
from tapui.station.options import Options
from tapui.station.parts.emitters import EmittersPart
from tapui.station.parts.hosts import Copilot, LocalSession, Tools
from tapui.station.parts.index import Index
from tapui.station.parts.mcp_servers import McpServersPart
from tapui.station.parts.part import STOP_SECONDS, Part, PartList
from tapui.station.parts.proof import ProofPart
from tapui.station.parts.telemetry import TelemetryPart
from tapui.station.parts.watched_files import Rules, ToolsToken
from tapui.wire.limits import SHUTDOWN_MS
from tapui.wire.tower import GatewayStart

_log = logging.getLogger(__name__)

_JOURNAL_SECONDS = 5.0
"""How long the last records may take to reach the disk."""


class RunningGateway:
    """One gateway of this process, all of it on the loop that `start` was called on.

    `start` and `stop` once each. `report` gets lines for the person that are no events (a torn
    record, a full disk); it may be called from any thread. `on_stop` is called when a client asks
    the gateway to end. `command` is the one that starts it. `parts` run beside it (None: those of
    the options); each may take `part_seconds` to stop.
    """

    def __init__(
        self,
        options: Options,
        report: Report,
        on_stop: Callable[[], None],
        *,
        command: str = "tapui",
        parts: Sequence[Part] | None = None,
        part_seconds: float = STOP_SECONDS,
    ) -> None:
        self._options = options
        self._command = command
        self._report = report
        self._on_stop = on_stop
        self.home = Home.at(options.home, options.copilot_home)
        self._rule_files = RuleFiles(options.config_path, options.managed_path)
        if parts is None:
            parts = chosen_parts(options, self._rule_files)
        self._parts = PartList(parts, self._tell, part_seconds)
        self._files: GatewayFiles | None = None
        self._removing = threading.Lock()
        self._idleness: Idleness | None = None
        self._unlisten: Callable[[], None] = lambda: None
        self._stopping: asyncio.Task[None] | None = None
        self._is_forced = False
        self._waited = asyncio.Event()
        """Set when there is nothing left to wait for."""

    async def start(self, sockets: Sequence[socket.socket] = ()) -> GatewayFile:
        """Listen, write the token files, start the parts; return what was announced.

        `sockets` are those to listen on, where they are open already.
        Raises `ListenError`, `PortClaimedError` or `OSError`; nothing is left behind then, and
        `sockets` are closed.
        """
        hide()
        options, home = self._options, self.home
        provider_token, internal_token = fresh_token("ptk-"), fresh_token("itk-")
        run, ids = new_run(), SystemIds()
        started, shell, own = await asyncio.to_thread(_start, self._command, ids, options)
        most = places_for(tuning.descriptors())
        try:
            self.gateway = Gateway(
                run=run,
                ids=ids,
                settings=options.settings,
                persist_dir=lambda name: str(home.copilot / "providers" / folder_name(name)),
                matcher=RegexMatcher(),
                provider_token=provider_token.reveal(),
                internal_token=internal_token.reveal(),
                most_connections=most,
                started=started,
                shell=shell,
            )
            records = options.settings.records
            masks = Masks([RegexMatcher().compile(pattern) for pattern in records.mask])
            self.journal = Journal(home.state, run, records, self._tell, masks=masks)
            self.turn = LoopTurn(
                self.gateway,
                self.journal,
                ids,
                asyncio.get_running_loop(),
                on_stop=self._on_stop,
                persist_dir=lambda name: persist_dir(home, name),
                masks=masks,
                folder_rules=self._rule_files.folder,
                own=own,
            )
        except BaseException:
            _close(sockets)
            raise
        self._server = Server(self.turn, max_transient=most // 2)
        try:
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
        changed: list[str] = []
        if not options.is_private:  # which takes the answers of who has started it
            approvals = options.settings.approvals
            changed = await asyncio.to_thread(changed_approvals, home.state, approvals)
        for problem in (*self._files.problems, *options.faults, *changed):
            self._report(problem, "warning")
        self._loop = asyncio.get_running_loop()
        self._unlisten = update.listen(self._updated)
        self._parts.start(self.turn, self._files.announced, home, options)
        return self._files.announced

    def load(self) -> None:
        """Load what the first client and the first request need; it takes some 70 ms, so it comes
        after the start."""
        self._server.load()
        importlib.import_module("tapui.policies.known_options")

    def _tell(self, text: str, level: ReportLevel) -> None:
        """Tell every tower, and the process that started this gateway."""
        with contextlib.suppress(RuntimeError):  # the loop has closed: only the log is left
            self.turn.notify(text, level)
        self._report(text, level)

    def _updated(self) -> None:
        """The files of tapui were replaced: what runs keeps running. Any thread may call this."""
        self._tell(update.RESTART, "warning")
        files = self._files
        if files is not None:
            with contextlib.suppress(RuntimeError):  # the loop has closed: the file is removed
                self._loop.call_soon_threadsafe(
                    self._loop.run_in_executor, None, files.mark_updated
                )

    # Who needs it

    @property
    def has_sessions(self) -> bool:
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
        self._is_forced = True
        self._waited.set()

    async def stop(self, within: float = SHUTDOWN_MS / 1000) -> None:
        """End: tell the providers, let them clean up, sync the records, remove our files.

        Providers have `within` seconds. Further calls wait for the first one's work, which goes
        on when its caller is cancelled. Our files are removed even when a step fails.
        """
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop(within), name="stop the gateway")
        await asyncio.shield(self._stopping)

    async def _stop(self, within: float) -> None:
        self._unlisten()
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


class GatewayFiles:
    """The run folder and the provider's token file of one gateway, ours until `remove`."""

    def __init__(self, run_folder: RunFolder) -> None:
        self._run_folder = run_folder
        self._is_private = False
        self._token_file: ProviderTokenFile | None = None
        self.announced: GatewayFile
        self.listening: socket.socket | None = None
        """The run folder's socket, for the server to accept from; None: there is none."""
        self.problems: list[str] = []
        """Why the token or the socket is not where the interface says."""

    @classmethod
    def leave(
        cls,
        home: Home,
        port: int,
        provider_token: Secret,
        internal_token: Secret,
        *,
        is_private: bool = False,
        settings: dict[str, Any] | None = None,
    ) -> "GatewayFiles":
        """Claim the port's run folder and write all files; blocks for up to a second.

        One that `is_private` is not announced: its tokens are written for its own processes.
        Raises `PortClaimedError` and `OSError`; nothing is left behind then.
        """
        files = cls(RunFolder.claim(home, port))
        files._is_private = is_private
        try:
            files._write(home, port, provider_token, internal_token, settings)
        except UnicodeEncodeError:
            files.remove()
            raise OSError(
                errno.EILSEQ, "the path is not UTF-8: clients could not be told of it", home.state
            ) from None
        except OSError as error:
            files.remove()
            if error.errno is None:
                raise
            raise OSError(error.errno, error.strerror, files._run_folder.path) from error
        except BaseException:
            files.remove()
            raise
        return files

    def _write(
        self,
        home: Home,
        port: int,
        provider_token: Secret,
        internal_token: Secret,
        settings: dict[str, Any] | None,
    ) -> None:
        run_folder = self._run_folder
        run_folder.write_internal_token(internal_token)
        token_path = run_folder.write_provider_token(provider_token)
        url = f"ws://localhost:{port}"
        end = self._listen()
        if self._is_private:
            self.announced = run_folder.describe(url, __version__, token_path, end)
            return
        try:
            self._token_file = ProviderTokenFile.write(home, provider_token, port)
            token_path = self._token_file.path
        except TokenFileUnavailable as error:
            self.problems.append(str(error))
        self.announced = run_folder.announce(url, __version__, token_path, end, settings)

    def _listen(self) -> Path | None:
        """Open the run folder's socket; where that fails, clients come by TCP alone."""
        try:
            self.listening = self._run_folder.listen()
        except OSError as error:
            _log.warning("no socket in %s: %s", self._run_folder.path, error)
            self.problems.append(
                f"no socket in {self._run_folder.path}: {error.strerror or error}; "
                "commands come over TCP"
            )
            return None
        return self._run_folder.path / SOCKET_FILE

    def mark_updated(self) -> None:
        """Let commands know that this gateway's files were replaced."""
        try:
            self._run_folder.mark_updated()
        except OSError as error:
            _log.warning("%s cannot tell of the update: %s", self._run_folder.path, error)

    def remove(self) -> list[str]:
        """Remove what is still ours; return what could not be removed. Never raises `OSError`."""
        problems = []
        if self.listening is not None:
            self.listening.close()
        if self._token_file is not None:
            try:
                self._token_file.remove()
            except OSError as error:
                _log.exception("the token file was not removed")
                problems.append(f"{self._token_file.path} was not removed: {error.strerror}")
        try:
            self._run_folder.release()
        except OSError as error:
            _log.exception("the run folder was not removed")
            problems.append(f"{self._run_folder.path} was not removed: {error.strerror}")
        return problems


class Idleness:
    """Calls `expired` when the gateway was not needed for `seconds`: `look` after each turn."""

    def __init__(
        self, is_needed: Callable[[], bool], seconds: float, expired: Callable[[], None]
    ) -> None:
        self._is_needed = is_needed
        self._seconds = seconds
        self._expired = expired
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def look(self) -> None:
        if self._is_needed():
            self.close()
        elif self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._expired)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def chosen_parts(options: Options, rule_files: RuleFiles) -> list[Part]:
    """Return the parts that the options ask for, in the order of their start."""
    parts: list[Part] = [Rules(rule_files), ProofPart()]
    if options.settings.local_session:
        parts.append(LocalSession())
    parts.append(Tools())
    parts.append(EmittersPart())
    if not options.is_demo:
        parts += [McpServersPart(), TelemetryPart()]
    parts.append(Index())
    if not (options.is_demo or options.is_private):
        parts.append(ToolsToken())
    if not options.is_demo:
        parts.append(Copilot())
    return parts


def _start(
    command: str, ids: SystemIds, options: Options
) -> tuple[GatewayStart, SessionShell | None, frozenset[Key]]:
    """Return who starts this gateway, the shell in whose terminal that is, if there is one, and
    the processes that this gateway descends from."""
    is_unchecked = options.settings.approvals.command_line == ALWAYS
    at, sight = ids.timestamp(time.monotonic()), look(os.getpid())
    own = frozenset((one.pid, one.start) for one in sight.line) if sight else frozenset[Key]()
    if sight is not None and sight.terminal is None:
        # `tapui serve --detach` waits above this process, in the shell of the person.
        parent = sight.line[1] if len(sight.line) > 1 else None
        is_own = parent is not None and is_tapui(system.argv(parent.pid))
        sight = look(parent.pid) if parent is not None and is_own else None
    if sight is None or sight.terminal is None or not sight.leader_line:
        return GatewayStart(command, at, unchecked=is_unchecked), None, own
    shown, leader = shown_in(sight), sight.leader_line[0]
    by = leader.name if shown is None else f"{leader.name} in {shown.name}"
    terminal = short(sight.terminal)
    own |= {(one.pid, one.start) for one in (*sight.line, *sight.leader_line)}
    return GatewayStart(command, at, terminal, by, is_unchecked), shell_of(sight), own
