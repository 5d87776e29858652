"""How tapui and its child processes talk: a JSON object on each line, over a socket pair.

A child gets the number of its end as its last argument (`inherited_end`). What is longer than
`MAX_LINE_BYTES`, or is no message, is a `LineError`: its text never quotes the line, in which a
token may stand. The end of one process is the end of the other's input.

`channel.py` is an end of it on asyncio. `LastWords` is for programs that are not tapui's.
"""

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from tapui.secret import Secret
from tapui.wire.surrogates import without_surrogates

M = TypeVar("M")

MAX_LINE_BYTES = 16 * 1024 * 1024
"""A line, without its end."""
_CHUNK = 64 * 1024
ENDS = 256
"""Bytes kept of both ends of a line that is too long: JSON-RPC's senders look for its id there."""


class LineError(Exception):
    """A line that is too long or no message, or a message that is no line."""


class LongLine(NamedTuple):
    """A line of more than `MAX_LINE_BYTES`: its `size`, its first and its last bytes."""

    size: int
    first: bytes
    last: bytes


class LineSplitter:
    """Bytes to lines, without their ends. However long a line is, a bounded part of it is kept."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._size = 0

    def feed(self, data: bytes) -> Iterator[bytes | LongLine]:
        """Yield the lines that are whole by now."""
        *whole, rest = data.split(b"\n")
        for part in whole:
            if not self._size and len(part) <= MAX_LINE_BYTES:
                yield part  # most lines come in one piece: they are not copied
                continue
            self._add(part)
            yield self._end()
        self._add(rest)

    def finish(self) -> Iterator[bytes | LongLine]:
        """Yield what came after the last end of a line."""
        if self._size:
            yield self._end()

    def _add(self, part: bytes) -> None:
        self._begun += part
        self._size += len(part)
        if self._size > MAX_LINE_BYTES:
            del self._begun[ENDS:-ENDS]

    def _end(self) -> bytes | LongLine:
        line, size = bytes(self._begun), self._size
        self._begun.clear()
        self._size = 0
        if size > MAX_LINE_BYTES:
            return LongLine(size, line[:ENDS], line[-ENDS:])
        return line


class LineCodec(Generic[M]):
    """Messages as lines. `received` is the union of what comes from the other process."""

    def __init__(self, received: Any, *, mends: bool = False) -> None:
        """With `mends`, text that is not UTF-8 is sent with replacement characters; else it is
        refused: a command or a path would be another one."""
        self._decoder: msgspec.json.Decoder[M] = msgspec.json.Decoder(received, dec_hook=_decoded)
        self._mends = mends

    def encode(self, message: Struct) -> bytes:
        """Return a message as a line with its end. Raises `LineError`."""
        try:
            text = self._encode(message)
        except UnicodeEncodeError as error:
            raise LineError(f"text that cannot be encoded: {error.reason}") from None
        if len(text) > MAX_LINE_BYTES:
            raise LineError(f"a message of {len(text)} bytes")
        # JSON that is passed through may have ends of lines.
        return text.replace(b"\n", b" ") + b"\n"

    def _encode(self, message: Struct) -> bytes:
        try:
            return _encoder.encode(message)
        except UnicodeEncodeError:
            if not self._mends:
                raise
        return _encoder.encode(without_surrogates(message))

    def decode(self, line: bytes | LongLine) -> M:
        """Return the message of a line. Raises `LineError`."""
        if isinstance(line, LongLine):
            raise LineError(f"a message of {line.size} bytes")
        try:
            return self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise LineError(type(error).__name__) from None


def inherited_end(number: str) -> socket.socket:
    """Return this process's end of the socket pair, which its own children do not inherit."""
    end = socket.socket(fileno=int(number))
    end.set_inheritable(False)
    return end


def _encoded(value: object) -> object:
    if isinstance(value, Secret):
        return value.reveal()
    raise NotImplementedError(type(value).__name__)


def _decoded(wanted: type, value: object) -> object:
    if wanted is Secret and isinstance(value, str):
        return Secret(value)
    raise NotImplementedError(wanted.__name__)


_encoder = msgspec.json.Encoder(enc_hook=_encoded)


class LastWords:
    """Reads what a program writes beside its messages, and keeps the end: why it ended, perhaps."""

    def __init__(self, stream: asyncio.StreamReader, most: int) -> None:
        self._stream, self._most = stream, most
        self._kept = bytearray()
        self.reading = asyncio.create_task(self._read(), name="what a program logs")
        """Done at the stream's end."""

    async def _read(self) -> None:
        while data := await self._stream.read(_CHUNK):
            self._kept += data
            del self._kept[: -self._most]

    async def line(self, within: float = 1.0) -> str:
        """Return the last line, once the program's end is read or that many seconds are over."""
        with contextlib.suppress(TimeoutError):  # another process holds the stream
            await asyncio.wait_for(asyncio.shield(self.reading), within)
        return self._kept.decode("utf-8", "replace").strip().rpartition("\n")[2]
