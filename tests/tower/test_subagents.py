"""Subagents on the screen: a row each below their session, and what they used on its sheet."""

from msgspec.structs import replace

from tapui.projection.state import State
from tapui.tower.sessions.session_detail import SessionDetail
from tapui.tower.textual.reader import Reader
from tapui.wire import subjects
from tests.tower.running import on_top, running
from tests.tower.scripted import at
from tests.tower.told import turns_world


def agents_world() -> State:
    """Return the world with four subagents in its first session; one of them asks."""
    state = turns_world()
    state.sessions["s1"] = replace(
        state.sessions["s1"],
        subagents=[
            _agent("r0", "explore", "completed", 700, 20_000),
            _agent("r1", "reviewer", "running", 140, 41_000),
            _agent("r2", "general-purpose", "running", 90, 118_000),
            _agent("r3", "security-review", "failed", 80),
        ],
    )
    detail = {"kind": "shell", "fullCommandText": "rg -l sleep", "agentId": "r2"}
    state.approvals["a9"] = subjects.Approval(
        "a9", "permission", "waiting", detail, at(30), at(-3_000), session_id="s1"
    )
    return state


def _agent(
    id_: str, name: str, state: subjects.SubagentState, ago: float, tokens: int | None = None
) -> subjects.Subagent:
    use = None if tokens is None else subjects.ContextUse(tokens, 128_000)
    return subjects.Subagent(id_, name, state, at(ago), context=use)


def row(text: str, name: str) -> str:
    """Return the words of the row of a subagent in Sessions, with one blank between them."""
    (found,) = [line for line in text.splitlines() if line.startswith(f"│   └ {name}")]
    return " ".join(found.strip("│").split())


async def test_a_subagent_at_work_has_a_row_with_what_it_does_and_how_full_it_is() -> None:
    async with running(agents_world(), size=(115, 36)) as rig:
        assert row(rig.text, "reviewer") == "└ reviewer view tests/rig.py busy 42s 32%"
        assert row(rig.text, "general-purpose") == "└ general-purpose ! asks you 30s 92%"
        assert "└ explore" not in rig.text
        (asked,) = [one for one in rig.text.splitlines() if "rg -l" in one and "left" in one]
        assert "-purpose  run" in asked, "the middle of the two names is left out"


async def test_a_subagents_name_for_people_stands_in_its_row_and_in_its_request() -> None:
    state = agents_world()
    session = state.sessions["s1"]
    names = {"r2": "sleep-finder\x1b[2J"}
    agents = [replace(one, display_name=names.get(one.id)) for one in session.subagents]
    state.sessions["s1"] = replace(session, subagents=agents)
    async with running(state, size=(115, 36)) as rig:
        assert row(rig.text, "sleep-finder").startswith("└ sleep-finder\\x1b[2J ! asks you")
        assert row(rig.text, "reviewer").startswith("└ reviewer view")
        assert "general-purpose" not in rig.text
        (asked,) = [one for one in rig.text.splitlines() if "rg -l" in one and "left" in one]
        assert "inder\\x1b[2J  run" in asked
        await rig.press("1", "enter")
        text = " ".join(rig.app.screen.query_one(Reader).text.split())
        assert "sleep-finder\\x1b[2J (general-purpose) running" in text


async def test_the_sheet_shows_an_agents_name_for_people_and_why_it_failed() -> None:
    state = agents_world()
    session = state.sessions["s1"]
    agents = [
        replace(one, display_name="Security review", error="the model\nwas away")
        if one.agent == "security-review"
        else one
        for one in session.subagents
    ]
    state.sessions["s1"] = replace(session, subagents=agents)
    async with running(state, size=(120, 36)) as rig:
        await rig.press("1", "enter")
        text = " ".join(rig.app.screen.query_one(Reader).text.split())
        assert "Security review (security-review) failed: the model was away" in text


async def test_the_sheet_of_a_session_lists_its_subagents() -> None:
    async with running(agents_world(), size=(115, 36)) as rig:
        await rig.press("1", "enter")
        assert isinstance(on_top(rig.app), SessionDetail)
        text = " ".join(rig.app.screen.query_one(Reader).text.split())
        for said in (
            "security-review stopped or failed",
            "general-purpose running context 92%: 118,000 of 128,000 tokens",
            "reviewer running context 32%: 41,000 of 128,000 tokens 3 calls “Look for more",
            "explore completed context 16%: 20,000 of 128,000 tokens",
        ):
            assert said in text
