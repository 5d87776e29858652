"""Sessions that are started in the tower, ended there, and handed over to a terminal."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tapui.projection.state import State
from tapui.tower.app.services import AgentOnDisk, IgnoredFiles
from tapui.tower.sessions.agent_choice import AgentsScreen
from tapui.tower.sessions.start_sheet import StartScreen
from tapui.wire import events as ev
from tapui.wire.steering import (
    AgentsList,
    AgentsRead,
    NamedAgent,
    Order,
    SessionEnd,
    SessionStart,
    SessionStarted,
)
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
        await rig.press("g", "o", "tab", "m", "tab", "r", "tab", "p", "enter")
        sent = started(rig)
        assert (sent.folder, sent.prompt, sent.model, sent.mode) == ("/code/app", "go", "m", "plan")
        assert sent.agent == "r"
        assert (sent.trust_folder, sent.unattended) == (False, False)
        rig.feed.put(SessionStarted(sent.id, "s9"))
        await rig.settle()
        assert rig.notices == ["A session has started in /code/app."]
        await rig.press("plus")
        assert "/code/app" in rig.text  # the next one begins there, without the prompt
        assert "what it is to do" in rig.text


async def test_what_cannot_be_is_said_in_the_sheet() -> None:
    async with running(state(), size=(120, 36)) as rig:
        await rig.press("plus", "shift+tab", "shift+tab", "home", *"code", "enter")
        assert "must be an absolute path" in rig.text
        assert rig.feed.sent == []
        await rig.press("escape")
        assert rig.feed.sent == []


async def test_a_folder_that_is_no_path_is_said_in_the_sheet() -> None:
    async with running(state(), size=(120, 36)) as rig:
        for folder in ("~nobody/x", "~", "x", "./x"):
            await rig.press("plus", "shift+tab", "shift+tab", "ctrl+u", "ctrl+k", *folder, "enter")
            assert "The folder must be an absolute path" in rig.text, folder
            assert rig.feed.sent == [], folder
            await rig.close_all()


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


# Work trees


async def until(rig: Running, found: Callable[[], object]) -> None:
    await until_async(found, what=lambda: rig.text)
    await rig.settle()


async def test_a_session_is_started_in_a_new_worktree() -> None:
    store = ScriptedStore()
    async with running(state(), size=(120, 36), store=store) as rig:
        await rig.press("plus")
        assert "empty: in the folder; else the name of its branch" in rig.text
        await rig.press("g", "o", "shift+tab", *"pairing", "enter")
        await until(rig, lambda: rig.feed.sent_of(SessionStart))
        assert store.asked == [("add_worktree", "/code/app pairing")]
        sent = started(rig)
        assert (sent.folder, sent.prompt) == ("/code/app.worktrees/pairing", "go")
        rig.feed.put(SessionStarted(sent.id, "s9"))
        await rig.settle()
        await rig.press("plus")
        assert "/code/app " in rig.text  # the next one begins in the selected session's folder
        assert "pairing" not in rig.text.replace("Fix pairing", "").partition("New worktree")[2]


async def test_a_worktree_that_cannot_be_made_starts_nothing() -> None:
    store = ScriptedStore()
    store.fault = "the branch pairing is there already"
    async with running(state(), size=(120, 36), store=store) as rig:
        await rig.press("plus", "shift+tab", *"pairing", "enter")
        await until(rig, lambda: any("there already" in one for one in rig.notices))
        assert rig.feed.sent == []
        await rig.press("plus")
        assert "pairing" in rig.text.partition("New worktree")[2]  # it is a draft


async def end(rig: Running, *keys: str) -> None:
    """Choose at the end of the session in a worktree."""
    await rig.press("down", "full_stop", "d")
    await until(rig, lambda: "keep the worktree" in rig.text)
    await rig.press(*keys)


async def closed(rig: Running) -> None:
    assert isinstance(rig.feed.sent[-1], SessionEnd)
    ended = replace(rig.app.view.state.sessions["s2"], state="ended")
    rig.feed.happen(ev.SessionClosed(session_id="s2", session=ended))
    await rig.settle()


async def test_the_end_asks_what_becomes_of_the_worktree_and_keeps_it_first() -> None:
    store = ScriptedStore()
    store.worktrees["/code/my notes"] = ""
    async with running(state(), size=(120, 36), store=store) as rig:
        await end(rig, "enter")
        await closed(rig)
        assert store.asked == []
        assert "/code/my notes" in store.worktrees


async def test_a_clean_worktree_is_removed_once_the_session_has_ended() -> None:
    store = ScriptedStore()
    store.worktrees["/code/my notes"] = ""
    async with running(state(), size=(120, 36), store=store) as rig:
        await end(rig, "down", "enter")
        assert store.asked == []
        await closed(rig)
        await until(rig, lambda: store.asked)
        assert store.asked == [("remove_worktree", "/code/my notes")]
        assert "The worktree /code/my notes is removed; its branch stays." in rig.notices


IGNORED = IgnoredFiles(12, 3_400_000, (".env", "data/", "no\x1b[2Jtes"), "seal")


async def test_what_git_ignores_is_named_and_takes_a_second_yes() -> None:
    store = ScriptedStore()
    store.worktrees["/code/my notes"] = ""
    store.ignored = IGNORED
    async with running(state(), size=(120, 36), store=store) as rig:
        await end(rig)
        assert "with 12 files that git ignores (3.4 MB)" in rig.text
        await rig.press("down", "enter")
        assert rig.feed.sent_of(SessionEnd) == []
        assert "Remove /code/my notes with files that git ignores?" in rig.text
        assert "In no commit, so gone with it: 12 files that git ignores (3.4 MB)" in rig.text
        for name in (".env", "data/", "tes", "…"):
            assert name in rig.text
        assert "\x1b" not in rig.text
        await rig.press("n")
        assert rig.feed.sent_of(SessionEnd) == []
        assert store.asked == []
        await end(rig, "down", "enter")
        await rig.press("y")
        await closed(rig)
        await until(rig, lambda: store.asked)
        assert store.asked == [("remove_worktree", "/code/my notes seal")]


async def test_a_worktree_with_work_in_it_is_kept_and_says_why() -> None:
    store = ScriptedStore()
    store.worktrees["/code/my notes"] = "it has work that is not committed: a.py"
    store.fault = store.worktrees["/code/my notes"]
    async with running(state(), size=(120, 36), store=store) as rig:
        await end(rig)
        assert "it has work that is not committed" in rig.text
        await rig.press("down", "enter")
        await closed(rig)
        await until(rig, lambda: any("is kept" in one for one in rig.notices))
        assert "/code/my notes" in store.worktrees


async def test_a_worktree_is_not_removed_when_the_session_could_not_end() -> None:
    store = ScriptedStore()
    store.worktrees["/code/my notes"] = ""
    async with running(state(), size=(120, 36), store=store) as rig:
        await end(rig, "down", "enter")
        order = Order("o1", "s2", "close", "given", "tapui", at())
        rig.feed.happen(ev.OrderGiven(session_id="s2", order=order))
        rig.feed.happen(ev.OrderChanged(session_id="s2", order_id="o1", state="failed"))
        await closed(rig)
        assert store.asked == []


AGENTS = [
    AgentOnDisk("reviewer", "Reviews [red]changes\x1b[2J", is_own=False),
    AgentOnDisk("writer", "Writes notes", is_own=True),
]


def with_agents() -> ScriptedStore:
    store = ScriptedStore()
    store.agents_found = AGENTS
    return store


async def agents_listed(rig: Running, *told: NamedAgent) -> None:
    """Open the list of agents in a new session's sheet; the host names these."""
    await rig.press("plus", "tab", "tab", "space")
    assert isinstance(rig.app.screen, AgentsScreen)
    await until_async(lambda: "writer" in rig.text, what=lambda: rig.text)
    asked = rig.feed.sent_of(AgentsRead)[-1]
    assert asked.folder == "/code/app"
    rig.feed.put(AgentsList(asked.id, list(told)))
    await rig.settle()


@pytest.mark.parametrize("size", [(80, 24), (60, 15)])
async def test_agents_are_chosen_from_a_list_with_what_they_are_for(size: tuple[int, int]) -> None:
    store = with_agents()
    async with running(state(), size=size, store=store) as rig:
        await agents_listed(rig, NamedAgent("remote", "Of the organisation"))
        assert store.agents_asked == ["/code/app"]
        for words in ("remote", "Of the org", "reviewer", "Reviews [red]", "this folder's"):
            assert words in rig.text or size[0] == 60, words
        assert "\x1b" not in rig.text
        await rig.press("enter")  # the first that came stays under the cursor
        await rig.press("enter")
        assert started(rig).agent == "reviewer"


async def test_what_is_typed_filters_the_list() -> None:
    async with running(state(), store=with_agents()) as rig:
        await agents_listed(rig)
        await rig.press("n", "o", "t", "e")
        assert "reviewer" not in rig.text
        await rig.press("enter", "enter")
        assert started(rig).agent == "writer"


async def test_a_name_that_is_not_listed_is_taken_as_typed() -> None:
    async with running(state(), store=with_agents()) as rig:
        await agents_listed(rig)
        await rig.press("z", "z", "enter")
        await rig.press("enter")
        assert started(rig).agent == "zz"


async def test_without_any_agent_the_list_says_so() -> None:
    store = ScriptedStore()
    async with running(state(), store=store) as rig:
        await rig.press("plus", "tab", "tab", "space")
        await until_async(
            lambda: "No custom agent is known here" in rig.text, what=lambda: rig.text
        )
        await rig.press("escape")
        assert isinstance(rig.app.screen, StartScreen)


async def test_space_in_a_name_is_a_space() -> None:
    async with running(state(), store=with_agents()) as rig:
        await rig.press("plus", "tab", "tab", "a", "space", "b", "enter")
        assert started(rig).agent == "a b"
