"""What tapui uses of `websockets` beyond its documented interface is there and does what it did."""

from websockets.frames import Frame, Opcode
from websockets.protocol import OPEN
from websockets.server import ServerProtocol

from tapui.runtime.websocket.frames import (
    apply_mask,
    has_received_close,
    has_sent_eof,
)


def test_apply_mask_of_the_speedups_or_the_utils() -> None:
    assert apply_mask(b"\x00\x01\x02\x03\x04", b"\x01\x00\x00\xff") == b"\x01\x01\x02\xfc\x05"
    assert bytes(apply_mask(memoryview(b"abc"), b"\0\0\0\0")) == b"abc"


def test_eof_sent_and_close_rcvd_of_the_protocol() -> None:
    protocol = ServerProtocol(state=OPEN)
    assert not has_sent_eof(protocol)
    assert not has_received_close(protocol)
    protocol.receive_data(Frame(Opcode.CLOSE, b"\x03\xe8").serialize(mask=True))
    assert has_received_close(protocol)
    assert has_sent_eof(protocol)


def test_eof_sent_after_a_violation() -> None:
    protocol = ServerProtocol(state=OPEN)
    protocol.receive_data(Frame(Opcode.CONT, b"").serialize(mask=True))
    assert has_sent_eof(protocol)
    assert not has_received_close(protocol)
