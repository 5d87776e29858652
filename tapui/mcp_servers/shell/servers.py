"""Which MCP servers are wanted: those of the person's file and of the folders of open sessions."""

import asyncio
import contextlib
import hashlib
import logging
import os
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tapui.core.effects import McpSession
from tapui.emitters.config.entries import ConfigProblem
from tapui.emitters.config.reading import Signature, signature
from tapui.home.paths import Home
from tapui.mcp_servers.config.entries import ServerEntry, ServerFile
from tapui.mcp_servers.config.reading import FOLDER_FILES, own_file, read_folder, read_own
from tapui.mcp_servers.shell.context import ServerContext
from tapui.mcp_servers.shell.requests import QuestionLimit
from tapui.mcp_servers.shell.running_server import RunningServer
from tapui.text import safe_text
from tapui.wire import limits

LOOK_SECONDS = 2.0
"""Seconds between two looks at the files in use."""
_log = logging.getLogger(__name__)


class _Key(NamedTuple):
    """Which server: `folder` is the repository's, empty for the person's own."""

    folder: str
    name: str

    @property
    def id(self) -> str:
        return f"mcp-{hashlib.sha256(repr(tuple(self)).encode()).hexdigest()[:12]}"


class _Running(NamedTuple):
    server: RunningServer
    task: "asyncio.Task[None]"


class _Found(NamedTuple):
    """What the files say, the real folders of the sessions, and what changes with all of that."""

    own: ServerFile
    folders: dict[str, tuple[ServerFile, ...]]
    real: dict[str, str]
    """Folders without links, by the sessions' own words."""


class Servers:
    """All servers of a gateway. Use it on the gateway's loop."""

    def __init__(
        self,
        home: Home,
        around: ServerContext,
        spawn: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self._home = home
        self._around = around
        self._spawn = spawn
        self._sessions: tuple[McpSession, ...] = ()
        self._running: dict[_Key, _Running] = {}
        self._news = asyncio.Event()
        self._stopping = asyncio.Event()
        self._seen: tuple[Signature, ...] = ()
        self._standing: dict[_Key, tuple[object, Signature]] = {}
        self._last: dict[str, ServerFile] = {}
        """Files as they could last be read, by path."""
        self._told: dict[str, tuple[str, ...]] = {}
        self._damage = ""
        self._questions: dict[str, QuestionLimit] = {}
        """By folder, of those that have sessions: a file written anew asks no more often."""

    def set_sessions(self, sessions: Sequence[McpSession]) -> None:
        self._sessions = tuple(sessions)
        self._news.set()

    async def run(self) -> None:
        """Keep running what is wanted, until `stop()`."""
        while not self._stopping.is_set():
            with contextlib.suppress(TimeoutError):  # the time is up: look
                async with asyncio.timeout(LOOK_SECONDS if self._sessions else None):
                    await self._news.wait()
            is_news = self._news.is_set()
            self._news.clear()
            if self._stopping.is_set():
                return
            try:
                if is_news or await self._have_files_changed():
                    await self._reconcile()
                await self._look_at_consents()
            except Exception:  # noqa: BLE001 - logged; the next look may succeed
                _log.exception("a look at the MCP servers failed")

    async def stop(self) -> None:
        self._stopping.set()
        self._news.set()
        await asyncio.gather(*(one.server.stop() for one in self._running.values()))

    # Files

    async def _have_files_changed(self) -> bool:
        return self._seen != await asyncio.to_thread(self._signatures, self._folders())

    def _folders(self) -> list[str]:
        return list(dict.fromkeys(one.cwd for one in self._sessions))

    def _signatures(self, folders: Sequence[str]) -> tuple[Signature, ...]:
        own = signature([str(own_file(self._home))])
        names = [name for name, _ in FOLDER_FILES]
        return (own, *(signature([str(Path(one, name)) for name in names]) for one in folders))

    def _read(self, folders: Sequence[str]) -> _Found:
        """Read all files, in a thread; what cannot be read now is as it was."""
        self._seen = self._signatures(folders)
        real = {one: os.path.realpath(one) for one in folders if "\0" not in one}
        own = self._kept(read_own(self._home))
        found = {
            folder: tuple(self._kept(one) for one in read_folder(folder))
            for folder in dict.fromkeys(real.values())
        }
        return _Found(own, found, real)

    def _kept(self, file: ServerFile) -> ServerFile:
        self._tell(file.path, file.problems)
        if file.is_readable:
            self._last[file.path] = file
            return file
        return self._last.get(file.path, file)

    def _tell(self, path: str, problems: Sequence[ConfigProblem]) -> None:
        """Tell the person what is wrong in a file, once, in one line."""
        said = tuple(map(str, problems))
        if self._told.get(path, ()) == said:
            return
        self._told[path] = said
        if said:
            first = next((one for one in problems if one.is_error), problems[0])
            more = f", and {len(said) - 1} more" if len(said) > 1 else ""
            folder = "" if first.file.startswith("/") else f"{path.removesuffix(first.file)}"
            self._around.report(safe_text(f"MCP servers: {folder}{first}{more}"), "warning")

    # What is wanted

    async def _reconcile(self) -> None:
        sessions = self._sessions
        found = await asyncio.to_thread(self._read, self._folders())
        wanted = self._wanted(found, sessions)
        ended = {
            key: "it was changed" if key in wanted else "no session wants it any more"
            for key, running in self._running.items()
            if key not in wanted or wanted[key][0] != running.server.entry
        }
        await asyncio.gather(*(self._end(key, why) for key, why in ended.items()))
        for folder in [one for one in self._questions if one and one not in found.folders]:
            del self._questions[folder]
        for folder in {key.folder for key in wanted}:
            questions = self._questions.setdefault(folder, QuestionLimit())
            questions.servers = sum(key.folder == folder for key in wanted)
        for key, (entry, theirs) in wanted.items():
            known = self._running.get(key)
            if known is None and len(self._running) < limits.MAX_MCP_SERVERS:
                known = self._begin(key, entry, theirs)
            elif known is not None:
                known.server.set_sessions(theirs)

    def _wanted(
        self, found: _Found, sessions: Sequence[McpSession]
    ) -> dict[_Key, tuple[ServerEntry, list[McpSession]]]:
        """Return the servers that sessions want, each with the sessions that do not have it
        already."""
        wanted: dict[_Key, tuple[ServerEntry, list[McpSession]]] = {}
        own = {one.name for one in found.own.entries}
        for session in sessions:
            files = found.folders.get(found.real.get(session.cwd, ""), ())
            entries = [one for file in files for one in file.entries if one.name not in own]
            for entry in (*found.own.entries, *entries):
                _, theirs = wanted.setdefault(_Key(entry.folder or "", entry.name), (entry, []))
                if session.own is None or entry.name not in session.own:
                    theirs.append(session)
        return wanted

    def _begin(self, key: _Key, entry: ServerEntry, sessions: list[McpSession]) -> _Running:
        questions = self._questions[key.folder]
        server = RunningServer(key.id, entry, self._around, questions)
        server.set_sessions(sessions)
        task = asyncio.get_running_loop().create_task(server.run(), name=f"MCP server {key.name}")
        self._running[key] = running = _Running(server, task)
        self._spawn(self._watch(key, task))
        return running

    async def _watch(self, key: _Key, task: "asyncio.Task[None]") -> None:
        """Log what fails unforeseen in one server: the others keep running."""
        try:
            await task
        except asyncio.CancelledError:
            task.cancel()
            raise
        except Exception:  # noqa: BLE001 - logged and told; the other servers go on
            _log.exception("the MCP server %s failed", safe_text(key.name))
            self._around.report(f"MCP server {safe_text(key.name)} failed: see the log", "error")
            self._tell_gone(key, "tapui failed at it: its log says more")

    async def _end(self, key: _Key, reason: str) -> None:
        running = self._running.pop(key)
        self._standing.pop(key, None)
        await running.server.stop()
        await asyncio.wait([running.task])
        self._tell_gone(key, reason)

    def _tell_gone(self, key: _Key, reason: str) -> None:
        turn = self._around.turn
        turn.tell(turn.gateway.mcp_servers.gone, key.id, reason)

    # Consents, and the files that commands name

    async def _look_at_consents(self) -> None:
        watched = {
            key: [str(Path(key.folder, name)) for name in one.server.watched]
            for key, one in self._running.items()
            if key.folder
        }
        if not watched:
            return
        marks = await asyncio.to_thread(self._marks, watched)
        damage = self._around.consents.damage
        if damage and damage != self._damage:
            self._around.report(safe_text(damage), "warning")
        self._damage = damage
        for key, mark in marks.items():
            before = self._standing.get(key)
            self._standing[key] = mark
            running = self._running.get(key)
            if before is not None and before != mark and running is not None:
                running.server.look()

    def _marks(self, watched: dict[_Key, list[str]]) -> dict[_Key, tuple[object, Signature]]:
        mark = self._around.consents.mark
        return {key: (mark, signature(paths)) for key, paths in watched.items()}
