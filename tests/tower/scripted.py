"""A feed that a test feeds by hand, a clock that it turns by hand, and a small world to show."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import TypeVar

from msgspec import Raw

from tapui.projection.feed import FeedItem, Link
from tapui.projection.state import State
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.message import Line, Message
from tapui.wire.tower import Snapshot, TowerSnapshot
from tests.rig.waiting import HUNG

Sent = TypeVar("Sent", bound=Message)

START = datetime(2026, 11, 21, 20, 10, 0, tzinfo=UTC).timestamp()


def at(seconds_ago: float = 0.0) -> str:
    """Return a time before START as the wire has it."""
    moment = datetime.fromtimestamp(START - seconds_ago, UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


class HandClock:
    """Seconds since the epoch, turned by hand."""

    def __init__(self, start: float = START) -> None:
        self.now = start

    def __call__(self) -> float:
        return self.now

    def turn(self, seconds: float) -> None:
        self.now += seconds


class ScriptedFeed:
    """A feed whose items a test puts in and whose messages it reads."""

    def __init__(self, *, is_embedded: bool = True) -> None:
        self.address = "ws://localhost:9400"
        self.is_embedded = is_embedded
        self.sent: list[Message] = []
        self.stops: list[float] = []
        self.may_stop = asyncio.Event()
        self._items: asyncio.Queue[FeedItem | None] = asyncio.Queue()
        self._seq = itertools.count(1)

    async def items(self) -> AsyncIterator[FeedItem]:
        while (item := await self._items.get()) is not None:
            yield item
            self._items.task_done()
        self._items.task_done()

    async def taken(self) -> None:
        """Wait until the app has taken in everything."""
        async with asyncio.timeout(HUNG):
            await self._items.join()

    def send(self, message: Message) -> None:
        self.sent.append(message)

    def sent_of(self, kind: type[Sent]) -> list[Sent]:
        """Return the messages of a kind that were sent."""
        return [one for one in self.sent if isinstance(one, kind)]

    async def stop(self, deadline: float) -> None:
        self.stops.append(deadline)
        await self.may_stop.wait()

    def put(self, item: FeedItem) -> None:
        self._items.put_nowait(item)

    def end(self) -> None:
        self._items.put_nowait(None)

    def begin(
        self,
        state: State | None = None,
        *,
        towers: int = 1,
        run: str = "r1",
        is_first: bool = True,
    ) -> None:
        """Say that the link is up and give a snapshot."""
        snapshot = (state or State()).snapshot()
        self.put(Link("up"))
        seq = next(self._seq)
        self.put(TowerSnapshot(seq, snapshot, run=run, towers=towers, is_first=is_first))

    def happen(self, *events: ev.AnyEvent, ts: str | None = None) -> None:
        """Let events happen, in one batch."""
        self.put([ev.Entry("r1", next(self._seq), ts or at(), event) for event in events])


def session(id_: str, label: str, **fields: object) -> subjects.Session:
    given: dict[str, object] = {
        "cwd": f"/code/{id_}",
        "state": "idle",
        "host": "copilot",
        "providers": [],
        "opened_at": at(720),
    }
    return subjects.Session(id=id_, label=label, **(given | fields))  # type: ignore[arg-type]


def provider(id_: str, name: str, **fields: object) -> subjects.Provider:
    given: dict[str, object] = {
        "trust": "project",
        "state": "bound",
        "tools": ["greet", "search"],
        "connected_at": at(600),
        "session_id": "s1",
    }
    return subjects.Provider(id=id_, name=name, **(given | fields))  # type: ignore[arg-type]


def call(id_: str, tool: str, **fields: object) -> subjects.Call:
    given: dict[str, object] = {
        "session_id": "s1",
        "provider": "ci-watcher",
        "provider_id": "p1",
        "state": "running",
        "started_at": at(3),
        "timeout": 120_000,
    }
    return subjects.Call(id=id_, tool=tool, **(given | fields))  # type: ignore[arg-type]


def approval(id_: str, kind: str, detail: object, **fields: object) -> subjects.Approval:
    given: dict[str, object] = {
        "state": "waiting",
        "created_at": at(8),
        "expires_at": at(-112),
    }
    return subjects.Approval(id=id_, kind=kind, detail=detail, **(given | fields))  # type: ignore[arg-type]


def lines(count: int) -> list[Line]:
    said = (
        ("keep", "build 4711 started on main"),
        ("keep", "step test (3.11): 412 passed"),
        ("surface", "step lint failed: 2 findings in tapui/core/calls.py"),
        ("inject", "build 4711 failed; the lint findings are attached"),
        ("keep", "runner returned to the pool"),
    )
    return [
        Line(
            seq=seq,
            ts=at(600 - seq * 7),
            level=said[seq % 5][0],  # type: ignore[arg-type]
            event=said[seq % 5][1],
            metadata=Raw(b'{"job": "lint", "attempt": 2}') if seq % 5 == 2 else None,
        )
        for seq in range(1, count + 1)
    ]


PERMISSION = {
    "kind": "shell",
    "fullCommandText": "git push --force-with-lease origin HEAD:main && gh pr merge 42 --squash",
    "intention": "Publish the fix and merge the pull request",
    "possiblePaths": ["/code/s1/.git"],
    "hasWriteFileRedirection": False,
}


def world() -> State:
    """Return three sessions, five providers, twenty calls, two approvals and four streams."""
    sessions = [
        session(
            "s1",
            "Fix the flaky pairing test",
            state="busy",
            foreground=True,
            mode="interactive",
            model="gpt-5-codex",
            providers=["p1", "p2", "p3"],
            context=subjects.ContextUse(tokens=96_400, limit=128_000, compacts_at=102_400),
        ),
        session(
            "s2",
            "Release notes for 0.4",
            mode="plan",
            model="claude-sonnet-4.5",
            providers=["p4"],
            opened_at=at(9_000),
            context=subjects.ContextUse(tokens=11_900, limit=200_000),
        ),
        session("local", "local", host="tapui", providers=["p5"], opened_at=at(9_300)),
    ]
    providers = [
        provider("p1", "ci-watcher", last_activity=at(3), tools=["rerun_job", "job_log", "wait"]),
        provider(
            "p2",
            "browser",
            instance="tab-2",
            trust="external",
            origin="https://app.example.com",
            last_activity=at(41),
        ),
        provider("p3", "jira", last_activity=at(300), tools=["find_issue"]),
        provider("p4", "docs-search", session_id="s2", last_activity=at(1_300)),
        provider("p5", "lab", session_id=None, state="unbound", tools=[]),
    ]
    calls = [
        call(
            "c1",
            "wait_for_build",
            progress="60 % · 3 of 5 jobs done",
            started_at=at(42),
            args=Raw(b'{"build":4711,"branch":"main"}'),
            caller="copilot",
        ),
        call("c2", "capture_screenshot", provider="browser", provider_id="p2", started_at=at(98)),
        call("c3", "bash", provider="copilot", provider_id=None, timeout=None),
    ]
    finished = [
        call(
            "d1",
            "find_issue",
            provider="jira",
            provider_id="p3",
            state="done",
            duration=212.0,
            started_at=at(60),
            args=Raw(b'{"query":"flaky"}'),
            data=Raw(b'{"issues":[{"key":"TAP-42","title":"pairing test is flaky"}]}'),
        ),
        call(
            "d2",
            "rerun_job",
            state="failed",
            duration=31.0,
            started_at=at(75),
            error="job 77 is not finished",
            error_code="CONFLICT",
        ),
        call(
            "d3",
            "search_docs",
            session_id="s2",
            provider="docs-search",
            provider_id="p4",
            state="failed",
            duration=120_000.0,
            started_at=at(1_420),
            error="no answer in time",
            error_code="TIMEOUT",
        ),
        call(
            "d4",
            "click",
            provider="browser",
            provider_id="p2",
            state="cancelled",
            duration=1_800.0,
            started_at=at(1_500),
            error="cancelled by keyboard",
            error_code="CANCELLED",
        ),
        *(
            call(
                f"e{index}",
                ("view", "edit", "grep")[index % 3],
                provider="copilot",
                provider_id=None,
                state="done",
                duration=12.0 + index * 9,
                started_at=at(1_600 + index * 37),
            )
            for index in range(13)
        ),
    ]
    approvals = [
        approval("a1", "permission", PERMISSION, session_id="s1"),
        approval(
            "a2",
            "pairing",
            {
                "origin": "https://board.example.org",
                "transport": "websocket",
                "address": "127.0.0.1:51422",
            },
            created_at=at(31),
            expires_at=at(-89),
        ),
        approval("b3", "bindAll", {"name": "clock"}, state="expired", created_at=at(2_000)),
        approval(
            "b2",
            "permission",
            {"kind": "url", "url": "https://docs.example/api"},
            session_id="s2",
            state="approved",
            decided_by="keyboard",
            created_at=at(900),
        ),
        approval(
            "b1",
            "mode",
            {
                "from": "interactive",
                "to": "autopilot",
                "asker": "copilot",
                "reason": "all steps are agreed",
            },
            session_id="s1",
            state="denied",
            decided_by="keyboard",
            created_at=at(400),
        ),
    ]
    streams = [
        subjects.Stream("ci-watch@ci-watcher", "ci-watcher", "s1", 48, lines(48)[-1]),
        subjects.Stream("console@browser", "browser", "s1", 12, lines(12)[-1]),
        subjects.Stream("notes@tap", "tap", "s2", 3, lines(3)[-1]),
        subjects.Stream("commits@jira", "jira", "s1", 5, lines(5)[-1]),
    ]
    unattached = [
        subjects.Unattached("7f3c9a52", "/code/site", 4242, "copilot --ui-server --resume 7f3c9a52")
    ]
    return State.of(
        Snapshot(
            sessions,
            providers,
            [*calls, *sorted(finished, key=lambda one: one.started_at)],
            streams,
            approvals,
            unattached=unattached,
        )
    )


def posts(key: tuple[str, str], found: list[Line]) -> list[ev.Event]:
    """Return the events of lines being posted."""
    return [ev.StreamPosted(session_id=key[0], stream=key[1], line=line) for line in found]


def crowd() -> State:
    """Return far more than any screen has room for: 40 sessions, 30 requests, 60 calls."""
    sessions = [
        session(
            f"s{number}",
            f"Session number {number} has a rather long name that says what it is about",
            state=("busy", "idle")[number % 2],
            mode="autopilot",
            context=subjects.ContextUse(tokens=1000 * (number * 7 % 128), limit=128_000),
            opened_at=at(60 * number),
        )
        for number in range(40)
    ]
    approvals = [
        approval(
            f"a{number}",
            "permission",
            {"kind": "shell", "fullCommandText": f"make step-{number} && ./check --all --verbose"},
            session_id=f"s{number}",
            created_at=at(10 * number),
            expires_at=at(-90_000),
        )
        for number in range(30)
    ]
    calls = [
        call(f"c{number}", f"tool_{number}", session_id=f"s{number % 40}", started_at=at(number))
        for number in range(60)
    ]
    providers = [provider(f"p{number}", f"provider-{number}") for number in range(30)]
    streams = [
        subjects.Stream(f"log-{n}@provider-{n}", f"provider-{n}", "s1", 1) for n in range(30)
    ]
    return State.of(Snapshot(sessions, providers, calls, streams, approvals))
