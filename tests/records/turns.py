"""Events, the entries of a turn, and a journal that remembers what it reported."""

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
from msgspec.structs import replace

from tapui.records.journal import Journal
from tapui.records.open_files import MAX_OPEN_FILES
from tapui.records.syncer import Syncer, datasync
from tapui.settings.settings import Records
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.codec import encode
from tests.rig.waiting import HUNG

DEADLINE = HUNG
"""Seconds that a test waits for another thread or process."""


def stamp(seq: int) -> str:
    """Return the time of event `seq`."""
    return f"2026-01-01T00:{seq // 60_000_000:02}:{seq // 1_000_000 % 60:02}.{seq % 1_000_000:06}Z"


def session(id_: str, workspace: Path | str | None = None, **fields: Any) -> subjects.Session:
    """Return a session as its events carry it."""
    where = None if workspace is None else str(workspace)
    return subjects.Session(
        id_, "label", "/code", fields.pop("state", "idle"), "host", [], stamp(0),
        workspace=where, **fields,
    )  # fmt: skip


def opened(id_: str, workspace: Path | str | None = None) -> ev.SessionOpened:
    return ev.SessionOpened(id_, session(id_, workspace))


def closed(id_: str) -> ev.SessionClosed:
    return ev.SessionClosed(id_, session(id_, state="ended"))


def started(session_id: str, id_: str, size: int = 10) -> ev.CallStarted:
    """Return a call's start with `size` bytes of arguments."""
    args = msgspec.Raw(b'{"text":"' + b"x" * size + b'"}')
    call = subjects.Call(id_, session_id, "ci", "greet", "running", stamp(0), args=args)
    return ev.CallStarted(session_id, call)


def finished(session_id: str, id_: str) -> ev.CallFinished:
    """Return the end of a call that `started` began."""
    call = subjects.Call(id_, session_id, "ci", "greet", "done", stamp(0), duration=1.0)
    return ev.CallFinished(session_id, call)


def decided(id_: str, session_id: str | None = None) -> ev.ApprovalDecided:
    approval = subjects.Approval(id_, "mode", "approved", {"to": "plan"}, stamp(0), stamp(1))
    return ev.ApprovalDecided(approval, session_id)


def refused(message: str) -> ev.ErrorSent:
    return ev.ErrorSent("INVALID_JSON", message)


class Writer:
    """A journal, the next `seq`, and the lines that it reported."""

    def __init__(
        self,
        state: Path,
        run: str = "r1",
        *,
        interval: float = 0.01,
        sync: Callable[[int], None] = datasync,
        most_open: int = MAX_OPEN_FILES,
        **limits: int,
    ) -> None:
        self.run = run
        self.seq = 0
        self.reports: list[tuple[str, str]] = []
        self.now = 0.0
        self.syncer = Syncer(self._report, interval, sync)
        self.journal = Journal(
            state,
            run,
            Records(**limits),
            self._report,
            clock=lambda: self.now,
            syncer=self.syncer,
            most_open=most_open,
        )
        self.entries: dict[int, ev.Entry] = {}

    def _report(self, line: str, level: str) -> None:
        self.reports.append((level, line))

    def turn(self, *events: Any) -> frozenset[int]:
        """Write one turn; return the `seq`s that could not be recorded."""
        return self.journal.write(list(self._entries(events)))

    def turn_at(self, ts: str, *events: Any) -> None:
        """Write one turn that happened at this time."""
        self.journal.write([(replace(entry, ts=ts), raw) for entry, raw in self._entries(events)])

    def _entries(self, events: Iterable[Any]) -> Iterable[tuple[ev.Entry, bytes]]:
        for event in events:
            self.seq += 1
            entry = ev.Entry(self.run, self.seq, stamp(self.seq), event)
            self.entries[self.seq] = entry
            yield entry, encode(event)

    def sync(self, seqs: Iterable[int] | None) -> bool:
        """Wait for the records `seqs` to be on the disk; return the journal's answer."""
        answers: list[bool] = []
        answered = threading.Event()

        def done(ok: bool) -> None:
            answers.append(ok)
            answered.set()

        self.journal.sync(None if seqs is None else frozenset(seqs), done)
        assert answered.wait(DEADLINE)
        return answers[0]

    def warnings(self) -> list[str]:
        return [line for level, line in self.reports if level == "warning"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        assert self.journal.close(DEADLINE)


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the file's lines; every one is whole and is JSON."""
    data = path.read_bytes()
    assert data.endswith(b"\n") or not data
    return [msgspec.json.decode(line) for line in data.split(b"\n")[:-1]]


def seqs(path: Path) -> list[int]:
    return [line["seq"] for line in lines(path)]


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait, without spinning, until another thread made `condition` true."""
    pulse = threading.Event()
    for _ in range(int(DEADLINE / 0.005)):
        if condition():
            return
        pulse.wait(0.005)
    raise AssertionError("the condition did not come true")
