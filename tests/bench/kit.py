"""What the provider kit costs: its import, and a call against providers written without it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median

import psutil

from tests.bench import roundtrip
from tests.bench.roundtrip import ROOT, Caller
from tests.rig.gateway import Gateway

WAYS = ("sockets", "by-hand", "coroutine", "plain")
"""`tests.bench.provider`, which reads no JSON, and those of `tests.bench.kit_provider`."""
TURNS = 3
_IMPORT = """
import resource
before = resource.getrusage(resource.RUSAGE_SELF)
import tapui.provider
after = resource.getrusage(resource.RUSAGE_SELF)
import psutil
spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
print(spent, psutil.Process().memory_info().rss)
"""


@dataclass(frozen=True)
class Cost:
    """Microseconds of CPU a call, of the provider's process alone and with the gateway's."""

    own: float
    together: float


def importing(times: int = 7) -> tuple[float, float]:
    """Return the CPU milliseconds of `import tapui.provider`, and the process's MB after it."""
    found = []
    for _ in range(times):
        done = subprocess.run(
            [sys.executable, "-c", _IMPORT], cwd=ROOT, capture_output=True, text=True, check=True
        )
        found.append([float(one) for one in done.stdout.split()])
    return median(one[0] for one in found) * 1e3, median(one[1] for one in found) / 2**20


@contextmanager
def _provider(way: str, gateway: Gateway, size: int) -> Iterator[psutil.Process]:
    session = roundtrip.SESSION
    argv = {"sockets": ["tests.bench.provider", gateway.url, str(size), "1", session]}.get(
        way, ["tests.bench.kit_provider", way, str(size), session]
    )
    process = subprocess.Popen(
        [sys.executable, "-m", *argv],
        cwd=ROOT,
        env={**os.environ, "TAP_GATEWAY": gateway.url, "TAP_PROVIDER_TOKEN": gateway.token},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        while (line := process.stdout.readline()) and line.strip() != "ready":
            continue
        if not line:
            raise RuntimeError(f"the provider '{way}' did not come up")
        yield psutil.Process(process.pid)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _cost(way: str, gateway: Gateway, in_flight: int, seconds: float) -> Cost:
    client = roundtrip.host(gateway.url, gateway.internal_token)
    try:
        with _provider(way, gateway, 100) as process:
            request = roundtrip.invoke("bench", b'{"text":"' + b"x" * 89 + b'"}')
            caller = Caller(client, request, b'{"type":"tool.outcome"')
            caller.run(in_flight, seconds / 4)
            pids = (process.pid, gateway.pid)
            before = [roundtrip.cpu_seconds(pid) for pid in pids]
            caller.run(in_flight, seconds)
            after = [roundtrip.cpu_seconds(pid) for pid in pids]
            own, other = (
                1e6 * (one - zero) / len(caller.latencies)
                for one, zero in zip(after, before, strict=True)
            )
            return Cost(own, own + other)
    finally:
        client.socket.close()


def calls(gateway: Gateway, in_flight: int, seconds: float) -> dict[str, Cost]:
    """Return what a call of 100 B costs, the ways by turns; medians."""
    found: dict[str, list[Cost]] = {way: [] for way in WAYS}
    for _ in range(TURNS):
        for way in WAYS:
            found[way].append(_cost(way, gateway, in_flight, seconds / TURNS))
    return {
        way: Cost(median(one.own for one in costs), median(one.together for one in costs))
        for way, costs in found.items()
    }
