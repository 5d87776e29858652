"""Posting OTLP/JSON to a collector over HTTP: no redirect is followed, and no post lasts long."""

import contextlib
import http.client
import socket
import ssl
import threading
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec

from tapui import __version__

PATH = "/v1/traces"
"""Where OTLP has spans below an endpoint's address."""
_ANSWER_BYTES = 64 * 1024


class ExportError(Exception):
    """An endpoint did not take spans; the text says why."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address that takes spans."""

    is_secure: bool
    host: str
    port: int
    path: str

    @classmethod
    def of(cls, address: str) -> "Endpoint":
        """Read an address, of the collector or of its path for spans. Raises `ValueError`."""
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{address} is no http or https address")
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError("the address must be without a name, a password, ? and #")
        is_secure = parts.scheme == "https"
        path = parts.path.rstrip("/")
        if not path.endswith(PATH):
            path += PATH
        return cls(is_secure, parts.hostname, parts.port or (443 if is_secure else 80), path)

    def __str__(self) -> str:
        """Return scheme, host and port, for notices."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_secure else 'http'}://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class PostTimes:
    """Seconds: for each wait for the other end, and for a post altogether."""

    wait: float = 3.0
    whole: float = 10.0


class _PartialSuccess(msgspec.Struct, rename="camel"):
    rejected_spans: int | str = 0


class _Answer(msgspec.Struct, rename="camel"):
    partial_success: _PartialSuccess | None = None


class Poster:
    """Posts to one endpoint, over a connection that is kept. Used by one thread at a time."""

    def __init__(self, endpoint: Endpoint, times: PostTimes | None = None) -> None:
        self._endpoint = endpoint
        self._times = times or PostTimes()
        self._connection: http.client.HTTPConnection | None = None

    def post(self, body: bytes) -> int:
        """Post a document; return how many of its spans were not accepted.

        Raises `ExportError`, after `PostTimes.whole` seconds and a wait at most (a name server may
        take longer).
        """
        is_kept = self._connection is not None
        try:
            return self._posted(body)
        except (http.client.RemoteDisconnected, ConnectionError, BrokenPipeError) as error:
            self.close()
            if not is_kept:
                raise ExportError(_why(error)) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise ExportError(_why(error)) from None
        try:  # the other end had closed the kept connection
            return self._posted(body)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise ExportError(_why(error)) from None

    def _posted(self, body: bytes) -> int:
        connection = self._connection = self._connection or self._opened()
        if connection.sock is None:
            connection.connect()
        is_late = threading.Event()
        # The connection forgets its socket where an answer has no length: so it is named here.
        guard = threading.Timer(self._times.whole, _cut_off, (connection.sock, is_late))
        guard.daemon = True
        guard.start()
        try:
            headers = {"Content-Type": "application/json", "User-Agent": f"tapui/{__version__}"}
            connection.request("POST", self._endpoint.path, body, headers)
            answer = connection.getresponse()
            data = answer.read(_ANSWER_BYTES + 1)
        except (OSError, http.client.HTTPException, ValueError):
            if is_late.is_set():
                raise TimeoutError from None  # it ended as we cut it off
            raise
        finally:
            guard.cancel()
        if is_late.is_set():
            raise TimeoutError
        if answer.will_close or len(data) > _ANSWER_BYTES:
            self.close()
        if not 200 <= answer.status < 300:
            self.close()
            what = " (redirects are not followed)" if 300 <= answer.status < 400 else ""
            raise ExportError(f"it answered {answer.status}{what}")
        return _rejected(data)

    def _opened(self) -> http.client.HTTPConnection:
        endpoint, wait = self._endpoint, self._times.wait
        if endpoint.is_secure:
            return http.client.HTTPSConnection(
                endpoint.host, endpoint.port, timeout=wait, context=ssl.create_default_context()
            )
        return http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=wait)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _cut_off(connected: socket.socket, is_late: threading.Event) -> None:
    """End a post that lasts too long: the thread that waits for it goes on."""
    is_late.set()
    with contextlib.suppress(OSError):  # it has ended by itself
        connected.shutdown(socket.SHUT_RDWR)


def _why(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer in time"
    if isinstance(error, ssl.SSLError):
        return f"no secure connection: {error.reason or error}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "it does not speak HTTP" if isinstance(error, ValueError) else _told(error)


def _told(error: Exception) -> str:
    is_cut = isinstance(error, http.client.IncompleteRead | http.client.RemoteDisconnected)
    return "it ended the connection" if is_cut else "it does not speak HTTP"


def _rejected(data: bytes) -> int:
    """Return how many spans an answer says were not accepted; 0 for one that does not say."""
    try:
        told = msgspec.json.decode(data, type=_Answer).partial_success
        return max(int(told.rejected_spans), 0) if told is not None else 0
    except (msgspec.DecodeError, ValueError, RecursionError):
        return 0
