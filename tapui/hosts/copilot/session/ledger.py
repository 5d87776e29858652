"""Calls that a killed tapui left unanswered, settled by the next one so that no turn hangs.

Which pending calls were tapui's is known from a small file in the session's folder: one file per
process, one line per call begun or ended, gone when nothing is pending.
"""

import asyncio
import os
import re
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import psutil

from tapui.hosts.copilot.connection import CliSession, objects_of, text_of
from tapui.hosts.copilot.finding.discovery import Process

_NAME = re.compile(r"unanswered\.(\d{1,10})\.calls\Z")
_MAX_BYTES = 1024 * 1024
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
WORDS = "tapui ended before the tool answered; call it again if it is still wanted"
"""The result of such a call for the model."""


class Ledger:
    """The calls that this process has begun and not answered, on disk before they begin.

    `folder` is made when the first call begins. The methods block on the disk, so they are called
    in threads, from several at a time; they raise `OSError`.
    """

    def __init__(self, folder: Path) -> None:
        me = psutil.Process()
        self._owner = Process(me.pid, me.create_time())
        self._lock = threading.Lock()
        self._open: set[str] = set()
        self._file: int | None = None
        self._is_closed = False
        self.keep_in(folder)

    def keep_in(self, folder: Path) -> None:
        """Use this folder, from before the first call on."""
        self._folder = folder
        self._path = folder / f"unanswered.{self._owner.pid}.calls"

    def begin(self, request_id: str) -> None:
        with self._lock:
            if self._is_closed:
                return
            if self._file is None:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._path.unlink(missing_ok=True)
                self._file = os.open(self._path, _FLAGS | os.O_EXCL, 0o600)
                os.write(self._file, f"{self._owner.started!r}\n".encode())
            self._open.add(request_id)
            os.write(self._file, f"+{request_id}\n".encode())

    def end(self, request_id: str) -> None:
        with self._lock:
            if request_id not in self._open:
                return
            self._open.remove(request_id)
            if not self._open:
                self._remove()
            elif self._file is not None:
                os.write(self._file, f"-{request_id}\n".encode())

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._open.clear()
            self._remove()

    def _remove(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
            self._path.unlink(missing_ok=True)

    def inherited(self) -> dict[Path, set[str]]:
        """Return the calls that processes which are gone left behind, by their files."""
        found: dict[Path, set[str]] = {}
        if not self._folder.is_dir():
            return found
        for path in self._folder.iterdir():
            name = _NAME.fullmatch(path.name)
            if name is None or path == self._path or path.is_symlink():
                continue
            started, calls = _read(path)
            if not Process(int(name[1]), started).is_alive():
                found[path] = calls
        return found


def _read(path: Path) -> tuple[float, set[str]]:
    with path.open("rb") as file:
        lines = file.read(_MAX_BYTES).decode("utf-8", "replace").split("\n")
    try:
        started = float(lines[0])
    except ValueError:
        started = 0.0
    calls: set[str] = set()
    for line in lines[1:]:
        if line.startswith("+"):
            calls.add(line[1:])
        else:
            calls.discard(line[1:])
    return started, calls


async def fail(session: CliSession, request_id: str, words: str) -> None:
    """Answer a pending call with an error that the model reads; raises `AttachError`."""
    await answer(session, request_id, failure(words))


def failure(words: str) -> dict[str, str]:
    """Return the result of a call that failed, as the CLI has it."""
    return {"textResultForLlm": words, "resultType": "failure", "error": words}


async def answer(session: CliSession, request_id: str, result: Mapping[str, Any]) -> None:
    """Answer a pending call; raises `AttachError`."""
    method = "session.tools.handlePendingToolCall"
    await session.ask("answer a call", method, requestId=request_id, result=result)


async def settle(session: CliSession, ledger: Ledger, abandoned: deque[str]) -> int:
    """Answer the calls that a former tapui left pending, with an error; return how many.

    `abandoned` are those that this one could not answer itself; it is emptied. Calls of other
    clients are not touched. Raises `AttachError` and `OSError`.
    """
    inherited = await asyncio.to_thread(ledger.inherited)
    if not inherited and not abandoned:
        return 0
    left = set(abandoned).union(*inherited.values())
    pending = await session.ask("list the pending calls", "session.tools.listPendingRequests")
    settled = 0
    for item in objects_of(pending, "items"):
        request_id = text_of(item, "requestId")
        if request_id in left and request_id is not None:
            await fail(session, request_id, WORDS)
            settled += 1
    abandoned.clear()
    await asyncio.to_thread(_remove, inherited)
    return settled


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
