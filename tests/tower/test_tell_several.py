"""Sessions that are marked are told together, and one sheet has what became of it in each."""

from tapui.projection.feed import Link
from tapui.projection.state import State
from tapui.tower.sessions.deliveries import DeliveriesDetail
from tapui.tower.sessions.sent_orders import AT_ONCE
from tapui.tower.sessions.tell_line import TellInput
from tapui.wire import events as ev
from tapui.wire.errors import ErrorCode
from tapui.wire.message import Error
from tapui.wire.steering import SessionOrdered, SessionTell
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import session

CAN = ["tell", "now", "stop"]


def able(count: int = 3) -> State:
    state = State()
    for number in range(count):
        id_ = f"s{number}"
        state.sessions[id_] = session(id_, f"Session {number}", state="busy", can=CAN)
    state.sessions["mute"] = session("mute", "Mute", cannot={"tell": "this CLI is too old"})
    return state


def told(rig: Running) -> list[SessionTell]:
    return rig.feed.sent_of(SessionTell)


def became(session_id: str, state: str, **fields: object) -> ev.OrderChanged:
    about = {"session_id": session_id, "order_id": f"o-{session_id}", "state": state}
    return ev.OrderChanged(**{**about, **fields})  # type: ignore[arg-type]


async def mark_all(rig: Running, count: int) -> None:
    for _ in range(count):
        await rig.press("space", "down")


async def test_a_mark_has_a_cell_of_its_own_and_escape_clears_it() -> None:
    async with running(able(), size=(120, 36)) as rig:
        row = next(line for line in rig.lists.splitlines() if "Session 1" in line)
        await rig.press("down", "space")
        selected = next(line for line in rig.lists.splitlines() if "Session 1" in line)
        assert selected[1] == "╋"
        await rig.press("up")
        marked = next(line for line in rig.lists.splitlines() if "Session 1" in line)
        assert (marked[1], marked[2:]) == ("+", row[2:])
        assert "1 marked" in rig.text
        await rig.press("escape")
        assert "marked" not in rig.text
        assert row in rig.lists.splitlines()


async def test_space_unmarks_and_a_session_that_ended_counts_no_longer() -> None:
    async with running(able(), size=(120, 36)) as rig:
        await mark_all(rig, 2)
        assert "2 marked" in rig.text
        await rig.press("up", "space")
        assert "1 marked" in rig.text
        ended = session("s0", "Session 0", state="ended")
        rig.feed.happen(ev.SessionClosed(session_id="s0", session=ended))
        await rig.settle()
        assert "marked" not in rig.text
        await rig.press("t")
        assert "tell Session" in rig.text


async def test_all_that_are_marked_are_told_and_one_sheet_has_the_deliveries() -> None:
    async with running(able(), size=(120, 36)) as rig:
        await mark_all(rig, 4)
        await rig.press("t")
        assert "to 4 sessions  after this turn:" in rig.text
        await rig.press("tab", "g", "o", "enter")
        assert [(one.session_id, one.text, one.way) for one in told(rig)] == [
            (f"s{number}", "go", "now") for number in range(3)
        ]
        assert isinstance(on_top(rig.app), DeliveriesDetail)
        assert "Mute" in rig.text
        assert "refused: this CLI is too old" in rig.text
        for one in told(rig)[:2]:
            rig.feed.put(SessionOrdered(one.id, f"o-{one.session_id}"))
        rig.feed.happen(became("s0", "done", running=["sleep 9"]), became("s1", "queued"))
        refusal = Error(ErrorCode.RATE_LIMITED, "20 orders", "session.tell", id=told(rig)[2].id)
        rig.feed.put(refusal)
        await rig.settle()
        assert "1 delivered, 1 on their way, 2 not delivered" in rig.text
        assert "delivered; still running in the background: sleep 9" in rig.text
        assert "waits until the turn can take it" in rig.text
        assert "refused: 20 orders" in rig.text
        rig.feed.happen(became("s1", "failed", error="the turn was stopped"))
        await rig.settle()
        assert "not delivered: the turn was stopped" in rig.text
        assert rig.notices == []
        assert [rig.app.orders.draft(one) for one in ("s0", "s1", "s2")] == ["", "go", "go"]
        await rig.press("escape")
        assert "marked" not in rig.text


async def test_the_deliveries_can_be_seen_again_by_a_command() -> None:
    async with running(able(), size=(120, 36)) as rig:
        assert rig.app.check_action("deliveries", ()) is False
        await mark_all(rig, 2)
        await rig.press("t", "a", "enter", "escape")
        await rig.press("colon", *"deliveries", "enter")
        assert isinstance(on_top(rig.app), DeliveriesDetail)
        assert "To 2 sessions" in rig.text


async def test_the_draft_for_several_is_not_that_of_one() -> None:
    async with running(able(), size=(120, 36)) as rig:
        await mark_all(rig, 2)
        await rig.press("t", "a", "escape", "t")
        assert rig.app.main.query_one(TellInput).value == "a"
        await rig.press("escape", "escape", "t")
        assert rig.app.main.query_one(TellInput).value == ""
        assert told(rig) == []


async def test_what_a_lost_link_leaves_unanswered_is_refused_and_a_draft() -> None:
    async with running(able(), size=(120, 36)) as rig:
        await mark_all(rig, 2)
        await rig.press("t", "a", "enter")
        rig.feed.put(Link("down", "gone"))
        await rig.settle()
        assert "2 not delivered" in rig.text
        assert "refused: the link to the gateway was lost" in rig.text
        assert rig.app.orders.draft("s0") == "a"


async def test_200_sessions_are_told_in_parts_and_without_200_notices() -> None:
    async with running(able(200), size=(120, 36)) as rig:
        for one in list(rig.app.view.state.sessions)[:200]:
            rig.app.view.mark_session(one)
        await rig.press("t", "g", "enter")
        assert len(told(rig)) == AT_ONCE
        answered = 0
        while answered < len(told(rig)):
            for one in told(rig)[answered:]:
                rig.feed.put(SessionOrdered(one.id, f"o-{one.session_id}"))
                answered += 1
            await rig.settle()
        assert answered == 200
        rig.feed.happen(*(became(f"s{n}", "failed", error="no") for n in range(200)))
        await rig.settle()
        assert "200 not delivered" in rig.text
        assert rig.notices == []
        await rig.press("end")
        assert "Session 199" in rig.text
