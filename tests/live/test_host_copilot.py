"""The copilot host on the real CLI: what the person sees there, what the gateway gets."""

import base64
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from tapui.hosts.copilot.uplink import HostTiming
from tapui.wire.codec import raw
from tapui.wire.host import (
    ApprovalAnswer,
    ApprovalRequest,
    ApprovalWithdraw,
    ModeResult,
    ModeSet,
    Sender,
    SessionClose,
    SessionEvent,
    SessionLog,
    SessionOpen,
    SessionSend,
    SessionsUnattached,
    SessionUpdate,
    ToolsChanged,
)
from tapui.wire.message import (
    FileResult,
    OfferedTool,
    ToolAbort,
    ToolInvoke,
    ToolOutcome,
    ToolProgress,
)
from tests.hosts.gateway import GREET, GatewayPlayed, HostThread
from tests.live.conftest import Desk
from tests.rig.copilot import Copilot
from tests.rig.gateway import Home
from tests.rig.model_server import ALWAYS, ModelServer, Rule
from tests.rig.tmux import Tmux
from tests.rig.waiting import SLOWNESS, until

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""A picture of one pixel."""
NOTICED = 2 * SLOWNESS
"""Seconds in which the end of a CLI is noticed, as is promised."""
ROOT = Path(__file__).parent.parent.parent
ASKS_BASH = "Do you want to run this command"
TRUST = r"Do you trust the files in this folder\?"
ASKS_GREET = 'Run extension tool "greet"'
Start = Callable[..., tuple[GatewayPlayed, HostThread]]


def cut_connections_to(*ports: int) -> None:
    """Cut this process's connections to ports, as a network does."""
    for one in psutil.Process().net_connections("tcp"):
        if one.raddr and one.raddr.port in ports:
            with socket.socket(fileno=os.dup(one.fd)) as end:
                end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def start_host() -> Iterator[Start]:
    """Start hosts that look for the CLIs of a home: `start_host(copilot, **options)`."""
    with ExitStack() as stack:

        def start(copilot: Copilot, **options: Any) -> tuple[GatewayPlayed, HostThread]:
            gateway = GatewayPlayed()
            host = stack.enter_context(HostThread(gateway, copilot.copilot_home, **options))
            return gateway, host

        yield start


@pytest.fixture
def attached(copilot: Copilot, start_host: Start) -> GatewayPlayed:
    """The gateway's view of a host that has found and joined the CLI's session."""
    gateway, _ = start_host(copilot)
    opened = gateway.wait(SessionOpen)
    assert opened.session.id == copilot.session_id
    gateway.wait(SessionUpdate, tools_revision=1)
    return gateway


def data(event: SessionEvent) -> dict[str, Any]:
    return msgspec.json.decode(event.data, type=dict[str, Any])


def event(gateway: GatewayPlayed, name: str, **fields: Any) -> dict[str, Any]:
    """Wait for a session event and return its data."""
    return data(
        gateway.wait(
            SessionEvent,
            lambda one: all(data(one).get(key) == value for key, value in fields.items()),
            event=name,
        )
    )


def bash(command: str) -> list[tuple[str, dict[str, Any]]]:
    return [("bash", {"command": command, "description": "a command"})]


def test_session_is_found_and_described(attached: GatewayPlayed, copilot: Copilot) -> None:
    session = attached.wait(SessionOpen).session
    assert session.cwd == str(copilot.cwd)
    assert session.label == copilot.cwd.name
    assert session.workspace == str(copilot.workspace)
    assert (session.mode, session.model, session.foreground) == ("interactive", "scripted", True)
    assert {"bash", "view", "edit"} <= set(session.reserved_tools or ())


def test_tool_of_a_provider_asks_in_the_cli_and_answers_through_the_gateway(
    attached: GatewayPlayed, copilot: Copilot, model: ModelServer
) -> None:
    model.script(
        Rule(calls=[("greet", {"name": "bob"})], when="say hello", needs="greet"),
        Rule(text="the model is done", role="tool"),
    )
    copilot.prompt("say hello")
    copilot.screen.wait_for(ASKS_GREET)
    assert not attached.of(ToolInvoke)
    copilot.choose_first(ASKS_GREET)
    invoke = attached.wait(ToolInvoke)
    assert (invoke.tool, invoke.session_id) == ("greet", copilot.session_id)
    assert msgspec.json.decode(invoke.args) == {"name": "bob"}
    attached.tell(ToolProgress(invoke.id, "half \x1b[31mway"))
    copilot.screen.wait_for(r"greet: half \\x1b\[31mway")
    attached.tell(ToolOutcome(invoke.id, data=raw("hello bob")))
    copilot.screen.wait_for("the model is done")
    assert model.wait_for(lambda one: one.role == "tool").text == "hello bob"
    event(attached, "session.idle")
    assert not [one for one in attached.of(SessionEvent) if one.event.startswith("tool.")]


def test_read_only_tap_tool_runs_without_asking_and_an_error_reaches_the_model(
    attached: GatewayPlayed, copilot: Copilot, model: ModelServer
) -> None:
    model.script(
        Rule(calls=[("tap_list_streams", {})], when="list", needs="tap_list_streams"),
        Rule(text="it failed then", role="tool"),
    )
    copilot.prompt("list the streams")
    invoke = attached.wait(ToolInvoke, tool="tap_list_streams")
    attached.tell(ToolOutcome(invoke.id, error="no such stream", error_code="NOT_FOUND"))
    copilot.screen.wait_for("it failed then")
    assert "NOT_FOUND: no such stream" in model.wait_for(lambda one: one.role == "tool").text


def permission(attached: GatewayPlayed, command: str) -> ApprovalRequest:
    """Wait for the request about a command."""
    return attached.wait(ApprovalRequest, lambda one: command in bytes(one.detail).decode())


def test_bash_still_asks_each_time_and_is_approved_and_denied_from_here(
    attached: GatewayPlayed, copilot: Copilot, model: ModelServer
) -> None:
    model.script(
        Rule(calls=bash("echo yes > proof"), when="run it"), Rule(text="it ran", role="tool")
    )
    copilot.prompt("run it")
    copilot.screen.wait_for(ASKS_BASH)
    asked = attached.wait(ApprovalRequest)
    proof = copilot.cwd / "proof"
    assert not proof.exists()
    assert asked.kind == "permission"
    detail = msgspec.json.decode(asked.detail)
    assert (detail["kind"], detail["fullCommandText"]) == ("shell", "echo yes > proof")
    attached.tell(ApprovalAnswer(asked.id, "approve"))
    copilot.screen.wait_gone(ASKS_BASH)
    copilot.screen.wait_for("it ran")
    assert proof.read_text() == "yes\n"
    assert event(attached, "tool.execution_start")["tool"] == "bash"
    ended = event(attached, "tool.execution_complete")
    assert (ended["tool"], ended["result"]["type"]) == ("bash", "success")
    assert ended["durationMs"] > 0
    assert not attached.of(ApprovalWithdraw)
    # Once is once: the same command asks again. The model reads why it is denied.
    proof.unlink()
    model.script(
        Rule(calls=bash("echo yes > proof"), when="again"), Rule(text="never mind", role="tool")
    )
    copilot.prompt("again")
    again = attached.wait(ApprovalRequest, lambda one: one.id != asked.id)
    copilot.screen.wait_for(ASKS_BASH)
    attached.tell(ApprovalAnswer(again.id, "deny", reason="not on a Friday"))
    copilot.screen.wait_gone(ASKS_BASH)
    model.wait_for(lambda one: one.role == "tool" and "not on a Friday" in one.text)
    copilot.screen.wait_for("never mind")
    assert not proof.exists()


def test_a_permission_that_is_answered_in_the_cli_is_withdrawn_with_what_was_said(
    attached: GatewayPlayed, copilot: Copilot, model: ModelServer
) -> None:
    model.script(
        Rule(calls=bash("touch proof"), when="run it"),
        Rule(text="it ran", role="tool"),
        Rule(calls=bash("npm install"), when="install it"),
        Rule(text="so be it", role="tool"),
    )
    copilot.prompt("run it")
    asked = permission(attached, "touch proof")
    copilot.choose_first(ASKS_BASH)
    withdrawn = attached.wait(ApprovalWithdraw, id=asked.id)
    assert (withdrawn.decided_by, withdrawn.decision) == ("cli", "approve")
    copilot.screen.wait_for("it ran")
    copilot.prompt("install it")
    asked = permission(attached, "npm install")
    copilot.screen.wait_for(ASKS_BASH)
    copilot.choose_last("use pnpm")
    withdrawn = attached.wait(ApprovalWithdraw, id=asked.id)
    assert (withdrawn.decided_by, withdrawn.decision) == ("cli", "deny")
    assert withdrawn.reason == "use pnpm"


def test_permission_that_waited_before_is_taken_up(
    copilot: Copilot, model: ModelServer, start_host: Start
) -> None:
    model.script(Rule(calls=bash("touch proof"), when="run it"), Rule(text="ok", role="tool"))
    copilot.prompt("run it")
    copilot.screen.wait_for(ASKS_BASH)
    gateway, _ = start_host(copilot)
    asked = gateway.wait(ApprovalRequest)
    assert msgspec.json.decode(asked.detail)["fullCommandText"] == "touch proof"
    assert gateway.wait(SessionEvent, event="session.busy")
    gateway.tell(ApprovalAnswer(asked.id, "approve"))
    until((copilot.cwd / "proof").exists, what="the command ran")


def test_clear_replaces_the_session(attached: GatewayPlayed, copilot: Copilot) -> None:
    former = copilot.session_id
    copilot.prompt("/clear")
    opened = attached.wait(SessionOpen, lambda one: one.session.id != former).session
    assert opened.foreground
    if opened.replaces is None:  # the CLI took its time to end the former session
        assert attached.wait(SessionClose, session_id=former).replaced_by == opened.id
    else:
        assert opened.replaces == former
        assert not attached.of(SessionClose)


def test_new_session_in_the_same_cli_stands_beside_the_first(
    attached: GatewayPlayed, copilot: Copilot, at_desk: Desk
) -> None:
    at_desk.is_spent = True  # a host of the next test would get both sessions
    former = copilot.session_id
    copilot.prompt("/new")
    opened = attached.wait(SessionOpen, lambda one: one.session.id != former).session
    assert (opened.replaces, opened.foreground) == (None, True)
    assert attached.wait(SessionUpdate, session_id=former, foreground=False)
    assert not attached.of(SessionClose)


def test_mode_goes_both_ways(attached: GatewayPlayed, copilot: Copilot) -> None:
    attached.tell(ModeSet("m1", copilot.session_id, "plan"))
    assert attached.wait(ModeResult, id="m1").ok
    until(lambda: copilot.mode == "Plan", what="the footer says Plan")
    copilot.screen.keys("BTab")
    changed = attached.wait(SessionUpdate, lambda one: one.mode not in (None, "plan"))
    until(lambda: copilot.mode.lower() == changed.mode, what=f"the footer says {changed.mode}")
    attached.tell(ModeSet("m2", copilot.session_id, "autopilot"))
    result = attached.wait(ModeResult, id="m2")
    assert result.ok, result.error
    until(lambda: copilot.mode == "Autopilot", what=copilot.screen.text)


def test_inject_starts_a_turn_that_is_not_the_persons(
    attached: GatewayPlayed, copilot: Copilot, model: ModelServer
) -> None:
    model.script(Rule(text="I saw it", when="the build is red"))
    attached.tell(SessionSend(copilot.session_id, "the build is red", Sender("ci")))
    copilot.screen.wait_for("I saw it")
    assert event(attached, "prompt.injected") == {"content": "the build is red", "from": "ci"}
    event(attached, "session.idle")  # what is typed before then is queued
    copilot.prompt("and now me")
    assert event(attached, "user.message") == {"content": "and now me"}
    use = event(attached, "session.context")
    assert 0 < use["tokens"] < use["limit"]


def test_lines_in_the_timeline_are_harmless_and_an_ephemeral_one_is_kept_nowhere(
    attached: GatewayPlayed, copilot: Copilot, model: ModelServer
) -> None:
    model.script(Rule(text="the model is done", when="hello"))
    copilot.prompt("hello")
    copilot.screen.wait_for("the model is done")
    attached.tell(SessionLog(copilot.session_id, "code 492243", "warning", ephemeral=True))
    copilot.screen.wait_for("code 492243")
    line = "the line after it \x1b]0;owned\x07 is red"
    attached.tell(SessionLog(copilot.session_id, line, "warning"))
    copilot.screen.wait_for(r"the line after it \\x1b\]0;owned\\x07 is red")

    def holding(text: bytes) -> list[Path]:
        files = (one for one in copilot.copilot_home.rglob("*") if one.is_file())
        return [one for one in files if text in one.read_bytes()]

    until(lambda: holding(b"the line after it"), what="the other line in the files")
    assert holding(b"492243") == []


def test_tools_change_live(attached: GatewayPlayed, copilot: Copilot, model: ModelServer) -> None:
    other = OfferedTool("wave", "Waves", raw({}), "waver")
    attached.tell(ToolsChanged(copilot.session_id, [other], 2))
    model.script(Rule(text="fine", when="hello", needs="wave"))
    copilot.prompt("hello")
    copilot.screen.wait_for("fine")
    assert "greet" not in model.wait_for(lambda one: "hello" in one.text).tools


def test_turn_stopped_in_the_cli_aborts_the_call(
    attached: GatewayPlayed, copilot: Copilot, model: ModelServer
) -> None:
    model.script(Rule(calls=[("tap_list_streams", {})], when="list"))
    copilot.prompt("list the streams")
    invoke = attached.wait(ToolInvoke)
    copilot.screen.wait_for("esc esc interrupt")
    copilot.screen.keys("Escape")
    copilot.screen.wait_for("esc again to interrupt")
    copilot.screen.keys("Escape")
    assert attached.wait(ToolAbort, id=invoke.id)


def test_leaving_keeps_the_session_and_takes_the_tools_away(
    copilot: Copilot, model: ModelServer, start_host: Start
) -> None:
    gateway, host = start_host(copilot)
    gateway.wait(SessionOpen)
    model.script(
        Rule(calls=[("tap_list_streams", {})], when="list", needs="tap_list_streams"),
        Rule(text="it went on", role="tool"),
        Rule(text="alive", when="still there", times=ALWAYS),
    )
    copilot.prompt("list the streams")
    gateway.wait(ToolInvoke)
    host.stop(within=3.0)
    assert gateway.is_closed
    copilot.screen.wait_for("it went on")
    copilot.prompt("are you still there")
    copilot.screen.wait_for("alive")
    tools = model.wait_for(lambda one: "still there" in one.text).tools
    assert not {"greet", "tap_list_streams"} & set(tools)


def test_each_end_of_a_cli_beside_another_is_noticed_within_two_seconds_and_the_next_one_found(
    attached: GatewayPlayed,
    copilot: Copilot,
    model: ModelServer,
    start_copilot: Callable[..., Copilot],
) -> None:
    def begin() -> tuple[Copilot, str]:
        other = start_copilot("elsewhere")
        attached.wait(SessionUpdate, session_id=other.session_id, tools_revision=1)
        (opened,) = [one.session for one in attached.of(SessionOpen)][-1:]
        assert (opened.id, opened.cwd) == (other.session_id, str(other.cwd))
        return other, other.session_id

    exited, session = begin()
    exited.quit()
    assert not attached.wait(SessionClose, session_id=session, within=NOTICED).by_itself

    for sent in (signal.SIGTERM, signal.SIGKILL):
        killed, session = begin()
        model.script(Rule(calls=[("tap_list_streams", {})], when="list"))
        killed.prompt("list the streams")
        invoke = attached.wait(ToolInvoke, session_id=session)
        os.kill(killed.pid, sent)
        closed = attached.wait(SessionClose, session_id=session, within=NOTICED)
        assert closed.reason
        if sent == signal.SIGKILL:
            assert closed.by_itself
            assert f"copilot --resume {session}" in closed.reason
        assert attached.wait(ToolAbort, id=invoke.id)
    assert not attached.of(SessionClose, session_id=copilot.session_id)


def test_cli_without_a_port_is_listed_with_what_to_do(
    start_copilot: Callable[..., Copilot], start_host: Start
) -> None:
    copilot = start_copilot(args=())
    gateway, _ = start_host(copilot)
    (listed,) = gateway.wait(SessionsUnattached, lambda one: one.unattached).unattached
    assert (listed.id, listed.pid) == (copilot.session_id, copilot.pid)
    assert listed.cwd == str(copilot.cwd)
    assert listed.hint == f"copilot --ui-server --resume {copilot.session_id}"
    sockets = psutil.Process(copilot.pid).net_connections("tcp")
    assert not [one for one in sockets if one.status == psutil.CONN_LISTEN]
    copilot.quit()
    until(lambda: not gateway.of(SessionsUnattached)[-1].unattached, what="an empty list")


def test_lost_connection_comes_back_and_its_call_does_not_hang_the_turn(
    copilot: Copilot, model: ModelServer, start_host: Start
) -> None:
    gateway, host = start_host(copilot)
    gateway.wait(SessionOpen)
    model.script(
        Rule(calls=[("tap_list_streams", {})], when="list", needs="tap_list_streams"),
        Rule(text="the turn went on", role="tool"),
        Rule(calls=[("tap_list_streams", {})], when="again", needs="tap_list_streams"),
    )
    copilot.prompt("list the streams")
    invoke = gateway.wait(ToolInvoke)
    cut_connections_to(*(gateway.of(SessionOpen)[0].session.ports or ()))
    assert gateway.wait(ToolAbort, id=invoke.id)
    copilot.screen.wait_for("the turn went on")
    copilot.prompt("once again")
    again = gateway.wait(ToolInvoke, lambda one: one.id != invoke.id)
    gateway.tell(ToolOutcome(again.id, data=raw([])))
    assert [one for one in host.reports if "is back" in one[1]]
    opened = [one.session.id for one in gateway.of(SessionOpen)]
    assert opened.count(copilot.session_id) == 1
    assert not gateway.of(SessionClose)


def test_killed_mid_call_the_next_one_lets_the_turn_finish(
    copilot: Copilot, model: ModelServer, start_host: Start, tmp_path: Path
) -> None:
    model.script(
        Rule(calls=[("tap_list_streams", {})], when="list", needs="tap_list_streams"),
        Rule(text="the turn is over", role="tool"),
    )
    program = [sys.executable, "-m", "tests.hosts.killed", str(copilot.copilot_home)]
    said = tmp_path / "said"
    with said.open("w") as out, subprocess.Popen(program, cwd=ROOT, stdout=out) as killed:
        try:
            until(lambda: "opened" in said.read_text(), what="it attached")
            copilot.prompt("list the streams")
            until(lambda: "called" in said.read_text(), what="its tool was called")
        finally:
            killed.kill()
    assert list((copilot.workspace / "files" / "tap").glob("unanswered.*.calls"))
    gateway, _ = start_host(copilot)
    copilot.screen.wait_for("the turn is over")
    assert "tapui ended" in model.wait_for(lambda one: one.role == "tool").text
    copilot.screen.wait_for("tapui settled 1 call")
    assert not list((copilot.workspace / "files" / "tap").glob("unanswered.*.calls"))
    assert not gateway.of(ToolInvoke)


def test_what_happened_before_is_not_told_as_new(
    copilot: Copilot, model: ModelServer, start_host: Start
) -> None:
    model.script(
        Rule(calls=[("list_bash", {})], when="first"),
        Rule(text="the first turn is over", role="tool"),
        Rule(calls=[("greet", {"name": "bob"})], when="second", needs="greet"),
        Rule(text="the second turn is over", role="tool"),
    )
    copilot.prompt("the first prompt")
    copilot.screen.wait_for("the first turn is over")
    gateway, _ = start_host(copilot)
    gateway.wait(SessionUpdate, tools_revision=1)
    copilot.prompt("the second prompt")
    copilot.choose_first(ASKS_GREET)
    invoke = gateway.wait(ToolInvoke)
    gateway.tell(ToolOutcome(invoke.id, data=raw("hi")))
    copilot.screen.wait_for("the second turn is over")
    event(gateway, "session.idle")
    said = [data(one)["content"] for one in gateway.of(SessionEvent, event="user.message")]
    assert said == ["the second prompt"]
    assert not [one for one in gateway.of(SessionEvent) if one.event.startswith("tool.")]
    assert len(gateway.of(ToolInvoke)) == 1


def test_second_host_gets_the_tools_when_the_first_one_leaves(
    copilot: Copilot, model: ModelServer, start_host: Start
) -> None:
    first, first_host = start_host(copilot)
    first.wait(SessionUpdate, tools_revision=1)
    looks = HostTiming(retry_tools=0.5)
    second, second_host = start_host(copilot, port=copilot.port, timing=looks)
    assert second.wait(SessionOpen).session.id == copilot.session_id
    (_, text) = until(lambda: second_host.reports, what="the report of the clash")[0]
    assert "greet, tap_list_streams" in text
    model.script(
        Rule(calls=[("tap_list_streams", {})], when="list", needs="tap_list_streams"),
        Rule(text="listed", role="tool"),
        Rule(calls=[("tap_list_streams", {})], when="more", needs="tap_list_streams"),
    )
    copilot.prompt("list the streams")
    first.tell(ToolOutcome(first.wait(ToolInvoke).id, data=raw([])))
    copilot.screen.wait_for("listed")
    assert not second.of(ToolInvoke)
    first_host.stop()
    second.wait(SessionUpdate, tools_revision=1)
    copilot.prompt("once more")
    second.tell(ToolOutcome(second.wait(ToolInvoke).id, data=raw([])))
    assert len(second_host.reports) == 1


def test_call_of_a_tool_that_was_taken_back_meanwhile_does_not_hang_the_turn(
    copilot: Copilot, model: ModelServer, start_host: Start
) -> None:
    gateway, _ = start_host(copilot)
    gateway.wait(SessionOpen)
    taken_back = threading.Event()
    model.script(
        Rule(calls=[("tap_list_streams", {})], needs="tap_list_streams", until=taken_back),
        Rule(text="the turn went on", role="tool"),
    )
    copilot.prompt("list the streams")
    model.wait_for(lambda one: "list the streams" in one.text)
    gateway.tell(ToolsChanged(copilot.session_id, [GREET], 2))
    gateway.wait(SessionUpdate, tools_revision=2)
    taken_back.set()
    copilot.screen.wait_for("the turn went on")
    assert not gateway.of(ToolInvoke)


def test_image_that_a_tool_answers_with_is_one_to_the_cli(
    attached: GatewayPlayed, copilot: Copilot, model: ModelServer, tmp_path: Path
) -> None:
    shot = tmp_path / "shot.png"
    shot.write_bytes(PIXEL)
    model.script(
        Rule(calls=[("tap_list_streams", {})], when="show me", needs="tap_list_streams"),
        Rule(text="I see it"),
    )
    copilot.prompt("show me")
    invoke = attached.wait(ToolInvoke)
    file = FileResult(str(shot), "image/png", len(PIXEL))
    attached.tell(ToolOutcome(invoke.id, file=file))
    copilot.screen.wait_for("I see it")
    (asset,) = copilot.stored("session.binary_asset")
    assert (asset["type"], base64.b64decode(asset["data"])) == ("image", PIXEL)
    (ended,) = copilot.stored("tool.execution_complete")
    (image,) = ended["result"]["binaryResultsForLlm"]
    assert image["assetId"] == asset["assetId"]
    assert str(shot) in ended["result"]["content"]


def test_a_folder_that_is_not_trusted_yet_is_asked_about_in_the_terminal(
    cli: Path,
    cli_cache: Path,
    tmux: Tmux,
    home: Home,
    model: ModelServer,
) -> None:
    class Asking(Copilot):
        """A CLI at its dialog about the folder."""

        def _trust(self) -> None:
            self.screen.wait_for(TRUST)

    copilot = Asking(
        tmux, home=home.root, cache=cli_cache, cwd=home.root / "work", model_url=model.url
    )
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot.copilot_home):
        gateway.wait(SessionUpdate, asks_there="trust this folder?")
        copilot.choose_first(TRUST)
        gateway.wait(SessionUpdate, asks_there="")
    copilot.screen.wait_for("MCP Servers reloaded")
    later = GatewayPlayed()
    with HostThread(later, copilot.copilot_home):  # it was trusted for once: no list has it
        later.wait(SessionOpen)
        later.wait(SessionEvent, event="session.usage")
        copilot.prompt("go on")
        later.wait(SessionEvent, event="session.idle")
        assert not [one for one in later.of(SessionUpdate) if one.asks_there is not None]


def test_a_rewind_tells_since_when_turns_are_undone(
    attached: GatewayPlayed, copilot: Copilot, model: ModelServer, at_desk: Desk
) -> None:
    at_desk.is_spent = True  # after it the CLI takes no `/clear`
    model.script(Rule(text="said one", when="say one"), Rule(text="said two", when="say two"))
    copilot.prompt("say one")
    copilot.screen.wait_for("said one")
    between = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    copilot.prompt("say two")
    copilot.screen.wait_for("said two")
    copilot.prompt("/rewind")
    copilot.screen.wait_for("Rewind to a previous point")
    copilot.screen.keys("Enter")
    copilot.screen.wait_for("Conversation only")
    copilot.screen.keys("Enter")
    told = attached.wait(SessionEvent, event="session.snapshot_rewind")
    since = msgspec.json.decode(told.data)["since"]
    assert between < since < datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
