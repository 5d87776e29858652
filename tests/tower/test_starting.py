"""Sessions that are started in the tower, ended there, and handed over to a terminal."""

import pytest
from msgspec.structs import replace

from tapui.projection.state import State
from tapui.wire import events as ev
from tapui.wire.steering import Order, SessionEnd, SessionStart, SessionStarted
from tests.rig.waiting import until_async
from tests.tower.running import Running, running
from tests.tower.scripted import at, session
from tests.tower.stores import ScriptedStore

CAN = ["tell", "now", "stop", "compact", "model", "effort", "label"]


def state(**more: object) -> State:
    """A session of a person's, and one that was started here."""
    found = State()
    found.sessions["s1"] = session("s1", "Fix pairing", can=CAN, cwd="/code/app")
    found.sessions["s2"] = session(
        "s2", "Notes", can=[*CAN, "close"], cwd="/code/my notes", headless=True, **more
    )
    return found


def started(rig: Running) -> SessionStart:
    sent = rig.feed.sent[-1]
    assert isinstance(sent, SessionStart)
    return sent


async def write(rig: Running, *prompt: str) -> SessionStart:
    """Write a prompt for a new session in the selected one's folder, and start it."""
    await rig.press("plus", *prompt, "enter")
    return started(rig)


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_a_session_is_started_from_a_sheet(size: tuple[int, int]) -> None:
    async with running(state(), size=size) as rig:
        await rig.press("plus")
        assert "Start a session without a screen" in rig.text
        assert "/code/app" in rig.text
        await rig.press("g", "o", "tab", "m", "tab", "p", "enter")
        sent = started(rig)
        assert (sent.folder, sent.prompt, sent.model, sent.mode) == ("/code/app", "go", "m", "plan")
        assert (sent.trust_folder, sent.unattended) == (False, False)
        rig.feed.put(SessionStarted(sent.id, "s9"))
        await rig.settle()
        assert rig.notices == ["A session has started in /code/app."]
        await rig.press("plus")
        assert "/code/app" in rig.text  # the next one begins there, without the prompt
        assert "what it is to do" in rig.text


async def test_what_cannot_be_is_said_in_the_sheet() -> None:
    async with running(state(), size=(120, 36)) as rig:
        await rig.press("plus", "shift+tab", "home", *"code", "enter")
        assert "must be an absolute path" in rig.text
        assert rig.feed.sent == []
        await rig.press("escape")
        assert rig.feed.sent == []


@pytest.mark.parametrize("folder", ["~nobody/x", "~", "x", "./x"])
async def test_a_folder_that_is_no_path_is_said_in_the_sheet(folder: str) -> None:
    async with running(state(), size=(120, 36)) as rig:
        await rig.press("plus", "shift+tab", "ctrl+u", "ctrl+k", *folder, "enter")
        assert "The folder must be an absolute path" in rig.text
        assert rig.feed.sent == []


async def test_a_folder_is_trusted_only_by_the_person() -> None:
    async with running(state(), size=(120, 36)) as rig:
        sent = await write(rig, "x")
        rig.feed.put(SessionStarted(sent.id, problem="untrusted", error="not trusted"))
        await rig.settle()
        assert "Trust this folder for the session?" in rig.text
        await rig.press("n")
        assert started(rig) is sent
        again = await write(rig)  # what was written is still there
        assert again.prompt == "x"
        rig.feed.put(SessionStarted(again.id, problem="untrusted", error="not trusted"))
        await rig.settle()
        await rig.press("y")
        assert started(rig).trust_folder


async def test_a_start_that_fails_says_why_and_is_a_draft() -> None:
    async with running(state(), size=(120, 36)) as rig:
        sent = await write(rig, "x")
        rig.feed.put(SessionStarted(sent.id, problem="missing", error="no CLI: npm install"))
        await rig.settle()
        assert rig.notices == ["No session was started: no CLI: npm install"]
        assert (await write(rig)).prompt == "x"


async def test_a_session_started_here_is_marked_and_can_be_ended() -> None:
    async with running(state(), size=(120, 36)) as rig:
        assert "Notes  headless" in rig.text
        await rig.press("full_stop")
        assert "hand it over" not in rig.text
        await rig.press("escape", "down", "full_stop", "d", "y")
        sent = rig.feed.sent[-1]
        assert isinstance(sent, SessionEnd)
        assert sent.session_id == "s2"


async def hand_over(rig: Running) -> None:
    await rig.press("down", "full_stop", "h", "y")
    sent = rig.feed.sent[-1]
    assert isinstance(sent, SessionEnd)
    assert "The session is free" not in rig.text
    ended = replace(rig.app.view.state.sessions["s2"], state="ended")
    rig.feed.happen(ev.SessionClosed(session_id="s2", session=ended))
    await rig.settle()
    assert "The session is free. This goes on with it:" in rig.text
    assert "cd '/code/my notes' && " in rig.text


async def test_a_session_is_offered_to_a_terminal_once_it_is_closed() -> None:
    async with running(state(), size=(120, 36), store=ScriptedStore(panes="")) as rig:
        await hand_over(rig)
        await rig.press("y")
        assert any("copied" in one for one in rig.notices)


async def test_a_pane_opens_only_once_the_person_said_so() -> None:
    store = ScriptedStore()
    async with running(state(), size=(120, 36), store=store) as rig:
        await hand_over(rig)
        assert "open it in a pane (tmux)" in rig.text
        assert store.asked == []
        store.fault = "no room for a pane"
        await rig.press("y")
        await until_async(lambda: "no room for a pane" in rig.notices, what="the fault")
        assert store.asked == [("resume", "s2")]


async def test_a_session_that_could_not_be_closed_is_not_offered() -> None:
    async with running(state(), size=(120, 36), store=ScriptedStore()) as rig:
        await rig.press("down", "full_stop", "h", "y")
        order = Order("o1", "s2", "close", "given", "tapui", at())
        rig.feed.happen(ev.OrderGiven(session_id="s2", order=order))
        rig.feed.happen(ev.OrderChanged(session_id="s2", order_id="o1", state="failed"))
        ended = replace(rig.app.view.state.sessions["s2"], state="ended")
        rig.feed.happen(ev.SessionClosed(session_id="s2", session=ended))
        await rig.settle()
        assert "The session is free" not in rig.text


async def test_quitting_names_the_sessions_that_end_with_it() -> None:
    async with running(state(), size=(120, 36)) as rig:
        rig.feed.is_embedded = True
        await rig.press("q")
        assert "1 headless session ended: Notes" in rig.text


@pytest.mark.parametrize(
    ("key", "what"), [("plus", "start sessions"), ("ctrl+o", "show the sessions that Copilot")]
)
async def test_the_demonstration_says_what_it_does_not_do(key: str, what: str) -> None:
    async with running(state(), is_demo=True, on_demo=lambda: None) as rig:
        await rig.press(key)
        assert [one for one in rig.notices if f"The demonstration does not {what}" in one]
        assert len(rig.app.screen_stack) == 1


async def test_the_demonstration_says_that_no_prompt_waits_for_a_budget() -> None:
    async with running(state(), is_demo=True, on_demo=lambda: None) as rig:
        await rig.press("1", "full_stop", "b")
        assert rig.notices[-1].startswith("The demonstration does not hold prompts")
