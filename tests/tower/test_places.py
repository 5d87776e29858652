"""Where lists that grow are: following, paused, or away from what is newer; what is above them."""

from msgspec.structs import replace

from tapui.projection.state import State
from tapui.tower.table.pane import ListPlace
from tapui.tower.table.table import Table
from tapui.tower.turns.turns_pane import TurnsPane
from tapui.wire import events as ev
from tapui.wire.subjects import ContextUse
from tests.tower.emitters_world import ran, watched
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import approval, at, call, crowd, session, world
from tests.tower.told import turns_world


def frame(rig: Running, key: int) -> str:
    return str(rig.pane(key).border_title)


def selected(rig: Running) -> str:
    return str(rig.pane(2).query_one(Table).selected)


def called(number: int, **fields: object) -> tuple[ev.CallStarted, ev.CallFinished]:
    made = replace(call(f"n{number}", f"tool-{number}"), session_id="s1")
    ended = replace(made, **({"state": "done", "args": None} | fields))  # type: ignore[arg-type]
    return ev.CallStarted("s1", made), ev.CallFinished("s1", ended)


def test_the_words() -> None:
    said = [
        ListPlace(is_following=True),
        ListPlace(is_paused=True, newer=34),
        ListPlace(is_paused=True, is_following=True, newer=1_200, is_part=True),
        ListPlace(newer=2),
        ListPlace(newer=2, is_above=False),
        ListPlace(),
    ]
    assert [place.note.text for place in said] == [
        "● following",
        "‖ paused, 34 newer",
        "‖ paused, up to 1,200 newer",
        "↑ 2 newer",
        "↓ 2 newer",
        "○ not following",
    ]


async def test_turns_follow_and_say_what_began_since() -> None:
    async with running(turns_world(), size=(120, 36)) as rig:
        await rig.press("2")
        assert "● following" in frame(rig, 2)
        await rig.press("end")
        assert "○ not following" in frame(rig, 2), "nothing is newer"
        rig.feed.happen(*called(1), *called(2))
        await rig.settle()
        assert "‖ paused, 2 newer" in frame(rig, 2)
        await rig.press("up")
        rig.feed.happen(*called(3))
        await rig.settle()
        assert "‖ paused, 3 newer" in frame(rig, 2)
        await rig.press("g")
        assert "● following" in frame(rig, 2)
        assert "tool-3" in str(rig.pane(2).query_one(Table).row_text(selected(rig)))
        rig.feed.happen(*called(4))
        await rig.settle()
        assert "● following" in frame(rig, 2)


async def test_where_find_has_led_turns_say_what_is_newer() -> None:
    async with running(turns_world(), size=(120, 36)) as rig:
        pane = rig.pane(2)
        assert isinstance(pane, TurnsPane)
        pane.go_to("s1", pane.shown_keys()[-1])
        await rig.press("1")
        rig.feed.happen(*called(1))
        await rig.settle()
        assert "‖ paused, 1 newer" in frame(rig, 2)
        await rig.press("2", "g")
        assert "● following" in frame(rig, 2)


async def test_a_failed_step_above_the_window_is_named_and_gone_to() -> None:
    state = turns_world()
    state.approvals.clear()
    async with running(state, size=(80, 24)) as rig:
        await rig.press("2")
        table = rig.pane(2).query_one(Table)
        failed = next(row for row in table.rows if row.calls_out == ("✗ pytest", "error"))
        assert "↑ ✗ pytest" not in frame(rig, 2), "it is in sight"
        for number in range(20):
            rig.feed.happen(*called(number))
        await rig.settle()
        assert "● following" in frame(rig, 2)
        assert "↑ ✗ pytest" in frame(rig, 2)
        await rig.pane(2).run_action("go_above")
        await rig.settle()
        assert table.selected == failed.key
        assert "↑ ✗ pytest" not in frame(rig, 2)


async def test_what_asks_goes_before_what_failed() -> None:
    async with running(turns_world(), size=(80, 16)) as rig:
        await rig.press("2")
        for number in range(20):
            rig.feed.happen(*called(number))
        await rig.settle()
        assert "↑ ! bash" in frame(rig, 2)


async def test_calls_say_how_many_are_newer_than_what_is_shown() -> None:
    async with running(world(), size=(80, 24)) as rig:
        await rig.press("5")
        assert "● following" in frame(rig, 5)
        for number in range(40):
            rig.feed.happen(*called(number, state="failed", error="broken"))
        await rig.settle()
        await rig.press("end")
        table = rig.pane(5).query_one(Table)
        first = table.in_sight[0]
        above = sum(not row.is_heading for row in table.rows[:first])
        assert above > 20
        assert f"↑ {above} newer" in frame(rig, 5)
        assert "↑ ✗ tool-" in frame(rig, 5)
        await rig.press("home")
        assert "● following" in frame(rig, 5)


async def test_sessions_say_what_stands_above_the_window() -> None:
    state = State()
    for number in range(30):
        state.sessions[f"s{number}"] = session(f"s{number}", f"Session {number:02}")
    state.approvals["a1"] = approval("a1", "permission", {"kind": "shell"}, session_id="s7")
    async with running(state, size=(80, 24)) as rig:
        await rig.press("1")
        assert "newer" not in frame(rig, 1)
        assert "more" not in frame(rig, 1)
        await rig.press("end")
        assert f"↑ {rig.pane(1).query_one(Table).in_sight[0]} more" in frame(rig, 1)
        assert "↑ ! Session 07" in frame(rig, 1)


async def test_the_runs_of_an_emitter_say_which_came_since() -> None:
    async with running(watched(), size=(80, 16)) as rig:
        rig.feed.happen(ran("deploy-log", 1))
        await rig.press("6")
        rig.pane(6).query_one(Table).select("e3")
        await rig.press("enter")
        detail = on_top(rig.app)
        assert "● following" in str(detail.border_title)
        await rig.press("down")
        rig.feed.happen(ran("deploy-log", 2), ran("deploy-log", 3))
        await rig.settle()
        assert "↑ 2 newer" in str(detail.border_title)
        await rig.press("up")
        await rig.turn(1)
        assert "● following" in str(detail.border_title)


async def test_sessions_that_all_have_room_are_all_in_sight() -> None:
    state = State()
    for number in range(12):
        state.sessions[f"s{number}"] = session(f"s{number}", f"Session {number:02}")
    async with running(state, size=(80, 24)) as rig:
        await rig.press("1", "end")
        table = rig.pane(1).query_one(Table)
        assert table.in_sight[0] > 0
        for number in range(1, 9):
            ended = replace(state.sessions[f"s{number}"], state="ended", ended_at=at())
            rig.feed.happen(ev.SessionClosed(ended.id, ended))
        await rig.turn(61)
        asks = approval("a1", "permission", {"kind": "shell"}, session_id="s0")
        rig.feed.happen(ev.ApprovalRequested(asks, "s0"))
        await rig.turn(1)
        assert len(table.rows) == 4
        assert table.in_sight == (0, 4)
        assert "Session 00" in rig.text
        assert table.selected == "s11"


async def test_sorting_hides_no_session_that_has_room() -> None:
    state = State()
    for number, used in enumerate((100_000, 20_000, 50_000)):
        use = ContextUse(used, 128_000)
        state.sessions[f"s{number}"] = session(f"s{number}", f"Session {number}", context=use)
    async with running(state, size=(120, 36)) as rig:
        await rig.press("1", "s", "s")
        table = rig.pane(1).query_one(Table)
        assert [row.key for row in table.rows] == ["s1", "s2", "s0"]
        assert table.in_sight == (0, 3)


async def test_a_filter_that_is_given_up_leaves_the_cursor_where_it_was() -> None:
    async with running(turns_world(), size=(120, 36)) as rig:
        await rig.press("2", "up", "up")
        before = selected(rig)
        for last in ("escape", "enter"):
            await rig.press("slash", *"nowhere")
            assert not rig.pane(2).query_one(Table).rows
            await rig.press(*["backspace"] * 7 if last == "enter" else (), last)
            assert selected(rig) == before
        await rig.press("slash", *"grep", "enter", "escape")
        assert selected(rig) != before, "what was found"


async def test_what_is_typed_as_a_filter_is_seen_above_what_waits() -> None:
    async with running(crowd(), size=(80, 24)) as rig:
        for pane in ("1", "3"):
            await rig.press(pane, "slash", *"nowhere")
            assert "nowhere" in rig.text
            await rig.press("escape")
