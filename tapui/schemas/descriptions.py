"""The arguments of a tool in words: names, types, examples."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

_EXAMPLES: dict[str, Any] = {
    "string": "text",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}


class DescribedArgument(msgspec.Struct, frozen=True, omit_defaults=True):
    """An argument of a tool, as its schema has it."""

    name: str
    type: str
    is_required: bool
    description: str = ""
    default: Any = msgspec.UNSET


def described_arguments(parameters: Raw) -> list[DescribedArgument]:
    """Return a tool's arguments, in the schema's order; none where it is no schema of an object."""
    try:
        schema = msgspec.json.decode(parameters)
    except (msgspec.DecodeError, RecursionError):
        return []
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return []
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    return [
        DescribedArgument(
            name,
            type_words(about, schema),
            name in needed,
            str(about.get("description", "")) if isinstance(about, Mapping) else "",
            about.get("default", msgspec.UNSET) if isinstance(about, Mapping) else msgspec.UNSET,
        )
        for name, about in properties.items()
    ]


def type_words(schema: Any, root: Any, depth: int = 8) -> str:
    """Return the type that a schema describes, in a few words: `string`, `list of integer`."""
    if not isinstance(schema, Mapping) or depth == 0:
        return "anything"
    target = schema.get("$ref")
    if isinstance(target, str):
        found = root
        for part in target.removeprefix("#/").split("/"):
            found = found.get(part) if isinstance(found, Mapping) else None
        return type_words(found, root, depth - 1)
    if "const" in schema:
        return json.dumps(schema["const"], ensure_ascii=False)
    if isinstance(values := schema.get("enum"), list):
        return " | ".join(json.dumps(one, ensure_ascii=False) for one in values)
    for combining in ("anyOf", "oneOf"):
        if isinstance(parts := schema.get(combining), list):
            return " | ".join(dict.fromkeys(type_words(one, root, depth - 1) for one in parts))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(map(str, kind))
    if kind == "array":
        return f"list of {type_words(schema.get('items'), root, depth - 1)}"
    return str(kind) if isinstance(kind, str) else "anything"


def example_words(parameters: Raw) -> str:
    """Return arguments that fit a schema, as they are typed on a command line: `name=Ada`."""
    words = []
    for one in described_arguments(parameters):
        if one.is_required:
            value = _example(one)
            text = value if isinstance(value, str) else json.dumps(value)
            words.append(shlex.quote(f"{one.name}={text}"))
    return " ".join(words)


def _example(argument: DescribedArgument) -> Any:
    first = argument.type.partition(" | ")[0]
    if first.startswith("list of"):
        return []
    if first in _EXAMPLES:
        return "Ada" if first == "string" and argument.name == "name" else _EXAMPLES[first]
    try:
        return json.loads(first)
    except ValueError:
        return "text"
