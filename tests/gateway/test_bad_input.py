"""Bad input from a socket: the message, the state before, the exact answer, the state after."""

import re
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.gateway.conftest import Place, error, state_of
from tests.gateway.conftest import both_ends as end  # noqa: F401
from tests.rig.peers import GREET, Json, Peer

KEEP = {"type": "push", "level": "keep", "event": "e"}
HELLO = {"type": "hello", "name": "bad", "protocolVersion": 2}


@dataclass(frozen=True)
class Row:
    """`message` is refused in state `before` with `code` and a text; then the state is `after`.

    `SESSION` in a message stands for the test's own session.
    """

    before: str
    message: Json | str | bytes
    code: str
    text: str
    after: str = ""
    reply_to: str | None = ""
    echo: Json = field(default_factory=dict)


def invalid(before: str, message: Any, text: str, **more: Any) -> Row:
    return Row(before, message, "INVALID_JSON", text, **more)


def none(before: str, message: Any, text: str) -> Row:
    """Return a row for what has no type to reply to."""
    return invalid(before, message, text, reply_to=None)


STATES = ["AwaitAuth", "AwaitPairing", "AwaitHello", "Bound", "Unbound", "Host", "Tower"]
TABLE: list[Row] = [
    # Not a message, in every state
    *(none(state, "{", "truncated") for state in STATES),
    *(none(state, "[1]", "Expected `object`, got `array`") for state in STATES),
    *(none(state, b"\x00\x01", "binary frame") for state in STATES),
    none("Bound", "null", "Expected `object`"),
    none("Bound", "{}", "type: missing"),
    none("Bound", '{"type": null}', "type: "),
    none("Bound", '{"type": 7}', "type: "),
    none("Bound", '{"type": "push", "x": NaN}', "malformed"),
    none("Bound", r'{"type": "push", "x": "\ud800"}', "truncated|surrogate|malformed"),
    none("Bound", '{"type": "push", "x": ' + "[" * 100_000, "nested deeper|truncated"),
    none("AwaitAuth", '{"type": "auth", "token": "' + "x" * 200 + '"', "truncated"),
    # The wrong type for the state
    *(
        Row(state, {"type": type_}, "UNKNOWN_TYPE", "is not a message of state")
        for state, type_ in [
            ("AwaitAuth", "hello"),
            ("AwaitAuth", ""),
            ("AwaitPairing", "auth"),
            ("AwaitHello", "push"),
            ("AwaitHello", "auth"),
            ("Bound", "auth"),
            ("Bound", "tool.invoke"),
            ("Bound", "host.hello"),
            ("Unbound", "push"),
            ("Unbound", "push"),
            ("Host", "hello"),
            ("Host", "approval.decide"),
            ("Tower", "session.open"),
            ("Tower", "tower.hello"),
        ]
    ),
    Row(
        "Bound", {"type": "nonsense", "id": "i", "requestId": "r"}, "UNKNOWN_TYPE", "'nonsense'",
        echo={"id": "i", "requestId": "r"},
    ),
    # Fields
    invalid("AwaitAuth", {"type": "auth"}, "token: missing"),
    invalid("AwaitAuth", {"type": "auth", "token": 1}, "token: "),
    invalid("AwaitPairing", {"type": "auth.confirm"}, "code: missing"),
    invalid("AwaitHello", {"type": "hello"}, "(name|protocolVersion): missing"),
    invalid("AwaitHello", HELLO, "session: missing"),
    invalid("AwaitHello", {**HELLO, "session": "SESSION", "name": "a@b"}, "name: "),
    invalid(
        "AwaitHello", {**HELLO, "session": "SESSION", "tools": [{**GREET, "name": "x y"}]},
        r"tools\[0\]\.name: ",
    ),
    invalid("Bound", {"type": "push", "level": "loud", "event": "e"}, "level: "),
    invalid("Bound", {**KEEP, "metadata": 7}, "metadata: "),
    invalid("Bound", {"type": "tools.update"}, "tools: missing"),
    invalid("Bound", {"type": "tool.result", "data": 1}, "id: missing"),
    invalid("Bound", {**HELLO, "session": "SESSION", "tools": 7}, "tools: "),
    invalid("Host", {"type": "session.open", "session": {"id": "x"}}, "session.label: missing"),
    invalid(
        "Host", {"type": "tool.invoke", "id": "i", "sessionId": "SESSION", "tool": "t", "args": []},
        "args: ", echo={"id": "i"},
    ),
    invalid("Tower", {"type": "approval.decide", "approvalId": "a", "decision": "?"}, "decision: "),
    # Versions, tokens, trust
    *(
        Row(state, {**hello, "protocolVersion": 3}, "UNSUPPORTED_VERSION", "", "closed 1008")
        for state, hello in [
            ("AwaitHello", {**HELLO, "session": "SESSION"}),
            ("AwaitHello", {"type": "host.hello", "name": "h", "kind": "k"}),
            ("AwaitHello", {"type": "tower.hello"}),
            ("Bound", {**HELLO, "session": "SESSION"}),
        ]
    ),
    Row("AwaitAuth", {"type": "auth", "token": "x"}, "AUTH_FAILED", "unknown", "closed 1008"),
    Row("AwaitAuth", {"type": "auth", "token": ""}, "AUTH_FAILED", "unknown", "closed 1008"),
    Row("AwaitPairing", {"type": "auth.confirm", "code": "000000"}, "AUTH_FAILED", "wrong",
        "closed 1008"),
    Row("AwaitHello", {"type": "host.hello", "name": "h", "kind": "k", "protocolVersion": 2},
        "UNAUTHORIZED", "internal token"),
    Row("AwaitHello", {"type": "tower.hello", "protocolVersion": 2}, "UNAUTHORIZED", "internal"),
    Row("AwaitHello", {**HELLO, "session": "all"}, "UNAUTHORIZED", "approval"),
    Row("Bound", {**HELLO, "session": "all"}, "UNAUTHORIZED", "approval", "Unbound"),
    # Sessions, identity, conflicts
    Row("AwaitHello", {**HELLO, "session": "nowhere"}, "INVALID_SESSION", "nowhere",
        echo={"sessionId": "nowhere"}),
    Row("Bound", {**HELLO, "session": "nowhere"}, "INVALID_SESSION", "nowhere", "Unbound",
        echo={"sessionId": "nowhere"}),
    Row("Unbound", {**HELLO, "session": "nowhere"}, "INVALID_SESSION", "nowhere",
        echo={"sessionId": "nowhere"}),
    Row("Bound", {**KEEP, "sessionId": "local"}, "INVALID_SESSION", "local",
        echo={"sessionId": "local"}),
    Row("Bound", {"type": "tools.update", "tools": [], "sessionId": "x", "requestId": "r"},
        "INVALID_SESSION", "x", echo={"sessionId": "x", "requestId": "r"}),
    Row("Bound", {"type": "session.ready", "sessionId": "local"}, "INVALID_SESSION", "local",
        echo={"sessionId": "local"}),
    Row("Host", {"type": "session.close", "sessionId": "local"}, "INVALID_SESSION", "local",
        echo={"sessionId": "local"}),
    Row("Tower", {"type": "session.mode", "sessionId": "x", "mode": "plan"}, "INVALID_SESSION",
        "x", echo={"sessionId": "x"}),
    Row("AwaitHello", {**HELLO, "session": "SESSION", "name": "taken"}, "DUPLICATE_INSTANCE",
        "'taken'"),
    Row("AwaitHello", {**HELLO, "session": "SESSION", "tools": [{**GREET, "name": "theirs"}]},
        "TOOL_CONFLICT", "'theirs' already registered by provider 'taken'",
        echo={"sessionId": "SESSION"}),
    Row("Bound", {"type": "tools.update", "tools": [{**GREET, "name": "tap_post"}],
                  "sessionId": "SESSION"},
        "TOOL_CONFLICT", "provider 'tap'", echo={"sessionId": "SESSION"}),
    # Sizes
    Row("Bound", {**KEEP, "pad": "x" * 2_097_152}, "PAYLOAD_TOO_LARGE", "2097152 bytes"),
    Row("Bound", {"type": "tool.result", "id": "x", "data": "x" * 5_242_880},
        "PAYLOAD_TOO_LARGE", "5242880 bytes", reply_to="tool.result", echo={"id": "x"}),
    Row("Bound", {"type": "tools.update", "tools": [{**GREET, "name": f"t{i}"}
                                                   for i in range(101)]},
        "PAYLOAD_TOO_LARGE", "101 tools"),
    # What towers ask
    Row("Tower", {"type": "approval.decide", "approvalId": "a-0", "decision": "deny"},
        "UNKNOWN_APPROVAL", "a-0"),
    Row("Tower", {"type": "approval.reveal", "approvalId": "a-0"}, "UNKNOWN_APPROVAL", "a-0"),
    Row("Tower", {"type": "call.cancel", "id": "c-0"}, "NOT_FOUND", "c-0", echo={"id": "c-0"}),
    Row("Tower", {"type": "provider.disconnect", "providerId": "p-0"}, "NOT_FOUND", "p-0"),
    Row("Tower", {"type": "provider.move", "providerId": "p-0", "sessionId": "SESSION"},
        "NOT_FOUND", "p-0"),
]  # fmt: skip


def named(row: Row) -> str:
    message = row.message if isinstance(row.message, str | bytes) else row.message["type"]
    return f"{row.before}-{row.code}-{str(message)[:30]!r}"


async def enter(place: Place, state: str) -> Peer:
    token, internal = place.gateway.token, place.gateway.internal_token
    if state == "Bound":
        return await place.provider(name="bound", tools=[])
    if state == "Unbound":
        return await place.unbound()
    if state == "AwaitPairing":
        # Of an Origin the gateway takes five requests a minute.
        return await place.pairing(f"https://{place.session}.example.com")
    if state == "Tower":
        return await place.tower()
    if state == "Host":
        peer = await place.connect(internal)
        await peer.send({"type": "host.hello", "name": "h", "kind": "k", "protocolVersion": 2})
        await peer.expect("host.ack")
        return peer
    return await place.connect(token if state == "AwaitHello" else None)


def here(place: Place, value: Any) -> Any:
    """Put the test's own session into a row."""
    if isinstance(value, dict):
        return {key: here(place, inner) for key, inner in value.items()}
    return place.session if value == "SESSION" else value


def by_socket(rows: list[Row]) -> list[Row]:
    """Return the first row of each state and code: what a row's text is, no socket sees.

    Pages pair, and they come over TCP.
    """
    first = {(row.before, row.code): row for row in reversed(rows)}
    return [row for row in first.values() if row.before != "AwaitPairing"]


@pytest.mark.parametrize(
    ("end", "row"),
    [
        pytest.param(way, row, id=f"{way}-{named(row)}")
        for way, rows in (("tcp", TABLE), ("unix", by_socket(TABLE)))
        for row in rows
    ],
    indirect=["end"],
)
async def test_bad_input(place: Place, row: Row) -> None:
    if "taken" in str(row.message) + row.text:
        await place.provider(name="taken", tools=[{**GREET, "name": "theirs"}])
    peer = await enter(place, row.before)
    answer = await error(peer, here(place, row.message))
    assert answer["code"] == row.code
    assert re.search(row.text, answer["message"]), answer["message"]
    reply_to = row.reply_to
    if reply_to == "" and isinstance(row.message, dict):
        reply_to = row.message["type"]
    assert answer.get("replyTo") == reply_to
    for key in ("id", "requestId"):
        assert answer.get(key) == row.echo.get(key)
    if "sessionId" in row.echo:
        assert answer["sessionId"] == here(place, row.echo["sessionId"])
    if row.after.startswith("closed"):
        await peer.closed()
    assert await state_of(peer) == (row.after or row.before)


def test_every_code_of_the_interface_has_a_row() -> None:
    from tapui.wire.errors import ErrorCode

    elsewhere = {"RATE_LIMITED", "INTERNAL"}
    assert {row.code for row in TABLE} | elsewhere == {str(code) for code in ErrorCode}


async def works(place: Place, provider: Peer) -> None:
    """Show that a bound provider can still be called."""
    await provider.send({"type": "tools.update", "tools": [GREET], "requestId": "q"})
    assert (await provider.expect("ack"))["requestId"] == "q"
    await place.host.invoke(place.session, "greet", id_="works")
    call = await provider.expect("tool.call")
    await provider.send({"type": "tool.result", "id": call["id"], "data": "still here"})
    assert (await place.host.expect("tool.outcome", id="works"))["data"] == "still here"


async def test_the_eleventh_push_of_a_second_and_what_works_after_it(place: Place) -> None:
    provider = await place.provider()
    for _ in range(30):
        await provider.send({**KEEP, "level": "surface"})
    refused = await provider.expect("error")
    assert (refused["code"], refused["replyTo"]) == ("RATE_LIMITED", "push")
    await works(place, provider)


async def test_the_eleventh_hello_keeps_the_binding(place: Place) -> None:
    provider = await place.provider()
    hello = {**HELLO, "name": "greeter", "session": place.session, "tools": [GREET]}
    for _ in range(10):
        await provider.send(hello)
        await provider.expect("hello.ack")
    assert (await error(provider, hello))["code"] == "RATE_LIMITED"
    assert await state_of(provider) == "Bound"
    await works(place, provider)


async def test_a_refused_update_keeps_the_former_tools(place: Place) -> None:
    provider = await place.provider()
    await error(provider, {"type": "tools.update", "tools": [{**GREET, "name": ""}]})
    await place.host.invoke(place.session, "greet")
    await provider.answer(data=1)
    assert (await place.host.expect("tool.outcome"))["data"] == 1


@pytest.mark.parametrize("garbage", ["{", b"\xff", "[]", '{"type":"tool.result"}'])
async def test_garbage_fails_the_one_call_in_flight(place: Place, garbage: str | bytes) -> None:
    provider = await place.provider()
    await place.host.invoke(place.session, "greet")
    await provider.expect("tool.call")
    answer = await error(provider, garbage)
    outcome = await place.host.expect("tool.outcome")
    assert outcome["errorCode"] == "INVALID_JSON"
    assert outcome["error"] == answer["message"]
    await works(place, provider)


async def test_garbage_with_several_calls_in_flight_ends_the_connection(place: Place) -> None:
    provider = await place.provider()
    for id_ in ("i1", "i2"):
        await place.host.invoke(place.session, "greet", id_=id_)
        await provider.expect("tool.call")
    await provider.send("{")
    assert await provider.closed() == 1008
    for id_ in ("i1", "i2"):
        outcome = await place.host.expect("tool.outcome", id=id_)
        assert outcome["errorCode"] == "DISCONNECTED"


@pytest.mark.parametrize("result", [{"data": 1, "error": "x"}, {}, {"error": ""}])
async def test_a_result_that_is_none_fails_its_call(place: Place, result: Json) -> None:
    provider = await place.provider()
    await place.host.invoke(place.session, "greet")
    call = await provider.answer(**result)
    assert (await provider.expect("error"))["id"] == call["id"]
    assert (await place.host.expect("tool.outcome"))["errorCode"] == "INTERNAL"
    await works(place, provider)


async def test_an_unknown_session_or_tool_has_the_documents_words(place: Place) -> None:
    await place.host.invoke("nowhere", "greet", id_="i1")
    assert (await place.host.expect("tool.outcome"))["error"] == "unknown session nowhere"
    await place.host.invoke(place.session, "nothing", id_="i2")
    outcome = await place.host.expect("tool.outcome")
    assert outcome["error"] == "Tool 'nothing' is not supported by this client instance."
    assert outcome["errorCode"] == "NOT_FOUND"
