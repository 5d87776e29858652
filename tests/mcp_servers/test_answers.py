"""What a server says, taken apart: what is odd in it is mended, or left out and named."""

import asyncio
import contextlib
import gzip
import json
import random
import ssl
import zlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import httpx2
import mcp_types as types
import msgspec
import pytest
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import methods
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

from tapui.mcp_servers.bridge.answers import SCHEMA, UNREAD, Answers
from tapui.mcp_servers.bridge.connection import connected, leaf, lost
from tapui.mcp_servers.bridge.naming import ServerTool, ToolNames
from tapui.mcp_servers.bridge.results import ResultFiles, result_of
from tapui.mcp_servers.bridge.transports import (
    AnswerTooLarge,
    MessageLines,
    ReadStream,
    ServerAddress,
)
from tapui.mcp_servers.messages import ServerStart
from tapui.provider import ToolError
from tapui.runtime.children.supervisor import NETWORK, own_program
from tests.rig.waiting import HUNG

Json = dict[str, Any]
PNG = "iVBORw0KGgoAAAAAAAAAAAAAAAAAAAAAAAAAAAA="


class Talk:
    """A request with the id 7 that waits, and what was left out of its answer."""

    def __init__(self, method: str = "tools/call", *, id_: int = 7) -> None:
        self.left_out: list[str] = []
        self.answers = Answers(self.left_out.append)
        self.answers.asked(types.JSONRPCRequest(jsonrpc="2.0", id=id_, method=method))

    def one(self, text: str | bytes) -> types.JSONRPCResponse | types.JSONRPCError:
        data = text.encode() if isinstance(text, str) else text
        (found,) = self.answers.read(data)
        assert isinstance(found, types.JSONRPCResponse | types.JSONRPCError)
        assert found.id == 7
        return found

    def result(self, result: Any) -> Json:
        found = self.one(json.dumps({"jsonrpc": "2.0", "id": 7, "result": result}))
        assert isinstance(found, types.JSONRPCResponse), found
        return found.result

    def error(self, text: str | bytes) -> types.ErrorData:
        found = self.one(text)
        assert isinstance(found, types.JSONRPCError)
        return found.error


def called(result: Any, tmp: Any = None) -> Any:
    """What the provider makes of the answer to a call."""
    read = types.CallToolResult.model_validate(Talk().result(result), by_name=False)
    return result_of(read, ResultFiles(tmp))


def offered(*tools: Any) -> dict[str, str | None]:
    """The problem of each tool of a list, None for those that are offered."""
    result = Talk("tools/list").result({"tools": tools})
    methods.validate_server_result("tools/list", "2025-11-25", result)
    given = [
        ServerTool(one["name"], "", msgspec.Raw(json.dumps(one["_meta"][SCHEMA]).encode()), None)
        for one in result["tools"]
    ]
    return {one.name: one.problem for one in ToolNames("m", None).map(given)}


GOOD = '"result":{"content":[{"type":"text","text":"good"}]}'


@pytest.mark.parametrize(
    "text",
    [
        '{"jsonrpc":"2.0","id":7,%s}',
        '{"id":7,%s}',
        '{"jsonrpc":"1.0","id":7,%s}',
        '{"jsonrpc":"2.0","id":"7",%s}',
        '{"jsonrpc":"2.0","id":7.0,%s}',
        '{"jsonrpc":"2.0",%s}',
        '{"jsonrpc":"2.0","id":7,"error":null,%s}',
        '[{"jsonrpc":"2.0","id":7,%s}]',
        'done: {"jsonrpc":"2.0","id":7,%s}',
        '\ufeff{"jsonrpc":"2.0","id":7,%s}',
        '{"jsonrpc":"2.0","id":7,%s}\r',
        '{"jsonrpc":"2.0","id":7,"x":NaN,%s}',
        '{"jsonrpc":"2.0",\n "id":7,\n%s\n}',
    ],
)
def test_an_answer_is_read_however_it_is_written(text: str) -> None:
    found = Talk().one(text % GOOD)
    assert isinstance(found, types.JSONRPCResponse)
    assert [part["text"] for part in found.result["content"]] == ["good"]


@pytest.mark.parametrize(
    ("part", "text"),
    [(r'"cut \ud83d"', "cut \ufffd"), ('"a\tb"', "a\tb"), (r'"\ud83d\ude00"', "\U0001f600")],
)
def test_letters_that_are_none_cost_no_answer(part: str, text: str) -> None:
    read = Talk().one(
        f'{{"jsonrpc":"2.0","id":7,"result":{{"content":[{{"type":"text","text":{part}}}]}}}}'
    )
    assert isinstance(read, types.JSONRPCResponse)
    assert read.result["content"][0]["text"] == text


@pytest.mark.parametrize(
    "text",
    [
        '{"jsonrpc":"2.0","id":7,"result":"good"}',
        '{"jsonrpc":"2.0","id":7,"result":["good"]}',
        '{"jsonrpc":"2.0","id":7,"result":null}',
        '{"jsonrpc":"2.0","id":7}',
        '{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"te',
        '{"result":{"content":[}, "id": 7, "jsonrpc": "2.0"}',
        '{"jsonrpc":"2.0","id":7,"result":%s}' % ("[" * 200 + "]" * 200),
        '{"jsonrpc":"2.0","id":7,"result":{"n":%s}}' % ("9" * 5000),
        '{"jsonrpc":"2.0","id":7,"result":{}}'.encode("utf-16"),
        '{"jsonrpc":"2.0","id":7,"result":{"resultType":"task","task":{}}}',
    ],
)
def test_an_answer_that_cannot_be_read_fails_its_request(text: str | bytes) -> None:
    assert Talk().error(text).message.startswith(UNREAD)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        ('{"code":-32601,"message":"no"}', -32601, "no"),
        ('{"message":"no"}', -32603, "no"),
        ('{"code":"E1","message":"no"}', -32603, "no"),
        ('{"code":5,"message":null}', 5, '{"code": 5, "message": null}'),
        ('"no"', -32603, "no"),
        ("[1]", -32603, "[1]"),
        (r'{"code":5,"message":"\ud83d"}', 5, "\ufffd"),
    ],
)
def test_an_error_is_read_however_it_is_written(error: str, code: int, message: str) -> None:
    found = Talk().error(f'{{"jsonrpc":"2.0","id":7,"error":{error}}}')
    assert (found.code, found.message) == (code, message)


@pytest.mark.parametrize(
    "text",
    [
        "Listening on [::]:8080",
        "{half of a json",
        '{"level": 50, "error": "no database", "msg": "failed"}',
        '{"level": 30, "id": 7, "msg": "called"}',
        '{"level": 30, "id": "a", "method": "GET", "path": "/"}',
        'item {"id": 8, "name": "x"}',
        '{"jsonrpc":"2.0","id":8,"result":{}}',
        'received {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}',
        'received {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a',
        "5",
        "",
    ],
)
def test_what_is_printed_answers_nothing(text: str) -> None:
    talk = Talk()
    assert talk.answers.read(text.encode()) == []
    assert talk.result({"content": []})


def test_an_answer_that_came_too_late_is_no_other_ones() -> None:
    talk = Talk()
    cancelled = {"requestId": 7, "reason": "cancelled"}
    talk.answers.asked(
        types.JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=cancelled)
    )
    talk.answers.asked(types.JSONRPCRequest(jsonrpc="2.0", id=8, method="tools/call"))
    assert talk.answers.read(b'{"jsonrpc":"2.0","id":7,"result":{}}') == []


def test_a_server_asks_and_tells() -> None:
    read = Talk().answers.read
    asked = b'{"jsonrpc":"2.0","id":"a","method":"roots/list","params":[]}'
    assert read(asked) == [types.JSONRPCRequest(jsonrpc="2.0", id="a", method="roots/list")]
    told = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":null}'
    (found,) = read(told)
    assert isinstance(found, types.JSONRPCNotification)
    huge = "9" * 400
    message = '{"jsonrpc":"2.0","method":"notifications/progress","params":%s}'
    progress = message % '{"progressToken":1,"progress":%s}'
    assert read((progress % huge).encode()) == []
    assert len(read((progress % 3).encode())) == 1


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"type": "string"}}},
        {},
        None,
        {"anyOf": [{"required": ["a"]}]},
        {"type": ["object", "null"]},
        {"type": "object", "properties": {"a": True}},
        {"type": "object", "$schema": 3},
    ],
)
def test_a_schema_that_says_little_is_one_of_an_object(schema: Any) -> None:
    assert offered({"name": "a", "inputSchema": schema}) == {"a": None}


@pytest.mark.parametrize(
    ("odd", "problem"),
    [
        ({"inputSchema": {"type": "array"}}, "its schema is not one of an object"),
        ({"inputSchema": ["a"]}, "its schema is not one of an object"),
        ({"inputSchema": "a"}, "its schema is not one of an object"),
        ({"inputSchema": {"properties": None}}, "its schema is not valid: properties"),
        ({"outputSchema": {}}, None),
        ({"outputSchema": {"type": "array"}}, None),
        ({"outputSchema": 3}, None),
        ({"description": 3}, None),
        ({"title": []}, None),
        ({"icons": [{"src": 3}]}, None),
        ({"annotations": "x"}, None),
        ({"annotations": {"readOnlyHint": "yes"}}, None),
        ({"execution": {"taskSupport": "maybe"}}, None),
        ({"_meta": 3}, None),
    ],
)
def test_one_odd_tool_costs_no_other(odd: Json, problem: str | None) -> None:
    found = offered(
        {"name": "odd", "inputSchema": {"type": "object"}, **odd},
        {"name": "ok", "inputSchema": {"type": "object"}},
    )
    assert found == {"odd": problem, "ok": None}


def test_a_tool_without_a_name_or_with_that_of_another_is_left_out_and_named() -> None:
    talk = Talk("tools/list")
    found = talk.result({"tools": [{}, 3, {"name": 5}, {"name": "a"}, {"name": "a"}]})
    assert [tool["name"] for tool in found["tools"]] == ["a"]
    assert talk.left_out == [
        "tool 1 of its list has no name and is left out",
        "tool 2 of its list has no name and is left out",
        "tool 3 of its list has no name and is left out",
        "its list has a twice: the first counts",
    ]


def test_a_hint_that_cannot_be_read_is_not_there() -> None:
    hints = {"readOnlyHint": "true", "destructiveHint": 0, "idempotentHint": True, "title": "T"}
    (tool,) = Talk("tools/list").result({"tools": [{"name": "a", "annotations": hints}]})["tools"]
    assert tool["annotations"] == {"idempotentHint": True, "title": "T"}


@pytest.mark.parametrize(("given", "cursor"), [("a", "a"), (2, "2"), (None, None), ([], None)])
def test_the_next_page(given: Any, cursor: str | None) -> None:
    found = Talk("tools/list").result({"tools": [], "nextCursor": given})
    assert found.get("nextCursor") == cursor


@pytest.mark.parametrize("result", [{}, {"tools": None}, {"tools": {"a": {}}}])
def test_a_list_that_is_none_has_no_tools(result: Json) -> None:
    talk = Talk("tools/list")
    assert talk.result(result)["tools"] == []
    assert talk.left_out == ["its list of tools is no list: it has no tools"]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"serverInfo": None, "capabilities": None},
        {"serverInfo": {"name": "x"}},
        {"serverInfo": {"name": "x", "version": 3}},
        {"capabilities": {"tools": True}},
        {"instructions": 3},
    ],
)
def test_a_handshake_needs_a_version_only(more: Json) -> None:
    found = Talk("initialize").result({"protocolVersion": "2025-06-18", **more})
    methods.validate_server_result("initialize", "2025-11-25", found)
    assert found["protocolVersion"] == "2025-06-18"


@pytest.mark.parametrize("version", ["2031-01-01", 3, None])
def test_a_version_that_is_not_known_is_told_in_words(version: Any) -> None:
    text = json.dumps({"id": 7, "result": {"protocolVersion": version, "capabilities": {}}})
    assert Talk("initialize").error(text).message == (
        f"{UNREAD}: the version {json.dumps(version)} of the protocol is not known; "
        "tapui knows 2024-11-05 to 2025-11-25"
    )


TEXT = {"type": "text", "text": "good"}


@pytest.mark.parametrize(
    ("result", "data"),
    [
        ({"content": "good"}, "good"),
        ({"content": TEXT}, "good"),
        ({"content": ["good"]}, "good"),
        ({"content": [{"text": "good"}]}, "good"),
        ({"content": [{"type": "text", "text": 3}]}, "3"),
        ({"content": [{"type": "text", "text": True}]}, "true"),
        ({"content": None}, ""),
        ({}, ""),
        ({"content": [TEXT], "isError": None}, "good"),
        ({"content": [{**TEXT, "annotations": {"priority": 7}, "_meta": 3}]}, "good"),
        ({"content": [{"type": "resource_link", "uri": "file:///r"}]}, "file:///r: file:///r"),
        ({"content": [{"type": "resource", "resource": {"text": "t"}}]}, "[]\nt"),
        ({"content": ["[1]"], "structuredContent": [1]}, [1]),
        ({"content": ["good"], "structuredContent": 3}, 'good\n\n{"result":3}'),
        (
            {"content": [TEXT, {"type": "ui", "x": 1}]},
            'good\n\n[a part that cannot be read was left out: "ui"]',
        ),
        (
            {"content": [TEXT, {"type": "text", "text": None}]},
            'good\n\n[a part that cannot be read was left out: "text"]',
        ),
        ({"content": [{"type": "ui"}], "structuredContent": {"a": 1}}, {"a": 1}),
        (
            {"content": [TEXT, {"type": "image", "data": "%%", "mimeType": "image/png"}]},
            "good\n\n[left out: image/png that is no base64]",
        ),
    ],
)
def test_an_odd_part_of_a_result_costs_itself(result: Json, data: Any) -> None:
    assert called(result) == data


@pytest.mark.parametrize("failed", [True, 1, "true", "false", "x", {}, []])
def test_a_failure_that_cannot_be_read_is_one(failed: Any) -> None:
    with pytest.raises(ToolError, match="no such city") as caught:
        called({"content": ["no such city", {"type": "ui"}], "isError": failed})
    assert caught.value.code == "TOOL_FAILED"


@pytest.mark.parametrize(
    "media",
    [
        {"data": PNG, "mimeType": "image/png"},
        {"data": PNG.rstrip("=")},
        {"data": f"data:image/png;base64,{PNG}"},
        {"data": f"{PNG[:20]}\n{PNG[20:]}", "mimeType": "image/x-png"},
    ],
)
def test_a_picture_is_read_however_it_is_written(media: Json) -> None:
    found = called({"content": [{"type": "image", **media}]})
    assert (found.mime_type, found.data[:4]) == ("image/png", b"\x89PNG")


def test_the_type_of_a_jpeg_is_that_which_models_take() -> None:
    given = {"type": "image", "data": "_9j_", "mimeType": "image/JPG; q=1"}
    (found,) = Talk().result({"content": [given]})["content"]
    assert found == {"type": "image", "data": "/9j/", "mimeType": "image/jpeg"}


# Over HTTP, as bodies, and over lines

WHOLE = f'{{"jsonrpc":"2.0","id":7,{GOOD}}}'


class Body(httpx2.AsyncByteStream):
    def __init__(self, parts: list[bytes]) -> None:
        self._parts = parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part


def over_http(data: bytes, kind: str = "application/json", coding: str = "", size: int = 7) -> str:
    """The body that the package reads, of an answer that comes `size` bytes at a time."""
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    headers = {"content-type": kind, "content-encoding": coding}
    response = httpx2.Response(200, headers=headers, stream=Body(parts))

    async def read() -> bytes:
        return b"".join([part async for part in ReadStream(response, Talk().answers, 7)])

    return asyncio.run(read()).decode()


@pytest.mark.parametrize(
    "text", [WHOLE, f"\ufeff{WHOLE}", f"[{WHOLE}]", WHOLE.replace("7", "null"), f"{{{GOOD}}}"]
)
def test_a_body_is_read_however_it_is_written(text: str) -> None:
    message = json.loads(over_http(text.encode()))
    assert (message["id"], message["result"]["content"][0]["text"]) == (7, "good")


@pytest.mark.parametrize("text", ["", "5", "[]", '"x"', "{", '{"id":7}', "<html>"])
def test_a_body_that_is_no_answer_is_told_in_words(text: str) -> None:
    assert json.loads(over_http(text.encode()))["error"]["message"].startswith(UNREAD)


def test_events_keep_what_they_are_and_their_messages_are_mended() -> None:
    told = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}'
    pretty = json.dumps(json.loads(WHOLE), indent=1).replace("\n", "\ndata: ")
    stream = (
        ": hello\n\nid: 1\nretry: 5\ndata:\n\n"
        f"event: message\r\ndata: {told}\r\n\r\n"
        f"id: 2\ndata: {pretty}\n\n"
    )
    lines = over_http(stream.encode(), "text/event-stream").splitlines()
    assert lines[:5] == [": hello", "", "id: 1", "retry: 5", "data: "]
    data = [json.loads(line[5:]) for line in lines if line.startswith("data: {")]
    assert [one.get("id") for one in data] == [None, 7]
    assert lines[lines.index("id: 2") - 1] == ""


def test_an_event_that_the_end_of_the_stream_cuts_is_an_answer() -> None:
    cut = over_http(f"data: {WHOLE[:-9]}\n".encode(), "text/event-stream")
    assert json.loads(cut.split("data:")[1])["error"]["message"].startswith(UNREAD)


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize(
    ("coding", "compress"),
    [("gzip", gzip.compress), ("X-GZIP", gzip.compress), ("deflate", zlib.compress)],
)
def test_a_compressed_answer_is_read(
    kind: str, coding: str, compress: Callable[[bytes], bytes]
) -> None:
    text = f"data: {WHOLE}\n\n" if kind != "application/json" else WHOLE
    assert '"good"' in over_http(compress(text.encode()), kind, coding)
    assert '"good"' in over_http(text.encode(), kind, "Identity")


def test_a_compressed_answer_is_bounded() -> None:
    bomb = gzip.compress(bytes(17 * 2**20))
    for size in (7, len(bomb)):
        with pytest.raises(AnswerTooLarge):
            over_http(bomb, "application/json", "gzip", size)


def test_what_cannot_be_uncompressed_is_told_in_words() -> None:
    with pytest.raises(httpx2.DecodingError, match="its answers are compressed with br"):
        over_http(b"", "application/json", "br")
    with pytest.raises(httpx2.DecodingError, match="its compressed answer cannot be read"):
        over_http(b"no gzip", "application/json", "gzip")


def test_a_message_over_several_lines_is_one() -> None:
    lines = ['{"a": 1}', "{", ' "id": 7', "}", "printed", "{", '{"b": 2}', "", "}", "{", "{", "}"]
    found = list(MessageLines().feed("".join(f"{line}\n" for line in lines).encode()))
    assert found == [
        *(b'{"a": 1}', b'{  "id": 7 }', b"printed", b"{", b'{"b": 2}', b"", b"}"),
        *(b"{", b"{ }"),
    ]


# Why a server cannot be reached, in words


def test_a_certificate_that_is_not_trusted_is_told_as_that() -> None:
    cause = ssl.SSLCertVerificationError(1, "certificate verify failed")
    cause.verify_message = "self-signed certificate"
    error = httpx2.ConnectError("failed")
    error.__cause__ = cause
    address = ServerAddress("https://mcp.corp.test/mcp?key=s3cr3t", {})
    told = lost(error, "handshake", ServerStart("m", ""), address, ())
    assert told.why == (
        "the certificate of https://mcp.corp.test is not trusted: self-signed certificate"
    )
    assert "SSL_CERT_FILE" in told.hint


def test_a_bridge_gets_what_leads_to_the_network() -> None:
    given = dict.fromkeys((*NETWORK, "HOME", "GITHUB_TOKEN"), "x")
    kept = own_program("tapui.mcp_servers.bridge", environ=given, besides=NETWORK).environ
    assert kept.keys() == {*NETWORK, "HOME"}
    assert {"https_proxy", "NO_PROXY", "SSL_CERT_DIR"} <= kept.keys()
    assert own_program("tapui.index", environ=given).environ.keys() == {"HOME"}


# The same by the dice: valid answers with one part changed

VALID: dict[str, Json] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {"listChanged": True}, "logging": {}},
        "serverInfo": {"name": "x", "version": "1"},
        "instructions": "Use it.",
    },
    "tools/list": {
        "tools": [
            {
                "name": "odd",
                "title": "T",
                "description": "Does it.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}},
                    "required": ["a"],
                },
                "outputSchema": {"type": "object", "properties": {"b": {"type": "number"}}},
                "annotations": {"readOnlyHint": True, "title": "T"},
                "icons": [{"src": "https://example.org/i.png", "sizes": ["48x48"]}],
            }
        ],
        "nextCursor": "2",
    },
    "tools/call": {
        "content": [
            {"type": "text", "text": "grün", "annotations": {"priority": 0.5}},
            {"type": "image", "data": PNG, "mimeType": "image/png"},
            {"type": "resource_link", "uri": "file:///r", "name": "r", "size": 3},
            {"type": "resource", "resource": {"uri": "file:///r", "text": "t"}},
            {"type": "resource", "resource": {"uri": "file:///r", "blob": PNG}},
        ],
        "structuredContent": {"a": [1, {"b": None}]},
        "isError": False,
    },
}
OK = {"name": "ok", "inputSchema": {"type": "object"}}
OTHERS: list[Any] = [None, True, 0, -1, 1e400, 10**400, "", "x", [], ["x"], {}, {"x": {}}]
OTHERS += ["\ud83d", "x" * 100_000, {"\udc00": [None]}, [[[[]]]], 2**63]


def changed(value: Any, dice: random.Random) -> Any:
    """Return a value with one part of it changed: any depth, the part dropped or another."""
    if isinstance(value, dict | list) and value and dice.random() < 0.8:
        keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = dice.choice(keys)
        copy = value.copy()
        if dice.random() < 0.25:
            del copy[key]
        else:
            copy[key] = changed(value[key], dice)
        return copy
    return dice.choice(OTHERS)


def spoilt(text: str, dice: random.Random) -> bytes:
    """Return a text in another encoding, cut, or with a byte of its own."""
    data = text.encode(dice.choice(["utf-8", "utf-8-sig", "utf-16", "latin-1"]), "replace")
    how = dice.randrange(4)
    if how == 0:
        return data[: max(70, dice.randrange(len(data)))]
    if how == 1:
        at = dice.randrange(70, len(data))
        return data[:at] + bytes([dice.choice([0, 9, 34, 92, 255])]) + data[at:]
    return data


def usable(method: str, result: Json) -> None:
    """What the package says of a result, in each version."""
    for version in KNOWN_PROTOCOL_VERSIONS:
        if (method, version) in methods.SERVER_RESULTS:
            methods.validate_server_result(method, version, result)


@pytest.mark.parametrize("method", VALID)
@pytest.mark.parametrize("block", range(10))
def test_one_changed_part_costs_no_more_than_itself(method: str, block: int, tmp_path: Any) -> None:
    for seed in range(block * 60, block * 60 + 60):
        dice = random.Random(seed)
        result = changed(VALID[method], dice)
        if isinstance(result, dict) and isinstance(result.get("tools"), list):
            result = {**result, "tools": [*result["tools"], OK]}
        message = Talk(method).one(json.dumps({"jsonrpc": "2.0", "id": 7, "result": result}))
        if isinstance(message, types.JSONRPCError):
            assert message.error.message.startswith(UNREAD), seed
            assert not isinstance(result, dict) or "the version" in message.error.message, seed
            continue
        usable(method, message.result)
        msgspec.json.encode(message.result)
        if method == "tools/list" and isinstance(result.get("tools"), list):
            assert message.result["tools"][-1]["name"] == "ok", seed
        if method == "tools/call":
            read = types.CallToolResult.model_validate(message.result, by_name=False)
            try:
                result_of(read, ResultFiles(tmp_path))
            except ToolError:
                assert read.is_error, seed


@pytest.mark.parametrize("method", VALID)
def test_a_spoilt_answer_leaves_no_request_unanswered(method: str) -> None:
    for seed in range(200):
        dice = random.Random(seed)
        text = json.dumps(
            {"jsonrpc": "2.0", "id": 7, "result": VALID[method]}, ensure_ascii=dice.random() < 0.5
        )
        message = Talk(method).one(spoilt(text, dice))
        if isinstance(message, types.JSONRPCResponse):
            usable(method, message.result)
        else:
            assert message.error.message.startswith(UNREAD), seed
            assert "pydantic" not in message.error.message


class SpoilingServer:
    """A server in this process, as a transport: of each answer a part is changed, by the dice."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    @contextlib.asynccontextmanager
    async def streams(self) -> AsyncIterator[Any]:
        from_server, incoming = anyio.create_memory_object_stream[Any](0)
        outgoing, to_server = anyio.create_memory_object_stream[Any](0)
        answers = Answers(lambda _: None)

        async def serve() -> None:
            async for message in to_server:
                answers.asked(message.message)
                if isinstance(message.message, types.JSONRPCRequest):
                    for found in answers.read(self._answer(message.message)):
                        await from_server.send(SessionMessage(found))

        serving = asyncio.create_task(serve())
        try:
            yield incoming, outgoing
        finally:
            serving.cancel()
            await asyncio.wait([serving])
            for stream in (from_server, incoming, outgoing, to_server):
                stream.close()

    def _answer(self, request: types.JSONRPCRequest) -> bytes:
        valid = VALID.get(request.method)
        if valid is None:
            said: Json = {"error": {"code": -32601, "message": "Method not found"}}
        else:
            is_last = (request.params or {}).get("cursor") is not None
            valid = {**valid, "nextCursor": None} if is_last else valid
            said = {"result": changed(valid, self._dice) if self._dice.random() < 0.6 else valid}
        return json.dumps({"jsonrpc": "2.0", "id": request.id, **said}).encode()


async def use(seed: int) -> list[str]:
    """Connect, list, call; return what was refused. What is left unanswered hangs."""
    ended = asyncio.Event()
    refused = []

    async def elicit(_: Any) -> types.ErrorData:
        return types.ErrorData(code=0, message="no")

    async def progress(progress: float, total: float | None, message: str | None) -> None: ...

    server = SpoilingServer(random.Random(seed))
    try:
        async with connected(
            server.streams(),
            elicit=elicit,
            folders=list,
            on_log=lambda _: None,
            on_tools_changed=lambda: None,
            mode="legacy",
            patience=HUNG,
            spoke_at=lambda: 0.0,
            ended=ended,
            version="0",
        ) as connection:
            for doing in (connection.list_tools(), connection.call("odd", {}, progress)):
                try:
                    found = await doing
                    if isinstance(found, types.CallToolResult):
                        await connection.check("odd", found)
                except MCPError as error:
                    refused.append(error.error.message)
    except ExceptionGroup as group:
        cause = leaf(group)
        assert isinstance(cause, MCPError), seed
        refused.append(cause.error.message)
    return refused


def test_no_changed_part_leaves_a_request_unanswered() -> None:
    async def all_of_them() -> list[str]:
        return [why for seed in range(120) for why in await use(seed)]

    refused = asyncio.run(all_of_them())
    assert 0 < len(refused) < 60, "most changes cost a part"
    assert all(why.startswith(UNREAD) for why in refused)
