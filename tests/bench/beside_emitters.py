"""What emitters cost a gateway: calls beside a flood, many that wait, memory of what is kept."""

import json
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psutil

from tapui.wire.limits import MAX_FOLDER_EMITTERS
from tests.bench import roundtrip
from tests.bench.emitting import KEEPING, POURS, WANTED
from tests.bench.filtering import LINE
from tests.bench.frames import Frames
from tests.bench.roundtrip import Rate, cpu_seconds
from tests.rig.gateway import ANYBODY, Gateway, Home
from tests.rig.waiting import until

ROUNDS = 3
RESTING: tuple[dict[str, Any], ...] = (
    {"name": "ticks", "command": "while sleep 5; do echo tick; done", "stream": "ticks"},
    {"name": "looks", "command": "exit 0", "runInterval": "1m", "stream": "looks"},
)
"""One that writes a line now and then, and one that waits for its next run."""
SMALL = 100


@dataclass(frozen=True)
class Waiting:
    """What many cost that wait for their next run: CPU as part of a core, of both processes."""

    gateway: float
    helper: float


@dataclass(frozen=True)
class Kept:
    """Lines a second that come to the gateway, and its MB at the first third and at the end."""

    per_second: float
    memory: tuple[float, float]


def folder_with(home: Home, *emitters: dict[str, Any], name: str = "repo") -> str:
    """Write a configuration and allow all of it; return its folder."""
    folder = home.root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tap.config.json").write_text(json.dumps({"emitters": emitters}))
    (folder / "pours.py").write_text(POURS)
    allow = ("emitters", "allow", "--folder", str(folder), "--yes")
    home.settle(ANYBODY)
    home.run(*allow, within=60)
    return str(folder)


def _pour(rate: float, rules: list[dict[str, str]]) -> dict[str, Any]:
    command = f"exec {sys.executable} pours.py '{LINE}' {rate}"
    return {"name": "pour", "command": command, "eventFilter": rules}


@contextmanager
def _sessions(gateway: Gateway, *folders: str) -> Iterator[None]:
    """Have a session open in each folder."""
    hello = {"type": "host.hello", "name": "bench", "kind": "bench", "protocolVersion": 2}
    client = Frames.connect(gateway.url, gateway.internal_token, hello)
    for number, folder in enumerate(folders):
        session = {"id": f"emitters-{number}", "label": "emitters", "cwd": folder}
        client.say({"type": "session.open", "session": session})
        client.expect("session.opened", sessionId=session["id"])
    try:
        yield
    finally:
        client.socket.close()


def _listed(gateway: Gateway) -> list[dict[str, Any]]:
    said = gateway.home.run("emitters", "list", "--json").stdout
    return [json.loads(line) for line in said.splitlines()]


def _are(gateway: Gateway, state: str) -> bool:
    found = _listed(gateway)
    return bool(found) and {one["state"] for one in found} == {state}


def _helper(gateway: Gateway) -> int:
    (found,) = [
        one.pid
        for one in psutil.Process(gateway.pid).children()
        if "tapui.emitters.runner" in one.cmdline()
    ]
    return found


def beside_calls(home: Home, seconds: float, per_second: int) -> tuple[Rate, Rate]:
    """Return the calls without and with an emitter at `WANTED` lines/s: of the medians of p99."""
    rules = [{"match": rule.match, "outcome": rule.outcome} for rule in KEEPING]
    folder = folder_with(home, _pour(WANTED, rules))
    rates: dict[str, list[Rate]] = {"pause": [], "resume": []}
    with Gateway(home, "--no-attach") as gateway, _sessions(gateway, folder):
        until(lambda: _are(gateway, "running"), within=30, what="it runs")
        for _ in range(ROUNDS):
            for order, found in rates.items():
                gateway.home.run("emitters", order, "pour")
                part = seconds / ROUNDS
                found.append(roundtrip.through(gateway, SMALL, 1, part, per_second=per_second))
    without, beside = (
        next(rate for rate in found if rate.p99 == statistics.median_low(one.p99 for one in found))
        for found in rates.values()
    )
    return without, beside


def waiting(home: Home, seconds: float) -> Waiting:
    """Let many have run once, and wait: as many as two folders may have."""
    entries = [
        {"name": f"e{number}", "command": "exit 0", "runInterval": "1h", "stream": "s"}
        for number in range(MAX_FOLDER_EMITTERS)
    ]
    folders = [folder_with(home, *entries, name=name) for name in ("one", "two")]
    with Gateway(home, "--no-attach") as gateway, _sessions(gateway, *folders):
        until(lambda: _are(gateway, "waiting"), within=60, what="each ran once")
        helper = _helper(gateway)
        used, other, began = cpu_seconds(gateway.pid), cpu_seconds(helper), time.perf_counter()
        time.sleep(3 * seconds)
        took = time.perf_counter() - began
        return Waiting(
            (cpu_seconds(gateway.pid) - used) / took, (cpu_seconds(helper) - other) / took
        )


def kept(home: Home, seconds: float) -> Kept:
    """Keep every line of a flood."""
    folder = folder_with(home, _pour(0, []))
    with Gateway(home, "--no-attach") as gateway, _sessions(gateway, folder):
        until(lambda: _are(gateway, "running"), within=30, what="it runs")
        process = psutil.Process(gateway.pid)
        time.sleep(seconds)
        first, lines = process.memory_info().rss / 1e6, _listed(gateway)[0]["counts"]["lines"]
        began = time.perf_counter()
        time.sleep(2 * seconds)
        more = _listed(gateway)[0]["counts"]["lines"] - lines
        took = time.perf_counter() - began
        return Kept(more / took, (first, process.memory_info().rss / 1e6))
