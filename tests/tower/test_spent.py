"""Where the time of steps and turns went."""

from msgspec.structs import replace

from tapui.projection.now import now_of
from tapui.projection.state import State
from tapui.projection.turns.session import LiveTurns
from tapui.projection.turns.turn import LiveStep
from tapui.tower.app.view import View
from tapui.tower.sessions import session_status
from tapui.tower.textual.reader import Reader
from tapui.tower.turns import steps, turn_detail
from tapui.tower.turns.turn_detail import StepDetail, TurnDetail
from tapui.tower.wording.words import again_words
from tapui.wire.turns import SessionTurns, Step, Turn, Usage
from tests.tower.running import on_top, running
from tests.tower.scripted import START, at, session
from tests.tower.told import head, step


def world(*made: Step) -> State:
    """Return a session with one turn of a minute and a half that has ended."""
    state = State()
    state.sessions["s1"] = replace(session("s1", "Orders"), host="copilot")
    turn = Turn(head(1, "Where is it?", 100, 90, steps=len(made)), list(made))
    state.turns["s1"] = LiveTurns.of(SessionTurns("s1", [], turn))
    return state


GATE = step("1.1", "gate", tool="bash", provider="guard", duration=40.0, gated=40.0)
OWN = step("1.2", tool="bash", provider="copilot", call_id="c1", duration=9_000.0, asked=8_000.0)
OURS = step(
    "1.3",
    tool="lookup",
    provider="shop",
    call_id="c2",
    duration=1_500.0,
    queued=300.0,
    gated=40.0,
    asked=2_000.0,
)
MODE = step("1.4", "mode", asked=1_000.0)


def test_parts_of_a_step_and_of_its_turn() -> None:
    view = View()
    view.state = world(GATE, OWN, OURS, MODE)
    turn = view.state.turns["s1"].turns[0]
    assert [turn_detail.on_step(view, "s1", one) for one in turn.steps] == [
        (0, 0, 40, 0),
        (1_000, 0, 0, 8_000),
        (1_200, 300, 40, 2_000),
        (0, 0, 0, 1_000),
    ]
    total = turn_detail.in_turn(view, turn)
    assert total == (2_200, 300, 40, 11_000)
    assert (
        total.words("in tools")
        == "2.2s in tools, 300ms in the queue, 40ms gates, 11s waiting for you"
    )


def test_what_took_no_time_is_not_told() -> None:
    assert turn_detail.Spent(0.4, 0.0, 0.6, 0.0).words("in tools") == "1ms gates"
    assert turn_detail.Spent().words("in tools") == ""


def test_steps_and_turns_take_no_time_while_they_wait_for_the_person() -> None:
    view = View()
    view.now = START
    view.state = world(GATE, OWN, OURS)
    turn = view.state.turns["s1"].turns[0]
    seconds = [steps.seconds_of(view, "s1", one) for one in turn.steps]
    assert seconds == [0.04, 1.0, 1.5], "the duration of a provider's call has no wait"
    goes_on = LiveStep.of(step("1.5", state="running", ago=30, asked=20_000.0))
    assert steps.seconds_of(view, "s1", goes_on) == 10.0
    waits = LiveStep.of(step("1.6", state="waiting", ago=30, approval_id="a1"))
    assert steps.seconds_of(view, "s1", waits) == 30.0, "how long it waits"
    assert steps.seconds_of_turn(turn, START) == 90.0
    turn.waited = 40_000.0
    assert steps.seconds_of_turn(turn, START) == 50.0
    turn.ended_at, turn.state, turn.waits_since = None, "running", at(20)
    assert steps.time_of_turn(turn, START) == (100.0, 60.0)
    view.now += 60
    assert steps.seconds_of_turn(turn, view.now) == 40.0, "nothing passes while it waits"


def test_since_when_a_session_is_at_something_leaves_out_the_person() -> None:
    state = world(replace(OWN, at=at(30)), step("1.3", state="running", ago=20, asked=15_000.0))
    turn = state.turns["s1"].turns[0]
    turn.ended_at, turn.state, turn.waited = None, "running", 23_000.0
    stands = session_status.of_session(state, state.sessions["s1"], None, 0)
    assert session_status.for_how_long(stands, START) == "5s"
    turn.steps.pop()
    now = now_of(state, "s1")
    assert now is not None
    assert (now.kind, now.waited) == ("thinking", 23_000.0)
    stands = session_status.of_session(state, state.sessions["s1"], None, 0)
    assert session_status.for_how_long(stands, START) == "1m 17s"


async def test_the_details_have_the_time_with_and_without_the_person() -> None:
    state = world(OWN)
    state.turns["s1"].turns[0].waited = 44_000.0
    async with running(state, size=(160, 40)) as rig:
        await rig.settle()
        said = "waited 44s for you, of 1m 30s"
        assert said in " ".join(rig.app.screen.query_one(Reader).text.split())
        await rig.press("2")
        assert " 46s " in rig.lists
        assert "waited 8.0s for you, of 9.0s" in " ".join(
            rig.app.screen.query_one(Reader).text.split()
        )
        await rig.press("up")
        assert said in " ".join(rig.app.screen.query_one(Reader).text.split())


async def test_the_sheets_of_a_step_and_a_turn_say_where_the_time_went() -> None:
    async with running(world(GATE, OWN, OURS)) as rig:
        await rig.press("2", "enter")
        assert isinstance(on_top(rig.app), StepDetail)
        text = rig.app.screen.query_one(Reader).text
        said = "1.2s at shop, 300ms in the queue, 40ms gates, 2.0s waiting for you"
        assert " ".join(text.split()).count(said) == 1
        await rig.press("escape", "up", "up", "up", "full_stop", "o")
        assert isinstance(on_top(rig.app), TurnDetail)
        text = rig.app.screen.query_one(Reader).text
        assert "2.2s in tools, 300ms in the queue, 40ms gates, 10s waiting for you" in " ".join(
            text.split()
        )


def sent_back(tokens: int) -> State:
    """Return a session whose turn was sent back once, and used so much since."""
    state = world(OWN)
    turn = state.turns["s1"].turns[0]
    turn.sent_back, turn.tries, turn.again = 1, 3, Usage(tokens, 0, calls=2)
    return state


async def test_the_row_shows_how_often_the_agent_was_sent_back() -> None:
    async with running(sent_back(38_000)) as rig:
        await rig.press("1")
        for size in ((80, 24), (120, 36), (200, 50)):
            await rig.resize(size)
            assert "sent back 1 of 3 ↑38k" in rig.text, size


async def test_beside_a_detail_it_is_said_in_fewer_words_but_never_cut() -> None:
    async with running(sent_back(38_000), size=(199, 40)) as rig:
        for width, words in (
            (199, "1 of 3 ↑38k"),
            (160, "sent back 1 of 3"),
            (150, "back 1 of 3"),
            (140, "back 1 of 3"),
        ):
            await rig.resize((width, 40))
            row = next(line for line in rig.lists.splitlines() if "Orders" in line)
            assert f"{words} " in row, width


async def test_what_turns_used_after_they_were_sent_back_stands_with_what_was_used() -> None:
    async with running(sent_back(38_000), size=(120, 36)) as rig:
        await rig.press("1", ".", "u")
        assert "sent back  38,000 in, 0 out, 2 answers, of 1 turn" in rig.text


def test_a_turn_that_was_not_sent_back_is_not_said_to_be() -> None:
    assert again_words(world(OWN).turns["s1"].turns[0]) == again_words(None) == ""
    assert again_words(sent_back(0).turns["s1"].turns[0]) == "sent back 1 of 3"
