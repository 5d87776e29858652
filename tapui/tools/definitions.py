"""What a built-in tool is: its definition for the model, what it asks, and what it answers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tapui.settings.settings import Timeouts
from tapui.wire.codec import decode_object, given_object, raw
from tapui.wire.message import Message, Tool
from tapui.wire.provider import ToolCall

Schema = dict[str, Any]
"""A JSON Schema."""
TEXT: Schema = {"type": "string"}
MARGIN = 15.0
"""Seconds beyond those that the person has: gates are asked before, and decisions recorded."""


class RefusedError(Exception):
    """A request that was not granted: by the person, by their rules, by a gate."""


@dataclass(frozen=True)
class BuiltinTool:
    """A tool. `properties` are those of its arguments, by name.

    `ask` returns what is asked of the gateway; it raises `ValueError` or `WireError` for arguments
    that cannot be. `tell` makes the result of the answer, as JSON, or a further message to ask;
    it raises `RefusedError`. `patience` returns how long the person has to decide, in seconds,
    and `withdraw` what takes the question back when the call is given up.
    """

    name: str
    description: str
    ask: Callable[[ToolCall], Message]
    tell: Callable[[ToolCall, Any], Any]
    properties: dict[str, Schema]
    required: tuple[str, ...] = ()
    patience: Callable[[Timeouts], float] | None = None
    withdraw: Callable[[str], Message] | None = None

    def definition(self, timeouts: Timeouts) -> Tool:
        parameters: Schema = {"type": "object", "properties": self.properties}
        if self.required:
            parameters["required"] = list(self.required)
        timeout = None
        if self.patience is not None:
            timeout = (self.patience(timeouts) + MARGIN) * 1000
        return Tool(self.name, self.description, raw(parameters), timeout)


def object_of(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call. Raises `WireError` for what is no object."""
    return decode_object(given_object(call.args, "arguments"), "arguments")
