"""When a session counts as idle, though the CLI has not said so yet."""

import msgspec

from tapui.wire.host import SessionEvent
from tests.hosts.cli_played import CliPlayed
from tests.hosts.copilot.session.test_steering import cli, gateway
from tests.hosts.gateway import GatewayPlayed
from tests.rig.waiting import until

__all__ = ["cli", "gateway"]


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
