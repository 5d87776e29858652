"""What an agent reads of its session: known here, told by its host, or null with the reason."""

from typing import Any

import pytest
from msgspec.structs import replace

from tapui.core.effects import RecordsFound
from tapui.projection.fold import fold
from tapui.wire import events as ev
from tapui.wire import limits
from tapui.wire.emitters import FileProblem
from tapui.wire.subjects import Span, SpanExport
from tests.core.emitters.test_consent import asked, decide
from tests.core.harness import INTERNAL_TOKEN, Conversation, Json, tool
from tests.core.runner import entry
from tests.records.turns import stamp

TASK = {"id": "t1", "kind": "agent", "status": "running", "name": "look around",
        "agentType": "explore", "activeMs": 1_200}  # fmt: skip
TOLD: Json = {
    "tasks": [TASK],
    "schedules": [{"name": "/status", "kind": "timed", "every": 300.0,
                   "nextRun": "2026-11-20T10:00:00Z"}],
    "canvases": [{"id": "c1", "title": "Board"}],
    "ui": {"elicitation": True, "canvases": False},
}  # fmt: skip


class Looking:
    """A host that tells what goes on in its session `s1`, and the agent there."""

    def __init__(self, talk: Conversation, *, looks: bool = True) -> None:
        self.talk = talk
        self.host = talk.connect(INTERNAL_TOKEN)
        hello = {"name": "looker", "kind": "copilot", "protocolVersion": 2, "sessionLooks": looks}
        self.host.say(type="host.hello", **hello)
        self.host.hear_one("host.ack")
        talk.tools()
        can = {"can": ["tell"], "cannot": {"model": "not here"}}
        self.host.open("s1", model="gpt-5", effort="high", cwd="/repo", **can)
        self.host.hear()

    def ask(self) -> str:
        """Call the tool; return the id of what its host is asked."""
        self.host.invoke("s1", "tap_get_session_state", "i1")
        return str(self.host.hear_one("session.look")["id"])

    def tell(self, **told: Any) -> Json:
        """Answer as the host; return what the agent reads."""
        self.host.say(type="session.looked", id=self.ask(), **told)
        return self.state()

    def state(self) -> Json:
        outcome = self.host.hear_one("tool.outcome")
        assert "data" in outcome, outcome
        state: Json = outcome["data"]
        return state


@pytest.fixture
def looking(talk: Conversation) -> Looking:
    return Looking(talk)


def test_what_its_host_tells_is_there_under_both_names(looking: Looking) -> None:
    state = looking.tell(**TOLD)
    assert state["tasks"] == [TASK]
    assert state["schedules"] == [
        {**TOLD["schedules"][0], "runs": None, "owner": "session"},
    ]
    assert state["canvases"] == state["openCanvases"] == TOLD["canvases"]
    assert state["ui"] == TOLD["ui"]
    assert (state["elicitation"], state["canvasesAvailable"]) == (True, False)
    assert (state["sessionId"], state["mode"], state["model"]) == ("s1", None, "gpt-5")
    assert state["modelDetail"] == {
        "id": "gpt-5",
        "reasoningEffort": "high",
        "contextTier": None,
    }
    assert state["abilities"] == {"can": ["tell"], "cannot": {"model": "not here"}}
    assert set(state["unknown"]) == {"context", "modelDetail.contextTier"}


def test_nothing_of_it_is_known_from_a_host_that_does_not_look(talk: Conversation) -> None:
    looking = Looking(talk, looks=False)
    looking.host.invoke("s1", "tap_get_session_state", "i1")
    state = looking.state()
    for name in ("tasks", "canvases", "openCanvases", "ui", "elicitation", "canvasesAvailable"):
        assert state[name] is None, name
    assert state["schedules"] == []
    for name in ("tasks", "schedules", "canvases", "ui"):
        assert state["unknown"][name] == "the session's program does not say"


def test_what_a_host_cannot_tell_has_its_reason(looking: Looking) -> None:
    state = looking.tell(tasks=[], unknown={"canvases": "this Copilot CLI does not know that"})
    assert (state["tasks"], state["canvases"]) == ([], None)
    assert state["unknown"]["canvases"] == "this Copilot CLI does not know that"
    assert "tasks" not in state["unknown"]


def test_a_host_that_does_not_answer_is_waited_for_no_longer_than_it_may(
    looking: Looking,
) -> None:
    asked = looking.ask()
    looking.talk.wait(limits.LOOK_TIMEOUT - 0.1)
    assert not [one for one in looking.host.hear() if one["type"] == "tool.outcome"]
    looking.talk.wait(0.2)
    state = looking.state()
    assert state["tasks"] is None
    assert "did not say within 3 s" in state["unknown"]["tasks"]
    looking.host.say(type="session.looked", id=asked, tasks=[])
    assert not [one for one in looking.host.hear() if one["type"] == "tool.outcome"]


def test_another_hosts_answer_does_not_count(looking: Looking) -> None:
    asked = looking.ask()
    other = looking.talk.host("other")
    other.say(type="session.looked", id=asked, tasks=[TASK])
    assert not [one for one in looking.host.hear() if one["type"] == "tool.outcome"]
    looking.host.say(type="session.looked", id=asked, tasks=[])
    assert looking.state()["tasks"] == []


def test_streams_are_listed_without_asking_the_host(looking: Looking) -> None:
    looking.host.invoke("s1", "tap_list_streams", "i1")
    assert [one["type"] for one in looking.host.hear()] == ["tool.outcome"]


def test_context_goals_reviews_and_what_waits(looking: Looking) -> None:
    looking.host.event("s1", "session.context", tokens=10, limit=100, compactsAt=80)
    review = {"monitor": "ci", "observed": "o", "decision": "note", "reason": "r"}
    looking.host.invoke("s1", "tap_record_review", "r1", args=review)
    looking.host.say(
        type="approval.request", id="a1", sessionId="s1", kind="permission",
        detail={"kind": "shell", "fullCommandText": "rm -rf build"},
    )  # fmt: skip
    looking.host.hear()
    state = looking.tell(**TOLD)
    assert state["context"] == {"tokens": 10, "limit": 100, "compactsAt": 80}
    assert state["reviews"][0]["monitor"] == "ci"
    (pending,) = state["pendingPermissions"]
    assert (pending["kind"], pending["what"]) == ("permission", "rm -rf build")
    assert state["approvalsWaiting"] == 1
    assert state["goals"] == []


INDEX = {"state": "behind", "done": 3, "total": 9, "fault": "", "damaged": 1}


def test_spans_their_export_and_the_index_are_known(looking: Looking) -> None:
    talk = looking.talk
    talk.records_found = RecordsFound(INDEX)
    state = looking.tell(**TOLD)
    assert state["index"] == INDEX
    assert (state["spans"]["errors"], state["spanExport"]) == (0, None)
    spans = state["spans"]["spans"]
    assert [one.query for one in talk.asked_records] == [None]
    span = Span(
        trace_id="a" * 32, span_id="b" * 16, name="turn", started_at=stamp(0), duration=1.0
    )  # fmt: skip
    for seen in ("s1", "other"):
        fold(
            talk.gateway.state,
            ev.SpanEnded(replace(span, status="error"), session_id=seen),
            stamp(1),
        )
    fold(talk.gateway.state, ev.SpansExported(SpanExport("http://c", 5, 2, "down")), stamp(1))
    state = looking.tell(**TOLD)
    assert (state["spans"]["errors"], state["spans"]["dropped"]) == (1, 0)
    assert state["spans"]["spans"] > spans
    assert state["spanExport"] == {
        "endpoint": "http://c", "sent": 5, "dropped": 2, "error": "down",
    }  # fmt: skip


def test_an_index_that_cannot_be_asked_has_its_reason(talk: Conversation) -> None:
    looking = Looking(talk, looks=False)
    talk.records_found = RecordsFound(fault="the records cannot be asked (see the log)")
    looking.host.invoke("s1", "tap_get_session_state", "i1")
    state = looking.state()
    assert state["index"] is None
    assert state["unknown"]["index"] == "the records cannot be asked (see the log)"


def test_emitters_are_schedules(talk: Conversation, looking: Looking) -> None:
    talk.runner.begin()
    args = {"name": "later", "prompt": "look", "runInterval": "5m", "maxRuns": 3}
    looking.host.invoke("s1", "tap_start_emitter", "e1", args=args)
    looking.host.hear()
    state = looking.tell(schedules=[])
    (one,) = state["schedules"]
    assert (one["name"], one["kind"], one["every"], one["owner"]) == (
        "later", "timed", 300, "agent",
    )  # fmt: skip
    assert (one["runs"], one["maxRuns"]) == (1, 3)


def test_the_tool_files_of_its_folder_and_what_keeps_files_tell_how_they_stand(
    talk: Conversation,
) -> None:
    shell = talk.runner
    shell.begin()
    shell.problems = (
        FileProblem(file="/repo/tools/two.py", line=3, text="required is missing"),
        FileProblem(file="/repo/tap.config.json", line=1, text="something else"),
    )
    shell.write("/repo", entry("tools", kind="provider", command="python", is_folder_tools=True))
    looking = Looking(talk, looks=False)
    tower = talk.tower()

    def read() -> Json:
        looking.host.invoke("s1", "tap_get_session_state", "i1")
        return looking.state()

    state = read()
    told = {
        "folder": "/repo",
        "why": None,
        "problems": ["/repo/tools/two.py:3: required is missing"],
    }
    assert state["folderTools"] == {**told, "state": "asking", "waits": True, "tools": []}
    assert (state["memory"], state["docs"]) == (None, None)
    decide(tower, asked(talk))
    shell.starts("tools")
    talk.provider("s1", name="tools", tools=[tool("one")])
    talk.provider("s1", name="memory", tools=[], metadata={"folder": "/notes"})
    talk.provider("s1", name="docs", tools=[], metadata={"folder": "x" * 9_000})
    state = read()
    assert state["folderTools"] == {**told, "state": "running", "waits": False, "tools": ["one"]}
    assert state["memory"] == {"folder": "/notes", "asksBeforeWrites": False}
    assert state["docs"] == {}  # what it says of itself is too long
    looking.host.open("s2", cwd="/elsewhere")
    looking.host.invoke("s2", "tap_get_session_state", "i2")
    assert looking.state()["folderTools"] is None
