"""The sheet of a session's tools: what they cost, and what is switched on and off in it."""

from msgspec import Raw

from tapui.projection.state import State
from tapui.projection.turns.session import LiveTurns
from tapui.tower.sessions.session_tools import SessionToolsDetail, tokens_of
from tapui.wire import events as ev
from tapui.wire import limits
from tapui.wire.errors import ErrorCode
from tapui.wire.message import Error, OfferedTool
from tapui.wire.tower import ToolsList, ToolsRead, ToolsSwitch
from tapui.wire.turns import TurnSource
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import at, call, provider, session


def tool(name: str, provider: str = "greeter", size: int = 92) -> OfferedTool:
    """Return a tool of which name, description and schema are this many characters."""
    return OfferedTool(name, "x" * (size - len(name) - 2), Raw(b"{}"), provider)


def world() -> State:
    state = State()
    state.sessions["s1"] = session("s1", "Fix pairing")
    state.sessions["s2"] = session("s2", "Other")
    state.providers["p1"] = provider("p1", "greeter", session_id="s1", tools=["a", "b"])
    return state


async def opened(rig: Running, *tools: OfferedTool, own: list[str] | None = None) -> None:
    await rig.press("full_stop", "t")
    await answered(rig, *tools, own=own)


async def answered(rig: Running, *tools: OfferedTool, own: list[str] | None = None) -> None:
    asked = rig.feed.sent_of(ToolsRead)[-1]
    assert asked.all
    rig.feed.put(ToolsList(asked.id, list(tools), own))
    await rig.settle()


def line(rig: Running, words: str) -> str:
    return next(one for one in rig.text.splitlines() if words in one)


async def switched(rig: Running, **off: list[str]) -> None:
    rig.feed.happen(ev.ToolsSwitched("s1", off, "you"))
    await rig.settle()


TOOLS = (tool("a"), tool("b", size=4_000), tool("tap_post", "tap"))


async def test_what_each_tool_costs_and_how_often_it_was_called() -> None:
    async with running(world(), size=(80, 24)) as rig:
        rig.feed.happen(ev.SessionHappened(session_id="s1", event="session.busy"))
        for number in range(3):
            rig.feed.happen(ev.CallStarted("s1", call(f"c{number}", "b", session_id="s1")))
        await opened(rig, *TOOLS, own=["bash", "view"])
        assert isinstance(on_top(rig.app), SessionToolsDetail)
        assert "3 of 3 on, ~1,046 tokens" in rig.text
        assert "characters of name, description and schema ÷ 4" in rig.text
        assert "2 tools of the session's own: shown, not switched." in rig.text
        assert line(rig, "greeter  provider").split()[-3:-1] == ["1,023", "3"]
        assert line(rig, "✓ b").split()[-3:-1] == ["1,000", "3"]
        assert line(rig, "tap  tapui's own").split()[-2] == "23"
        assert "its own" in line(rig, "· bash")


async def test_it_says_of_which_turns_the_calls_are_counted() -> None:
    state = world()
    turns = state.turns["s1"] = LiveTurns("s1")
    for number in range(1, limits.TURNS + 11):
        turns.begin(at(900 - number), TurnSource("person"))
    async with running(state, size=(120, 36)) as rig:
        await opened(rig, tool("a"))
        known = sum(one.is_whole for one in rig.app.view.state.turns["s1"].turns)
        assert 0 < known <= limits.TURNS
        assert f"Calls: in the last {known} of {limits.TURNS + 10} turns." in rig.text


async def test_of_a_short_session_all_calls_are_counted() -> None:
    async with running(world()) as rig:
        rig.feed.happen(ev.SessionHappened(session_id="s1", event="session.busy"))
        await opened(rig, *TOOLS)
        assert "Calls: of all 1 turn." in rig.text


async def test_space_switches_a_tool_or_all_of_a_provider() -> None:
    async with running(world(), size=(120, 36)) as rig:
        await opened(rig, *TOOLS, own=["bash"])
        await rig.press("down", "space")
        assert rig.feed.sent_of(ToolsSwitch) == [ToolsSwitch("s1", "greeter", False, "a")]
        await switched(rig, greeter=["a"])
        assert "off" in line(rig, "× a")
        assert "2 of 3 on" in rig.text
        await rig.press("space")
        assert rig.feed.sent_of(ToolsSwitch)[-1] == ToolsSwitch("s1", "greeter", True, "a")
        await rig.press("up", "space")
        assert rig.feed.sent_of(ToolsSwitch)[-1] == ToolsSwitch("s1", "greeter", False)
        await switched(rig, greeter=[])
        assert "all off" in line(rig, "greeter  provider")
        assert "1 of 3 on" in rig.text
        await rig.press("space")
        assert rig.feed.sent_of(ToolsSwitch)[-1] == ToolsSwitch("s1", "greeter", True)


async def test_what_the_cli_owns_is_not_switched() -> None:
    async with running(world(), size=(120, 36)) as rig:
        await opened(rig, tool("a"), own=["bash"])
        await rig.press("end")
        assert "on or off" not in rig.text.splitlines()[-1]
        await rig.press("space")
        assert rig.feed.sent_of(ToolsSwitch) == []


async def test_what_is_off_and_not_offered_now_can_be_switched_on() -> None:
    state = world()
    state.tools_off["s1"] = {"away": [], "greeter": ["former"]}
    async with running(state, size=(120, 36)) as rig:
        await opened(rig, tool("a"))
        assert "The host does not name the session's own tools." in rig.text
        assert "off, not here" in line(rig, "× former")
        await rig.press("end", "space")
        assert rig.feed.sent_of(ToolsSwitch) == [ToolsSwitch("s1", "away", True)]


async def test_tools_of_one_name_of_two_providers() -> None:
    state = world()
    state.tools_off["s1"] = {"away": ["a"], "greeter": ["a"]}
    async with running(state, size=(120, 36)) as rig:
        await opened(rig, tool("a"))
        await rig.press("end", "space")
        await rig.press("home", "down", "space")
        asked = rig.feed.sent_of(ToolsSwitch)
        assert asked == [
            ToolsSwitch("s1", "away", True, "a"),
            ToolsSwitch("s1", "greeter", True, "a"),
        ]


async def test_other_tools_of_a_provider_are_read_again() -> None:
    async with running(world(), size=(120, 36)) as rig:
        await opened(rig, tool("a"))
        more = provider("p1", "greeter", session_id="s1", tools=["a", "later"])
        rig.feed.happen(ev.ProviderUpdated(provider=more))
        await rig.settle()
        assert len(rig.feed.sent_of(ToolsRead)) == 2
        assert "✓ a" in rig.text  # what was read stays until then
        await answered(rig, tool("a"), tool("later"))
        assert "✓ later" in rig.text


async def test_1000_tools_and_a_schema_of_a_megabyte() -> None:
    large = OfferedTool("large", "\x1b[2J" * 9, Raw(b'"' + b"x" * 1_000_000 + b'"'), "greeter")
    assert tokens_of(large) == (5 + 36 + 1_000_002) // 4
    async with running(world(), size=(80, 24)) as rig:
        await opened(rig, large, *(tool(f"t{number}") for number in range(999)))
        assert "1000 of 1000 on, ~272,987 tokens" in rig.text
        await rig.press("end", "space")
        assert rig.feed.sent_of(ToolsSwitch) == [ToolsSwitch("s1", "greeter", False, "t998")]
        await switched(rig, greeter=[f"t{number}" for number in range(999)])
        assert "1 of 1000 on" in rig.text


async def test_a_session_whose_tools_cannot_be_read_says_why() -> None:
    async with running(world(), size=(80, 24)) as rig:
        await rig.press("full_stop", "t")
        assert "Reading the tools" in rig.text
        asked = rig.feed.sent_of(ToolsRead)[-1]
        rig.feed.put(Error(ErrorCode.INVALID_SESSION, "gone", "tools.read", id=asked.id))
        await rig.settle()
        assert "They cannot be read: gone" in rig.text
