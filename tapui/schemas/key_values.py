"""Arguments as people type them on a command line, `key=value`, read by a tool's schema."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

_COMBINING = ("anyOf", "oneOf", "allOf")
_DEPTH = 32
"""References and combinations that are followed for the types of one argument."""


class NotReadable(ValueError):  # noqa: N818 - a state of what was typed, not a fault of ours
    """A word is no argument of the tool; the text says what is expected."""


def read_key_values(words: Iterable[str], schema: Any) -> dict[str, Any]:
    """Return the arguments that `words` such as `name=Ada` or `count=3` give.

    `schema` is the tool's, decoded. An argument that takes text gets the value as it stands; one
    that takes another type gets the JSON that the value is (`true`, `[1, 2]`). Where it takes both,
    or the schema tells no type, JSON of a type that it takes is that, and all else is text. A key
    that is given more than once is a list where the schema takes one. Raises `NotReadable`.
    """
    found: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key:
            raise NotReadable(f"{word} is no argument; write key=value, such as name=Ada")
        types = types_of(schema, key)
        if types is None:
            known = schema.get("properties")
            raise NotReadable(f"there is no argument {key}; {near_words(key, known)}")
        repeated = found.get(key)
        if key in found and "array" not in types:
            raise NotReadable(f"{key} is given twice")
        if "array" in types and not text.lstrip().startswith("["):
            value = _value(key, text, _items(schema, key))
            found[key] = [*repeated, value] if isinstance(repeated, list) else [value]
        else:
            found[key] = _value(key, text, types)
    return found


def types_of(schema: Any, key: str) -> frozenset[str] | None:
    """Return the JSON types that an argument may have, empty where the schema tells none.

    None: the schema knows no such argument, and allows none that it does not name.
    """
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if isinstance(properties, Mapping) and key in properties:
        return frozenset(_types(schema, properties[key], _DEPTH))
    is_closed = isinstance(schema, Mapping) and schema.get("additionalProperties") is False
    return None if is_closed else frozenset()


def _items(schema: Mapping[str, Any], key: str) -> frozenset[str]:
    found = schema["properties"][key]
    inner = found.get("items") if isinstance(found, Mapping) else None
    return frozenset(_types(schema, inner, _DEPTH))


def _types(root: Any, schema: Any, depth: int) -> set[str]:
    if not isinstance(schema, Mapping) or depth == 0:
        return set()
    types = schema.get("type")
    found = {types} if isinstance(types, str) else set()
    if isinstance(types, list):
        found |= {one for one in types if isinstance(one, str)}
    values = schema.get("enum")
    if isinstance(values, list) and not found:
        found |= {type_of(one) for one in values}
    if "const" in schema and not found:
        found.add(type_of(schema["const"]))
    target = schema.get("$ref")
    if isinstance(target, str) and target.startswith("#/"):
        found |= _types(root, _target(root, target), depth - 1)
    for name in _COMBINING:
        parts = schema.get(name)
        for part in parts if isinstance(parts, list) else ():
            found |= _types(root, part, depth - 1)
    return found


def _target(root: Any, target: str) -> Any:
    found = root
    for part in target.split("/")[1:]:
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def type_of(value: object) -> str:
    """Return the type of a decoded value, as schemas call it."""
    match value:
        case str():
            return "string"
        case bool():
            return "boolean"
        case None:
            return "null"
        case int():
            return "integer"
        case float():
            return "number"
        case list():
            return "array"
    return "object"


def _value(key: str, text: str, types: frozenset[str]) -> Any:
    if types == {"string"}:
        return text
    try:
        value = msgspec.json.decode(text.encode())
    except (ValueError, RecursionError):  # also text that has no UTF-8
        value = text
    if not isinstance(value, str) and (not types or _fits(value, types)):
        return value
    if not types or "string" in types:
        return text
    raise NotReadable(f"{key} takes {' or '.join(sorted(types))}, and {text} is none")


def _fits(value: object, types: frozenset[str]) -> bool:
    kind = type_of(value)
    return kind in types or (kind == "integer" and "number" in types)


def near_words(key: str, properties: Any) -> str:
    """Say which of a schema's properties was meant by a name that it does not have."""
    known = [str(name) for name in properties] if isinstance(properties, Mapping) else []
    if near := difflib.get_close_matches(key, known, n=1):
        return f"did you mean {near[0]}?"
    return f"there are: {', '.join(known)}" if known else "none are taken"
