"""What the model gets of a call's outcome: text, and images as images."""

import asyncio
import base64
import os
import stat
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from tapui.wire.codec import compact
from tapui.wire.message import FileResult, ToolOutcome

if TYPE_CHECKING:
    from copilot import ToolResult

IMAGE_BYTES = 5 * 1024 * 1024
"""A larger image is named by its path only, as every other file is."""
_IMAGES = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
"""The kinds of image that models take."""


async def result_for_model(outcome: ToolOutcome) -> "ToolResult":
    """Return the result of a tool as the SDK hands it to the model."""
    from copilot import ToolBinaryResult, ToolResult

    text, ok = text_for_model(outcome)
    if not ok:
        return ToolResult(text_result_for_llm=text, result_type="failure", error=text)
    result = ToolResult(text_result_for_llm=text, result_type="success")
    if outcome.file is not None and outcome.file.mime_type in _IMAGES:
        data = await asyncio.to_thread(_read, outcome.file)
        if data is not None:
            image = ToolBinaryResult(
                data=base64.b64encode(data).decode(),
                mime_type=outcome.file.mime_type,
                description=outcome.file.path,
            )
            result.binary_results_for_llm = [image]
    return result


def text_for_model(outcome: ToolOutcome) -> tuple[str, bool]:
    """Return what the model reads as the result, and whether it is one (else an error).

    What rules and gates added follows the result.
    """
    text, is_ok = _result_text(outcome)
    return "\n\n".join([text, *(outcome.context or ())]), is_ok


def _result_text(outcome: ToolOutcome) -> tuple[str, bool]:
    if outcome.error is not None or outcome.error_code is not None:
        again = " It may work if it is called again." if outcome.retryable else ""
        return f"{outcome.error_code or 'INTERNAL'}: {outcome.error}{again}", False
    if outcome.file is not None:
        file = outcome.file
        return f"The result is in the file {file.path} ({file.mime_type}, {file.size} bytes)", True
    if outcome.data is UNSET:
        return "", True
    data = bytes(outcome.data)
    if data.lstrip()[:1] == b'"':
        return msgspec.json.decode(data, type=str), True
    return bytes(compact(outcome.data)).decode(), True


def _read(file: FileResult) -> bytes | None:
    """Return a file's content; None when it is too large or not there any more."""
    try:
        handle = os.open(file.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(handle, "rb") as opened:  # noqa: PTH123 - of a descriptor
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        data = opened.read(IMAGE_BYTES + 1)
    return data if len(data) <= IMAGE_BYTES else None
