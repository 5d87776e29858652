"""The codec: whatever comes, a message or a typed refusal; what passes through is not touched."""

import json
from functools import cache
from typing import Annotated, Any, get_args, get_origin

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from tapui.wire import builtin, events, host, provider, tower
from tapui.wire.codec import (
    compact,
    decode,
    depth_exceeds,
    encodable,
    encode,
    envelope,
    envelope_of_start,
    optional_object,
    raw,
    require_object,
)
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.host import Agent, ApprovalAnswer, HostSession, SessionOpen
from tapui.wire.limits import MAX_DEPTH
from tapui.wire.message import Message, ToolInvoke
from tapui.wire.surrogates import without_surrogates

UNIONS = (
    provider.FromProvider, provider.ToProvider, host.FromHost, host.ToHost,
    tower.FromTower, tower.ToTower, builtin.FromBuiltin, builtin.ToBuiltin,
)  # fmt: skip
KINDS: list[type[Message]] = list(
    dict.fromkeys(kind for union in UNIONS for kind in get_args(union))
)
BY_TYPE: dict[str, type[Message]] = {str(kind.__struct_config__.tag): kind for kind in KINDS}
EVENTS: tuple[type[msgspec.Struct], ...] = get_args(events.AnyEvent)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
raws = json_values.map(raw)


def read(data: bytes) -> Message:
    """Read a frame as the gateway does, in a state that allows everything."""
    head = envelope(data)
    kind = BY_TYPE.get(head.type)
    if kind is None:
        raise head.refusal(ErrorCode.UNKNOWN_TYPE, f"unknown type {head.type}")
    return decode(data, head, kind)


def read_or_refuse(data: bytes) -> Message | WireError:
    """Read a frame; return the refusal if it is refused. Anything else that is raised is a bug."""
    try:
        return read(data)
    except WireError as error:
        return error


def is_sound(outcome: Message | WireError) -> bool:
    """Return whether a message can be sent on, and a refusal says something."""
    return bool(outcome.text if isinstance(outcome, WireError) else encode(outcome))


def of_type(hint: Any) -> st.SearchStrategy[Any]:
    """Return values for a field."""
    if hint is Raw:
        return raws
    if hint is Any:
        return json_values
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return structs(hint)
    arguments = get_args(hint)
    if get_origin(hint) is Annotated:
        return _bounded(*arguments)
    if arguments and Raw in arguments:
        return raws
    if getattr(hint, "__origin__", None) in (list, dict):
        inner = [of_type(argument) for argument in arguments]
        if hint.__origin__ is list:
            return st.lists(inner[0], max_size=2)
        return st.dictionaries(inner[0], inner[1], max_size=2)
    if arguments and all(isinstance(argument, str) for argument in arguments):
        return st.sampled_from(arguments)
    if arguments:
        return st.one_of(
            [of_type(argument) for argument in arguments if argument is not type(None)]
        )
    if hint is float:
        return st.floats(allow_nan=False, allow_infinity=False)
    if hint is int:
        return st.integers(-(2**53), 2**53)
    return st.from_type(hint)


def _bounded(hint: Any, bound: msgspec.Meta) -> st.SearchStrategy[Any]:
    """Return values for a field that not every value of its type is good for."""
    if bound.pattern is not None:
        return st.from_regex(bound.pattern, alphabet=st.characters(codec="ascii"))
    if hint is float:
        return st.floats(bound.gt, bound.le, exclude_min=bound.gt is not None)
    if bound.ge is not None or bound.le is not None:
        return st.integers(bound.ge, bound.le)
    if hint is str:
        return st.text(min_size=bound.min_length or 0, max_size=bound.max_length)
    return of_type(hint)


@cache
def structs(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Return values of a Struct, which may hold others of its own kind."""
    return st.deferred(lambda: _structs(kind))


def _structs(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Return values of a Struct: required fields always, the others now and then."""
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    needed = {name: of_type(field.type) for name, field in fields.items() if field.required}
    others = {name: of_type(field.type) for name, field in fields.items() if not field.required}
    return st.fixed_dictionaries(needed, optional=others).map(lambda given: kind(**given))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.__struct_config__.tag))
def test_every_message_survives_the_way(kind: type[Message]) -> None:
    @settings(max_examples=10, database=None, deadline=None)
    @given(structs(kind))
    def check(message: Message) -> None:
        data = encode(message)
        again = read(data)
        assert type(again) is kind
        assert encode(again) == data
        assert json.loads(data)["type"] == kind.__struct_config__.tag

    check()


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: str(kind.__struct_config__.tag))
def test_every_event_survives_the_record(kind: type[msgspec.Struct]) -> None:
    reader = msgspec.json.Decoder(events.AnyEvent)

    @settings(max_examples=10, database=None, deadline=None)
    @given(structs(kind))
    def check(event: msgspec.Struct) -> None:
        data = encode(event)
        again = reader.decode(data)
        assert type(again) is kind
        assert encode(again) == data
        assert json.loads(data)["kind"] == kind.__struct_config__.tag

    check()


def test_every_event_has_a_collection() -> None:
    for kind in EVENTS:
        assert str(kind.__struct_config__.tag).partition(".")[0] in events.COLLECTIONS


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.__struct_config__.tag))
def test_fields_are_camel_case_on_the_wire(kind: type[Message]) -> None:
    names = {field.encode_name for field in msgspec.structs.fields(kind)}
    assert {name for name in names if "_" in name} <= {"startup_context"}


# Whatever comes


@settings(max_examples=400, database=None, deadline=None)
@given(st.binary(max_size=60))
def test_random_bytes_raise_nothing_but_our_error(data: bytes) -> None:
    assert is_sound(read_or_refuse(data))


FRAMES: list[Any] = [
    {"type": "push", "level": "keep", "event": "e", "metadata": {"a": [1, {"b": None}]}},
    {"type": "tool.invoke", "id": "i", "sessionId": "s", "tool": "t", "args": {"x": "\u00e9"}},
    {"type": "tool.result", "id": "i", "data": [1.5, "x", None], "retryable": True},
    {"type": "hello", "name": "n", "protocolVersion": 2, "session": "s",
     "tools": [{"name": "t", "description": "d", "parameters": {}}]},
    {"type": "session.open", "session": {"id": "s", "label": "l", "cwd": "/",
                                         "agents": [{"name": "a", "tools": None}]}},
    {"type": "approval.decide", "approvalId": "a", "decision": "deny", "answer": {"x": [1]}},
]  # fmt: skip


@settings(max_examples=600, database=None, deadline=None)
@given(st.sampled_from(FRAMES), st.data())
def test_frames_with_flipped_bytes_raise_nothing_but_our_error(
    frame: Any, data: st.DataObject
) -> None:
    body = bytearray(json.dumps(frame, ensure_ascii=False).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body) - 1))
        kind = data.draw(st.integers(0, 2))
        if kind == 0:
            body[at] = data.draw(st.integers(0, 255))
        elif kind == 1:
            del body[at:]
            break
        else:
            body[at:at] = data.draw(st.binary(max_size=3))
        if not body:
            break
    assert is_sound(read_or_refuse(bytes(body)))


@settings(max_examples=400, database=None, deadline=None)
@given(st.sampled_from(FRAMES), st.data(), json_values)
def test_fields_of_the_wrong_kind_raise_nothing_but_our_error(
    frame: Any, data: st.DataObject, value: Any
) -> None:
    field = data.draw(st.sampled_from(sorted(frame)))
    outcome = read_or_refuse(json.dumps({**frame, field: value}).encode())
    assert is_sound(outcome)
    if isinstance(outcome, WireError):
        assert outcome.reply_to in (frame["type"], value, None)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "Input data was truncated"),
        (b"[]", "Expected `object`, got `array`"),
        (b"{}", "type: missing"),
        (b'{"type":1}', "type: Expected `str`, got `int`"),
        (b'{"type":"tool.progress","id":"i"}', "message: missing"),
        (b'{"type":"push","level":"x","event":""}', "level: Invalid enum value 'x'"),
        (b'{"type":"hello","protocolVersion":2,"name":"n","tools":[{}]}', "tools[0].name: missing"),
        (b'{"type":"push","x":"\xff"}', "not valid UTF-8 at byte 20"),
    ],
)
def test_the_text_names_the_field(data: bytes, text: str) -> None:
    with pytest.raises(WireError) as caught:
        read(data)
    assert caught.value.text == text
    assert caught.value.code is ErrorCode.INVALID_JSON


def test_the_echo_is_what_the_message_had() -> None:
    with pytest.raises(WireError) as caught:
        read(b'{"type":"push","id":"i","requestId":"r"}')
    error = caught.value
    assert (error.reply_to, error.id, error.request_id) == ("push", "i", "r")


# What passes through


@settings(max_examples=100, database=None, deadline=None)
@given(st.dictionaries(st.text(max_size=5), json_values), st.sampled_from([None, 1, "\t"]))
def test_raw_parts_are_handed_on_byte_for_byte(args: Any, indent: Any) -> None:
    given = json.dumps(args, ensure_ascii=False, indent=indent).encode()
    head = b'{"type":"tool.invoke","id":"i","sessionId":"s","tool":"t","args":'
    message = read(head + given + b"}")
    assert isinstance(message, ToolInvoke)
    assert bytes(message.args) == given
    assert given in encode(message)


@settings(max_examples=100, database=None, deadline=None)
@given(json_values, st.sampled_from([1, "\t", "\r\n"]))
def test_compacting_changes_no_value(value: Any, indent: Any) -> None:
    spread = json.dumps(value, ensure_ascii=False, indent=indent).encode()
    flat = bytes(compact(Raw(spread)))
    assert b"\n" not in flat
    assert b"\r" not in flat
    assert json.loads(flat) == json.loads(spread)


def nested(depth: int, opening: str = "[", closing: str = "]") -> str:
    return opening * depth + closing * depth


@pytest.mark.parametrize(
    ("value", "is_taken"),
    [
        (nested(MAX_DEPTH), True),
        (nested(MAX_DEPTH + 1), False),
        (nested(MAX_DEPTH, '{"a":', "}").replace(":}", ":1}", 1), True),
        (nested(MAX_DEPTH + 1, '{"a":', "}").replace(":}", ":1}", 1), False),
        (json.dumps(nested(1000)), True),
        (json.dumps('\\"' + nested(1000)), True),
        ("[" + ",".join(["[]"] * 5000) + "]", True),
        ("[" + ",".join(["{}"] * 5000) + "]", True),
        ("[" + json.dumps("]" * 300) + "," + nested(MAX_DEPTH) + "]", False),
        (nested(100_000), False),
        ('{"a":[' * 128 + "]}" * 128, True),
        ('{"a":[' * 129 + "]}" * 129, False),
        ('["]",' * 300 + "1" + ',"["]' * 300, False),
        ('["\\"]",' * 300 + "1" + ',"[\\\\"]' * 300, False),
    ],
    ids=range(14),
)
def test_what_passes_through_nests_256_levels_at_most(value: str, is_taken: bool) -> None:
    data = f'{{"type":"tool.result","id":"i","data":{value}}}'.encode()
    if is_taken:
        read(data)
        return
    with pytest.raises(WireError) as caught:
        read(data)
    assert "nested deeper than 256 levels" in caught.value.text


@settings(max_examples=200, database=None, deadline=None)
@given(json_values, st.integers(0, 6))
def test_depth_is_counted_exactly(value: Any, limit: int) -> None:
    def depth(part: Any) -> int:
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        return (
            1 + max((depth(one) for one in inner), default=0)
            if isinstance(part, dict | list)
            else 0
        )

    data = json.dumps(value).encode()
    if len(data) > 2 * limit:
        assert depth_exceeds(data, limit) == (depth(value) > limit)


@pytest.mark.parametrize("given", [b"[]", b"1", b'"{}"', b"null", b"true", b" []"])
def test_an_object_is_required(given: bytes) -> None:
    with pytest.raises(WireError, match="args: expected an object"):
        require_object(Raw(given), "args")


@pytest.mark.parametrize("given", [b"{}", b' {"a":1}', b"\n{}"])
def test_an_object_is_taken(given: bytes) -> None:
    require_object(Raw(given), "args")


def test_null_is_as_good_as_absent() -> None:
    assert optional_object(None, "x") is None
    assert optional_object(Raw(b"null"), "x") is None
    assert optional_object(Raw(b"{}"), "x") is not None
    with pytest.raises(WireError):
        optional_object(Raw(b'"null"'), "x")


def test_absent_optional_fields_stay_absent() -> None:
    assert encode(provider.ToolResult("i", error="x")) == (
        b'{"type":"tool.result","id":"i","error":"x"}'
    )
    snapshot = json.loads(encode(tower.TowerSnapshot(1, tower.Snapshot([], [], [], [], []))))
    assert set(snapshot) == {"type", "seq", "state"}
    assert snapshot["state"]["sessions"] == []


def test_a_null_result_is_a_result() -> None:
    message = read(b'{"type":"tool.result","id":"i","data":null}')
    assert isinstance(message, provider.ToolResult)
    assert isinstance(message.data, Raw)
    assert bytes(message.data) == b"null"


@pytest.mark.parametrize(
    ("start", "found"),
    [
        (b'{"type":"tool.result","id":"c1","data":"xxx', ("tool.result", "c1", None)),
        (b' {\n "id" : "c1" , "requestId":"r", "type" : "push", "a', ("push", "c1", "r")),
        (
            b'{"data":{"deep":[1,2,{"id":"no"}]},"type":"tool.result","x',
            ("tool.result", None, None),
        ),
        (b'{"type":"push","id":7,"requestId":null,"x', ("push", None, None)),
        (b'{"type":"push","id":"\\ud83d","x', ("push", None, None)),
        (b'{"type":"p\xc3', None),
        (b'{"type":"push', None),
        (b'{"type":7,"id":"c1","x', None),
        (b'{"data":"' + b"x" * 100, None),
        (b'{"data":' + b"[" * 60_000, None),
        (b'[{"type":"push"}', None),
        (b'{"type":"push" "id":"c1"', ("push", None, None)),
        (b"{7:1}", None),
        (b"{}", None),
        (b"", None),
        (b"\xff\xfe", None),
    ],
)
def test_the_beginning_of_an_oversized_frame_tells_what_to_echo(start: bytes, found: Any) -> None:
    head = envelope_of_start(start)
    if found is None:
        assert head is None
        return
    assert head is not None
    error = head.refusal(ErrorCode.PAYLOAD_TOO_LARGE, "too large")
    assert (error.reply_to, error.id, error.request_id) == found


@given(st.binary(max_size=300))
def test_the_beginning_of_a_frame_may_be_anything(start: bytes) -> None:
    envelope_of_start(start)
    envelope_of_start(b'{"type":' + start)


HALF = "\ud83d"


def test_text_with_half_an_emoji_is_mended_at_the_edge() -> None:
    opened = SessionOpen(
        HostSession("s" + HALF, f"a{HALF}\ude00b", "/\udcff", agents=[Agent(HALF)])
    )
    mended = encodable(opened)
    assert mended.session == HostSession(
        "s\ufffd", "a\U0001f600b", "/\ufffd", agents=[Agent("\ufffd")]
    )
    assert encode(mended)


def test_text_that_is_whole_passes_the_edge_as_the_same_object() -> None:
    opened = SessionOpen(HostSession("s1", "\U0001f600 caf\xe9", "/"))
    assert encodable(opened) is opened


def test_a_value_for_a_field_passed_through_is_mended_in_keys_and_values() -> None:
    made = raw({HALF: [HALF, {"a": (HALF, 1, None)}], "b": True})
    assert json.loads(bytes(made)) == {"\ufffd": ["\ufffd", {"a": ["\ufffd", 1, None]}], "b": True}


@given(st.text(st.characters(codec=None)))
def test_mended_text_can_be_encoded_and_keeps_what_was_whole(text: str) -> None:
    mended = without_surrogates(text)
    mended.encode()
    assert len(mended) <= len(text)
    if not any(0xD800 <= ord(char) < 0xE000 for char in text):
        assert mended == text


@pytest.mark.parametrize("detail", [object(), {(1, 2): 3}])
def test_what_cannot_be_json_is_refused_at_the_edge(detail: Any) -> None:
    with pytest.raises(WireError) as refused:
        encodable(ApprovalAnswer("r1", "approve", detail))
    assert refused.value.code == "INVALID_JSON"
    assert refused.value.reply_to == "approval.answer"


def test_what_is_nested_too_deep_is_refused_at_the_edge() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (deep, [HALF, deep]):
        with pytest.raises(WireError):
            encodable(ApprovalAnswer("r1", "approve", value))
