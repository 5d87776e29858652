"""Plans that wait for approval, as forms."""

from typing import Any

import msgspec
import pytest

from tapui.hosts.copilot.asks.permissions import Permissions, judged
from tapui.hosts.copilot.asks.questions import Questions, plan_form
from tapui.hosts.copilot.uplink import SessionUplink
from tapui.wire.host import ApprovalRequest, ApprovalWithdraw, SessionEvent
from tapui.wire.message import Message
from tests.rig.waiting import until_async

WHY = "it only reads"
DETAIL = {
    "summary": "Look, then leap",
    "planContent": "# The plan\n1. Look",
    "actions": ["interactive", "autopilot", "exit_only"],
    "recommendedAction": "autopilot",
}


def test_a_plan_is_shown_whole_with_what_may_follow() -> None:
    form = plan_form(DETAIL)
    assert form["message"] == "The plan is ready: Look, then leap"
    assert form["plan"] == "# The plan\n1. Look"
    then = form["requestedSchema"]["properties"]["then"]
    assert then["enum"] == ["interactive", "autopilot", "exit_only"]
    assert then["default"] == "autopilot"
    assert then["enumNames"][2] == "leave plan mode, do not run the plan"
    assert form["refusal"] in form["requestedSchema"]["properties"]
    assert form["requestedSchema"]["required"] == []


def test_a_plan_without_anything_is_still_a_form() -> None:
    form = plan_form({})
    assert (form["message"], "plan" in form) == ("The plan is ready:", False)
    assert form["requestedSchema"]["properties"]["then"]["enum"] == []


def uplink(sent: list[Message]) -> SessionUplink:
    return SessionUplink(
        sent.append,
        lambda: "c1",
        lambda _text, _level: None,
        None,  # type: ignore[arg-type]
        None,  # type: ignore[arg-type]
        id="s1",
        spawn=lambda work: work.close(),
    )


@pytest.mark.parametrize(
    ("asked", "said", "decision", "reason"),
    [
        ("exit_plan_mode", {"approved": True, "selectedAction": "exit_only"}, "approve", None),
        ("exit_plan_mode", {"approved": False, "feedback": "use pnpm"}, "deny", "use pnpm"),
        ("exit_plan_mode", {}, None, None),
        ("elicitation", {"action": "accept", "content": {"a": 1}}, "approve", None),
        ("elicitation", {"action": "decline"}, "deny", None),
        ("elicitation", {"action": "cancel"}, "deny", None),
        ("elicitation", {}, None, None),
        ("user_input", {"answer": "red", "wasFreeform": False}, "approve", None),
        ("user_input", {}, None, None),
    ],
)
def test_an_answer_in_the_cli_says_what_it_was(
    asked: str, said: dict[str, Any], decision: str | None, reason: str | None
) -> None:
    sent: list[Message] = []
    questions = Questions(uplink(sent))
    questions.asked(f"{asked}.requested", "r1", {"requestId": "r1", "message": "?"})
    questions.completed(f"{asked}.completed", "r1", {"requestId": "r1", **said})
    assert sent[1] == ApprovalWithdraw("r1", "cli", decision, reason)  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", ["exit_plan_mode", "elicitation", "user_input"])
def test_a_question_names_the_call_that_asks(asked: str) -> None:
    sent: list[Message] = []
    data = {"requestId": "r1", "toolCallId": "c7", "message": "?"}
    Questions(uplink(sent)).asked(f"{asked}.requested", "r1", data)
    (request,) = sent
    assert isinstance(request, ApprovalRequest)
    detail = msgspec.json.decode(request.detail)
    assert (detail["toolCallId"], "requestId" in detail) == ("c7", False)


@pytest.mark.parametrize(
    ("result", "source", "withdrawn"),
    [
        ({"kind": "approved"}, "human_response", ("cli", "approve", None)),
        ({"kind": "approved-for-session"}, "human_response", ("cli", "approve", None)),
        (
            {"kind": "denied-interactively-by-user", "feedback": "use pnpm"},
            "human_response",
            ("cli", "deny", "use pnpm"),
        ),
        ({"kind": "denied-by-rules"}, "host_policy", ("cli-rule", "deny", None)),
        (
            {"kind": "denied-by-permission-request-hook", "message": "no"},
            "host_policy",
            ("cli-hook", "deny", "no"),
        ),
        (
            {"kind": "denied-by-content-exclusion-policy", "path": "/x", "message": "secret"},
            "host_policy",
            ("cli-policy", "deny", "secret"),
        ),
        ({"kind": "approved"}, "host_policy", ("cli-policy", "approve", None)),
        ({"kind": "approved"}, "assisted_approval", ("cli-judge", "approve", WHY)),
        (
            {"kind": "denied-interactively-by-user", "feedback": "it deletes"},
            "assisted_approval",
            ("cli-judge", "deny", "it deletes"),
        ),
        (
            {"kind": "denied-no-approval-rule-and-could-not-request-from-user"},
            "unattended_fallback",
            ("cli-unattended", "deny", None),
        ),
        ({"kind": "approved"}, None, ("cli-unnamed", "approve", None)),
        ({"kind": "approved"}, "of a newer CLI", ("cli-unnamed", "approve", None)),
        ({"kind": "cancelled", "reason": "Session aborted"}, None, (None, None, None)),
        ({"kind": "of a newer CLI"}, None, ("cli-unnamed", None, None)),
        (None, None, ("cli-unnamed", None, None)),
    ],
)
async def test_a_permission_answered_in_the_cli_says_what_it_was_and_by_whom(
    result: dict[str, Any] | None, source: str | None, withdrawn: tuple[str | None, ...]
) -> None:
    by, decision, reason = withdrawn
    sent: list[Message] = []
    permissions = Permissions(uplink(sent))
    judge = {"recommendation": "approve", "reason": WHY}
    asked = {"kind": "url", "url": "https://example.org", "assistedApproval": judge}
    permissions.requested("r1", asked)
    await until_async(lambda: bool(sent), what="the request is shown")
    permissions.completed("r1", "call-1", source, result)
    assert sent[1] == ApprovalWithdraw("r1", by, decision, reason)  # type: ignore[arg-type]
    sent.clear()
    permissions.requested("r2", asked)
    permissions.completed("r2", "call-2", source, result)  # before it was shown
    told = {"toolCallId": "call-2", "by": by, "decision": decision, "reason": reason}
    if decision == "approve":
        del told["decision"]
    data = {name: value for name, value in told.items() if value is not None}
    assert [msgspec.json.decode(one.data) for one in sent if isinstance(one, SessionEvent)] == (
        [data] if by is not None else []
    )


@pytest.mark.parametrize("judge", [None, "approve", [], {}, {"reason": 7}, {"reason": ["x"]}])
async def test_a_judge_who_says_nothing_readable_costs_no_request(judge: Any) -> None:
    sent: list[Message] = []
    permissions = Permissions(uplink(sent))
    url = {"kind": "url", "url": "https://example.org"}
    asked = judged(url, {"promptRequest": {"assistedApproval": judge}, "riskAssessment": {"x": 1}})
    permissions.requested("r1", asked)
    await until_async(lambda: bool(sent), what="the request is shown")
    (shown,) = sent
    assert isinstance(shown, ApprovalRequest)
    told = {} if judge is None else {"assistedApproval": judge}
    assert msgspec.json.decode(shown.detail) == {**url, **told, "riskAssessment": {"x": 1}}
    permissions.completed("r1", "call-1", "assisted_approval", {"kind": "approved"})
    assert sent[1] == ApprovalWithdraw("r1", "cli-judge", "approve", None)
    assert judged(url, {"promptRequest": judge}) == url


@pytest.mark.parametrize(("source", "takes"), [({}, True), ({"elicitationSource": "db"}, False)])
def test_a_form_of_the_agents_own_takes_other_answers(source: Any, takes: bool) -> None:
    sent: list[Message] = []
    Questions(uplink(sent)).asked("elicitation.requested", "r1", {"message": "?", **source})
    (asked,) = sent
    assert isinstance(asked, ApprovalRequest)
    assert (msgspec.json.decode(asked.detail).get("allowFreeform") is True) is takes
