"""A provider's tools in words: for the terminal, as Markdown, as JSON."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tapui.invocation import command
from tapui.settings import DEFAULT_PORT
from tapui.wire.message import Tool

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


def arguments_of(tool: Tool) -> list[DescribedArgument]:
    """Return a tool's arguments, in the schema's order; none where it is no schema of an object."""
    try:
        schema = msgspec.json.decode(tool.parameters)
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


def signature_of(tool: Tool) -> str:
    """Return a tool with its arguments: `greet(name, times=1)`."""
    shown = []
    for one in arguments_of(tool):
        default = "…" if one.default is msgspec.UNSET else json.dumps(one.default)
        shown.append(one.name if one.is_required else f"{one.name}={default}")
    return f"{tool.name}({', '.join(shown)})"


def example_words(tool: Tool) -> str:
    """Return arguments that fit a tool, as they are typed on a command line."""
    words = []
    for one in arguments_of(tool):
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


def try_line(tool: Tool, port: int | None) -> str:
    """Return the command that calls a tool in the session in front."""
    where = "" if port in (None, DEFAULT_PORT) else f" --port {port}"
    return command(f"call {tool.name} {example_words(tool)}".rstrip() + where)


def as_text(name: str, tools: Sequence[Tool]) -> Iterator[str]:
    """Yield lines for the terminal."""
    yield f"{name}: {len(tools)} {'tool' if len(tools) == 1 else 'tools'}"
    for tool in tools:
        yield ""
        yield signature_of(tool)
        yield from (f"    {line}" for line in tool.description.splitlines())
        for one in arguments_of(tool):
            about = f"  {one.description}" if one.description else ""
            yield f"    - {one.name}: {one.type}{about}"
        if tool.timeout is not None:
            yield f"    may take {tool.timeout / 1000:g} s"


def as_markdown(name: str, tools: Sequence[Tool]) -> Iterator[str]:
    """Yield the lines of a document."""
    yield f"# {name}"
    for tool in tools:
        yield ""
        yield f"## `{tool.name}`"
        yield ""
        yield from tool.description.splitlines()
        arguments = arguments_of(tool)
        if arguments:
            yield ""
            yield "| argument | type | required | default | meaning |"
            yield "|---|---|---|---|---|"
        for one in arguments:
            default = "" if one.default is msgspec.UNSET else f"`{json.dumps(one.default)}`"
            cells = (
                f"`{one.name}`",
                f"`{one.type}`",
                "yes" if one.is_required else "",
                default,
                one.description,
            )
            yield f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
