"""Lines through a filter of ten rules of which none matches, so that each line is tried on all.

`core` drives the core alone, bytes in and records out, on a virtual clock that gives the provider
its budget of pushes back before each line. `relayed` keeps to the budget: many providers that are
bound to many sessions broadcast, five pushes a second each, and every push becomes a line in every
session, filtered there and written to that session's records.
"""

import json
import time
from dataclasses import dataclass

from tapui.core.gateway import Gateway as Core
from tapui.runtime.system import RegexMatcher, SystemIds
from tapui.settings.settings import Settings
from tapui.wire.codec import encode
from tapui.wire.limits import PUSHES_PER_SECOND
from tests.bench.frames import Frames, frame
from tests.bench.roundtrip import cpu_seconds, host
from tests.rig.gateway import Gateway
from tests.rig.waiting import until

PROVIDERS, SESSIONS = 40, 50  # the built-in session is one of them
RULES = [
    {"match": pattern, "outcome": outcome}
    for pattern, outcome in (
        (r"^\s*$", "drop"),
        (r"^DEBUG\b", "drop"),
        (r"\bheartbeat\b", "drop"),
        (r"(?i)\btrace id [0-9a-f]{16}\b", "drop"),
        (r"GET /health(z|check)? ", "drop"),
        (r"\b(WARN|WARNING)\b", "surface"),
        (r"\b(ERROR|CRITICAL|FATAL)\b", "inject"),
        (r"exit(ed)? (code|status) [1-9]\d*", "inject"),
        (r"(?i)tests? failed: \d+", "inject"),
        (r"Traceback \(most recent call last\)", "inject"),
    )
]
LINE = "2026-01-01T12:00:00Z INFO build: step 3 of 7, compiled module storage.index in 184 ms"


@dataclass(frozen=True)
class Lines:
    """What one run showed; `cpu` is microseconds of CPU a line."""

    lines: int
    seconds: float
    cpu: float

    @property
    def per_second(self) -> float:
        """Lines a second."""
        return self.lines / self.seconds


def _hello(name: str, session: str) -> dict[str, object]:
    return {"type": "hello", "name": name, "protocolVersion": 2, "session": session}


def _filter(name: str) -> dict[str, object]:
    return {"type": "filter.set", "stream": name, "rules": RULES}


def core(seconds: float) -> Lines:
    """Measure one provider's lines through the core alone, events encoded for the record."""
    gateway = Core(
        run="bench",
        ids=SystemIds(),
        settings=Settings(),
        persist_dir=lambda name: name,
        matcher=RegexMatcher(),
        provider_token="ptk-bench",
        internal_token="itk-bench",
    )

    def connect(token: str, *messages: dict[str, object]) -> int:
        number = gateway.opened(None, 0.0)
        for message in ({"type": "auth", "token": token}, *messages):
            gateway.received(number, json.dumps(message).encode(), 0.0)
        return number

    session = {"id": "bench", "label": "bench", "cwd": "/"}
    connect(
        "itk-bench",
        {"type": "host.hello", "name": "bench", "kind": "bench", "protocolVersion": 2},
        {"type": "session.open", "session": session},
    )
    provider = connect("ptk-bench", _hello("ci", "bench"), _filter("ci"))
    gateway.take()
    push = json.dumps({"type": "push", "level": "keep", "event": LINE}).encode()
    lines, now = 0, 0.0
    cpu, began = time.process_time(), time.perf_counter()
    while time.perf_counter() - began < seconds:
        for _ in range(100):
            now += 1.1 / PUSHES_PER_SECOND
            gateway.received(provider, push, now)
        entries, _, effects = gateway.take()
        if effects:
            raise RuntimeError(f"a line was not kept: {effects[0]}")
        for entry in entries:
            encode(entry.event)
        lines += len(entries)
    took = time.perf_counter() - began
    return Lines(lines, took, (time.process_time() - cpu) / lines * 1e6)


def relayed(gateway: Gateway, seconds: float) -> Lines:
    """Measure lines through sockets and a `tapui serve`, down to the records of each session."""
    hosting = host(gateway.url, gateway.internal_token, "filter0")
    providers: list[Frames] = []
    try:
        for number in range(1, SESSIONS - 1):
            session = {"id": f"filter{number}", "label": "bench", "cwd": "/"}
            hosting.say({"type": "session.open", "session": session})
            hosting.expect("session.opened", sessionId=f"filter{number}")
        for number in range(PROVIDERS):
            name = f"ci{number}"
            client = Frames.connect(gateway.url, gateway.internal_token, _hello(name, "all"))
            client.say({**_filter(name), "requestId": "filter"})
            providers.append(client)
        return _broadcast(gateway, providers, seconds)
    finally:
        for client in (*providers, hosting):
            client.socket.close()


def _broadcast(gateway: Gateway, providers: list[Frames], seconds: float) -> Lines:
    push = frame(
        json.dumps({"type": "push", "level": "keep", "event": LINE, "broadcast": True}).encode()
    )
    cpu, began = cpu_seconds(gateway.pid), time.perf_counter()
    pause = 2 / PUSHES_PER_SECOND
    rounds = max(int(seconds / pause), 1)
    for number in range(rounds):
        for client in providers:
            client.socket.sendall(push)
        time.sleep(max(began + (number + 1) * pause - time.perf_counter(), 0))
    expected = rounds * len(providers) * SESSIONS
    until(lambda: _on_disk(gateway) == expected, within=20, what=f"{expected} lines on disk")
    took = time.perf_counter() - began
    return Lines(expected, took, (cpu_seconds(gateway.pid) - cpu) / expected * 1e6)


def _on_disk(gateway: Gateway) -> int:
    lines = 0
    for file in gateway.home.root.rglob("streams*.jsonl*"):
        with file.open("rb") as records:
            lines += sum(1 for _ in records)
    return lines
