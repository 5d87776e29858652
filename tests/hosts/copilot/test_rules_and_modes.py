"""What a rule of the person's means in each mode of Copilot's, as `docs/rules.md` has it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tapui.wire.host import ApprovalRequest, ApprovalWithdraw, SessionOpen, SessionUpdate
from tests.hosts.cli_played import CliPlayed
from tests.hosts.gateway import GatewayPlayed, HostThread
from tests.rig.waiting import HUNG, until

MODES: dict[str, tuple[dict[str, str], ...]] = {
    "interactive": (),
    "plan": ({"newMode": "plan"},),
    "allow-all": ({"mode": "allow-all"},),
    "assisted": ({"mode": "assisted"},),
    "autopilot": ({"newMode": "autopilot"},),
    "autopilot, allow-all": ({"mode": "allow-all"}, {"newMode": "autopilot"}),
    "interactive again": ({"newMode": "autopilot"}, {"newMode": "interactive"}),
    "manual again": ({"mode": "assisted"}, {"mode": "manual"}),
}
"""What the CLI tells of its mode, and of how it asks for permissions."""
ASKED_BY_TAPUI = {"assisted", "autopilot", "autopilot, allow-all"}
TOOL: dict[str, Any] = {"toolName": "bash", "toolArgs": {"command": "npm ci"}}


@pytest.fixture
def gateway(cli: CliPlayed, copilot_home: Path, mode: str) -> Iterator[GatewayPlayed]:
    """The gateway of a session in which the person has taken a mode."""
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home):
        gateway.wait(SessionOpen)
        for change in MODES[mode]:
            name = "permissions_changed" if "mode" in change else "mode_changed"
            cli.happens("s1", f"session.{name}", **change)
        yield gateway


@pytest.mark.parametrize("mode", MODES)
def test_what_a_rule_denies_or_allows_is_so_in_each_mode(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    gateway.rule, gateway.says = "deny", "approve"
    refused = {"permissionDecision": "deny", "permissionDecisionReason": "your rule: deny"}
    assert cli.hook("s1", "preToolUse", **TOOL) == refused
    gateway.rule = "allow"
    assert cli.hook("s1", "preToolUse", **TOOL) is None
    assert not gateway.of(ApprovalRequest)
    request = {"kind": "shell", "fullCommandText": "npm ci", "toolCallId": "t1"}
    cli.happens("s1", "permission.requested", requestId="r1", permissionRequest=request)
    answer = "session.permissions.handlePendingPermissionRequest"
    until(lambda: cli.asked(answer), what="the answer")
    assert cli.asked(answer)[0]["result"] == {"kind": "approve-once"}


@pytest.mark.parametrize("mode", MODES)
def test_what_a_rule_asks_about_is_asked_in_each_mode(
    cli: CliPlayed, gateway: GatewayPlayed, mode: str
) -> None:
    gateway.rule, gateway.says = "ask", "approve"
    start = {"toolName": "bash", "arguments": TOOL["toolArgs"]}
    cli.happens("s1", "tool.execution_start", toolCallId="t1", **start)
    output = cli.hook("s1", "preToolUse", **TOOL)
    if mode not in ASKED_BY_TAPUI:
        asks = {"permissionDecision": "ask", "permissionDecisionReason": "your rule: ask"}
        assert output == (asks if mode == "allow-all" else None)  # else Copilot asks by itself
        assert not gateway.of(ApprovalRequest)
        return
    assert output is None
    (asked,) = gateway.of(ApprovalRequest)
    detail = {"kind": "hook", "hookMessage": "your rule: ask", "toolCallId": "t1", **TOOL}
    assert msgspec.json.decode(asked.detail) == detail
    gateway.says = "deny"
    refused = {"permissionDecision": "deny", "permissionDecisionReason": "denied"}
    assert cli.hook("s1", "preToolUse", **TOOL) == refused


@pytest.mark.parametrize("mode", ["autopilot"])
def test_a_question_goes_with_the_turn_that_is_stopped(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    gateway.rule = "ask"
    with ThreadPoolExecutor() as pool:
        output = pool.submit(cli.hook, "s1", "preToolUse", **TOOL)
        asked = gateway.wait(ApprovalRequest)
        cli.happens("s1", "abort", reason="user_initiated")
        said = output.result(HUNG)
    assert said is not None
    assert said["permissionDecisionReason"] == "the turn was stopped"
    assert gateway.wait(ApprovalWithdraw).id == asked.id


@pytest.mark.parametrize("mode", ["interactive"])
def test_the_mode_is_known_again_after_a_connection_that_was_lost(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    gateway.rule, gateway.says = "ask", "approve"
    cli.results["session.metadata.snapshot"] = {"currentMode": "autopilot"}
    cli.drop()
    gateway.wait(SessionUpdate, mode="autopilot", session_id="s1")
    assert cli.hook("s1", "preToolUse", **TOOL) is None
    assert len(gateway.of(ApprovalRequest)) == 1


@pytest.mark.parametrize("mode", ["assisted"])
def test_how_it_asks_stays_known_where_it_does_not_say_so_again(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    gateway.rule, gateway.says = "ask", "approve"
    cli.hook("s1", "preToolUse", **TOOL)
    cli.unknown = {"session.permissions.getMode"}
    cli.drop()
    gateway.wait(SessionUpdate, tools_revision=0)
    until(lambda: len(cli.asked("session.resume")) == 2, what="it is joined again")
    assert cli.hook("s1", "preToolUse", **TOOL) is None
    assert len(gateway.of(ApprovalRequest)) == 2
