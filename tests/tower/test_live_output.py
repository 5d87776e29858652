"""What a command prints while it runs, in its step's detail and in its session's."""

from msgspec import Raw
from msgspec.structs import replace

from tapui.projection.state import State
from tapui.tower.calls.call_detail import CallDetail
from tapui.tower.turns.turn_detail import StepDetail
from tapui.wire import events as ev
from tapui.wire import subjects
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import call, session

RUNS = call("x1", "bash", provider="copilot", provider_id=None, args=Raw(b'{"command":"npm test"}'))


def world() -> State:
    state = State()
    state.sessions["s1"] = session("s1", "Fix it", state="busy")
    state.sessions["s2"] = session("s2", "Docs")
    return state


def prints(rig: Running, text: str, of: subjects.Call = RUNS) -> None:
    rig.feed.happen(ev.CallProgress("s1", replace(of, output=text, args=None)))


async def test_a_session_has_the_last_lines_of_its_newest_command() -> None:
    async with running(world(), size=(160, 45)) as rig:
        rig.feed.happen(ev.CallStarted("s1", RUNS))
        await rig.settle()
        assert "last lines" not in rig.text, "it printed nothing yet"
        prints(rig, "\n".join(f"test {n} passed" for n in range(1, 10)))
        await rig.settle()
        assert "last lines of its newest command, live while it runs" in rig.text
        assert "│ test 9 passed" in rig.text
        assert "test 3 passed" not in rig.text, "the last six"
        prints(rig, "test 10 passed\n\x1b[2J[red]x\n")
        await rig.settle()
        assert "│ test 10 passed" in rig.text
        assert "[red]x" in rig.text, "what it prints is no markup"
        shell = subjects.Shell(id="1", tail="10 passed in 3 s")
        done = replace(RUNS, state="done", args=None, data=Raw(b'"all"'), exit_code=0, shell=shell)
        rig.feed.happen(ev.CallFinished("s1", done))
        await rig.settle()
        assert "last lines of its newest command\n" in "\n".join(
            line.strip(" │") for line in rig.text.splitlines()
        )
        assert "│ 10 passed in 3 s" in rig.text
        rig.feed.happen(ev.CallStarted("s1", replace(RUNS, id="again")))
        rig.feed.happen(ev.CallFinished("s1", replace(done, id="again", exit_code=2)))
        await rig.settle()
        assert "last lines of its newest command, exit 2" in rig.text
        await rig.press("down")
        assert "last lines" not in rig.text, "another session has its own"


async def test_a_step_shows_what_its_command_prints_and_then_its_result() -> None:
    async with running(world(), size=(160, 45)) as rig:
        rig.feed.happen(ev.CallStarted("s1", RUNS))
        prints(rig, "\n".join(f"line {n}" for n in range(1, 41)))
        await rig.press("2")
        assert isinstance(rig.app.main.detail_area.detail, StepDetail)
        assert "output so far, live, the last 10 of 40 lines" in rig.text
        assert "│ line 40" in rig.text
        assert "│ line 30 " not in rig.text
        prints(rig, "line 41")
        await rig.settle()
        assert "│ line 41" in rig.text
        await rig.press("5", "enter")
        assert isinstance(on_top(rig.app), CallDetail)
        assert "output so far, live" in rig.text
        done = replace(RUNS, state="done", args=None, data=Raw(b'"forty"'), exit_code=0)
        rig.feed.happen(ev.CallFinished("s1", done))
        await rig.settle()
        assert "output so far" not in rig.text
        assert "│ forty" in rig.text
