"""The server's process: its start, its handshake, what it is asked and told, and its end.

The server is a program of GitHub's that runs with the person's rights. It gets no shell, and a
process group of its own that is ended as a whole.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tapui import __version__
from tapui.hosts.language_server.open_files import uri_of
from tapui.hosts.port import Report
from tapui.invocation import INSIDE, command
from tapui.jsonrpc.connection import (
    OnNotification,
    OnRequest,
    RpcConnection,
    RpcError,
    RpcRefusedError,
)
from tapui.runtime.children.lines import LastWords
from tapui.runtime.processes.reaping import signal_group
from tapui.text import cut

MAX_MESSAGE = 32 * 1024 * 1024
"""Bytes of a message of the server."""
_MOST_LINES = 200
"""Lines of the server that the person reads; further ones are dropped."""
_LINE = 2_000
"""Characters of such a line, and of what the server wrote last before it ended."""
_MOST_ITEMS = 1_000
_CAPABILITIES = {
    "window": {"workDoneProgress": True, "showDocument": {"support": True}},
    "workspace": {"workspaceFolders": True, "configuration": True},
}
_SETTINGS = {
    # The server tells of each call before it runs it: so rules hold for its own tools, too.
    "editorHandlesAllConfirmation": True,
    # Hooks and plugins are programs of the folder: the server would start them unasked.
    "enableHooks": False,
    "enablePlugins": False,
}


class ServerError(Exception):
    """The server refused a request, did not answer in time, or is gone; the text says which."""


class RequestRefusedError(ServerError):
    """The server refused a request; the text is its reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTiming:
    """How long the server is waited for, in seconds."""

    start: float = 60.0
    """For each answer of the handshake."""
    ping_after: float = 20.0
    ping: float = 60.0
    """For a sign of life; a server without one counts as hung."""
    end: float = 3.0
    """For its end, before it is killed."""
    rest: float = 30.0
    """For the end of a turn that was stopped."""


class LanguageServer:
    """One process of the server for one folder; `start` it, `wait` for its end, `stop` it.

    `requests` and `notifications` take what the server asks and tells besides what is taken here.
    `report` takes what the person should know. Each method that asks raises `ServerError`.
    """

    def __init__(
        self,
        program: str,
        folder: Path,
        *,
        environ: Mapping[str, str],
        requests: Mapping[str, OnRequest],
        notifications: Mapping[str, OnNotification],
        report: Report,
        timing: ServerTiming | None = None,
    ) -> None:
        self._program = program
        self._folder = folder
        self._environ = dict(environ)
        self._report = report
        self._timing = timing or ServerTiming()
        self._lines = 0
        self._process: asyncio.subprocess.Process | None = None
        self._running: list[asyncio.Task[Any]] = []
        self._said: LastWords
        self._ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._requests = {**self._own_requests(), **requests}
        self._notifications = {"window/showMessage": self._on_message, **notifications}
        self._connection: RpcConnection
        self.version = ""
        self.user: str | None = None
        """The account that is signed in; None: none is, or the server does not name it."""

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    # Asking

    async def ask(self, method: str, params: Any, within: float | None = None) -> Any:
        """Return the server's answer; without `within`, one that may take as long as a turn."""
        try:
            return await self._connection.ask(method, params, within=within)
        except RpcRefusedError as error:
            raise RequestRefusedError(str(error)) from None
        except RpcError as error:
            raise ServerError(str(error)) from None

    async def reason(self, error: ServerError) -> str:
        """Return why a request failed; where the server has ended, why it has."""
        has_ended = self._ended.done() and not isinstance(error, RequestRefusedError)
        return await self.wait() if has_ended else str(error)

    def tell(self, method: str, params: Any) -> None:
        self._connection.tell(method, params)

    def say(self, text: Any, *, is_warning: bool = False) -> None:
        """Tell the person a line of the server's."""
        if not isinstance(text, str) or not text.strip() or self._lines > _MOST_LINES:
            return
        self._lines += 1
        line = cut(text.strip(), _LINE) if self._lines <= _MOST_LINES else "… lines left out"
        self._report(f"language server: {line}", "warning" if is_warning else "info")

    # Living

    async def start(self) -> None:
        """Start the process and greet it. Raises `ServerError`; then nothing of it is left."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                self._program,
                "--stdio",
                cwd=self._folder,
                env={**self._environ, INSIDE: "1"},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise ServerError(f"{self._program} cannot be started: {error.strerror}") from None
        assert self._process.stdin is not None
        self._connection = RpcConnection(
            self._process.stdin,
            requests=self._requests,
            notifications=self._notifications,
            other="the server",
            max_message=MAX_MESSAGE,
        )
        assert self._process.stderr is not None
        self._said = LastWords(self._process.stderr, _LINE)
        serving = asyncio.create_task(self._serve(self._process), name="the language server")
        self._running = [serving, self._said.reading]
        try:
            await self._greet()
        except ServerError:
            ended = await self.wait() if self._ended.done() else ""
            await self.stop()
            if ended:
                raise ServerError(ended) from None
            raise
        except BaseException:
            await self.stop()
            raise
        watching = asyncio.create_task(self._watch(), name="watch the language server")
        self._running.append(watching)

    async def _serve(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        why = ""
        try:
            await self._connection.run(process.stdout)
        except RpcError as error:
            why = str(error)
        finally:
            if not self._ended.done():
                self._ended.set_result(why)

    async def _watch(self) -> None:
        """Give up a server that shows no sign of life."""
        while True:
            await asyncio.sleep(self._timing.ping_after)
            try:
                await self.ask("getVersion", {}, self._timing.ping)
            except ServerError as error:
                if not self._ended.done():
                    self._ended.set_result(str(error))
                return

    async def wait(self) -> str:
        """Return why the server has ended, or is to be ended, once that is so."""
        why = await asyncio.shield(self._ended)
        if why:
            return why
        code = None
        if self._process is not None:
            with contextlib.suppress(TimeoutError):  # its output has ended, and it has not
                async with asyncio.timeout(self._timing.end):
                    code = await self._process.wait()
        said = await self._said.line(self._timing.end)
        return f"the language server has ended ({code}){f': {said}' if said else ''}"

    async def stop(self) -> None:
        """End the server in order: what still runs of it some seconds later is killed."""
        process, self._process = self._process, None
        if process is None:
            return
        if not self._ended.done():
            with contextlib.suppress(ServerError):  # it is ended all the same
                await self.ask("shutdown", None, self._timing.end)
                self.tell("exit", None)
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(TimeoutError):  # killed next
                async with asyncio.timeout(self._timing.end):
                    await process.wait()
                break
            signal_group(process.pid, number)
        with contextlib.suppress(TimeoutError):  # another process holds its pipes
            async with asyncio.timeout(self._timing.end):
                await process.wait()
        for task in self._running:
            task.cancel()
        # The server's end was told before.
        await asyncio.gather(*self._running, return_exceptions=True)
        # Its pipes are closed with the transport.
        process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 - no other way

    # The handshake

    async def _greet(self) -> None:
        within = self._timing.start
        workspace = {"uri": uri_of(self._folder), "name": self._folder.name}
        about = {"name": "tapui", "version": __version__}
        greeted = await self.ask(
            "initialize",
            {
                "processId": os.getpid(),
                "clientInfo": about,
                "rootUri": workspace["uri"],
                "capabilities": _CAPABILITIES,
                "workspaceFolders": [workspace],
                "initializationOptions": {"editorInfo": about, "editorPluginInfo": about},
            },
            within,
        )
        info = greeted.get("serverInfo") if isinstance(greeted, dict) else None
        version = info.get("version") if isinstance(info, dict) else None
        self.version = cut(version, _LINE) if isinstance(version, str) else "?"
        self.tell("initialized", {})
        settings = {"github": {"copilot": {"agent": _SETTINGS}}}
        self.tell("workspace/didChangeConfiguration", {"settings": settings})
        await self.look_who_is_signed_in()

    async def look_who_is_signed_in(self) -> str | None:
        """Find out who is signed in, and return that; where none is, tell how it is done."""
        status = await self.ask("checkStatus", {}, self._timing.start)
        given = status if isinstance(status, dict) else {}
        user, state = given.get("user"), given.get("status")
        self.user = cut(user, 100) if isinstance(user, str) and user else None
        if state not in ("OK", "MaybeOK", "AlreadySignedIn"):
            said = cut(state, 100) if isinstance(state, str) else "no status"
            how = command("language-server sign-in")
            self._report(f"the language server is not signed in ({said}): {how}", "warning")
        return self.user

    # What the server asks

    def _own_requests(self) -> dict[str, OnRequest]:
        return {
            "window/showMessageRequest": self._show_message,
            "window/showDocument": self._show_document,
            "workspace/configuration": self._configuration,
            "client/registerCapability": self._nothing,
            "client/unregisterCapability": self._nothing,
            "window/workDoneProgress/create": self._nothing,
            "copilot/watchedFiles": self._watched_files,
        }

    async def _show_message(self, params: Any) -> None:
        self._on_message(params)

    def _on_message(self, params: Any) -> None:
        given = params if isinstance(params, dict) else {}
        self.say(given.get("message"), is_warning=given.get("type") in (1, 2))

    async def _show_document(self, params: Any) -> dict[str, bool]:
        uri = params.get("uri") if isinstance(params, dict) else None
        self.say(f"look at {uri}" if isinstance(uri, str) else None)
        return {"success": True}

    @staticmethod
    async def _configuration(params: Any) -> list[None]:
        items = params.get("items") if isinstance(params, dict) else None
        return [None] * min(len(items), _MOST_ITEMS) if isinstance(items, list) else []

    @staticmethod
    async def _nothing(_params: Any) -> None:
        """It is taken note of."""

    @staticmethod
    async def _watched_files(_params: Any) -> dict[str, list[str]]:
        return {"files": []}
