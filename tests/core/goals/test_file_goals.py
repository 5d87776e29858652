"""Goals of a folder's file: opened in each session of it, with consent to their exact text."""

from typing import Any

import pytest

from tapui.core.effects import OpenLedger
from tapui.projection.state import is_waiting
from tapui.settings.settings import Proving, Settings
from tapui.wire import limits
from tapui.wire.goals import CriterionGiven, Goal
from tests.core.conftest import Scene
from tests.core.goals.played import GoalScene
from tests.core.harness import Conversation, Json
from tests.core.runner import goal_entry
from tests.core.sessions.test_starts import opens, start, starter

TESTS, LINT = goal_entry(), goal_entry("lint", "ruff check")


class FileScene(GoalScene):
    """The session `s2` in `/code`, whose file can have goals."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self.files = scene.talk.runner
        self.files.begin()

    def waiting(self) -> list[Json]:
        """Return the requests about goals of files that wait, as towers see them."""
        open_ = [id_ for id_, one in self.talk.gateway.state.approvals.items() if is_waiting(one)]
        told = [one["approval"] for one in self.talk.events("approval.requested")]
        return [one for one in told if one["kind"] == "fileGoal" and one["id"] in open_]

    def decide(self, decision: str = "approve") -> None:
        """Answer all that waits."""
        for one in self.waiting():
            self.tower.say(type="approval.decide", approvalId=one["id"], decision=decision)

    def of(self, session: str = "s2") -> list[Goal]:
        return self.talk.gateway.state.goals_of(session)

    def stand(self, session: str = "s2") -> list[tuple[str, str]]:
        """Return the goals of a session: title and status."""
        return [(one.title, one.status) for one in self.of(session)]

    def second(self, id_: str = "s3", cwd: str = "/code", **more: Any) -> None:
        self.host.open(id_, shellTools=["bash"], cwd=cwd, **more)

    def close(self, session: str = "s2") -> None:
        self.host.say(type="session.close", sessionId=session)


@pytest.fixture
def played(scene: Scene) -> FileScene:
    return FileScene(scene)


# Consent


def test_nothing_is_opened_before_the_person_allowed_it(played: FileScene) -> None:
    played.files.write_goals("/code", goal_entry("tests", "pytest -q", agent="reviewer"))
    (asked,) = played.waiting()
    assert asked["sessionId"] == "s2"
    assert asked["detail"] == {
        "name": "tests",
        "changed": "",
        "criteria": [{"check": {"kind": "ran", "command": "pytest -q"}}],
        "agent": "reviewer",
        "deadline": None,
        "folder": "/code",
        "file": "/code/tap.config.json",
        "line": None,
    }
    assert played.stand() == []
    played.decide()
    (goal,) = played.of()
    assert (goal.title, goal.opened_by, goal.unproven, goal.agent) == (
        "tests",
        "file",
        "tell",
        "reviewer",
    )
    assert [one.by for one in goal.criteria] == ["file"]


def test_what_the_person_denies_is_not_asked_about_again_until_it_changes(
    played: FileScene,
) -> None:
    played.files.write_goals("/code", TESTS)
    played.decide("deny")
    played.files.read_again("/code")
    played.second()
    assert (played.waiting(), played.stand(), played.stand("s3")) == ([], [], [])
    played.files.write_goals("/code", goal_entry("tests", "pytest -x"))
    assert len(played.waiting()) == 1


def test_without_an_answer_nothing_is_opened(played: FileScene) -> None:
    played.files.write_goals("/code", TESTS)
    played.talk.wait(limits.HOST_APPROVAL_TIMEOUT)
    assert (played.waiting(), played.stand()) == ([], [])


def test_a_consent_that_cannot_be_kept_opens_nothing(played: FileScene) -> None:
    played.files.consent_fault = "the disk is full"
    played.files.write_goals("/code", TESTS)
    played.tower.hear()
    played.decide()
    (notice,) = played.tower.hear_of("tower.notice")
    assert notice["message"] == "the consent to the goal tests could not be kept: the disk is full"
    assert (played.waiting(), played.stand()) == ([], [])


def test_a_changed_text_asks_again_and_the_former_goal_stays_until_then(
    played: FileScene,
) -> None:
    played.files.write_goals("/code", TESTS, allows=True)
    assert played.stand() == [("tests", "active")]
    played.files.write_goals("/code", goal_entry("tests", "true"))
    assert len(played.waiting()) == 1
    assert played.stand() == [("tests", "active")]
    played.decide()
    assert played.stand() == [("tests", "abandoned"), ("tests", "active")]
    former, current = played.of()
    assert (former.closed_by, former.note, former.note_by) == (
        "file",
        "changed in the file",
        "file",
    )
    assert current.criteria[0].text == "true ends with exit 0"


def test_a_question_goes_with_the_text_that_it_was_about(played: FileScene) -> None:
    played.files.write_goals("/code", TESTS)
    (first,) = played.waiting()
    played.files.write_goals("/code", goal_entry("tests", "true"))
    (second,) = played.waiting()
    assert first["id"] != second["id"]
    error = played.tower.error(type="approval.decide", approvalId=first["id"], decision="approve")
    assert error["code"] == "UNKNOWN_APPROVAL"
    played.files.write_goals("/code")
    assert (played.waiting(), played.stand()) == ([], [])


def test_an_answer_to_what_changed_meanwhile_opens_nothing(played: FileScene) -> None:
    played.files.write_goals("/code", TESTS)
    played.talk.records = "held"
    played.decide()
    played.files.write_goals("/code", LINT)
    played.talk.recorded()
    assert played.stand() == []
    assert [one["detail"]["name"] for one in played.waiting()] == ["lint"]


def test_a_file_that_is_written_over_and_over_asks_a_bounded_number_of_times(
    played: FileScene,
) -> None:
    for number in range(50):
        played.files.write_goals("/code", goal_entry(f"n{number}"))
    asked = [
        one for one in played.talk.events("approval.requested")
        if one["approval"]["kind"] == "fileGoal"
    ]  # fmt: skip
    assert len(asked) == limits.ASKED_AGAIN + 3
    notices = played.tower.hear_of("tower.notice")
    assert "asked too often about the goals of /code" in notices[-1]["message"]
    played.talk.wait(limits.ASKED_AGAIN_SECONDS)
    played.files.write_goals("/code", TESTS)
    assert len(played.waiting()) == 1


def test_what_was_allowed_elsewhere_is_opened_at_once(played: FileScene) -> None:
    played.files.write_goals("/code", TESTS)
    played.files.write_goals("/code", TESTS, allows=True)
    assert played.waiting() == []
    assert played.stand() == [("tests", "active")]


def test_nobody_is_asked_in_a_session_that_works_by_itself(talk: Conversation) -> None:
    talk.runner.begin()
    host, tower = starter(talk), talk.tower()
    start(tower, unattended=True)
    opens(host, host.hear_one("session.start"))
    talk.runner.write_goals("/code", TESTS)
    assert talk.events("approval.requested") == []
    talk.runner.write_goals("/code", TESTS, allows=True)
    (goal,) = talk.gateway.state.goals.values()
    assert (goal.title, goal.status) == ("tests", "active")


# Sessions


def test_each_session_of_the_folder_has_its_own(played: FileScene) -> None:
    played.files.write_goals("/code", TESTS, allows=True)
    played.second()
    played.second("s4", "/other")
    assert (played.stand(), played.stand("s3"), played.stand("s4")) == (
        [("tests", "active")],
        [("tests", "active")],
        [],
    )
    played.say("goal.change", goalId=played.of()[0].id, status="achieved")
    assert (played.stand(), played.stand("s3")) == ([("tests", "achieved")], [("tests", "active")])


def test_one_answer_is_for_all_sessions_of_the_folder(played: FileScene) -> None:
    played.second()
    played.files.write_goals("/code", TESTS)
    assert len(played.waiting()) == 1
    played.decide()
    assert played.stand() == played.stand("s3") == [("tests", "active")]


def test_another_session_is_asked_when_the_first_one_ends_or_leaves(played: FileScene) -> None:
    played.second()
    played.second("s4")
    played.files.write_goals("/code", TESTS)
    played.close()
    assert [one["sessionId"] for one in played.waiting()] == ["s3"]
    played.host.say(type="session.update", sessionId="s3", cwd="/other")
    assert [one["sessionId"] for one in played.waiting()] == ["s4"]
    played.close("s4")
    assert played.waiting() == []


@pytest.mark.parametrize("status", ["achieved", "failed"])
def test_what_the_person_closed_is_not_opened_again(played: FileScene, status: str) -> None:
    played.files.write_goals("/code", TESTS, allows=True)
    played.say("goal.change", goalId=played.of()[0].id, status=status)
    played.files.read_again("/code")
    assert played.stand() == [("tests", status)]


def test_clear_takes_it_along_once(played: FileScene) -> None:
    played.files.write_goals("/code", TESTS, LINT, allows=True)
    (tests, lint) = played.of()
    played.say("goal.change", goalId=lint.id, status="achieved")
    played.second("s4", replaces="s2")
    assert [one.id for one in played.of("s4")] == [tests.id, lint.id]
    assert played.stand("s4") == [("tests", "active"), ("lint", "achieved")]


def test_a_question_goes_along_with_clear(played: FileScene) -> None:
    played.files.write_goals("/code", TESTS)
    played.second("s4", replaces="s2")
    assert [one["sessionId"] for one in played.waiting()] == ["s4"]
    played.decide()
    assert played.stand("s4") == [("tests", "active")]


def test_a_session_that_was_open_beside_it_has_it_once(played: FileScene) -> None:
    played.files.write_goals("/code", TESTS, allows=True)
    played.second("s4")
    played.host.say(type="session.close", sessionId="s2", replacedBy="s4")
    open_ = [one for one in played.of("s4") if one.is_open]
    assert len(open_) == 1


def test_resume_finds_what_there_was(played: FileScene) -> None:
    played.files.write_goals("/code", TESTS, LINT, allows=True)
    tests, lint = played.of()
    played.say("goal.drop", goalId=lint.id)
    played.close()
    played.talk.wait(20)
    played.open()
    played.talk.wait(1)
    assert [(one.id, one.status) for one in played.of()] == [
        (tests.id, "active"),
        (lint.id, "abandoned"),
    ]


def test_its_ledger_is_read_before_anything_is_opened(played: FileScene) -> None:
    played.files.write_goals("/code", TESTS, allows=True)
    (goal,) = played.of()
    played.close()
    played.talk.wait(20)
    played.shell.holds = (OpenLedger,)
    played.open()
    assert played.stand() == []
    played.shell.release()
    assert [one.id for one in played.of()] == [goal.id]


def test_goals_of_a_session_that_took_anothers_place_late_are_kept(played: FileScene) -> None:
    goal = played.goal()
    played.second("s4")
    played.session = "s4"
    played.begin()  # its ledger is open
    played.host.say(type="session.close", sessionId="s2", replacedBy="s4")
    played.close("s4")
    played.talk.wait(20)
    played.second("s4")
    played.begin()
    assert [one.id for one in played.of("s4")] == [goal["id"]]


# The file


def test_an_entry_that_is_removed_drops_what_is_not_achieved(played: FileScene) -> None:
    played.files.write_goals("/code", TESTS, LINT, allows=True)
    tests, _ = played.of()
    played.say("goal.change", goalId=tests.id, status="achieved")
    played.files.write_goals("/code")
    assert played.stand() == [("tests", "achieved"), ("lint", "abandoned")]
    told = played.talk.events("goal.closed")[-1]["goal"]
    assert (told["closedBy"], told["note"]) == ("file", "removed from the file")
    line = played.talk.events("stream.posted")[-1]
    assert (line["stream"], line["line"]["event"]) == ("goals@tap", "removed from the file: lint")
    played.files.write_goals("/code", TESTS, LINT)
    assert played.stand() == [("tests", "achieved"), ("lint", "abandoned"), ("lint", "active")]


def test_one_that_the_person_set_to_send_back_stays_theirs(played: FileScene) -> None:
    played.files.write_goals("/code", TESTS, allows=True)
    (goal,) = played.of()
    played.say("goal.change", goalId=goal.id, unproven="send back")
    played.files.write_goals("/code")
    played.files.write_goals("/code", goal_entry("tests", "true"), allows=True)
    assert played.stand() == [("tests", "active"), ("tests", "active")]
    assert [one.unproven for one in played.of()] == ["send back", "tell"]


def test_a_file_that_cannot_be_read_drops_nothing(played: FileScene) -> None:
    played.files.write_goals("/code", TESTS, allows=True)
    played.files.is_readable = False
    played.files.write_goals("/code")
    played.second()
    assert played.stand() == played.stand("s3") == [("tests", "active")]


def test_a_file_that_cannot_be_read_at_first_drops_no_goal_of_before(played: FileScene) -> None:
    played.files.write_goals("/code", TESTS, allows=True)
    played.close()
    played.talk.wait(20)
    played.files.is_readable = False
    played.open()
    played.begin()
    assert played.stand() == [("tests", "active")]


def test_goals_of_one_folder_are_not_dropped_by_the_file_of_another(played: FileScene) -> None:
    played.files.write_goals("/code", TESTS, allows=True)
    played.host.say(type="session.update", sessionId="s2", cwd="/other")
    assert played.stand() == [("tests", "active")]
    played.host.say(type="session.update", sessionId="s2", cwd="/code")
    assert played.stand() == [("tests", "active")]


def test_one_whose_deadline_has_passed_is_neither_asked_about_nor_opened(
    played: FileScene,
) -> None:
    over = goal_entry("over", deadline="2020-01-01T00:00:00Z")
    soon = goal_entry("soon", deadline="2026-01-01T01:00:00Z")
    played.files.write_goals("/code", over)
    assert played.waiting() == []
    played.files.write_goals("/code", over, soon, allows=True)
    assert played.stand() == [("soon", "active")]
    played.talk.wait(3600)
    played.files.read_again("/code")
    assert played.stand() == [("soon", "failed")]


def test_a_goal_that_there_is_no_room_for_is_told(played: FileScene) -> None:
    for _ in range(limits.MAX_GOALS):
        played.goal()
    played.tower.hear()
    played.files.write_goals("/code", TESTS, allows=True)
    (notice,) = played.tower.hear_of("tower.notice")
    assert notice["message"] == (
        "the goal tests of /code is not opened: a session has at most 50 open goals"
    )


# Whose it is


@pytest.mark.parametrize("change", [{"status": "abandoned"}, {"addCriteria": [{"text": "x"}]}])
def test_an_agent_cannot_change_it(played: FileScene, change: Json) -> None:
    played.files.write_goals("/code", TESTS, allows=True)
    (goal,) = played.of()
    refused = played.call("tap_update_goal", goalId=goal.id, **change)
    assert refused == "the person opened this goal: you can note and verify it, not change it"
    assert played.call("tap_update_goal", goalId=goal.id, note="half")["revision"] == 2


def test_its_agent_is_not_sent_back_unless_the_person_switches_that_on(played: FileScene) -> None:
    played.files.write_goals("/code", TESTS, allows=True)
    (goal,) = played.of()
    played.changes()
    assert played.end_turn()["decision"] == "end"
    played.say("goal.change", goalId=goal.id, unproven="send back")
    assert played.end_turn()["decision"] == "again"


@pytest.fixture
def forbidden() -> FileScene:
    """A gateway whose settings forbid goals of files."""
    talk = Conversation(Settings(proof=Proving(file_goals=False)))
    host = talk.host()
    host.open("s1")
    return FileScene(Scene(talk, host, talk.provider("s1"), talk.tower()))


def test_the_settings_forbid_goals_of_files(forbidden: FileScene) -> None:
    forbidden.files.write_goals("/code", TESTS)
    assert (forbidden.waiting(), forbidden.stand()) == ([], [])
    forbidden.files.write_goals("/code", TESTS, allows=True)
    assert forbidden.stand() == []
    assert forbidden.goal()["status"] == "active"


def test_criteria_have_the_texts_and_ids_of_the_file(played: FileScene) -> None:
    given = (CriterionGiven("look", "The page looks good"), *TESTS.criteria)
    played.files.write_goals("/code", goal_entry("page", criteria=given), allows=True)
    (goal,) = played.of()
    assert [(one.id, one.text) for one in goal.criteria] == [
        ("look", "The page looks good"),
        ("c1", "pytest ends with exit 0"),
    ]


def test_a_gateway_that_stops_asks_nothing_more(played: FileScene) -> None:
    played.second()
    played.files.write_goals("/code", TESTS)
    played.talk.forget()
    played.talk.tell(played.talk.gateway.emitter_folders.stop)
    played.talk.turn()
    assert played.talk.events("approval.requested") == []
    assert len(played.talk.events("approval.withdrawn")) == 1


def test_what_was_removed_while_it_was_away_is_dropped_when_it_is_resumed(
    played: FileScene,
) -> None:
    played.files.write_goals("/code", TESTS, allows=True)
    played.close()
    played.talk.wait(20)
    played.files.write_goals("/code")
    played.open()
    played.begin()
    (goal,) = played.of()
    assert (goal.status, goal.note) == ("abandoned", "removed from the file")
