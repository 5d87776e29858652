"""What `tapui run` through a running gateway takes beyond what `tapui status` takes."""

import asyncio
import time
from statistics import median

from tests.rig.gateway import Gateway, Home, tapui_argv
from tests.rig.starting import start_host

ROUNDS = 10


def measure(home: Home) -> tuple[float, float]:
    """Return the medians of both, in ms of wall clock, by turns; the session answers at once."""
    with Gateway(home, "--no-attach") as gateway:
        return asyncio.run(_measure(home, gateway))


async def _measure(home: Home, gateway: Gateway) -> tuple[float, float]:
    host, living = await start_host(gateway.url, gateway.internal_token)
    taken: dict[str, list[float]] = {"status": [], "run": []}
    for _ in range(ROUNDS):
        for name, args in (("status", ("status",)), ("run", ("run", "x", "--cwd", "/"))):
            began = time.perf_counter()
            process = await asyncio.create_subprocess_exec(
                *tapui_argv(*args),
                env=home.env(),
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
            if await process.wait() != 0:
                raise AssertionError(f"tapui {name} failed")
            taken[name].append((time.perf_counter() - began) * 1000)
    living.cancel()
    await host.close()
    return median(taken["status"]), median(taken["run"])
