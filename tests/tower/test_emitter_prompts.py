"""A turn that emitters began names them, and what they said."""

from tapui.core.model import HeldLine
from tapui.core.streams.injects import update
from tapui.projection.state import State
from tapui.wire import events as ev
from tapui.wire.codec import raw
from tests.tower.emitters_world import emitter, quiet
from tests.tower.running import running
from tests.tower.scripted import ScriptedFeed


def began(feed: ScriptedFeed, content: str, by: str = "tap") -> None:
    """Tell of a prompt as a host does, and of the turn's end."""
    data = {"content": content, "from": by}
    feed.happen(
        ev.SessionHappened("s1", "prompt.injected", raw(data)),
        ev.SessionHappened("s1", "session.idle", raw({})),
    )


def lines(*found: tuple[str, str, str]) -> str:
    """Return the prompt of lines of emitters: name, source, text."""
    held = [HeldLine(n, name, name, source, text) for n, (name, source, text) in enumerate(found)]
    return update(held, 0)


def upkeep() -> State:
    state = quiet()
    one = emitter("e1", "upkeep", prompt="Anything new?\nSay nothing else.", kind="idle")
    state.emitters[one.id] = one
    return state


async def test_lines_of_an_emitter_begin_a_turn_by_its_name() -> None:
    async with running(quiet(), size=(120, 36)) as rig:
        began(rig.feed, lines(("tests", "stdout", "a test has failed: 1/2 stdout: x")))
        await rig.settle()
        assert "tests: “a test has failed: 1/2 stdout: x”" in rig.text
        began(rig.feed, lines(("tests", "stderr", "red"), ("ci", "system", "failed: exit code 7")))
        await rig.settle()
        assert "tests, ci: “red” and 1 more" in rig.text


async def test_a_prompt_of_an_emitter_is_its_own() -> None:
    async with running(upkeep(), size=(120, 36)) as rig:
        began(rig.feed, "Anything new?\nSay nothing else.")
        await rig.settle()
        assert "upkeep: “Anything new?" in rig.text
        await rig.press("2", "full_stop", "o")
        assert "asked by   emitter upkeep" in rig.text


async def test_others_are_named_as_before_whatever_they_say() -> None:
    async with running(upkeep(), size=(120, 36)) as rig:
        began(rig.feed, lines(("tests", "stdout", "red")), by="ci-watcher")
        began(rig.feed, "Anything new?\nSay nothing else.", by="ci-watcher")
        began(rig.feed, "※ tap and nothing of that form")
        await rig.settle()
        assert "ci-watcher: “※ tap" in rig.text
        assert "ci-watcher: “Anything new?" in rig.text
        assert "tap: “※ tap and nothing" in rig.text
