"""200 sessions, 2,000 turns and 100,000 calls: everything goes on, and what is kept is bounded."""

import gc

from msgspec.structs import replace

from tapui.projection.state import State
from tapui.projection.turns.session import LiveTurns
from tapui.wire import events as ev
from tapui.wire import limits
from tapui.wire.turns import SessionTurns, Turn
from tests.tower.running import Running, running
from tests.tower.scripted import at, call, session
from tests.tower.told import head

SESSIONS, TURNS, CALLS = 200, 10, 100_000
BATCH = 10_000


def long_day() -> State:
    state = State()
    for number in range(SESSIONS):
        id_ = f"s{number}"
        state.sessions[id_] = session(
            id_, f"Session {number:03}", state=("idle", "busy")[number % 2]
        )
        heads = [
            replace(head(n, f"Prompt {n}", 900 - n, 1), session_id=id_) for n in range(1, TURNS)
        ]
        newest = head(TURNS, "The newest", 60, None, session_id=id_)
        state.turns[id_] = LiveTurns.of(SessionTurns(id_, heads, Turn(newest, [])))
    return state


def calls_happen(rig: Running, first: int) -> None:
    """Let calls begin and end, spread over all sessions."""
    events: list[ev.AnyEvent] = []
    for number in range(first, first + BATCH):
        id_ = f"s{number % SESSIONS}"
        begun = call(f"c{number}", f"tool_{number % 50}", session_id=id_, started_at=at(1))
        done = replace(begun, state="done", duration=1.0)
        events += [ev.CallStarted(id_, begun), ev.CallFinished(id_, done)]
    rig.feed.happen(*events)


async def test_a_long_day_is_shown_and_kept_within_bounds() -> None:
    async with running(long_day(), size=(200, 50)) as rig:
        kept: list[int] = []
        for first in range(0, CALLS, BATCH):
            calls_happen(rig, first)
            await rig.settle()
            if first + BATCH in (CALLS // 2, CALLS):
                gc.collect()
                kept.append(len(gc.get_objects()))
        state = rig.app.view.state
        assert (len(state.calls), len(state.recent_calls)) == (0, limits.RECENT_CALLS)
        assert kept[1] < kept[0] * 1.05, "the second half is not kept on top of the first"
        assert "200 sessions" in rig.text
        await rig.press("1", "end")
        assert rig.pane(1).table.cursor == SESSIONS - 1  # type: ignore[attr-defined]
        await rig.press("s", "S")
        assert "by repository▼" in rig.text
        await rig.press("slash", *"Session 123", "enter")
        assert "1 of 200" in rig.text
        await rig.press("5", "end", "v", "end")
        assert "Calls by tool" in rig.text
        assert "tool_9 " in rig.text
        await rig.press("2", "end", "enter")
        assert "2 Turns: Session 123" in rig.text
