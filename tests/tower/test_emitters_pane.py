"""The Emitters pane: what stands in it, what its keys order, where it has a place."""

import pytest
from msgspec.structs import replace

from tapui.projection.state import State
from tapui.tower.emitters.emitter_detail import EmitterDetail
from tapui.tower.emitters.emitters_pane import EXAMPLE
from tapui.tower.requests.request_detail import RequestDetail
from tapui.tower.streams.streams_pane import StreamsPane
from tapui.tower.textual.dialogs import ActionsScreen
from tapui.tower.textual.reader import Reader
from tapui.tower.textual.sheet import ConfirmScreen
from tapui.wire import events as ev
from tapui.wire.emitters import (
    Emitter,
    EmitterCounts,
    EmitterKeep,
    EmitterKept,
    EmitterPause,
    EmitterResume,
    EmitterRun,
    EmitterStart,
    EmitterStop,
    FileProblem,
)
from tapui.wire.tower import Detail, DetailRead, InjectsResume
from tests.tower.emitters_world import (
    asked_by_agent,
    asking,
    emitter,
    emitters,
    quiet,
    ran,
    reviewed,
    watched,
)
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import at, lines, posts

WIDE = (200, 50)


def orders(rig: Running) -> list[object]:
    """Return what was ordered of emitters."""
    found = (EmitterRun, EmitterStart, EmitterPause, EmitterResume, EmitterStop)
    return [one for one in rig.feed.sent if isinstance(one, found)]


def row(rig: Running, name: str) -> str:
    """Return an emitter's row, which is above those of runs."""
    return next(line for line in rig.text.splitlines() if f" {name} " in line[:30])


def world_of(*found: Emitter) -> State:
    state = quiet()
    for one in found:
        state.emitters[one.id] = one
    return state


async def test_what_is_wrong_in_a_file_has_a_row_until_it_is_mended() -> None:
    file, key = "/r/tap.config.json", "emitters[1]"
    wrong = FileProblem(file=file, line=3, key=key, name="pulse", text="no command")
    async with running(quiet(), size=WIDE) as rig:
        rig.feed.happen(ev.FolderProblemsChanged("s1", "/r", [wrong]))
        await rig.press("6", "z")
        shown = row(rig, "pulse")
        assert "✗ pulse" in shown
        assert "wrong" in shown
        assert "/r/tap.config.json:3: emitters[1] “pulse”: no command" in shown
        await rig.press("enter")
        rig.feed.happen(ev.FolderProblemsChanged("s1", "/r"))
        await rig.settle()
        assert "pulse" not in rig.text


async def test_a_row_says_state_schedule_next_and_last_run_and_whose() -> None:
    async with running(watched(), size=WIDE) as rig:
        rig.feed.happen(ran("ci", 12))
        await rig.press("6", "z")
        for name, *parts in (
            ("tests", "● tests", "running", "continuous", "for 10m", "307", "3", "pairing"),
            ("ci", "○ ci", "waiting", "every 5m", "2m 14s", "2m 46s ago, took 3.4s", "58"),
            ("deploy-log", "↻ deploy-log", "retries", "exit 7, 3 times, 25s ago"),
            ("upkeep", "‖ upkeep", "paused", "when idle"),
            ("later", "in 10m", "7m 00s", "agent of Fix the fl"),
            ("lint", "✓ lint", "exited", "1h 01m ago"),
            ("audit", "✗ audit", "failed"),
            ("other", "○ other", "not started"),
        ):
            for part in parts:
                assert part in row(rig, name), (name, part)


async def test_the_countdown_goes_down() -> None:
    async with running(watched()) as rig:
        await rig.press("6")
        await rig.turn(100)
        assert "34s" in row(rig, "ci")


async def test_lines_a_second_are_told_while_they_come() -> None:
    one = emitter("e1", "tests")
    async with running(world_of(one), size=WIDE) as rig:
        await rig.press("6", "z")
        for seconds, count in ((4, 1000), (2, 9000)):
            counts = EmitterCounts(count, dropped=count)
            rig.feed.happen(ev.EmitterCounted("s1", "e1", counts), ts=at(seconds))
        await rig.settle()
        assert "4.0k" in row(rig, "tests")
        await rig.turn(60)
        assert "4.0k" not in row(rig, "tests")


async def test_a_key_orders() -> None:
    names = [one.name for one in emitters()]
    cases = (
        ("i", "ci", EmitterRun(emitter_id="e2")),
        ("i", "upkeep", EmitterRun(emitter_id="e4")),
        ("i", "lint", EmitterStart(emitter_id="e6")),
        ("i", "other", EmitterStart(emitter_id="e8")),
        ("space", "ci", EmitterPause(emitter_id="e2")),
        ("space", "upkeep", EmitterResume(emitter_id="e4")),
    )
    async with running(watched()) as rig:
        for key, name, _order in cases:
            await rig.press("6", "home", *["down"] * names.index(name), key)
        assert orders(rig) == [order for _key, _name, order in cases]


async def test_what_cannot_be_done_is_neither_offered_nor_sent() -> None:
    async with running(watched(), size=(120, 36)) as rig:
        await rig.press("6", "i")  # it runs
        assert not orders(rig)
        assert "run now" not in rig.text.splitlines()[-1]
        assert "Space pause" in rig.text.splitlines()[-1]
        await rig.press(*["down"] * 6, "space", "x")  # it has failed
        assert not orders(rig)
        assert not isinstance(rig.app.screen, ConfirmScreen)


async def test_stopping_asks_and_names_it() -> None:
    async with running(watched()) as rig:
        await rig.press("6", "x")
        assert isinstance(rig.app.screen, ConfirmScreen)
        for part in ("Stop tests?", "npm test -- --watch", "What it runs is ended."):
            assert part in rig.text
        await rig.press("n")
        assert not orders(rig)
        await rig.press("x", "y")
        assert orders(rig) == [EmitterStop(emitter_id="e1")]


async def test_the_menu_has_what_can_be_done() -> None:
    async with running(watched()) as rig:
        await rig.press("6", "down", "full_stop")
        assert isinstance(rig.app.screen, ActionsScreen)
        for part in ("r  run it now", "p  pause it", "x  stop it"):
            assert part in rig.text
        await rig.press("p")
        assert orders(rig) == [EmitterPause(emitter_id="e2")]


async def test_what_an_agent_started_is_kept_in_the_file_on_yes() -> None:
    async with running(watched(), size=(120, 36)) as rig:
        await rig.press("6", *["down"] * 4, "full_stop", "k")
        for part in ("Write later into the folder's file?", "Look at the build again", "in 10m"):
            assert part in rig.text
        assert not rig.feed.sent_of(EmitterKeep)
        await rig.press("y")
        (sent,) = rig.feed.sent_of(EmitterKeep)
        assert (sent.emitter_id, sent.injector) == ("e5", None)
        rig.feed.put(EmitterKept(sent.id, "/code/pairing/tap.config.json", note="It was yours."))
        await rig.settle()
        assert rig.notices == ["Written into /code/pairing/tap.config.json. It was yours."]
        rig.feed.put(EmitterKept(sent.id, error="the file cannot be read"))
        await rig.settle()
        assert rig.notices[-1] == "Not written: the file cannot be read"


async def test_the_injector_is_switched_off_and_on() -> None:
    async with running(watched(), size=(120, 36)) as rig:
        await rig.press("6", "full_stop", "j", "down", "down", "full_stop", "j")
        found = [(one.emitter_id, one.injector) for one in rig.feed.sent_of(EmitterKeep)]
        assert found == [("e1", "disabled"), ("e3", "enabled")]


async def test_lines_that_the_brake_holds_are_sent() -> None:
    braked = emitter("e1", "tests", braked=True, waiting=4)
    async with running(world_of(braked), size=(120, 36)) as rig:
        rig.feed.happen(ev.InjectPaused(session_id="s1", provider_id="e1", provider="tests"))
        await rig.settle()
        assert "Under Emitters" in rig.notices[0]
        await rig.press("6", "enter")
        assert "further lines are held" in rig.text
        await rig.press("escape", "full_stop", "h")
        assert rig.feed.sent_of(InjectsResume) == [InjectsResume("e1", "s1")]


async def test_its_lines_are_shown_in_streams() -> None:
    async with running(watched()) as rig:
        rig.feed.happen(*posts(("s1", "other@x"), lines(3)), *posts(("s1", "ci@tap"), lines(4)))
        await rig.press("3", "6", "down", "y")
        pane = rig.app.main.current_pane
        assert isinstance(pane, StreamsPane)
        assert pane.selected == ("s1", "ci@tap")


async def test_enter_opens_what_waits_for_an_answer_else_the_sheet() -> None:
    async with running(asking("tests")) as rig:
        await rig.press("6", "enter")
        assert isinstance(on_top(rig.app), RequestDetail)
        await rig.press("escape")
        state = replace(rig.app.view.state.emitters["e-tests"], state="stopped", approval_id=None)
        rig.feed.happen(ev.EmitterChanged("s1", state))
        await rig.press("enter")
        assert isinstance(on_top(rig.app), EmitterDetail)


async def test_the_sheet_tells_all_of_it_and_its_runs() -> None:
    async with running(watched(), size=(120, 36)) as rig:
        rig.feed.happen(
            ran("deploy-log", 6),
            ran("deploy-log", 7, status="error", code="EXIT_7", duration=90.0),
        )
        await rig.press("6", "down", "down", "enter")
        for part in (
            "./deploy-log --watch",
            "next run in 1m 36s",
            "exit code 7: curl: (7) connection refused",
            "every 30s",
            "off: what the filter has for the agent is held",
            "7 read: 0 dropped, 7 kept",
            "runs, 2 since this tower watches",
            "exit 7  took 90ms  20 lines, 3 kept, 1 shown to you, 2 sent to the agent",
            "took 3.4s",
        ):
            assert part in rig.text, part
        await rig.press("right")
        assert "Anything new?" in rig.text


async def test_the_sheet_has_the_filter_in_the_words_of_the_request() -> None:
    async with running(watched(), size=(120, 36)) as rig:
        await rig.press("6", "enter")
        assert "│ sent to the agent  fail|error" in rig.text
        assert "│ dropped            ^debug" in rig.text


async def test_the_sheet_says_who_allowed_it() -> None:
    state = asking("tests")
    allowed = replace(state.approvals["a-tests"], state="approved", decided_by="tapui (pid 7)")
    async with running(state, size=(120, 36)) as rig:
        started = replace(state.emitters["e-tests"], state="running", approval_id=None)
        rig.feed.happen(ev.ApprovalDecided(allowed), ev.EmitterChanged("s1", started))
        await rig.press("6", "enter")
        assert "allowed    by you, 2026-11-21" in rig.text


async def test_the_sheet_says_who_allowed_what_an_agent_started() -> None:
    asked = replace(asked_by_agent(), state="approved", decided_by="tapui (pid 7)")
    state = world_of(
        emitter("e1", "watch-build", source="tool"),
        emitter("e2", "another", source="tool"),
        emitter("e3", "watch-build"),
    )
    async with running(state, size=(120, 36)) as rig:
        rig.feed.happen(ev.ApprovalDecided(asked))
        await rig.press("6", "enter")
        assert "from       the session's agent" in rig.text
        assert "allowed    by you" in rig.text
        for _ in range(2):
            await rig.press("right")
            assert "allowed" not in rig.text
        assert "from       the folder's file, line 3" in rig.text


async def test_a_long_command_is_read_whole() -> None:
    long = "echo " + "long " * 2000
    cut = replace(emitter("e1", "tests", command=long[:100]), is_cut=True)
    async with running(world_of(cut), size=(120, 36)) as rig:
        await rig.press("6", "enter")
        assert "The rest of it is being read" in rig.text
        (asked,) = rig.feed.sent
        assert isinstance(asked, DetailRead)
        assert (asked.of, asked.subject) == ("emitter", "e1")
        rig.feed.put(Detail(asked.id, emitter=emitter("e1", "tests", command=long + "end")))
        await rig.settle()
        assert "being read" not in rig.text
        assert rig.app.screen.query_one(Reader).plain_text.startswith(f"{long}end\n")


async def test_without_emitters_the_others_have_the_room() -> None:
    async with running(quiet(), size=WIDE) as rig:
        for size in ((120, 36), (160, 45), WIDE):
            await rig.resize(size)
            assert "emitters" not in [pane.kind.id for pane in rig.app.main.seen_panes()], size
            assert "6 Emit" in rig.text, f"its tab is there: {size}"
        await rig.press("6")
        assert "emitters" in [pane.kind.id for pane in rig.app.main.seen_panes()]
        rig.feed.happen(ev.EmitterChanged("s1", emitter("e1", "tests")))
        await rig.settle()
        assert "● tests" in rig.text


@pytest.mark.parametrize("size", [(80, 24), WIDE], ids=str)
async def test_the_first_steps_say_what_an_emitter_is_and_show_one(size: tuple[int, int]) -> None:
    async with running(quiet(), size=size) as rig:
        await rig.press("6", *(["z"] if size[0] > 80 else []))
        for part in ("One is a command or prompt", "tap.config.json", *EXAMPLE, "emitters"):
            assert part in rig.text


async def test_two_hundred_emitters_are_gone_through() -> None:
    state = quiet()
    for number in range(200):
        one = emitter(f"e{number}", f"emitter-{number}")
        state.emitters[one.id] = one
    async with running(state, size=WIDE) as rig:
        await rig.press("6", "z", "G")
        assert "emitter-199" in rig.text
        await rig.press("slash", "r", "minus", *"17", "enter", "g")
        assert "emitter-170" in rig.text
        assert "emitter-18" not in rig.text


async def test_the_sheet_has_its_reviews_and_the_lines_that_none_has() -> None:
    async with running(reviewed(), size=(120, 50)) as rig:
        await rig.press("6", "down", "down", "enter")
        text = rig.text
        parts = (
            "reviews, 2",
            "escalate  lines 6-7 (2)  1 kept, 1 surfaced  2 findings, 1 open",
            "two deployments failed with 502 — the gateway is down for an hour",
            "P1  eval of what the page sends  src/deploy.py:12-14  holds  open, accepted proposed",
            "the name says little  opinion  rejected",
            "unreviewed 2 lines",
            "ignore    lines 1-3 (3)  4 dropped, 3 kept",
        )
        places = [text.find(part) for part in parts]
        assert -1 not in places, parts[places.index(-1)]
        assert places == sorted(places)  # the newest first, the gap between both
