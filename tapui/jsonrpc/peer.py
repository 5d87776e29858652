"""One end of a JSON-RPC 2.0 conversation without I/O: bytes in, messages out, and the reverse.

Each message is JSON behind a header that names its length, as the Language Server Protocol has it:
`Content-Length: 17`, an empty line, 17 bytes. Messages stay decoded JSON.
"""

import itertools
import json
import logging
import re
from dataclasses import dataclass
from typing import Any

import msgspec

MAX_MESSAGE = 64 * 1024 * 1024
"""Bytes of one message of the other end."""
MAX_HEADER = 4 * 1024
_LENIENT = 4 * 1024 * 1024
"""Bytes of a message that is read although JSON forbids it: that takes ten times as long."""
METHOD_NOT_FOUND, INTERNAL_ERROR, REQUEST_CANCELLED = -32601, -32603, -32800
"""Codes of refusals; the last one is the Language Server Protocol's."""
_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,15})[ \t]*$", re.IGNORECASE | re.MULTILINE)

Id = int | str

_log = logging.getLogger(__name__)


class FramingError(Exception):
    """What came is no message, and where the next one begins is not known; the text says why."""


@dataclass(frozen=True, slots=True)
class RpcRequest:
    """The other end wants an answer."""

    id: Id
    method: str
    params: Any


@dataclass(frozen=True, slots=True)
class RpcNotification:
    """The other end tells something."""

    method: str
    params: Any


@dataclass(frozen=True, slots=True)
class RpcAnswer:
    """The result of the request `id` of this end."""

    id: Id
    result: Any


@dataclass(frozen=True, slots=True)
class RpcRefusal:
    """The other end refused the request `id` of this end."""

    id: Id
    code: int | None
    text: str


Incoming = RpcRequest | RpcNotification | RpcAnswer | RpcRefusal


class RpcPeer:
    """This end: it numbers its requests, and keeps what has come of an unfinished message."""

    def __init__(self, *, max_message: int = MAX_MESSAGE) -> None:
        self._max_message = max_message
        self._numbers = itertools.count(1)
        self._came = bytearray()
        self._needed = 0
        """Bytes that must be there before it is worth looking again."""

    def receive(self, data: bytes) -> list[Incoming]:
        """Take what came; return the messages that are whole. Raises `FramingError`.

        A message that is no JSON-RPC is left out: the next one begins where its header says.
        """
        self._came += data
        messages = []
        while len(self._came) >= self._needed and (body := self._next_body()) is not None:
            message = _read(body)
            if message is not None:
                messages.append(message)
            else:
                _log.warning(
                    "a message of %d bytes is no JSON-RPC, or nested too deeply", len(body)
                )
        return messages

    def _next_body(self) -> bytes | None:
        end = self._came.find(_END, 0, MAX_HEADER)
        if end < 0:
            if len(self._came) >= MAX_HEADER:
                raise FramingError(f"a header has more than {MAX_HEADER:,} bytes")
            self._needed = 0
            return None
        found = _LENGTH.search(self._came[:end].replace(b"\r\n", b"\n"))
        if found is None:
            raise FramingError("a header names no length")
        size = int(found[1])
        if size > self._max_message:
            raise FramingError(f"a message has more than {self._max_message:,} bytes: {size:,}")
        begin = end + len(_END)
        self._needed = begin + size
        if len(self._came) < self._needed:
            return None
        body = bytes(self._came[begin : self._needed])
        del self._came[: self._needed]
        self._needed = 0
        return body

    def request(self, method: str, params: Any) -> tuple[int, bytes]:
        """Return the id of a request, and its bytes."""
        id_ = next(self._numbers)
        return id_, _framed({"id": id_, "method": method, "params": params})

    @staticmethod
    def notification(method: str, params: Any) -> bytes:
        return _framed({"method": method, "params": params})

    @staticmethod
    def answer(id_: Id, result: Any) -> bytes:
        return _framed({"id": id_, "result": result})

    @staticmethod
    def refusal(id_: Id, code: int, text: str) -> bytes:
        return _framed({"id": id_, "error": {"code": code, "message": text}})


def _framed(message: dict[str, Any]) -> bytes:
    if message.get("params", ...) is None:
        del message["params"]
    message = {"jsonrpc": "2.0", **message}
    try:
        body = msgspec.json.encode(message)
    except UnicodeEncodeError:  # half of a pair of surrogates, which only an escape can write
        body = json.dumps(message, separators=(",", ":")).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def _read(body: bytes) -> Incoming | None:
    try:
        message = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        message = _read_leniently(body) if len(body) <= _LENIENT else None
    except RecursionError:
        return None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return None
    id_, method, params = message.get("id"), message.get("method"), message.get("params")
    if id_ is None and isinstance(method, str):
        return RpcNotification(method, params)
    if not isinstance(id_, int | str) or isinstance(id_, bool):
        return None
    if isinstance(method, str):
        return RpcRequest(id_, method, params)
    if method is not None:
        return None
    error = message.get("error")
    if error is None:
        return RpcAnswer(id_, message.get("result"))
    told = error if isinstance(error, dict) else {"message": error}
    code = told.get("code")
    return RpcRefusal(id_, code if isinstance(code, int) else None, str(told.get("message")))


def _read_leniently(body: bytes) -> Any:
    """Read what JavaScript writes and JSON forbids: a half of a pair of surrogates becomes a
    replacement character, a number that is none null."""
    try:
        return _whole(json.loads(body.decode("utf-8", "replace"), parse_constant=lambda _: None))
    except (ValueError, RecursionError):
        return None


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return value
