"""Documents of installed packages: indexing them, a question, and the provider's start."""

import os
import statistics
import sys
import threading
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

from tapui.shipped.docs.indexer import Indexer, IndexRun
from tapui.shipped.docs.package_index import path_of, search
from tapui.shipped.docs.packages import Package, installed
from tests.bench import roundtrip
from tests.bench.roundtrip import Rate
from tests.rig.gateway import Gateway, Home

PACKAGES = 50
_QUESTIONS = Path(__file__).parents[1] / "shipped/questions.toml"
_SMALL = 100
_CALLS_PER_SECOND = 500
_ROUNDS = 3
_STARTS = 5


class Indexed(NamedTuple):
    """Seconds of a run over the packages, and calls through a gateway without and beside it."""

    packages: int
    took: float
    without: Rate
    beside: Rate


def environment() -> list[Package]:
    """Return the packages of the Python that measures."""
    return list(installed("/", {"VIRTUAL_ENV": sys.prefix}))[:PACKAGES]


def index(home: Home, seconds: float) -> Indexed:
    """Index the packages beside calls; of the medians of p99."""
    packages = environment()
    without, beside, took = [], [], []
    with Gateway(home, "--no-attach") as gateway:
        for number in range(_ROUNDS):
            without.append(_calls(gateway, seconds))
            state = home.root / f"docs-{number}"
            state.mkdir()
            run = Indexer(state).run(packages)
            began = time.perf_counter()
            thread = threading.Thread(target=_work, args=(run, began, took))
            thread.start()
            beside.append(_calls(gateway, seconds))
            thread.join()
    return Indexed(len(packages), statistics.median(took), _median(without), _median(beside))


def _work(run: IndexRun, began: float, took: list[float]) -> None:
    run.work()
    took.append(time.perf_counter() - began)


def _calls(gateway: Gateway, seconds: float) -> Rate:
    return roundtrip.through(gateway, _SMALL, 1, seconds, per_second=_CALLS_PER_SECOND)


def _median(rates: list[Rate]) -> Rate:
    middle = statistics.median_low(one.p99 for one in rates)
    return next(one for one in rates if one.p99 == middle)


def questions(home: Home) -> list[float]:
    """Return the milliseconds of each of the thirty questions, sorted."""
    state = home.root / "docs-0"
    packages = {one.name.lower(): one for one in installed("/", {"VIRTUAL_ENV": sys.prefix})}
    asked = tomllib.loads(_QUESTIONS.read_text())["questions"]
    Indexer(state).run([packages[name] for name in {one["library"] for one in asked}]).work()
    took = []
    for one in asked:
        began = time.perf_counter()
        search(path_of(state, packages[one["library"]]), one["text"], 8)
        took.append((time.perf_counter() - began) * 1e3)
    return sorted(took)


class Start(NamedTuple):
    """Milliseconds of CPU, and megabytes, of a provider that is in its session."""

    cpu: float
    memory: float


def start(home: Home) -> Start:
    """Start the provider in a session; the least CPU of some starts."""
    with Gateway(home, "--no-attach") as gateway:
        return min(_started(gateway) for _ in range(_STARTS))


def _started(gateway: Gateway) -> Start:
    read, write = os.pipe()
    argv = [sys.executable, "-P", "-m", "tapui.shipped", "docs", "--port", str(gateway.port)]
    env = gateway.home.env(TAP_GATEWAY=gateway.url, TAP_PROVIDER_TOKEN=gateway.token)
    pid = os.posix_spawn(argv[0], argv, env, file_actions=[(os.POSIX_SPAWN_DUP2, write, 1)])
    os.close(write)
    try:
        with open(read, "rb") as out:  # noqa: PTH123 - of a descriptor
            for line in out:
                if b"in session" in line:
                    break
            cpu = roundtrip.cpu_seconds(pid) * 1e3
            status = Path(f"/proc/{pid}/status").read_text()
            kib = int(status.partition("VmHWM:")[2].split()[0])
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    return Start(cpu, kib / 1024)
