"""A provider's tools in words: for the terminal, as Markdown, as JSON."""

import json
from collections.abc import Iterator, Sequence

import msgspec

from tapui.schemas.descriptions import described_arguments
from tapui.text import few
from tapui.wire.message import Tool


def signature_of(tool: Tool) -> str:
    """Return a tool with its arguments: `greet(name, times=1)`."""
    shown = []
    for one in described_arguments(tool.parameters):
        default = "…" if one.default is msgspec.UNSET else json.dumps(one.default)
        shown.append(one.name if one.is_required else f"{one.name}={default}")
    return f"{tool.name}({', '.join(shown)})"


def as_text(name: str, tools: Sequence[Tool], *, is_all: bool = True) -> Iterator[str]:
    """Yield lines for the terminal; without `is_all` of the first tools alone."""
    yield f"{name}: {len(tools)} {'tool' if len(tools) == 1 else 'tools'}"
    shown, rest = (tools, []) if is_all else few(tools)
    for tool in shown:
        yield ""
        yield signature_of(tool)
        yield from (f"    {line}" for line in tool.description.splitlines())
        for one in described_arguments(tool.parameters):
            about = f"  {one.description}" if one.description else ""
            yield f"    - {one.name}: {one.type}{about}"
        if tool.timeout is not None:
            yield f"    may take {tool.timeout / 1000:g} s"
    for more in rest:
        yield ""
        yield f"{more}: --all"


def as_markdown(name: str, tools: Sequence[Tool]) -> Iterator[str]:
    """Yield the lines of a document."""
    yield f"# {name}"
    for tool in tools:
        yield ""
        yield f"## `{tool.name}`"
        yield ""
        yield from tool.description.splitlines()
        arguments = described_arguments(tool.parameters)
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
