"""Where the time of steps and turns went."""

from msgspec.structs import replace

from tapui.projection.state import State
from tapui.projection.turns.session import LiveTurns
from tapui.tower.app.view import View
from tapui.tower.textual.reader import Reader
from tapui.tower.turns import turn_sheets
from tapui.tower.turns.turn_sheets import StepScreen, TurnScreen
from tapui.wire.turns import SessionTurns, Step, Turn
from tests.tower.running import running
from tests.tower.scripted import session
from tests.tower.told import head, step


def world(*steps: Step) -> State:
    """Return a session with one turn of a minute and a half that has ended."""
    state = State()
    state.sessions["s1"] = replace(session("s1", "Orders"), host="copilot")
    turn = Turn(head(1, "Where is it?", 100, 90, steps=len(steps)), list(steps))
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
    assert [turn_sheets.on_step(view, "s1", one) for one in turn.steps] == [
        (0, 0, 40, 0),
        (1_000, 0, 0, 8_000),
        (1_200, 300, 40, 2_000),
        (0, 0, 0, 1_000),
    ]
    total = turn_sheets.in_turn(view, turn)
    assert total == (2_200, 300, 40, 11_000)
    assert (
        total.words("in tools")
        == "2.2s in tools, 300ms in the queue, 40ms gates, 11s waiting for you"
    )


def test_what_took_no_time_is_not_told() -> None:
    assert turn_sheets.Spent(0.4, 0.0, 0.6, 0.0).words("in tools") == "1ms gates"
    assert turn_sheets.Spent().words("in tools") == ""


async def test_the_sheets_of_a_step_and_a_turn_say_where_the_time_went() -> None:
    async with running(world(GATE, OWN, OURS)) as rig:
        await rig.press("2", "enter")
        assert isinstance(rig.app.screen, StepScreen)
        text = rig.app.screen.query_one(Reader).text
        said = "1.2s at shop, 300ms in the queue, 40ms gates, 2.0s waiting for you"
        assert " ".join(text.split()).count(said) == 1
        await rig.press("escape", "up", "up", "up", "full_stop", "o")
        assert isinstance(rig.app.screen, TurnScreen)
        text = rig.app.screen.query_one(Reader).text
        assert "2.2s in tools, 300ms in the queue, 40ms gates, 10s waiting for you" in " ".join(
            text.split()
        )
