"""What happens in a session becomes facts in its ledger, and a line at each turn's end."""

import typing
from typing import Any, Union

import msgspec
import pytest

from tapui.core.effects import KeepFacts, LookAtFolder, OpenLedger
from tapui.core.proof import ledger
from tapui.core.proof.facts import AnyFact, FolderChangeSeen, FolderSeen
from tapui.core.proof.history import FactHistory
from tapui.projection.proof import activity_word, session_recorded_words
from tests.core.conftest import Scene
from tests.core.harness import Conversation, Json

PASSED = "2 passed in 0.01s"
FAILED = "1 failed, 1 passed in 0.01s"
CHANGED = "the ledger was changed outside of tapui"


class Agent:
    """A played session `s2` whose shells its host names, in the folder `/code`."""

    def __init__(self, scene: Scene) -> None:
        self.talk, self.host, self.tower = scene.talk, scene.host, scene.tower
        self.shell = scene.talk.proof
        self.session = "s2"
        self._calls = 0
        self.shell.begin()
        self.open()

    def open(self) -> None:
        self.host.open(self.session, shellTools=["bash"], reservedTools=["bash"], cwd="/code")

    def tell(self, name: str, **data: Any) -> None:
        self.host.event(self.session, name, **data)

    def begin(self, prompt: str = "go") -> None:
        self.talk.wait(1)
        self.tell("user.message", content=prompt)

    def end(self, **data: Any) -> None:
        self.talk.wait(1)
        self.tell("session.idle", **data)

    def start(self, command: str, tool: str = "bash") -> str:
        self._calls += 1
        id_ = f"t{self._calls}"
        args = {"command": command}
        self.tell("tool.execution_start", tool=tool, toolCallId=id_, args=args)
        return id_

    def ended(self, id_: str, code: int | None = 0, output: str = "", **shell: Any) -> None:
        told: Json = {"result": {"type": "success", "output": output}}
        if code is not None:
            told["exitCode"] = code
        told["shell"] = {"id": "1", "cwd": "/code", **shell}
        self.tell("tool.execution_complete", tool="bash", toolCallId=id_, **told)

    def run(self, command: str, code: int = 0, output: str = "", **shell: Any) -> None:
        self.ended(self.start(command), code, output, **shell)

    def edit(self, path: str = "cart.py", content: str = "new") -> None:
        self._calls += 1
        id_ = f"t{self._calls}"
        self.tell("tool.execution_start", tool="edit", toolCallId=id_, args={"path": path})
        self.shell.files[path] = content
        changes = [{"path": f"/code/{path}", "added": 1, "removed": 0}]
        self.tell("tool.execution_complete", tool="edit", toolCallId=id_, changes=changes)

    def changes(self) -> None:
        """A turn begins, and changes a file."""
        self.begin()
        self.edit()

    def checks(self) -> None:
        """A turn begins, changes a file, and its tests pass."""
        self.changes()
        self.run("pytest", 0, PASSED)

    def lines(self) -> list[str]:
        """Return what each turn's head shows now."""
        turns = self.talk.gateway.state.turns[self.session].turns
        return [
            "" if one.proof is None else f"{one.proof.state}: {one.proof.text}" for one in turns
        ]

    @property
    def stands(self) -> str:
        """How the session stands: its word, and what is recorded."""
        state = self.talk.gateway.state
        turns = state.turns[self.session]
        recorded = session_recorded_words(turns, lambda _: "19:41", "v")
        return f"{activity_word(state, state.sessions[self.session])}: {recorded}"

    @property
    def facts(self) -> list[AnyFact]:
        """Return what the ledger has."""
        found = ledger.read(self.session, self.shell.ledgers[self.session])
        assert not found.fault
        return found.facts


@pytest.fixture
def agent(scene: Scene) -> Agent:
    return Agent(scene)


def test_checked_after_the_last_change(agent: Agent) -> None:
    agent.changes()
    agent.run("pytest -q", 0, PASSED)
    agent.end()
    assert agent.lines() == ["checked: pytest, 2 tests, after the last change"]
    kinds = [type(one).__name__ for one in agent.facts]
    assert kinds == [
        "WatchBegan",
        "TurnBegan",
        "FolderSeen",
        "FilesWritten",
        "FolderChangeSeen",
        "CommandBegan",
        "CommandEnded",
        "FolderSeen",
        "TurnEnded",
        "FolderSeen",
        "TurnJudged",
        "SessionJudged",
    ]


def test_a_turn_says_its_end(agent: Agent) -> None:
    agent.begin()
    agent.tell("assistant.message", content="I begin.")
    agent.tell("assistant.message", content="All done:\nall tests pass.")
    agent.end()
    (turn,) = agent.talk.gateway.state.turns["s2"].turns
    assert turn.head().says == "All done: ⏎ all tests pass."


def test_a_later_turn_that_checks_is_named(agent: Agent) -> None:
    agent.changes()
    agent.run("ruff check .", 1, "Found 1 error.")
    agent.end()
    agent.begin()
    agent.run("ruff check .", 0, "All checks passed!")
    agent.end()
    first, second = agent.talk.gateway.state.turns["s2"].turns
    assert agent.lines() == ["failed: ruff check, exit 1", ""]
    assert first.proof is not None
    assert first.proof.checked_in == second.number


def test_an_editor_between_turns_is_outside(agent: Agent) -> None:
    agent.checks()
    agent.end()
    agent.shell.files["till.py"] = "typed"
    agent.begin()
    agent.edit("cart.py", "newer")
    agent.end()
    assert agent.lines()[1] == ("unchecked: 2 files changed since pytest passed")


def test_a_background_command_tells_its_code_later(agent: Agent) -> None:
    agent.changes()
    id_ = agent.start("pytest")
    agent.ended(id_, None, "<command started>", isBehind=True)
    agent.end()
    assert agent.lines() == ["unchecked: 1 file changed; pytest: still runs (shell 1)"]
    agent.begin()
    shell = {"id": "1", "cwd": "/code", "tail": PASSED}
    agent.tell("shell.completed", toolCallId=id_, exitCode=0, shell=shell)
    agent.end()
    first, second = agent.talk.gateway.state.turns["s2"].turns
    assert first.proof is not None
    assert first.proof.checked_in == second.number


def test_a_providers_tool_called_bash_proves_nothing(scene: Scene) -> None:
    agent = Agent(scene)
    agent.session = "s3"
    agent.host.open("s3", shellTools=["greet"], cwd="/code")
    agent.talk.provider("s3", name="other")
    agent.changes()
    agent.ended(agent.start("pytest", "greet"), 0, PASSED)
    agent.end()
    assert agent.lines() == [""]


def test_of_a_host_that_names_no_shells_nothing_is_kept(scene: Scene) -> None:
    agent = Agent(scene)
    agent.session = "s1"
    agent.checks()
    agent.end()
    assert agent.lines() == [""]
    assert "s1" not in agent.shell.ledgers


def test_nothing_is_shown_before_it_is_on_the_disk(agent: Agent) -> None:
    agent.checks()
    agent.shell.holds = (KeepFacts,)
    agent.end()
    assert agent.lines() == [""]
    agent.shell.release()
    assert agent.lines() == ["checked: pytest, 2 tests, after the last change"]


def test_a_look_that_something_happened_beside_is_of_no_use(agent: Agent) -> None:
    agent.changes()
    agent.shell.holds = (LookAtFolder,)
    agent.run("pytest", 0, PASSED)
    agent.edit("till.py")
    agent.shell.release()
    agent.end()
    assert agent.lines() == ["unchecked: 2 files changed; pytest: the folder was not looked at"]


@pytest.mark.parametrize("path", ["/code/till.py", "till.py"])
def test_a_look_after_a_check_may_show_what_a_later_edit_has_written(
    agent: Agent, path: str
) -> None:
    agent.changes()
    agent.shell.holds = (LookAtFolder,)
    agent.run("pytest", 0, PASSED)
    agent.tell("tool.execution_start", tool="edit", toolCallId="e1", args={"path": path})
    agent.shell.files["till.py"] = "new"
    agent.shell.release()
    changes = [{"path": path, "added": 1, "removed": 0}]
    agent.tell("tool.execution_complete", tool="edit", toolCallId="e1", changes=changes)
    agent.end()
    assert agent.lines() == ["unchecked: 1 file changed since pytest passed"]


def test_a_look_that_had_to_wait_is_not_of_the_check_before_an_edit(agent: Agent) -> None:
    agent.changes()
    agent.shell.holds = (LookAtFolder,)
    agent.edit("shop.py")
    agent.run("pytest", 0, PASSED)
    agent.edit("till.py")
    agent.shell.release()
    agent.end()
    (line,) = agent.lines()
    assert line.startswith("unchecked: 3 files changed")


@pytest.mark.parametrize("path", ["/code/cart.py", "cart.py"])
def test_a_turn_of_which_only_its_tools_tell_what_changed(agent: Agent, path: str) -> None:
    agent.shell.holds = (LookAtFolder,)
    agent.begin()
    agent.run("pytest", 0, PASSED)
    agent.tell("tool.execution_start", tool="edit", toolCallId="e1", args={"path": path})
    agent.shell.files["cart.py"] = "new"
    agent.shell.release()
    changes = [{"path": path, "added": 1, "removed": 0}]
    agent.tell("tool.execution_complete", tool="edit", toolCallId="e1", changes=changes)
    agent.end()
    (line,) = agent.lines()
    assert line.startswith("unchecked: 1 file changed")


@pytest.mark.parametrize("is_first", [True, False])
def test_a_file_that_was_written_before_the_turn_was_looked_at(
    agent: Agent, *, is_first: bool
) -> None:
    if not is_first:
        agent.begin()
        agent.end()
    agent.shell.holds = (LookAtFolder,)
    agent.begin()
    agent.tell("tool.execution_start", tool="edit", toolCallId="e1", args={"path": "cart.py"})
    agent.shell.files["cart.py"] = "new"
    agent.shell.release()
    changes = [{"path": "/code/cart.py", "added": 1, "removed": 0}]
    agent.tell("tool.execution_complete", tool="edit", toolCallId="e1", changes=changes)
    agent.run("pytest", 0, PASSED)
    agent.end()
    assert agent.lines()[-1] == "checked: pytest, 2 tests, after the last change"


def test_a_command_that_wrote_before_the_turn_was_looked_at(agent: Agent) -> None:
    agent.begin()
    agent.run("pytest", 0, PASSED)
    agent.end()
    agent.shell.holds = (LookAtFolder,)
    agent.begin()
    id_ = agent.start("sed -i s/a/b/ cart.py")
    agent.shell.files["cart.py"] = "new"
    agent.shell.release()
    agent.ended(id_)
    agent.end()
    assert agent.lines()[-1] == "unchecked: 1 file changed since pytest passed"


def test_what_an_editor_changed_before_a_turn_is_not_the_turn_s(agent: Agent) -> None:
    agent.begin()
    agent.run("pytest", 0, PASSED)
    agent.end()
    agent.shell.files["cart.py"] = "typed"
    agent.shell.holds = (LookAtFolder,)
    agent.begin()
    agent.run("ls")
    agent.shell.release()
    agent.end()
    assert agent.lines()[-1] == ""


def test_what_did_not_run_has_not_failed(agent: Agent) -> None:
    agent.changes()
    agent.run("make tests", 2, "make: *** No rule to make target 'tests'.  Stop.")
    agent.end()
    why = "its script or target is not there"
    assert agent.lines() == [f"unchecked: 1 file changed; make tests: {why}"]
    agent.begin()
    agent.edit("cart.py", "newer")
    agent.run("pytest", 0, PASSED)
    agent.end()
    assert agent.lines()[-1] == "checked: pytest, 2 tests, after the last change"


def test_checks_side_by_side(agent: Agent) -> None:
    agent.changes()
    first, second = agent.start("ruff check ."), agent.start("pytest")
    agent.ended(first, 0, "All checks passed!")
    agent.ended(second, 0, PASSED)
    agent.end()
    assert agent.lines() == ["checked: pytest, 2 tests, after the last change"]


def test_the_next_turn_does_not_wait(agent: Agent) -> None:
    agent.checks()
    agent.edit("till.py")
    agent.shell.holds = (LookAtFolder,)
    agent.end()
    agent.begin("more")
    assert agent.lines() == ["unchecked: 1 file changed since pytest passed", ""]
    agent.shell.release()


def test_after_a_restart_it_is_the_same(agent: Agent) -> None:
    agent.checks()
    agent.end()
    begun = agent.talk.gateway.state.turns["s2"].turns[0].told()
    again = restarted(agent)
    again.talk.earlier["s2"] = [begun]
    again.open()
    assert again.lines() == agent.lines() == ["checked: pytest, 2 tests, after the last change"]
    again.begin()
    again.edit("cart.py", "newer")
    again.end()
    assert again.lines()[1] == "unchecked: 1 file changed since pytest passed"


def test_the_ledger_grows_by_what_changed_and_reads_back_as_it_was(agent: Agent) -> None:
    agent.shell.files.update({f"data/file-with-a-name-{at}.json": "1" for at in range(3_000)})
    agent.begin()
    for at in range(20):
        before = len(agent.shell.ledgers["s2"])
        agent.edit("cart.py", f"v{at}")
        agent.run("rm x", 0)
        if at % 5 == 4:
            del agent.shell.files[f"data/file-with-a-name-{at}.json"]
            agent.shell.packages = ("web",) if at % 10 == 4 else ()
        agent.run("pytest", 0, PASSED)
        assert len(agent.shell.ledgers["s2"]) - before < 4_000
    watched = agent.talk.gateway.proof.of("s2")
    assert watched is not None
    live, again = watched.history, FactHistory()
    for told in agent.facts:
        again.add(told)
    assert again.states == live.states
    assert again.first == live.first
    for one, other in zip(live.commands, again.commands, strict=True):
        assert (one.before, one.after) == (other.before, other.after)


def test_a_ledger_of_whole_states_is_read_on(agent: Agent) -> None:
    agent.checks()
    former, history = ledger.ProofLedger("s2"), FactHistory()
    lines = b""
    for told in agent.facts:
        history.add(told)
        whole: AnyFact = told
        if isinstance(told, FolderChangeSeen):
            states = list(history.states or ())
            whole = FolderSeen(at=told.at, states=states, call_id=told.call_id)
        lines += former.line(whole)
    assert len(lines) > len(agent.shell.ledgers["s2"])
    again = restarted(agent)
    again.shell.ledgers["s2"] = lines
    again.open()
    again.begin()
    again.edit("cart.py", "newer")
    again.end()
    assert again.lines() == ["unchecked: 1 file changed since pytest passed"]


def test_an_earlier_tapui_does_not_take_changed_states_for_empty_ones(agent: Agent) -> None:
    agent.changes()
    known = typing.get_args(AnyFact)
    former = Union[tuple(one for one in known if one is not FolderChangeSeen)]  # noqa: UP007
    (told,) = (one for one in agent.facts if isinstance(one, FolderChangeSeen))
    with pytest.raises(msgspec.ValidationError, match="folderChange"):
        msgspec.json.decode(msgspec.json.encode(told), type=former)


def test_what_the_records_say_of_proof_is_not_believed(agent: Agent) -> None:
    agent.checks()
    agent.end()
    begun = agent.talk.gateway.state.turns["s2"].turns[0].told()
    again = restarted(agent)
    again.shell.ledgers.clear()
    again.talk.earlier["s2"] = [begun]
    again.open()
    assert again.lines() == [""]


def test_a_command_that_tapui_did_not_see_end(agent: Agent) -> None:
    agent.changes()
    agent.start("pytest")
    again = restarted(agent)
    again.open()
    again.begin()
    again.edit("cart.py", "newer")
    again.end()
    assert again.lines() == ["unchecked: 1 file changed; pytest: tapui ended before it did"]


def test_a_ledger_that_something_else_changed(agent: Agent) -> None:
    agent.checks()
    agent.end()
    agent.shell.is_changed = True
    agent.begin()
    agent.edit("cart.py", "newer")
    agent.end()
    assert agent.lines()[0] == f"unchecked: {CHANGED}"
    (notice,) = agent.tower.hear_of("tower.notice")
    assert notice["message"].startswith(CHANGED)
    assert unbelieved(agent) == [("s2", CHANGED)]


def unbelieved(agent: Agent) -> list[tuple[str | None, str]]:
    """Return the sessions with the alarm about their ledger, and why it is raised."""
    alarms = agent.talk.gateway.state.alarms.values()
    return [(one.session_id, one.why) for one in alarms if one.kind == "ledger"]


def test_a_ledger_that_was_changed_last_is_noticed_when_the_session_ends(agent: Agent) -> None:
    agent.checks()
    agent.end()
    assert agent.lines() == ["checked: pytest, 2 tests, after the last change"]
    agent.shell.is_changed = True
    agent.host.say(type="session.close", sessionId="s2", reason="over")
    agent.talk.wait(20)
    assert agent.lines() == [f"unchecked: {CHANGED}"]
    assert unbelieved(agent) == [("s2", CHANGED)]
    assert agent.shell.open == {}


def test_a_ledger_that_was_changed_last_is_noticed_when_the_gateway_ends(agent: Agent) -> None:
    agent.checks()
    agent.end()
    agent.shell.is_changed = True
    agent.talk.tell(agent.talk.gateway.proof.check)
    agent.talk.turn()
    assert unbelieved(agent) == [("s2", CHANGED)]
    again = restarted(agent)
    again.open()
    again.begin()
    assert unbelieved(again) == [("s2", CHANGED)]
    assert again.tower.hear_of("tower.notice") == []  # that was told before


def test_a_ledger_that_is_as_it_was_is_let_go(agent: Agent) -> None:
    agent.begin()
    agent.end()
    before = agent.shell.ledgers["s2"]
    agent.talk.tell(agent.talk.gateway.proof.check)
    agent.talk.turn()
    assert (agent.shell.ledgers["s2"], unbelieved(agent)) == (before, [])


def test_a_ledger_that_does_not_hold_together_is_not_believed(agent: Agent) -> None:
    agent.changes()
    agent.run("pytest", 1, FAILED)
    agent.end()
    again = restarted(agent)
    kept = again.shell.ledgers["s2"]
    again.shell.ledgers["s2"] = kept.replace(b'"code":1', b'"code":0')
    assert kept != again.shell.ledgers["s2"]
    again.open()
    again.changes()
    again.end()
    assert again.lines() == [""]
    (notice,) = again.tower.hear_of("tower.notice")
    assert "was changed outside of tapui" in notice["message"]
    ((session, why),) = unbelieved(again)
    assert (session, "was changed outside of tapui" in why) == ("s2", True)


def test_a_full_disk_proves_nothing(agent: Agent) -> None:
    agent.begin()
    agent.shell.fault = "No space left on device"
    agent.edit()
    agent.run("pytest", 0, PASSED)
    agent.end()
    assert agent.lines() == ["unchecked: the ledger cannot be written: No space left on device"]


def test_what_happens_while_the_ledger_is_read_is_kept(scene: Scene) -> None:
    scene.talk.proof.holds = (OpenLedger,)
    agent = Agent(scene)
    agent.changes()
    agent.run("pytest", 1, FAILED)
    agent.shell.release()
    agent.end()
    assert agent.lines() == ["failed: pytest, exit 1"]


def test_a_session_that_ends_lets_go_of_its_ledger(agent: Agent) -> None:
    agent.begin()
    agent.host.say(type="session.close", sessionId="s2", reason="over")
    agent.talk.wait(10)
    assert agent.shell.open == {}


def restarted(agent: Agent) -> Agent:
    """Return the same session in another gateway, with the ledgers and the folder as they are."""
    talk = Conversation()
    host, tower = talk.host(), talk.tower()
    talk.proof.ledgers = dict(agent.shell.ledgers)
    talk.proof.files = agent.shell.files
    talk.wait(1)
    again = Agent.__new__(Agent)
    again.talk, again.host, again.tower, again.shell = talk, host, tower, talk.proof
    again.session, again._calls = "s2", 100
    again.shell.begin()
    return again
