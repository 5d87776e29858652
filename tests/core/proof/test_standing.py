"""How a session stands: by all that it has changed and the newest runs, whenever these happen."""

from typing import Any

import pytest

from tapui.core.effects import LookAtFolder
from tapui.core.proof.facts import SessionJudged
from tapui.projection.turns.earlier_turns import bounded
from tapui.wire import limits
from tests.core.conftest import Scene
from tests.core.proof.test_watching import FAILED, PASSED, Agent, restarted

CHECKED = "done ✓: ✓ checked: pytest, 2 tests, after the last change"
HAS_FAILED = "done ✗: ✗ check failed: pytest, exit 1"
STALE = "done ○: ○ unchecked: 1 file changed since pytest passed, 19:41"


@pytest.fixture
def agent(scene: Scene) -> Agent:
    return Agent(scene)


def checked(agent: Agent) -> None:
    """A turn changes a file, and checks it."""
    agent.checks()
    agent.end()
    assert agent.stands == CHECKED


def same_after_a_restart(agent: Agent) -> None:
    """Another gateway reads the ledger, and shows the same once it has looked at the folder."""
    turns = agent.talk.gateway.state.turns["s2"].turns
    again = restarted(agent)
    again.talk.earlier["s2"] = bounded(one.told() for one in turns)
    again.open()
    assert again.lines() == agent.lines()
    assert again.stands == agent.stands
    known = again.talk.gateway.state.turns["s2"].standing
    assert known == agent.talk.gateway.state.turns["s2"].standing


def test_a_run_that_fails_in_a_later_turn(agent: Agent) -> None:
    checked(agent)
    agent.begin("run them once more")
    agent.run("pytest", 1, FAILED)
    agent.end()
    assert agent.stands == HAS_FAILED
    assert agent.lines() == ["checked: pytest, 2 tests, after the last change", ""]
    same_after_a_restart(agent)


@pytest.mark.parametrize(
    ("code", "output", "stands", "checked_in"),
    [(0, PASSED, CHECKED, 2), (1, FAILED, HAS_FAILED, None)],
)
def test_the_tests_are_run_in_the_turn_after(
    agent: Agent, code: int, output: str, stands: str, checked_in: int | None
) -> None:
    agent.changes()
    agent.end()
    assert agent.stands == "done: no check known here; v names one"
    assert agent.lines() == [""]
    agent.begin("run the tests")
    agent.run("pytest", code, output)
    agent.end()
    assert agent.stands == stands
    assert agent.lines() == ["unchecked: no check was known then", ""]
    first = agent.talk.gateway.state.turns["s2"].turns[0].proof
    assert first is not None
    assert first.checked_in == checked_in
    same_after_a_restart(agent)


def test_an_editor_between_turns(agent: Agent) -> None:
    checked(agent)
    agent.shell.files["cart.py"] = "typed"
    agent.begin("explain")
    agent.end()
    stale = STALE.replace("changed", "changed outside of this session")
    assert agent.stands == stale
    assert agent.lines()[-1] == ""
    same_after_a_restart(agent)


def test_the_session_s_own_command_writes_behind_the_end(agent: Agent) -> None:
    agent.changes()
    id_ = agent.start("./generate.sh")
    agent.ended(id_, None, "<command started>", isBehind=True)
    agent.run("pytest", 0, PASSED)
    agent.end()
    assert agent.stands == CHECKED
    agent.shell.files["other.py"] = "generated"
    shell = {"id": "1", "cwd": "/code"}
    agent.tell("shell.completed", toolCallId=id_, exitCode=0, shell=shell)
    agent.talk.wait(1)
    assert agent.stands == STALE
    assert agent.lines() == ["checked: pytest, 2 tests, after the last change"]
    same_after_a_restart(agent)


@pytest.mark.parametrize(
    ("code", "output", "stands"), [(0, PASSED, CHECKED), (1, FAILED, HAS_FAILED)]
)
def test_a_check_in_the_background_ends_behind_the_end(
    agent: Agent, code: int, output: str, stands: str
) -> None:
    agent.changes()
    id_ = agent.start("pytest")
    agent.ended(id_, None, "<command started>", isBehind=True, id="3")
    agent.end()
    line = "unchecked: 1 file changed; pytest: still runs (shell 3)"
    assert agent.stands == f"done ○: ○ {line}"
    shell = {"id": "3", "cwd": "/code", "tail": output}
    agent.tell("shell.completed", toolCallId=id_, exitCode=code, shell=shell)
    agent.talk.wait(1)
    assert agent.stands == stands
    assert agent.lines() == [line], "it is of the turn's end"
    same_after_a_restart(agent)


def sub(agent: Agent, name: str, **data: Any) -> None:
    told = {"remoteSessionId": "a1", "toolCallId": "x", "agentName": "reviewer", **data}
    agent.tell(f"subagent.{name}", **told)


def test_a_subagent_goes_on_behind_the_end(agent: Agent) -> None:
    agent.changes()
    sub(agent, "started")
    agent.run("pytest", 0, PASSED)
    agent.end()
    assert agent.lines() == ["unchecked: reviewer still works"]
    call = {"tool": "edit", "toolCallId": "e1", "agentId": "a1"}
    agent.tell("tool.execution_start", **call, args={"path": "b.py"})
    agent.shell.files["b.py"] = "new"
    changes = [{"path": "/code/b.py", "added": 1, "removed": 0}]
    agent.tell("tool.execution_complete", **call, changes=changes)
    sub(agent, "completed")
    agent.talk.wait(1)
    assert agent.stands == STALE
    assert agent.lines() == [
        "unchecked: reviewer still works",
        "unchecked: 1 file changed since pytest passed",
    ]
    same_after_a_restart(agent)
    agent.begin()
    agent.run("pytest", 0, PASSED)
    agent.end()
    assert agent.stands == CHECKED
    turns = agent.talk.gateway.state.turns["s2"]
    assert [one.proof.checked_in for one in turns.turns if one.proof is not None] == [1, 3]
    assert turns.standing is not None
    assert (turns.standing.turns, turns.standing.unproven) == (2, 0)


def test_the_next_prompt_comes_while_a_subagent_works(agent: Agent) -> None:
    agent.checks()
    sub(agent, "started")
    agent.begin("more")
    assert agent.lines() == ["unchecked: reviewer still works", ""]
    agent.end()
    assert agent.stands == CHECKED


def test_a_subagent_that_changes_nothing_leaves_it_checked(agent: Agent) -> None:
    agent.changes()
    sub(agent, "started")
    agent.run("pytest", 0, PASSED)
    agent.end()
    sub(agent, "completed")
    agent.talk.wait(1)
    assert agent.stands == CHECKED


def test_what_is_not_looked_at_yet_is_not_checked(agent: Agent) -> None:
    checked(agent)
    agent.begin("explain")
    agent.shell.holds = (LookAtFolder,)
    agent.end()
    assert agent.stands == "done: not known: the folder was not looked at since the last turn"
    agent.shell.release()
    assert agent.stands == CHECKED


def test_a_turn_that_only_answers_leaves_it_done_all_along(agent: Agent) -> None:
    checked(agent)
    stood = []
    agent.begin("why 42?")
    stood.append(agent.stands)
    agent.tell("assistant.turn_start")
    agent.tell("assistant.message", content="It is the answer.")
    stood.append(agent.stands)
    agent.end()
    assert stood == ["busy: None", "busy: None"]
    assert agent.stands == CHECKED
    agent.tell("assistant.message", content="By the way.")
    assert agent.stands == CHECKED
    same_after_a_restart(agent)


def test_what_commands_changed_is_done_also_where_no_check_is_known(agent: Agent) -> None:
    agent.begin()
    agent.shell.files["cart.py"] = "new"
    agent.run("sed -i s/a/b/ cart.py")
    agent.end()
    assert agent.stands == "done: no check known here; v names one"
    agent.begin("why?")
    agent.end()
    assert agent.stands == "done: no check known here; v names one"
    same_after_a_restart(agent)


def test_a_session_stays_done_when_the_turn_that_changed_files_is_kept_no_longer(
    agent: Agent,
) -> None:
    agent.changes()
    agent.end()
    for _ in range(limits.TURNS):
        agent.begin("why?")
        agent.end()
    assert not any(one.files for one in agent.talk.gateway.state.turns["s2"].turns)
    assert agent.stands == "done: no check known here; v names one"


def test_documents_alone_need_no_check(agent: Agent) -> None:
    agent.begin()
    agent.edit("README.md")
    agent.run("pytest", 1, FAILED)
    agent.end()
    assert agent.stands.startswith("done: ")
    assert agent.talk.gateway.state.turns["s2"].standing is None


def test_what_only_others_changed_is_not_the_session_s(agent: Agent) -> None:
    agent.begin()
    agent.run("pytest", 0, PASSED)
    agent.end()
    agent.shell.files["cart.py"] = "typed"
    agent.begin("explain")
    agent.run("cat cart.py")
    agent.end()
    assert agent.stands == "idle: None"


def test_all_turns_are_counted(agent: Agent) -> None:
    agent.begin()
    agent.edit("a/x.py")
    agent.end()
    for number in range(60):
        agent.begin()
        agent.edit("b.py", f"{number}")
        agent.run("pytest", 1, FAILED)
        agent.end()
    turns = agent.talk.gateway.state.turns["s2"]
    assert len(turns.turns) == 50
    assert turns.standing is not None
    assert (turns.standing.turns, turns.standing.unproven) == (61, 61)
    agent.begin()
    agent.run("pytest", 0, PASSED)
    agent.end()
    assert (turns.standing.turns, turns.standing.unproven) == (61, 0)


def test_turns_of_before_tapui_watched_are_not_proven(agent: Agent) -> None:
    checked(agent)
    again = restarted(agent)
    begun = agent.talk.gateway.state.turns["s2"].turns[0].told()
    again.talk.earlier["s2"] = bounded([begun])
    again.shell.ledgers.clear()
    again.talk.wait(60)
    again.open()
    again.begin()
    again.edit("cart.py", "newer")
    again.run("pytest", 0, PASSED)
    again.end()
    assert again.stands == CHECKED
    known = again.talk.gateway.state.turns["s2"].standing
    assert known is not None
    assert (known.turns, known.unproven) == (2, 1)


def test_a_ledger_that_something_else_changed_leaves_nothing_checked(agent: Agent) -> None:
    checked(agent)
    agent.shell.is_changed = True
    agent.begin("explain")
    agent.end()
    assert agent.stands == "done ○: ○ unchecked: the ledger was changed outside of tapui"


def test_each_is_written_once(agent: Agent) -> None:
    checked(agent)
    stood = [one for one in agent.facts if isinstance(one, SessionJudged)]
    assert len(stood) == 1
    assert len(agent.talk.events("session.standing")) == 1
