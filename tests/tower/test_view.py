"""The model: what it keeps, what it drops, what it calls dirty."""

from typing import get_args

from msgspec import Raw
from msgspec.structs import replace

from tapui.projection.feed import Link
from tapui.projection.state import State
from tapui.tower.app.buffers import PAYLOAD_BYTES, RING_BYTES, RING_LINES
from tapui.tower.app.view import ALL_TOPICS, EVENT_TOPICS, KEPT_MUTED, DetailKey, View
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.message import Error, Line, NowText
from tapui.wire.tower import (
    Detail,
    RevealedCode,
    StreamLines,
    TowersChanged,
    TowerSnapshot,
    TurnsList,
)
from tests.tower.scripted import approval, at, call, lines, provider, session, world
from tests.tower.told import turns_world, whole

KEY = ("s1", "log@p")
AT = "2026-01-01T10:00:00.000Z"


def begun(state: State | None = None, *, run: str = "r1", seq: int = 10) -> View:
    view = View()
    view.apply(Link("up"))
    view.apply(TowerSnapshot(seq=seq, state=(state or State()).snapshot(), run=run, towers=2))
    view.take_dirty()
    return view


def happen(view: View, *events: ev.Event) -> None:
    view.apply([ev.Entry("r1", view.seq + 1 + n, at(), event) for n, event in enumerate(events)])


def post(seq: int, text: str = "x", level: str = "keep") -> ev.StreamPosted:
    line = Line(seq=seq, ts=at(), level=level, event=text)  # type: ignore[arg-type]
    return ev.StreamPosted(session_id=KEY[0], stream=KEY[1], line=line)


def test_snapshot_gives_state_towers_and_seq() -> None:
    view = begun(world(), seq=41)
    assert (view.seq, view.towers, view.run) == (41, 2, "r1")
    assert [one.id for one in view.open_sessions] == ["s1", "s2", "local"]
    assert view.rings["s1", "ci-watch@ci-watcher"].lines[-1].seq == 48


def test_what_was_answered_before_a_tower_came_has_its_time() -> None:
    early, late = (
        replace(approval(id_, "bindAll", {}), state="approved", duration=took, created_at=AT)
        for id_, took in (("a1", 1_500.0), ("a2", 62_000.0))
    )
    view = begun(State(approvals={"a2": late, "a1": early}))
    assert view.decided_at == {
        "a1": "2026-01-01T10:00:01.500Z",
        "a2": "2026-01-01T10:01:02.000Z",
    }
    assert [one.id for one in view.decided] == ["a2", "a1"]


def test_a_gateway_that_began_anew_has_its_own_times_of_answers() -> None:
    answered = replace(approval("a1", "bindAll", {}), state="approved", created_at=AT)
    view = begun(State(approvals={"a1": replace(answered, duration=1_500.0)}))
    later = replace(answered, created_at="2026-01-02T10:00:00.000Z", duration=500.0)
    snapshot = State(approvals={"a1": later}).snapshot()
    view.apply(TowerSnapshot(1, snapshot, run="r2", towers=1, is_first=True))
    assert view.decided_at == {"a1": "2026-01-02T10:00:00.500Z"}


def test_events_that_the_snapshot_holds_already_are_not_folded_again() -> None:
    view = begun(seq=10)
    view.apply([ev.Entry("r1", 10, at(), post(1)), ev.Entry("r1", 11, at(), post(2))])
    assert [line.seq for line in view.rings[KEY].lines] == [2]
    assert view.events == 1


def test_an_event_makes_only_its_topics_dirty() -> None:
    view = begun()
    happen(view, post(1))
    assert view.take_dirty() == {"streams"}
    assert view.take_dirty() == frozenset()


def test_ring_keeps_the_newest_lines() -> None:
    view = begun()
    happen(view, *(post(seq) for seq in range(1, RING_LINES + 11)))
    ring = view.rings[KEY]
    assert len(ring.lines) == RING_LINES
    assert (ring.lines[0].seq, ring.lines[-1].seq) == (11, RING_LINES + 10)
    assert ring.unread == RING_LINES + 10


def test_ring_is_bounded_in_bytes() -> None:
    view = begun()
    happen(view, *(post(seq, "y" * (RING_BYTES // 4)) for seq in range(1, 10)))
    ring = view.rings[KEY]
    assert ring.size <= RING_BYTES
    assert ring.size == sum(len(line.event) for line in ring.lines)
    assert ring.lines[-1].seq == 9


def test_a_stream_that_begins_anew_drops_its_old_lines() -> None:
    view = begun()
    happen(view, post(7), post(8), post(1))
    assert [line.seq for line in view.rings[KEY].lines] == [1]


def test_unread_lines_are_counted_by_level_until_read() -> None:
    view = begun()
    happen(view, post(1), post(2, level="inject"), post(3, level="inject"))
    assert view.rings[KEY].levels == {"keep": 1, "inject": 2}
    view.mark_read(KEY)
    assert (view.rings[KEY].unread, view.rings[KEY].levels) == (0, {})


def test_older_lines_are_merged_where_they_belong() -> None:
    view = begun()
    found = lines(6)
    happen(view, *(ev.StreamPosted(session_id="s1", stream=KEY[1], line=one) for one in found[3:]))
    view.expect_lines("x1", KEY)
    view.apply(StreamLines(id="x1", lines=found[:4]))
    assert [line.seq for line in view.rings[KEY].lines] == [1, 2, 3, 4, 5, 6]
    assert view.rings[KEY].unread == 3


def test_lines_that_nobody_asked_for_are_ignored() -> None:
    view = begun()
    happen(view, post(5))
    view.apply(StreamLines(id="other", lines=lines(3)))
    assert [line.seq for line in view.rings[KEY].lines] == [5]


def test_lines_move_with_a_replaced_session_and_go_with_a_closed_one() -> None:
    view = begun()
    happen(view, ev.SessionOpened(session_id="s1", session=session("s1", "a")), post(1))
    successor = session("s9", "b")
    happen(view, ev.SessionReplaced(session_id="s9", session=successor, replaces="s1"))
    assert list(view.rings) == [("s9", KEY[1])]
    ended = replace(successor, state="ended", ended_at=at())
    happen(view, ev.SessionClosed(session_id="s9", session=ended))
    assert view.rings == {}


def test_large_arguments_and_results_are_kept_whole_until_the_budget_is_spent() -> None:
    view = begun()
    large = Raw(b'"' + b"x" * (PAYLOAD_BYTES // 3) + b'"')
    for name in ("a", "b", "c"):
        happen(view, ev.CallStarted(session_id="s1", call=call(name, "t", args=large)))
    kept = [view.arguments(view.state.calls[name]) for name in ("a", "b", "c")]
    assert isinstance(kept[0], subjects.Cut), "the oldest made room"
    assert kept[0].size == len(memoryview(large))
    assert kept[1:] == [large, large]


def test_the_code_of_a_pairing_is_forgotten_when_it_is_settled() -> None:
    asked = approval("a1", "pairing", {})
    view = begun()
    happen(view, ev.ApprovalRequested(approval=asked))
    view.apply(RevealedCode(approval_id="a1", code="847293", expires_at=at(-100)))
    assert view.codes["a1"].code == "847293"
    happen(view, ev.ApprovalDecided(approval=replace(asked, state="approved")))
    assert view.codes == {}


def test_another_run_of_the_gateway_starts_from_nothing() -> None:
    view = begun()
    happen(view, post(1), ev.InjectPaused(session_id="s1", provider_id="p1", provider="p"))
    view.apply(TowerSnapshot(seq=1, state=State().snapshot(), run="r2", towers=1))
    assert (view.rings, view.seq) == ({}, 1)


def test_moves_and_requests_and_failed_modes_are_news() -> None:
    view = begun()
    moved = ev.ProviderMoved(
        provider=provider("p1", "x"), session_id="s2", source="s1", reason="first session"
    )
    asked = ev.ApprovalRequested(approval=approval("a1", "mode", {}))
    failed = ev.ModeChanged(session_id="s1", mode="plan", state="failed", by="keyboard")
    done = replace(failed, state="done")
    happen(view, moved, asked, failed, done)
    assert view.take_news() == [moved, asked, failed]
    assert view.take_news() == []


def test_every_event_has_its_topics() -> None:
    for kind in get_args(ev.AnyEvent):
        # No pane shows these as they come.
        assert EVENT_TOPICS[kind] or kind in (ev.SpanEnded, ev.SpansExported)
        assert set(EVENT_TOPICS[kind]) <= ALL_TOPICS


def test_what_an_agent_writes_is_known_until_it_is_a_message() -> None:
    view = begun(world())
    view.apply(NowText("s1", "I look"))
    view.apply(NowText("nowhere", "I look"))
    assert view.writing == {"s1": "I look"}
    assert view.take_dirty() == {"life"}
    happen(view, ev.SessionHappened("s1", "assistant.message"))
    assert view.writing == {}


def test_what_is_kept_of_a_session_goes_with_it() -> None:
    view = begun(world())
    view.apply(NowText("s1", "I look"))
    view.apply(NowText("s2", "I look"))
    view.mute(("s1", "a@b"), is_muted=True)
    view.mute(("s2", "a@b"), is_muted=True)
    happen(view, ev.SessionReplaced("s9", session("s9", "nine"), "s1"))
    assert (view.writing, list(view.muted)) == ({"s2": "I look"}, [("s9", "a@b"), ("s2", "a@b")])
    happen(
        view,
        ev.SessionClosed("s9", session("s9", "nine")),
        ev.SessionClosed("s2", session("s2", "two")),
    )
    assert (view.writing, view.muted) == ({}, {})


def test_of_very_many_muted_streams_the_newest_stay_muted() -> None:
    view = begun(world())
    for number in range(KEPT_MUTED + 1):
        view.mute(("s1", f"{number}@p"), is_muted=True)
    assert len(view.muted) == KEPT_MUTED
    assert ("s1", "0@p") not in view.muted
    view.mute(("s1", "1@p"), is_muted=False)
    assert ("s1", "1@p") not in view.muted


def test_count_of_towers_follows_the_gateway() -> None:
    view = begun()
    view.apply(TowersChanged(towers=3))
    assert view.towers == 3


def test_a_refused_read_of_a_detail_leaves_the_others_awaited() -> None:
    view = begun()
    gone: DetailKey = ("call", "c1", "")
    there: DetailKey = ("approval", "a1", "")
    view.expect_detail("detail-1", gone)
    view.expect_detail("detail-2", there)
    view.apply(Error("NOT_FOUND", "gone", "detail.read", id="detail-1"))
    assert (view.is_awaited(gone), view.is_awaited(there)) == (False, True)
    assert view.details == {gone: None}
    whole = approval("a1", "permission", {})
    view.apply(Detail(id="detail-2", approval=whole))
    assert view.details[there] == whole


def test_what_fails_without_a_call_counts_as_a_failure_that_was_not_seen() -> None:
    view = begun(world())
    happen(view, ev.SessionHappened("s1", "session.error"), ev.SessionHappened("s1", "abort"))
    assert view.unseen_failures == {"s1": 1}


def test_turns_that_were_read_are_put_in_place_of_their_heads_and_no_others() -> None:
    view = begun(turns_world())
    view.expect_turns("r1", "s1", [12, 13])
    assert view.is_turn_awaited("s1", 13)
    assert not view.is_turn_awaited("s2", 13)
    elsewhere = whole(11)
    moved = replace(elsewhere, head=replace(elsewhere.head, started_at=at(5)))
    view.apply(TurnsList("r1", [moved, whole(12), whole(13)]))
    assert not view.is_turn_awaited("s1", 13)
    known = view.state.turns["s1"]
    assert (known.turn(13), known.turn(12), known.turn(11)) == (whole(13), whole(12), None)
    view.apply(TurnsList("r1", [whole(11)]))
    assert known.turn(11) is None, "nobody asked for it"


def test_another_session_that_is_selected_is_told_once() -> None:
    view = begun(world())
    view.choose_session("s2")
    assert view.take_dirty() == {"life"}
    view.choose_session("s2")
    assert not view.is_dirty
