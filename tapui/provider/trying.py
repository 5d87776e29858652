"""The command that calls a tool in the session in front."""

from tapui import DEFAULT_PORT
from tapui.invocation import command
from tapui.schemas.described import example_words
from tapui.wire.message import Tool


def try_line(tool: Tool, port: int | None) -> str:
    """Return the command that calls a tool in the session in front."""
    where = "" if port in (None, DEFAULT_PORT) else f" --port {port}"
    return command(f"call {tool.name} {example_words(tool.parameters)}".rstrip() + where)
