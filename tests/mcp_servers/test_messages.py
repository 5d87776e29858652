"""The lines between tapui and a bridge."""

import msgspec
import pytest
from msgspec import Raw

from tapui.mcp_servers.messages import (
    AT_BRIDGE,
    AT_TAPUI,
    AnsweredForm,
    ServerAsks,
    ServerSession,
    ServerStart,
    ServerStop,
)
from tapui.runtime.children.lines import MAX_LINE_BYTES, LineError, LongLine
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
    read = AT_BRIDGE.decode(AT_TAPUI.encode(start))
    assert isinstance(read, ServerStart)
    assert "s3cr3t" not in repr(read)
    assert read.env["TOKEN"].reveal() == "s3cr3t-env"
    assert read.headers["Authorization"].reveal() == "s3cr3t-header"


def test_a_message_is_one_line() -> None:
    asked = ServerAsks("1", "Name?\nReally?", Raw(b'{\n "type":\r\n "object"\n}'))
    text = AT_BRIDGE.encode(asked)
    assert text.count(b"\n") == 1
    read = AT_TAPUI.decode(text)
    assert isinstance(read, ServerAsks)
    assert read.message == "Name?\nReally?"
    assert msgspec.json.decode(read.schema) == {"type": "object"}


def test_half_of_a_character_does_not_stop_a_line() -> None:
    read = AT_TAPUI.decode(AT_BRIDGE.encode(ServerAsks("1", "a\ud83d", Raw(b"{}"))))
    assert isinstance(read, ServerAsks)
    assert read.message == "a\ufffd"


@pytest.mark.parametrize(
    "text",
    [b"", b"nonsense s3cr3t", b'{"type":"other s3cr3t"}', b"[" * 100_000, b'{"type":"start"}'],
)
def test_what_is_no_message_is_refused_without_quoting_it(text: bytes) -> None:
    with pytest.raises(LineError) as refused:
        AT_BRIDGE.decode(text)
    assert "s3cr3t" not in str(refused.value)


def test_a_line_has_a_bound() -> None:
    with pytest.raises(LineError, match="a message of"):
        AT_TAPUI.encode(AnsweredForm("1", "accept", Raw(b'"' + b"x" * MAX_LINE_BYTES + b'"')))
    with pytest.raises(LineError, match="a message of"):
        AT_BRIDGE.decode(LongLine(MAX_LINE_BYTES + 1, b"", b""))
    assert AT_BRIDGE.decode(AT_TAPUI.encode(ServerStop())) == ServerStop()
