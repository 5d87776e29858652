"""The gateway's event loop: uvloop where it is installed, asyncio's own elsewhere."""

import asyncio
import importlib.util
from collections.abc import Coroutine
from typing import Any


def run(main: Coroutine[Any, Any, int]) -> int:
    """Run a coroutine to its end on the best loop there is; return what it returns."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(main)


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a new loop of the best kind there is."""
    if importlib.util.find_spec("uvloop") is None:
        return asyncio.new_event_loop()
    import uvloop

    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
