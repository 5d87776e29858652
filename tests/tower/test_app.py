"""The app by its keys: panes, layouts, notices, the header, the end."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.cells import cell_len
from textual.events import AppBlur, AppFocus
from textual.worker import WorkerFailed

from tapui.projection.feed import Link
from tapui.projection.state import State
from tapui.tower.app.app import TowerApp
from tapui.tower.app.exit import LeavingScreen
from tapui.tower.app.help import HelpScreen
from tapui.tower.app.palette import commands
from tapui.tower.app.registry import PANES
from tapui.tower.app.view import View
from tapui.tower.requests.request_detail import RequestDetail
from tapui.tower.sessions.sessions_pane import SessionsPane
from tapui.tower.table.pane import Pane
from tapui.tower.table.table import Table
from tapui.tower.textual.reader import Reader
from tapui.tower.textual.sheet import ConfirmScreen
from tapui.wire import events as ev
from tapui.wire.message import Error
from tapui.wire.tower import Notice, ProviderMove, TowersChanged
from tests.rig.waiting import HUNG
from tests.tower.emitters_world import emitters
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import ScriptedFeed, approval, at, call, provider, session, world
from tests.tower.told import turns_world


def seen(rig: Running) -> list[str]:
    main = rig.app.main
    return [pane.kind.title for pane in main.seen_panes() if pane is not main.band]


async def test_a_number_goes_to_its_pane() -> None:
    state = turns_world()
    state.emitters["e1"] = emitters()[0]
    async with running(state) as rig:
        titles = ("Sessions", "Turns", "Streams", "Providers", "Calls", "Emitters")
        for number, title in enumerate(titles, 1):
            await rig.press(str(number))
            assert seen(rig) == [title]
            focused = rig.app.focused
            assert focused is not None, title
            assert rig.app.main.current_pane in focused.ancestors, title


async def test_tab_goes_round_all_panes_and_back() -> None:
    async with running(world()) as rig:
        visited = []
        for _ in PANES:
            visited += seen(rig)
            await rig.press("tab")
        assert visited == [kind.title for kind in PANES]
        assert rig.app.main.current is rig.app.main.band
        await rig.press("tab")
        assert seen(rig) == ["Sessions"]
        await rig.press("shift+tab", "shift+tab")
        assert seen(rig) == [PANES[-1].title]


async def test_wider_terminals_show_more_panes() -> None:
    two, four = ["Sessions", "Turns"], ["Sessions", "Turns", "Streams", "Calls"]
    async with running(world()) as rig:
        for size, expected in (
            ((80, 24), two[:1]),
            ((99, 30), two[:1]),
            ((20, 5), two[:1]),
            ((100, 30), two),
            ((120, 36), four),
            ((160, 45), four),
            ((200, 50), four),
        ):
            await rig.resize(size)
            assert seen(rig) == expected, size


async def test_the_line_of_tabs_is_there_as_soon_as_the_terminal_is_narrow_enough() -> None:
    async with running(world(), size=(200, 50)) as rig:
        assert "2 Turns" not in rig.text.splitlines()[1]
        await rig.resize((120, 36))
        for kind in PANES:
            assert f"{kind.key} {kind.title}" in rig.text.splitlines()[1]


async def test_a_place_that_panes_share_shows_the_one_that_was_asked_for() -> None:
    async with running(world(), size=(100, 30)) as rig:
        await rig.press("5")
        assert seen(rig) == ["Sessions", "Calls"]
        await rig.press("1")
        assert seen(rig) == ["Sessions", "Calls"]
        await rig.press("4")
        assert seen(rig) == ["Sessions", "Providers"]


async def test_a_zoomed_pane_has_all_the_room_until_escape() -> None:
    async with running(world(), size=(120, 36)) as rig:
        await rig.press("4", "z")
        assert seen(rig) == ["Providers"]
        assert rig.pane(4).region.width == 120
        await rig.press("escape")
        assert len(seen(rig)) == 4
        await rig.press("z", "z")
        assert len(seen(rig)) == 4


async def test_hidden_panes_are_not_painted_until_they_are_seen() -> None:
    async with running(world()) as rig:
        await rig.press("5")
        calls = rig.pane(5).query_one(Table)
        await rig.press("1")
        rig.feed.happen(ev.CallStarted(session_id="s1", call=call("n1", "new_call")))
        await rig.settle()
        assert "n1" not in [row.key for row in calls.rows]
        await rig.press("5")
        assert "n1" in [row.key for row in calls.rows]


async def test_a_pane_is_painted_once_for_many_events() -> None:
    async with running(world()) as rig:
        await rig.press("5")
        painted: list[frozenset[str]] = []
        pane = rig.pane(5)
        show = pane.show
        pane.show = lambda view, dirty: (painted.append(dirty), show(view, dirty))  # type: ignore[method-assign,assignment]
        for number in range(500):
            started = ev.CallStarted(session_id="s1", call=call(f"n{number}", "burst"))
            rig.feed.happen(started)
        await rig.settle()
        assert 1 <= len(painted) <= 5
        assert "n499" in rig.app.view.state.calls


async def test_header_says_each_number_once() -> None:
    async with running(world(), size=(120, 36)) as rig:
        header = rig.text.splitlines()[0]
        for part in ("tapui", "3 sessions, 1 busy", "! 2 waiting"):
            assert part in header
        assert "localhost" not in header, "the port is the usual one"
        assert "20:10:00" in header


async def test_header_names_an_unusual_address() -> None:
    feed = ScriptedFeed()
    feed.address = "ws://localhost:43210"
    for size in ((200, 50), (80, 24)):
        async with running(world(), size=size, feed=feed) as rig:
            assert "localhost:43210" in rig.text.splitlines()[0]


def fail(rig: Running, call_id: str = "c1", session_id: str = "s1") -> None:
    failed = replace(world().calls["c1"], id=call_id, session_id=session_id)
    rig.feed.happen(
        ev.CallStarted(session_id=session_id, call=failed),
        ev.CallFinished(
            session_id=session_id, call=replace(failed, state="failed", args=None, error="broken")
        ),
        ts=at(-60),
    )


def header(rig: Running) -> str:
    return rig.text.splitlines()[0]


@pytest.mark.parametrize("size", [(120, 36), (160, 40)])
async def test_a_failure_goes_when_it_stood_in_full_for_a_second(size: tuple[int, int]) -> None:
    async with running(world(), size=size) as rig:
        fail(rig)
        await rig.settle()
        name = rig.app.view.session_name("s1")
        assert f"✗ 1: {name}" in header(rig)
        sign = "✗ 1" if size[0] < 140 else "✗1"  # beside a detail the cell is smaller
        assert sign in rig.pane(1).query_one(Table).row_text("s1")
        await rig.press("down", "up")
        await rig.turn(60)
        assert f"✗ 1: {name}" in header(rig), "no key and no row took it away"
        await rig.press("e")
        await rig.turn(0.9)
        assert f"✗ 1: {name}" in header(rig)
        await rig.turn(0.2)
        await rig.settle()
        assert "✗" not in header(rig)
        assert "✗" not in rig.pane(1).query_one(Table).row_text("s1")


async def test_a_failure_stays_while_the_terminal_has_not_the_focus() -> None:
    async with running(world(), size=(160, 40)) as rig:
        fail(rig)
        await rig.press("e")
        rig.app.post_message(AppBlur())
        await rig.turn(60)
        assert "✗ 1" in header(rig)
        rig.app.post_message(AppFocus())
        await rig.turn(0)
        assert "✗ 1" in header(rig), "the second begins with the focus"
        await rig.turn(1)
        await rig.settle()
        assert "✗" not in header(rig)


async def test_the_second_begins_when_what_stands_there_fails() -> None:
    async with running(world(), size=(160, 40)) as rig:
        await rig.press("5")
        rig.pane(5).query_one(Table).select("c1")
        await rig.turn(60)
        failed = replace(world().calls["c1"], state="failed", args=None, error="broken")
        rig.feed.happen(ev.CallFinished(session_id="s1", call=failed), ts=at(-60))
        await rig.settle()
        assert "✗ 1" in header(rig)
        await rig.turn(1)
        await rig.settle()
        assert "✗" not in header(rig)


async def test_the_next_failure_takes_away_no_mark_that_it_did_not_show() -> None:
    async with running(world(), size=(160, 40)) as rig:
        fail(rig, "x1", "s1")
        fail(rig, "x2", "s2")
        await rig.settle()
        assert header(rig).count("✗ 1: ") == 2
        await rig.press("e", "e")  # past the newest, at once
        await rig.turn(1)
        await rig.settle()
        assert rig.app.view.unseen_failures == {"s2": 1}
        await rig.press("e")
        await rig.turn(1)
        await rig.settle()
        assert not rig.app.view.unseen_failures


async def test_of_several_sessions_the_one_that_failed_last_is_named() -> None:
    async with running(world(), size=(160, 40)) as rig:
        for call_id, session_id in (("x1", "s1"), ("x2", "local"), ("x3", "s2")):
            fail(rig, call_id, session_id)
        await rig.settle()
        assert "✗ 3: Release notes for 0.4, 2 more" in header(rig)
        await rig.resize((60, 15))
        assert "✗ 3" in header(rig)


async def test_what_failed_and_is_kept_no_longer_is_not_marked_for_ever() -> None:
    async with running(world(), size=(160, 40)) as rig:
        fail(rig)
        await rig.settle()
        rig.app.view.state.recent_calls.clear()
        rig.app.view.state.turns.clear()
        await rig.press("e")
        assert rig.notices == ["What failed is kept here no longer; the records have it."]
        assert "✗" not in header(rig)


async def test_header_and_tabs_fit_80_columns() -> None:
    async with running(world(), size=(80, 24)) as rig:
        lines = rig.text.splitlines()
        for part in ("3 sessions", "1 busy", "! 2 waiting", "20:10:00"):
            assert part in lines[0]
        for kind in PANES:
            assert f"{kind.key} {kind.title}" in lines[1]


async def test_what_the_header_names_can_be_clicked() -> None:
    async with running(world(), size=(120, 36)) as rig:
        at = rig.text.splitlines()[0].index("2 waiting")
        await rig.pilot.click("HeaderLine", offset=(at, 0))
        await rig.settle()
        assert isinstance(on_top(rig.app), RequestDetail)


async def test_second_tower_says_so() -> None:
    async with running(world(), note="second tower (gateway: pid 77)") as rig:
        assert "second tower" in rig.text.splitlines()[0]


async def test_the_note_of_a_tower_follows_the_gateway() -> None:
    async with running(world(), note=lambda view: f"seen by {view.towers}") as rig:
        assert "seen by 1" in rig.text.splitlines()[0]
        rig.feed.put(TowersChanged(towers=2, is_first=False))
        await rig.settle()
        assert "seen by 2" in rig.text.splitlines()[0]


async def test_what_waits_stands_over_every_pane() -> None:
    async with running() as rig:
        for kind in PANES:
            await rig.press(kind.key)
            assert "Nothing waits" in rig.text
        rig.feed.happen(ev.ApprovalRequested(approval=approval("a1", "bindAll", {"name": "clock"})))
        await rig.settle()
        for kind in PANES:
            await rig.press(kind.key)
            assert "clock" in rig.text.splitlines()[-2]


async def test_a_request_rings_once_and_only_where_the_bell_is_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rung: list[str] = []
    monkeypatch.setattr(TowerApp, "bell", lambda self: rung.append(self.note))
    asked = ev.ApprovalRequested(approval=approval("a1", "bindAll", {"name": "x"}))
    for note, bell in (("on", True), ("off", False)):
        async with running(bell=bell, note=note) as rig:
            rig.feed.happen(asked)
            await rig.settle()
            await rig.turn(5)
    assert rung == ["on"]


async def test_a_request_never_takes_the_focus() -> None:
    async with running(world()) as rig:
        await rig.press("3", "slash", "f", "o")
        focused = rig.app.focused
        rig.feed.happen(ev.ApprovalRequested(approval=approval("a9", "mode", {})))
        await rig.settle()
        await rig.press("a", "y")
        assert rig.app.focused is focused
        assert len(rig.app.screen_stack) == 1
        assert getattr(focused, "value", None) == "foay"


async def test_a_move_that_the_person_did_not_make_can_be_undone() -> None:
    async with running(world()) as rig:
        moved = replace(world().providers["p5"], session_id="s1", state="bound")
        rig.feed.happen(
            ev.ProviderMoved(provider=moved, session_id="s1", source="local", reason="first host")
        )
        await rig.settle()
        assert any("lab moved to Fix the flaky pairing test" in one for one in rig.notices)
        await rig.press("u")
        assert rig.feed.sent == [ProviderMove(provider_id="p5", session_id="local")]
        await rig.press("u")
        assert len(rig.feed.sent) == 1, "it is undone once"


async def test_ones_own_move_is_no_news() -> None:
    async with running(world()) as rig:
        rig.app.move("p5", "s2")
        moved = replace(world().providers["p5"], session_id="s2", state="bound")
        rig.feed.happen(
            ev.ProviderMoved(provider=moved, session_id="s2", source="local", reason="keyboard")
        )
        await rig.settle()
        assert rig.notices == []


@pytest.mark.parametrize("what", ["refused", "lost"])
async def test_a_move_of_ones_own_that_did_not_happen_hides_no_later_one(what: str) -> None:
    async with running(world()) as rig:
        rig.app.move("p5", "s1")
        if what == "refused":
            refusal = Error(code="TOOL_CONFLICT", message="taken", reply_to="provider.move")
            rig.feed.put(refusal)
        else:
            rig.feed.put(Link("down", "lost"))
            rig.feed.begin(world())
        await rig.settle()
        moved = replace(world().providers["p5"], session_id="s1", state="bound")
        rig.feed.happen(
            ev.ProviderMoved(provider=moved, session_id="s1", source="local", reason="another")
        )
        await rig.settle()
        assert any("lab moved to Fix the flaky pairing test" in one for one in rig.notices)


async def test_what_the_gateway_says_is_shown() -> None:
    async with running() as rig:
        rig.feed.put(Notice(message="the disk is full [/]", level="error"))
        rig.feed.put(Error(code="TOOL_CONFLICT", message="greet is taken"))
        await rig.settle()
        assert rig.notices == ["the disk is full [/]", "TOOL_CONFLICT: greet is taken"]


async def test_a_lost_gateway_is_said_and_one_can_be_started_here() -> None:
    started: list[bool] = []
    feed = ScriptedFeed(is_embedded=False)
    async with running(world(), feed=feed, on_start_here=lambda: started.append(True)) as rig:
        await rig.press("b")
        assert started == [], "not while the gateway is there"
        rig.feed.put(Link("down", "connection refused"))
        await rig.settle()
        assert "Gateway lost: connection refused" in rig.text
        assert "b starts a gateway here" in rig.text
        await rig.press("b")
        assert started == [True]
        assert rig.app.return_value == "start-here"


async def test_the_banner_goes_when_the_gateway_is_back() -> None:
    feed = ScriptedFeed(is_embedded=False)
    async with running(world(), feed=feed) as rig:
        rig.feed.put(Link("down", "gone"))
        await rig.settle()
        assert "Gateway lost" in rig.text
        rig.feed.begin(world(), run="r2")
        await rig.settle()
        assert "Gateway lost" not in rig.text
        assert "3 sessions" in rig.text


async def test_a_feed_that_ends_is_said() -> None:
    async with running(world()) as rig:
        rig.feed.end()
        await rig.settle()
        assert "The gateway ended" in rig.text


async def test_help_tells_the_keys_of_the_pane() -> None:
    async with running(world(), size=(120, 50)) as rig:
        await rig.press("5", "question_mark")
        assert isinstance(rig.app.screen, HelpScreen)
        assert "Calls (this pane)" in rig.text
        assert "stop what is under the cursor" in rig.text
        assert "Signs on this screen" in rig.text
        (line,) = [line for line in rig.text.splitlines() if line.startswith("│   ⊘")]
        for word in ("cancelled", "denied", "stopped", "timed out"):
            assert word in line
        await rig.press("escape")
        assert len(rig.app.screen_stack) == 1


async def test_help_leads_to_the_pages() -> None:
    async with running(world(), size=(120, 36)) as rig:
        await rig.press("question_mark")
        assert "t topics" in rig.text.splitlines()[-1]
        await rig.press("t")
        assert "installing, the demo, how tapui ends" in rig.text
        await rig.press("down", "enter")
        assert "Help: attaching" in rig.text
        read = rig.app.screen.query_one(Reader).text
        assert "tapui install extension" in read
        assert "```" not in read
        assert "|---" not in read
        await rig.press("escape")
        assert isinstance(rig.app.screen, HelpScreen)


async def test_a_page_fits_its_room() -> None:
    async with running(world(), size=(200, 36)) as rig:
        for width in (200, 60):
            await rig.resize((width, 36))
            await rig.press("question_mark", "t", "enter")
            reader = rig.app.screen.query_one(Reader)
            assert reader.text.count("\n") > 20
            assert max(map(cell_len, reader.text.splitlines())) < width
            await rig.close_all()


async def test_the_palette_has_every_action_that_can_be_done() -> None:
    async with running(world()) as rig:
        await rig.press("4")
        offered = {name for name, _about, _act in commands(rig.app)}
        for kind in rig.app.pane_kinds:
            assert f"Go to {kind.title}" in offered
        assert {
            "Filter this list",
            "Move to another session",
            "Quit",
            "Theme: tapui-light",
        } <= offered
        assert "Undo a provider's last move" not in offered


async def test_the_palette_opens_by_a_colon() -> None:
    async with running(world()) as rig:
        await rig.press("colon")
        assert len(rig.app.screen_stack) == 2
        await rig.press("s", "o", "r", "t", "space", "b", "y")
        async with asyncio.timeout(HUNG):
            while len(rig.app.screen_stack) > 1:
                await rig.press("enter")
        assert "by repository" in rig.text


async def test_the_palette_acts() -> None:
    async with running(world()) as rig:
        await rig.press("ctrl+p")
        await rig.press(*"quit")
        async with asyncio.timeout(HUNG):
            while not isinstance(rig.app.screen, ConfirmScreen):
                await rig.press("enter")
        assert "Quit and end the gateway?" in rig.text


async def test_no_key_clashes_with_tmux() -> None:
    async with running(world(), size=(200, 50)) as rig:
        for pane in rig.app.panes:
            for widget in (rig.app, rig.app.main, *pane.walk_children(with_self=True)):
                keys = widget._bindings.key_to_bindings
                own = [key for key in keys if key == "ctrl+b"]
                inherited = type(widget).__module__.startswith("textual")
                assert not own or inherited or "Input" in type(widget).__name__


async def test_a_chosen_theme_is_remembered() -> None:
    chosen: list[str] = []

    def remember(name: str) -> str | None:
        chosen.append(name)
        return None

    async with running(on_theme=remember) as rig:
        first = rig.app.theme
        rig.app.themes.next()
        assert rig.app.theme != first
        assert chosen == [rig.app.theme]


async def test_a_theme_that_cannot_be_remembered_is_said_and_shown() -> None:
    async with running(on_theme=lambda name: f"config.toml: {name}[/] is not remembered") as rig:
        first = rig.app.theme
        rig.app.themes.next()
        await rig.settle()
        assert rig.app.theme != first
        assert f"config.toml: {rig.app.theme}[/] is not remembered" in rig.notices


async def test_an_unknown_theme_is_said_and_the_default_is_used() -> None:
    async with running(theme="nope[/]") as rig:
        assert rig.app.theme == "tapui-dark"
        assert any("no theme nope[/]" in one for one in rig.notices)


async def test_a_broken_user_theme_is_said_and_the_rest_works(tmp_path: Path) -> None:
    from tapui.tower.themes.theme_files import builtin_folder

    (tmp_path / "mine.toml").write_text("[colors\n")
    async with running(theme_folders=[builtin_folder(), tmp_path]) as rig:
        assert rig.app.theme == "tapui-dark"
        assert any("mine.toml" in one for one in rig.notices)


async def test_a_saved_theme_is_shown_live(tmp_path: Path) -> None:
    from tapui.tower.themes.theme_files import builtin_folder

    def save(background: str) -> None:
        mine = tmp_path / "mine.toml"
        mine.write_text(
            f'[colors]\nbackground = "{background}"\nforeground = "#ffffff"\nprimary = "#00ff00"\n'
        )

    save("#010203")
    folders = [builtin_folder(), tmp_path]
    async with running(world(), theme="mine", theme_folders=folders) as rig:
        assert rig.app.screen.styles.background.hex == "#010203"
        save("#0a0b0c")
        await rig.turn(1)
        assert rig.app.screen.styles.background.hex == "#0A0B0C"
        [segment] = rig.pane(1).query_one(Table).render_line(15)
        assert segment.style is not None
        assert segment.style.bgcolor is not None
        assert segment.style.bgcolor.name == "#0a0b0c"


async def test_no_color_leaves_glyphs_and_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with running(world()) as rig:
        assert rig.app.no_color
        await rig.press("5")
        assert "● running" in rig.text
        assert "⊘ timed out" in rig.text


async def test_an_idle_gateway_is_quit_without_a_question() -> None:
    async with running() as rig:
        rig.feed.may_stop.set()
        await rig.press("q")
        assert rig.feed.stops == [10.0]
        assert rig.app.return_value == "quit"


async def test_quitting_says_what_ends_and_asks() -> None:
    async with running(world(), towers=3) as rig:
        await rig.press("q")
        assert isinstance(rig.app.screen, ConfirmScreen)
        for part in ("5 providers disconnected: ci-watcher", "2 running calls", "2 other towers"):
            assert part in rig.text
        await rig.press("n")
        assert rig.feed.stops == []
        assert len(rig.app.screen_stack) == 1


async def test_the_demonstration_is_quit_without_a_question() -> None:
    async with running(world(), is_demo=True) as rig:
        rig.feed.may_stop.set()
        await rig.press("q")
        assert rig.feed.stops == [10.0]
        assert rig.app.return_value == "quit"


async def test_each_kind_of_loss_is_asked_about() -> None:
    async with running() as rig:
        for state, towers in (
            (State(providers={"p1": provider("p1", "x")}), 1),
            (State(calls={"c1": call("c1", "t")}), 1),
            (State(sessions={"s1": session("s1", "a")}), 2),
        ):
            rig.feed.begin(state, towers=towers)
            await rig.settle()
            await rig.press("q")
            assert isinstance(rig.app.screen, ConfirmScreen), state
            assert rig.feed.stops == [], state
            await rig.press("n")


async def test_headless_sessions_may_go_on_without_the_screen() -> None:
    state = State(sessions={"s1": session("s1", "Nightly", headless=True)})
    async with running(state, can_go_on=True) as rig:
        await rig.press("q")
        assert "1 headless session ended: Nightly" in rig.text
        await rig.type("g", "g")
        assert "does not count" in rig.text
        await rig.press("n")
        await rig.press("q", "g")
        assert rig.app.return_value == "go-on"
        assert rig.feed.stops == []


@pytest.mark.parametrize("headless", [False, True])
async def test_going_on_is_offered_only_where_it_can_be(headless: bool) -> None:
    state = State(sessions={"s1": session("s1", "Nightly", headless=headless)})
    async with running(state, towers=2, can_go_on=not headless) as rig:
        await rig.press("q", "g")
        assert rig.app.return_value is None
        assert isinstance(rig.app.screen, ConfirmScreen)


async def test_shutting_down_counts_down_and_ends_when_the_feed_has() -> None:
    async with running(world()) as rig:
        await rig.press("q", "y")
        assert isinstance(rig.app.screen, LeavingScreen)
        assert "0:10 left" in rig.text
        await rig.turn(4)
        assert "0:06 left" in rig.text
        rig.feed.may_stop.set()
        await rig.settle()
        assert rig.app.return_value == "quit"


async def test_a_second_q_forces() -> None:
    async with running(world()) as rig:
        await rig.press("q", "y", "q")
        assert not rig.feed.may_stop.is_set()
        assert rig.app.return_value == "quit"


async def test_a_second_tower_leaves_without_a_question() -> None:
    feed = ScriptedFeed(is_embedded=False)
    feed.may_stop.set()
    async with running(world(), feed=feed, towers=2) as rig:
        await rig.press("q")
        assert rig.app.return_value == "quit"


async def test_leave_ends_at_once_with_its_reason() -> None:
    async with running(world()) as rig:
        rig.app.leave("SIGTERM")
        await rig.pilot.pause()
        assert rig.app.return_value == "SIGTERM"
        assert rig.feed.stops == []


def break_pane(app: pytest.MonkeyPatch) -> None:
    def broken(self: Pane, _view: object, _dirty: object) -> None:
        token = "ptk-very-" + "secret"
        raise ZeroDivisionError(f"no way {len(token)} \x1b[2J")

    app.setattr(SessionsPane, "show", broken)


def break_feed(app: pytest.MonkeyPatch) -> None:
    def broken(self: View, item: object) -> None:
        token = "ptk-very-" + "secret"
        raise ZeroDivisionError(f"no way {len(token)} \x1b[2J")

    app.setattr(View, "apply", broken)


@pytest.mark.parametrize("fault", [break_pane, break_feed])
async def test_a_crash_is_one_line_that_names_the_log_and_shows_no_values(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    expects_error_log: Callable[[str], None],
    fault: Callable[[pytest.MonkeyPatch], None],
) -> None:
    expects_error_log("the screen failed")
    fault(monkeypatch)
    log = tmp_path / "tapui.log"
    with pytest.raises((ZeroDivisionError, WorkerFailed)):
        async with running(world(), log_file=log):
            pass
    printed = capsys.readouterr().err
    line = rf"tapui: internal error: ZeroDivisionError: no way 15 \x1b[2J (log: {log})"
    assert printed == f"{line}\n"
    (logged,) = [one for one in caplog.records if one.levelname == "ERROR"]
    assert "in broken" in caplog.text
    assert logged.name == "tapui.tower.textual.inside"
    assert "ptk-very-secret" not in printed + caplog.text


async def test_footer_offers_what_can_be_done_each_once() -> None:
    async with running(world()) as rig:
        await rig.press("5")
        assert rig.text.splitlines()[-1].count("stop") == 1
        await rig.press("end")
        assert "stop" not in rig.text.splitlines()[-1]
        await rig.press("1")
        words = rig.text.splitlines()[-1].split("  ")
        assert len([one for one in words if one]) == len({one for one in words if one})


async def test_a_click_in_the_footer_presses_the_key() -> None:
    async with running(world()) as rig:
        at = rig.text.splitlines()[-1].index("? help")
        await rig.pilot.click("FooterLine", offset=(at, 0))
        await rig.settle()
        assert isinstance(rig.app.screen, HelpScreen)


async def test_times_before_the_epoch_and_broken_ones_do_no_harm() -> None:
    odd = session("s1", "odd", opened_at="not a time")
    async with running(State(sessions={"s1": odd})) as rig:
        assert "odd" in rig.text
        rig.feed.happen(
            ev.SessionUpdated(session_id="s1", session=replace(odd, opened_at="0001-01-01T00:00Z"))
        )
        await rig.settle()
        assert "odd" in rig.text
        rig.feed.happen(ev.SessionUpdated(session_id="s1", session=replace(odd, opened_at=at(-99))))
        await rig.settle()
        assert "0s" in rig.text


@pytest.mark.parametrize("steps", [6, 7, 8, 9, 10, 12, 15, 18, 21, 24])
async def test_a_sheet_that_comes_while_the_app_leaves_is_no_fault(steps: int) -> None:
    async with running(turns_world(), size=(80, 24)) as rig:
        rig.app.simulate_key("r")
        for _ in range(steps):
            await asyncio.sleep(0)  # a step of the loop: the sheet is made in about twenty
        rig.app.exit()
