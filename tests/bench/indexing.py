"""The index over a large journal: how fast it is made, how large it is, how soon hits are there."""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tapui.index.search import Search, query_of
from tapui.index.store import index_path
from tapui.index.update import bring_up_to_date
from tapui.records import register

SESSIONS = 16
RARE = "quetzalcoatlus"
"""Stands once in the whole journal."""
QUERIES = {
    "a common word": "self",
    "a rare word": RARE,
    "two words": "return value",
    "a phrase": '"for name in"',
    "a beginning of two letters": "re",
    "a beginning of four letters": "conn",
    "a word that is nowhere": "nowherenowhere",
}


@dataclass(frozen=True)
class Indexed:
    """What was measured while the index was made."""

    bytes: int
    seconds: float
    cpu: float
    size: int

    @property
    def rate(self) -> float:
        """MB a second."""
        return self.bytes / self.seconds / 1e6

    @property
    def ratio(self) -> float:
        """The index's size by that of the records."""
        return self.size / self.bytes


def write(state: Path, size: int, sessions: int = SESSIONS) -> None:
    """Write a journal of about `size` bytes: calls, lines and prompts of some sessions.

    The texts are lines of Python's own library.
    """
    texts = _texts()
    chosen = random.Random(1)
    per_session = size // sessions
    seq = 0
    for number in range(sessions):
        session = f"session-{number}"
        folder = state / "sessions" / session
        folder.mkdir(parents=True)
        register.note(state, session, folder)
        files = {name: (folder / f"{name}.jsonl").open("wb") for name in _COLLECTIONS}
        written = 0
        while written < per_session:
            seq += 1
            name, line = _line(session, seq, chosen, texts)
            files[name].write(line)
            written += len(line)
        for file in files.values():
            file.close()


_COLLECTIONS = ("sessions", "calls", "streams")


def _texts() -> list[str]:
    lines = []
    for path in sorted(Path(random.__file__).parent.glob("*.py")):
        lines += path.read_text("utf-8", "replace").splitlines()
    return [line for line in lines if line.strip()]


def _line(session: str, seq: int, chosen: random.Random, texts: list[str]) -> tuple[str, bytes]:
    micros = seq * 1_000
    ts = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(1_767_225_600 + micros // 1_000_000))
    ts = f"{ts}.{micros % 1_000_000:06}Z"
    head = {"v": 1, "run": "bench", "seq": seq, "ts": ts, "sessionId": session}
    start = chosen.randrange(len(texts) - 100)
    text = "\n".join(texts[start : start + chosen.choice((1, 2, 5, 20, 60))])
    if seq == 1_000:
        text += f" {RARE}"
    kind = seq % 4
    if kind == 0:
        more = {"kind": "session.event", "event": "user.message", "data": {"content": text}}
        return "sessions", _encoded(head, more)
    if kind == 1:
        line = {"seq": seq, "ts": ts, "level": "keep", "event": text[:400]}
        return "streams", _encoded(
            head, {"kind": "stream.posted", "stream": "log@ci", "line": line}
        )
    call = {
        "id": f"call-{seq - kind}", "sessionId": session, "provider": "copilot", "tool": "bash",
        "state": "running" if kind == 2 else "done", "startedAt": ts,
    }  # fmt: skip
    body = {"args": {"command": text[:200]}} if kind == 2 else {"data": text}
    told = "call.started" if kind == 2 else "call.finished"
    return "calls", _encoded(head, {"kind": told, "call": call | body})


def _encoded(head: dict[str, object], more: dict[str, object]) -> bytes:
    return msgspec.json.encode(head | more) + b"\n"


def index(state: Path) -> Indexed:
    """Make the index of a journal."""
    size = sum(path.stat().st_size for path in (state / "sessions").rglob("*.jsonl"))
    began, cpu = time.perf_counter(), time.process_time()
    if bring_up_to_date(state, 3600) != "current":
        raise RuntimeError("the journal could not be indexed")
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    made = sum(path.stat().st_size for path in index_path(state).parent.iterdir())
    return Indexed(size, seconds, cpu, made)


def searches(state: Path) -> Iterator[tuple[str, float, float, int]]:
    """Yield what was looked for, ms to the first hits, ms to the 50 newest of all, and how many.

    Each by a reader that has just opened the index, as typed: the last word is a beginning.
    """
    for what, text in QUERIES.items():
        first, whole = [], []
        for _ in range(5):
            search = Search(state)
            began = time.perf_counter()
            hits = 0
            at = 0.0
            for part in search.find(query_of(text, is_typing="beginning" in what)):
                at = at or time.perf_counter() - began
                hits += len(part)
            whole.append(time.perf_counter() - began)
            first.append(at or whole[-1])
            search.close()
        yield what, 1000 * sorted(first)[2], 1000 * sorted(whole)[2], hits


def update(state: Path) -> float:
    """Return the ms that a look takes which finds nothing new."""
    began = time.perf_counter()
    bring_up_to_date(state, 60)
    return 1000 * (time.perf_counter() - began)
