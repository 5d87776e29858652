"""Sessions, providers and calls: what each shows, and what its keys send."""

import re

from msgspec import Raw, json
from msgspec.structs import replace
from textual.widgets import Static

from tapui.projection.state import State
from tapui.tower.table.table import Table
from tapui.tower.textual.dialogs import ChooseScreen
from tapui.tower.textual.reader import Reader
from tapui.tower.textual.sheet import ConfirmScreen
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.message import Line
from tapui.wire.tower import (
    CallCancel,
    InjectsResume,
    ProviderDisconnect,
    ProviderMove,
    SessionMode,
)
from tests.tower.running import Running, running
from tests.tower.scripted import approval, at, call, provider, session, world
from tests.tower.told import turns_world


def keys(rig: Running, number: int) -> list[str]:
    return [row.key for row in rig.pane(number).query_one(Table).rows]


SIZES = [(80, 24), (100, 30), (120, 36), (160, 45), (200, 50)]


async def test_the_empty_screen_has_a_row_for_what_can_be_done() -> None:
    looking = subjects.HostLook("copilot", "looking", at(1))
    async with running(State(looks={"copilot": looking}), on_demo=lambda: None) as rig:
        for size in SIZES:
            await rig.resize(size)
            for line in (
                "looking for sessions …",
                "▌+ start Copilot here   (in another terminal: tapui copilot)",
                " d demonstration",
            ):
                assert line in rig.text, size
        rig.feed.happen(ev.HostLooks(replace(looking, state="looked")))
        await rig.settle()
        for size in SIZES:
            await rig.resize(size)
            assert "Nothing is attached" in rig.text, size
            assert "looking for" not in rig.text, size
        rig.feed.may_stop.set()
        await rig.press("d")
        assert rig.app.return_value == "demo"


async def test_an_empty_providers_pane_names_address_and_token() -> None:
    async with running() as rig:
        await rig.press("4")
        assert "ws://localhost:9400" in rig.text
        assert "~/.copilot/extensions/tap/.provider-token" in rig.text


async def test_the_demonstration_does_not_offer_itself_and_names_its_own_token() -> None:
    demo = "/demo/.provider-token"
    async with running(size=(200, 50), is_demo=True, on_demo=lambda: None, token_file=demo) as rig:
        assert "tapui copilot" in rig.text
        assert "d demonstration" not in rig.text
        await rig.press("4")
        assert demo in rig.text
        assert "~/.copilot" not in rig.text


async def test_the_first_start_shows_no_session_and_what_to_do() -> None:
    alone = State(sessions={"local": session("local", "tapui", host="local")})
    async with running(alone, on_demo=lambda: None) as rig:
        for size in SIZES:
            await rig.resize(size)
            assert "no session" in rig.text, size
            assert "○ tapui" not in rig.text, size
            assert "tapui copilot" in rig.text, size
            assert " d demonstration" in rig.text, size


async def test_the_own_session_is_shown_while_a_provider_waits_in_it() -> None:
    waiting = session("local", "tapui", host="local", providers=["p1"])
    async with running(State(sessions={"local": waiting}), size=(115, 36)) as rig:
        assert re.search("○ tapui +1 provider in no Copilot session +idle", rig.text)


async def test_no_hint_of_an_empty_pane_is_cut_off() -> None:
    async with running() as rig:
        for size in ((80, 24), (100, 24), (100, 30), (120, 36), (200, 50)):
            await rig.resize(size)
            for pane in rig.app.panes:
                if not pane.has_class("-empty"):
                    continue
                shown = pane.query_one(".empty", Static)
                wanted = shown.visual.get_height({}, shown.content_size.width)
                assert wanted <= shown.content_size.height, size
                assert len(str(shown.content)) > 20, size


async def test_every_empty_pane_says_what_comes_there() -> None:
    async with running() as rig:
        for number in "2345":
            await rig.press(number)
            lines = [line for line in rig.text.splitlines()[4:] if line.strip("│ ╰╯─")]
            assert len(lines) >= 2, number


async def test_a_name_of_64_characters_is_whole_where_the_row_has_room() -> None:
    label = "n" * 60 + "-end"
    async with running(State(sessions={"s1": session("s1", label)}), size=(100, 30)) as rig:
        assert label in rig.text
        await rig.resize((80, 24))
        assert "…" in rig.text
        assert "-end" in rig.text, "it is cut in the middle"


async def test_the_built_in_session_alone_says_what_to_do_next() -> None:
    alone = State(sessions={"local": session("local", "local", host="local")})
    async with running(alone) as rig:
        for command in ("tapui copilot", "tapui demo"):
            assert command in rig.text
        rig.feed.happen(ev.SessionOpened(session_id="s1", session=session("s1", "Fix the build")))
        await rig.settle()
        assert "tapui copilot" not in rig.text


async def test_a_mode_is_set_by_key() -> None:
    async with running(world()) as rig:
        await rig.press("full_stop", "m")
        assert isinstance(rig.app.screen, ChooseScreen)
        await rig.press("down", "enter")
        assert rig.feed.sent == [SessionMode(session_id="s1", mode="plan")]


async def test_a_pane_that_was_empty_has_the_keys_once_it_is_filled() -> None:
    async with running() as rig:
        rig.feed.happen(ev.SessionOpened(session_id="s1", session=session("s1", "first")))
        await rig.settle()
        await rig.press("full_stop", "m")
        assert isinstance(rig.app.screen, ChooseScreen)


async def test_the_mode_in_force_is_selected_and_not_sent_again() -> None:
    async with running(world()) as rig:
        await rig.press("down", "full_stop", "m", "enter")
        assert rig.feed.sent == []


async def test_an_ended_session_is_shown_for_a_minute() -> None:
    async with running(world()) as rig:
        ended = replace(
            world().sessions["s1"], state="ended", ended_at=at(), reason="the CLI went away"
        )
        rig.feed.happen(ev.SessionClosed(session_id="s1", session=ended))
        await rig.settle()
        assert "ended" in rig.text
        await rig.turn(59)
        assert "s1" in keys(rig, 1)
        await rig.turn(2)
        assert "s1" not in keys(rig, 1)


async def test_an_unattached_session_shows_its_literal_command() -> None:
    async with running(world()) as rig:
        await rig.press("end")
        assert "copilot --ui-server --resume 7f3c9a52" in rig.text
        await rig.press("full_stop", "enter")
        assert rig.feed.sent == []
        assert len(rig.app.screen_stack) == 1


async def test_a_session_shows_what_happened_in_it() -> None:
    async with running(world(), size=(100, 40)) as rig:
        data = Raw(b'{"content":"make it green"}')
        rig.feed.happen(ev.SessionHappened(session_id="s1", event="user.message", data=data))
        await rig.press("enter")
        shown = rig.app.screen.query_one(Reader).text
        assert "user.message" in shown
        assert "make it green" in shown


async def test_context_use_is_shown() -> None:
    async with running(world()) as rig:
        assert "94%" in rig.text  # of what fits before it is compacted


async def test_a_provider_is_moved_to_a_chosen_session() -> None:
    async with running(world()) as rig:
        await rig.press("4", "full_stop", "m", "down", "enter")
        assert rig.feed.sent == [ProviderMove(provider_id="p1", session_id="s2")]


async def test_a_provider_is_disconnected_after_a_question() -> None:
    async with running(world()) as rig:
        await rig.press("4", "x")
        assert isinstance(rig.app.screen, ConfirmScreen)
        assert "1 running call will fail." in rig.text
        await rig.press("n")
        assert rig.feed.sent == []
        await rig.press("x", "y")
        assert rig.feed.sent == [ProviderDisconnect(provider_id="p1")]


async def test_the_tower_says_which_process_was_refused_and_nothing_of_others() -> None:
    asker = subjects.Asker(4711, "tapui", [subjects.Program(4020, "zsh")], "/dev/pts/3")
    taken = ev.CommandAsked(command="tapui approve", wanted="approval.decide", asker=asker)
    why = "process 4711 has no terminal"
    async with running(world()) as rig:
        rig.feed.happen(taken, replace(taken, refused=why))
        await rig.settle()
        assert rig.notices == [
            f"tapui approve refused: {why} (tapui 4711 < zsh 4020)",
        ]


async def test_held_injects_are_shown_and_resumed() -> None:
    async with running(world()) as rig:
        await rig.press("4", "full_stop", "r", "escape")
        assert rig.feed.sent == []
        paused = replace(world().providers["p1"], held=2, paused=["s1"])
        rig.feed.happen(
            ev.InjectPaused(session_id="s1", provider_id="p1", provider="ci-watcher"),
            ev.ProviderUpdated(provider=paused, session_id="s1"),
        )
        await rig.settle()
        assert "‖ ci-watcher" in rig.text
        assert any("further messages are held" in one for one in rig.notices)
        await rig.press("full_stop", "r")
        assert rig.feed.sent == [InjectsResume(provider_id="p1", session_id="s1")]
        rig.feed.happen(
            ev.InjectResumed(session_id="s1", provider_id="p1", provider="ci-watcher"),
            ev.ProviderUpdated(provider=world().providers["p1"], session_id="s1"),
        )
        await rig.settle()
        assert "‖ ci-watcher" not in rig.text


async def test_what_a_provider_wants_is_told_with_it_and_with_its_session() -> None:
    async with running(world()) as rig:
        wanting = replace(
            world().providers["p1"],
            instance="tab-a",
            context="CI fails on main",
            sections={"tone": "append"},
            rules=3,
            revision=7,
            held=2,
            paused=["s1"],
        )
        rig.feed.happen(ev.ProviderUpdated(provider=wanting, session_id="s1"))
        await rig.press("4", "enter")
        for told in (
            "instance   tab-a",
            "revision   7",
            "for agent  2 waiting, held in",
            "rules      3 before tools",
            "tone (append)",
            "CI fails on main",
        ):
            assert told in rig.app.screen.query_one(Reader).text, told
        await rig.press("escape", "1", "enter")
        told = rig.app.screen.query_one(Reader).text
        assert "context in force" in told
        assert "CI fails on main" in told
        assert "tone: append by ci-watcher/tab-a" in told


async def test_a_provider_that_went_is_shown_for_a_minute() -> None:
    async with running(world()) as rig:
        await rig.press("4")
        gone = replace(world().providers["p3"], state="disconnected", reason="goodbye")
        rig.feed.happen(ev.ProviderDisconnected(provider=gone))
        await rig.settle()
        assert "· jira" in rig.text
        await rig.turn(61)
        assert "· jira" not in rig.text


async def test_a_provider_shows_what_it_was_refused() -> None:
    async with running(world()) as rig:
        rig.feed.happen(
            ev.ErrorSent(code="RATE_LIMITED", message="ten a second", provider_id="p1"),
            ev.ErrorSent(code="INVALID_JSON", message="of another", provider_id="p2"),
        )
        await rig.press("4", "enter")
        shown = rig.app.screen.query_one(Reader).text
        assert "RATE_LIMITED  ten a second" in shown
        assert "of another" not in shown
        assert "rerun_job" in shown


async def test_what_a_provider_says_of_itself_is_in_its_sheet() -> None:
    async with running(world()) as rig:
        await rig.press("4", "enter")

        def shown() -> str:
            return rig.app.screen.query_one(Reader).text

        assert "status " not in shown()
        for number, level, text in ((1, "surface", "no token"), (2, "keep", "3 runs watched")):
            line = Line(number, at(number), level, text)  # type: ignore[arg-type]
            rig.feed.happen(ev.StreamPosted("s1", "status@ci-watcher", line))
            await rig.settle()
            words = f"wrong: {text}" if level == "surface" else text
            assert f"status     {words}" in shown()
        rig.feed.happen(ev.StreamPosted("s1", "status@other", Line(1, at(3), "surface", "gone")))
        await rig.settle()
        assert "gone" not in shown()


async def test_calls_in_flight_are_above_ended_ones() -> None:
    async with running(world()) as rig:
        await rig.press("5")
        assert keys(rig, 5)[:5] == ["c1", "c2", "c3", "", "d1"]
        assert len([key for key in keys(rig, 5) if key]) == 20


async def test_elapsed_time_counts_against_the_timeout() -> None:
    async with running(world()) as rig:
        await rig.press("5")
        assert "42s / 2m" in rig.text
        await rig.turn(10)
        assert "52s / 2m" in rig.text


async def test_progress_is_shown_and_the_end_moves_a_call_down() -> None:
    async with running(world()) as rig:
        await rig.press("5")
        running_call = replace(world().calls["c1"], args=None, progress="80 %")
        rig.feed.happen(ev.CallProgress(session_id="s1", call=running_call))
        await rig.settle()
        assert "80 %" in rig.text
        done = replace(running_call, state="done", duration=43_000.0)
        rig.feed.happen(ev.CallFinished(session_id="s1", call=done))
        await rig.settle()
        assert keys(rig, 5)[:4] == ["c1", "c2", "c3", ""], "the cursor is on it: it stays there"
        await rig.press("down")
        await rig.turn(1)
        assert keys(rig, 5)[2:4] == ["", "c1"]


async def test_a_call_is_cancelled_after_a_question_that_names_it() -> None:
    async with running(world()) as rig:
        for keys_to_ask in (["5", "x"], ["enter", "x"]):
            await rig.press(*keys_to_ask)
            assert isinstance(rig.app.screen, ConfirmScreen)
            for part in ("Cancel wait_for_build?", "run by ci-watcher", "running for 42s"):
                assert part in rig.text
            await rig.press("n")
            assert rig.feed.sent == []
        await rig.press("x", "y")
        assert rig.feed.sent == [CallCancel(id="c1")]


async def test_the_call_under_the_cursor_is_cancelled_whatever_comes_meanwhile() -> None:
    async with running(world()) as rig:
        await rig.press("5")
        calls = world().calls
        ended = [replace(one, state="done", duration=1.0) for one in calls.values()]
        rig.feed.happen(
            ev.CallStarted(session_id="s1", call=call("n1", "another")),
            ev.CallFinished(session_id="s1", call=ended[1]),
        )
        await rig.settle()
        await rig.press("x")
        assert "Cancel wait_for_build?" in rig.text
        rig.feed.happen(
            *(ev.CallFinished(session_id="s1", call=one) for one in (ended[0], ended[2]))
        )
        await rig.settle()
        await rig.press("y")
        assert rig.feed.sent == []
        assert "wait_for_build has ended already." in rig.notices


async def test_a_mode_switch_that_waits_for_a_call_is_told_before_it_is_cancelled() -> None:
    asks = call("t1", "tap_set_mode", provider="tap", provider_id=None, session_id="s1")
    waits = approval("a1", "mode", {"from": "plan", "to": "autopilot"}, session_id="s1")
    state = State(sessions={"s1": session("s1", "a")}, calls={"t1": asks}, approvals={"a1": waits})
    async with running(state) as rig:
        await rig.press("5", "x")
        assert "Cancel tap_set_mode?" in rig.text
        assert "A mode switch that this call asked for is withdrawn." in rig.text


async def test_what_cannot_be_cancelled_is_not() -> None:
    async with running(world()) as rig:
        await rig.press("5", "down", "down", "x", "end", "x")
        assert rig.feed.sent == [], "a tool of the session's own, and a call that ended"


async def test_a_call_shows_arguments_and_result_whole() -> None:
    long = {"text": "word " * 3000 + "THE END", "n": [1, {"deep": True}]}
    async with running(world(), size=(100, 40)) as rig:
        raw = Raw(json.encode(long))
        started = call("big", "report", args=raw)
        done = replace(started, args=None, state="done", data=raw, duration=5.0)
        rig.feed.happen(
            ev.CallStarted(session_id="s1", call=started),
            ev.CallFinished(session_id="s1", call=done),
        )
        await rig.settle()
        await rig.press("5")
        rig.pane(5).query_one(Table).select("big")
        await rig.press("enter")
        shown = rig.app.screen.query_one(Reader).text.replace("\n│ ", "")
        assert shown.count("THE END") == 2
        assert shown.count("deep: true") == 2


async def test_a_failed_call_shows_its_error() -> None:
    async with running(world()) as rig:
        await rig.press("5")
        rig.pane(5).query_one(Table).select("d2")
        await rig.press("enter")
        shown = rig.app.screen.query_one(Reader).text
        assert "error CONFLICT" in shown
        assert "job 77 is not finished" in shown


async def test_a_call_that_ends_under_the_cursor_leaves_no_heading_without_rows() -> None:
    state = world()
    state.recent_calls.clear()
    state.calls.clear()
    for id_ in ("c1", "c2"):
        state.calls[id_] = call(id_, f"tool_{id_}")
    async with running(state) as rig:
        await rig.press("5", "down")
        table = rig.pane(5).query_one(Table)
        assert table.selected == "c2"
        assert "recent" not in rig.text
        done = replace(state.calls["c2"], state="done", duration=44.0)
        rig.feed.happen(ev.CallFinished(session_id="s1", call=done))
        await rig.settle()
        assert [row.key for row in table.rows] == ["c1", "c2"], "it stays on its line"
        assert "recent" not in rig.text
        await rig.press("up")
        await rig.turn(1)
        assert [row.key for row in table.rows] == ["c1", "", "c2"]
        assert "recent" in rig.text


async def test_a_shell_that_exits_non_zero_failed_and_the_one_of_grep_is_an_answer() -> None:
    state = world()
    state.recent_calls.clear()
    for id_, command in (("f1", "pytest -x"), ("f2", "grep -r sleep tests")):
        state.recent_calls[id_] = call(
            id_,
            "bash",
            provider="copilot",
            provider_id=None,
            state="done",
            exit_code=1,
            args=Raw(json.encode({"command": command})),
        )
    async with running(state) as rig:
        await rig.press("5")
        assert rig.text.count("✗ exit 1") == 1
        assert rig.text.count("✓ exit 1") == 1
        await rig.press("e")
        assert rig.pane(5).query_one(Table).selected == "f1"


async def test_header_and_what_is_most_urgent_stay_in_sight_over_a_sheet() -> None:
    async with running(world()) as rig:
        header, *_, waits, _least, _keys = rig.text.splitlines()
        assert "1m 29s left" in waits
        await rig.press("5", "enter")
        assert len(rig.app.screen_stack) == 2
        assert rig.text.splitlines()[0] == header
        last = rig.text.splitlines()[-2]
        assert "1 more" in last, "the other one is out of sight"
        assert last.replace("1 more", "a answers").split() == waits.split()


async def test_a_call_on_screen_follows_what_happens() -> None:
    async with running(world()) as rig:
        await rig.press("5", "enter")
        done = replace(world().calls["c1"], state="done", duration=44.0, data=Raw(b'"green"'))
        rig.feed.happen(ev.CallFinished(session_id="s1", call=done))
        await rig.settle()
        assert "result\n│ green" in rig.app.screen.query_one(Reader).text
        assert re.search("✓ wait_for_build .* done, 44ms", rig.text)


async def test_own_tools_of_a_session_carry_its_hosts_name() -> None:
    async with running(world(), size=(200, 50)) as rig:
        await rig.press("5", "z")
        line = next(line for line in rig.text.splitlines() if "bash" in line)
        assert "copilot" in line


async def test_an_all_provider_is_in_all_sessions() -> None:
    everywhere = provider("p1", "clock", session_id="all")
    async with running(State(providers={"p1": everywhere})) as rig:
        await rig.press("4")
        assert "all sessions" in rig.text


async def test_a_call_that_waits_for_a_gate_is_on_top_until_it_is_decided() -> None:
    async with running(world()) as rig:
        await rig.press("5", "down")
        gate = subjects.Gate(
            id="g1",
            session_id="s1",
            tool="deploy",
            state="waiting",
            providers=["guard"],
            started_at=at(2),
        )
        rig.feed.happen(ev.GateChecked(session_id="s1", gate=gate))
        await rig.settle()
        assert keys(rig, 5)[0] == "gate g1"
        assert rig.pane(5).query_one(Table).selected == "c2", "the cursor stays on its row"
        await rig.press("g")
        assert "? gate" in rig.text
        assert "asks guard" in rig.text
        await rig.press("enter")
        assert len(rig.app.screen_stack) == 1
        rig.feed.happen(ev.GateChecked(session_id="s1", gate=replace(gate, state="deny")))
        await rig.settle()
        assert "gate g1" not in keys(rig, 5)


async def test_a_session_whose_program_answers_nothing_says_so() -> None:
    state = State()
    state.sessions["s1"] = session("s1", "Fix pairing", state="busy", silent=True)
    state.sessions["s2"] = session("s2", "Release", state="busy")
    async with running(state, size=(115, 36)) as rig:
        (row,) = [line for line in rig.text.splitlines() if "Fix pairing " in line][:1]
        assert "no answer" in row
        assert "its program is stopped, or hangs" in row
        assert keys(rig, 1)[0] == "s1"


async def test_a_path_in_the_session_s_folder_is_shown_without_it_and_whole_where_it_is_asked() -> (
    None
):
    async with running(State(sessions={"s1": session("s1", "a")}), size=(200, 50)) as rig:
        path = "/code/s1/c.py"
        rig.feed.happen(
            ev.SessionHappened("s1", "user.message", Raw(b'{"content":"go"}')),
            ev.CallStarted("s1", call("c1", "edit", args=Raw(json.encode({"path": path})))),
        )
        await rig.settle()
        assert rig.text.count("c.py") == 2  # turns, calls
        detail = {"kind": "write", "fileName": path, "diff": "+x"}
        asked = approval("a1", "permission", detail, session_id="s1")
        rig.feed.happen(ev.ApprovalRequested(asked, "s1"))
        await rig.settle()
        assert path not in rig.lists
        assert "write" in rig.text.splitlines()[-2]
        assert path not in rig.text.splitlines()[-2]
        await rig.press("a")
        assert path in rig.text


async def test_what_a_row_offers_is_known_without_making_it() -> None:
    state = turns_world()
    state.sessions["gone"] = session("gone", "Gone", state="ended", ended_at=at(5))
    async with running(state, size=(200, 50)) as rig:
        for number in "1245":
            await rig.press(number, "home")
            pane = rig.pane(number)
            offered = set()
            for _ in pane.query_one(Table).rows:
                assert pane.has_actions == bool(pane.row_actions()), number
                offered.add(pane.has_actions)
                await rig.press("down")
            assert True in offered, number


async def test_a_detail_follows_where_the_cursor_or_what_it_shows_has_changed() -> None:
    async with running(turns_world(), size=(200, 50)) as rig:
        await rig.press("1", "home")
        area = rig.app.main.detail_area
        for step in ("down", "up"):
            before = area.detail.key if area.detail is not None else ""
            await rig.press(step)
            assert area.detail is not None
            assert area.detail.key != before
            assert area.detail.key == rig.app.view.chosen_session
        shown = area.detail
        rig.feed.happen(ev.StreamPosted("s1", "ci@ci", Line(1, at(1), "keep", "a line")))
        await rig.settle()
        assert area.detail is shown
