"""One end of a conversation, without I/O: bytes in, messages out."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapui.jsonrpc.peer import (
    MAX_HEADER,
    FramingError,
    Incoming,
    RpcAnswer,
    RpcNotification,
    RpcPeer,
    RpcRefusal,
    RpcRequest,
)


def framed(body: bytes | dict[str, Any], head: bytes = b"Content-Length: %d\r\n\r\n") -> bytes:
    data = body if isinstance(body, bytes) else json.dumps({"jsonrpc": "2.0", **body}).encode()
    return head % len(data) + data


SAID: list[tuple[dict[str, Any], Incoming]] = [
    ({"id": 1, "method": "a", "params": {"b-c": [1]}}, RpcRequest(1, "a", {"b-c": [1]})),
    ({"id": "x", "method": "a"}, RpcRequest("x", "a", None)),
    ({"method": "told", "params": "\N{PILE OF POO}"}, RpcNotification("told", "\N{PILE OF POO}")),
    ({"id": 7, "result": None}, RpcAnswer(7, None)),
    ({"id": 7, "result": 1, "error": None}, RpcAnswer(7, 1)),
    ({"id": 7, "error": {"code": -32601, "message": "no"}}, RpcRefusal(7, -32601, "no")),
    ({"id": 7, "error": {"code": "E", "message": None}}, RpcRefusal(7, None, "None")),
    ({"id": 7, "error": "broken"}, RpcRefusal(7, None, "broken")),
]


@pytest.mark.parametrize(("body", "message"), SAID, ids=str)
def test_what_is_said_is_heard(body: dict[str, Any], message: Incoming) -> None:
    assert RpcPeer().receive(framed(body)) == [message]


@given(st.lists(st.integers(1, 60), max_size=60))
def test_bytes_come_in_any_pieces(sizes: list[int]) -> None:
    data = b"".join(framed(body) for body, _ in SAID)
    peer, heard = RpcPeer(), []
    for size in [*sizes, len(data)]:
        heard += peer.receive(data[:size])
        data = data[size:]
    assert heard == [message for _, message in SAID]


@pytest.mark.parametrize(
    "head",
    [
        b"content-length:%d\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
        b"CONTENT-LENGTH: %d \r\nX: y\r\n\r\n",
    ],
)
def test_headers_as_others_write_them(head: bytes) -> None:
    assert RpcPeer().receive(framed({"method": "m"}, head)) == [RpcNotification("m", None)]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"Content-Length: 1001\r\n\r\n", "more than 1,000 bytes: 1,001"),
        (b"Content-Length: 9" + b"9" * 30 + b"\r\n\r\n", "names no length"),
        (b"Content-Length: -1\r\n\r\n", "names no length"),
        (b"Content-Length: 1e3\r\n\r\n", "names no length"),
        (b"X: Content-Length: 3\r\n\r\n", "names no length"),
        (b"\r\n\r\n", "names no length"),
        (b"HTTP/1.1 400 Bad RpcRequest\r\n\r\n", "names no length"),
        (b"x" * MAX_HEADER, "a header has more than"),
        (b"Content-Length: 3\r\nX: " + b"x" * MAX_HEADER, "a header has more than"),
    ],
)
def test_what_is_no_frame_ends_it(data: bytes, why: str) -> None:
    with pytest.raises(FramingError, match=why):
        RpcPeer(max_message=1000).receive(data)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"x"',
        b"{}",
        b'{"jsonrpc":"1.0","method":"m"}',
        b'{"jsonrpc":"2.0"}',
        b'{"jsonrpc":"2.0","id":1.5,"result":1}',
        b'{"jsonrpc":"2.0","id":true,"result":1}',
        b'{"jsonrpc":"2.0","id":[],"method":"m"}',
        b'{"jsonrpc":"2.0","method":1}',
        b'[{"jsonrpc":"2.0","method":"m"}]',
        b"\xff\xfe",
        b"[" * 900,
    ],
)
def test_what_is_no_message_costs_itself(body: bytes) -> None:
    assert RpcPeer().receive(framed(body) + framed({"method": "m"})) == [RpcNotification("m", None)]


def test_what_javascript_writes_and_json_forbids_is_read() -> None:
    (told,) = RpcPeer().receive(
        framed(b'{"jsonrpc":"2.0","method":"m","params":["\\ud83d|\\ud83d\\ude00|\\ude00",NaN]}')
    )
    half = "\N{REPLACEMENT CHARACTER}"
    assert told == RpcNotification("m", [f"{half}|\N{GRINNING FACE}|{half}", None])


def test_requests_are_numbered_and_what_is_not_there_is_not_written() -> None:
    peer = RpcPeer()
    first = b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"b":null}}'
    assert peer.request("a", {"b": None}) == (1, framed(first))
    assert peer.request("c", None) == (2, framed(b'{"jsonrpc":"2.0","id":2,"method":"c"}'))


def test_each_kind_of_message_comes_back_as_it_was_meant() -> None:
    here, there = RpcPeer(), RpcPeer()
    sent = [
        here.request("ask", [1])[1],
        here.notification("tell", None),
        here.answer("q", None),
        here.refusal(4, -32000, "no \ud83d"),
    ]
    assert there.receive(b"".join(sent)) == [
        RpcRequest(1, "ask", [1]),
        RpcNotification("tell", None),
        RpcAnswer("q", None),
        RpcRefusal(4, -32000, "no \N{REPLACEMENT CHARACTER}"),
    ]
