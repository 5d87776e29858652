"""A gateway that runs: core, journal, server, token files and the parts beside it."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tapui import __version__
from tapui.core.gateway import Gateway
from tapui.home.locked_folder import folder_name
from tapui.home.paths import Home, persist_dir
from tapui.home.run_folder import GatewayFile, RunFolder
from tapui.home.tokens import ProviderTokenFile, TokenFileUnavailable, fresh_token
from tapui.records.journal import Journal
from tapui.runtime.matcher import RegexMatcher
from tapui.runtime.mint import SystemMint, new_run
from tapui.runtime.server import Server
from tapui.runtime.turn import Turn
from tapui.station.options import Options
from tapui.station.parts.chosen import chosen_parts
from tapui.station.parts.part import Report, ReportLevel
from tapui.station.parts.part_list import PartList
from tapui.wire.limits import SHUTDOWN_MS

_QUIET_POLL = 0.02


@dataclass(slots=True)
class _Files:
    """What this gateway left on the disk for others to find it by."""

    run_folder: RunFolder
    token_file: ProviderTokenFile | None


class RunningGateway:
    """One gateway of this process. `start` and `stop` once each.

    `report` gets lines for the person that are no events (a torn record, a full disk); it may be
    called from any thread. `on_stop` is called when a client asks the gateway to end.
    """

    def __init__(
        self,
        options: Options,
        report: Report,
        on_stop: Callable[[], None],
    ) -> None:
        self._options = options
        self._report = report
        self._on_stop = on_stop
        self.home = Home.at(options.home, options.copilot_home)
        self.problems: list[str] = []
        self._files: _Files | None = None
        self._parts = PartList(chosen_parts(options), self._tell)
        self._stopping: asyncio.Task[None] | None = None
        self._forced = asyncio.Event()

    async def start(self, sockets: Sequence[socket.socket] = ()) -> GatewayFile:
        """Listen, write the token files, start the parts; return what was announced.

        `sockets` are those to listen on, where they are open already.
        Raises `ListenError`, `PortClaimedError` or `OSError`; nothing is left behind then.
        """
        options, home = self._options, self.home
        provider_token, internal_token = fresh_token("ptk-"), fresh_token("itk-")
        run, mint = new_run(), SystemMint()
        self.gateway = Gateway(
            run=run,
            mint=mint,
            settings=options.settings,
            persist_dir=lambda name: str(home.copilot / "providers" / folder_name(name)),
            matcher=RegexMatcher(),
            provider_token=provider_token.reveal(),
            internal_token=internal_token.reveal(),
        )
        self.journal = Journal(home.state, run, options.settings.records, self._tell)
        loop = asyncio.get_running_loop()
        self.turn = Turn(
            self.gateway,
            self.journal,
            mint,
            loop,
            on_stop=self._on_stop,
            persist_dir=lambda name: persist_dir(home, name),
        )
        self._server = Server(self.turn)
        port = await self._server.start(options.port, sockets)
        try:
            run_folder = RunFolder.claim(home, port)
            self._files = _Files(run_folder, None)
            run_folder.write_internal_token(internal_token)
            token_path = run_folder.write_provider_token(provider_token)
            try:
                self._files.token_file = ProviderTokenFile.write(home, provider_token, port)
                token_path = self._files.token_file.path
            except TokenFileUnavailable as error:
                self._problem(str(error))
            announced = run_folder.announce(f"ws://localhost:{port}", __version__, token_path)
        except BaseException:
            await self._server.stop(0)
            self._leave_nothing()
            self.journal.close(1.0)
            raise
        self.turn.flush = self._server.flush
        self._parts.start(self.turn, announced, home, options)
        return announced

    def _tell(self, text: str, level: ReportLevel) -> None:
        """Tell every tower, and whoever started this gateway."""
        with contextlib.suppress(RuntimeError):  # the loop has closed: only the log is left
            self.turn.notify(text, level)
        self._report(text, level)

    def _problem(self, text: str) -> None:
        self.problems.append(text)
        self._report(text, "warning")

    @property
    def is_waited_for(self) -> bool:
        """Whether `stop` would have to wait for providers."""
        return self.gateway.busy_with()[0] > 0 and not self._forced.is_set()

    def force(self) -> None:
        """Do not wait for providers any longer."""
        self._forced.set()

    async def stop(self, within: float = SHUTDOWN_MS / 1000) -> None:
        """End: tell the providers, let them clean up, sync the records, remove our files.

        Providers have `within` seconds. Further calls wait for the first one's work, which goes
        on whatever becomes of its caller.
        """
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop(within), name="stop the gateway")
        await asyncio.shield(self._stopping)

    async def _stop(self, within: float) -> None:
        self._server.drain()
        self.turn.shut_down()
        self.turn.run_now()
        await self._wait_quiet(within)
        await self._parts.stop()
        self.turn.run_now()
        await self._server.stop()
        self.turn.run_now()
        self.turn.close()
        self.journal.close(5.0)
        self._leave_nothing()

    async def _wait_quiet(self, within: float) -> None:
        deadline = asyncio.get_running_loop().time() + within
        while not self.gateway.is_quiet and not self._forced.is_set():
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left, _QUIET_POLL)):
                    await self._forced.wait()

    def _leave_nothing(self) -> None:
        files, self._files = self._files, None
        if files is None:
            return
        if files.token_file is not None:
            try:
                files.token_file.remove()
            except OSError as error:
                self._report(f"{files.token_file.path} was not removed: {error}", "warning")
        files.run_folder.release()
