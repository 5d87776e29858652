"""Reading a frame in one pass says what reading it step by step says, or leaves it to that."""

import json
from collections.abc import Sequence
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapui.wire import builtin, host, provider, tower
from tapui.wire.codec import decode, envelope, read, reader
from tapui.wire.errors import WireError
from tapui.wire.limits import MAX_DEPTH
from tapui.wire.message import Message

STATES: list[Sequence[type[Message]]] = [
    get_args(union)
    for union in (provider.FromProvider, host.FromHost, tower.FromTower, builtin.FromBuiltin)
]
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)


def stepwise(data: bytes, kinds: Sequence[type[Message]]) -> Message | None:
    """Read a frame as a refusal needs it: envelope first; None for what is refused."""
    by_type = {str(kind.__struct_config__.tag): kind for kind in kinds}
    try:
        head = envelope(data)
        kind = by_type.get(head.type)
        return decode(data, head, kind) if kind is not None else None
    except WireError:
        return None


@st.composite
def frames(draw: st.DrawFn) -> tuple[bytes, Sequence[type[Message]]]:
    """A frame that may be a message of a state, and that state's kinds of messages."""
    kinds = draw(st.sampled_from(STATES))
    kind = draw(st.sampled_from(kinds))
    message: dict[str, Any] = {"type": str(kind.__struct_config__.tag)}
    for field in msgspec.structs.fields(kind):
        if draw(st.booleans()) or field.required:
            message[field.encode_name] = draw(st.text(max_size=4) | values)
    if draw(st.integers(0, 9)) == 0:
        message["type"] = draw(values)
    data = json.dumps(message, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 9)) == 0:
        at = draw(st.integers(0, len(data) - 1))
        data = data[:at] + draw(st.binary(max_size=2)) + data[at + 1 :]
    return data, kinds


@given(frames())
def test_one_pass_reads_what_two_would_read(frame: tuple[bytes, Sequence[type[Message]]]) -> None:
    data, kinds = frame
    decoder = reader(kinds)
    assert decoder is not None
    assert read(data, decoder) == stepwise(data, kinds)


@pytest.mark.parametrize("depth", [MAX_DEPTH, MAX_DEPTH + 1, 100_000])
def test_one_pass_leaves_what_is_nested_too_deep(depth: int) -> None:
    decoder = reader(STATES[0])
    assert decoder is not None
    data = b'{"type":"tool.result","id":"c","data":' + b"[" * depth + b"]" * depth + b"}"
    found = read(data, decoder)
    assert (found is not None) == (depth <= MAX_DEPTH)
    assert found == stepwise(data, STATES[0])


def test_a_single_kind_is_not_read_in_one_pass() -> None:
    assert reader([provider.Auth]) is None
