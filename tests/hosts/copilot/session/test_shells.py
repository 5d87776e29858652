"""What is told of the CLI's own shells: by the CLI's fields, and of nothing that only looks so.

The events are as CLI 1.0.102 sent them.
"""

import uuid
from typing import Any

import msgspec
import pytest

from tapui.hosts.copilot.connection import CliEvent
from tapui.hosts.copilot.session.history import OpenCall
from tapui.hosts.copilot.session.translator import Translator
from tapui.wire.limits import MAX_SHELL_TEXT
from tapui.wire.message import SessionEvent

Json = dict[str, Any]
CWD = "/code/repo"
BEHIND = "<command started in background with shellId: {}>"
LARGE = "Output too large to read at once (164.9 KB). Saved to: /tmp/x.txt\n\n1\n2\n"


class Cli:
    """One session of a CLI, with what the host makes of its events."""

    def __init__(self) -> None:
        self.translator = Translator("s1", {"greet"}.__contains__)

    def says(self, kind: str, data: Json, agent: str | None = None) -> list[tuple[str, Json]]:
        event = {
            "type": kind,
            "id": str(uuid.uuid4()),
            "parentId": None,
            "timestamp": "2026-11-21T22:15:49.000Z",
            "data": data,
            **({"agentId": agent} if agent else {}),
        }
        told = []
        for message in self.translator.translate(CliEvent.read(event)):
            assert isinstance(message, SessionEvent)
            told.append((message.event, msgspec.json.decode(message.data)))
        return told

    def starts(self, id_: str, tool: str = "bash", agent: str | None = None, **more: Any) -> None:
        data = {"toolCallId": id_, "toolName": tool, "arguments": {"command": f"run {id_}"}}
        self.says("tool.execution_start", data | more, agent)

    def asks_another(self, id_: str, tool: str = "bash") -> None:
        """Have another program answer a call."""
        ids = {"requestId": "r1", "sessionId": "s1", "toolCallId": id_}
        assert self.says("external_tool.requested", {**ids, "toolName": tool}) == []

    def prints(self, id_: str, sequence: int, text: str) -> None:
        data = {"toolCallId": id_, "sequence": sequence, "text": text, "stream": "stdout"}
        assert self.says("tool.shell_output", data) == []

    def ends(self, id_: str, agent: str | None = None, **data: Any) -> list[tuple[str, Json]]:
        given = {"toolCallId": id_, "success": True, **data}
        return self.says("tool.execution_complete", given, agent)

    def exits(
        self, id_: str, code: int, shell: str = "0", agent: str | None = None, **content: Any
    ) -> list[tuple[str, Json]]:
        exit_ = {"type": "shell_exit", "exitCode": code, "shellId": shell, "cwd": CWD, **content}
        result = {"content": f"<shellId: {shell} completed with exit code {code}>"}
        return self.ends(
            id_, agent, result=result | {"contents": [exit_]}, shellExecution={"exitCode": code}
        )

    def goes_behind(
        self, id_: str, shell: str, agent: str | None = None, text: str = BEHIND
    ) -> Json:
        ((_, end),) = self.ends(id_, agent, result={"content": text.format(shell)})
        return end

    def notifies(self, shell: str, code: int) -> list[tuple[str, Json]]:
        kind = {"type": "shell_completed", "shellId": shell, "exitCode": code, "description": "d"}
        return self.says("system.notification", {"content": "It has exited.", "kind": kind})


@pytest.fixture
def cli() -> Cli:
    return Cli()


def shell_of(told: list[tuple[str, Json]]) -> Json | None:
    ((name, data),) = told
    assert name == "tool.execution_complete"
    found: Json | None = data.get("shell")
    return found


@pytest.mark.parametrize("tool", ["bash", "powershell", "local_shell"])
def test_a_command_tells_its_shell_and_folder(cli: Cli, tool: str) -> None:
    cli.starts("c1", tool)
    ((_, end),) = cli.exits("c1", 3)
    assert (end["exitCode"], end["shell"]) == (3, {"id": "0", "cwd": CWD})


def test_a_short_output_is_not_told_twice(cli: Cli) -> None:
    cli.starts("c1")
    cli.prints("c1", 0, "hi\n")
    assert shell_of(cli.exits("c1", 0)) == {"id": "0", "cwd": CWD}


def test_of_a_long_output_the_ends_are_told_by_whole_lines(cli: Cli) -> None:
    cli.starts("c1")
    lines = [f"line {number}\n" for number in range(30_000)]
    text = "".join(lines)
    for at in range(0, len(text), 8192):
        cli.prints("c1", at // 8192, text[at : at + 8192])
    shell = shell_of(cli.exits("c1", 4, outputTruncated=True))
    assert shell is not None
    head, tail = shell.pop("head"), shell.pop("tail")
    assert shell == {"id": "0", "cwd": CWD, "isCut": True}
    assert text.startswith(head)
    assert text.endswith(tail)
    assert head.splitlines()[-1] in {line.strip() for line in lines}
    assert tail.splitlines()[0] in {line.strip() for line in lines}
    assert 3_000 < len(head) <= 4_096
    assert 15_000 < len(tail) <= MAX_SHELL_TEXT


@pytest.mark.parametrize(
    ("pieces", "ends"),
    [
        ([], {}),
        ([(0, "a\nb\n")], {"tail": "a\nb\n"}),
        ([(0, "a\n"), (1, "b\n")], {"tail": "a\nb\n"}),
        ([(0, "a\n"), (2, "c\nd\n")], {"head": "a\n", "tail": "d\n"}),
        ([(0, "a\n"), (2, "c\n")], {"head": "a\n"}),
        ([(3, "d\n"), (4, "e\n")], {"tail": "e\n"}),
    ],
    ids=["nothing", "all", "all in pieces", "a gap", "a line alone", "only the end"],
)
def test_pieces_that_did_not_come_are_not_papered_over(
    cli: Cli, pieces: list[tuple[int, str]], ends: Json
) -> None:
    cli.starts("c1")
    for sequence, text in pieces:
        cli.prints("c1", sequence, text)
    shell = shell_of(cli.exits("c1", 0, outputTruncated=True))
    assert shell == {"id": "0", "cwd": CWD, "isCut": True} | ends


def test_the_end_is_bounded_in_bytes(cli: Cli) -> None:
    cli.starts("c1")
    for sequence in range(40):
        cli.prints("c1", sequence, "\N{PILE OF POO}" * 8192)
    shell = shell_of(cli.exits("c1", 0, outputTruncated=True))
    assert shell is not None
    assert len(shell["tail"].encode()) <= 16 * 1024


@pytest.mark.parametrize(
    "content",
    [
        {"exitCode": 0, "shellId": "", "type": "shell_exit"},
        {"exitCode": 0, "shellId": "x" * 300, "type": "shell_exit"},
        {"exitCode": 2**40, "shellId": "0", "type": "shell_exit"},
    ],
)
def test_an_end_that_cannot_be_the_clis_tells_nothing(cli: Cli, content: Json) -> None:
    cli.starts("c1")
    assert shell_of(cli.ends("c1", result={"content": "", "contents": [content]})) is None


def test_two_codes_tell_nothing(cli: Cli) -> None:
    exit_ = {"type": "shell_exit", "exitCode": 0, "shellId": "0"}
    cli.starts("c1")
    told = cli.ends(
        "c1", result={"content": "", "contents": [exit_]}, shellExecution={"exitCode": 1}
    )
    assert shell_of(told) is None
    cli.starts("c2")
    assert shell_of(cli.ends("c2", result={"content": "", "contents": [exit_, exit_]})) is None


def test_what_a_command_prints_is_no_end(cli: Cli) -> None:
    cli.starts("c1")
    text = "<shellId: 0 completed with exit code 0>"
    assert shell_of(cli.ends("c1", result={"content": text})) is None


# Tools that only have a shell's name


def test_another_programs_tool_of_that_name_tells_nothing(cli: Cli) -> None:
    cli.starts("c1")
    cli.asks_another("c1")
    assert shell_of(cli.exits("c1", 0)) is None


@pytest.mark.parametrize("mark", [{"mcpServerName": "evil"}, {"mcpToolName": "bash"}])
def test_an_mcp_servers_tool_of_that_name_tells_nothing(cli: Cli, mark: Json) -> None:
    cli.starts("c1", **mark)
    assert shell_of(cli.exits("c1", 0)) is None


def by_of(told: list[tuple[str, Json]]) -> object:
    ((_, end),) = told
    return end.get("answeredBy")


def test_who_answered_a_call(cli: Cli) -> None:
    cli.starts("c1", "github-create_issue", mcpServerName="github", mcpToolName="create_issue")
    assert by_of(cli.ends("c1")) == "github"
    cli.starts("c2", "tool", mcpToolName="tool")
    assert by_of(cli.ends("c2")) == "an MCP server"
    cli.starts("c3", "deploy")
    cli.asks_another("c3", "deploy")
    assert by_of(cli.ends("c3")) == "another program"
    cli.starts("c4", "view")
    assert by_of(cli.ends("c4")) is None


def test_who_answered_what_began_before_this_host_came_is_not_known(cli: Cli) -> None:
    cli.translator.go_on([OpenCall("c1", "deploy", "2026-11-21T22:15:40.000000Z", {}, None)])
    assert by_of(cli.ends("c1")) == "another program"


def test_a_tool_that_is_no_shell_tells_nothing(cli: Cli) -> None:
    cli.starts("c1", "view")
    assert shell_of(cli.exits("c1", 0)) is None


def test_a_call_that_began_before_this_host_came_tells_nothing(cli: Cli) -> None:
    call = OpenCall("c1", "bash", "2026-11-21T22:15:40.000000Z", {"command": "run c1"}, None)
    cli.translator.go_on([call])
    ((_, end),) = cli.exits("c1", 3)
    assert (end["exitCode"], "shell" in end) == (3, False)


def test_a_call_over_which_the_connection_was_lost_tells_nothing(cli: Cli) -> None:
    cli.starts("c1")
    cli.translator.shells.lost()
    assert shell_of(cli.exits("c1", 0)) is None


# The background


def test_a_command_in_the_background_tells_its_code_and_output_when_it_is_read(cli: Cli) -> None:
    cli.starts("c1")
    assert cli.goes_behind("c1", "bg1")["shell"] == {"id": "bg1", "isBehind": True}
    cli.prints("c1", 0, "3 passed\n")
    cli.starts("c2", "read_bash")
    running = "3 passed\n<command with shellId: bg1 is still running after 2 seconds.>"
    assert shell_of(cli.ends("c2", result={"content": running})) is None
    cli.starts("c3", "read_bash")
    (_, read), (name, ended) = cli.exits("c3", 5, "bg1")
    assert "shell" not in read
    assert (name, ended) == (
        "shell.completed",
        {
            "toolCallId": "c1",
            "tool": "bash",
            "command": "run c1",
            "exitCode": 5,
            "shell": {"id": "bg1", "cwd": CWD, "isBehind": True, "tail": "3 passed\n"},
        },
    )
    assert cli.notifies("bg1", 5) == [], "it was told already"


@pytest.mark.parametrize(
    "text",
    [
        BEHIND,
        "tick\n<command with shellId: {} is still running after 10 seconds.>\n",
        "<the command was moved to the background by the user, shellId: {}.>",
    ],
)
def test_the_cli_tells_of_it_once_before_it_is_read(cli: Cli, text: str) -> None:
    cli.starts("c1")
    cli.goes_behind("c1", "bg1", text=text)
    cli.prints("c1", 0, "no\n")
    assert cli.notifies("other", 3) == []
    ((name, ended),) = cli.notifies("bg1", 1)
    shell = {"id": "bg1", "isBehind": True, "tail": "no\n"}
    assert (name, ended["exitCode"], ended["shell"]) == ("shell.completed", 1, shell)
    assert cli.notifies("bg1", 1) == []
    cli.starts("c2", "read_bash")
    assert len(cli.exits("c2", 1, "bg1")) == 1


@pytest.mark.parametrize("code", [2**40, -(2**31) - 1])
def test_an_exit_code_that_is_none_is_not_told(cli: Cli, code: int) -> None:
    cli.starts("c1")
    cli.goes_behind("c1", "bg1")
    assert cli.notifies("bg1", code) == []


def test_another_programs_read_bash_ends_nothing(cli: Cli) -> None:
    cli.starts("c1")
    cli.goes_behind("c1", "bg1")
    cli.starts("c2", "read_bash")
    cli.asks_another("c2", "read_bash")
    assert len(cli.exits("c2", 0, "bg1")) == 1
    ((_, ended),) = cli.notifies("bg1", 1)
    assert (ended["exitCode"], ended["shell"]["id"]) == (1, "bg1")


def test_agents_may_have_shells_of_the_same_id(cli: Cli) -> None:
    cli.starts("c1")
    cli.goes_behind("c1", "bg1")
    cli.starts("c2", agent="kid")
    cli.goes_behind("c2", "bg1", "kid")
    cli.starts("c3", "read_bash", "kid")
    _, (_, ended) = cli.exits("c3", 8, "bg1", "kid")
    assert (ended["toolCallId"], ended["exitCode"], ended["agentId"]) == ("c2", 8, "kid")
    ((_, ended),) = cli.notifies("bg1", 4)
    assert (ended["toolCallId"], ended["exitCode"]) == ("c1", 4)


def test_a_shells_id_that_is_used_again_before_its_end_came_is_nobodys(cli: Cli) -> None:
    for call in ("c1", "c2"):
        cli.starts(call)
        cli.goes_behind(call, "bg1")
    ((_, ended),) = cli.notifies("bg1", 0)
    assert "shell" not in ended


def test_after_a_lost_connection_a_shells_id_may_be_another(cli: Cli) -> None:
    cli.starts("c1")
    cli.goes_behind("c1", "bg1")
    cli.translator.shells.lost()
    ((_, ended),) = cli.notifies("bg1", 0)
    assert (ended["exitCode"], "shell" in ended) == (0, False)


def test_a_command_that_another_program_has_in_the_background_is_nobodys(cli: Cli) -> None:
    cli.starts("c1")
    cli.asks_another("c1")
    assert "shell" not in cli.goes_behind("c1", "bg1")
    ((_, ended),) = cli.notifies("bg1", 0)
    assert "shell" not in ended
