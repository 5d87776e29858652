"""The detail beside the lists: it follows the cursor, has keys of its own, and takes answers."""

import itertools
from functools import partial

import pytest
from msgspec.structs import replace

from tapui.projection.state import State
from tapui.tower.app.detail_area import DetailArea
from tapui.tower.app.layouts import lists_width
from tapui.tower.calls.call_detail import CallDetail
from tapui.tower.requests.answers_sheet import AnswersScreen
from tapui.tower.requests.request_detail import RequestDetail
from tapui.tower.sessions.session_detail import SessionDetail
from tapui.tower.streams.tail import Tail
from tapui.tower.textual.detail import DetailView
from tapui.tower.textual.reader import Reader
from tapui.tower.textual.sheet import Sheet
from tapui.tower.turns.turn_detail import StepDetail, TurnDetail
from tapui.wire import events as ev
from tapui.wire.message import Line
from tapui.wire.tower import ApprovalDecide, ApprovalReveal
from tests.rig.waiting import until_async
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import approval, at, posts, session, world
from tests.tower.test_request_sheet import asked, command, settle, three
from tests.tower.told import turns_world

SIZE = (160, 45)


def shown(rig: Running) -> DetailView:
    """Return what stands beside the lists."""
    area = rig.app.main.detail_area
    assert area.display
    assert area.detail is not None
    return area.detail


def text(rig: Running) -> str:
    return shown(rig).query_one(Reader).plain_text


async def test_it_follows_the_cursor_of_the_list_that_has_the_keys() -> None:
    async with running(turns_world(), size=SIZE) as rig:
        first = shown(rig)
        assert isinstance(first, SessionDetail)
        before = first.key
        await rig.press("down")
        assert shown(rig) is first, "the same widget shows the next one"
        assert first.key != before
        await rig.press("up", "2", "home")
        assert isinstance(shown(rig), TurnDetail)
        await rig.press("down")
        assert isinstance(shown(rig), StepDetail)
        await rig.press("5")
        assert isinstance(shown(rig), CallDetail)


async def test_the_keys_go_into_it_and_back_and_it_stands_still_meanwhile() -> None:
    async with running(world(), size=SIZE) as rig:
        await rig.press("down")
        there = shown(rig)
        key = there.key
        await rig.press("right")
        assert on_top(rig.app) is there
        rig.app.main.current_pane.table.action_move(-1)  # such as by the mouse
        await rig.settle()
        assert (shown(rig), there.key) == (there, key)
        await rig.press("left")
        assert rig.app.main.current_pane.table.has_focus
        assert shown(rig).key != key
        await rig.press("right", "escape")
        assert rig.app.main.current_pane.table.has_focus


async def test_enter_opens_the_same_as_a_sheet() -> None:
    async with running(turns_world(), size=SIZE) as rig:
        for keys in (["1"], ["2", "home"], ["2", "down"], ["5"]):
            await rig.press(*keys)
            beside = shown(rig)
            read = await until_async(partial(text, rig), what="its text")
            await rig.press("full_stop", "o") if isinstance(beside, TurnDetail) else (
                await rig.press("enter")
            )
            screen = rig.app.screen
            assert isinstance(screen, Sheet)
            assert type(screen.detail) is type(beside)
            assert screen.detail.key == beside.key
            assert screen.detail.query_one(Reader).plain_text == read
            await rig.press("escape")


async def test_one_whose_place_was_asked_for_before_it_had_one_is_painted() -> None:
    async with running(world(), size=SIZE) as rig:
        detail = SessionDetail("s2")
        await rig.app.main.detail_area.mount(detail)
        compositor = rig.app.main._compositor
        compositor._full_map_invalidated = True  # as scrolling does
        assert detail in compositor.full_map
        await until_async(lambda: detail.query_one(Reader).plain_text, what="its text")


async def test_a_narrow_screen_has_none() -> None:
    async with running(world()) as rig:
        for size in ((80, 24), (120, 36), (139, 45)):
            await rig.resize(size)
            assert not rig.app.main.detail_area.display, size
            await rig.press("right")
            assert rig.app.main.current_pane.table.has_focus, size
            await rig.press("a")
            assert isinstance(rig.app.screen, Sheet), size
            await rig.close_all()


async def test_a_request_is_answered_beside_the_lists() -> None:
    state = three()
    async with running(state, size=SIZE) as rig:
        await rig.press("2")
        await rig.press("y", "enter")
        assert not rig.feed.sent, "no list takes an answer"
        await rig.press("a")
        found = on_top(rig.app)
        assert isinstance(found, RequestDetail)
        assert len(rig.app.screen_stack) == 1
        assert found.key == "soon"
        await rig.press("y")
        assert "Too early" in rig.text
        await rig.turn(1)
        await rig.press("enter")
        assert "Choose by a letter first" in rig.text
        for this in ("soon", "old", "late"):
            await rig.turn(1)
            assert on_top(rig.app).key == this
            await rig.press("d", "enter")
            assert rig.feed.sent[-1] == ApprovalDecide(approval_id=this, decision="deny")
            settle(rig, state.approvals[this], "denied", "tapui 1")
            await rig.settle()
        assert rig.app.main.current_kind.id == "turns"
        assert not rig.app.main.detail_area.has_keys, "the last answer gives the keys back"


async def test_another_request_in_it_takes_no_answer_at_first() -> None:
    state = asked(command("a1", "echo a", waited=9), command("a2", "echo b", waited=3))
    async with running(state, size=SIZE) as rig:
        await rig.press("shift+tab")
        assert rig.app.main.current is rig.app.main.band
        assert isinstance(shown(rig), RequestDetail)
        await rig.turn(1)
        await rig.press("down")
        assert shown(rig).key == "a2"
        await rig.press("y")
        assert "Too early" in rig.text
        await rig.turn(1)
        await rig.press("y", "enter")
        assert rig.feed.sent[-1] == ApprovalDecide(approval_id="a2", decision="approve")


async def test_a_letter_in_the_band_is_for_the_request_under_its_cursor() -> None:
    state = asked(command("a1", "echo a", waited=9), command("a2", "echo b", waited=3))
    async with running(state, size=SIZE) as rig:
        await rig.press("shift+tab")
        await rig.turn(1)
        rig.app.main.band.table.action_move(1)  # no frame is painted before the letter
        rig.app.main.band.action_choose("allow")
        await rig.pilot.pause()
        await rig.press("enter")
        assert not rig.feed.sent, "it takes no answer at first"
        await rig.turn(1)
        await rig.press("y", "enter")
        assert rig.feed.sent[-1] == ApprovalDecide(approval_id="a2", decision="approve")


async def test_with_the_keys_the_band_shows_all_of_its_rows() -> None:
    async with running(world(), size=(160, 45)) as rig:
        before = rig.text.splitlines()[-3:-1]
        await rig.press("1", "shift+tab")
        assert rig.app.main.current is rig.app.main.band
        assert [line[1:150] for line in rig.text.splitlines()[-3:-1]] == [
            line[1:150] for line in before
        ]


async def test_its_text_is_copied() -> None:
    async with running(world(), size=SIZE) as rig:
        await rig.press("right", "c")
        assert any("The text was copied" in one for one in rig.notices)


async def test_what_is_cut_off_cannot_be_allowed() -> None:
    long = "\n".join(f"echo {number} {'long ' * 15}" for number in range(60))
    async with running(asked(command("a1", long, waited=9)), size=SIZE) as rig:
        await rig.press("a")
        await rig.turn(1)
        assert len(rig.app.screen_stack) == 1, "it has no room in a sheet, either"
        assert "lines below: what is not shown cannot be allowed" in rig.text
        await rig.press("y")
        assert "scroll to the end first" in rig.text
        await rig.press("end")
        assert "cannot be allowed" not in rig.text
        await rig.press("y", "enter")
        assert rig.feed.sent[-1] == ApprovalDecide(approval_id="a1", decision="approve")


async def sheet(rig: Running) -> Sheet:
    """Wait until a sheet is open, and all in it is painted."""
    await until_async(lambda: isinstance(rig.app.screen, Sheet), what="a sheet")
    await rig.settle()
    assert isinstance(rig.app.screen, Sheet)
    return rig.app.screen


async def test_a_request_for_which_the_detail_is_too_low_is_answered_in_a_sheet() -> None:
    long = "\n".join(f"echo {number} {'long ' * 12}" for number in range(25))
    async with running(asked(command("a1", long, waited=9)), size=SIZE) as rig:
        await rig.press("2", "a")
        assert (await sheet(rig)).detail.key == "a1"
        await rig.turn(1)
        assert "lines below" not in rig.text
        await rig.press("y", "enter")
        assert rig.feed.sent == [ApprovalDecide(approval_id="a1", decision="approve")]
        await rig.press("escape", "escape")
        await until_async(lambda: len(rig.app.screen_stack) == 1, what="the lists")
        await rig.settle()
        assert rig.app.main.current_kind.id == "turns"
        assert not rig.app.main.detail_area.has_keys


async def test_a_request_in_it_becomes_a_sheet_where_it_has_no_place_any_more() -> None:
    state = asked(command("a1", "echo a", waited=9), command("a2", "echo b", waited=3))
    async with running(state, size=SIZE) as rig:
        await rig.press("a")
        await rig.turn(1)
        await rig.press("y")
        assert "Enter allows it" in rig.text
        await rig.pilot.resize_terminal(80, 24)
        found = await sheet(rig)
        assert found.detail.key == "a1"
        assert "Enter allows it" not in rig.text, "nothing is chosen where it has only just come"
        assert "This is a sheet now: press the letter again." in rig.text
        await rig.press("enter")
        assert rig.feed.sent == []
        await rig.resize(SIZE)
        assert rig.app.screen is found, "what is read does not move"
        await rig.turn(1)
        await rig.press("y", "enter")
        assert rig.feed.sent == [ApprovalDecide(approval_id="a1", decision="approve")]


@pytest.mark.parametrize("over", [False, True], ids=["on top", "below the help"])
async def test_a_message_that_is_half_written_goes_with_it_into_the_sheet(over: bool) -> None:
    async with running(asked(command("a1", "echo a", waited=9)), size=SIZE) as rig:
        await rig.press("a")
        await rig.turn(1)
        await rig.press("m", *"no, us")
        assert "no, us" in rig.text
        if over:
            rig.app.action_help()
            await rig.settle()
        await rig.pilot.resize_terminal(80, 24)
        if over:
            await rig.settle()
            await rig.press("escape")
        assert (await sheet(rig)).detail.key == "a1"
        assert "no, us" in rig.text
        await rig.turn(1)
        await rig.press("e")
        await rig.resize(SIZE)
        await rig.press(*" npm", "enter")
        told = ApprovalDecide(approval_id="a1", decision="deny", reason="no, use npm")
        assert rig.feed.sent == [told]


FORM = {"type": "object", "properties": {"name": {"type": "string"}, "size": {"enum": [1, 2]}}}
FILLED_IN = {
    "a line": ("userInput", {"question": "Which?"}, [*"blu"], [*"e"], "blue"),
    "a choice": (
        "userInput",
        {"question": "Which?", "choices": ["red", "green"], "allowFreeform": False},
        ["down"],
        [],
        "green",
    ),
    "a form": (
        "elicitation",
        {"message": "Who?", "requestedSchema": FORM},
        [*"Ad", "enter", "down", "space"],
        [*"a"],
        {"name": "Ada", "size": 2},
    ),
    "a form as JSON": (
        "elicitation",
        {"message": "Who?", "requestedSchema": {"type": "object", "allOf": [{}]}},
        ["end", *["backspace"] * 2, *'{"a": 1'],
        ["end", *"}"],
        {"a": 1},
    ),
}


@pytest.mark.parametrize("case", FILLED_IN)
async def test_what_is_filled_in_goes_with_it_into_the_sheet(case: str) -> None:
    kind, detail, before, after, answer = FILLED_IN[case]
    one = approval("a1", kind, detail, session_id="s1", created_at=at(9), expires_at=at(-900))
    async with running(asked(one), size=SIZE) as rig:
        await rig.press("a")
        await rig.turn(1)
        await rig.press(*before)
        await rig.pilot.resize_terminal(80, 24)
        await sheet(rig)
        await rig.turn(1)
        await rig.press(*after, "escape", "y", "enter")
        (sent,) = rig.feed.sent
        assert isinstance(sent, ApprovalDecide)
        assert sent.answer == answer


async def test_the_sessions_of_a_pairing_stay_chosen_in_the_sheet() -> None:
    one = approval("a1", "pairing", {"origin": "https://a.example"}, expires_at=at(-900))
    state = asked(one)
    state.sessions["s2"] = session("s2", "Second")
    async with running(state, size=SIZE) as rig:
        await rig.press("a")
        await rig.turn(1)
        await rig.press("down", "space", "up", "space")
        await rig.pilot.resize_terminal(80, 24)
        await sheet(rig)
        await rig.turn(1)
        await rig.press("y", "enter")
        (sent,) = rig.feed.sent
        assert isinstance(sent, ApprovalReveal)
        assert sent.sessions == ["s2"]


async def test_a_list_stays_a_list_when_there_is_no_detail_any_more() -> None:
    async with running(asked(command("a1", "echo a", waited=9)), size=SIZE) as rig:
        await rig.resize((80, 24))
        assert len(rig.app.screen_stack) == 1


async def test_a_session_that_asks_begins_with_its_request() -> None:
    state = State(
        sessions={"s1": session("s1", "First"), "s2": session("s2", "Second")},
        approvals={
            "a1": command("a1", "rm -rf build", waited=9),
            "a2": replace(command("a2", "npm ci", waited=99), session_id="s2"),
        },
    )
    async with running(state, size=SIZE) as rig:
        rig.app.main.panes["sessions"].select_session("s1")  # type: ignore[attr-defined]
        await rig.settle()
        lines = text(rig).splitlines()
        assert lines[0].startswith("First")
        assert "rm -rf build" in lines
        assert "a answers it:" in lines
        assert any(line.startswith("d  deny") for line in lines)
        await rig.press("a")
        assert on_top(rig.app).key == "a1", "it is the one that was read"


async def test_what_is_settled_elsewhere_stays_where_it_is_read() -> None:
    state = asked(command("a1", "echo a", waited=9), command("a2", "echo b", waited=3))
    async with running(state, size=SIZE) as rig:
        await rig.press("shift+tab")
        settle(rig, state.approvals["a1"], "withdrawn", "cli")
        await rig.settle()
        assert shown(rig).key == "a2", "the band has gone on to what still waits"


async def test_nothing_moves_when_requests_come() -> None:
    async with running(world(), size=SIZE) as rig:
        before = {key: pane.region for key, pane in rig.app.main.panes.items()}
        lines = rig.app.main.band.region.height
        for number in range(40):
            one = command(f"more-{number}", f"echo {number}", waited=1)
            rig.feed.happen(ev.ApprovalRequested(approval=one))
        await rig.settle()
        assert {key: pane.region for key, pane in rig.app.main.panes.items()} == before
        band = rig.app.main.band.region
        assert lines < band.height <= rig.app.main.area.size.height // 4
        assert band.bottom == rig.app.size.height - 1, "it stands above the keys"
        assert f"{len(rig.app.view.waiting) - band.height} more" in rig.text


async def test_a_line_of_a_stream_that_its_row_cuts_stands_whole_in_it() -> None:
    async with running(world(), size=SIZE) as rig:
        await rig.press("3")
        long = " ".join(f"word{number}" for number in range(80))
        one = Line(seq=49, ts=at(0), level="keep", event=long)
        rig.feed.happen(*posts(("s1", "ci-watch@ci-watcher"), [one]))
        await rig.settle()
        tail = rig.app.main.current_pane.query_one(Tail)
        rows = [tail.render_line(y).text.rstrip() for y in range(tail.size.height)]
        (row,) = [row for row in rows if "word0" in row]
        assert row.endswith("…")
        assert "word79" not in row
        await until_async(lambda: long in text(rig), what=lambda: text(rig))


async def test_the_band_has_the_last_answer_while_nothing_waits() -> None:
    one = replace(command("a1", "npm test", waited=9), state="approved", decided_by="tapui 1")
    async with running(asked(command("a1", "npm test", waited=9)), size=SIZE) as rig:
        rig.feed.happen(ev.ApprovalDecided(approval=one), ts=at(0))
        await rig.settle()
        last = rig.text.splitlines()[-2]
        assert last.startswith(" Nothing waits   ")
        assert "approved by you" in last
        assert "npm test" in last
        rig.app.action_answers()
        await rig.settle()
        assert isinstance(rig.app.screen, AnswersScreen)
        await rig.press("enter")
        assert isinstance(on_top(rig.app), RequestDetail)


@pytest.mark.parametrize("size", [(80, 24), SIZE], ids=str)
async def test_the_band_names_a_session_that_asks_in_its_own_terminal(
    size: tuple[int, int],
) -> None:
    state = asked()
    async with running(state, size=size) as rig:
        assert rig.text.splitlines()[-2].startswith(" Nothing waits")
        asks = replace(state.sessions["s1"], asks_there="Trust this folder?")
        rig.feed.happen(ev.SessionUpdated("s1", session=asks))
        await rig.settle()
        band = rig.text.splitlines()[-2]
        assert "! Fix pairing asks in its own terminal: Trust this folder?" in band
        assert "answers" not in band, "no letter answers it"
        await rig.press("a")
        assert len(rig.app.screen_stack) == 1
        rig.feed.happen(ev.SessionUpdated("s1", session=state.sessions["s1"]))
        await rig.settle()
        assert rig.text.splitlines()[-2].startswith(" Nothing waits")


def test_a_wider_screen_never_has_narrower_lists_or_details() -> None:
    widths = [(lists_width(width), width - lists_width(width)) for width in range(140, 400)]
    assert widths[0] == (60, 80)
    assert (widths[20], widths[60]) == ((74, 86), (84, 116))
    for (lists, detail), (wider, more) in itertools.pairwise(widths):
        assert lists <= wider
        assert detail <= more


async def test_below_a_sheet_stands_what_is_most_urgent() -> None:
    async with running(three(), size=(80, 24)) as rig:
        await rig.press("enter")
        assert isinstance(rig.app.screen, Sheet)
        waits = rig.text.splitlines()[-2]
        assert "echo soon" in waits
        assert "2 more" in waits
        await rig.press("escape")
        assert "echo late" in rig.text.splitlines()[-2], "all of them stand there again"


async def test_a_detail_beside_the_lists_waits_until_it_is_on_the_screen() -> None:
    async with running(world(), size=(160, 40)) as rig:
        area = DetailArea()
        area.follow(rig.app.main.current_pane)
        assert area.detail is None
