"""A fault costs what it belongs to: no other session's call, no tower, no record is lost by it."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tapui.runtime.ports import Flusher
from tapui.wire.events import Entry
from tapui.wire.host import HostHello, HostSession, HostSessionOpened, SessionOpen
from tapui.wire.message import Message
from tapui.wire.tower import TowerHello, TowerSnapshot
from tests.runtime.house import House, Witness, until


@pytest.mark.expects_error_log("an effect failed: Send of HostSessionOpened")
async def test_a_receiver_in_this_process_that_raises_loses_its_own_connection(
    house: House, witness: Witness
) -> None:
    ended: list[None] = []

    def receive(message: Message) -> None:
        if isinstance(message, HostSessionOpened):
            raise KeyError("a receiver that fails")

    end = house.turn.open_port(receive, lambda: ended.append(None))
    end.send(HostHello("faulty", "test", 2))
    end.send(SessionOpen(HostSession("s1", "one", "/")))
    id_ = witness.ask()
    await until(lambda: ended)
    await witness.is_answered(id_)
    witness.saw_every_event()
    await until(lambda: house.gateway.state.sessions["s1"].state == "ended")
    end.send(SessionOpen(HostSession("s2", "two", "/")))
    assert "s2" not in house.gateway.state.sessions


@pytest.mark.expects_error_log(
    "an effect failed: Send of Sessions", "could not be told that it is closed"
)
async def test_a_receiver_that_fails_twice_is_still_only_its_own(
    house: House, witness: Witness
) -> None:
    def fails(*_: object) -> None:
        raise ValueError("no")

    end = house.turn.open_port(fails, fails)
    end.send(HostHello("faulty", "test", 2))
    id_ = witness.ask()
    await witness.is_answered(id_)
    witness.saw_every_event()


@pytest.mark.parametrize("what", ["raises", "leaves", "opens"])
async def test_a_tower_of_this_process_that_fails_takes_no_event_from_the_others(
    house: House, witness: Witness, what: str, expects_error_log: Callable[[str], None]
) -> None:
    """Also one that closes its port, or opens another, while events are handed out."""
    if what == "raises":
        expects_error_log("events could not be handed to tower")
    snapshots: list[Message] = []
    ends: list[Any] = []

    def receive(message: Message) -> None:
        if isinstance(message, TowerSnapshot):
            snapshots.append(message)

    def open_one() -> None:
        ends.append(house.turn.open_port(receive, lambda: None, watch))
        ends[-1].send(TowerHello(2, "tower"))

    def watch(_entries: list[Entry], _size: int) -> None:
        if what == "raises":
            raise RuntimeError("a tower that fails")
        ends[-1].close()
        if what == "opens":
            open_one()

    for _ in range(3):
        open_one()
    late = house.tower()
    await until(lambda: len(snapshots) == 3 and late.heard("tower.snapshot"))
    await witness.is_answered(witness.ask())
    witness.saw_every_event()
    seen = [one["seq"] for one in late.heard("tower.event")]
    first = late.heard("tower.snapshot")[0]["seq"] + 1
    assert seen == list(range(first, house.gateway.seq + 1))


@pytest.mark.expects_error_log("an effect failed: Send of ToolCall")
async def test_a_socket_that_cannot_be_sent_to_loses_its_own_connection(
    house: House, witness: Witness
) -> None:
    host, provider = await house.bound()

    def fails(message: dict[str, Any]) -> None:
        if message["type"] == "tool.call":
            raise OSError("a socket that fails")

    provider.on_send = fails
    house.say(host, type="tool.invoke", id="i1", sessionId="s1", tool="greet", args={})
    id_ = witness.ask()
    await until(lambda: host.heard("tool.outcome"))
    assert host.heard("tool.outcome")[0]["errorCode"] == "DISCONNECTED"
    assert provider.closed == (1011, "internal error")
    await witness.is_answered(id_)
    witness.saw_every_event()


@pytest.mark.expects_error_log("events could not be handed to tower")
async def test_a_tower_that_cannot_be_sent_events_to_loses_its_own_connection(
    house: House, witness: Witness
) -> None:
    faulty, last = house.tower(), house.tower()
    await until(lambda: faulty.heard("tower.snapshot") and last.heard("tower.snapshot"))

    def fails(_message: object) -> None:
        raise OSError("a socket that fails")

    faulty.on_send = fails
    await witness.is_answered(witness.ask())
    assert faulty.closed == (1011, "internal error")
    assert last.heard("tower.event")
    witness.saw_every_event()


def _fails(*_args: object, **_kwargs: object) -> Any:
    raise RuntimeError("injected")


@pytest.mark.expects_error_log("MakePersistDir(provider='p')", "an effect failed: Stop")
async def test_a_folder_that_cannot_be_made_and_a_stop_that_fails_cost_nothing_else(
    house: House, witness: Witness
) -> None:
    house.turn._disk._persist_dir = house.turn._on_stop = _fails
    house.host()
    provider = house.provider()
    tower = house.tower()
    house.say(tower, type="gateway.stop")
    id_ = witness.ask()
    await until(lambda: provider.heard("hello.ack"))
    await witness.is_answered(id_)
    witness.saw_every_event()


@pytest.mark.expects_error_log("an effect failed: MakeDurable")
async def test_a_sync_that_fails_is_an_answer_that_does_not_hold(
    house: House, witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, tower = house.host(), house.tower()
    house.say(host, type="approval.request", id="r1", sessionId="s1", kind="permission", detail={})
    await until(lambda: house.gateway.state.approvals)
    monkeypatch.setattr(house.journal, "sync", _fails)
    approval = next(iter(house.gateway.state.approvals))
    house.say(tower, type="approval.decide", approvalId=approval, decision="approve")
    id_ = witness.ask()
    await until(lambda: host.heard("approval.answer"))
    assert host.heard("approval.answer")[0]["decision"] == "deny"
    await witness.is_answered(id_)
    witness.saw_every_event()


@pytest.mark.expects_error_log("the journal failed; events")
async def test_a_journal_that_fails_costs_records_and_nothing_else(
    house: House,
    witness: Witness,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host, tower = house.host(), house.tower()
    house.say(host, type="approval.request", id="r1", sessionId="s1", kind="permission", detail={})
    await until(lambda: house.gateway.state.approvals)
    with monkeypatch.context() as patch:
        patch.setattr(house.journal, "write", _fails)
        approval = next(iter(house.gateway.state.approvals))
        house.say(tower, type="approval.decide", approvalId=approval, decision="approve")
        await witness.is_answered(witness.ask())
        await until(lambda: host.heard("approval.answer"))
        assert host.heard("approval.answer")[0]["decision"] == "deny"
    await witness.is_answered(witness.ask())
    assert house.records()[-1]["seq"] == house.gateway.seq


@pytest.mark.expects_error_log("streams.jsonl")
async def test_one_file_of_records_that_fails_costs_its_own_records(
    house: House,
    witness: Witness,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = house.host()
    provider = house.provider()
    await until(lambda: provider.heard("hello.ack"))
    before = house.gateway.seq
    append = house.journal._append

    def faulty(file: Any, data: bytes, handles: Any) -> int | None:
        if file.folder.path.name == "s1":
            raise RuntimeError("injected")
        return append(file, data, handles)

    monkeypatch.setattr(house.journal, "_append", faulty)
    house.say(provider, type="push", level="keep", event="lost")
    id_ = witness.ask()
    await witness.is_answered(id_)
    recorded = {one["seq"] for one in house.records()}
    assert set(range(1, house.gateway.seq + 1)) - recorded == {before + 1}
    assert any("Records cannot be written" in text for text in house.reports)
    monkeypatch.undo()
    house.say(provider, type="push", level="keep", event="kept")
    await until(lambda: house.records()[-1].get("line", {}).get("event") == "kept")
    assert host.closed is None


@pytest.mark.expects_error_log("could not take an input")
async def test_a_deadline_that_fails_lets_the_next_ones_come(
    house: House, witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    due: Callable[..., None] = house.gateway._due
    failed: list[object] = []

    def faulty(kind: Any, subject: Any) -> None:
        if not failed:
            failed.append(subject)
            raise RuntimeError("injected")
        due(kind, subject)

    monkeypatch.setattr(house.gateway, "_due", faulty)
    host = house.host()
    house.provider()
    await until(lambda: failed)
    await until(lambda: host.heard("tools.changed") or witness.host.heard("tools.changed"))


@pytest.mark.expects_error_log("output could not be written")
async def test_output_that_cannot_be_written_cuts_its_own_connection() -> None:
    class Writer:
        def __init__(self, *, fails: bool) -> None:
            self.fails = fails
            self.flushed = self.aborted = False

        def flush(self) -> None:
            if self.fails:
                raise OSError("injected")
            self.flushed = True

        def abort(self) -> None:
            self.aborted = True

    flusher = Flusher(asyncio.get_running_loop())
    first, second = Writer(fails=True), Writer(fails=False)
    flusher.add(first)
    flusher.add(second)
    flusher.flush()
    assert (first.aborted, second.flushed, second.aborted) == (True, True, False)
