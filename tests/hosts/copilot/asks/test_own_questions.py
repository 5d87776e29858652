"""Questions of tapui's own, asked in a played CLI over a real socket."""

from pathlib import Path
from typing import Any

import pytest

from tapui.hosts.copilot.uplink import HostTiming
from tapui.wire.host import (
    ApprovalAsk,
    ApprovalAskCancel,
    ApprovalAskResult,
    ApprovalRequest,
    SessionOpen,
    SessionUpdate,
)
from tapui.wire.subjects import ModeAsker
from tests.hosts.cli_played import CliPlayed, Json
from tests.hosts.gateway import GatewayPlayed, HostThread
from tests.rig.waiting import until

NO, YES = "No, stay in interactive", "Yes, switch to plan"


def ask(
    gateway: GatewayPlayed, cli: CliPlayed, reason: str | None = None, asker: ModeAsker = "agent"
) -> Json:
    """Have a question asked; return the form that the CLI shows."""
    gateway.tell(ApprovalAsk("a-1", "s1", "mode", "plan", asker, "interactive", reason))
    until(lambda: cli.forms, what="the form")
    (asked,) = cli.asked("session.ui.elicitation")
    return asked


def said(gateway: GatewayPlayed) -> tuple[str, str | None, str | None]:
    answer = gateway.wait(ApprovalAskResult, id="a-1")
    return answer.outcome, answer.reason, answer.decided_by


@pytest.mark.parametrize(
    ("action", "content", "outcome", "reason"),
    [
        ("accept", {"a-1": YES}, "approve", None),
        ("accept", {"a-1": NO}, "deny", None),
        ("accept", {"a-1": "first the tests"}, "deny", "first the tests"),
        ("accept", {"a-1": YES.upper()}, "deny", YES.upper()),
        ("accept", {"a-1": True}, "deny", None),
        ("accept", {"other": YES}, "deny", None),
        ("accept", None, "deny", None),
        ("decline", None, "deny", None),
        ("decline", {"a-1": YES}, "deny", None),
        ("cancel", None, "deny", None),
    ],
)
def test_only_yes_is_yes(
    cli: CliPlayed, gateway: GatewayPlayed, action: str, content: Any, outcome: str, reason: str
) -> None:
    ask(gateway, cli)
    cli.answer_form(action, content)
    assert said(gateway) == (outcome, reason, "cli")


def test_the_form_says_who_asks_and_begins_with_no(cli: CliPlayed, gateway: GatewayPlayed) -> None:
    form = ask(gateway, cli, "I\x1b[2J look\nfirst \u202e" + "x" * 2_000, "subagent")
    assert form["message"].startswith("tapui: A subagent asks for the mode plan.")
    assert "I" in form["message"]
    assert not {"\x1b", "\n", "\u202e"} & set(form["message"])
    assert len(form["message"]) < 600
    (field,) = form["requestedSchema"]["properties"].values()
    assert field["enum"] == [NO, YES]
    assert field["default"] == NO


def test_its_own_form_is_no_question_of_the_session(cli: CliPlayed, gateway: GatewayPlayed) -> None:
    ask(gateway, cli)
    schema = {"type": "object", "properties": {"a-1": {"type": "string"}}, "required": []}
    # One of the agent's that looks alike, and a second one of another client.
    cli.happens(
        "s1", "elicitation.requested", requestId="r-1", toolCallId="t-1", message="m",
        requestedSchema=schema,
    )  # fmt: skip
    cli.happens("s1", "elicitation.requested", requestId="r-2", message="m", requestedSchema=schema)
    gateway.wait(ApprovalRequest, id="r-2")
    assert [one.id for one in gateway.of(ApprovalRequest)] == ["r-1", "r-2"]


def test_a_question_that_was_answered_elsewhere_is_closed(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    ask(gateway, cli)
    gateway.tell(ApprovalAskCancel("a-1", "s1"))
    until(lambda: not cli.forms, what="the form's end")
    (closed,) = cli.asked("session.ui.handlePendingElicitation")
    assert closed["result"]["action"] == "cancel"
    gateway.tell(ApprovalAsk("a-2", "s1", "mode", "plan", "agent"))
    until(lambda: cli.forms, what="another form")
    cli.answer_form("accept", {"a-2": YES})
    assert gateway.wait(ApprovalAskResult).id == "a-2"  # nothing was said of the first


def test_a_cli_without_forms_says_so_at_once(
    cli: CliPlayed, copilot_home: Path, timing: HostTiming
) -> None:
    cli.capabilities = {"ui": {"elicitation": False}}
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home, timing=timing):
        session = gateway.wait(SessionOpen).session
        assert "ask" not in (session.can or [])
        assert "shows no forms" in (session.cannot or {})["ask"]
        gateway.tell(ApprovalAsk("a-1", "s1", "mode", "plan", "agent"))
        assert said(gateway) == ("impossible", (session.cannot or {})["ask"], None)
        assert cli.asked("session.ui.elicitation") == []
        cli.happens("s1", "capabilities.changed", ui={"elicitation": True})
        assert "ask" in (gateway.wait(SessionUpdate, lambda one: bool(one.can)).can or [])


def test_a_question_to_a_session_that_has_ended(gateway: GatewayPlayed) -> None:
    gateway.tell(ApprovalAsk("a-1", "s9", "mode", "plan", "agent"))
    assert said(gateway) == ("impossible", "the session ended", None)


def test_leaving_closes_the_form(cli: CliPlayed, copilot_home: Path, timing: HostTiming) -> None:
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home, timing=timing):
        until(lambda: cli.asked("session.tools.set"), what="the tools")
        ask(gateway, cli)
        until(lambda: cli.forms, what="the form")
        gateway.wait(SessionOpen)
    assert not cli.forms
    assert gateway.of(ApprovalAskResult) == []


def test_a_lost_connection_answers_and_closes_the_form_when_it_is_back(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    ask(gateway, cli)
    # The session's events pass in order: this one comes behind the form's.
    cli.happens("s1", "session.mode_changed", previousMode="interactive", newMode="plan")
    gateway.wait(SessionUpdate, mode="plan")
    cli.drop()
    outcome, reason, _ = said(gateway)
    assert (outcome, bool(reason)) == ("impossible", True)
    until(lambda: cli.asked("session.ui.handlePendingElicitation"), what="the form closed")
