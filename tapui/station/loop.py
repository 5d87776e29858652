"""The event loop: uvloop where it is installed, asyncio's own elsewhere."""

import asyncio
import importlib.util
from collections.abc import Callable, Coroutine
from typing import Any


def run(main: Coroutine[Any, Any, int]) -> int:
    """Run a coroutine to its end on the best loop there is; return what it returns."""
    with asyncio.Runner(loop_factory=_factory()) as runner:
        return runner.run(main)


def _factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if importlib.util.find_spec("uvloop") is None:
        return None
    import uvloop

    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
