"""Messages as other languages write them: `null` for an absent field, `1.0` for the integer 1.

A message that fits its type as it stands never comes here.
"""

import re
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
from msgspec import Raw, Struct, UnsetType
from msgspec.structs import FieldInfo

_CANDIDATE = re.compile(rb"null|\d[.eE]")
_MOST_ITEMS = 1_000
"""Longer lists stay as they are: no message may have so many items."""
_MOST_EXACT = 2**53
"""Up to here each integer is a number of its own in JSON."""
_encode = msgspec.json.encode


def normalized(data: bytes | Raw, kind: type[Struct]) -> bytes | None:
    """Return valid JSON as `kind` reads it, or None when there is nothing to change.

    Optional fields that are null are left out, integral numbers become integers where `kind` has
    integers. What is passed through unread stays untouched.
    """
    data = bytes(data)
    if not _CANDIDATE.search(data):
        return None
    try:
        return bytes(_struct(Raw(data), kind))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


@cache
def _fields(kind: type[Struct]) -> dict[str, tuple[FieldInfo, tuple[Any, ...]]]:
    """Return a type's fields by their names in JSON, each with the types that it may have."""
    return {one.encode_name: (one, _options(one.type)) for one in msgspec.structs.fields(kind)}


def _options(kind: Any) -> tuple[Any, ...]:
    kind = _bare(kind)
    if get_origin(kind) in (Union, UnionType):
        return tuple(_bare(one) for one in get_args(kind))
    return (kind,)


def _bare(kind: Any) -> Any:
    """Return a type without the bounds of its length (see `bounds`)."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _struct(given: Raw, kind: type[Struct]) -> Raw:
    known = _fields(kind)
    fields = msgspec.json.decode(given, type=dict[str, Raw])
    kept = {}
    for name, value in fields.items():
        field, options = known.get(name, (None, ()))
        if (
            field is not None
            and not field.required
            and UnsetType not in options
            and bytes(value) == b"null"
        ):
            continue
        kept[name] = _value(value, options)
    return Raw(_encode(kept))


def _value(given: Raw, options: tuple[Any, ...]) -> Raw:
    for kind in options:
        if isinstance(kind, type) and issubclass(kind, Struct):
            return _struct(given, kind) if bytes(given)[:1] == b"{" else given
        if kind is int:
            return given if float in options else _integer(given)
        arguments = get_args(kind)
        if get_origin(kind) is list and _is_read(arguments[0]):
            items = msgspec.json.decode(given, type=list[Raw])
            if len(items) <= _MOST_ITEMS:
                return Raw(_encode([_value(item, _options(arguments[0])) for item in items]))
        if get_origin(kind) is dict and _is_read(arguments[1]):
            table = msgspec.json.decode(given, type=dict[str, Raw])
            if len(table) <= _MOST_ITEMS:
                options = _options(arguments[1])
                return Raw(_encode({key: _value(item, options) for key, item in table.items()}))
    return given


def _is_read(kind: Any) -> bool:
    """Return whether values of a type hold anything that could be written otherwise."""
    return any(
        one is int or (isinstance(one, type) and issubclass(one, Struct)) for one in _options(kind)
    )


def _integer(given: Raw) -> Raw:
    number = msgspec.json.decode(given)
    if isinstance(number, float) and number.is_integer() and abs(number) <= _MOST_EXACT:
        return Raw(_encode(int(number)))
    return given
