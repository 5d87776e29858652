"""CLIs of the protocols that tapui speaks, and of others, played: what the host does, and tells."""

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tapui.hosts.copilot import attachment
from tapui.hosts.copilot.connection import (
    PROBE,
    AttachError,
    CliConnection,
    CliSession,
    Participation,
)
from tapui.hosts.copilot.finding.discovery import Process
from tapui.hosts.copilot.finding.unattached_sessions import RetryLog
from tapui.hosts.copilot.own.own_session import OwnSession, StartError
from tapui.hosts.copilot.uplink import HostTiming
from tapui.wire.host import (
    HookPreToolUse,
    PromptSubmitted,
    SessionClose,
    SessionEvent,
    SessionOpen,
    SessionsUnattached,
    SessionUpdate,
    TurnEnding,
)
from tapui.wire.steering import SessionStart
from tests.hosts.cli_played import CliPlayed
from tests.hosts.gateway import GatewayPlayed, HostThread
from tests.rig.waiting import HUNG, until


@pytest.fixture
def cli(copilot_home: Path) -> Iterator[CliPlayed]:
    """A CLI of protocol 4 that takes the names of protocol 3."""
    with CliPlayed(copilot_home, "s1") as played:
        played.greeting = {"protocolVersion": 4, "version": "1.0.117"}
        yield played


def reports(host: HostThread) -> list[str]:
    return [text for _, text in host.reports]


def test_a_cli_of_an_unknown_protocol_is_named_where_one_looks_and_asked_once(
    cli: CliPlayed, copilot_home: Path
) -> None:
    cli.greeting = {"protocolVersion": 5, "version": "1.0.217"}
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home, timing=HostTiming(scan=0.05)) as host:
        told = gateway.wait(SessionsUnattached, lambda one: one.unattached)
        (session,) = told.unattached
        assert session.why == "Copilot CLI 1.0.217 speaks protocol 5; tapui speaks 3 and 4"
        assert (session.id, "tapui" in session.hint) == ("s1", True)
        (target,) = host.run_in_loop(host.host.retry_log.targets)
        assert host.host.retry_log._of[target].again_at == math.inf
        assert [one["method"] for one in cli.requests] == ["connect"]
        assert len(reports(host)) == 1
        assert not gateway.of(SessionOpen)


async def test_what_was_refused_is_tried_again_once_its_program_is_another() -> None:
    said: list[str] = []
    log = RetryLog(lambda text, _: said.append(text))
    old, new = Process(7, 1.0), Process(7, 2.0)
    for _ in range(2):
        log.refused(old, "it speaks protocol 5", "copilot update", is_final=True)
    assert (log.is_due(old), log.is_due(new)) == (False, True)
    log.attached(old)
    assert log.refusal([old]) is None
    log.keep([new])
    assert log.is_due(old)
    assert said == ["not attached: it speaks protocol 5 (copilot update)"]


def test_a_port_that_was_named_is_told_with_its_refusal_and_looked_at_again(
    cli: CliPlayed, copilot_home: Path
) -> None:
    cli.greeting = {"protocolVersion": 5}
    timing = HostTiming(scan=0.05)
    with HostThread(GatewayPlayed(), copilot_home, port=cli.port, timing=timing) as host:
        (told,) = host.gateway.wait(SessionsUnattached, lambda one: one.unattached).unattached
        assert (told.id, "speaks protocol 5" in str(told.why)) == ("s1", True)
        (target,) = host.run_in_loop(host.host.retry_log.targets)
        assert host.host.retry_log._of[target].again_at < math.inf
        cli.greeting = {"protocolVersion": 3}
        host.gateway.wait(SessionUpdate, tools_revision=1)


def test_a_persons_session_of_protocol_4_is_joined_once_it_is_seen_to_be_understood(
    cli: CliPlayed, copilot_home: Path
) -> None:
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home):
        gateway.wait(SessionUpdate, tools_revision=1)
    (joined,) = cli.asked("session.resume")
    assert (joined["hooks"], joined["tools"]) == (True, [PROBE])
    first, second = cli.asked("session.tools.set")
    assert first["tools"] == []
    assert [tool["name"] for tool in second["tools"]] == ["greet", "tap_list_streams"]


def test_a_session_whose_cli_left_the_join_aside_is_left(
    cli: CliPlayed, copilot_home: Path
) -> None:
    cli.takes_tools = False
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home) as host:
        until(lambda: reports(host), what="a report")
        assert cli.asked("session.detach") == [{"sessionId": "s1"}]
        assert not gateway.of(SessionOpen)
        assert gateway.wait(SessionsUnattached, lambda one: one.unattached).unattached[0].why
    said = "Copilot CLI 1.0.117 (protocol 4) let tapui join a session and left aside its hooks and"
    assert said in reports(host)[0]


def test_a_session_that_cannot_be_looked_at_is_left(cli: CliPlayed, copilot_home: Path) -> None:
    cli.unknown = {"session.tools.getCurrentMetadata"}
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home):
        until(lambda: cli.asked("session.detach"), what="it is left")
        (told,) = gateway.wait(SessionsUnattached, lambda one: one.unattached).unattached
    assert "left aside the look at its tools" in str(told.why)


def test_a_session_that_comes_later_and_is_not_understood_ends_the_conversation(
    copilot_home: Path,
) -> None:
    gateway = GatewayPlayed()
    with CliPlayed(copilot_home, "s1", "s2") as cli:
        cli.greeting = {"protocolVersion": 4, "version": "1.0.117"}
        cli.broken = {"s2"}
        with HostThread(gateway, copilot_home, timing=HostTiming(scan=0.05)):
            told = gateway.wait(SessionsUnattached, lambda one: len(one.unattached) == 2)
            assert "session s2 is corrupt" in str(told.unattached[0].why)
            assert gateway.wait(SessionClose).session_id == "s1"


def test_a_cli_that_refuses_each_join_is_named(cli: CliPlayed, copilot_home: Path) -> None:
    cli.is_strict = True
    with HostThread(GatewayPlayed(), copilot_home) as host:
        until(lambda: reports(host), what="a report")
    said = (
        "Copilot CLI 1.0.117 speaks protocol 4, and perhaps does not take the names of protocol 3"
    )
    assert said in reports(host)[0]
    assert "unknown field" in reports(host)[0]


async def own_session(cli: CliPlayed, order: SessionStart) -> CliSession:
    server = await CliConnection.open(cli.port, None, within=HUNG, on_foreground=lambda _: None)
    try:
        part = Participation(lambda _: None, {})
        return await OwnSession("s1", "/code", order, {})(server, part)
    finally:
        await server.close()


@pytest.mark.parametrize(
    ("understood", "lacking"),
    [
        ({}, ""),
        ({"tools": False}, "its hooks and tools"),
        ({"elicitation": False}, "its hooks, permissions and questions"),
        ({"folder": "/"}, "its folder"),
        ({"model": "other"}, "its model"),
    ],
)
async def test_a_session_of_our_own_in_protocol_4_is_as_it_was_ordered(
    cli: CliPlayed, understood: dict[str, Any], lacking: str
) -> None:
    is_asked = understood.get("elicitation", True)
    cli.takes_tools = understood.get("tools", True)
    cli.results = {
        "session.create": {"sessionId": "s1", "capabilities": {"ui": {"elicitation": is_asked}}},
        "session.metadata.snapshot": {"workingDirectory": understood.get("folder", "/code")},
        "session.model.getCurrent": {"modelId": understood.get("model", "scripted")},
    }
    order = SessionStart("o1", folder="/code", model="scripted")
    if not lacking:
        assert (await own_session(cli, order)).id == "s1"
        return
    with pytest.raises(AttachError, match=f"left aside {lacking}"):
        await own_session(cli, order)
    assert cli.asked("session.detach") == [{"sessionId": "s1"}]


async def test_a_provider_of_ones_own_is_not_sent_where_it_might_not_be_understood(
    cli: CliPlayed,
) -> None:
    server = await CliConnection.open(cli.port, None, within=HUNG, on_foreground=lambda _: None)
    given = {"COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:1", "COPILOT_MODEL": "scripted"}
    start = OwnSession("s1", "/code", SessionStart("o1", folder="/code"), given)
    with pytest.raises(StartError, match="prompts might go elsewhere"):
        await start(server, Participation(lambda _: None, {}))
    await server.close()
    assert [one["method"] for one in cli.requests] == ["connect"]


def test_a_connection_that_is_lost_as_soon_as_it_is_made_is_made_again_after_pauses(
    cli: CliPlayed, copilot_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.greeting = {"protocolVersion": 3, "version": "1.0.102"}
    monkeypatch.setattr(attachment, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(attachment, "SHORT", HUNG)
    with HostThread(GatewayPlayed(), copilot_home) as host:
        until(lambda: cli.asked("session.tools.set"), what="its tools")
        for times in range(1, 4):
            cli.drop()
            back = f"the connection to port {cli.port} is back"
            until(lambda: reports(host).count(back) == times, what="it is back")  # noqa: B023
        told = [text for text in reports(host) if "is lost at once" in text]
        assert len(told) == 1


@pytest.mark.parametrize(
    ("protocol", "asks_first", "success", "is_left"),
    [
        (4, False, True, True),
        (4, True, True, False),
        (4, False, False, False),
        (3, False, True, False),  # whose names are its own
    ],
    ids=["not asked", "asked", "failed before", "protocol 3"],
)
def test_a_cli_that_runs_a_tool_without_our_hook_is_left(
    cli: CliPlayed,
    copilot_home: Path,
    protocol: int,
    asks_first: bool,
    success: bool,
    is_left: bool,
) -> None:
    cli.greeting = {"protocolVersion": protocol, "version": "1.0.117"}
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home, timing=HostTiming(scan=0.05)) as host:
        gateway.wait(SessionOpen)
        before: dict[str, Any] = {"toolCallId": "t0", "result": {}, "success": True}
        cli.happens("s1", "tool.execution_complete", **before)  # it began before we came
        cli.happens("s1", "tool.execution_start", toolCallId="t1", toolName="bash", arguments={})
        if asks_first:
            assert cli.hook("s1", "preToolUse", toolName="bash", toolArgs={}) is None
        ended = {"toolCallId": "t1", "result": {}, "success": success}
        cli.happens("s1", "tool.execution_complete", **ended)
        if not is_left:
            gateway.wait(SessionEvent, event="tool.execution_complete")
            assert cli.hook("s1", "preToolUse", toolName="bash", toolArgs={}) is None
            assert not gateway.of(SessionClose)
            return
        why = "Copilot CLI 1.0.117 (protocol 4) let tapui join a session and left aside its hooks"
        assert gateway.wait(SessionClose).reason == why
        told = gateway.wait(SessionsUnattached, lambda one: one.unattached)
        assert told.unattached[0].why == why
        until(lambda: not cli.connections, what="the end of the connection")
        (target,) = host.run_in_loop(host.host.retry_log.targets)
        assert host.host.retry_log._of[target].again_at == math.inf


def test_another_version_on_the_same_port_is_joined_in_its_own_form(
    cli: CliPlayed, copilot_home: Path
) -> None:
    cli.greeting = {"protocolVersion": 3, "version": "1.0.112"}
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home, timing=HostTiming(scan=0.05)) as host:
        gateway.wait(SessionOpen)
        cli.greeting = {"protocolVersion": 4, "version": "1.0.117"}
        cli.drop()
        until(lambda: len(cli.asked("session.resume")) == 2, what="it is joined again")
        forms = [joined.get("tools") for joined in cli.asked("session.resume")]
        assert (forms[0] in (None, []), forms[1]) == (True, [PROBE])
        until(lambda: [text for text in reports(host) if "is back" in text], what="it goes on")
        assert not gateway.of(SessionClose)
        cli.greeting = {"protocolVersion": 5, "version": "1.0.217"}
        cli.drop()
        why = "Copilot CLI 1.0.217 speaks protocol 5; tapui speaks 3 and 4"
        assert gateway.wait(SessionClose).reason == why
        (told,) = gateway.wait(SessionsUnattached, lambda one: one.unattached).unattached
        assert told.why == why


@pytest.mark.parametrize(
    ("method", "given"),
    [
        ("preToolUse", {"toolName": "bash", "toolArgs": {}}),
        ("userPromptSubmitted", {"prompt": "Go on"}),
        ("agentStop", {"stopReason": "end_turn"}),
    ],
)
def test_a_connection_that_is_lost_in_a_hook_costs_that_alone(
    cli: CliPlayed, copilot_home: Path, method: str, given: dict[str, Any]
) -> None:
    gateway = GatewayPlayed()
    gateway.answers_hooks = False
    with HostThread(gateway, copilot_home) as host, ThreadPoolExecutor() as pool:
        gateway.wait(SessionUpdate, tools_revision=1)
        lost = pool.submit(cli.hook, "s1", method, **given)
        kinds = (HookPreToolUse, PromptSubmitted, TurnEnding)
        until(lambda: any(map(gateway.of, kinds)), what="the question")
        cli.drop()
        until(lambda: [text for text in reports(host) if "is back" in text], what="the connection")
        gateway.answers_hooks = True
        assert cli.hook("s1", method, **given) is None
        assert isinstance(lost.exception(HUNG), ConnectionError)
        assert not [text for level, text in host.reports if level == "error"]


def test_a_cli_that_cannot_be_greeted_is_listed_with_its_reason(
    cli: CliPlayed, copilot_home: Path
) -> None:
    cli.unknown = {"connect", "ping"}
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home, timing=HostTiming(scan=0.05)) as host:
        (told,) = gateway.wait(SessionsUnattached, lambda one: one.unattached).unattached
        assert told.why == f"connect to port {cli.port}: this Copilot CLI does not know that"
        assert len(reports(host)) == 1


@pytest.mark.parametrize("shown", ["/etc", "..", "a\0b", "\x1b[2J", "x" * 5_000])
def test_a_session_on_the_screen_whose_id_is_none_is_not_joined(
    cli: CliPlayed, copilot_home: Path, shown: str
) -> None:
    cli.greeting = {"protocolVersion": 3}
    cli.results = {"session.getForeground": {"sessionId": shown}}
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home) as host:
        gateway.wait(SessionUpdate, tools_revision=1)
        assert {joined["sessionId"] for joined in cli.asked("session.resume")} == {"s1"}
        assert not [text for level, text in host.reports if level == "error"]


def test_a_cli_that_does_not_answer_has_no_command_that_would_help(
    cli: CliPlayed, copilot_home: Path
) -> None:
    cli.mute = {"connect"}
    gateway = GatewayPlayed()
    timing = HostTiming(scan=0.05, connect=0.3)
    with HostThread(gateway, copilot_home, timing=timing):
        (told,) = gateway.wait(SessionsUnattached, lambda one: one.unattached).unattached
        assert ("no answer" in (told.why or ""), told.hint) == (True, "")


def test_a_workspace_that_is_no_path_costs_nothing(cli: CliPlayed, copilot_home: Path) -> None:
    cli.greeting = {"protocolVersion": 3}
    cli.results = {"session.resume": {"sessionId": "s1", "workspacePath": "/a\0b"}}
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home) as host:
        gateway.wait(SessionUpdate, tools_revision=1)
        assert not [text for level, text in host.reports if level == "error"]
