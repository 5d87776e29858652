"""Null for an absent field, and integers written as other numbers."""

import json
from typing import Any

import msgspec
import pytest

from tapui.tools.streams import HistoryArguments
from tapui.wire import host, message, provider, subjects, tower
from tapui.wire.codec import decode, decode_as, envelope
from tapui.wire.errors import WireError
from tapui.wire.normalize import normalized


def read(kind: type[message.Message], /, **fields: Any) -> Any:
    data = json.dumps({"type": kind.__struct_config__.tag, **fields}).encode()
    return decode(data, envelope(data), kind)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (provider.Push, {"level": "keep", "event": "e", "broadcast": None, "stream": None}),
        (provider.StreamQuery, {"queryId": "q", "streams": [], "last": None}),
        (host.HostHello, {"name": "h", "kind": "k", "protocolVersion": 2, "hooks": None}),
        (tower.StreamRead, {"id": "x", "stream": "s", "sessionId": "s1", "last": None}),
        (host.HostNotice, {"message": "m", "level": None}),
    ],
)
def test_an_optional_field_that_is_null_is_absent(
    kind: type[message.Message], given: dict[str, Any]
) -> None:
    without = {name: value for name, value in given.items() if value is not None}
    assert read(kind, **given) == read(kind, **without)


def test_null_is_absent_at_any_depth() -> None:
    rule = {"action": "gate", "match": None, "gateId": "g", "failOpen": None}
    hello = {
        "name": "n",
        "protocolVersion": 2,
        "hooks": {"onPreToolUse": [rule], "transforms": None},
        "concurrency": {"max": None, "scope": None},
        "tools": [{"name": "t", "description": "d", "parameters": {"default": None}}],
    }
    found = read(provider.Hello, **hello)
    assert found.hooks.on_pre_tool_use == [provider.HookRule("gate", gate_id="g")]
    assert found.concurrency == provider.Concurrency()
    assert json.loads(bytes(found.tools[0].parameters)) == {"default": None}
    opened = read(
        host.SessionOpen, session={"id": "s", "label": "", "cwd": "/", "foreground": None}
    )
    assert opened.session == host.HostSession("s", "", "/")


def test_a_transform_that_is_null_stays_null() -> None:
    update = read(provider.HooksUpdate, transforms={"tone": None}, sessionId=None)
    assert update.transforms == {"tone": None}


@pytest.mark.parametrize("kind", [provider.Push, provider.ShutdownReady, host.SessionClose])
def test_a_required_field_that_is_null_is_refused(kind: type[message.Message]) -> None:
    names = {one.encode_name: None for one in msgspec.structs.fields(kind) if one.required}
    with pytest.raises(WireError, match=r"got `null`|Invalid enum value None"):
        read(kind, **names)


@pytest.mark.parametrize("last", ["20", "20.0", "2e1", "2.0e+1", "200e-1"])
def test_any_integral_number_is_an_integer(last: str) -> None:
    data = b'{"type":"stream.query","queryId":"q","streams":[],"last":%b}' % last.encode()
    assert decode(data, envelope(data), provider.StreamQuery).last == 20


@pytest.mark.parametrize("last", ["20.5", "1e300", '"20"', "true", "1e16"])
def test_what_is_no_integer_is_refused(last: str) -> None:
    data = b'{"type":"stream.query","queryId":"q","streams":[],"last":%b}' % last.encode()
    with pytest.raises(WireError, match="last: "):
        decode(data, envelope(data), provider.StreamQuery)


def test_integers_within_structures() -> None:
    file = {"path": "/x", "mimeType": "m", "size": 8.0, "ttl": 1.5}
    found = read(provider.ToolResult, id="c", file=file)
    assert found.file == message.FileResult("/x", "m", 8, 1.5)
    assert isinstance(found.file.size, int)
    pids = read(
        host.SessionsUnattached, unattached=[{"id": "u", "cwd": "/", "pid": 7.0, "hint": ""}]
    )
    assert pids.unattached[0].pid == 7
    use = decode_as(msgspec.Raw(b'{"tokens":1e3,"limit":2.0}'), subjects.ContextUse, "data")
    assert use == subjects.ContextUse(1000, 2)


def test_what_is_passed_through_stays_as_it_is() -> None:
    args = b'{"a":null,"b":1.0,"c":[null,2e0]}'
    data = (
        b'{"type":"tool.result","id":"c","data":%b,"file":{"path":"/x","mimeType":"m","size":1.0}}'
        % args
    )
    assert bytes(decode(data, envelope(data), provider.ToolResult).data) == args


def test_a_list_that_no_message_may_have_is_left_alone() -> None:
    tools = b"[" + b",".join([b"{}"] * 1001) + b"]"
    data = b'{"type":"hello","name":"n","protocolVersion":2,"session":null,"tools":%b}' % tools
    again = normalized(data, provider.Hello)
    assert again is not None
    assert tools in again


def test_what_fits_as_it_stands_has_no_other_form() -> None:
    assert normalized(b'{"type":"tool.abort","id":"i"}', message.ToolAbort) is None


def test_arguments_of_built_in_tools() -> None:
    given = msgspec.Raw(b'{"stream":"notes","last":20.0}')
    assert decode_as(given, HistoryArguments, "arguments").last == 20
    assert (
        decode_as(msgspec.Raw(b'{"stream":"notes","last":null}'), HistoryArguments, "a").last == 20
    )
