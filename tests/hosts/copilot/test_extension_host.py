"""The Copilot host and tapui's extension: the extension is run by Node, the CLI is played."""

import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tapui.hosts.copilot.finding.discovery import doors_of
from tapui.hosts.copilot.install.own_files import ExtensionFile
from tapui.hosts.copilot.session import toolset
from tapui.hosts.copilot.uplink import HostTiming
from tapui.wire.host import SessionClose, SessionOpen, SessionUpdate, ToolsChanged
from tests.conftest import program
from tests.hosts.cli_played import CliPlayed, Json
from tests.hosts.gateway import GREET, GatewayPlayed, HostThread
from tests.rig.gateway import Gateway
from tests.rig.waiting import until

Start = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def cli(copilot_home: Path) -> Iterator[CliPlayed]:
    """A CLI with two sessions; s1 is on the screen."""
    with CliPlayed(copilot_home, "s1", "s2") as played:
        yield played


@pytest.fixture
def start(cli: CliPlayed, copilot_home: Path) -> Iterator[Start]:
    """Start the extension for a session of the CLI, as the CLI does."""
    node = program("node")
    extension = ExtensionFile(copilot_home)
    extension.install()
    with ExitStack() as stack:

        def started(session: str) -> "subprocess.Popen[bytes]":
            with socket.create_connection(("127.0.0.1", cli.port)) as pipe:
                process = subprocess.Popen(
                    [node, str(extension.path)],
                    env={"PATH": os.environ["PATH"], "SESSION_ID": session},
                    stdin=pipe,
                    stdout=pipe,
                )
            stack.enter_context(process)
            stack.callback(process.terminate)
            doors = until(
                lambda: [
                    one
                    for one in doors_of(copilot_home, os.getpid(), os.getuid())
                    if one.pid == process.pid
                ],
                what="the door",
            )
            assert doors[0].session == session
            return process

        yield started


@pytest.fixture
def host(
    cli: CliPlayed, start: Start, copilot_home: Path, timing: HostTiming
) -> Iterator[HostThread]:
    """A host that is not to use ports."""
    with HostThread(GatewayPlayed(), copilot_home, with_ports=False, timing=timing) as thread:
        yield thread


def joined_fully(cli: CliPlayed, session: str) -> list[Json]:
    """Return the joins of a session with tools, hooks and permissions."""
    return [
        one
        for one in cli.asked("session.resume")
        if one["sessionId"] == session
        and one.get("tools")
        and one.get("hooks")
        and one.get("requestPermission")
    ]


def test_a_cli_with_a_port_is_attached_to_by_its_port_alone(
    cli: CliPlayed, start: Start, copilot_home: Path
) -> None:
    start("s1")
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home) as host:
        until(lambda: len(cli.asked("session.tools.set")) == 2, what="the tools of both")
        cli.shows("s3")  # so that the host has looked again
        gateway.wait(SessionOpen, lambda one: one.session.id == "s3")
        opened = [one.session for one in gateway.of(SessionOpen)]
        assert sorted(one.id for one in opened) == ["s1", "s2", "s3"]
        assert {tuple(one.ports or ()) for one in opened} == {(cli.port,)}
        assert joined_fully(cli, "s1") == []
        assert not [text for _, text in host.reports if "cannot attach" in text]


def test_without_ports_the_extension_is_the_way_in(
    cli: CliPlayed, start: Start, host: HostThread
) -> None:
    process = start("s1")
    opened = host.gateway.wait(SessionOpen).session
    assert opened.id == "s1"
    host.gateway.wait(SessionUpdate, tools_revision=1)
    (joined,) = joined_fully(cli, "s1")
    assert [one["name"] for one in joined["tools"]] == ["greet", "tap_list_streams"]
    assert cli.asked("session.tools.set") == []
    assert opened.ports
    assert opened.ports != [cli.port]
    # It goes, and comes back for the same session: another `extensions reload`, say.
    process.terminate()
    start("s1")
    until(lambda: len(joined_fully(cli, "s1")) == 2, what="joined again")
    assert len(host.gateway.of(SessionOpen)) == 1
    assert not host.gateway.of(SessionClose)


def test_the_session_for_which_it_comes_back_replaces_the_former(
    cli: CliPlayed, start: Start, host: HostThread
) -> None:
    process = start("s1")
    host.gateway.wait(SessionUpdate, tools_revision=1)
    process.terminate()
    start("s2")
    second = host.gateway.wait(SessionOpen, lambda one: one.session.id == "s2").session
    assert second.replaces == "s1"
    until(lambda: joined_fully(cli, "s2"), what="joined")
    assert not host.gateway.of(SessionClose)


def test_a_session_beside_has_an_extension_of_its_own(
    cli: CliPlayed, start: Start, host: HostThread
) -> None:
    start("s1")
    host.gateway.wait(SessionUpdate, tools_revision=1)
    start("s2")
    second = host.gateway.wait(SessionOpen, lambda one: one.session.id == "s2").session
    assert (second.replaces, second.foreground) == (None, False)
    cli.shows("s2")
    host.gateway.wait(SessionUpdate, session_id="s1", foreground=False)
    host.gateway.wait(SessionUpdate, session_id="s2", foreground=True)
    assert not host.gateway.of(SessionClose)


@pytest.mark.parametrize("timing", [HostTiming(extension_pauses=(0.05,) * 4)])
def test_an_extension_that_does_not_come_back_ends_its_session_alone(
    cli: CliPlayed, start: Start, host: HostThread
) -> None:
    process = start("s1")
    start("s2")
    until(lambda: len(host.gateway.of(SessionUpdate, tools_revision=1)) == 2, what="both")
    process.terminate()
    closed = host.gateway.wait(SessionClose)
    assert closed.session_id == "s1"
    assert len(host.gateway.of(SessionClose)) == 1


@pytest.mark.parametrize("timing", [HostTiming(retry_tools=0.05)])
def test_a_person_who_says_no_is_not_asked_again(
    cli: CliPlayed, start: Start, host: HostThread
) -> None:
    cli.refuses_extensions = True
    start("s1")
    until(lambda: told(host), what="the report")
    host.gateway.wait(SessionUpdate, session_id="s1", tools_revision=0)
    host.gateway.tell(ToolsChanged("s1", [GREET], 2))
    until(lambda: len(told(host)) == 2, what="another try, as the tools changed")
    assert len(joined_fully(cli, "s1")) == 2
    assert not host.gateway.of(SessionClose)


def test_the_person_is_asked_only_where_the_cli_asks(
    cli: CliPlayed, start: Start, host: HostThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It takes long: on a busy machine, say.
    monkeypatch.setattr(toolset, "ASKED_TIME", 0.05)
    cli.holds_extensions = True
    start("s1")
    host.gateway.wait(SessionUpdate, session_id="s1", tools_revision=0)
    looks = "session.permissions.pendingRequests"
    until(lambda: len(cli.asked(looks)) >= 4, what="looks for what it asks")
    assert not told(host)
    cli.permissions = [
        {
            "kind": "extension-permission-access",
            "extensionName": "user:tapui",
            "capabilities": ["register hooks"],
        }
    ]
    until(lambda: told(host), what="the report")
    question = "may its extension tapui have these rights?"
    host.gateway.wait(SessionUpdate, session_id="s1", asks_there=question)
    cli.happens("s1", "session.mcp_servers_loaded")
    cli.answer_the_slow()
    host.gateway.wait(SessionUpdate, session_id="s1", asks_there="")
    host.gateway.wait(SessionUpdate, session_id="s1", tools_revision=1)
    assert len(told(host)) == 1


def told(host: HostThread) -> list[str]:
    return [text for _, text in host.reports if "only watches" in text]


def test_a_gateway_that_may_not_use_ports_comes_in_by_the_extension(
    cli: CliPlayed, start: Start, copilot_home: Path, serve: Callable[..., Gateway]
) -> None:
    start("s1")
    env = {"COPILOT_HOME": str(copilot_home), "TAPUI_COPILOT_PORT": "never"}
    gateway = serve(env=env)

    def sessions() -> list[str]:
        said = gateway.home.run("status", "--json", "--port", str(gateway.port))
        return [one["id"] for one in json.loads(said.stdout)["state"]["sessions"]]

    until(lambda: "s1" in sessions(), what=lambda: f"s1; {gateway.stderr}")
    assert "s2" not in sessions()
    until(lambda: joined_fully(cli, "s1"), what="joined")
    assert cli.asked("session.tools.set") == []
