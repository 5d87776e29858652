"""Whose language a command is in is not said with its permission: its call says it."""

import msgspec
import pytest

from tapui.wire.host import ApprovalRequest
from tests.hosts.cli_played import CliPlayed
from tests.hosts.gateway import GatewayPlayed


@pytest.mark.parametrize(("tool", "shell"), [("powershell", "powershell"), ("bash", None)])
def test_a_command_of_powershell_is_marked(
    cli: CliPlayed, gateway: GatewayPlayed, tool: str, shell: str | None
) -> None:
    command = {"command": "npm ci", "description": "d"}
    cli.happens("s1", "tool.execution_start", toolCallId="t1", toolName=tool, arguments=command)
    asked = {
        "kind": "shell",
        "fullCommandText": "npm ci",
        "intention": "d",
        "canOfferSessionApproval": False,
        "hasWriteFileRedirection": False,
        "commands": [],
        "possiblePaths": [],
        "possibleUrls": [],
        "toolCallId": "t1",
    }
    cli.happens("s1", "permission.requested", requestId="p1", permissionRequest=asked)
    detail = msgspec.json.decode(gateway.wait(ApprovalRequest).detail)
    assert (detail["fullCommandText"], detail.get("shell")) == ("npm ci", shell)
