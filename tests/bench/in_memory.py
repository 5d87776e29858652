"""A call in a test: through the kit and the gateway in memory, as authors' tests make it."""

import asyncio
import time

from tapui.provider import Provider

WAYS = ("coroutine", "plain")


def _provider() -> Provider:
    provider = Provider("bench")

    @provider.tool
    async def coroutine(text: str) -> str:
        return text

    @provider.tool
    def plain(text: str) -> str:
        return text

    return provider


async def _timed(seconds: float) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    async with _provider().test() as session:
        for way, times in found.items():
            await session.call(way, text="x" * 89)
            end = time.perf_counter() + seconds / len(found)
            while (began := time.perf_counter()) < end:
                await session.call(way, text="x" * 89)
                times.append(time.perf_counter() - began)
    return found


def latencies(seconds: float) -> dict[str, tuple[float, float]]:
    """Return the p50 and p99 of a call in ms, of a tool of each kind, one call at a time."""
    found = asyncio.run(_timed(seconds))
    return {
        way: (times[len(times) // 2] * 1e3, times[len(times) * 99 // 100] * 1e3)
        for way, times in ((way, sorted(times)) for way, times in found.items())
    }


def opening(times: int = 100) -> float:
    """Return the median of the milliseconds that it takes to open a session and to close it."""

    async def once() -> float:
        began = time.perf_counter()
        async with _provider().test():
            pass
        return time.perf_counter() - began

    return sorted(asyncio.run(once()) for _ in range(times))[times // 2] * 1e3
