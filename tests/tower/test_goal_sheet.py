"""A goal's sheet: its criteria with what they rest on, its timeline, and what Enter opens."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tapui.projection.proof_report import FROM_RECORDS
from tapui.tower.calls.call_detail import CallDetail
from tapui.tower.goals.goal_detail import GONE, NOT_HERE, CriterionDetail, GoalDetail
from tapui.tower.streams.line_detail import LineDetail
from tapui.tower.table.table import Table
from tapui.tower.textual.reader import Reader
from tapui.tower.turns.turn_detail import StepDetail, TurnDetail
from tapui.wire import events as ev
from tapui.wire.criteria import Pointer, Ran
from tapui.wire.errors import ErrorCode
from tapui.wire.goals import Goal, GoalChange, GoalsList, GoalsRead, GoalVerify
from tapui.wire.message import Error
from tapui.wire.tower import StreamLines, StreamRead, TurnsList, TurnsRead
from tapui.wire.turns import Turn
from tests.core.goals.played import RAN, GoalScene
from tests.records.turns import Writer
from tests.replay.test_replay_app import Replayed, replayed
from tests.tower.core_feed import at_core, played_scene
from tests.tower.goals_world import (
    cart,
    criterion,
    goal,
    goals_world,
    ledger,
    ran,
    told,
)
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import at, lines, posts, session
from tests.tower.told import head, step

__all__ = ["state"]

SIZES = [(80, 24), (120, 36), (160, 45), (200, 50)]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The folder of the records."""
    return tmp_path / "state"


@pytest.fixture
def played() -> GoalScene:
    return played_scene()


def table(rig: Running) -> Table:
    return rig.app.screen.query_one(Table)


def shown(rig: Running) -> list[str]:
    """Return the rows of the sheet as text, headings too."""
    rows = [" ".join(" ".join(row.texts).split()) for row in table(rig).rows]
    return [" ".join(one.split()) for one in rows]


async def opened(rig: Running, *found: Goal) -> None:
    """Open the sheet of the first goal; the lines of the stream are read."""
    await rig.press("8", "enter")
    asked = rig.feed.sent_of(StreamRead)[-1]
    rig.feed.put(StreamLines(asked.id, ledger()))
    await rig.settle()


async def go_to(rig: Running, text: str) -> None:
    """Put the cursor on the row with a text."""
    row = next(one for one in table(rig).rows if one.key and text in " ".join(one.texts))
    table(rig).select(row.key)
    await rig.settle()


@pytest.mark.parametrize("size", SIZES[::2], ids=str)
async def test_it_begins_with_the_facts_and_the_criteria(size: tuple[int, int]) -> None:
    async with running(goals_world(), size=size) as rig:
        await opened(rig)
        for part in (
            "○ The cart rounds once",
            "active, 1 of 3",
            "session    Fix the cart",
            "opened     by you, 2026-11-21 19:45:00, in turn 5",
            "send back  on  1 of 3 ↑38k",
            "note       the agent: “The total is rounded",
            "criteria, 1 of 3 passed",
            "✗ pytest -q ends with exit 0",
            "failed: exit 1",
            "✓ CHANGELOG.md names it",
            "○ The page looks good",
            "not judged yet",
        ):
            assert part in rig.text, part


@pytest.mark.parametrize("size", [(20, 5), (60, 15)], ids=str)
async def test_a_small_terminal_shows_it_too(size: tuple[int, int]) -> None:
    async with running(goals_world(), size=size) as rig:
        await opened(rig)
        assert "✗ pytest" in rig.text
        await rig.press("G", "v")
        assert "✗ pytest" not in rig.text
        await rig.press("v", "g")
        assert "✗ pytest" in rig.text


async def test_the_timeline_is_in_order_of_time() -> None:
    async with running(goals_world(), size=(120, 36)) as rig:
        await opened(rig)
        found = shown(rig)
        assert found[found.index("timeline") + 1 :] == [
            "19:44:00 ▸ 5 you: “Look at the cart” ✓ done 2m 00s",
            "19:45:00 · opened",
            "20:02:50 ▸ 6 you: “Round the total once” ● running",
            "20:03:00 ✓ edit src/cart.py +6 −2 48ms",
            "20:05:00 ✗ bash pytest -q exit 1 evidence 31s",
            "20:05:32 ○ 1 of 3 criteria passed",
            "20:05:33 · sent back",
            "20:06:40 ✓ edit CHANGELOG.md +3 −0 9ms",
            "20:07:00 · noted",
        ]


async def test_what_happens_meanwhile_comes_at_its_end_and_the_cursor_stays() -> None:
    async with running(goals_world(), size=(120, 36)) as rig:
        await opened(rig)
        await go_to(rig, "CHANGELOG.md names it")
        before = table(rig).selected
        achieved = replace(cart(), status="achieved", closed_at=at(2), closed_by="fold")
        rig.feed.happen(
            *posts(("s1", "goals@tap"), [told(6, 1, "achieved: The cart rounds once",
                                              "goal.verified")]),
            ev.GoalClosed("s1", replace(achieved, changed_since=2)),
        )  # fmt: skip
        await rig.settle()
        assert shown(rig)[-1] == "20:09:59 ✓ achieved"
        assert "achieved   at 20:09, 2 files changed since; all criteria passed" in rig.text
        assert table(rig).selected == before


async def test_lines_of_other_streams_do_not_make_it_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(goals_world(), size=(120, 36)) as rig:
        await opened(rig)
        made: list[object] = []
        monkeypatch.setattr(GoalDetail, "_rows", lambda *args: made.append(args) or [])
        rig.feed.happen(*posts(("s1", "log@ci-watcher"), lines(3)))
        await rig.settle()
        assert made == []
        rig.feed.happen(*posts(("s1", "goals@tap"), [told(9, 1, "noted: x", "goal.updated")]))
        await rig.settle()
        assert len(made) == 1


async def test_its_beginning_and_end_are_told_without_the_stream_too() -> None:
    done = replace(cart(), status="achieved", closed_at=at(60), closed_by="fold")
    async with running(goals_world(done), size=(120, 36)) as rig:
        await rig.press("8", "enter")
        asked = rig.feed.sent_of(StreamRead)[-1]
        rig.feed.put(
            Error(ErrorCode.INVALID_SESSION, "no such session", reply_to="stream.read", id=asked.id)
        )
        await rig.settle()
        assert rig.notices == []
        assert "19:45:00 · opened by you" in shown(rig)
        assert shown(rig)[-1] == "20:09:00 ✓ achieved: all criteria passed"
        assert [one.stream for one in rig.feed.sent_of(StreamRead)].count("goals@tap") == 1


async def test_turns_of_which_only_heads_are_here_are_read_once() -> None:
    async with running(goals_world(), size=(120, 36)) as rig:
        await opened(rig)
        (asked,) = rig.feed.sent_of(TurnsRead)
        assert (asked.session_id, asked.before, asked.last) == ("s1", 6, 1)
        edited = step("5.2", ago=1_490, tool="edit", call_id="o2", summary="src/tax.py",
                      duration=5.0, added=1, removed=1)  # fmt: skip
        rig.feed.put(
            TurnsList(asked.id, [Turn(head(5, "Look at the cart", 1_560, 120, steps=1), [edited])])
        )
        await rig.settle()
        assert "19:45:10 ✓ edit src/tax.py +1 −1 5ms" in shown(rig)
        await rig.turn(5)
        assert len(rig.feed.sent_of(TurnsRead)) == 1


# What Enter opens


async def test_enter_opens_the_step_or_the_record() -> None:
    async with running(goals_world(), size=(120, 36)) as rig:
        await opened(rig)
        for text, kind, said in (
            ("pytest -q ends with exit 0", CriterionDetail, "command: pytest -q"),
            ("20:05:00", StepDetail, "exit code  1"),
            ("you: “Round the total once”", TurnDetail, "Turn 6 of Fix the cart"),
            ("1 of 3 criteria passed", LineDetail, "kind: goal.verified"),
            ("CHANGELOG.md observed", CriterionDetail, "file CHANGELOG.md  observed"),
        ):
            await go_to(rig, text)
            await rig.press("enter")
            assert type(on_top(rig.app)) is kind
            assert said in rig.text
            await rig.press("escape")
            assert type(on_top(rig.app)) is GoalDetail


async def test_a_pointer_opens_the_step_the_call_or_the_line_that_it_names() -> None:
    found = goal(
        "g1",
        "all of it",
        criterion("c1", "a command", "passed", pointers=[ran("t5", 300)]),
        criterion("c2", "a call", "passed",
                  pointers=[Pointer("call", "call:d1", "stated", at(60))]),
        criterion("c3", "a line", "passed",
                  pointers=[Pointer("stream", "ci-watch@ci-watcher#48", "stated", at(60))]),
        criterion("c4", "a call that is kept no longer", "passed", pointers=[ran("gone", 300)]),
    )  # fmt: skip
    async with running(goals_world(found), size=(120, 36)) as rig:
        await rig.press("8", "enter")
        opens: list[type] = []
        for number in range(4):
            table(rig).select(f"pointer 0 c{number + 1}")
            await rig.press("enter")
            opens.append(type(on_top(rig.app)))
            await rig.press("escape")
        assert opens == [StepDetail, CallDetail, LineDetail, CriterionDetail]


async def test_steps_and_criteria_are_gone_through_in_their_sheets() -> None:
    async with running(goals_world(), size=(120, 36)) as rig:
        await opened(rig)
        await go_to(rig, "20:03:00")
        await rig.press("enter", "right")
        assert "bash  pytest -q" in rig.text
        await rig.press("escape")
        await go_to(rig, "CHANGELOG.md names it")
        await rig.press("enter", "right")
        assert "text: The page looks good" in rig.text
        await rig.press("escape", "right")
        assert "npm test" in on_top(rig.app).border_title


async def test_all_of_a_criterion_is_read_in_its_sheet() -> None:
    long = "word " * 400
    found = goal("g1", "long", criterion("c1", long, "failed", "exit 1", check=Ran(command=long)))
    async with running(goals_world(found), size=(120, 36)) as rig:
        await rig.press("8", "enter", "enter")
        text = rig.app.screen.query_one(Reader).plain_text
        assert long in text
        assert f"command: {long}" in text
        assert "stands     failed: exit 1" in text


async def test_v_shows_the_record_and_c_copies_what_is_shown() -> None:
    async with running(goals_world(), size=(120, 36)) as rig:
        await opened(rig)
        await rig.press("c")
        for part in ("session    Fix the cart", "pytest -q ends with exit 0  failed: exit 1"):
            assert part in rig.app.clipboard
        await rig.press("v")
        assert (
            '"traceId": "4bf92f3577b34da6a3ce929d0e0e4736"'
            in rig.app.screen.query_one(Reader).plain_text
        )
        await rig.press("c")
        assert '"openedBy"' in rig.app.clipboard
        await rig.press("v")
        assert "criteria, 1 of 3 passed" in rig.text


async def test_copilots_own_objective_is_a_goal_without_a_check() -> None:
    found = goal("g4", "Ship 0.4", opened_by="copilot", session_id="s2")
    async with running(goals_world(found), size=(120, 36)) as rig:
        await rig.press("8", "enter")
        assert "by Copilot" in rig.text
        assert "Copilot's own objective: no check" in rig.text
        assert "send back" not in rig.text


# Orders, and what becomes of it meanwhile


async def test_the_keys_of_the_pane_work_in_it(played: GoalScene) -> None:
    found = played.goal(RAN)
    played.begin()
    played.edit()
    async with at_core(played) as (rig, feed):
        await rig.press("8", "enter", "space")
        assert played.stands(found["id"])["unproven"] == "send back"
        assert "send back  on" in rig.text
        played.run("pytest", 1, "1 failed in 0.01s")
        played.host.hear()
        assert played.end_turn()["decision"] == "again"
        feed.pump()
        await rig.settle()
        assert "send back  on  1 of 3" in rig.text
        assert "· sent back" in rig.text
        played.run("pytest", 0, "2 passed in 0.01s")
        feed.pump()
        await rig.press("i")
        assert "✓ pytest ends with exit 0" in rig.text
        assert "✓ achieved" in rig.text
        assert played.stands(found["id"])["status"] == "achieved"
        await rig.press("space", "m", "x")
        assert len(rig.app.screen_stack) == 2


async def test_the_menu_of_the_sheet_orders() -> None:
    async with running(goals_world(), size=(120, 36)) as rig:
        await opened(rig)
        await rig.press("full_stop", "v", "full_stop", "b")
        kinds = [type(one) for one in rig.feed.sent if isinstance(one, GoalChange | GoalVerify)]
        assert kinds == [GoalVerify, GoalChange]


@pytest.mark.parametrize("what", ["goal", "criterion"])
async def test_a_goal_that_vanishes_leaves_what_was_shown(what: str) -> None:
    state = goals_world(cart())
    async with running(state, size=(120, 36)) as rig:
        await opened(rig)
        if what == "criterion":
            await rig.press("enter")
        state.goals = {}
        rig.feed.begin(state, run="r2")
        await rig.settle()
        await rig.press("enter", "space", "i", "m", "y", "x")
        assert not [one for one in rig.feed.sent if isinstance(one, GoalChange | GoalVerify)]
        while type(on_top(rig.app)) is not GoalDetail:
            await rig.press("escape")
        assert GONE in rig.text
        assert "✗ pytest -q ends with exit 0" in rig.text


async def test_clear_moves_it_to_the_session_that_takes_the_place() -> None:
    async with running(goals_world(cart()), size=(120, 36)) as rig:
        await opened(rig)
        moved = session("s9", "Fix the cart", state="busy")
        rig.feed.happen(ev.SessionReplaced("s9", moved, "s1"))
        await rig.settle()
        assert "✗ pytest -q ends with exit 0" in rig.text
        assert GONE not in rig.text


# A goal that is longer than a snapshot has it


def long_goal(revision: int = 3, state: str = "failed") -> Goal:
    criteria = [
        criterion(f"c{n}", f"step {n} " + "x" * 400, state, pointers=[ran("t5", 300)])
        for n in range(50)
    ]
    return goal("g1", "long", *criteria, revision=revision)


async def test_the_rest_of_a_long_one_is_read_and_again_when_it_changed() -> None:
    from tapui.projection.cuts import goal_head

    async with running(goals_world(goal_head(long_goal())), size=(120, 36)) as rig:
        await rig.press("8", "enter")
        assert "The rest of it is being read" in rig.text
        (asked,) = rig.feed.sent_of(GoalsRead)
        assert (asked.session_id, asked.last) == ("s1", 1)
        rig.feed.put(GoalsList(asked.id, [long_goal()]))
        await rig.settle()
        assert "being read" not in rig.text
        assert table(rig).rows[2].key == "pointer 0 c0"
        await rig.press("down", "down")
        rig.feed.happen(ev.GoalVerified("s1", long_goal(4, "passed"), report=None))  # type: ignore[arg-type]
        await rig.settle()
        assert table(rig).selected == "criterion c1"
        assert table(rig).rows[2].key == "pointer 0 c0", "what was read stays meanwhile"
        asked = rig.feed.sent_of(GoalsRead)[-1]
        rig.feed.put(GoalsList(asked.id, [long_goal(4, "passed")]))
        await rig.settle()
        assert "50 of 50" in rig.text
        assert table(rig).selected == "criterion c1"


async def test_a_read_that_is_refused_leaves_the_head() -> None:
    from tapui.projection.cuts import goal_head

    async with running(goals_world(goal_head(long_goal())), size=(120, 36)) as rig:
        await rig.press("8", "enter")
        asked = rig.feed.sent_of(GoalsRead)[-1]
        rig.feed.put(Error(ErrorCode.NOT_FOUND, "gone", reply_to="goals.read", id=asked.id))
        await rig.settle()
        await rig.turn(3)
        assert "step 0 xxx" in rig.text
        assert NOT_HERE in rig.text
        assert rig.notices == []
        assert len(rig.feed.sent_of(GoalsRead)) == 1


# Replay


def recorded(played: GoalScene, state: Path, *, ends: bool) -> None:
    """Write the records of a played session whose goal was reached."""
    found = played.goal(RAN, unproven="send back")
    played.begin("Round it once")
    played.edit()
    played.run("pytest", 1, "1 failed in 0.01s")
    played.end_turn()
    played.run("pytest", 0, "2 passed in 0.01s")
    played.verify(found)
    played.end()
    if ends:
        played.host.say(type="session.close", sessionId="s2")
        played.talk.wait(20)
    with Writer(state) as writer:
        for entry in played.talk.entries:
            writer.turn_at(entry.ts, entry.event)


@pytest.mark.parametrize("ends", [False, True])
async def test_the_timeline_in_a_replay(played: GoalScene, state: Path, ends: bool) -> None:
    recorded(played, state, ends=ends)
    async with replayed(state, session="s2") as rig:
        await settled(rig)
        await rig.pilot.press("8", "enter")
        await rig.until(lambda: "✓ achieved" in rig.text)
        for part in (
            "pytest ends with exit 0",
            "✓ pytest ends with exit 0",
            "bash  pytest",
            "opened",
            "you: “Round it once”",
            "✗ bash   pytest",
            "sent back",
        ):
            await rig.until(lambda part=part: part in rig.text)  # type: ignore[misc]
        await rig.pilot.press("space", "i", "m", "y", "x")
        assert len(rig.app.screen_stack) == 2
        assert rig.notices == []


async def test_a_proof_that_is_copied_from_a_replay_says_where_it_is_from(
    played: GoalScene, state: Path
) -> None:
    recorded(played, state, ends=True)
    async with replayed(state, session="s2") as rig:
        await settled(rig)
        await rig.pilot.press("2", "full_stop", "y")
        await rig.until(lambda: FROM_RECORDS in rig.app.clipboard)
        assert "| 1 | Round it once | cart.py +1 −0 |" in rig.app.clipboard


async def settled(rig: Replayed) -> None:
    await rig.until(lambda: rig.feed.position.number is not None)
    await rig.at(rig.feed.position.total)


async def test_a_moment_before_shows_the_goal_as_it_was(played: GoalScene, state: Path) -> None:
    recorded(played, state, ends=False)
    async with replayed(state, session="s2") as rig:
        await settled(rig)
        await rig.pilot.press("8", "enter")
        await rig.until(lambda: "✓ achieved" in rig.text)
        total = rig.feed.position.total
        rig.feed.step(-total)
        await rig.at(0)
        await rig.until(lambda: GONE in rig.text)
        rig.feed.step(total)
        await rig.at(total)
        await rig.until(lambda: GONE not in rig.text and "✓ achieved" in rig.text)


async def test_a_long_one_is_read_from_the_records(played: GoalScene, state: Path) -> None:
    checks = [{"kind": "file", "path": f"{'x' * 200}{n}"} for n in range(40)]
    played.goal(*checks)
    with Writer(state) as writer:
        for entry in played.talk.entries:
            writer.turn_at(entry.ts, entry.event)
    async with replayed(state, session="s2") as rig:
        await settled(rig)
        await rig.pilot.press("8", "enter")
        await rig.until(lambda: isinstance(on_top(rig.app), GoalDetail))
        await rig.until(lambda: "being read" not in rig.text)
        await rig.pilot.press("enter")
        await rig.until(lambda: "kind: file" in rig.text)
