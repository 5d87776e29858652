"""The Unix socket against TCP, and calls beside clients whose processes are looked at.

`python -m tests.bench.ways URL`, internal token in TAPUI_INTERNAL_TOKEN, is such a client: it sends
100 messages a second that only the person may send, prints `ready` once the first was answered, and
stays until it is killed.
"""

import os
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.bench import roundtrip
from tests.bench.frames import Frames
from tests.bench.roundtrip import Rate
from tests.rig.gateway import Gateway

TURNS = 5
LOOKS_PER_SECOND = 100
CALLS_PER_SECOND = 500
_HELLO = {"type": "tower.hello", "protocolVersion": 2, "role": "client", "name": "bench"}
_DECIDE = {"type": "approval.decide", "approvalId": "a-0", "decision": "deny"}


@dataclass(frozen=True)
class Compared:
    """What the same calls cost by both ways, by turns; the rates are those of median CPU."""

    tcp: Rate
    unix: Rate
    ratio: float
    """The median of the ratios of each turn, of CPU."""


def by_socket(gateway: Gateway) -> str:
    """Return an address by which `Frames` come by the Unix socket."""
    return f"{gateway.url}#{gateway.socket}"


def compare(gateway: Gateway, size: int, in_flight: int, seconds: float) -> Compared:
    """Measure calls through one gateway by both ways, five times by turns."""
    tokens = (gateway.token, gateway.internal_token)
    rates: dict[str, list[Rate]] = {gateway.url: [], by_socket(gateway): []}
    for turn in range(TURNS):
        for url in sorted(rates, reverse=bool(turn % 2)):
            rate = roundtrip.relayed(url, gateway.pid, tokens, size, in_flight, seconds)
            rates[url].append(rate)
    tcp, unix = rates.values()
    ratio = statistics.median(ours.cpu / theirs.cpu for ours, theirs in zip(unix, tcp, strict=True))
    return Compared(_middle(tcp), _middle(unix), ratio)


def _middle(rates: list[Rate]) -> Rate:
    return sorted(rates, key=lambda rate: rate.cpu)[len(rates) // 2]


def beside_looks(gateway: Gateway, size: int, seconds: float) -> tuple[Rate, Rate]:
    """Measure calls without and beside looks, five times by turns; return those of median p99."""
    alone, beside = [], []
    for _ in range(TURNS):
        alone.append(_paced(gateway, size, seconds))
        with _looked_at(gateway):
            beside.append(_paced(gateway, size, seconds))
    found = [sorted(rates, key=lambda rate: rate.p99)[TURNS // 2] for rates in (alone, beside)]
    return found[0], found[1]


def _paced(gateway: Gateway, size: int, seconds: float) -> Rate:
    tokens = (gateway.token, gateway.internal_token)
    url, pid = by_socket(gateway), gateway.pid
    return roundtrip.relayed(url, pid, tokens, size, 0, seconds, per_second=CALLS_PER_SECOND)


@contextmanager
def _looked_at(gateway: Gateway) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.ways", by_socket(gateway)],
        cwd=roundtrip.ROOT,
        env={**os.environ, "TAPUI_INTERNAL_TOKEN": gateway.internal_token},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        if not process.stdout.readline():
            raise RuntimeError("the benchmark's client did not come up")
        yield
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def main(url: str) -> None:
    """Ask until killed, or until the gateway goes."""
    client = Frames.connect(url, os.environ["TAPUI_INTERNAL_TOKEN"], _HELLO)
    is_ready, due = False, time.monotonic()
    while True:
        client.say(_DECIDE)
        due += 1 / LOOKS_PER_SECOND
        while select.select([client.socket], [], [], max(due - time.monotonic(), 0))[0]:
            answers = [one for one in client.receive() if one.startswith(b'{"type":"error"')]
            if answers and not is_ready:
                is_ready = True
                print("ready", flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except ConnectionError:
        sys.exit(0)
