"""WebSocket frames: bytes of a client to complete messages, and text frames to bytes. No I/O.

The library's parser is complete but costs several microseconds a frame, and it holds a frame until
the last byte has come. Here data frames are read by tapui: nearly all of them are one frame, final,
text, masked. Of a message that is larger than any that is accepted only the beginning is kept, the
rest is counted and dropped as it arrives. Control frames and violations go to the library, and of
each data frame that is not a whole text message its first byte, without payload: so the library
alone knows whether a frame may come where it comes.
"""

from struct import Struct as Layout

from websockets.frames import CloseCode, Frame, Opcode
from websockets.server import ServerProtocol

try:
    from websockets.speedups import apply_mask
except ImportError:  # a platform without the compiled extension
    from websockets.utils import apply_mask

from tapui.wire.limits import OVERSIZED_HEAD_BYTES

MAX_FRAGMENTS = 100_000
"""Frames of one message. Their total size is bounded by the message limit."""

_TEXT = 0x81
_FIN = 0x80
_CONTROL = 0x08
_OPCODE = 0x0F
_LEGAL = frozenset({0x00, 0x80, 0x01, 0x81, 0x02, 0x82, 0x88, 0x89, 0x8A})
"""First bytes of legal frames without extensions: FIN, no reserved bits, opcode."""
_MASKED = 0x80
_NO_PAYLOAD = bytes((_MASKED, 0, 0, 0, 0))
"""What follows the first byte of a masked frame without payload."""
_MAX_CONTROL = 125
_SMALL = 4096
"""Up to here a slice is cheaper than a memoryview."""

_SHORT_HEADERS = tuple(bytes((_TEXT, size)) for size in range(126))
_MEDIUM_HEADER = Layout("!BBH")
_LONG_HEADER = Layout("!BBQ")


def text_header(size: int) -> bytes:
    """Return the header of one final, unmasked text frame of `size` bytes."""
    if size < 126:
        return _SHORT_HEADERS[size]
    if size < 65536:
        return _MEDIUM_HEADER.pack(_TEXT, 126, size)
    return _LONG_HEADER.pack(_TEXT, 127, size)


class Binary:
    """A complete binary message of `size` bytes; `data` is cut short when it is oversized."""

    __slots__ = ("data", "size")

    def __init__(self, data: bytes, size: int) -> None:
        self.data = data
        self.size = size


class Oversized:
    """A complete text message over the limit of those kept whole: `start` is its beginning."""

    __slots__ = ("start",)

    def __init__(self, start: bytes) -> None:
        self.start = start


class TooManyFragments:
    """A message came in more frames than are taken."""


Event = bytes | Oversized | Binary | Frame | TooManyFragments
"""A complete text message (its UTF-8 unchecked), a binary one, or a control frame."""


class Incoming:
    """Turns the bytes that follow a handshake into events.

    `protocol` is the connection's state machine, just opened and with nothing buffered; it is made
    with a small `max_size`, as only control frames and violations reach it. Pings are answered and
    close frames echoed in its output (`has_output` is set then); when it leaves the open state (a
    close frame, a violation, a message over `limit`), the caller of `receive()` finds it there.

    Messages of up to `whole` bytes are kept; of larger ones up to `limit` bytes the first 64 KiB.
    """

    __slots__ = (
        "_buffer", "_first", "_fragments", "_handed_over", "_in_message", "_is_cut", "_left",
        "_mask", "_most_fragments", "_parts", "_protocol", "_rest", "_size", "_text", "has_output",
        "limit", "whole",
    )  # fmt: skip

    def __init__(
        self,
        protocol: ServerProtocol,
        whole: int,
        limit: int,
        most_fragments: int = MAX_FRAGMENTS,
    ) -> None:
        self._protocol = protocol
        self.whole = whole
        self.limit = limit
        self._most_fragments = most_fragments
        self.has_output = False
        self._buffer = bytearray()
        self._rest = 0  # bytes that the library still needs to finish its frame
        self._handed_over = False
        # The frame whose payload is being read:
        self._first = 0  # its first byte
        self._left = -1  # payload bytes to come; -1 between frames
        self._mask = b""
        # The message that is being put together:
        self._in_message = False
        self._text = False
        self._fragments = 0
        self._size = 0
        self._is_cut = False
        self._parts = bytearray()

    @property
    def held(self) -> int:
        """Bytes that are kept of a message and a frame that are not complete."""
        return len(self._parts) + len(self._buffer)

    @property
    def pending(self) -> bool:
        """Whether bytes wait that `receive(b"")` may turn into events."""
        return bool(self._buffer)

    def receive(self, data: bytes, *, single: bool = False) -> list[Event]:
        """Take `data` in and return the events that it completes, in order.

        With `single`, stop after the first event and keep the rest for the next call.
        """
        events: list[Event] = []
        buffer = self._buffer
        chunk: bytes | bytearray = data
        if buffer:
            buffer += data
            chunk = buffer
        used = self._split(chunk, events, single)
        if chunk is buffer:
            del buffer[:used]
        elif used < len(data):
            buffer += memoryview(data)[used:]
        return events

    def _split(self, chunk: bytes | bytearray, events: list[Event], single: bool) -> int:
        """Take frames from the front of `chunk`; return how many bytes were used.

        Five states, asked for in this order: all is the library's; within a data frame; within a
        control frame, which the library reads; a header that is not complete; a header.
        """
        position, end = 0, len(chunk)
        while not (single and events):
            if self._handed_over:
                self._library(bytes(chunk[position:]), events)
                return end
            if self._left >= 0:
                step = min(self._left, end - position)
                if self._left and not step:
                    break
                self._payload(chunk, position, position + step)
                position += step
                if not self._left:
                    self._frame_ended(events)
                continue
            if self._rest:
                step = min(self._rest, end - position)
                if not step:
                    break
                self._rest -= step
                self._library(bytes(chunk[position : position + step]), events)
                position += step
                continue
            # The header of RFC 6455, 5.2: first byte, size (7, 16 or 64 bits), 4 bytes of mask. Its
            # parts are read here, without a call: this runs for each message.
            if end - position < 2:
                break
            first, size = chunk[position], chunk[position + 1] - _MASKED
            start = position + 6
            if size == 126:
                start = position + 8
                if end < start:
                    break
                size = chunk[position + 2] << 8 | chunk[position + 3]
            elif size == 127:
                start = position + 14
                if end < start:
                    break
                size = int.from_bytes(chunk[position + 2 : position + 10], "big")
            # `size` is below 0 where the mask bit is not set, which every client's frame needs.
            if first == _TEXT and 0 <= size <= self.whole and not self._in_message:
                stop = start + size
                if end < stop:
                    break
                events.append(_unmask(chunk, start, stop))
                position = stop
            elif first not in _LEGAL or size < 0:
                # A violation: the library answers it and reads nothing afterwards.
                self._handed_over = True
            elif first & _CONTROL:
                if size > _MAX_CONTROL:
                    self._handed_over = True
                else:
                    self._rest = start + size - position
            elif self._size + size > self.limit:
                self._too_big()
            elif end < start:
                break
            else:
                self._frame_began(first, size, bytes(chunk[start - 4 : start]))
                position = start
        return position

    # Data frames that are not a whole text message within its limit

    def _frame_began(self, first: int, size: int, mask: bytes) -> None:
        self._first, self._left, self._mask = first, size, mask
        if not self._in_message:
            self._text = first & _OPCODE == Opcode.TEXT
        if self._size + size > self.whole:
            self._is_cut = True
            del self._parts[OVERSIZED_HEAD_BYTES:]

    def _payload(self, chunk: bytes | bytearray, start: int, stop: int) -> None:
        """Take a part of the frame's payload: unmasked and kept, or only counted."""
        size = stop - start
        self._left -= size
        self._size += size
        if self._is_cut:
            stop = min(stop, start + OVERSIZED_HEAD_BYTES - len(self._parts))
        if stop > start:
            self._parts += apply_mask(bytes(chunk[start:stop]), self._mask)
        if turned := size % 4:
            self._mask = self._mask[turned:] + self._mask[:turned]

    def _frame_ended(self, events: list[Event]) -> None:
        first, self._left = self._first, -1
        self._library(bytes((first,)) + _NO_PAYLOAD, events)
        if self._handed_over:
            self._parts = bytearray()
            return
        is_last = bool(first & _FIN)
        if self._in_message or not is_last:
            self._fragments += 1
            if self._fragments > self._most_fragments:
                events.append(TooManyFragments())
                return
        self._in_message = not is_last
        if not is_last:
            return
        message, size = bytes(self._parts), self._size
        if not self._text:
            events.append(Binary(message, size))
        elif self._is_cut:
            events.append(Oversized(message))
        else:
            events.append(message)
        self._parts, self._fragments, self._size, self._is_cut = bytearray(), 0, 0, False

    def _too_big(self) -> None:
        """Refuse a message by the size that it announces: nothing more is read."""
        self._protocol.fail(
            CloseCode.MESSAGE_TOO_BIG, f"a message has at most {self.limit:,} bytes"
        )
        self.has_output = True
        self._handed_over = True
        self._parts = bytearray()

    def _library(self, data: bytes, events: list[Event]) -> None:
        protocol = self._protocol
        protocol.receive_data(data)
        self.has_output = True
        for frame in protocol.events_received():
            assert isinstance(frame, Frame)
            if frame.opcode not in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                events.append(frame)
        if has_sent_eof(protocol):
            self._handed_over = True  # it discards all that follows


def _unmask(chunk: bytes | bytearray, start: int, stop: int) -> bytes:
    mask = chunk[start - 4 : start]
    if stop - start <= _SMALL:
        return apply_mask(chunk[start:stop], mask)
    with memoryview(chunk) as view, view[start:stop] as payload:
        return apply_mask(payload, mask)


# What tapui uses of `websockets` beyond the documented interface, besides `apply_mask`.
# `pyproject.toml` bounds the library's major version; `tests/runtime/test_websockets_internals.py`
# names each of these.


def has_sent_eof(protocol: ServerProtocol) -> bool:
    """Return whether this side ended its output: a refused handshake, a violation, a close."""
    return protocol.eof_sent


def has_received_close(protocol: ServerProtocol) -> bool:
    return protocol.close_rcvd is not None


def release(protocol: ServerProtocol) -> None:
    """Let the state machine of a connection that is gone be freed when it is dropped.

    Its parser refers to it and so does what ended the parser: only a garbage collection would find
    the two, with what was read last.
    """
    protocol.parser.close()
    protocol.parser_exc = protocol.handshake_exc = None
