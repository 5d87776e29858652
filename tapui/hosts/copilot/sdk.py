"""The Copilot SDK: imported late and gently, and its calls bounded in time.

The import costs more than half a second of CPU and 40 MB. It happens in a thread once there is a
session to attach to; what would hold the interpreter (and with it the event loop) for longer than
a few milliseconds is taken out of it, see `_gently`.
"""

import asyncio
import dataclasses
import gc
import importlib.util
import logging
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tapui.hosts.copilot.errors import AttachError, NoAnswerError

T = TypeVar("T")

CALL_TIME = 10.0
"""Seconds that a call to the CLI may take."""
_COMPILE_TIME = 120.0
_SWITCH_INTERVAL = 0.001
_INDEX = ("copilot.generated.rpc", "RPC")
"""A class of 1,900 fields that only lists the SDK's other types; nothing makes an instance."""


async def load() -> None:
    """Import the SDK without stopping the event loop.

    Raises `AttachError` when it is not installed or does not work here.
    """
    if "copilot" in sys.modules:
        return
    # The SDK logs what it raises anyway; without a handler that would be written over the screen.
    logging.getLogger("copilot").addHandler(logging.NullHandler())
    try:
        await _compile()
        await asyncio.to_thread(_gently)
    except (ImportError, OSError) as error:
        raise AttachError(
            f"the Copilot SDK cannot be used ({error}); "
            "install it again with: pip install --force-reinstall github-copilot-sdk"
        ) from error


async def _compile() -> None:
    """Have a child process compile the SDK where its installer did not.

    Compiling its largest module would hold the interpreter for half a second.
    """
    spec = importlib.util.find_spec("copilot")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("github-copilot-sdk is not installed")
    folder = Path(spec.submodule_search_locations[0])
    if _is_compiled(folder / "generated" / "rpc.py"):
        return
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "compileall", "-q", str(folder)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await asyncio.wait_for(child.wait(), _COMPILE_TIME)
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()


def _is_compiled(source: Path) -> bool:
    compiled = Path(importlib.util.cache_from_source(str(source)))
    return compiled.exists() and compiled.stat().st_mtime >= source.stat().st_mtime


def _gently() -> None:
    """Import the SDK in pieces that leave the event loop room between them.

    The loop gets the interpreter back every millisecond. Three things would not let go of it:
    full garbage collections over the SDK's 300,000 objects (the collector is off meanwhile, and
    what lives at the end is never looked at again), and making the one class of `_INDEX`.
    """
    interval = sys.getswitchinterval()
    collects = gc.isenabled()
    gc.disable()
    sys.setswitchinterval(_SWITCH_INTERVAL)
    try:
        with _index_left_plain():
            importlib.import_module("copilot")
    finally:
        sys.setswitchinterval(interval)
        gc.freeze()
        if collects:
            gc.enable()


@contextmanager
def _index_left_plain() -> Iterator[None]:
    """Leave the class of `_INDEX` as it is written, instead of a dataclass (44 ms at a stroke)."""
    make: Callable[..., Any] = dataclasses.dataclass

    def dataclass(cls: Any = None, /, **options: Any) -> Any:
        if cls is not None and (cls.__module__, cls.__name__) == _INDEX:
            return cls
        return make(cls, **options)

    dataclasses.dataclass = dataclass
    try:
        yield
    finally:
        dataclasses.dataclass = make


def failures() -> tuple[type[Exception], ...]:
    """Return the exceptions by which the loaded SDK says that a call failed."""
    from copilot._jsonrpc import JsonRpcError, ProcessExitedError

    return (
        JsonRpcError,
        ProcessExitedError,
        # Written by hand or generated, the SDK's own checks of what the CLI answered:
        RuntimeError,
        OSError,
        ValueError,
        AssertionError,
        KeyError,
        TypeError,
        AttributeError,
    )


async def call(what: str, awaitable: Awaitable[T], *, within: float = CALL_TIME) -> T:
    """Await a call of the SDK for at most `within` seconds.

    Raises `AttachError`, which says `what` could not be done and why.
    """
    try:
        async with asyncio.timeout(within):
            return await awaitable
    except TimeoutError:
        raise NoAnswerError(f"{what}: no answer from the CLI within {within:g} s") from None
    except failures() as error:
        raise AttachError(f"{what}: {str(error) or type(error).__name__}") from error
