"""What a provider's author could do better: names, descriptions and schemas of its tools.

A model has nothing but these to choose a tool by and to fill in its arguments.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from tapui.core.providers.tools import kept_definitions
from tapui.schemas import arguments
from tapui.schemas.arguments import NotChecked, SchemaUnusable
from tapui.schemas.references import remote_reference
from tapui.text import safe_text
from tapui.wire.errors import WireError
from tapui.wire.limits import MAX_TOOLS
from tapui.wire.message import Tool

LONG_DESCRIPTION = 2_000
"""Characters of a description beyond which it costs more of each request than it helps."""
LARGE_SCHEMA = 16 * 1024
"""Bytes of a schema beyond which the same is so."""
BUILTIN_PREFIX = "tap_"
_VAGUE = re.compile(
    "(add|call|check|create|delete|do|execute|fetch|find|get|handle|list|main|process|query|read|"
    r"run|search|send|set|start|stop|test|tool|update|write)\Z"
)
_HARMLESS = re.compile("[\t\u200c\u200d]")
"""Tabs, and the joiners that scripts and emoji need."""
_FEW_WORDS = 3
_DEPTH = 32


class LintFinding(NamedTuple):
    """Something to mend: `path` is where (`greet.name`: the argument `name` of the tool `greet`),
    then what is wrong, and what mends it."""

    path: str
    problem: str
    fix: str


async def findings(tools: Sequence[Tool], most: int = MAX_TOOLS) -> list[LintFinding]:
    """Return what there is to mend about tools, in their order; `most` are taken of a provider."""
    found = list(_of_names(tools))
    try:
        kept_definitions(list(tools), most)
    except WireError as error:
        found.append(
            LintFinding("tools", f"a gateway refuses them: {error.text}", "mend that first")
        )
    unusable: dict[bytes, tuple[str, str] | None] = {}
    for tool in tools:
        found += _of_description(tool)
        found += await _of_schema(tool, unusable)
    return found


def _of_names(tools: Sequence[Tool]) -> Iterator[LintFinding]:
    known: dict[str, str] = {}
    for tool in tools:
        if tool.name.startswith(BUILTIN_PREFIX):
            yield LintFinding(
                tool.name,
                f"names that begin with {BUILTIN_PREFIX} are those of tapui's own tools",
                f"call it {tool.name.removeprefix(BUILTIN_PREFIX)}",
            )
        if _VAGUE.match(tool.name.lower()):
            yield LintFinding(
                tool.name,
                "the name does not say of what",
                f"name the thing, too, such as {tool.name}_ticket",
            )
        alike = re.sub(r"[_-]", "", tool.name.lower())
        if alike in known:
            yield LintFinding(
                tool.name,
                f"a model confuses it with {known[alike]}: only case or _ and - differ",
                "give one of them another name, or make them one tool",
            )
        known.setdefault(alike, tool.name)


def _of_description(tool: Tool) -> Iterator[LintFinding]:
    text = tool.description.strip()
    if not text or text.lower() == tool.name.replace("_", " ").lower():
        yield LintFinding(
            tool.name,
            "there is no description",
            "write a docstring: when to use the tool, and what it returns",
        )
        return
    if len(text.split()) < _FEW_WORDS:
        yield LintFinding(
            tool.name,
            f"the description has {_counted(len(text.split()), 'word')}",
            "say when to use the tool, and what it returns",
        )
    if len(text) > LONG_DESCRIPTION:
        yield LintFinding(
            tool.name,
            f"the description has {len(text):,} characters, and goes along with each request",
            f"say it in {LONG_DESCRIPTION:,}; return the rest, or put it into a file",
        )
    yield from _of_text(tool.name, tool.description)


def _of_text(path: str, text: str) -> Iterator[LintFinding]:
    """Find characters that a person who reads the text does not see."""
    plain = _HARMLESS.sub("", text)
    if safe_text(plain, newlines=True) != plain:
        yield LintFinding(
            path,
            "the text has characters that are not shown, such as control characters",
            "remove them: what a model reads should be what a person sees",
        )


async def _of_schema(
    tool: Tool, unusable: dict[bytes, tuple[str, str] | None]
) -> list[LintFinding]:
    try:
        schema = msgspec.json.decode(tool.parameters)
    except (msgspec.DecodeError, RecursionError) as error:
        return [
            LintFinding(f"{tool.name}.parameters", f"the schema is no JSON: {error}", "mend it")
        ]
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return [
            LintFinding(
                f"{tool.name}.parameters",
                "the schema describes no object",
                'begin it with {"type": "object", "properties": {…}}',
            )
        ]
    return [*await _of_use(tool, schema, unusable), *_of_properties(tool, schema)]


async def _of_use(
    tool: Tool, schema: dict[str, Any], unusable: dict[bytes, tuple[str, str] | None]
) -> list[LintFinding]:
    """Find what keeps clients from applying the schema at all."""
    path = f"{tool.name}.parameters"
    found: list[LintFinding] = []
    if (remote := remote_reference(schema)) is not None:
        fix = "copy what it refers to into $defs"
        return [LintFinding(path, f"the schema refers to {remote}, which is never fetched", fix)]
    text = bytes(tool.parameters)
    if text not in unusable:  # a check takes a process, and tools without arguments are many
        unusable[text] = await _why_unusable(tool)
    if (why := unusable[text]) is not None:
        found.append(LintFinding(path, *why))
    size = len(memoryview(tool.parameters))
    if size > LARGE_SCHEMA:
        problem = f"the schema has {size:,} bytes, which go along with each request"
        found.append(
            LintFinding(path, problem, "take fewer or simpler arguments, or split the tool")
        )
    properties = schema.get("properties")
    required = schema.get("required")
    known = properties if isinstance(properties, Mapping) else {}
    for name in required if isinstance(required, list) else ():
        if name not in known:
            problem = "it is required, and the schema says nothing of it"
            fix = "describe it under properties, or do not require it"
            found.append(LintFinding(f"{tool.name}.{name}", problem, fix))
    return found


async def _why_unusable(tool: Tool) -> tuple[str, str] | None:
    """Return the problem and the fix of a schema that cannot be applied."""
    try:
        await arguments.faults(tool.parameters, Raw(b"{}"))
    except NotChecked as error:
        return str(error), "make the schema simpler"
    except SchemaUnusable as error:
        return f"the schema cannot be applied: {error}", "mend the schema"
    return None


def _of_properties(tool: Tool, schema: dict[str, Any]) -> Iterator[LintFinding]:
    properties = schema.get("properties")
    for name, about in properties.items() if isinstance(properties, dict) else ():
        path = f"{tool.name}.{name}"
        found = _resolved(schema, about)
        if not found.get("description") and not _names(tool.description, name):
            yield LintFinding(
                path,
                "the argument has no description",
                f'add a line to the docstring ("{name}: …"), or write '
                'Annotated[…, "what it means"]',
            )
        elif isinstance(found.get("description"), str):
            yield from _of_text(path, found["description"])
        if not found.keys() - {"description", "title", "default"}:
            yield LintFinding(
                path, "the argument has no type: anything is taken", "annotate it: name: str"
            )
        elif found.get("type") == "object" and not _says_what(found):
            yield LintFinding(
                path,
                "the argument takes any object: the model must guess its keys",
                "use a TypedDict, a dataclass or dict[str, int]",
            )
        elif found.get("type") == "array" and not found.get("items"):
            yield LintFinding(
                path,
                "the argument takes a list of anything",
                "say of what: list[str]",
            )


def _names(description: str, name: str) -> bool:
    """Return whether a description speaks of an argument, such as "Greet a person by name."."""
    words = r"[\W_]+".join(map(re.escape, re.findall(r"[^\W_]+", name)))
    return bool(words) and re.search(rf"\b{words}\b", description, re.IGNORECASE) is not None


def _says_what(schema: Mapping[str, Any]) -> bool:
    return any(
        schema.get(key) for key in ("properties", "additionalProperties", "patternProperties")
    )


def _resolved(root: Mapping[str, Any], schema: Any) -> dict[str, Any]:
    """Return a schema with what it refers to in its place, its own words first."""
    found = dict(schema) if isinstance(schema, Mapping) else {}
    for _ in range(_DEPTH):
        target = found.pop("$ref", None)
        if not isinstance(target, str):
            break
        there: Any = root
        for part in target.removeprefix("#/").split("/"):
            there = there.get(part) if isinstance(there, Mapping) else None
        found = {**(there if isinstance(there, Mapping) else {}), **found}
    return found


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
