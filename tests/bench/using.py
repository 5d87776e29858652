"""What `tapui usage` takes to add up what a long time of many sessions used."""

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tapui.index.search import Search
from tapui.index.update import bring_up_to_date
from tapui.index.usage import usage_of_sessions
from tapui.records import register

SESSIONS, ANSWERS = 40, 5_000
_BEGAN = 1_767_225_600
_DAY = 86_400


def write(state: Path) -> None:
    """Write records of `SESSIONS` with `ANSWERS` each, of three models; every tenth is a total."""
    for number in range(SESSIONS):
        session = f"session-{number}"
        folder = state / "sessions" / session
        folder.mkdir(parents=True)
        register.note(state, session, folder)
        with (folder / "sessions.jsonl").open("wb") as file:
            for seq in range(1, ANSWERS + 1):
                file.write(_line(session, seq))


def _line(session: str, seq: int) -> bytes:
    when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(_BEGAN + 60 * seq))
    head = {"v": 1, "run": "bench", "seq": seq, "ts": f"{when}.000000Z", "sessionId": session}
    answer = {"model": f"m{seq % 3}", "inputTokens": 50_000, "outputTokens": 500, "cost": 1.0}
    totals = [{"model": f"m{of}", "calls": seq, "inputTokens": seq * 50_000} for of in range(3)]
    is_total = seq % 10 == 0
    more = {
        "kind": "session.event",
        "event": "session.usage" if is_total else "assistant.usage",
        "data": {"models": totals} if is_total else answer,
    }
    return msgspec.json.encode(head | more) + b"\n"


def added_up(state: Path) -> Iterator[tuple[str, float]]:
    """Yield what was asked, and the ms of the middle one of five."""
    if bring_up_to_date(state, 3600) != "current":
        raise RuntimeError("the records could not be indexed")
    for what, since in (("all of it", None), ("all but the first day", float(_BEGAN + _DAY))):
        took = []
        for _ in range(5):
            search = Search(state)
            began = time.perf_counter()
            usage_of_sessions(search, since=since)
            took.append(time.perf_counter() - began)
            search.close()
        yield what, 1000 * sorted(took)[2]
