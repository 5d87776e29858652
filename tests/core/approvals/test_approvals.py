"""Approvals and modes: the first decision wins, and holds once it is recorded."""

from typing import Any

import pytest

from tests.core.conftest import Scene
from tests.core.harness import Conversation, Json, Peer

DETAIL = {"command": "rm -rf /", "note": "\u202e"}


def ask(scene: Scene, id_: str = "r1", **more: Any) -> str:
    """Let the host ask for a permission; return the approval's id."""
    scene.host.say(
        {"type": "approval.request", "id": id_, "sessionId": "s1", "kind": "permission",
         "detail": DETAIL, **more}
    )  # fmt: skip
    scene.host.hear()
    scene.tower.hear()
    return str(scene.talk.events("approval.requested")[-1]["approval"]["id"])


def decide(tower: Peer, approval: str, decision: str = "approve", **more: Any) -> list[Json]:
    tower.hear()
    return tower.ask(
        {"type": "approval.decide", "approvalId": approval, "decision": decision, **more}
    )


FORM = {
    "message": "Ready?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "then": {"type": "string", "enum": ["run", "wait"]},
            "note": {"type": "string", "maxLength": 3},
            "times": {"type": "integer", "minimum": 1},
            "where": {"type": "array", "items": {"enum": ["here", "there"]}},
            "more": {"type": "object"},
        },
        "required": ["then"],
    },
}
FREE = FORM | {"allowFreeform": True}
CLOSED = {"question": "Which?", "choices": ["a", "b"], "allowFreeform": False}
UNFIT = [
    ("elicitation", FORM, None, "answer.then: is required"),
    ("elicitation", FORM, {"then": "later"}, "answer.then: choose one"),
    ("elicitation", FORM, {"then": ["run"]}, "answer.then: choose one"),
    ("elicitation", FREE, {"then": 3}, "answer.then: choose one"),
    ("elicitation", FREE, {}, "answer.then: is required"),
    ("elicitation", FORM, "run", "answer: takes an object"),
    ("elicitation", FORM, {"then": "run", "note": 3}, "answer.note: write a text"),
    ("elicitation", FORM, {"then": "run", "note": "long"}, "answer.note: "),
    ("elicitation", FORM, {"then": "run", "times": True}, "answer.times: write a whole number"),
    ("elicitation", FORM, {"then": "run", "times": 0}, "answer.times: "),
    ("elicitation", FORM, {"then": "run", "where": ["up"]}, "answer.where: choose some"),
    ("userInput", CLOSED, "c", "answer: choose one"),
    ("userInput", CLOSED, None, "answer: choose one"),
    ("userInput", CLOSED, {"answer": "a"}, "answer: choose one"),
]
VAST = {"type": "string", "pattern": "^(a?){900}$|(a{0,300}b?){40}c"}
"""A pattern that would keep the gateway from its work for a second with each 1,000 characters."""
FITTING = [
    ("elicitation", FORM, {"then": "run", "note": "ok", "times": 2, "where": ["here"]}),
    ("elicitation", FORM, {"then": "wait", "note": "", "times": None, "more": {"x": [1]}}),
    ("elicitation", FORM, {"then": "wait", "of no field": "anything"}),
    ("elicitation", FREE, {"then": "later"}),
    ("elicitation", {"requestedSchema": {"type": "object", "required": ["x"]}}, {"y": 1}),
    ("elicitation", {"requestedSchema": {"properties": {"x": {"maxLength": "lie"}}}}, {"x": "y"}),
    ("elicitation", {"requestedSchema": {"properties": {"x": VAST}}}, {"x": "y"}),
    ("elicitation", {"requestedSchema": "none"}, "anything"),
    ("userInput", CLOSED, "b"),
    ("userInput", CLOSED | {"allowFreeform": True}, "c"),
    ("userInput", CLOSED | {"choices": [1]}, "c"),
    ("userInput", {"kind": "budget", **CLOSED}, None),
]


@pytest.mark.parametrize(("kind", "detail", "answer", "why"), UNFIT)
def test_an_answer_that_does_not_fit_is_refused_and_the_request_waits(
    scene: Scene, kind: str, detail: Json, answer: Any, why: str
) -> None:
    approval = ask(scene, kind=kind, detail=detail)
    (error,) = decide(scene.tower, approval, answer=answer)
    assert (error["code"], error["replyTo"]) == ("INVALID_JSON", "approval.decide")
    assert error["message"].startswith(why)
    assert scene.host.hear() == []
    assert decide(scene.tower, approval, "deny", answer=answer) == []
    assert [one["decision"] for one in scene.host.hear()] == ["deny"]


@pytest.mark.parametrize(("kind", "detail", "answer"), FITTING)
def test_an_answer_that_fits_is_passed_on(
    scene: Scene, kind: str, detail: Json, answer: Any
) -> None:
    approval = ask(scene, kind=kind, detail=detail)
    assert decide(scene.tower, approval, answer=answer) == []
    (passed,) = scene.host.hear()
    assert (passed["decision"], passed.get("answer")) == ("approve", answer)


@pytest.mark.parametrize("kind", ["permission", "userInput", "elicitation"])
def test_a_request_waits_and_is_answered(scene: Scene, kind: str) -> None:
    approval = ask(scene, kind=kind)
    assert scene.talk.events("approval.requested") == [
        {
            "kind": "approval.requested",
            "approval": {
                "id": approval,
                "kind": kind,
                "state": "waiting",
                "detail": DETAIL,
                "createdAt": "2026-01-01T00:00:01.000000Z",
                "expiresAt": "2026-01-02T00:00:01.000000Z",
                "sessionId": "s1",
            },
            "sessionId": "s1",
        }
    ]
    assert decide(scene.tower, approval, answer={"x": [1]}, reason="fine") == []
    assert scene.host.hear() == [
        {
            "type": "approval.answer",
            "id": "r1",
            "decision": "approve",
            "answer": {"x": [1]},
            "reason": "fine",
        }
    ]
    decided = scene.talk.events("approval.decided")[0]["approval"]
    assert (decided["state"], decided["decidedBy"], decided["reason"]) == (
        "approved",
        "you",
        "fine",
    )
    assert scene.talk.deadlines == 0


def test_the_first_decision_wins(scene: Scene) -> None:
    approval = ask(scene)
    second = scene.talk.tower(name="second")
    assert decide(second, approval, "deny") == []
    error = decide(scene.tower, approval)[0]
    assert (error["code"], error["replyTo"]) == ("UNKNOWN_APPROVAL", "approval.decide")
    assert [one["decision"] for one in scene.host.hear()] == ["deny"]


def test_while_a_decision_is_recorded_it_neither_holds_nor_can_be_overtaken(scene: Scene) -> None:
    approval = ask(scene)
    scene.talk.records = "held"
    decide(scene.tower, approval, "deny")
    assert scene.host.hear() == []
    assert decide(scene.tower, approval)[0]["code"] == "UNKNOWN_APPROVAL"
    scene.talk.wait(48 * 3600)
    assert scene.host.hear() == []
    scene.talk.recorded()
    assert [one["decision"] for one in scene.host.hear()] == ["deny"]


def test_a_decision_goes_on_in_the_session_that_took_the_place_of_its_own(scene: Scene) -> None:
    approval = ask(scene)
    scene.talk.records = "held"
    decide(scene.tower, approval, "deny")
    scene.host.open("s2", replaces="s1")
    known = scene.talk.gateway.parts.approvals.deciding[approval].view
    assert known == scene.talk.gateway.state.approvals[approval]
    scene.talk.recorded()
    assert scene.talk.gateway.state.approvals[approval].session_id == "s2"


def test_a_decision_that_cannot_be_recorded_does_not_hold(scene: Scene) -> None:
    approval = ask(scene)
    scene.talk.records = "refused"
    error = decide(scene.tower, approval)[0]
    assert error["code"] == "INTERNAL"
    assert "could not be recorded" in error["message"]
    assert scene.host.hear() == [
        {
            "type": "approval.answer",
            "id": "r1",
            "decision": "deny",
            "reason": "the decision could not be recorded",
        }
    ]


def states(scene: Scene, approval: str) -> list[str]:
    """Return what the events tell of an approval, in their order."""
    found = [one.get("approval") for one in scene.talk.events()]
    return [one["state"] for one in found if one is not None and one["id"] == approval]


@pytest.mark.parametrize("is_ok", [True, False])
@pytest.mark.parametrize(("decision", "settled"), [("approve", "approved"), ("deny", "denied")])
def test_nobody_sees_how_a_decision_ends_before_its_record_is_durable(
    scene: Scene, decision: str, settled: str, is_ok: bool
) -> None:
    approval = ask(scene)
    scene.talk.records = "held"
    assert decide(scene.tower, approval, decision, reason="fine") == []
    assert states(scene, approval) == ["waiting", "deciding"]
    event = scene.talk.events("approval.deciding")[0]
    assert (event["decision"], event["sessionId"]) == (decision, "s1")
    assert (event["approval"]["decidedBy"], event["approval"]["reason"]) == ("you", "fine")
    (shown,) = scene.talk.tower().ack["state"]["approvals"]
    assert shown["state"] == "deciding"
    detail = scene.tower.ask(type="detail.read", id="x", of="approval", subject=approval)
    assert detail[0]["approval"] == shown
    assert decide(scene.tower, approval)[0]["code"] == "UNKNOWN_APPROVAL"
    scene.talk.recorded(is_ok=is_ok)
    settled = settled if is_ok else "failed"
    assert states(scene, approval) == ["waiting", "deciding", settled]
    (shown,) = scene.talk.tower().ack["state"]["approvals"]
    assert shown["state"] == settled
    assert shown["reason"] == ("fine" if is_ok else "the decision could not be recorded")
    assert scene.talk.events("approval.decided")[-1]["approval"] == shown
    assert decide(scene.tower, approval)[0]["code"] == "UNKNOWN_APPROVAL"
    answer = decision if is_ok else "deny"
    assert scene.host.hear_one("approval.answer")["decision"] == answer


@pytest.mark.parametrize(("timeout", "seconds"), [(60_000, 60), (0.5, 0.0005), (1e12, 24 * 3600)])
def test_a_request_expires(scene: Scene, timeout: float, seconds: float) -> None:
    approval = ask(scene, timeout=timeout)
    scene.talk.wait(seconds * 0.999)
    assert scene.host.hear() == []
    scene.talk.wait(seconds * 0.002)
    assert scene.host.hear() == [{"type": "approval.answer", "id": "r1", "decision": "expired"}]
    assert scene.talk.gateway.state.approvals[approval].state == "expired"
    assert decide(scene.tower, approval)[0]["code"] == "UNKNOWN_APPROVAL"


@pytest.mark.parametrize("timeout", [0, -1, "60"])
def test_a_timeout_is_above_zero(scene: Scene, timeout: Any) -> None:
    error = scene.host.error(
        type="approval.request", id="r", sessionId="s1", kind="permission", timeout=timeout
    )
    assert (error["code"], error["id"]) == ("INVALID_JSON", "r")


def test_a_request_that_waited_before_tapui_came_waits_since_then(scene: Scene) -> None:
    approval = ask(scene, waited=36_000)
    asked = scene.talk.events("approval.requested")[-1]["approval"]
    assert asked["createdAt"] == "2025-12-31T23:59:25.000000Z"
    assert asked["expiresAt"] == "2026-01-02T00:00:01.000000Z"
    scene.talk.wait(2)
    decide(scene.tower, approval)
    assert scene.talk.events("approval.decided")[-1]["approval"]["duration"] == 38_000
    ask(scene, "r2", waited=1e300)
    assert scene.talk.events("approval.requested")[-1]["approval"]["createdAt"][:4] == "2025"


@pytest.mark.parametrize("waited", [-1, "36"])
def test_how_long_it_waited_is_no_time_to_come(scene: Scene, waited: Any) -> None:
    error = scene.host.error(
        type="approval.request", id="r", sessionId="s1", kind="permission", waited=waited
    )
    assert (error["code"], error["id"]) == ("INVALID_JSON", "r")


def test_a_request_that_was_answered_elsewhere_is_withdrawn(scene: Scene) -> None:
    approval = ask(scene)
    assert scene.host.ask(type="approval.withdraw", id="r1", decidedBy="cli") == []
    withdrawn = scene.talk.events("approval.withdrawn")[0]["approval"]
    assert (withdrawn["state"], withdrawn["decidedBy"]) == ("withdrawn", "cli")
    assert decide(scene.tower, approval)[0]["code"] == "UNKNOWN_APPROVAL"
    assert scene.host.ask(type="approval.withdraw", id="r1") == []
    ask(scene, "r1")


def test_a_withdrawal_says_how_it_was_answered(scene: Scene) -> None:
    ask(scene)
    scene.host.say(
        type="approval.withdraw", id="r1", decidedBy="cli", decision="deny", reason="use pnpm"
    )
    withdrawn = scene.talk.events("approval.withdrawn")[0]["approval"]
    assert (withdrawn["answered"], withdrawn["reason"]) == ("denied", "use pnpm")


PLAN = {"message": "The plan is ready", "refusal": "changes"}


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        ({"changes": " use pnpm "}, "deny"),
        ({"changes": "  "}, "approve"),
        ({"then": "autopilot"}, "approve"),
        ({"changes": 3}, "approve"),
        (None, "approve"),
    ],
)
def test_a_form_with_text_in_the_field_that_refuses_is_a_denial(
    scene: Scene, answer: Any, decision: str
) -> None:
    approval = ask(scene, kind="elicitation", detail=PLAN)
    decide(scene.tower, approval, answer=answer)
    (told,) = scene.host.hear()
    assert (told["decision"], told.get("answer")) == (decision, answer)
    assert told.get("reason") == ("use pnpm" if decision == "deny" else None)
    state = {"deny": "denied", "approve": "approved"}[decision]
    assert scene.talk.events("approval.decided")[0]["approval"]["state"] == state


def test_an_id_waits_once(scene: Scene) -> None:
    ask(scene)
    error = scene.host.error(type="approval.request", id="r1", sessionId="s1", kind="permission")
    assert (error["code"], error["id"]) == ("INVALID_JSON", "r1")
    assert len(scene.talk.events("approval.requested")) == 1


def test_requests_go_with_their_session_and_their_host(scene: Scene) -> None:
    first = ask(scene)
    scene.host.say(type="session.close", sessionId="s1")
    assert scene.talk.gateway.state.approvals[first].state == "withdrawn"
    scene.host.open("s2")
    second = ask(scene, "r1", sessionId="s2")
    scene.host.drop()
    assert scene.talk.gateway.state.approvals[second].state == "withdrawn"


def test_a_decision_for_a_host_that_left_reaches_nobody(scene: Scene) -> None:
    approval = ask(scene)
    scene.talk.records = "held"
    decide(scene.tower, approval)
    scene.host.drop()
    scene.talk.recorded()
    assert scene.host.hear() == []


@pytest.mark.parametrize(
    "message",
    [
        {"type": "approval.decide", "approvalId": "a-9", "decision": "deny"},
        {"type": "approval.reveal", "approvalId": "a-9"},
    ],
)
def test_an_unknown_approval(scene: Scene, message: Json) -> None:
    assert scene.tower.error(message)["code"] == "UNKNOWN_APPROVAL"


def test_only_a_pairing_is_revealed(scene: Scene) -> None:
    error = scene.tower.error(type="approval.reveal", approvalId=ask(scene))
    assert error["code"] == "INVALID_JSON"


@pytest.mark.parametrize("decision", ["maybe", "", None, "revealed"])
def test_a_decision_is_yes_or_no(scene: Scene, decision: Any) -> None:
    error = decide(scene.tower, ask(scene), decision)[0]
    assert error["code"] == "INVALID_JSON"
    assert error["message"].startswith("decision: ")


# Modes


def set_mode(scene: Scene, mode: str = "plan") -> Json:
    """Let the person set a mode; return the `mode.set` that the host hears."""
    scene.host.hear()
    scene.tower.say(type="session.mode", sessionId="s1", mode=mode)
    return scene.host.hear_one("mode.set")


def changes(scene: Scene) -> list[tuple[str, str, str | None]]:
    found = scene.talk.events("mode.changed")
    return [(one["mode"], one["state"], one.get("error")) for one in found]


def test_the_person_sets_a_mode(scene: Scene) -> None:
    order = set_mode(scene)
    assert order == {"type": "mode.set", "id": "m-1", "sessionId": "s1", "mode": "plan"}
    assert scene.talk.gateway.state.sessions["s1"].mode is None
    scene.host.say(type="session.update", sessionId="s1", mode="plan")
    scene.host.say(type="mode.result", id="m-1", ok=True)
    assert changes(scene) == [("plan", "ordered", None), ("plan", "done", None)]
    assert scene.talk.gateway.state.sessions["s1"].mode == "plan"
    assert scene.talk.deadlines == 0


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"ok": False, "error": "not now"}, "not now"),
        ({"ok": False}, "the session refused the mode"),
        (None, "the session did not answer in time"),
    ],
)
def test_a_mode_that_the_host_does_not_set(scene: Scene, result: Json | None, text: str) -> None:
    order = set_mode(scene)
    scene.tower.hear()
    if result is None:
        scene.talk.wait(10)
    else:
        scene.host.say({"type": "mode.result", "id": order["id"], **result})
    error = scene.tower.hear_one("error")
    assert (error["message"], error["replyTo"], error["sessionId"]) == (text, "session.mode", "s1")
    assert changes(scene)[-1] == ("plan", "failed", text)
    assert scene.talk.gateway.state.sessions["s1"].mode is None
    assert scene.host.ask(type="mode.result", id=order["id"], ok=True) == []


def test_a_mode_is_set_once_it_is_recorded(scene: Scene) -> None:
    scene.talk.records = "held"
    scene.tower.say(type="session.mode", sessionId="s1", mode="plan")
    assert scene.host.hear() == []
    scene.talk.recorded(is_ok=False)
    assert scene.host.hear() == []
    assert "could not be recorded" in scene.tower.hear_one("error")["message"]
    assert changes(scene)[-1][1] == "failed"


def test_a_mode_that_changed_in_the_session_is_recorded(scene: Scene) -> None:
    scene.host.say(type="session.update", sessionId="s1", mode="autopilot", label="x")
    changed = scene.talk.events("mode.changed")[0]
    assert (changed["by"], changed["mode"], changed["state"]) == ("copilot", "autopilot", "done")
    assert "source" not in changed
    scene.host.say(type="session.update", sessionId="s1", mode="autopilot")
    assert len(scene.talk.events("mode.changed")) == 1
    session = scene.talk.gateway.state.sessions["s1"]
    assert (session.mode, session.label) == ("autopilot", "x")


def test_a_session_that_ends_fails_its_mode_orders(scene: Scene) -> None:
    set_mode(scene)
    scene.tower.hear()
    scene.host.say(type="session.close", sessionId="s1")
    assert scene.tower.hear_one("error")["message"] == "the session has ended"
    assert changes(scene)[-1][1] == "failed"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"sessionId": "s9", "mode": "plan"}, "INVALID_SESSION"),
        ({"sessionId": "s1", "mode": "party"}, "INVALID_JSON"),
    ],
)
def test_a_mode_of_nothing_or_no_mode(scene: Scene, fields: Json, code: str) -> None:
    assert scene.tower.error({"type": "session.mode", **fields})["code"] == code


def test_local_has_no_modes(talk: Conversation) -> None:
    talk.local()
    tower = talk.tower()
    error = tower.error(type="session.mode", sessionId="local", mode="plan")
    assert "no modes" in error["message"]


# tap_set_session_mode


@pytest.fixture
def asked(talk: Conversation) -> Scene:
    """A call of `tap_set_session_mode` that waits for the person."""
    talk.tools()
    host = talk.host()
    host.open("s1", mode="interactive")
    tower = talk.tower()
    provider = talk.provider("s1")
    host.invoke("s1", "tap_set_session_mode", args={"mode": "plan", "reason": "think first"})
    host.hear()
    tower.hear()
    return Scene(talk, host, provider, tower)


def outcome(scene: Scene) -> Json:
    return scene.host.hear_one("tool.outcome")


def test_the_person_approves_a_mode(asked: Scene) -> None:
    approval = asked.talk.events("approval.requested")[0]["approval"]
    assert (approval["kind"], approval["sessionId"]) == ("mode", "s1")
    assert approval["detail"] == {
        "from": "interactive",
        "to": "plan",
        "asker": "Copilot",
        "askedBy": "agent",
        "policy": "ask",
        "reason": "think first",
    }
    assert decide(asked.tower, approval["id"]) == []
    order = asked.host.hear_one("mode.set")
    asked.host.say(type="mode.result", id=order["id"], ok=True)
    assert outcome(asked)["data"] == {"mode": "plan", "decidedBy": "you"}
    assert asked.talk.gateway.state.sessions["s1"].mode == "plan"


def test_a_mode_that_is_denied_or_expires(asked: Scene) -> None:
    assert decide(asked.tower, "a-1", "deny") == []
    denied = outcome(asked)
    assert denied["errorCode"] == "UNAUTHORIZED"
    assert "denied by you" in denied["error"]
    asked.host.invoke("s1", "tap_set_session_mode", args={"mode": "plan"}, id_="i2").hear()
    asked.talk.wait(59.9)
    assert asked.host.hear_of("tool.outcome") == []
    asked.talk.wait(0.1)
    expired = outcome(asked)
    assert expired["errorCode"] == "UNAUTHORIZED"
    assert "nobody" in expired["error"]
    assert {one["state"] for one in asked.talk.events("mode.changed")} == {"refused"}


def test_a_mode_that_it_is_already_asks_nobody(asked: Scene) -> None:
    asked.host.invoke("s1", "tap_set_session_mode", args={"mode": "interactive"}, id_="i2")
    assert outcome(asked)["data"] == {"mode": "interactive", "decidedBy": "unchanged"}
    assert len(asked.talk.events("approval.requested")) == 1


def test_an_approved_mode_that_the_host_refuses(asked: Scene) -> None:
    decide(asked.tower, "a-1")
    order = asked.host.hear_one("mode.set")
    asked.host.say(type="mode.result", id=order["id"], ok=False, error="not now")
    assert "not now" in outcome(asked)["error"]


def test_giving_the_call_up_withdraws_the_question(asked: Scene) -> None:
    asked.host.say(type="tool.abort", id="i1")
    assert outcome(asked)["errorCode"] == "CANCELLED"
    assert asked.talk.gateway.state.approvals["a-1"].state == "withdrawn"
    assert asked.talk.gateway.state.calls == {}
    assert decide(asked.tower, "a-1")[0]["code"] == "UNKNOWN_APPROVAL"


def test_a_session_that_is_replaced_answers_the_question(asked: Scene) -> None:
    asked.host.say(
        type="session.open", session={"id": "s2", "label": "", "cwd": "/", "replaces": "s1"}
    )
    answered = outcome(asked)
    assert (answered["errorCode"], answered["error"]) == (
        "UNAUTHORIZED",
        "the session was replaced (decided by nobody)",
    )
    asked.talk.wait(1)
    assert asked.talk.deadlines == 0


def test_a_decision_that_could_not_be_recorded_switches_nothing(asked: Scene) -> None:
    asked.talk.records = "refused"
    assert decide(asked.tower, "a-1")[0]["code"] == "INTERNAL"
    heard = asked.host.hear()
    assert [one["type"] for one in heard] == ["tool.outcome"]
    assert heard[0]["errorCode"] == "UNAUTHORIZED"
    assert "could not be recorded" in heard[0]["error"]


def test_a_session_that_ended_while_the_decision_was_recorded(asked: Scene) -> None:
    asked.talk.records = "held"
    decide(asked.tower, "a-1")
    asked.host.say(type="session.close", sessionId="s1").hear()
    asked.talk.recorded()
    assert asked.host.hear_of("mode.set") == []
    asked.talk.wait(20)
    assert asked.talk.gateway.state.calls == {}
    assert asked.talk.deadlines == 0
