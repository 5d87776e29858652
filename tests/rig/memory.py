"""What stays in memory: what something reaches, and what only the collector frees."""

import asyncio
import gc
import logging
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context
from threading import Thread
from types import FunctionType, ModuleType
from typing import Any

_ELSEWHERE = (
    type, ModuleType, Thread, Context, logging.Logger, asyncio.AbstractEventLoop, asyncio.Handle
)  # fmt: skip
"""What an object refers to but does not own: behind these is the whole program."""
_VALUES = (str, int, float, bytes, type(None))
"""What may be shared or not, as the interpreter likes; who has them is counted."""
_CONTAINERS = (dict, list, set, frozenset, tuple, deque)


def reachable(root: object) -> Counter[str]:
    """Count the objects that `root` keeps alive, by type, and the entries of its containers.

    Not followed are classes, modules, the globals of functions, threads, event loops and timers.
    """
    counts: Counter[str] = Counter()
    seen = {id(root)}
    found = [root]
    while found:
        one = found.pop()
        name = _name(one)
        counts[name] += 1
        if isinstance(one, _CONTAINERS):
            counts[f"entries of {name}"] += len(one)
        for other in _referents(one):
            if id(other) not in seen and not isinstance(other, _ELSEWHERE + _VALUES):
                seen.add(id(other))
                found.append(other)
    return counts


def _referents(one: object) -> list[Any]:
    if isinstance(one, FunctionType):
        return [*(one.__closure__ or ()), *(one.__defaults__ or ())]
    return gc.get_referents(one)


def _name(one: object) -> str:
    return f"{type(one).__module__}.{type(one).__qualname__}"


def grown(before: Counter[str], after: Counter[str]) -> dict[str, tuple[int, int]]:
    """Return what there is more of, or less, than before: the counts of both times by type."""
    return {
        name: (before[name], after[name])
        for name in sorted({*before, *after})
        if before[name] != after[name]
    }


@contextmanager
def left_to_the_collector(*packages: str) -> Iterator[Counter[str]]:
    """Count the objects, of types of these packages, that were dropped within the block and that
    only a garbage collection would free: they refer to each other in a circle.

    The counts are there at the end of the block.
    """
    counts: Counter[str] = Counter()
    was_enabled, flags = gc.isenabled(), gc.get_debug()
    gc.collect()
    gc.disable()
    try:
        yield counts
        kept = len(gc.garbage)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        counts.update(
            _name(one)
            for one in gc.garbage[kept:]
            if type(one).__module__.partition(".")[0] in packages
        )
        del gc.garbage[kept:]
    finally:
        gc.set_debug(flags)
        if was_enabled:
            gc.enable()
