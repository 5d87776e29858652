"""tapui's extension in the real CLI: a session without a port, with all that others have."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tapui.wire.codec import raw
from tapui.wire.host import (
    ApprovalAnswer,
    ApprovalRequest,
    HookPreToolUse,
    SessionClose,
    SessionEvent,
    SessionOpen,
    SessionUpdate,
    ToolsChanged,
    TurnEnding,
)
from tapui.wire.message import OfferedTool, ToolInvoke, ToolOutcome
from tapui.wire.steering import OrderResult, SessionTell
from tests.hosts.gateway import GREET, GatewayPlayed, HostThread
from tests.rig.copilot import Copilot
from tests.rig.gateway import Gateway, Home
from tests.rig.model_server import ALWAYS, ModelServer, Rule
from tests.rig.taken import wait_for_tools
from tests.rig.waiting import until

ROOT = Path(__file__).parent.parent.parent
ASKS_BASH = "Do you want to run this command"
ASKS_GREET = 'Run extension tool "greet"'
POINTER = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"
ELEVATED = 'Extension "user:tapui" wants elevated permissions'
OTHER = OfferedTool("other", "Does something else", raw({}), "greeter")


@pytest.fixture
def copilot(home: Home, start_copilot: Any) -> Copilot:
    """A plain CLI, without a port, with the extension."""
    installed = home.run("install", "extension")
    assert installed.returncode == 0, installed.stderr
    return start_copilot(args=("--experimental",))


@pytest.fixture
def host(copilot: Copilot) -> Iterator[HostThread]:
    """A host that looks for CLIs."""
    with HostThread(GatewayPlayed(), copilot.copilot_home) as thread:
        yield thread


def allow_always(copilot: Copilot) -> None:
    """Let the extension have what it needs, in this repository for good."""
    copilot.screen.wait_for(ELEVATED)
    assert copilot.screen.find(
        "skip tool permission prompts, register hooks, handle permission requests"
    )
    copilot.screen.wait_for(rf"{POINTER} 1\. Yes")
    copilot.screen.keys("Down")
    copilot.screen.wait_for(rf"{POINTER} 2\. Yes, and always")
    copilot.screen.keys("Enter")
    copilot.screen.wait_gone(ELEVATED)


def test_a_session_without_a_port(
    copilot: Copilot, host: HostThread, model: ModelServer, home: Home
) -> None:
    gateway = host.gateway
    opened = gateway.wait(SessionOpen).session
    assert opened.id == copilot.session_id
    listening = [
        one.laddr.port
        for one in psutil.Process(copilot.pid).net_connections("tcp")
        if one.status == psutil.CONN_LISTEN
    ]
    assert listening == []
    allow_always(copilot)
    gateway.wait(SessionUpdate, tools_revision=1)

    # A call, under way while the tools change.
    model.script(
        Rule(calls=[("greet", {"name": "bob"})], when="say hello", needs="greet"),
        Rule(text="the model is done", role="tool"),
    )
    copilot.prompt("say hello")
    copilot.choose_first(ASKS_GREET)
    invoke = gateway.wait(ToolInvoke)
    gateway.tell(ToolsChanged(copilot.session_id, [GREET, OTHER], 2))
    gateway.wait(SessionUpdate, tools_revision=2)
    gateway.tell(ToolOutcome(invoke.id, data=raw("hello bob")))
    copilot.screen.wait_for("the model is done")
    assert model.wait_for(lambda one: one.role == "tool").text == "hello bob"
    assert gateway.wait(HookPreToolUse).tool == "greet"

    # The end of a turn, which is sent back once.
    assert gateway.wait(TurnEnding).message == "the model is done"
    model.script(Rule(text="I claim", when="claim it"), Rule(text="I went on"))
    gateway.goes_on = lambda ending: None if ending.active else "go on"
    copilot.prompt("claim it")
    copilot.screen.wait_for("I went on")
    gateway.wait(TurnEnding, message="I went on", active=True)

    # A permission, answered from here beside the CLI's own question.
    model.script(
        Rule(calls=[("bash", {"command": "touch proof", "description": "c"})], when="run it"),
        Rule(text="it ran", role="tool"),
        Rule(text="so be it", times=ALWAYS),
    )
    copilot.prompt("run it")
    copilot.screen.wait_for(ASKS_BASH)
    asked = gateway.wait(ApprovalRequest, lambda one: b"touch proof" in bytes(one.detail))
    gateway.tell(ApprovalAnswer(asked.id, "approve"))
    copilot.screen.wait_gone(ASKS_BASH)
    copilot.screen.wait_for("it ran")
    assert (copilot.cwd / "proof").exists()
    assert "other" in model.requests[-1].tools

    # A text of the person, told from here.
    gateway.tell(SessionTell("o-1", copilot.session_id, "and now this", "after", "tapui"))
    gateway.wait(OrderResult, id="o-1", state="done")
    gateway.wait(SessionEvent, event="user.message")

    # The extension comes back for the session that takes its place, and is not asked about again.
    former = copilot.session_id
    copilot.clear()
    after = gateway.wait(SessionOpen, lambda one: one.session.id != former).session
    assert (after.replaces, after.id) == (former, copilot.session_id)
    gateway.wait(SessionUpdate, session_id=after.id, tools_revision=1)

    # A session beside it has an extension of its own.
    copilot.prompt("/new")
    known = {former, after.id}
    beside = gateway.wait(SessionOpen, lambda one: one.session.id not in known).session
    assert (beside.replaces, beside.foreground) == (None, True)
    gateway.wait(SessionUpdate, session_id=after.id, foreground=False)
    assert not gateway.of(SessionClose)
    assert [level for level, _ in host.reports] in ([], ["warning"]), host.reports


def test_a_killed_tapui_leaves_the_session_as_it_was(
    copilot: Copilot, model: ModelServer, tmp_path: Path
) -> None:
    program = [sys.executable, "-m", "tests.hosts.killed", str(copilot.copilot_home)]
    said = tmp_path / "said"
    model.script(
        Rule(calls=[("greet", {})], when="say hello", needs="greet"),
        Rule(text="it went on", role="tool"),
        Rule(text="alone again", times=ALWAYS),
    )
    with said.open("w") as out, subprocess.Popen(program, cwd=ROOT, stdout=out) as killed:
        try:
            allow_always(copilot)
            until(lambda: "opened" in said.read_text(), what="it attached")
            copilot.prompt("say hello")
            copilot.choose_first(ASKS_GREET)
            until(lambda: "called" in said.read_text(), what="its tool was called")
        finally:
            killed.kill()
    copilot.screen.wait_for("it went on")
    assert "call it again" in model.wait_for(lambda one: one.role == "tool").text
    copilot.prompt("who is there")
    copilot.screen.wait_for("alone again")
    assert "greet" not in model.requests[-1].tools


def test_what_the_extension_may_is_asked_in_words(
    home: Home, serve: Callable[..., Gateway], start_copilot: Any
) -> None:
    # Another tapui reaches the session by the extension; the one with the port sees its request.
    installed = home.run("install", "extension")
    assert installed.returncode == 0, installed.stderr
    assert "“skip tool permission prompts, register hooks" in installed.stderr
    serve()
    copilot = start_copilot(args=("--ui-server", "--experimental"))
    wait_for_tools(home, copilot)

    def asked() -> list[dict[str, Any]]:
        return [one["detail"] for one in home.state().get("approvals", [])]

    with HostThread(GatewayPlayed(), copilot.copilot_home, with_ports=False):
        copilot.screen.wait_for(ELEVATED)
        (detail,) = until(asked, what="the request")
        copilot.screen.keys("Escape")
        copilot.screen.wait_gone(ELEVATED)
    assert detail == {
        "kind": "extension-permission-access",
        "wish": "tapui's own extension, user:tapui: register hooks, handle permission requests",
    }
