"""The lines between tapui and a bridge."""

import msgspec
import pytest
from msgspec import Raw

from tapui.mcp_servers.messages import (
    MAX_LINE_BYTES,
    AnsweredForm,
    LineError,
    ServerAsks,
    ServerSession,
    ServerStart,
    ServerStop,
    line,
    read_by_bridge,
    read_by_tapui,
)
from tapui.secret import Secret


def test_secrets_cross_the_line_and_show_nowhere_else() -> None:
    start = ServerStart(
        name="git",
        gateway_url="ws://127.0.0.1:9400",
        url="http://127.0.0.1:1/mcp",
        env={"TOKEN": Secret("s3cr3t-env")},
        headers={"Authorization": Secret("s3cr3t-header")},
    )
    opened = ServerSession("s1", Secret("s3cr3t-token"), "/tmp")
    assert "s3cr3t" not in repr(start) + repr(opened) + str(start)
    read = read_by_bridge(line(start))
    assert isinstance(read, ServerStart)
    assert "s3cr3t" not in repr(read)
    assert read.env["TOKEN"].reveal() == "s3cr3t-env"
    assert read.headers["Authorization"].reveal() == "s3cr3t-header"


def test_a_message_is_one_line() -> None:
    asked = ServerAsks("1", "Name?\nReally?", Raw(b'{\n "type":\r\n "object"\n}'))
    text = line(asked)
    assert text.count(b"\n") == 1
    read = read_by_tapui(text)
    assert isinstance(read, ServerAsks)
    assert read.message == "Name?\nReally?"
    assert msgspec.json.decode(read.schema) == {"type": "object"}


def test_half_of_a_character_does_not_stop_a_line() -> None:
    read = read_by_tapui(line(ServerAsks("1", "a\ud83d", Raw(b"{}"))))
    assert isinstance(read, ServerAsks)
    assert read.message == "a\ufffd"


@pytest.mark.parametrize(
    "text",
    [b"", b"nonsense s3cr3t", b'{"type":"other s3cr3t"}', b"[" * 100_000, b'{"type":"start"}'],
)
def test_what_is_no_message_is_refused_without_quoting_it(text: bytes) -> None:
    with pytest.raises(LineError) as refused:
        read_by_bridge(text)
    assert "s3cr3t" not in str(refused.value)


def test_a_line_has_a_bound() -> None:
    with pytest.raises(LineError, match="a line of"):
        line(AnsweredForm("1", "accept", Raw(b'"' + b"x" * MAX_LINE_BYTES + b'"')))
    with pytest.raises(LineError, match="a line of"):
        read_by_bridge(b" " * (MAX_LINE_BYTES + 1))
    assert read_by_bridge(line(ServerStop())) == ServerStop()
