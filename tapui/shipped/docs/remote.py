"""Context7, the service that has documents of what is not here. Asked only if the person allows it.

What it answers is text from outside: bounded, and data. Redirects are not followed, and the whole
takes ten seconds at most. Answers are kept for a day, in a private folder.
"""

import contextlib
import hashlib
import http.client
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

import msgspec

from tapui import __version__
from tapui.files import private_file
from tapui.secret import Secret

_SECONDS = 10.0
_ANSWER_BYTES = 1024 * 1024
_KEPT_SECONDS = 24 * 3600.0
_MOST_KEPT = 200
"""Answers that are kept; the oldest goes."""
_FOLDER = "docs-remote"
_MOST_FOUND = 10


class RemoteError(Exception):
    """It did not answer as expected; the text says why."""


class RemoteLibrary(NamedTuple):
    """A library that the service knows."""

    id: str
    title: str
    description: str


class _Listed(msgspec.Struct):
    id: str
    title: str | None = None
    name: str | None = None
    description: str | None = None


class _Results(msgspec.Struct):
    results: list[_Listed] = []


_FOUND = msgspec.json.Decoder(list[_Listed] | _Results)


class Context7:
    """Asks one address. `key` is sent to it and nowhere else."""

    def __init__(
        self,
        address: str,
        state: Path,
        key: Secret | None = None,
        clock: Callable[[], float] = time.time,
        seconds: float = _SECONDS,
    ) -> None:
        self.address = address.rstrip("/")
        self._state = state
        self._key = key
        self._clock = clock
        self._seconds = seconds

    def libraries(self, name: str) -> list[RemoteLibrary]:
        """Return the libraries that it finds by a name. Raises `RemoteError`."""
        data = self._answer("/api/v2/libs/search", {"libraryName": name, "query": name})
        try:
            found = _FOUND.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise RemoteError("its answer is not understood") from None
        listed = found if isinstance(found, list) else found.results
        return [
            RemoteLibrary(one.id, one.title or one.name or one.id, one.description or "")
            for one in listed[:_MOST_FOUND]
        ]

    def context(self, library_id: str, query: str) -> str:
        """Return what it has about a question, as text. Raises `RemoteError`."""
        asked = {"libraryId": library_id, "query": query, "type": "txt"}
        return self._answer("/api/v2/context", asked).decode("utf-8", "replace").strip()

    def _answer(self, path: str, asked: dict[str, str]) -> bytes:
        url = f"{self.address}{path}?{urlencode(asked)}"
        name = hashlib.sha256(url.encode()).hexdigest()
        if (kept := self._kept(name)) is not None:
            return kept
        data = self._fetched(url)
        with contextlib.suppress(OSError):  # it is asked again next time
            self._keep(name, data)
        return data

    def _kept(self, name: str) -> bytes | None:
        path = self._state / _FOLDER / name
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        with open(fd, "rb") as file:  # noqa: PTH123 - of a descriptor
            if self._clock() - os.fstat(fd).st_mtime > _KEPT_SECONDS:
                return None
            return file.read(_ANSWER_BYTES)

    def _keep(self, name: str, data: bytes) -> None:
        folder = private_file.private_folder(self._state, _FOLDER)
        kept = sorted(folder.iterdir(), key=lambda one: one.stat().st_mtime)
        for old in kept[: max(0, len(kept) - _MOST_KEPT + 1)]:
            old.unlink(missing_ok=True)
        private_file.write_in(folder, name, data, is_lasting=False)

    def _fetched(self, url: str) -> bytes:
        try:
            return self._got(url)
        except TimeoutError:
            raise RemoteError("it does not answer in time") from None
        except ssl.SSLError as error:
            raise RemoteError(f"no secure connection: {error.reason or error}") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else None
            raise RemoteError(why or "it cannot be reached") from None

    def _got(self, url: str) -> bytes:
        parts = urlsplit(url)
        connection: http.client.HTTPConnection
        if parts.scheme == "https":
            secure = ssl.create_default_context()
            connection = http.client.HTTPSConnection(
                parts.netloc, timeout=self._seconds, context=secure
            )
        else:
            connection = http.client.HTTPConnection(parts.netloc, timeout=self._seconds)
        headers = {"User-Agent": f"tapui/{__version__}", "Accept": "application/json, text/plain"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key.reveal()}"
        begin = time.monotonic()
        connection.connect()
        is_late = threading.Event()
        # A server that sends a byte now and then would hold a time-out of each read off. The
        # connection forgets its socket where the answer has no length: so it is named here.
        left = max(0.0, self._seconds - (time.monotonic() - begin))
        guard = threading.Timer(left, _cut_off, (connection.sock, is_late))
        guard.daemon = True
        guard.start()
        try:
            connection.request("GET", f"{parts.path}?{parts.query}", headers=headers)
            answer = connection.getresponse()
            data = answer.read(_ANSWER_BYTES)
        finally:
            guard.cancel()
            connection.close()
        if is_late.is_set():
            raise TimeoutError
        if answer.status != 200:
            what = " (redirects are not followed)" if 300 <= answer.status < 400 else ""
            raise RemoteError(f"it answered {answer.status}{what}")
        return data


def _cut_off(connected: socket.socket, is_late: threading.Event) -> None:
    is_late.set()
    with contextlib.suppress(OSError):  # it has ended by itself
        connected.shutdown(socket.SHUT_RDWR)
