"""A call's outcome as the SDK hands it to the model: text, and images as images."""

import asyncio
import base64
from typing import TYPE_CHECKING

from tapui.hosts.for_models import IMAGES, media_of, text_for_model
from tapui.wire.message import ToolOutcome

if TYPE_CHECKING:
    from copilot import ToolResult


async def result_for_model(outcome: ToolOutcome) -> "ToolResult":
    """Return the result of a tool as the SDK hands it to the model."""
    from copilot import ToolBinaryResult, ToolResult

    text, ok = text_for_model(outcome)
    if not ok:
        return ToolResult(text_result_for_llm=text, result_type="failure", error=text)
    result = ToolResult(text_result_for_llm=text, result_type="success")
    if outcome.file is not None and outcome.file.mime_type in IMAGES:
        data = await asyncio.to_thread(media_of, outcome.file)
        if data is not None:
            image = ToolBinaryResult(
                data=base64.b64encode(data).decode(),
                mime_type=outcome.file.mime_type,
                description=outcome.file.path,
            )
            result.binary_results_for_llm = [image]
    return result
