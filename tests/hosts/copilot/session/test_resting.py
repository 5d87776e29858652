"""When a session counts as idle, though the CLI has not said so yet."""

import msgspec

from tapui.wire.host import SessionEvent, SessionUpdate
from tests.hosts.cli_played import CliPlayed
from tests.hosts.gateway import GatewayPlayed
from tests.rig.waiting import until


def idles(gateway: GatewayPlayed) -> list[dict[str, object]]:
    return [msgspec.json.decode(one.data) for one in gateway.of(SessionEvent, event="session.idle")]


def pauses(cli: CliPlayed, gateway: GatewayPlayed, turn: str) -> None:
    """The agent pauses; return when the host has asked how the session is, and taken the answer."""
    asked = len(cli.asked("session.metadata.isProcessing"))
    cli.happens("s1", "assistant.turn_start", turnId=turn)
    cli.happens("s1", "assistant.idle")
    until(lambda: len(cli.asked("session.metadata.isProcessing")) > asked, what="the question")
    cli.happens("s1", "assistant.intent", intent=turn)
    gateway.wait(SessionEvent, lambda one: turn in bytes(one.data).decode())


def test_a_session_rests_while_its_commands_go_on(cli: CliPlayed, gateway: GatewayPlayed) -> None:
    cli.commands = ["sleep 60"]
    pauses(cli, gateway, "t-1")
    until(lambda: idles(gateway) == [{}], what="rest")
    cli.happens("s1", "session.idle", mode="interactive")  # the command has ended
    cli.happens("s1", "assistant.turn_start", turnId="t-2")
    cli.happens("s1", "session.idle", mode="interactive")
    until(lambda: len(idles(gateway)) == 2, what="rest once a turn")


def test_a_stopped_turn_says_that_it_was_stopped(cli: CliPlayed, gateway: GatewayPlayed) -> None:
    cli.happens("s1", "assistant.turn_start", turnId="t-1")
    cli.happens("s1", "abort", reason="user_initiated")
    cli.happens("s1", "assistant.idle")
    cli.happens("s1", "session.idle", aborted=True)
    pauses(cli, gateway, "t-2")
    until(lambda: idles(gateway) == [{"aborted": True}, {}], what="rest twice")


def test_between_two_prompts_it_does_not(cli: CliPlayed, gateway: GatewayPlayed) -> None:
    cli.processing = True
    pauses(cli, gateway, "t-1")
    cli.processing, cli.agents = False, ["explore"]
    pauses(cli, gateway, "t-2")
    cli.agents = []
    pauses(cli, gateway, "t-3")
    until(lambda: idles(gateway) == [{}], what="rest after all")


def goes_behind(cli: CliPlayed, call: str, command: str) -> None:
    arguments = {"command": command, "mode": "async"}
    cli.happens("s1", "tool.execution_start", toolCallId=call, toolName="bash", arguments=arguments)
    result = {"content": f"<command started in background with shellId: {call}>"}
    cli.happens("s1", "tool.execution_complete", toolCallId=call, success=True, result=result)


def told_shells(gateway: GatewayPlayed) -> list[list[str]]:
    told = gateway.of(SessionUpdate)
    return [one.shells for one in told if one.shells is not None]


def test_commands_that_go_on_behind_a_rest_are_told_until_they_end(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    for call, command in (("c1", "npm run dev"), ("c2", "npm test")):
        goes_behind(cli, call, command)
    pauses(cli, gateway, "t-1")
    until(lambda: told_shells(gateway) == [["npm run dev", "npm test"]], what="both")
    exit_ = {"type": "shell_exit", "exitCode": 0, "shellId": "c2"}
    cli.happens("s1", "tool.execution_start", toolCallId="r1", toolName="read_bash")
    result = {"content": "", "contents": [exit_]}
    ended = {"result": result, "shellExecution": {"exitCode": 0}}
    cli.happens("s1", "tool.execution_complete", toolCallId="r1", success=True, **ended)
    until(lambda: told_shells(gateway)[1:] == [["npm run dev"]], what="the one that is left")
    cli.happens("s1", "session.idle", mode="interactive")  # nothing more is waited for
    until(lambda: told_shells(gateway)[2:] == [[]], what="none")
    goes_behind(cli, "c3", "npm run lint")
    pauses(cli, gateway, "t-2")
    until(lambda: told_shells(gateway)[3:] == [["npm run lint"]], what="only what is waited for")
    cli.drop()
    until(lambda: told_shells(gateway)[4:] == [[]], what="nothing is known any more")


def test_a_command_that_the_cli_does_not_wait_for_is_not_told(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    goes_behind(cli, "c1", "npm run dev")
    cli.happens("s1", "assistant.turn_start", turnId="t-1")
    cli.happens("s1", "session.idle", mode="interactive")
    until(lambda: idles(gateway) == [{}], what="rest")
    assert told_shells(gateway) == []
