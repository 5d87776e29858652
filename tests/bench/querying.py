"""Stock questions over a million records: how long each takes, and what the index for it costs."""

import contextlib
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tapui.index.asking import ask, questions, values_of
from tapui.index.store import index_path, opened_to_read
from tapui.index.update import bring_up_to_date
from tapui.index.views import install
from tapui.records import register

SESSIONS = 50
_BEGAN = 1_767_225_600
_TOOLS = ("bash", "view", "edit", "grep", "create", "web_fetch", "save_result", "jira_get_issue")
_CODES = ("TIMEOUT", "HANDLER_ERROR", "NOT_FOUND")
_COLLECTIONS = ("sessions", "calls", "approvals", "streams", "traces", "errors")
TRIES = 30


@dataclass(frozen=True)
class Made:
    """What making the index took: records, bytes of them, seconds of CPU, bytes of the index."""

    records: int
    bytes: int
    cpu: float
    size: int


class _Session:
    """Writes the records of a session, turn by turn."""

    def __init__(self, state: Path, number: int) -> None:
        self.id = f"session-{number:03}-4f1c-9a7e"
        folder = state / "sessions" / self.id
        folder.mkdir(parents=True)
        register.note(state, self.id, folder)
        self._files = {name: (folder / f"{name}.jsonl").open("wb") for name in _COLLECTIONS}
        self._chosen = random.Random(number)
        self._micros = number * 1_000_000
        self.seq = 0
        self._run = f"2026-01-01-{number:04x}"
        view = {"id": self.id, "label": f"PR #{number}", "cwd": f"/code/p{number}",
                "state": "idle", "host": "copilot", "providers": [], "openedAt": self._ts(),
                "model": "claude-sonnet-4.5"}  # fmt: skip
        self._write("sessions", {"kind": "session.opened", "session": view})

    def _ts(self) -> str:
        whole, micros = divmod(self._micros, 1_000_000)
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(_BEGAN + whole))
        return f"{when}.{micros:06}Z"

    def _write(self, collection: str, more: dict[str, Any]) -> None:
        self.seq += 1
        self._micros += self._chosen.randrange(1_000, 400_000)
        head = {"v": 1, "run": self._run, "seq": self.seq, "ts": self._ts(),
                "sessionId": self.id}  # fmt: skip
        self._files[collection].write(msgspec.json.encode(head | more) + b"\n")

    def _happened(self, name: str, data: Any) -> None:
        self._write("sessions", {"kind": "session.event", "event": name, "data": data})

    def turn(self, texts: list[str]) -> None:
        """Write a turn: a prompt, some twenty calls with spans, answers, lines and requests."""
        self._happened("user.message", {"content": texts[self.seq % len(texts)]})
        for _ in range(20):
            self._call(texts)
        self._happened("session.idle", {})

    def _call(self, texts: list[str]) -> None:
        dice = self._chosen
        self._happened("assistant.usage", {
            "model": "claude-sonnet-4.5", "inputTokens": dice.randrange(90_000),
            "outputTokens": dice.randrange(900), "cacheReadTokens": 80_000, "cost": 1.0,
        })  # fmt: skip
        tool = dice.choice(_TOOLS)
        at = dice.randrange(len(texts) - 30)
        command = f"pytest -q tests/test_{dice.randrange(40)}.py" if tool == "bash" else texts[at]
        call = {"id": f"toolu_{self.id[8:11]}{self.seq}", "sessionId": self.id,
                "provider": "copilot", "tool": tool, "state": "running",
                "startedAt": self._ts()}  # fmt: skip
        args = {"command": command[:200]} if tool == "bash" else {"path": f"/code/{command[:60]}"}
        if dice.random() < 0.1:
            self._approval(command)
        self._write("calls", {"kind": "call.started", "call": call | {"args": args}})
        duration = round(dice.expovariate(1 / 300), 3)
        ended: dict[str, Any] = call | {"state": "done", "duration": duration}
        ended["data"] = "\n".join(texts[at : at + dice.choice((1, 3, 10, 25))])
        if tool == "bash":
            ended["exitCode"] = int(dice.random() < 0.15)
        elif tool in ("edit", "create"):
            path = f"/code/p/src/module_{dice.randrange(60)}.py"
            ended["changes"] = [{"path": path, "added": 3, "removed": 1}]
        elif dice.random() < 0.05:
            ended |= {"state": "failed", "error": "no such thing", "data": None,
                      "errorCode": dice.choice(_CODES)}  # fmt: skip
        self._write("calls", {"kind": "call.finished", "call": ended})
        span = {"traceId": f"{dice.getrandbits(128):032x}", "startedAt": call["startedAt"],
                "duration": duration, "tool": tool, "provider": "copilot",
                "callId": call["id"]}  # fmt: skip
        for name in ("queue", "provider"):
            own = {"name": name, "spanId": f"{dice.getrandbits(64):016x}"}
            self._write("traces", {"kind": "span.ended", "span": span | own})
        if dice.random() < 0.3:
            line = {"seq": self.seq, "ts": call["startedAt"], "level": "keep",
                    "event": texts[at][:300]}  # fmt: skip
            self._write("streams", {"kind": "stream.posted", "stream": "log@ci", "line": line})
        if dice.random() < 0.02:
            error = {"kind": "error.sent", "code": "NOT_FOUND", "message": "no tool x"}
            self._write("errors", error)

    def _approval(self, command: str) -> None:
        asked: dict[str, Any] = {
            "id": f"a{self.seq}", "kind": "permission", "state": "waiting", "sessionId": self.id,
            "detail": {"kind": "shell", "fullCommandText": command}, "createdAt": self._ts(),
            "expiresAt": self._ts(),
        }  # fmt: skip
        self._write("approvals", {"kind": "approval.requested", "approval": asked})
        by_rule = self._chosen.random() < 0.5
        rule = {"effect": "allow", "kind": "shell", "pattern": "pytest *", "source": "person"}
        decided = {"state": "approved", "decidedBy": "rule" if by_rule else "you",
                   "duration": 120.0}  # fmt: skip
        told = asked | decided | ({"rule": rule} if by_rule else {})
        self._write("approvals", {"kind": "approval.decided", "approval": told})

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def write(state: Path, records: int) -> int:
    """Write so many records, or a few more; return how many."""
    texts = [
        line
        for path in sorted(Path(random.__file__).parent.glob("*.py"))
        for line in path.read_text("utf-8", "replace").splitlines()
        if line.strip()
    ]
    sessions = [_Session(state, number) for number in range(SESSIONS)]
    while sum(one.seq for one in sessions) < records:
        for one in sessions:
            one.turn(texts)
    for one in sessions:
        one.close()
    return sum(one.seq for one in sessions)


def index(state: Path, records: int) -> Made:
    """Make the index."""
    size = sum(path.stat().st_size for path in (state / "sessions").rglob("*.jsonl"))
    cpu = time.process_time()
    if bring_up_to_date(state, 3600) != "current":
        raise RuntimeError("the records could not be indexed")
    cpu = time.process_time() - cpu
    made = sum(path.stat().st_size for path in index_path(state).parent.iterdir())
    return Made(records, size, cpu, made)


def asked(state: Path) -> Iterator[tuple[str, float, float]]:
    """Yield each stock question with the p95 of its SQL, warm, and the median of all of it: a
    process that starts, opens the index, answers and ends. In ms."""
    config = state / "none"
    ref = f"calls/2026-01-01-{1:04x}/5"
    for name, question in questions(config).items():
        given = {"since": "2026-01-01T00:00:00Z", "ref": ref}
        given = {one.name: given[one.name] for one in question.parameters if one.name in given}
        values = values_of(question, given)
        took, whole = [], []
        with contextlib.closing(opened_to_read(index_path(state))) as connection:
            install(connection)
            for _ in range(TRIES + 1):
                began = time.perf_counter()
                connection.execute(question.sql, values).fetchmany(10_000)
                took.append(time.perf_counter() - began)
        for _ in range(5):
            began = time.perf_counter()
            ask(state, config, name, given, seconds=30)
            whole.append(time.perf_counter() - began)
        warm = sorted(took[1:])
        yield name, 1000 * warm[int(0.95 * len(warm)) - 1], 1000 * sorted(whole)[2]


def catch_up(state: Path, sessions: int = 5) -> tuple[int, float]:
    """Write some more and let the index catch up; return bytes and seconds of CPU."""
    before = sum(path.stat().st_size for path in (state / "sessions").rglob("*.jsonl"))
    texts = [f"some words about {number}" * 5 for number in range(100)]
    for number in range(sessions):
        more = _Session(state, 1_000 + number)
        for _ in range(100):
            more.turn(texts)
        more.close()
    after = sum(path.stat().st_size for path in (state / "sessions").rglob("*.jsonl"))
    cpu = time.process_time()
    bring_up_to_date(state, 3600)
    return after - before, time.process_time() - cpu
