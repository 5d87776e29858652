"""Our quick reading of frames agrees with the library's parser, whatever arrives."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import OPEN
from websockets.server import ServerProtocol

from tapui.runtime.websocket import frames
from tapui.runtime.websocket.frames import Binary, Incoming, text_header

LIMIT = 300


def protocol() -> ServerProtocol:
    return ServerProtocol(state=OPEN, max_size=LIMIT)


class Reference:
    """The library alone, with its frames put together the obvious way."""

    def __init__(self) -> None:
        self.protocol = protocol()
        self.events: list[tuple[str, bytes]] = []
        self._parts: list[Frame] = []

    def receive(self, data: bytes) -> None:
        self.protocol.receive_data(data)
        for frame in self.protocol.events_received():
            assert isinstance(frame, Frame)
            if frame.opcode in (Opcode.CLOSE, Opcode.PING, Opcode.PONG):
                self.events.append((frame.opcode.name, bytes(frame.data)))
                continue
            self._parts.append(frame)
            if frame.fin:
                whole = b"".join(part.data for part in self._parts)
                self.events.append((self._parts[0].opcode.name, whole))
                self._parts.clear()


def described(event: frames.Event) -> tuple[str, bytes]:
    if isinstance(event, bytes):
        return "TEXT", event
    if isinstance(event, Binary):
        assert event.size == len(event.data)
        return "BINARY", event.data
    assert isinstance(event, Frame)
    return event.opcode.name, bytes(event.data)


@st.composite
def wire_frames(draw: st.DrawFn) -> bytes:
    """One frame, mostly legal: any first byte, any length form, masked or (rarely) not."""
    first = draw(
        st.one_of(
            st.sampled_from([0x81, 0x81, 0x81, 0x01, 0x00, 0x80, 0x82, 0x89, 0x8A]),
            st.sampled_from([0x88, 0x02, 0x09, 0xC1, 0x83, 0x8B, 0x91]),
        )
    )
    size = draw(st.sampled_from([0, 1, 2, 5, 124, 125, 126, 127, 299, 300, 301, 400]))
    if first == 0x88:
        payload = draw(st.sampled_from([b"", b"\x03\xe8", b"\x03\xe8bye", b"\x03", b"\x00\x01"]))
        size = len(payload)
    else:
        payload = bytes(draw(st.integers(0, 255)) for _ in range(min(size, 3))) + b"x" * (size - 3)
        payload = payload[:size]
    form = draw(st.sampled_from(["short", "medium", "long"])) if size < 126 else "medium"
    masked = draw(st.integers(0, 30)) > 0
    bit = 0x80 if masked else 0
    if size < 126 and form == "short":
        header = bytes((first, bit | size))
    elif form == "medium":
        header = bytes((first, bit | 126)) + size.to_bytes(2, "big")
    else:
        header = bytes((first, bit | 127)) + size.to_bytes(8, "big")
    if not masked:
        return header + payload
    mask = draw(st.binary(min_size=4, max_size=4))
    return header + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload))


def comparable(sent: list[bytes]) -> list[bytes]:
    """Return the frames up to a control frame that the library refuses as too large.

    It counts a control frame against what is left of the limit of the message around it; ours does
    not.
    """
    reference, kept = Reference(), []
    for one in sent:
        reference.receive(one)
        closed = reference.protocol.close_sent
        if closed is not None and closed.code == CloseCode.MESSAGE_TOO_BIG and one[0] & 0x08:
            break
        kept.append(one)
    return kept


@settings(max_examples=600, deadline=None)
@given(
    sent=st.lists(wire_frames(), max_size=12),
    cuts=st.lists(st.integers(0, 2000), max_size=12),
    single=st.booleans(),
)
def test_any_stream_in_any_pieces_reads_as_the_library_reads_it(
    sent: list[bytes], cuts: list[int], single: bool
) -> None:
    stream = b"".join(comparable(sent))
    reference = Reference()
    reference.receive(stream)

    ours = protocol()
    incoming = Incoming(ours, LIMIT, LIMIT)
    events: list[tuple[str, bytes]] = []
    edges = sorted({0, *(cut for cut in cuts if cut < len(stream)), len(stream)})
    for start, stop in itertools.pairwise(edges):
        found = incoming.receive(stream[start:stop], single=single)
        while found:
            assert not single or len(found) == 1
            events += [described(event) for event in found]
            found = incoming.receive(b"", single=single) if single else []

    assert events == reference.events
    assert ours.state is reference.protocol.state
    assert ours.close_rcvd == reference.protocol.close_rcvd
    theirs = reference.protocol.close_sent
    if theirs is not None and theirs.code == CloseCode.MESSAGE_TOO_BIG:
        # The words differ, as the library is not told how much of the message came before; a frame
        # that is a violation besides may be refused as that.
        assert ours.close_sent is not None
        assert ours.close_sent.code in (CloseCode.MESSAGE_TOO_BIG, CloseCode.PROTOCOL_ERROR)
        return
    assert ours.close_sent == theirs
    assert ours.data_to_send() == reference.protocol.data_to_send()


@settings(max_examples=300, deadline=None)
@given(
    parts=st.lists(st.integers(0, 700), min_size=1, max_size=6),
    is_text=st.booleans(),
    cuts=st.lists(st.integers(0, 4000), max_size=12),
    data=st.data(),
)
def test_of_messages_that_are_too_large_the_beginning_is_kept(
    parts: list[int], is_text: bool, cuts: list[int], data: st.DataObject
) -> None:
    whole, limit, head = 1000, 2000, frames.OVERSIZED_HEAD_BYTES
    message = data.draw(st.randoms()).randbytes(sum(parts))
    stream, start = b"", 0
    for number, size in enumerate(parts):
        opcode = Opcode.CONT if number else Opcode.TEXT if is_text else Opcode.BINARY
        piece = Frame(opcode, message[start : start + size], number == len(parts) - 1)
        stream += piece.serialize(mask=True)
        start += size
    ours = protocol()
    incoming = Incoming(ours, whole, limit)
    events: list[frames.Event] = []
    edges = sorted({0, *(cut for cut in cuts if cut < len(stream)), len(stream)})
    for begin, end in itertools.pairwise(edges):
        events += incoming.receive(stream[begin:end])
        assert len(incoming._parts) <= max(whole, head)
    if len(message) > limit:
        assert events == []
        assert ours.close_sent is not None
        assert ours.close_sent.code == CloseCode.MESSAGE_TOO_BIG
        return
    (event,) = events
    if not is_text:
        assert isinstance(event, Binary)
        assert event.size == len(message)
        assert message.startswith(event.data)
    elif len(message) <= whole:
        assert event == message
    else:
        assert isinstance(event, frames.Oversized)
        assert event.start == message[:head]


@given(size=st.sampled_from([0, 1, 125, 126, 127, 65535, 65536, 70000]))
def test_our_headers_are_the_library_s(size: int) -> None:
    data = b"a" * size
    assert text_header(size) + data == Frame(Opcode.TEXT, data).serialize(mask=False)


def test_a_message_of_too_many_fragments_is_reported() -> None:
    incoming = Incoming(protocol(), LIMIT, LIMIT, most_fragments=3)
    empty = Frame(Opcode.CONT, b"", fin=False).serialize(mask=True)
    stream = Frame(Opcode.TEXT, b"", fin=False).serialize(mask=True) + empty * 3
    assert isinstance(incoming.receive(stream)[-1], frames.TooManyFragments)


def test_what_is_kept_of_an_unfinished_frame_is_bounded() -> None:
    incoming = Incoming(protocol(), LIMIT, LIMIT)
    head = bytes((0x81, 0xFE)) + LIMIT.to_bytes(2, "big") + b"mask"
    assert incoming.receive(head + b"x" * (LIMIT - 1)) == []
    assert incoming.pending
    assert len(incoming.receive(b"x")) == 1
    assert not incoming.pending
