"""What is wrong with a tool file's `SCHEMA`: in words for its author, one line each."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
MAX_TIMEOUT = 86_400_000
"""Milliseconds, as a provider's tool may have."""
MAX_BYTES = 64 * 1024
SHORT = 20
"""Characters of a description that says too little."""
_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_QUOTED = re.compile(r"'[\w-]+'")


class ToolFault(NamedTuple):
    """A fault of a file: its path below the folder, its line from 1. An error costs the tool."""

    path: str
    line: int
    text: str
    is_error: bool = True

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def schema_faults(path: str, line: int, stem: str, schema: object) -> list[ToolFault]:
    """Return what is wrong with the `SCHEMA` of a file; `line` is where it stands."""
    return [ToolFault(path, line, text, is_error) for text, is_error in _faults(stem, schema)]


def _faults(stem: str, schema: object) -> Iterator[tuple[str, bool]]:
    if not isinstance(schema, dict):
        yield f"SCHEMA is a dict, not {_kind(schema)}", True
        return
    try:
        size = len(json.dumps(schema))
    except (TypeError, ValueError, RecursionError) as error:
        yield f"SCHEMA holds what JSON cannot: {error}", True
        return
    if size > MAX_BYTES:
        yield f"SCHEMA has {size:,} characters as JSON; at most {MAX_BYTES:,}", True
        return
    name, description = schema.get("name"), schema.get("description")
    if not isinstance(name, str) or not NAME.match(name):
        yield 'SCHEMA["name"] is letters, digits, _ and -, at most 64', True
    elif name != stem:
        yield f'SCHEMA["name"] is {name!r}, but the file is {stem}.py: they are the same', True
    if not isinstance(description, str) or not description.strip():
        yield 'SCHEMA["description"] is missing: the model decides by it', True
    elif len(description.strip()) < SHORT:
        yield 'SCHEMA["description"] says little: tell what the tool does, and when', False
    timeout = schema.get("timeout")
    if timeout is not None and not (_is_number(timeout) and 0 < timeout <= MAX_TIMEOUT):
        yield f'SCHEMA["timeout"] is milliseconds, up to {MAX_TIMEOUT:,}', True
    yield from _input_faults(schema.get("inputSchema"))


def _input_faults(schema: object) -> Iterator[tuple[str, bool]]:
    if not isinstance(schema, dict):
        yield 'SCHEMA["inputSchema"] is missing: {"type": "object", …}', True
        return
    if schema.get("type") != "object":
        yield 'inputSchema["type"] is "object"', True
    properties = schema.get("properties", {})
    required = schema.get("required")
    if not isinstance(properties, dict):
        yield f'inputSchema["properties"] is a dict, not {_kind(properties)}', True
        properties = {}
    if required is None:
        yield 'inputSchema["required"] is missing: write it, even as []', True
    elif not isinstance(required, list) or not all(isinstance(one, str) for one in required):
        yield 'inputSchema["required"] is a list of names', True
    else:
        for one in required:
            if one not in properties:
                yield f"inputSchema requires {one!r}, which is not among its properties", True
    for name, about in properties.items():
        yield from _property_faults(str(name), about)


def _property_faults(name: str, about: object) -> Iterator[tuple[str, bool]]:
    if not isinstance(about, dict):
        yield f"property {name!r} is a dict, not {_kind(about)}", True
        return
    kind = about.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        yield f'property {name!r} has no "type" that is a text, such as "string"', True
    description = about.get("description")
    if not isinstance(description, str) or not description.strip():
        yield f'property {name!r} has no "description"', True
    elif "enum" not in about and len(set(_QUOTED.findall(description))) > 1:
        yield f'property {name!r} names its values in the text: write them as "enum", too', False


def duplicates(named: list[tuple[str, int, str]]) -> list[ToolFault]:
    """Return a fault for each file whose name another file has; `named` is (path, line, name)."""
    by_name: dict[str, list[tuple[str, int]]] = {}
    for path, line, name in named:
        by_name.setdefault(name, []).append((path, line))
    return [
        ToolFault(path, line, f"{name!r} is also the name in {_others(places, path)}")
        for name, places in by_name.items()
        if len(places) > 1
        for path, line in places
    ]


def _others(places: list[tuple[str, int]], path: str) -> str:
    return ", ".join(f"{one}:{line}" for one, line in places if one != path)


def _kind(value: object) -> str:
    return "nothing" if value is None else type(value).__name__


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
