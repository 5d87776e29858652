"""Tool definitions: what one must be by itself (Provider Interface v2 "Tool definition")."""

import re
from math import isfinite

from msgspec.structs import replace

from tapui.schemas.references import remote_reference
from tapui.wire import limits
from tapui.wire.codec import compact, decode_object, depth_exceeds, require_object
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.message import Tool

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


def kept_definitions(tools: list[Tool], most: int) -> list[Tool]:
    """Check a list of definitions by itself; return them as they are kept, apart from the message.

    Raises `WireError`: `PAYLOAD_TOO_LARGE` for too many, `INVALID_JSON` naming the field.
    """
    check_size(tools, most)
    for index, tool in enumerate(tools):
        path = f"tools[{index}]"
        if not _NAME.match(tool.name):
            raise _invalid(f"{path}.name: must match ^[A-Za-z0-9_-]{{1,64}}$")
        if not tool.description.strip():
            raise _invalid(f"{path}.description: must not be empty")
        if tool.timeout is not None and not (isfinite(tool.timeout) and tool.timeout > 0):
            raise _invalid(f"{path}.timeout: must be a finite number of milliseconds above 0")
        _check_parameters(tool, path)
    return [replace(tool, parameters=compact(tool.parameters)) for tool in tools]


def check_size(tools: list[Tool], most: int) -> None:
    """Check that there are at most `most`, and their bytes.

    Raises `WireError` (`PAYLOAD_TOO_LARGE`).
    """
    if len(tools) > most:
        raise WireError(ErrorCode.PAYLOAD_TOO_LARGE, f"{len(tools)} tools; {too_many(most)}")
    if sum(map(_size, tools)) > limits.MAX_DECLARED_BYTES:
        raise WireError(
            ErrorCode.PAYLOAD_TOO_LARGE,
            f"a provider's tools have at most {limits.MAX_DECLARED_BYTES:,} bytes together",
        )


def too_many(most: int) -> str:
    """Return why further tools of a provider are not taken."""
    return f"a provider may have at most {most:,} (setting provider-tools)"


def _size(tool: Tool) -> int:
    return len(tool.name) + len(tool.description) + len(memoryview(tool.parameters))


def _invalid(text: str) -> WireError:
    return WireError(ErrorCode.INVALID_JSON, text)


def _check_parameters(tool: Tool, path: str) -> None:
    require_object(tool.parameters, f"{path}.parameters")
    if depth_exceeds(tool.parameters, limits.MAX_SCHEMA_DEPTH):
        raise _invalid(f"{path}.parameters: nested deeper than {limits.MAX_SCHEMA_DEPTH} levels")
    schema = decode_object(tool.parameters, f"{path}.parameters")
    may_refer = b"$" in bytes(tool.parameters) or b"\\u" in bytes(tool.parameters)
    if may_refer and remote_reference(schema) is not None:
        raise _invalid(f"{path}.parameters: remote $ref is not allowed")
