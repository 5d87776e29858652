"""Loops and programs for tests of child processes."""

import asyncio
import gc
import os
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import psutil
import pytest

from tapui.runtime.children.child import Command
from tests.conftest import needs_uvloop
from tests.rig.waiting import until, until_async

ENVIRON = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
READY = "print('ready', flush=True)\n"
WAITS = "import signal; signal.pause()\n"
Test = Callable[[], Coroutine[Any, Any, None]]


ON_BOTH_LOOPS = pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
"""For what a loop does in its own way: pipes, ends, cancelling."""


@pytest.fixture
def loop() -> str:
    """The loop that `run` uses, unless a test is for each."""
    return "asyncio"


@pytest.fixture
def run(loop: str) -> Callable[[Test], None]:
    """Run a coroutine function on a loop in a thread of its own, and check what it leaves."""

    factory = asyncio.new_event_loop
    if loop == "uvloop":
        needs_uvloop()
        import uvloop

        factory = uvloop.new_event_loop

    def run_it(test: Test) -> None:
        factory().close()  # the first uvloop opens a pipe for the whole process
        failures: list[BaseException] = []

        def main() -> None:
            try:
                with asyncio.Runner(loop_factory=factory) as runner:
                    runner.get_loop().set_exception_handler(
                        lambda _, context: failures.append(AssertionError(str(context)))
                    )
                    runner.run(test())
            except BaseException as failure:  # noqa: BLE001 - raised in the test's thread
                failures.append(failure)

        gc.collect()  # what earlier tests left open is closed now, not while this one counts
        process = psutil.Process()
        before = process.num_fds(), len(process.children())
        thread = threading.Thread(target=main)
        thread.start()
        thread.join()
        if failures:
            raise failures[0]
        until(
            lambda: (process.num_fds(), len(process.children())) == before,
            what=lambda: f"as before: {process.open_files()} {process.children()}",
        )

    return run_it


def python(program: str, *args: str, **environ: str) -> Command:
    return Command((sys.executable, "-c", program, *args), {**ENVIRON, **environ})


class Lines(list[tuple[str, str]]):
    """The lines that came."""

    def __call__(self, source: str, text: str) -> None:
        self.append((source, text))

    async def until(self, text: str) -> str:
        """Wait for a line that begins with `text`; return the rest of it."""
        found = await until_async(
            lambda: [line for _, line in self if line.startswith(text)],
            what=lambda: f"{text!r} in {self}",
        )
        return found[0].removeprefix(text).strip()
