"""`changes.read` and `diff.read`: what is compared, by whom files were changed, what is refused."""

import pytest

from tapui.core.conversations.comparisons import LATE_START, MOST_UNDER_WAY
from tapui.core.effects import CompareFolder, LookAtFolder
from tapui.core.proof import facts as fact
from tapui.core.proof.file_writers import MOST_FILES, FileWriters, wrote
from tapui.core.proof.folder_states import TOO_LARGE, FolderState
from tapui.core.proof.history import MOST_TURNS, FactHistory
from tapui.wire import limits
from tapui.wire.changes import FileWriter
from tests.core.conftest import Scene
from tests.core.harness import Json
from tests.core.proof.story import ROOT, Story
from tests.core.proof.test_watching import PASSED, Agent


@pytest.fixture
def agent(scene: Scene) -> Agent:
    return Agent(scene)


def read(agent: Agent, kind: str = "changes.read", session: str = "s2", **asked: object) -> None:
    agent.tower.say(type=kind, id="c", sessionId=session, **asked)


def changes(agent: Agent, **asked: object) -> dict[str, Json]:
    read(agent, **asked)
    return {one["path"]: one for one in agent.tower.hear_one("changes")["files"]}


def by(file: Json) -> list[tuple[str, str, bool]]:
    return [
        (one["kind"], one.get("what", ""), one.get("isProbable", False))
        for one in file.get("by", ())
    ]


def writers(story: Story, path: str) -> list[tuple[str, str, bool]]:
    found = story.history.writers.of(ROOT, path)
    return [(one.kind, one.what, one.is_probable) for one in found]


# By whom


def test_tools_commands_and_others_are_told_apart(agent: Agent) -> None:
    agent.begin()
    agent.edit("cart.py")
    agent.shell.files["by-sed.py"] = "1"
    agent.run("sed -i s/a/b/ by-sed.py")
    agent.run("pytest -q", 0, PASSED)
    agent.shell.files["by-editor.py"] = "1"
    found = changes(agent)
    assert {path: by(one) for path, one in found.items()} == {
        "cart.py": [("tool", "edit", False)],
        "by-sed.py": [("shell", "sed -i s/a/b/ by-sed.py", False)],
        "by-editor.py": [("unknown", "", False)],
    }
    assert {path: one["isAfterCheck"] for path, one in found.items()} == {
        "cart.py": False,
        "by-sed.py": False,
        "by-editor.py": True,
    }
    (tool,) = found["cart.py"]["by"]
    assert (tool["callId"], tool["turn"]) == ("t1", 1)


def test_several_writers_stand_newest_first_and_bounded() -> None:
    story = Story()
    story.edit("a.py", "1")
    story.look()
    for number in range(limits.FILE_WRITERS + 2):

        def write(content: str = f"c{number}") -> None:
            story.files["a.py"] = content

        story.run(f"python write.py {number}", meanwhile=write)
    assert [what for _, what, _ in writers(story, "a.py")] == [
        f"python write.py {number}" for number in range(limits.FILE_WRITERS + 1, 1, -1)
    ]


def test_the_same_writer_is_named_once() -> None:
    story = Story()
    for content in "123":
        story.edit("a.py", content)
        story.look()
    assert writers(story, "a.py") == [("tool", "", False)]


def test_of_two_commands_at_once_the_one_that_ended_is_probable() -> None:
    story = Story()
    first = story.begin("make all")
    second = story.begin("npm run dev")
    story.files["a.py"] = "1"
    story.end(first)
    assert writers(story, "a.py") == [("shell", "make all", True)]
    story.end(second)


def test_a_tool_that_names_no_file_is_probable() -> None:
    story = Story()
    story.add(fact.FilesWritten(at="t", call_id="p1", tool="deploy"))
    story.files["a.py"] = "1"
    story.look()
    assert writers(story, "a.py") == [("tool", "deploy", True)]


def test_a_check_that_the_person_ran_is_theirs(agent: Agent) -> None:
    story = Story()
    told = fact.CommandBegan(at="t", call_id="x", text="make fmt", cwd=ROOT, turn=1, by="person")
    story.add(told)
    story.files["a.py"] = "1"
    story.end("x")
    assert writers(story, "a.py") == [("person", "make fmt", False)]


def test_what_was_dirty_at_the_first_look_has_no_writer() -> None:
    history = FactHistory()
    state = FolderState(ROOT, "tree", {"a.py": "1"}, is_whole=True)
    history.add(fact.FolderSeen(at="t", states=[state]))
    assert history.writers.of(ROOT, "a.py") == []


def test_what_an_earlier_look_did_not_come_to_has_a_writer_only_where_a_tool_names_it() -> None:
    story = Story()
    story.is_whole = False
    story.look()
    story.is_whole = True
    story.files["old.py"] = "1"
    story.edit("new.py", "1")
    story.look()
    assert (writers(story, "old.py"), writers(story, "new.py")) == ([], [("tool", "", False)])


@pytest.mark.parametrize(
    ("told", "is_it"),
    [
        (f"{ROOT}/lib/a.py", True),
        ("lib/a.py", True),
        (f"{ROOT}/lib/../lib/a.py", True),
        ("/link/to/shop/lib/a.py", True),
        (f"{ROOT}/other/lib/a.py", False),
        ("a.py", False),
        ("/elsewhere/a.py", False),
        ("", False),
    ],
)
def test_a_path_as_a_host_tells_it(told: str, is_it: bool) -> None:
    given = [fact.FilesWritten(at="t", call_id="c", paths=[told])]
    assert (wrote(given, ROOT, "lib/a.py") is not None) == is_it


def test_writers_are_bounded() -> None:
    found = FileWriters()
    for number in range(MOST_FILES + 1):
        found.add(number, ROOT, str(number), FileWriter("unknown", "t"))
    assert found.of(ROOT, "0") == []
    assert len(found.of(ROOT, "1")) == 1


def test_another_session_that_wrote_it_is_named(agent: Agent) -> None:
    agent.begin()
    agent.host.open("s3", label="Docs", shellTools=["bash"], reservedTools=["bash"], cwd="/code")
    agent.host.event("s3", "user.message", content="go")
    call = {"tool": "edit", "toolCallId": "o1"}
    agent.host.event("s3", "tool.execution_start", **call, args={"path": "docs.py"})
    agent.shell.files["docs.py"] = "1"
    told = [{"path": "/code/docs.py", "added": 1, "removed": 0}]
    agent.host.event("s3", "tool.execution_complete", **call, changes=told)
    assert by(changes(agent)["docs.py"]) == [("session", "Docs", False)]


# Since when


def test_since_a_turn_has_what_and_who_came_after_its_beginning(agent: Agent) -> None:
    agent.begin()
    agent.edit("first.py")
    agent.edit("both.py", "1")
    agent.end()
    agent.begin("more")
    agent.run("true")
    agent.shell.files["both.py"] = "2"
    agent.run("sed -i s/1/2/ both.py")
    assert set(changes(agent)) == {"first.py", "both.py"}
    assert set(changes(agent, since="turn", turn=1)) == {"first.py", "both.py"}
    newest = changes(agent, since="turn")
    assert {path: by(one) for path, one in newest.items()} == {
        "both.py": [("shell", "sed -i s/1/2/ both.py", False)]
    }
    assert len(changes(agent)["both.py"]["by"]) == 2


def test_turns_are_remembered_up_to_a_bound() -> None:
    history = FactHistory()
    state = FolderState(ROOT, "tree", {}, is_whole=True)
    for number in range(MOST_TURNS + 3):
        history.add(fact.TurnBegan(at=str(number), turn=number))
        history.add(fact.FolderSeen(at="t", states=[state]))
    assert [*history.turns] == [str(number) for number in range(3, MOST_TURNS + 3)]


def test_a_first_look_that_was_not_whole_gives_way_while_nothing_was_done() -> None:
    history = FactHistory()
    partial = FolderState(ROOT, "", {}, is_whole=False, why="too large")
    whole = FolderState(ROOT, "tree", {"a.py": "1"}, is_whole=True)
    for state in (partial, whole):
        history.add(fact.FolderSeen(at="t", states=[state]))
    assert history.began is not None
    assert history.began.states == (whole,)


def test_a_root_that_was_not_looked_at_then_is_compared_with_its_commit() -> None:
    history = FactHistory()
    partial = FolderState(ROOT, "", {}, is_whole=False, why="too large")
    whole = FolderState(ROOT, "tree", {"a.py": "1"}, is_whole=True)
    history.add(fact.FolderSeen(at="t", states=[partial]))
    history.add(fact.FilesWritten(at="t", call_id="c", paths=[f"{ROOT}/a.py"]))
    history.add(fact.FolderSeen(at="t", states=[whole]))
    assert history.began is not None
    assert history.began.states == (whole,)


def test_a_first_look_after_a_file_was_written_is_late_and_stays() -> None:
    history = FactHistory()
    history.add(fact.FilesWritten(at="t", call_id="c", paths=[f"{ROOT}/a.py"]))
    for content in "12":
        state = FolderState(ROOT, "tree", {"a.py": content}, is_whole=True)
        history.add(fact.FolderSeen(at="t", states=[state]))
    assert history.began is not None
    assert history.began.is_late
    assert history.began.states[0].files == {"a.py": "1"}


def test_what_was_written_before_the_first_look_is_noted(agent: Agent) -> None:
    agent.shell.holds = (LookAtFolder,)
    agent.begin()
    agent.edit("a.py")
    agent.shell.release()
    read(agent)
    told = agent.tower.hear_one("changes")
    assert (told.get("files", []), told["notes"]) == ([], [LATE_START])


def test_what_is_not_known_is_noted(agent: Agent) -> None:
    agent.shell.is_whole = False
    agent.begin()
    agent.edit("a.py")
    agent.start("make")
    agent.start("npm run build")
    read(agent)
    assert "/code: it has too many files" in agent.tower.hear_one("changes")["notes"]


# Only where there is something new


def facts_of(agent: Agent) -> bytes:
    return agent.shell.ledgers[agent.session]


def test_a_list_that_is_known_is_not_compared_again_and_leaves_nothing_in_the_ledger(
    agent: Agent,
) -> None:
    agent.begin()
    agent.edit("a.py")
    agent.end()
    read(agent)
    told = agent.tower.hear_one("changes")
    assert told["look"] > 0
    before, agent.shell.holds = facts_of(agent), (CompareFolder,)
    for _ in range(3):
        read(agent, known=told["look"])
        same = agent.tower.hear_one("changes")
        assert (same["same"], same["look"], same.get("files", [])) == (True, told["look"], [])
    assert facts_of(agent) == before


def test_what_another_program_wrote_is_listed_to_each_that_does_not_know_it(agent: Agent) -> None:
    agent.begin()
    agent.edit("a.py")
    read(agent)
    first = agent.tower.hear_one("changes")
    agent.shell.files["by-editor.py"] = "1"
    for _ in range(2):  # the second is another tower's, which has the first list as well
        read(agent, known=first["look"])
        found = agent.tower.hear_one("changes")
        assert [one["path"] for one in found["files"]] == ["a.py", "by-editor.py"]
        assert found["look"] > first["look"]
    read(agent, known=found["look"])
    assert agent.tower.hear_one("changes")["same"]


def test_a_look_for_news_holds_up_no_other_and_is_no_doubt(agent: Agent) -> None:
    agent.begin()
    agent.edit("a.py")
    read(agent)
    known = agent.tower.hear_one("changes")["look"]
    agent.shell.holds = (LookAtFolder,)
    read(agent, known=known)
    agent.shell.holds = ()
    agent.run("pytest -q", 0, PASSED)
    agent.end()
    assert agent.lines()[-1].startswith("checked: ")
    agent.shell.is_whole, agent.shell.why_partial = False, TOO_LARGE
    agent.shell.release()
    assert agent.tower.hear_one("changes")["same"], "it was broken off"
    assert agent.lines()[-1].startswith("checked: ")


def test_of_a_session_that_ends_meanwhile_nothing_is_the_same(agent: Agent) -> None:
    agent.begin()
    agent.edit("a.py")
    read(agent)
    known = agent.tower.hear_one("changes")["look"]
    agent.shell.holds = (LookAtFolder,)
    read(agent, known=known)
    agent.host.say(type="session.close", sessionId="s2")
    agent.shell.release()
    assert agent.tower.hear_one("error")["message"] == "the session has ended"


# Refused


def test_what_is_refused(agent: Agent) -> None:
    for asked, code in (
        ({"since": "turn", "turn": 7}, "NOT_FOUND"),
        ({"session": "nowhere"}, "INVALID_SESSION"),
        ({"kind": "diff.read", "root": "/code", "path": "no.py"}, "NOT_FOUND"),
    ):
        read(agent, **asked)  # type: ignore[arg-type]
        refused = agent.tower.hear_one("error")
        assert (refused["code"], refused["id"]) == (code, "c")
    agent.host.open("s5", cwd="/code")
    read(agent, session="s5")
    assert (
        agent.tower.hear_one("error")["message"] == "tapui does not see the commands of session s5"
    )


def test_comparisons_under_way_are_bounded(agent: Agent) -> None:
    agent.begin()
    agent.edit("a.py")
    agent.shell.holds = (CompareFolder,)
    for _ in range(MOST_UNDER_WAY + 1):
        read(agent, "diff.read", root="/code", path="a.py")
    assert agent.tower.hear_one("error")["code"] == "RATE_LIMITED"
    agent.shell.release()
    assert len(agent.tower.hear_of("diff")) == MOST_UNDER_WAY
    read(agent, "diff.read", root="/code", path="a.py")
    assert agent.tower.hear_one("diff")["file"]["path"] == "a.py"


def test_a_session_that_ends_meanwhile_is_refused(agent: Agent) -> None:
    agent.begin()
    agent.shell.holds = (LookAtFolder,)
    read(agent)
    agent.host.say(type="session.close", sessionId="s2")
    agent.shell.release()
    assert agent.tower.hear_one("error")["message"] == "the session has ended"
