"""Each change of CI is told once: over a day, restarts, and ends at any moment."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from tapui.provider.link import LinkLost
from tapui.provider.session import Session
from tapui.shipped.ci.session_watch import SessionWatch
from tapui.shipped.web.told import ToldChanges
from tapui.wire.message import ActiveSession, Message
from tapui.wire.provider import HistoryLine, Push, StreamQuery
from tests.shipped.test_ci import Pipelines, checkout, run_of

DAY = 24 * 3600
LOOK = 20


class Killed(BaseException):
    """The provider's process ends here, at once."""


class GatewayStream:
    """What the gateway has of a session: its lines, and prompts. It outlives the provider, which
    ends after `lives` more steps."""

    def __init__(self) -> None:
        self.lines: list[HistoryLine] = []
        self.lives = -1
        self.is_lost = False

    def step(self) -> None:
        self.lives -= 1
        if self.lives == 0:
            raise Killed

    def post(self, message: Message) -> None:
        if not isinstance(message, Push):
            return
        self.step()  # before the line has gone
        if not self.is_lost:
            about = message.metadata if isinstance(message.metadata, Raw) else None
            self.lines.insert(0, HistoryLine("", message.event or "", message.level, about))  # type: ignore[arg-type]
        self.step()  # and behind it

    def progress(self, told: object) -> None:
        """There are no calls."""

    async def history(self, query: StreamQuery) -> dict[str, list[HistoryLine]]:
        self.step()
        if self.is_lost:
            raise LinkLost("the gateway is gone")
        return {"ci-watch@ci-watcher": self.lines[: query.last]}

    def wait_for(self, work: Any) -> Any:
        raise NotImplementedError

    @property
    def ids(self) -> list[str]:
        return [msgspec.json.decode(one.metadata)["id"] for one in self.lines]  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "repo"
    made.mkdir()
    checkout(made)
    return made


def session_of(folder: Path, gateway: GatewayStream) -> Session:
    active = ActiveSession("s1", "s1", foreground=True, state="idle", cwd=str(folder))
    kept = folder.parent / "kept"
    kept.mkdir(exist_ok=True)
    return Session(active, gateway, str(kept))


@pytest.mark.parametrize("seed", range(2))
async def test_a_day_with_ends_at_any_moment_tells_each_change_once(
    folder: Path, seed: int
) -> None:
    chance = random.Random(seed)
    service, gateway = Pipelines(), GatewayStream()
    now = 0.0
    made, red, kills = 0, 0, 0

    def watch() -> SessionWatch:
        return SessionWatch(session_of(folder, gateway), service, lambda: now)

    watching = watch()
    await watching.look()
    for _ in range(DAY // LOOK):
        now += LOOK
        if chance.random() < 0.02:
            made += 1
            service.listed.append(run_of(made, "running", made % 3))
        for number, one in enumerate(service.listed):
            if not one.is_over and chance.random() < 0.2:
                ended = "failed" if chance.random() < 0.5 else "passed"
                red += ended == "failed"
                service.listed[number] = run_of(one.run_id, ended, one.workflow_id)
        if chance.random() < 0.1:
            gateway.lives = chance.randrange(1, 8)
        gateway.is_lost = chance.random() < 0.05
        try:
            await watching.look()
        except Killed:
            kills += 1
            gateway.lives = -1
            watching = watch()
        except LinkLost:
            watching.failed()
    gateway.is_lost, gateway.lives = False, -1
    for number, one in enumerate(service.listed):
        if not one.is_over:
            service.listed[number] = run_of(one.run_id, "passed", one.workflow_id)
    for _ in range(20):
        await watching.look()
    failed = [line for line in gateway.lines if line.event.startswith("CI failed on")]
    assert len(failed) == red
    assert [key for key, count in Counter(gateway.ids).items() if count > 1] == []
    assert red > 20
    assert kills > 5


async def test_a_line_that_never_comes_is_given_up_and_not_pushed_each_time(folder: Path) -> None:
    gateway = GatewayStream()
    told = ToldChanges(session_of(folder, gateway), "ci-watch")
    pushed = 0
    for _ in range(1_000):
        gateway.lines.clear()  # the person's filter drops it
        if told.has("k"):
            break
        told.push("k", "an event", level="keep", metadata={})
        pushed += len(gateway.lines)
        gateway.lines.clear()
        await told.confirm()
    assert told.has("k")
    assert pushed == 50


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"told": 5}', b"\xff", b"[" * 100_000])
async def test_a_damaged_file_is_as_none(folder: Path, text: bytes) -> None:
    session = session_of(folder, GatewayStream())
    told = ToldChanges(session, "ci-watch")
    told.begin("2026")
    told.know(["a"])
    told.save()
    assert ToldChanges(session, "ci-watch").has("a")
    (folder.parent / "kept" / "s1.json").write_bytes(text)
    found = ToldChanges(session, "ci-watch")
    assert (found.since, found.has("a")) == (None, False)
