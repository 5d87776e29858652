"""A call of a provider's tool without a gateway, with the outcome that a gateway would tell."""

from typing import Any

from tapui.provider import Provider, ToolError
from tapui.provider.alone import Progress, call
from tapui.wire import codec
from tapui.wire.message import FileResult, ToolOutcome


async def outcome_of(
    provider: Provider, tool: str, arguments: dict[str, Any], progress: Progress | None = None
) -> ToolOutcome:
    """Run a tool and return how the call ended; `progress` is told how far it is."""
    try:
        result = await call(provider, tool, arguments, progress)
    except ToolError as error:
        return ToolOutcome(
            id=tool, error=error.text, error_code=error.code, retryable=error.retryable
        )
    if isinstance(result, FileResult):
        return ToolOutcome(id=tool, file=result)
    return ToolOutcome(id=tool, data=codec.raw(result))
