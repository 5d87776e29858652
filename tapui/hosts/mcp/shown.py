"""Tools and outcomes as MCP shows them: legal names, bounded text, images and files as content."""

import asyncio
import base64
import logging
import math
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec
from mcp_types import (
    AudioContent,
    CallToolResult,
    ContentBlock,
    ImageContent,
    ListToolsResult,
    ResourceLink,
    TextContent,
    Tool,
    ToolAnnotations,
)
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION
from msgspec import UNSET
from pydantic import ValidationError

from tapui.hosts.for_models import IMAGES, description_for_model, media_of, text_for_model
from tapui.text import safe_text
from tapui.wire.message import FileResult, OfferedTool, ToolOutcome, ToolProgress

DESCRIPTION_LENGTH = 16_384
"""Characters of a tool's description; clients hand all of them to their model with each request."""
_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}\Z")
_ERAS = (LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION)

_log = logging.getLogger(__name__)


def progress_of(told: ToolProgress, last: float | None) -> tuple[float, float | None, str]:
    """Return progress, total and text of a call's news; `last` is the progress before it.

    Each progress must be larger than the last one: where the tool counts otherwise, hardly so.
    """
    if told.done is None or not math.isfinite(told.done):
        return (0 if last is None else last) + 1, None, told.message
    done = told.done if last is None or told.done > last else math.nextafter(last, math.inf)
    count = f"{told.done:g}" if told.total is None else f"{told.done:g}/{told.total:g}"
    first, _, text = told.message.partition(" ")
    return done, told.total, (text if first == count else "") or told.message


def listed(tools: Iterable[OfferedTool]) -> list[Tool]:
    """Return the tools that every client can read; one that no client could is left out.

    One tool that does not fit would make the whole list an error.
    """
    found = (_tool(tool) for tool in tools)
    return [tool for tool in found if tool is not None]


def _tool(tool: OfferedTool) -> Tool | None:
    try:
        if not _NAME.match(tool.name):
            raise ValueError("its name is not one of MCP")
        shown = Tool(
            name=tool.name,
            description=safe_text(
                description_for_model(tool), limit=DESCRIPTION_LENGTH, newlines=True
            ),
            input_schema={
                **msgspec.json.decode(tool.parameters, type=dict[str, object]),
                "type": "object",
            },
            annotations=ToolAnnotations(read_only_hint=True) if tool.read_only else None,
        )
        one = ListToolsResult(tools=[shown], ttl_ms=0, cache_scope="private")
        dumped = one.model_dump(by_alias=True, mode="json", exclude_none=True)
        for era in _ERAS:
            validate_server_result("tools/list", era, dumped)
    except (ValueError, ValidationError, msgspec.DecodeError, RecursionError) as error:
        text = safe_text(f"tool {tool.name} is left out: {error}", limit=500)
        _log.warning("%s", text)
        return None
    return shown


async def result_of(outcome: ToolOutcome) -> CallToolResult:
    """Return an outcome as a result; an error is one, too, with its code and text."""
    text, is_ok = text_for_model(outcome)
    content: list[ContentBlock] = [TextContent(text=_encodable(text))]
    structured = None
    if is_ok and outcome.file is not None:
        content.append(await _file(outcome.file))
    elif is_ok and outcome.data is not UNSET and bytes(outcome.data).lstrip()[:1] == b"{":
        structured = msgspec.json.decode(outcome.data)
    return CallToolResult(content=content, structured_content=structured, is_error=not is_ok)


async def _file(file: FileResult) -> ContentBlock:
    """Return an image or a sound as such, any other file as a link to where it is."""
    kind = file.mime_type.partition("/")[0]
    if file.mime_type in IMAGES or kind == "audio":
        data = await asyncio.to_thread(media_of, file)
        if data is not None:
            coded = base64.b64encode(data).decode()
            if kind == "audio":
                return AudioContent(data=coded, mime_type=file.mime_type)
            return ImageContent(data=coded, mime_type=file.mime_type)
    path = Path(file.path)
    return ResourceLink(
        name=_encodable(path.name),
        uri=path.as_uri(),
        mime_type=_encodable(file.mime_type),
        size=file.size,
    )


def _encodable(text: str) -> str:
    """Return text without halves of characters, which would end the connection."""
    return text.encode("utf-8", "replace").decode()
