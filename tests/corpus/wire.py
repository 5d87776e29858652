"""Bytes of every message and event: one file for each direction of each conversation.

The examples are made from the types: every field and every value of a closed set is in one of
them, and each message is once with only what it must have.
"""

import hashlib
import types
import typing
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Raw, Struct, UnsetType
from msgspec.structs import FieldInfo

from tapui.wire import builtin, criteria, events, goals, host, provider, tower

DATA = Path(__file__).parent / "data" / "wire"
TABLES: dict[str, Any] = {
    "events": events.AnyEvent,
    "from-provider": provider.FromProvider,
    "to-provider": provider.ToProvider,
    "from-host": host.FromHost,
    "to-host": host.ToHost,
    "from-tower": tower.FromTower,
    "to-tower": tower.ToTower,
    "from-builtin": builtin.FromBuiltin,
    "to-builtin": builtin.ToBuiltin,
    "demands": criteria.AnyDemand | goals.CommandStated | goals.EvidenceNamed,
}
"""What may be said in each direction, what is recorded, and what criteria demand. (`builtin` stays
in the process.)"""

Covered = set[tuple[str, ...]]
"""What examples have: (message, "least"), (type, field) and (type, field, value)."""

_TEXT = 'ü "quoted" \\ \n\t\u2028 😀 </x>'
_ROUNDS = 64
"""More than any closed set has values."""


def kinds(table: str) -> dict[str, type[Struct]]:
    """Return the messages of a table by their tags."""
    found = (kind for kind in get_args(TABLES[table]))
    return {str(kind.__struct_config__.tag): kind for kind in found}


def file_of(table: str) -> Path:
    """Return the file of a table's examples."""
    return DATA / f"{table}.jsonl"


def lines_of(table: str) -> list[bytes]:
    """Return the examples of a table."""
    try:
        return file_of(table).read_bytes().splitlines()
    except FileNotFoundError:
        return []


def tag_of(line: bytes) -> str:
    """Return the tag of an example."""
    told = msgspec.json.decode(line)
    return str(told["kind" if "kind" in told and "type" not in told else "type"])


def decoded(table: str, line: bytes) -> Any:
    """Read an example as the message that it is."""
    return msgspec.json.decode(line, type=kinds(table)[tag_of(line)])


# What there is to cover


def wanted(kind: type[Struct]) -> Covered:
    """Return all that examples of a message must have."""
    found: Covered = {(_tag(kind), "least")}
    for struct in _structs(kind, set()):
        for field in msgspec.structs.fields(struct):
            found.add((struct.__name__, field.name))
            values = {one for one in _values(field.type) if one != field.default}
            found |= {(struct.__name__, field.name, str(one)) for one in values}
    return found


def covered(table: str, line: bytes) -> Covered:
    """Return what an example has."""
    message = decoded(table, line)
    found: Covered = set()
    _look(message, found)
    if all(
        not _is_set(message, one) for one in msgspec.structs.fields(message) if not one.required
    ):
        found.add((_tag(type(message)), "least"))
    return found


def _look(value: Any, found: Covered) -> None:
    if isinstance(value, Struct):
        for field in msgspec.structs.fields(value):
            if not _is_set(value, field):
                continue
            found.add((type(value).__name__, field.name))
            inner = getattr(value, field.name)
            allowed = set(map(str, _values(field.type)))
            for one in _flat(inner):
                if isinstance(one, str | Enum) and str(one) in allowed:
                    found.add((type(value).__name__, field.name, str(one)))
            _look(inner, found)
    elif isinstance(value, list | tuple):
        for one in value:
            _look(one, found)
    elif isinstance(value, dict):
        for one in value.values():
            _look(one, found)


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for one in value:
            yield from _flat(one)
    elif isinstance(value, dict):
        yield from value
        for one in value.values():
            yield from _flat(one)
    else:
        yield value


def _is_set(value: Struct, field: FieldInfo) -> bool:
    """Return whether a field has another value than its default."""
    if field.required:
        return True
    default = field.default
    if field.default_factory is not NODEFAULT:
        default = field.default_factory()
    given = getattr(value, field.name)
    if isinstance(given, Raw):
        return not isinstance(default, Raw) or bytes(given) != bytes(default)
    return bool(given != default)


def _structs(kind: Any, seen: set[type[Struct]]) -> set[type[Struct]]:
    """Return a type's Structs, with those within them."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        if kind not in seen:
            seen.add(kind)
            for field in msgspec.structs.fields(kind):
                _structs(field.type, seen)
    else:
        for one in get_args(kind):
            _structs(one, seen)
    return seen


def _values(kind: Any) -> tuple[Any, ...]:
    """Return the values of the closed sets within a type."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return tuple(kind)
    if isinstance(kind, type):
        return ()
    return tuple(value for one in get_args(kind) for value in _values(one))


def _tag(kind: type[Struct]) -> str:
    return f"{kind.__struct_config__.tag_field} {kind.__struct_config__.tag}"


# Examples


def added(table: str, known: Covered) -> Iterator[bytes]:
    """Yield the examples that a table lacks, `known` being what all have; they are added to it."""
    for kind in kinds(table).values():
        missing = wanted(kind) - known
        if (_tag(kind), "least") in missing:
            yield _example(table, kind, None, known)
        for number in range(_ROUNDS):
            if not missing - known:
                break
            line = _line(kind, number)
            if covered(table, line) & missing - known:
                yield _example(table, kind, number, known)
        assert not missing - known, missing - known


def _example(table: str, kind: type[Struct], number: int | None, known: Covered) -> bytes:
    line = _line(kind, number)
    known |= covered(table, line)
    return line


def _line(kind: type[Struct], number: int | None) -> bytes:
    """Return a message with all of its fields, or with those that it must have (`None`)."""
    told = _fields(kind, number, (kind,))
    return msgspec.json.encode(msgspec.json.decode(msgspec.json.encode(told), type=kind))


def _fields(kind: type[Struct], number: int | None, inside: tuple[Any, ...]) -> dict[str, Any]:
    config = kind.__struct_config__
    tag = {} if config.tag is None else {str(config.tag_field): config.tag}
    return tag | {
        field.encode_name: _value(field.type, number or 0, field, inside)
        for field in msgspec.structs.fields(kind)
        if field.required or (number is not None and inside.count(kind) < 3)
    }


def _value(kind: Any, number: int, field: FieldInfo, inside: tuple[Any, ...]) -> Any:
    """Return a value of a type, by turns if it has several, that is not a field's default.

    `inside` are the Structs around it: one within itself ends after two rounds.
    """
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _within(args[1:], _value(args[0], number, field, inside))
    if origin in (Union, types.UnionType):
        options = [one for one in args if one not in (type(None), UnsetType)]
        return _value(options[number % len(options)], number // len(options), field, inside)
    if origin is Literal:
        options = [one for one in args if one != field.default] or list(args)
        return options[number % len(options)]
    if origin in (list, tuple) and (len(args) == 1 or args[-1] is Ellipsis):
        numbers = (2 * number, 2 * number + 1) if not _is_again(args[0], inside) else (number,)
        return [_value(args[0], one, _BARE, inside) for one in numbers]
    if origin is tuple:
        return [_value(one, number, _BARE, inside) for one in args]
    if origin is dict:
        return {
            str(_value(args[0], number, _BARE, inside)): _value(args[1], number, _BARE, inside),
            "ü": _value(args[1], number + 1, _BARE, inside),
        }
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _fields(kind, number, (*inside, kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return list(kind)[number % len(kind)]
    return _plain(kind, number, field)


def _within(bounds: tuple[Any, ...], value: Any) -> Any:
    """Return a value that a type's bounds allow: the most, or a hash where they are a pattern."""
    for one in bounds:
        if one.pattern is not None:
            value = hashlib.sha256(str(value).encode()).hexdigest()
        elif one.le is not None:
            value = min(value, one.le)
    return value


def _is_again(kind: Any, inside: tuple[Any, ...]) -> bool:
    return kind in inside or any(_is_again(one, inside) for one in get_args(kind))


def _plain(kind: Any, number: int, field: FieldInfo) -> Any:
    if kind is bool:
        return not field.default if isinstance(field.default, bool) else number % 2 == 0
    if kind is int:
        return 2**53 - 1 if number % 2 else 7
    if kind is float:
        return 0.1 if number % 2 else 1250.5
    if kind is str:
        return f"{field.encode_name} {_TEXT}" if number % 2 else field.encode_name
    if kind is Raw:
        return Raw(b'{"as": ["sent", 1.50,\tnull, {"\\u00fc": "\xc3\xbc"}]}')
    if kind is Any:
        return {"any": [1, 2.5, None, True, _TEXT]}
    raise AssertionError(f"tests/corpus/wire.py has no value for {kind} ({field.name})")


_BARE = FieldInfo("item", "item", typing.Any)
