"""Questions of a real session, and what its subagents may do, as the gateway sees them."""

import asyncio
import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tapui.hosts.copilot.connection import CliConnection
from tapui.hosts.copilot.session.attached_session import AttachedSession
from tapui.hosts.copilot.uplink import Uplink
from tapui.wire.codec import raw
from tapui.wire.host import (
    ApprovalAnswer,
    ApprovalRequest,
    ApprovalWithdraw,
    HookDecision,
    HookPreToolUse,
    ModeResult,
    ModeSet,
    PromptPrepared,
    PromptSubmitted,
    SessionEvent,
    SessionOpen,
    SessionUpdate,
)
from tapui.wire.message import Message, ToolInvoke, ToolOutcome
from tests.hosts.gateway import GatewayPlayed, HostThread
from tests.rig.copilot import Copilot
from tests.rig.gateway import Home
from tests.rig.model_server import ModelServer, Rule
from tests.rig.waiting import HUNG

REVIEWER = """---
name: reviewer
description: Reviews a change
tools: ["greet", "bash"]
---
You review changes.
"""


@pytest.fixture
def attached(copilot: Copilot) -> Iterator[GatewayPlayed]:
    """The gateway's view of a host that has joined the CLI's session."""
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot.copilot_home):
        gateway.wait(SessionOpen)
        yield gateway


FORM = {
    "message": "Which colour?",
    "requestedSchema": {
        "type": "object",
        "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}},
        "required": ["colour"],
    },
}


def asks_for_a_colour() -> tuple[Rule, Rule]:
    return Rule(calls=[("ask_user", FORM)], when="ask me"), Rule(text="I see", role="tool")


def test_a_form_is_filled_in_from_here_with_a_choice_or_another_answer(
    attached: GatewayPlayed, copilot: Copilot, model: ModelServer
) -> None:
    asked: list[ApprovalRequest] = []
    for colour in ("blue", "green"):
        model.script(*asks_for_a_colour())
        copilot.prompt("ask me")
        asked.append(attached.wait(ApprovalRequest, lambda one: one not in asked))
        copilot.screen.wait_for("Copilot needs information")
        copilot.screen.wait_for(r"Other \(type your answer\)")
        detail = msgspec.json.decode(asked[-1].detail)
        assert (asked[-1].kind, detail["message"]) == ("elicitation", "Which colour?")
        assert list(detail["requestedSchema"]["properties"]) == ["colour"]
        assert detail["allowFreeform"] is True
        attached.tell(ApprovalAnswer(asked[-1].id, "approve", answer={"colour": colour}))
        model.wait_for(lambda one, colour=colour: one.role == "tool" and colour in one.text)
        copilot.screen.wait_gone("Copilot needs information")
        attached.wait(SessionEvent, event="session.idle")


def test_form_denied_from_here_does_not_send_the_model_on_alone(
    attached: GatewayPlayed, copilot: Copilot, model: ModelServer
) -> None:
    model.script(*asks_for_a_colour())
    copilot.prompt("ask me")
    asked = attached.wait(ApprovalRequest)
    copilot.screen.wait_for("Copilot needs information")
    attached.tell(ApprovalAnswer(asked.id, "deny"))
    copilot.screen.wait_gone("Copilot needs information")
    assert "User cancelled" in model.wait_for(lambda one: one.role == "tool").text


def test_form_filled_in_in_the_cli_is_withdrawn(
    attached: GatewayPlayed, copilot: Copilot, model: ModelServer
) -> None:
    model.script(*asks_for_a_colour())
    copilot.prompt("ask me")
    asked = attached.wait(ApprovalRequest)
    copilot.screen.wait_for("Copilot needs information")
    copilot.screen.keys("Enter")
    withdrawn = attached.wait(ApprovalWithdraw, id=asked.id)
    assert (withdrawn.decided_by, withdrawn.decision) == ("cli", "approve")
    assert "red" in model.wait_for(lambda one: one.role == "tool").text


def test_a_plan_sent_back_in_the_cli_says_so(
    attached: GatewayPlayed, copilot: Copilot, model: ModelServer
) -> None:
    leave = ("exit_plan_mode", {"summary": "Look, then leap", "actions": ["interactive"]})
    model.script(Rule(calls=[leave], when="make a plan"), Rule(text="so be it", role="tool"))
    attached.tell(ModeSet("m-1", copilot.session_id, "plan"))
    assert attached.wait(ModeResult, id="m-1").ok
    copilot.prompt("make a plan")
    asked = attached.wait(ApprovalRequest)
    copilot.screen.wait_for("Suggest changes")
    copilot.choose_last("use pnpm")
    withdrawn = attached.wait(ApprovalWithdraw, id=asked.id)
    assert (withdrawn.decided_by, withdrawn.decision) == ("cli", "deny")
    assert withdrawn.reason == "use pnpm"


def test_a_plan_is_read_and_decided_from_here(
    attached: GatewayPlayed, copilot: Copilot, model: ModelServer
) -> None:
    plan = "# The plan\n\n1. Look\n2. Leap\n"
    file = str(copilot.workspace / "plan.md")
    leave = ("exit_plan_mode", {"summary": "Look, then leap"})
    model.script(
        Rule(calls=[("create", {"path": file, "file_text": plan})], when="make a plan"),
        Rule(calls=[leave], role="tool", needs="exit_plan_mode", times=2),
        Rule(text="so be it"),
    )
    attached.tell(ModeSet("m-1", copilot.session_id, "plan"))
    assert attached.wait(ModeResult, id="m-1").ok
    copilot.prompt("make a plan")
    asked = attached.wait(ApprovalRequest)
    if msgspec.json.decode(asked.detail).get("kind") == "write":
        attached.tell(ApprovalAnswer(asked.id, "approve"))
        asked = attached.wait(ApprovalRequest, lambda one: one.kind == "elicitation")
    detail = msgspec.json.decode(asked.detail)
    assert (asked.kind, detail["message"], detail["plan"]) == (
        *("elicitation", "The plan is ready: Look, then leap"),
        plan,
    )
    assert "interactive" in detail["requestedSchema"]["properties"]["then"]["enum"]
    # Changes are wanted: the agent reads which, and asks again.
    attached.tell(
        ApprovalAnswer(asked.id, "deny", answer={"changes": "leap first"}, reason="leap first")
    )
    model.wait_for(lambda one: one.role == "tool" and "leap first" in one.text)
    again = attached.wait(
        ApprovalRequest, lambda one: one.kind == "elicitation" and one.id != asked.id
    )
    attached.tell(ApprovalAnswer(again.id, "approve", answer={"then": "interactive"}))
    attached.wait(SessionUpdate, mode="interactive")
    copilot.screen.wait_for("so be it")


def begins_with(copilot: Copilot, file: str, content: str) -> None:
    """Begin another session of the CLI, with this file in its folder."""
    place = copilot.cwd / file
    place.parent.mkdir(parents=True)
    place.write_text(content)
    copilot.clear()


def test_custom_agent_and_its_calls_are_told_with_the_childs_id(
    copilot: Copilot, model: ModelServer
) -> None:
    begins_with(copilot, ".github/agents/reviewer.agent.md", REVIEWER)
    task = {"description": "review", "prompt": "run it", "agent_type": "reviewer", "name": "r"}
    model.script(
        Rule(calls=[("task", task)], when="delegate"),
        Rule(calls=[("greet", {"name": "bob"})], when="run it", needs="greet"),
        Rule(text="the child is done", when="hello bob"),
        Rule(text="all done"),
    )
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot.copilot_home):
        session = gateway.wait(SessionOpen).session
        agents = {one.name: one.tools for one in session.agents or []}
        assert agents["reviewer"] == ["greet", "bash"]
        copilot.prompt("delegate")
        copilot.choose_first('Run extension tool "greet"')
        invoke = gateway.wait(ToolInvoke)
        started = gateway.wait(SessionEvent, event="subagent.started")
        child = msgspec.json.decode(started.data)["remoteSessionId"]
        assert (invoke.session_id, invoke.agent_id) == (copilot.session_id, child)
        assert gateway.wait(HookPreToolUse, tool="greet").session_id == child
        gateway.tell(ToolOutcome(invoke.id, data=raw("hello bob")))
        copilot.screen.wait_for("all done")
        assert [one.prompt for one in gateway.of(PromptSubmitted)] == ["delegate"]


def test_hook_of_the_repositorys_own_stays_in_force(copilot: Copilot, model: ModelServer) -> None:
    no = {"permissionDecision": "deny", "permissionDecisionReason": "the repository says no"}
    hook = {"type": "command", "bash": f"echo '{json.dumps(no)}'", "timeoutSec": 10}
    guard = json.dumps({"version": 1, "hooks": {"preToolUse": [hook]}})
    begins_with(copilot, ".github/hooks/guard.json", guard)
    command = {"command": "touch proof", "description": "a command"}
    model.script(Rule(calls=[("bash", command)], when="run it"), Rule(text="so be it"))
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot.copilot_home):
        gateway.wait(SessionOpen)
        copilot.prompt("run it")
        copilot.screen.wait_for("so be it")
    told = model.wait_for(lambda one: one.role == "tool").text
    assert "the repository says no" in told
    assert not (copilot.cwd / "proof").exists()


async def test_question_of_a_session_that_another_program_runs_is_answered_from_here(
    cli: Path, cli_cache: Path, home: Home, model: ModelServer
) -> None:
    from copilot import CopilotClient, RuntimeConnection

    home.root.joinpath(".cache").symlink_to(cli_cache)
    question = {"question": "Which colour?", "choices": ["red", "blue"]}
    model.script(Rule(calls=[("ask_user", question)], when="ask me"), Rule(text="I see"))
    env = {
        "HOME": str(home.root),
        "COPILOT_HOME": str(home.copilot),
        "PATH": os.environ["PATH"],
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": model.url,
        "COPILOT_MODEL": "scripted",
        "COPILOT_AUTO_UPDATE": "false",
    }
    told: asyncio.Queue[Message] = asyncio.Queue()
    runtime = RuntimeConnection.for_tcp(path=str(cli), connection_token="secret")
    owner = CopilotClient(connection=runtime, env=env, use_logged_in_user=False)
    visitor: CliConnection | None = None
    is_over = asyncio.Event()
    answering: set[asyncio.Task[Any]] = set()

    async def answer_too_late(*_: Any) -> Any:
        if task := asyncio.current_task():
            answering.add(task)
        await is_over.wait()
        return {"answer": "red", "wasFreeform": False}

    try:
        await owner.start()
        session = await owner.create_session(
            model="scripted",
            on_user_input_request=answer_too_late,
            provider={
                "type": "openai",
                "wire_api": "completions",
                "base_url": model.url,
                "api_key": "none",
            },
        )
        assert owner.runtime_port is not None
        visitor = await CliConnection.open(
            owner.runtime_port, "secret", within=HUNG, on_foreground=lambda _: None
        )

        def send(message: Message) -> None:
            asyncio.get_running_loop().call_soon(take, message)

        ids = itertools.count()
        uplink = Uplink(send, lambda: f"c{next(ids)}", _fail)
        joined = AttachedSession(
            session.session_id,
            uplink,
            workspace=home.root / "workspace",
            cwd=str(home.root),
            pid=None,
        )

        def take(message: Message) -> None:
            if isinstance(message, SessionOpen):
                joined.opened([], 1)
            elif isinstance(message, PromptSubmitted):
                uplink.answers[message.id](PromptPrepared(message.id, [], {}))
            elif isinstance(message, HookPreToolUse):
                uplink.answers[message.id](HookDecision(message.id, "allow"))
            else:
                told.put_nowait(message)

        await joined.attach(visitor, foreground=False)
        await session.send("ask me")
        asked: Any = None
        async with asyncio.timeout(HUNG):
            while not isinstance(asked, ApprovalRequest):
                asked = await told.get()
        assert asked.kind == "userInput"
        detail = msgspec.json.decode(asked.detail)
        assert detail.pop("toolCallId").startswith("call_")
        assert detail == {**question, "allowFreeform": True}
        joined.answered(ApprovalAnswer(asked.id, "approve", answer="blue"))
        told_model = await asyncio.to_thread(model.wait_for, lambda one: one.role == "tool")
        assert told_model.text == "User selected: blue"
        await joined.detach()
    finally:
        is_over.set()
        if answering:
            await asyncio.wait(answering, timeout=HUNG)
        process = owner._cli_process
        if visitor is not None:
            await visitor.close()
        await owner.force_stop()
        if process is not None:
            with process:  # the SDK leaves its pipes open
                pass


def _fail(text: str, level: str) -> None:
    raise AssertionError(f"{level}: {text}")
