"""Large fields are recorded once and bounded, and the fold puts them together again."""

import hashlib
import json
from typing import Any

import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import replace

from tapui.core.context import Clock, Output
from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.codec import encode, raw
from tapui.wire.message import Line

INLINE = 64 * 1024
TS = "2026-01-01T00:00:00.000000Z"


class Minted:
    def timestamp(self, now: float) -> str:
        return TS


class Log:
    """Emits events and folds their JSON again, as replay and towers do."""

    def __init__(self) -> None:
        self.out = Output("r1", Clock(Minted()), INLINE)  # type: ignore[arg-type]
        self.replayed = State()

    def emit(self, event: ev.Event) -> tuple[Any, int]:
        """Return the event as it is recorded, and its bytes."""
        self.out.emit(event)
        entries, (body,), _ = self.out.take()
        read = msgspec.json.decode(body, type=ev.AnyEvent)
        assert encode(read) == body
        fold(self.replayed, read, TS)
        assert encode(self.replayed.snapshot()) == encode(self.out.state.snapshot())
        return entries[0].event, len(body)


@pytest.fixture
def log() -> Log:
    return Log()


def approval(detail: Any, state: Any = "waiting") -> subjects.Approval:
    return subjects.Approval("a1", "permission", state, detail, TS, TS)


def provider(**fields: Any) -> subjects.Provider:
    return subjects.Provider("p1", "ci", "project", "bound", ["t"], TS, **fields)


def sha(value: Any) -> str:
    return hashlib.sha256(encode(value)).hexdigest()


def test_a_large_permission_is_recorded_once_and_bounded(log: Log) -> None:
    detail = {"kind": "write", "path": "/code/a.py", "diff": "x" * 500_000}
    asked, size = log.emit(ev.ApprovalRequested(approval(detail)))
    assert size < INLINE
    assert asked.approval.detail == {**detail, "diff": "x" * 1024 + "…"}
    kept = asked.approval.cuts["detail"]
    assert (kept.size, kept.sha256) == (len(encode(detail)), sha(detail))
    assert kept.head.startswith('{"kind":"write"')
    decided, size = log.emit(ev.ApprovalDecided(approval(detail, "approved")))
    assert size < 1500
    assert decided.approval.cuts["detail"].sha256 == sha(detail)
    shown = log.out.state.approvals["a1"]
    assert (shown.state, shown.detail) == ("approved", asked.approval.detail)
    assert shown.cuts == asked.approval.cuts
    assert shown.is_cut


def test_what_is_large_but_not_too_large_is_recorded_whole_and_once(log: Log) -> None:
    detail = {"diff": "x" * 50_000}
    asked, _ = log.emit(ev.ApprovalRequested(approval(detail)))
    assert (asked.approval.detail, asked.approval.cuts) == (detail, {})
    before = log.out.state.approvals["a1"]
    _, size = log.emit(ev.ApprovalDecided(approval(detail, "denied")))
    assert size < 1500
    after = log.out.state.approvals["a1"]
    assert (after.detail, after.cuts, after.is_cut) == (before.detail, {}, True)


def test_small_fields_are_recorded_each_time_as_they_are(log: Log) -> None:
    detail = {"diff": "x" * 4000}
    for event in (
        ev.ApprovalRequested(approval(detail)),
        ev.ApprovalDecided(approval(detail, "approved")),
    ):
        recorded, _ = log.emit(event)
        assert recorded == event


def test_a_provider_s_large_metadata_and_context_are_recorded_when_they_change(log: Log) -> None:
    large = provider(metadata=raw({"a": "x" * 20_000}), context="c" * 30_000)
    _, size = log.emit(ev.ProviderConnected(large))
    assert size > 50_000
    before = log.out.state.providers["p1"]
    for kind in (ev.ProviderBound, ev.ProviderUpdated):
        _, size = log.emit(kind(large))
        assert size < 6000
        after = log.out.state.providers["p1"]
        assert encode(after) == encode(before)
    changed = replace(large, context="d" * 30_000)
    _, size = log.emit(ev.ProviderUpdated(changed))
    assert 30_000 < size < 40_000
    assert str(log.out.state.providers["p1"].context).startswith("dddd")
    log.emit(ev.ProviderUpdated(replace(changed, metadata=None)))
    assert log.out.state.providers["p1"].metadata is None
    log.emit(ev.ProviderDisconnected(replace(changed, metadata=None, state="disconnected")))
    assert str(log.out.state.providers["p1"].context).startswith("dddd")


def test_metadata_that_stays_too_large_is_cut_whole(log: Log) -> None:
    many = raw({str(number): number for number in range(20_000)})
    recorded, size = log.emit(ev.ProviderConnected(provider(metadata=many)))
    assert size < 6000
    assert recorded.provider.metadata is None
    assert recorded.provider.cuts["metadata"].size == len(bytes(many))
    other = raw({str(number): number + 1 for number in range(20_000)})
    recorded, _ = log.emit(ev.ProviderUpdated(provider(metadata=other)))
    assert recorded.provider.cuts["metadata"].head
    assert (
        log.out.state.providers["p1"].cuts["metadata"].sha256
        == hashlib.sha256(bytes(other)).hexdigest()
    )


@pytest.mark.parametrize("size", [INLINE + 1, 2_000_000])
def test_no_event_is_larger_than_its_fields_may_be(log: Log, size: int) -> None:
    text, json_ = "x" * size, raw({"a": "x" * size})
    session = subjects.Session("s1", text, text, "idle", "host", [], TS, reason=text)
    call = subjects.Call("c1", "s1", "ci", "t", "failed", TS, error=text, progress=text)
    gate = subjects.Gate("g1", "s1", "t", "deny", ["ci"], TS, reason=text)
    events = [
        ev.SessionOpened("s1", session),
        ev.SessionUpdated("s1", session),
        ev.SessionHappened("s1", text),
        ev.ProviderConnected(provider(metadata=json_, context=text, reason=text)),
        ev.CallFinished("s1", call),
        ev.StreamPosted("s1", "ci@ci", Line(1, TS, "keep", text, json_)),
        ev.ApprovalRequested(approval({"a": text, "b": [text] * 3})),
        ev.GateChecked("s1", gate),
        ev.ModeChanged("s1", "plan", "failed", "tower", error=text),
        ev.ErrorSent("INTERNAL", text),
        ev.InjectPaused("s1", "p1", text),
    ]
    for event in events:
        recorded, bytes_ = log.emit(event)
        assert bytes_ < 16 * 1024, type(event)
        assert b'"cuts"' in encode(recorded)


def test_a_line_s_cuts_are_its_event_s(log: Log) -> None:
    line = Line(1, TS, "keep", "e" * 100_000, raw({"a": "x" * 100_000}))
    recorded, _ = log.emit(ev.StreamPosted("s1", "ci@ci", line))
    assert recorded.cuts.keys() == {"line.event", "line.metadata"}
    assert recorded.line.event == "e" * 1024 + "…"
    assert json.loads(bytes(recorded.line.metadata)) == {"a": "x" * 1024 + "…"}
    assert recorded.cuts["line.event"].size == 100_000


def test_the_path_of_a_workspace_is_never_cut(log: Log) -> None:
    session = subjects.Session(
        "s1", "one", "/", "idle", "host", [], TS, workspace="/" + "w" * INLINE
    )
    recorded, _ = log.emit(ev.SessionOpened("s1", session))
    assert recorded.session.workspace == session.workspace


def test_the_whole_is_unchanged_when_nothing_is_large(log: Log) -> None:
    call = subjects.Call(
        "c1", "s1", "ci", "t", "running", TS, args=Raw(b'{"a":"%s"}' % (b"x" * 10_000))
    )
    event = ev.CallStarted("s1", call)
    recorded, _ = log.emit(event)
    assert recorded is event
