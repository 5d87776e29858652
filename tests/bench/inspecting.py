"""What an inspection costs calls: the same calls, with a tower that reads and inspects by turns."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.bench import roundtrip
from tests.bench.roundtrip import ROOT, SESSION, Caller, Rate, invoke
from tests.rig.gateway import Gateway

ROUNDS = 3


@contextmanager
def _inspector(gateway: Gateway, provider_id: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.inspector", gateway.url],
        cwd=ROOT,
        env={**os.environ, "TAPUI_INTERNAL_TOKEN": gateway.internal_token},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        _order(process, provider_id, answer="ready")
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _order(process: subprocess.Popen[str], order: str, *, answer: str) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{order}\n")
    process.stdin.flush()
    if process.stdout.readline().strip() != answer:
        raise RuntimeError("the benchmark's inspector did not do as told")


def measure(gateway: Gateway, size: int, in_flight: int, seconds: float) -> tuple[Rate, Rate]:
    """Return the median of the calls without and with an inspection of their provider."""
    client = roundtrip.host(gateway.url, gateway.internal_token)
    rates: dict[str, list[Rate]] = {"off": [], "on": []}
    try:
        with roundtrip.provider(gateway.url, gateway.token, size, session=SESSION):
            client.expect("tools.changed", sessionId=SESSION)
            with _inspector(gateway, _provider_id(gateway)) as inspector:
                request = invoke("bench", b'{"text":"' + b"x" * 89 + b'"}')
                caller = Caller(client, request, b'{"type":"tool.outcome"')
                for _ in range(ROUNDS):
                    for order in ("on", "off"):
                        _order(inspector, order, answer=order)
                        rate = roundtrip.measure(
                            caller, gateway.pid, in_flight, seconds / (2 * ROUNDS)
                        )
                        rates[order].append(rate)
    finally:
        client.socket.close()
    off, on = (sorted(found, key=lambda rate: rate.cpu)[1] for found in rates.values())
    return off, on


def _provider_id(gateway: Gateway) -> str:
    state = json.loads(gateway.home.run("status", "--json").stdout)["state"]
    return next(str(one["id"]) for one in state["providers"] if one["name"] == "bench")
