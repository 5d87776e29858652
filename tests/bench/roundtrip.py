"""Tool-call round trips: host process → gateway → provider process and back."""

import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.bench.frames import Frames, frame
from tests.rig.gateway import Gateway

ROOT = Path(__file__).parent.parent.parent
SESSION = "bench"
WARM_UP = 0.5
_ID = b'"id":"'


@dataclass(frozen=True)
class Rate:
    """What one run measured. `cpu` is the gateway's microseconds a call; latencies are ms."""

    calls: int
    seconds: float
    cpu: float
    p50: float
    p99: float

    @property
    def per_second(self) -> float:
        """Calls a second."""
        return self.calls / self.seconds


def cpu_seconds(pid: int) -> float:
    """Return the CPU time, user and system, that a process has used."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


@contextmanager
def provider(
    url: str, token: str, size: int, *, tools: int = 1, session: str = ""
) -> Iterator[str]:
    """Run the provider process; yield its first line (`ready`, or the port it listens on)."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.provider", url, str(size), str(tools), session],
        cwd=ROOT,
        env={**os.environ, "TAP_PROVIDER_TOKEN": token},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline().strip()
        if not line:
            raise RuntimeError("the benchmark's provider did not come up")
        yield line
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


class Caller:
    """The host's side: keeps a number of calls in flight and times each."""

    def __init__(self, client: Frames, request: bytes, outcome: bytes) -> None:
        """`request` is a call without its id, `outcome` how the answer to one begins."""
        self._client = client
        self._before, self._after = request.split(b"%")
        self._outcome = outcome
        self._sent: dict[bytes, int] = {}
        self._next = 0
        self.latencies: list[int] = []

    def _call(self) -> bytes:
        self._next += 1
        id_ = str(self._next).encode()
        self._sent[id_] = time.perf_counter_ns()
        return frame(self._before + id_ + self._after)

    def _answered(self) -> int:
        """Receive once; return how many calls were answered."""
        before = len(self.latencies)
        for message in self._client.receive():
            if not message.startswith(self._outcome):
                continue
            if b'"error"' in message[:200]:
                raise RuntimeError(f"a call failed: {message[:300]!r}")
            start = message.index(_ID) + len(_ID)
            began = self._sent.pop(message[start : message.index(b'"', start)])
            self.latencies.append(time.perf_counter_ns() - began)
        return len(self.latencies) - before

    def run(self, in_flight: int, seconds: float) -> None:
        """Keep `in_flight` calls out for `seconds`, then wait for the last answers."""
        self.latencies.clear()
        send = self._client.socket.sendall
        deadline = time.perf_counter_ns() + int(seconds * 1e9)
        send(b"".join(self._call() for _ in range(in_flight)))
        while self._sent:
            answered = self._answered()
            if answered and time.perf_counter_ns() < deadline:
                send(b"".join(self._call() for _ in range(answered)))

    def pace(self, per_second: int, seconds: float) -> None:
        """Call `per_second` times a second for `seconds`, whatever is still out."""
        self.latencies.clear()
        socket_ = self._client.socket
        due = began = time.perf_counter()
        while (now := time.perf_counter()) < began + seconds or self._sent:
            if now < began + seconds and now >= due:
                socket_.sendall(self._call())
                due += 1 / per_second
                continue
            pause = max(due - now, 0) if now < began + seconds else None
            if select.select([socket_], [], [], pause)[0]:
                self._answered()


def _percentile(values: list[int], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] / 1e6


def measure(
    caller: Caller, pid: int | None, in_flight: int, seconds: float, *, per_second: int = 0
) -> Rate:
    """Warm up, then measure for `seconds`; `pid` is the gateway's, None for the direct path.

    With `per_second` calls come at that rate instead of `in_flight` at a time.
    """

    def run(seconds: float) -> None:
        if per_second:
            caller.pace(per_second, seconds)
        else:
            caller.run(in_flight, seconds)

    run(min(WARM_UP, seconds / 4))
    cpu, began = cpu_seconds(pid) if pid else 0.0, time.perf_counter()
    run(seconds)
    took = time.perf_counter() - began
    cpu = cpu_seconds(pid) - cpu if pid else 0.0
    calls = len(caller.latencies)
    return Rate(
        calls=calls,
        seconds=took,
        cpu=cpu / calls * 1e6,
        p50=_percentile(caller.latencies, 0.50),
        p99=_percentile(caller.latencies, 0.99),
    )


def host(url: str, internal_token: str, session: str = SESSION) -> Frames:
    """Connect as a host and open a session."""
    client = Frames.connect(
        url,
        internal_token,
        {"type": "host.hello", "name": "bench", "kind": "bench", "protocolVersion": 2},
    )
    client.say(
        {
            "type": "session.open",
            "session": {"id": session, "label": session, "cwd": "/", "foreground": True},
        }
    )
    client.expect("session.opened", sessionId=session)
    return client


def invoke(tool: str, args: bytes, session: str = SESSION) -> bytes:
    """Return a `tool.invoke` with `%` for the id."""
    return (
        b'{"type":"tool.invoke","id":"%","sessionId":"'
        + session.encode()
        + b'","tool":"'
        + tool.encode()
        + b'","args":'
        + args
        + b"}"
    )


def relayed(
    url: str,
    pid: int,
    tokens: tuple[str, str],
    size: int,
    in_flight: int,
    seconds: float,
    *,
    per_second: int = 0,
) -> Rate:
    """Measure calls with 100 B of arguments and results of `size` bytes through a gateway.

    `tokens` are the provider's and the internal one.
    """
    client = host(url, tokens[1])
    try:
        with provider(url, tokens[0], size, session=SESSION):
            client.expect("tools.changed", sessionId=SESSION)
            request = invoke("bench", b'{"text":"' + b"x" * 89 + b'"}')
            caller = Caller(client, request, b'{"type":"tool.outcome"')
            return measure(caller, pid, in_flight, seconds, per_second=per_second)
    finally:
        client.socket.close()


def through(
    gateway: Gateway, size: int, in_flight: int, seconds: float, *, per_second: int = 0
) -> Rate:
    """Measure `relayed` calls through a `tapui serve`."""
    tokens = (gateway.token, gateway.internal_token)
    url, pid = gateway.url, gateway.pid
    return relayed(url, pid, tokens, size, in_flight, seconds, per_second=per_second)


def direct(size: int, in_flight: int, seconds: float) -> Rate:
    """Measure the same two processes without a gateway between them."""
    with provider("direct", "", size) as port:
        client = Frames(socket.create_connection(("127.0.0.1", int(port))))
        request = b'{"type":"tool.call","id":"%","args":{"text":"' + b"x" * 89 + b'"}}'
        caller = Caller(client, request, b'{"type":"tool.result"')
        rate = measure(caller, None, in_flight, seconds)
        client.socket.close()
        return rate


@contextmanager
def lines(url: str, internal_token: str, rate: int) -> Iterator[None]:
    """Post `rate` lines a second to a stream of the foreground session meanwhile."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.poster", url, str(rate)],
        cwd=ROOT,
        env={**os.environ, "TAPUI_INTERNAL_TOKEN": internal_token},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        if not process.stdout.readline():
            raise RuntimeError("the benchmark's lines did not come")
        yield
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def stock(size: int, in_flight: int, seconds: float) -> Rate:
    """Measure `relayed` calls through the relay of `tests.bench.stock_relay`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.stock_relay"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        ready = json.loads(process.stdout.readline())
        url, pid = ready["url"], ready["pid"]
        return relayed(url, pid, ("none", "none"), size, in_flight, seconds)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def posted(gateway: Gateway, seconds: float) -> tuple[Rate, int]:
    """Measure `tap_post` calls, 64 in flight; return the rate and the lines found on disk."""
    client = host(gateway.url, gateway.internal_token)
    try:
        args = b'{"stream":"bench","message":"' + b"x" * 80 + b'"}'
        caller = Caller(client, invoke("tap_post", args), b'{"type":"tool.outcome"')
        rate = measure(caller, gateway.pid, 64, seconds)
    finally:
        client.socket.close()
    lines = 0
    for file in gateway.home.root.rglob("streams*.jsonl*"):
        with file.open("rb") as records:
            lines += sum(1 for _ in records)
    return rate, lines
