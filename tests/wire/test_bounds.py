"""Every text, list and table that comes in has a bound, and what is longer is refused."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
import pytest
from msgspec import Meta, Raw, Struct

from tapui.wire import builtin, host, limits, message, provider, tower
from tapui.wire.codec import decode, encodable, encode, envelope
from tapui.wire.errors import ErrorCode, WireError

UNIONS = (provider.FromProvider, host.FromHost, tower.FromTower, builtin.FromBuiltin)
KINDS: list[type[message.Message]] = list(
    dict.fromkeys(kind for union in UNIONS for kind in get_args(union))
)


def nodes(kind: Any, path: str, meta: Meta | None = None) -> Iterator[tuple[str, Any, Meta | None]]:
    """Yield every type inside of a type, with its path and the bound that stands at it."""
    if get_origin(kind) is Annotated:
        bare, bound = get_args(kind)
        yield from nodes(bare, path, bound)
        return
    yield path, kind, meta
    if isinstance(kind, type) and issubclass(kind, Struct):
        for one in msgspec.structs.fields(kind):
            yield from nodes(one.type, f"{path}.{one.encode_name}")
    elif get_origin(kind) is not Literal:
        for one in get_args(kind):
            yield from nodes(one, path)


def is_bounded(meta: Meta | None) -> bool:
    if meta is None:
        return False
    extra = meta.extra or {}
    return bool(meta.max_length or extra.get("text") or hasattr(limits, extra.get("limit", "")))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.__struct_config__.tag))
def test_every_field_that_comes_in_has_a_bound(kind: type[message.Message]) -> None:
    unbounded = [
        path
        for path, inner, meta in nodes(kind, str(kind.__struct_config__.tag))
        if (inner is str or inner in (list, dict) or get_origin(inner) in (list, dict))
        and not is_bounded(meta)
    ]
    assert unbounded == []


def test_a_field_without_a_bound_is_seen() -> None:
    class Open(Struct):
        names: Annotated[list[str], Meta(max_length=3)]

    (seen,) = [path for path, inner, meta in nodes(Open, "open") if inner is str and meta is None]
    assert seen == "open.names"


# What is longer is refused


def filled(kind: Any, path: str, target: str, meta: Meta | None = None) -> Any:
    """Return a value of a type; what is at the path `target` is longer than it may be."""
    if get_origin(kind) is Annotated:
        bare, bound = get_args(kind)
        return filled(bare, path, target, bound)
    origin, args = get_origin(kind), get_args(kind)
    count = (meta.max_length or 0) + 1 if meta and path == target else 1
    if kind is str and meta is not None and meta.pattern is not None:
        return "0" * (64 + (path == target))
    if kind is str:
        return "x" * count
    if kind is bool:
        return True
    if kind is Raw or kind is Any:
        return {}
    if kind in (int, float):
        return 1
    if origin is Literal:
        return args[0]
    if origin is list:
        return [filled(args[0], f"{path}[]", target)] * count
    if origin is dict:
        value = filled(args[1], f"{path}{{}}", target)
        name = filled(args[0], f"{path}#", target)
        return {f"{name}{number or ''}": value for number in range(count)}
    if origin is not None:  # a union
        inner = next(one for one in args if one is not type(None))
        return filled(inner, path, target)
    config = kind.__struct_config__
    tag = {} if config.tag is None else {config.tag_field: config.tag}
    return tag | {
        one.encode_name: filled(one.type, f"{path}.{one.encode_name}", target)
        for one in msgspec.structs.fields(kind)
    }


def bounded_paths(kind: Any, path: str, meta: Meta | None = None) -> Iterator[tuple[str, bool]]:
    """Yield the path of each bound that the codec checks; whether it bounds entries."""
    if get_origin(kind) is Annotated:
        bare, bound = get_args(kind)
        yield from bounded_paths(bare, path, bound)
        return
    origin, args = get_origin(kind), get_args(kind)
    if meta is not None and meta.max_length:
        yield path, origin in (list, dict)
    if origin is list:
        yield from bounded_paths(args[0], f"{path}[]")
    elif origin is dict:
        yield from bounded_paths(args[0], f"{path}#")
        yield from bounded_paths(args[1], f"{path}{{}}")
    elif origin in (Union, type(int | str)):
        yield from bounded_paths(next(one for one in args if one is not type(None)), path)
    elif isinstance(kind, type) and issubclass(kind, Struct):
        for one in msgspec.structs.fields(kind):
            yield from bounded_paths(one.type, f"{path}.{one.encode_name}")


CASES = [
    pytest.param(kind, path, is_count, id=f"{kind.__struct_config__.tag}{path}")
    for kind in KINDS
    for path, is_count in bounded_paths(kind, "")
]


def read(kind: type[message.Message], target: str) -> message.Message:
    data = encode({**filled(kind, "", target), "type": kind.__struct_config__.tag})
    return decode(data, envelope(data), kind)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.__struct_config__.tag))
def test_what_is_not_too_long_is_read(kind: type[message.Message]) -> None:
    assert encodable(read(kind, "nothing")) == read(kind, "nothing")


@pytest.mark.parametrize(("kind", "path", "is_count"), CASES)
def test_what_is_too_long_is_refused(
    kind: type[message.Message], path: str, is_count: bool
) -> None:
    with pytest.raises(WireError, match="of length <=") as refused:
        read(kind, path)
    expected = ErrorCode.PAYLOAD_TOO_LARGE if is_count else ErrorCode.INVALID_JSON
    assert refused.value.code is expected
    assert refused.value.reply_to == kind.__struct_config__.tag
    assert len(refused.value.text) < 200


def test_what_an_end_in_this_process_says_has_the_same_bounds() -> None:
    agents = [host.Agent("a")] * (limits.MAX_AGENTS + 1)
    with pytest.raises(WireError, match="agents") as refused:
        encodable(host.SessionUpdate("s1", agents=agents))
    assert refused.value.code is ErrorCode.PAYLOAD_TOO_LARGE
    with pytest.raises(WireError, match="sessionId") as refused:
        encodable(host.SessionUpdate("s" * 300))
    assert refused.value.code is ErrorCode.INVALID_JSON
