"""WebSocket frames: bytes of a client to complete messages, and text frames to bytes. No I/O.

The library's parser is complete but costs several microseconds a frame. Nearly everything that a
client sends is one frame, final, text, masked; these are read here, and every other frame goes to
the library, whole and in order, so that the two never disagree about where a frame begins.
"""

from struct import Struct as Layout

from websockets.frames import Frame, Opcode
from websockets.server import ServerProtocol

try:
    from websockets.speedups import apply_mask
except ImportError:  # a platform without the compiled extension
    from websockets.utils import apply_mask

MAX_FRAGMENTS = 100_000
"""Frames of one message. Their total size is bounded by the message limit."""

_TEXT = 0x81
_LEGAL = frozenset({0x00, 0x80, 0x01, 0x81, 0x02, 0x82, 0x88, 0x89, 0x8A})
"""First bytes of legal frames without extensions: FIN, no reserved bits, opcode."""
_MASKED = 0x80
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
    """A complete binary message."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


class TooManyFragments:
    """A message came in more than `MAX_FRAGMENTS` frames."""


Event = bytes | Binary | Frame | TooManyFragments
"""A complete text message (its UTF-8 unchecked), a binary one, or a control frame."""


class Incoming:
    """Turns the bytes that follow a handshake into events.

    `protocol` is the connection's state machine, just opened and with nothing buffered. Pings are
    answered and close frames echoed in its output; when it leaves the open state (a close frame, a
    violation, a message over its `max_message_size`), whoever calls `receive()` finds it there.
    """

    __slots__ = ("_buffer", "_fragments", "_handed_over", "_parts", "_protocol", "_rest", "_text")

    def __init__(self, protocol: ServerProtocol) -> None:
        self._protocol = protocol
        self._buffer = bytearray()
        self._rest = 0  # bytes that the library still needs to finish its frame
        self._handed_over = False
        self._fragments = 0
        self._text = False
        self._parts = bytearray()

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
        """Take frames from the front of `chunk`; return how many bytes were used."""
        limit = self._protocol.max_message_size
        assert limit is not None
        position, end = 0, len(chunk)
        while not (single and events):
            if self._handed_over:
                self._library(bytes(chunk[position:]), events)
                return end
            if self._rest:
                step = min(self._rest, end - position)
                if not step:
                    break
                self._rest -= step
                self._library(bytes(chunk[position : position + step]), events)
                position += step
                continue
            if end - position < 2:
                break
            size = chunk[position + 1] - _MASKED
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
            whole = self._protocol.current_size is None
            if chunk[position] == _TEXT and 0 <= size <= limit and whole:
                stop = start + size
                if end < stop:
                    break
                events.append(_unmask(chunk, start, stop))
                position = stop
            elif chunk[position] not in _LEGAL or not 0 <= size <= limit:
                # A violation: the library answers it and reads nothing afterwards.
                self._handed_over = True
            else:
                self._rest = start + size - position
        return position

    def _library(self, data: bytes, events: list[Event]) -> None:
        protocol = self._protocol
        protocol.receive_data(data)
        for frame in protocol.events_received():
            assert isinstance(frame, Frame)
            self._frame(frame, events)
        if protocol.eof_sent:
            self._handed_over = True  # it discards whatever follows

    def _frame(self, frame: Frame, events: list[Event]) -> None:
        opcode = frame.opcode
        if opcode not in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            events.append(frame)
            return
        if opcode is not Opcode.CONT:
            self._text = opcode is Opcode.TEXT
            if frame.fin:
                data = bytes(frame.data)
                events.append(data if self._text else Binary(data))
                return
        self._fragments += 1
        if self._fragments > MAX_FRAGMENTS:
            events.append(TooManyFragments())
            return
        self._parts += frame.data
        if frame.fin:
            message = bytes(self._parts)
            self._parts, self._fragments = bytearray(), 0
            events.append(message if self._text else Binary(message))


def _unmask(chunk: bytes | bytearray, start: int, stop: int) -> bytes:
    mask = chunk[start - 4 : start]
    if stop - start <= _SMALL:
        return apply_mask(chunk[start:stop], mask)
    with memoryview(chunk) as view, view[start:stop] as payload:
        return apply_mask(payload, mask)
