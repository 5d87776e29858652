"""The Goals pane: what stands in it, and what its keys order of a real core."""

from typing import Any

import pytest
from msgspec.structs import replace

from tapui.settings.settings import Proving, Settings
from tapui.tower.goals.goal_detail import CriterionDetail, GoalDetail
from tapui.tower.sessions.session_detail import SessionDetail
from tapui.tower.table.table import Table
from tapui.tower.textual.dialogs import ActionsScreen, AskLineScreen
from tapui.tower.textual.sheet import ConfirmScreen
from tapui.wire import events as ev
from tapui.wire.goals import GoalChange, GoalDrop, GoalNote, GoalOpen, GoalVerify
from tests.core.goals.played import GoalScene
from tests.tower.core_feed import at_core, played_scene
from tests.tower.goals_world import cart, criterion, goal, goals, goals_world
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import at, session

SIZES = [(80, 24), (120, 36), (160, 45), (200, 50)]
ORDERS = (GoalOpen, GoalChange, GoalVerify, GoalNote, GoalDrop)


def ordered(rig: Running) -> list[Any]:
    return [one for one in rig.feed.sent if isinstance(one, ORDERS)]


def row(rig: Running, title: str) -> str:
    return next(line for line in rig.lists.splitlines() if f" {title} " in line)


def keys(rig: Running) -> list[str]:
    return [one.key for one in rig.pane(8).query_one(Table).rows]


@pytest.fixture
def played() -> GoalScene:
    return played_scene()


# What stands in it


@pytest.mark.parametrize("size", SIZES[::2], ids=str)
async def test_a_goal_says_how_it_stands(size: tuple[int, int]) -> None:
    async with running(goals_world(), size=size) as rig:
        await rig.press("8", *(["z"] if size[0] > 80 else []))
        for title, *parts in (
            ("The cart rounds once", "○", "active", "1 of 3 ✓ ○ ✗", "on  1 of 3 ↑38k"),
            ("npm test", "active", "0 of 1 ○", "off"),
            ("All twelve steps", "3 of 12"),
            ("Ship 0.4", "no check"),
            ("ruff check .", "✓", "achieved", "1 of 1 ✓"),
            ("Old plan", "⊘", "dropped"),
        ):
            for part in parts:
                assert part in row(rig, title), (part, row(rig, title))


async def test_an_achieved_one_says_when_and_what_changed_since() -> None:
    async with running(goals_world(), size=(200, 50)) as rig:
        await rig.press("8", "z")
        assert "achieved at 20:00, 3 files changed since" in row(rig, "ruff check .")
        done = replace(goals()[4], changed_since=0)
        rig.feed.happen(ev.GoalUpdated("s1", done))
        await rig.settle()
        assert "achieved at 20:00 " in row(rig, "ruff check .")
        rig.feed.happen(ev.GoalUpdated("s1", replace(done, changed_since=None)))
        await rig.settle()
        assert "what changed since is not known" in row(rig, "ruff check .")


async def test_open_ones_stand_first_then_those_closed_last_then_those_of_ended_sessions() -> None:
    state = goals_world()
    state.sessions["s3"] = session("s3", "Sketches", state="ended", ended_at=at(400))
    state.goals["g7"] = goal("g7", "never finished", session_id="s3")
    async with running(state, size=(200, 50)) as rig:
        await rig.press("8", "z")
        assert keys(rig) == ["g1", "g2", "g3", "g4", "g5", "g6", "g7"]
        assert "Sketches, ended" in row(rig, "never finished")
        await rig.press("G")
        closed = replace(cart(), status="achieved", closed_at=at(1), closed_by="fold")
        rig.feed.happen(ev.GoalClosed("s1", closed))
        await rig.settle()
        assert keys(rig) == ["g2", "g3", "g4", "g1", "g5", "g6", "g7"]


async def test_goals_of_a_session_that_ends_stay_and_can_be_read() -> None:
    async with running(goals_world(cart())) as rig:
        rig.feed.happen(ev.SessionClosed("s1", session("s1", "Fix the cart", state="ended")))
        await rig.press("8", "space", "i", "x")
        assert ordered(rig) == []
        await rig.press("enter")
        assert "opened by you" in rig.text


async def test_the_tab_counts_those_that_are_open() -> None:
    unknown = goal("g1", "a", criterion("c1", "b"))
    async with running(size=(90, 24)) as rig:
        for found, note in (([cart()], "8 Goals ✗1"), ([unknown], "8 Goals ○1"), ([], "8 ")):
            state = goals_world()
            state.goals = {one.id: one for one in found}
            await rig.begin_again(state)
            assert note in rig.text.splitlines()[1]


async def test_without_goals_the_others_have_the_room() -> None:
    state = goals_world()
    state.goals = {}
    async with running(state) as rig:
        for size in SIZES[1:]:
            await rig.resize(size)
            assert "goals" not in [pane.kind.id for pane in rig.app.main.seen_panes()], size
        rig.feed.happen(ev.GoalOpened("s1", cart()))
        await rig.settle()
        await rig.press("8")
        assert "The cart rounds once" in rig.text


@pytest.mark.parametrize("size", SIZES[::2], ids=str)
async def test_an_empty_pane_says_what_opens_the_first_and_its_key_does(
    size: tuple[int, int],
) -> None:
    state = goals_world()
    state.goals = {}
    async with running(state, size=size) as rig:
        await rig.press("8")
        for part in ("8 Goals", "No goal. o opens one"):
            assert part in rig.text
        await rig.press("o", *"tox", "enter")
        assert [type(one) for one in ordered(rig)] == [GoalOpen]
        rig.feed.happen(ev.GoalOpened("s1", cart()))
        await rig.settle()
        await rig.settle()
        await rig.press("space")
        assert [type(one) for one in ordered(rig)] == [GoalOpen, GoalChange]


async def test_fifty_goals_of_fifty_criteria_are_gone_through() -> None:
    criteria = [criterion(f"c{n}", f"step {n} " * 20, "unknown", "never run") for n in range(50)]
    many = [goal(f"g{n}", f"goal number {n}", *criteria) for n in range(50)]
    async with running(goals_world(*many), size=(120, 36)) as rig:
        await rig.press("8", "z", "G")
        assert "goal number 49" in rig.text
        assert "0 of 50 ○50" in row(rig, "goal number 49")
        await rig.press("slash", *"number", "space", *"17", "enter", "g", "enter")
        assert isinstance(on_top(rig.app), GoalDetail)
        await rig.press("G")
        assert "opened by you" in rig.text


# What its keys order


async def test_a_command_is_enough_for_a_goal(played: GoalScene) -> None:
    async with at_core(played) as (rig, _feed):
        rig.pane(1).select_session("s2")  # type: ignore[attr-defined]
        await rig.press("8", "o")
        assert isinstance(rig.app.screen, AskLineScreen)
        assert "Goal of s2" in rig.text
        await rig.press(*"pytest", "space", "minus", "q", "enter")
        (found,) = played.talk.gateway.state.goals.values()
        assert (found.title, found.session_id, found.opened_by) == ("pytest -q", "s2", "person")
        assert [one.text for one in found.criteria] == ["pytest -q ends with exit 0"]
        assert rig.notices == ["Goal opened: pytest -q"]
        assert "0 of 1 ○" in row(rig, "pytest -q")


async def test_a_new_goal_is_for_the_session_of_the_selected_one_or_the_row_in_sessions() -> None:
    async with running(goals_world(), size=(120, 36)) as rig:
        await rig.press("8", "down", "o", *"tox", "enter")
        assert ordered(rig)[-1].session_id == "s2"
        await rig.press("1", "full_stop", "a")
        assert "Goal of Fix the cart" in rig.text
        await rig.press(*"tox", "enter")
        assert ordered(rig)[-1].session_id == "s1"
        await rig.press("1", "full_stop", "a", "enter")
        assert len(ordered(rig)) == 2, "nothing was written"


async def test_space_switches_sending_back(played: GoalScene) -> None:
    found = played.goal()
    async with at_core(played) as (rig, _feed):
        await rig.press("8", "space")
        assert played.stands(found["id"])["unproven"] == "send back"
        assert " on " in row(rig, "pytest ends with exit 0")
        await rig.press("space")
        assert "unproven" not in played.stands(found["id"]), "as it was: tell"
        assert " off " in row(rig, "pytest ends with exit 0")


@pytest.mark.parametrize("is_sheet", [False, True])
async def test_the_footer_says_that_x_drops_it(is_sheet: bool) -> None:
    async with running(goals_world(), size=(160, 45)) as rig:
        await rig.press("8", *(["enter"] if is_sheet else []))
        footer = rig.text.splitlines()[-1]
        assert "x drop" in footer
        assert "x stop" not in footer
        await rig.press(*(["escape"] if is_sheet else []), "6")
        assert "x drop" not in rig.text.splitlines()[-1]


async def test_what_the_settings_forbid_says_why() -> None:
    played = played_scene(Settings(proof=Proving(send_back=False)))
    found = played.goal()
    async with at_core(played) as (rig, _feed):
        await rig.press("8", "space")
        assert "unproven" not in played.stands(found["id"])
        assert "proof.send-back" in rig.notices[0]


async def test_i_judges_it_now(played: GoalScene) -> None:
    found = played.goal()
    played.begin()
    played.edit()
    played.run("pytest", 1, "1 failed in 0.01s")
    async with at_core(played) as (rig, _feed):
        await rig.press("8", "i")
        assert rig.notices == ["0 of 1 criteria passed: pytest ends with exit 0"]
        assert "0 of 1 ✗" in row(rig, "pytest ends with exit 0")
        played.run("pytest", 0, "2 passed in 0.01s")
        await rig.press("i")
        assert played.stands(found["id"])["status"] == "achieved"
        assert rig.notices[-1] == "achieved: pytest ends with exit 0"
        assert "achieved" in row(rig, "pytest ends with exit 0")


async def test_m_notes_something(played: GoalScene) -> None:
    found = played.goal()
    async with at_core(played) as (rig, _feed):
        await rig.press("8", "m", *"half", "enter")
        assert (played.stands(found["id"])["note"], ordered(rig)[-1].text) == ("half", "half")
        await rig.press("enter")
        assert "note       you: “half”" in rig.text


@pytest.mark.parametrize(
    ("key", "asked", "status"),
    [
        ("y", "Is pytest ends with exit 0 achieved?", "achieved"),
        ("x", "Drop pytest ends with exit 0?", "abandoned"),
    ],
)
async def test_what_closes_it_is_asked_first(
    played: GoalScene, key: str, asked: str, status: str
) -> None:
    found = played.goal()
    async with at_core(played) as (rig, _feed):
        await rig.press("8", key)
        assert isinstance(rig.app.screen, ConfirmScreen)
        assert asked in rig.text
        await rig.press("n")
        assert played.stands(found["id"])["status"] == "active"
        await rig.press(key, "y")
        told = played.stands(found["id"])
        assert (told["status"], told["closedBy"]) == (status, "you")


async def test_what_is_not_proven_is_said_before_a_goal_is_called_achieved() -> None:
    async with running(goals_world(cart()), size=(120, 36)) as rig:
        await rig.press("8", "y")
        for part in (
            "not proven: pytest -q ends with exit 0  failed: exit 1",
            "not proven: The page looks good  not judged yet",
        ):
            assert part in rig.text
        assert "CHANGELOG.md names it" not in rig.text


async def test_the_menu_has_what_can_be_done_and_the_keys_do_the_same() -> None:
    async with running(goals_world(), size=(120, 36)) as rig:
        await rig.press("8", "full_stop")
        assert isinstance(rig.app.screen, ActionsScreen)
        for part in (
            "The cart rounds once",
            "b  tell only",
            "v  judge its criteria now",
            "n  note something at it",
            "y  it is achieved",
            "x  drop it",
            "o  a new goal of Fix the cart",
        ):
            assert part in rig.text
        await rig.press("b")
        await rig.press("full_stop", "v")
        assert [type(one) for one in ordered(rig)] == [GoalChange, GoalVerify]
        assert ordered(rig)[0].unproven == "tell"


async def test_a_closed_one_and_copilots_own_can_only_be_read() -> None:
    titles = [one.title for one in goals()]
    async with running(goals_world(), size=(120, 36)) as rig:
        for title in ("Ship 0.4", "ruff check .", "Old plan"):
            down = ["down"] * titles.index(title)
            await rig.press("8", "home", *down, "space", "i", "m", "y", "x")
            assert ordered(rig) == [], title
            assert len(rig.app.screen_stack) == 1, title
            footer = rig.text.splitlines()[-1]
            assert "send back" not in footer, title
            assert "new goal" in footer, title
            await rig.press("enter")
            assert isinstance(on_top(rig.app), GoalDetail), title
            await rig.press("escape")


async def test_its_actions_are_in_the_palette() -> None:
    from tapui.tower.app.palette import commands

    async with running(goals_world(), size=(120, 36)) as rig:
        await rig.press("8")
        offered = {name: act for name, _about, act in commands(rig.app)}
        for name in (
            "Go to Goals",
            "Open a goal of yours: a command",
            "Judge its criteria now",
            "Send the agent back for it, or tell only",
        ):
            assert name in offered
        await offered["Judge its criteria now"]()  # type: ignore[misc]
        assert [type(one) for one in ordered(rig)] == [GoalVerify]


async def test_its_rows_are_sorted_and_filtered() -> None:
    async with running(goals_world(), size=(120, 36)) as rig:
        await rig.press("8", "s", "g")
        assert keys(rig)[0] == "g3"
        await rig.press("slash", *"ruff", "enter")
        assert keys(rig) == ["g5"]


# The session's sheet


async def test_a_sessions_sheet_names_its_open_goals() -> None:
    async with running(goals_world(), size=(120, 36)) as rig:
        await rig.press("1", "enter")
        assert isinstance(on_top(rig.app), SessionDetail)
        for part in (
            "open goals",
            "○ The cart rounds once   1 of 3   sends back",
            "○ All twelve steps   3 of 12",
        ):
            assert part in rig.text
        assert "ruff check ." not in rig.text
        await rig.press("escape", "down", "enter")
        for part in ("○ npm test   0 of 1", "○ Ship 0.4   no check"):
            assert part in rig.text


# A changed check


def changed_check(played: GoalScene) -> dict[str, Any]:
    """Let what a goal's check does be changed; return the goal."""
    from tapui.core.effects import SurfaceRead

    found = played.goal({"kind": "ran", "command": "npm test"})
    played.begin()
    played.edit()
    lines = "".join(f"line {number}\n" for number in range(60))
    played.shell.surface = SurfaceRead("b" * 64, {"package.json": f"true\n{lines}"})
    played.run("npm test", 0)
    return found


async def test_a_changed_check_counts_once_its_change_was_read(played: GoalScene) -> None:
    found = changed_check(played)
    async with at_core(played) as (rig, _feed):
        await rig.press("8", "i", "enter", "enter")
        assert isinstance(on_top(rig.app), CriterionDetail)
        for part in ("what its check does was changed", "package.json", "-test", "+true"):
            assert part in rig.text
        await rig.press("enter")
        assert "Read it to its end first" in rig.notices[-1]
        assert played.stands(found["id"])["status"] == "active"
        await rig.press("G")
        assert "Enter lets exactly this change count" in rig.text
        await rig.type("up", "enter")
        assert rig.notices[-1] == "Pressed with other keys, so it does not count."
        await rig.press("enter")
        assert played.stands(found["id"])["status"] == "achieved"
        assert "Enter lets" not in rig.text


async def test_what_was_changed_again_meanwhile_does_not_count(played: GoalScene) -> None:
    from tapui.core.effects import SurfaceRead

    found = changed_check(played)
    async with at_core(played) as (rig, _feed):
        await rig.press("8", "i", "enter", "enter", "G")
        played.shell.surface = SurfaceRead("c" * 64, {"package.json": "exit 0"})
        await rig.press("enter")
        assert played.stands(found["id"])["status"] == "active"
        assert "+exit 0" in rig.text, "what is there now is shown"
