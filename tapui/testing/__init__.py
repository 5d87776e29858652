"""Tests of providers in memory: the real gateway without a port, and a clock turned by hand.

`async with provider.test() as session:` opens it (`opening.open_test`); `tool_context` is for tests
of tool files. Nothing here is imported before it is used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tapui.testing.recorded_context import RecordedContext, tool_context

__all__ = ["RecordedContext", "tool_context"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tapui.testing import recorded_context as module

    return getattr(module, name)
