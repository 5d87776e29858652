"""The conversation with a CLI: what is sent is what Copilot's own SDK sends, and odd answers harm
nothing."""

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tapui.hosts.copilot.asks.own_questions import OwnQuestions
from tapui.hosts.copilot.asks.permissions import Permissions, asks_about_extension, permission_mode
from tapui.hosts.copilot.asks.questions import _LOGGED, Questions, asked_before
from tapui.hosts.copilot.connection import (
    AttachError,
    CliConnection,
    CliEvent,
    CliSession,
    LostError,
    NoAnswerError,
    Participation,
    ProtocolError,
    UnknownMethodError,
    objects_of,
    text_of,
)
from tapui.hosts.copilot.own.own_session import OwnSession
from tapui.hosts.copilot.session.activity import is_processing
from tapui.hosts.copilot.session.ledger import Ledger, answer, fail, settle
from tapui.hosts.copilot.session.looking import look
from tapui.hosts.copilot.session.objective import objective_told, todos_told
from tapui.hosts.copilot.session.opening import asks_for_trust, describe
from tapui.hosts.copilot.session.prompts import Outgoing, send
from tapui.hosts.copilot.session.steering import (
    Steering,
    compact,
    rename,
    set_effort,
    set_mode,
    switch_model,
)
from tapui.hosts.copilot.session.toolset import Toolset, result_for_model
from tapui.hosts.copilot.session.translator import Translator
from tapui.hosts.copilot.session.usage import UsageTold
from tapui.hosts.copilot.uplink import SessionUplink
from tapui.hosts.for_models import description_for_model
from tapui.runtime.tasks import BackgroundTasks
from tapui.wire.codec import raw
from tapui.wire.host import ApprovalAnswer, ApprovalAsk, ApprovalRequest
from tapui.wire.message import ToolOutcome
from tapui.wire.steering import Infinite, SessionStart, SessionStop
from tests.hosts.cli_played import CliPlayed
from tests.hosts.gateway import GREET
from tests.rig.waiting import HUNG, until_async

Json = dict[str, Any]


async def opened(cli: CliPlayed, token: str | None = None) -> CliConnection:
    return await CliConnection.open(cli.port, token, within=HUNG, on_foreground=lambda _: None)


@pytest.fixture
async def connection(cli: CliPlayed) -> AsyncIterator[CliConnection]:
    found = await opened(cli)
    yield found
    await found.close()


def part(events: list[CliEvent], **hooks: Any) -> Participation:
    return Participation(events.append, hooks)


# The handshake


@pytest.mark.parametrize(
    ("greeting", "words"),
    [
        (
            {"protocolVersion": 5, "version": "1.0.217"},
            r"^Copilot CLI 1\.0\.217 speaks protocol 5; tapui speaks 3 and 4$",
        ),
        ({"protocolVersion": 99}, "Copilot CLI speaks protocol 99"),
        ({"protocolVersion": 2, "version": "0.9"}, "speaks protocol 2"),
        ({"protocolVersion": 3.5}, r"speaks protocol 3\.5"),
        ({"protocolVersion": "3"}, 'speaks protocol "3"'),
        ({"protocolVersion": None}, "names no protocol"),
        ({}, "names no protocol"),
        (None, "names no protocol"),
        ([3], "names no protocol"),
    ],
)
async def test_a_cli_of_another_protocol_is_asked_nothing_more(
    cli: CliPlayed, greeting: Any, words: str
) -> None:
    cli.greeting = greeting
    with pytest.raises(ProtocolError, match=words):
        await opened(cli)
    assert [one["method"] for one in cli.requests] == ["connect"]
    await until_async(lambda: cli.connections == 0, what="the socket is closed")


async def test_an_old_cli_tells_its_protocol_when_it_is_pinged(cli: CliPlayed) -> None:
    cli.unknown = {"connect"}
    connection = await opened(cli, "secret")
    assert cli.asked("ping") == [{"message": None}]
    await connection.close()


async def test_a_port_without_a_listener_and_one_that_is_silent_are_told(cli: CliPlayed) -> None:
    cli.mute = {"connect"}
    with pytest.raises(NoAnswerError, match=rf"port {cli.port}: no answer .* within 0.1 s"):
        await CliConnection.open(cli.port, None, within=0.1, on_foreground=lambda _: None)
    with pytest.raises(AttachError, match="port 1: "):
        await CliConnection.open(1, None, within=HUNG, on_foreground=lambda _: None)


# Answers


@pytest.mark.parametrize("result", [None, [], "text", 7, {"processing": "yes"}, {"x": [{}]}])
async def test_an_odd_result_is_no_failure(
    cli: CliPlayed, connection: CliConnection, result: Any
) -> None:
    cli.results = {"ping": result, "tools.list": result}
    await connection.ping(within=HUNG)
    told = await connection.ask("ask for tools", "tools.list")
    assert (objects_of(told, "tools"), text_of(told, "name")) == ([], None)


async def test_a_refused_ping_is_an_answer(cli: CliPlayed, connection: CliConnection) -> None:
    cli.unknown = {"ping"}
    await connection.ping(within=HUNG)


async def test_a_refusal_says_what_could_not_be_done(
    cli: CliPlayed, connection: CliConnection
) -> None:
    cli.broken, cli.unknown = {"s1"}, {"session.name.get"}
    with pytest.raises(AttachError, match="attach to the session: session s1 is corrupt"):
        await connection.join("s1", part([]), {})
    assert connection.sessions == {}
    cli.broken = set()
    session = await connection.join("s1", part([]), {})
    with pytest.raises(UnknownMethodError, match="its name: this Copilot CLI does not know that"):
        await session.ask("ask for its name", "session.name.get")


async def test_an_answer_after_its_time_is_left_aside(
    cli: CliPlayed, connection: CliConnection
) -> None:
    cli.slow = {"s1"}
    with pytest.raises(NoAnswerError, match=r"no answer from the CLI within 0\.1 s"):
        await connection.join("s1", part([]), {}, within=0.1)
    cli.answer_the_slow()
    await connection.ping(within=HUNG)
    assert connection.sessions == {}


async def test_a_session_that_cannot_be_left_is_told(
    cli: CliPlayed, connection: CliConnection
) -> None:
    session = await connection.join("s1", part([]), {})
    cli.results = {"session.detach": {"success": False, "error": "it is busy"}}
    with pytest.raises(AttachError, match="leave the session: it is busy"):
        await session.leave()


async def test_what_waits_fails_when_the_connection_is_lost(
    cli: CliPlayed, connection: CliConnection
) -> None:
    session = await connection.join("s1", part([]), {})
    cli.mute = {"session.log"}
    waiting = asyncio.create_task(session.ask("write", "session.log", message="x"))
    await until_async(lambda: cli.asked("session.log"), what="the request")
    cli.drop()
    with pytest.raises(LostError, match="write: the CLI is gone"):
        await waiting
    with pytest.raises(LostError):
        await session.leave()


# What the CLI tells and asks


async def test_events_come_in_order_and_those_that_cannot_be_read_are_left_out(
    cli: CliPlayed, connection: CliConnection
) -> None:
    events: list[CliEvent] = []
    await connection.join("s1", part(events), {})
    odd: list[Any] = [None, {}, {"id": "1"}, {"id": "1", "timestamp": "now"}, {"timestamp": 5}]
    for event in odd:
        cli._notify("session.event", sessionId="s1", event=event)
    cli._notify("session.event", sessionId=["s1"], event={})
    cli._notify("session.event", sessionId="other", event={})
    cli._notify("unheard.of", sessionId="s1")
    cli.happens("s1", "session.weather", degrees=9)
    cli.happens("s1", "session.idle")
    await until_async(lambda: len(events) == 2, what="the events")
    assert [(event.name, event.data) for event in events] == [
        ("session.weather", {"degrees": 9}),
        ("session.idle", {}),
    ]
    assert events[0].at.isoformat() == "2036-01-01T00:00:00+00:00"


async def test_what_the_cli_shows_for_others_may_change(
    cli: CliPlayed, connection: CliConnection
) -> None:
    events: list[CliEvent] = []
    session = await connection.join("s1", part(events), {})
    assert session.ui == {"elicitation": True}
    for ui in ({"elicitation": False}, None, "odd"):
        cli.happens("s1", "capabilities.changed", ui=ui)
    await until_async(lambda: len(events) == 3, what="the changes")
    assert session.ui == {"elicitation": False}


async def test_a_hook_that_is_not_run_here_lets_the_cli_go_on(
    cli: CliPlayed, connection: CliConnection
) -> None:
    async def refuse(given: Json) -> Json:
        return {"decision": given["prompt"]}

    await connection.join("s1", part([], userPromptSubmitted=refuse), {})

    async def hook(kind: str, **given: Any) -> Json | None:
        return await asyncio.to_thread(cli.hook, "s1", kind, **given)

    assert await hook("userPromptSubmitted", prompt="block") == {"decision": "block"}
    assert await hook("postToolUse") is None
    assert await hook("unheardOf") is None


# The witness: Copilot's own SDK of protocol 3


async def sent_by_the_sdk(cli: CliPlayed, use: Any) -> list[tuple[str, Json]]:
    """Return what the SDK sends after its handshake."""
    from copilot import CopilotClient, RuntimeConnection

    client = CopilotClient(connection=RuntimeConnection.for_uri(f"127.0.0.1:{cli.port}"))
    await client.start()
    cli.requests.clear()
    try:
        await use(client)
    finally:
        await client.force_stop()
    return [(one["method"], one["params"]) for one in cli.requests]


async def test_the_handshake_and_a_persons_session_are_as_the_sdk_has_them(cli: CliPlayed) -> None:
    from copilot import CopilotClient, RuntimeConnection
    from copilot.session import PermissionNoResult

    async def begin(_given: Any, _context: Any) -> Any: ...

    for is_allowed, token in ((False, None), (True, "secret")):
        cli.requests.clear()
        to = RuntimeConnection.for_uri(f"127.0.0.1:{cli.port}", connection_token=token)
        client = CopilotClient(connection=to)
        await client.start()
        await client.get_foreground_session_id()
        await client.ping()
        session = await client.resume_session(
            "s1",
            tools=[],
            hooks={"on_pre_tool_use": begin},
            suppress_resume_event=True,
            include_sub_agent_streaming_events=False,
            on_permission_request=(lambda *_: PermissionNoResult()) if is_allowed else None,
        )
        await session.disconnect()
        await client.force_stop()
        theirs = [(one["method"], one["params"]) for one in cli.requests]
        cli.requests.clear()
        connection = await opened(cli, token)
        await connection.ask("ask", "session.getForeground")
        await connection.ping(within=HUNG)
        payload = {"requestPermission": is_allowed, "disableResume": True}
        joined = await connection.join("s1", part([]), payload)
        await joined.leave()
        await connection.close()
        assert [(one["method"], one["params"]) for one in cli.requests] == theirs


PROVIDER = {
    "COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:1/v1",
    "COPILOT_PROVIDER_API_KEY": "secret",
    "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS": "4096",
    "COPILOT_PROVIDER_HEADERS": "X-Team: blue",
    "COPILOT_PROVIDER_WIRE_MODEL": "m-1",
    "COPILOT_MODEL": "scripted",
}


@pytest.mark.parametrize("resumed", [None, "s1"])
@pytest.mark.parametrize("is_unattended", [False, True])
async def test_a_session_of_our_own_is_made_and_resumed_as_by_the_sdk(
    cli: CliPlayed, resumed: str | None, is_unattended: bool
) -> None:
    from copilot.session import SYSTEM_MESSAGE_SECTIONS, PermissionNoResult

    async def begin(*_given: Any) -> Any: ...

    cli.results["session.create"] = {"sessionId": "s1"}
    given: Json = {
        "working_directory": "/code",
        "client_name": "tapui",
        "model": "scripted",
        "provider": {
            "type": "openai",
            "base_url": "http://127.0.0.1:1/v1",
            "wire_api": "completions",
            "api_key": "secret",
            "max_output_tokens": 4096,
            "headers": {"X-Team": "blue"},
            "wire_model": "m-1",
        },
        "streaming": True,
        "include_sub_agent_streaming_events": False,
        "enable_config_discovery": True,
        "enable_file_hooks": True,
        "disabled_mcp_servers": ["tapui"],
        "tools": [],
        "hooks": {"on_pre_tool_use": begin},
        "system_message": {
            "mode": "customize",
            "sections": {name: {"action": begin} for name in SYSTEM_MESSAGE_SECTIONS},
        },
        "on_permission_request": lambda *_: PermissionNoResult(),
        "agent": "reviewer",
        "reasoning_effort": "high",
        "infinite_sessions": {
            "enabled": True,
            "background_compaction_threshold": 0.5,
            "buffer_exhaustion_threshold": 0.9,
        },
    }
    if not is_unattended:
        given |= {
            "on_user_input_request": begin,
            "on_exit_plan_mode_request": begin,
            "on_elicitation_request": begin,
        }

    async def make(client: Any) -> None:
        if resumed is None:
            own = {"name": "nightly", "trust_working_directory": "session"}
            session = await client.create_session(session_id="s1", **own, **given)
        else:
            session = await client.resume_session("s1", suppress_resume_event=True, **given)
        from copilot.rpc import ModeSetRequest
        from copilot.session_events import SessionMode

        cli.results["session.mode.set"] = {"modeApplied": True, "modelChanged": False, "status": ""}
        await session.rpc.mode.set(ModeSetRequest(mode=SessionMode("plan")))

    theirs = await sent_by_the_sdk(cli, make)
    order = SessionStart(
        "o1",
        folder="/code",
        name="nightly",
        resume=resumed,
        mode="plan",
        unattended=is_unattended,
        agent="reviewer",
        effort="high",
        infinite=Infinite(0.5, 0.9),
    )
    connection = await opened(cli)
    cli.requests.clear()
    await OwnSession("s1", "/code", order, PROVIDER, ["tapui"])(connection, part([]))
    await connection.close()
    ours = [(one["method"], one["params"]) for one in cli.requests]
    assert ours == theirs


async def of_the_sdk(session: Any) -> None:
    """Call each method of a session that tapui uses."""
    from copilot import ToolResult
    from copilot.rpc import (
        EventLogReadRequest,
        ExternalToolTextResultForLlm,
        FolderTrustCheckParams,
        HandlePendingToolCallRequest,
        MetadataContextInfoRequest,
        ModelSetReasoningEffortRequest,
        ModelSwitchToRequest,
        ModeSetRequest,
        NameSetRequest,
        PermissionDecisionApproveOnce,
        PermissionDecisionReject,
        PermissionDecisionRequest,
        UIElicitationRequest,
        UIElicitationResponse,
        UIElicitationResponseAction,
        UIElicitationSchema,
        UIExitPlanModeAction,
        UIExitPlanModeResponse,
        UIHandlePendingElicitationRequest,
        UIHandlePendingExitPlanModeRequest,
        UIHandlePendingUserInputRequest,
        UIUserInputResponse,
    )
    from copilot.session_events import SessionMode
    from copilot.tools import Tool, tool_result_to_external_tool_text_result_for_llm

    rpc = session.rpc
    failed = ExternalToolTextResultForLlm(
        text_result_for_llm=GONE, error=GONE, result_type="failure"
    )
    done = ToolResult(text_result_for_llm="done", result_type="success")
    reply = UIUserInputResponse(answer="blue", was_freeform=True)
    plan = UIExitPlanModeResponse(
        approved=True, selected_action=UIExitPlanModeAction("interactive")
    )
    change = UIExitPlanModeResponse(approved=False, feedback="smaller")
    accept = UIElicitationResponse(
        action=UIElicitationResponseAction("accept"), content={"colour": "blue"}
    )
    cancel = UIElicitationResponse(action=UIElicitationResponseAction("cancel"))
    properties = {"q1": {"type": "string", "title": "Switch the mode?", **CHOICE}}
    schema = {"type": "object", "properties": properties, "required": ["q1"]}
    tool = Tool(
        name="greet",
        description=description_for_model(GREET),
        parameters=msgspec.json.decode(GREET.parameters),
        handler=lambda _: done,
        skip_permission=False,
    )
    calls = [
        rpc.model.get_current(),
        rpc.name.get(),
        rpc.metadata.snapshot(),
        rpc.agent.list(),
        rpc.mcp.list(),
        rpc.permissions.folder_trust.is_trusted(FolderTrustCheckParams(path="/code")),
        rpc.event_log.read(EventLogReadRequest()),
        rpc.event_log.read(EventLogReadRequest(types=_LOGGED, max=1_000)),
        rpc.permissions.get_mode(),
        rpc.permissions.pending_requests(),
        rpc.metadata.is_processing(),
        rpc.tasks.list(),
        rpc.schedule.list(),
        rpc.canvas.list_open(),
        rpc.metadata.context_info(
            MetadataContextInfoRequest(output_token_limit=0, prompt_token_limit=0)
        ),
        rpc.usage.get_metrics(),
        rpc.quota.get(),
        rpc.git_hub_auth.get_status(),
        rpc.autopilot_objective.get_state(),
        rpc.plan.read_sql_todos(),
        session.send("go on", mode="enqueue"),
        session.send("now", mode="immediate", attachments=[FILE]),
        session.log("a line", level="warning", ephemeral=True),
        session.abort(),
        rpc.queue.pending_items(),
        rpc.mode.set(ModeSetRequest(mode=SessionMode("plan"))),
        rpc.history.compact(),
        rpc.model.list(),
        rpc.model.switch_to(ModelSwitchToRequest(model_id="m2")),
        rpc.model.set_reasoning_effort(ModelSetReasoningEffortRequest(reasoning_effort="high")),
        rpc.name.set(NameSetRequest(name="nightly")),
        session.set_tools([tool]),
        rpc.tools.list_pending_requests(),
        rpc.tools.handle_pending_tool_call(HandlePendingToolCallRequest("r1", result=failed)),
        rpc.tools.handle_pending_tool_call(
            HandlePendingToolCallRequest(
                "r2", result=tool_result_to_external_tool_text_result_for_llm(done)
            )
        ),
        rpc.permissions.handle_pending_permission_request(
            PermissionDecisionRequest("p1", PermissionDecisionApproveOnce())
        ),
        rpc.permissions.handle_pending_permission_request(
            PermissionDecisionRequest("p2", PermissionDecisionReject(feedback="use pnpm"))
        ),
        rpc.ui.handle_pending_elicitation(UIHandlePendingElicitationRequest("e1", accept)),
        rpc.ui.handle_pending_elicitation(UIHandlePendingElicitationRequest("e2", cancel)),
        rpc.ui.handle_pending_user_input(UIHandlePendingUserInputRequest("u1", reply)),
        rpc.ui.handle_pending_exit_plan_mode(UIHandlePendingExitPlanModeRequest("x1", plan)),
        rpc.ui.handle_pending_exit_plan_mode(UIHandlePendingExitPlanModeRequest("x2", change)),
        rpc.ui.elicitation(
            UIElicitationRequest(
                message="tapui: The agent asks for the mode plan.",
                requested_schema=UIElicitationSchema.from_dict(schema),
            )
        ),
    ]
    for call in calls:
        with contextlib.suppress(Exception):  # how it takes the answer is another matter
            await asyncio.wait_for(call, HUNG)


GONE = "the tool is no longer offered"
CHOICE = {
    "enum": ["No, leave the mode", "Yes, switch to plan"],
    "default": "No, leave the mode",
}
FILE: Any = {"type": "file", "path": "/code/a.py", "displayName": "a.py"}


async def of_tapui(connection: CliConnection, session: CliSession) -> None:
    """Have the parts of the host call the same."""
    tasks = BackgroundTasks()
    sent: list[Any] = []
    uplink = SessionUplink(
        sent.append, lambda: "c1", print, id="s1", spawn=tasks.start, session=session
    )
    await describe(connection, session, cwd="/code", report=print)
    await asks_for_trust(session, "/code")
    await asked_before(session)
    await permission_mode(session)
    await asks_about_extension(session)
    await is_processing(session)
    await look("l1", session)
    await UsageTold(uplink, lambda _: []).begin(session)
    for told in (objective_told(uplink), todos_told(uplink)):
        told.begin(session)
    await send(session, "send", "go on")
    await send(session, "send", "now", mode="immediate", attachments=[FILE])
    Outgoing(uplink, lambda *_: None).line("a line", "warning", is_ephemeral=True)
    steering = Steering(uplink, Translator("s1", str.isspace))
    steering.begin(SessionStop("o1", "s1"))
    await set_mode(session, "plan")
    await compact(session)
    await switch_model(session, "m2")
    await set_effort(session, "high")
    await rename(session, "nightly")
    toolset = Toolset(uplink, ledger=Ledger(Path("/nowhere")), log=print)
    toolset.offer([GREET], 1)
    toolset.bind(session)
    await settle(session, Ledger(Path("/nowhere")), deque(["r0"]))
    await fail(session, "r1", GONE)
    await answer(session, "r2", await result_for_model(ToolOutcome("c", data=raw("done"))))
    questions, permissions = Questions(uplink), Permissions(uplink)
    for name, ids in (("elicitation", "e1 e2"), ("user_input", "u1"), ("exit_plan_mode", "x1 x2")):
        for id_ in ids.split():
            questions.asked(f"{name}.requested", id_, {"message": "?"})
    questions.answered(ApprovalAnswer("e1", "approve", {"colour": "blue"}))
    questions.answered(ApprovalAnswer("e2", "deny"))
    questions.answered(ApprovalAnswer("u1", "approve", "blue"))
    questions.answered(ApprovalAnswer("x1", "approve", {"then": "interactive"}))
    questions.answered(ApprovalAnswer("x2", "deny", reason="smaller"))
    for id_ in ("p1", "p2"):
        permissions.requested(id_, {"kind": "url", "url": "https://example.org"})
    await until_async(lambda: sum(one.id[0] == "p" for one in asked(sent)) == 2, what="requests")
    permissions.answered(ApprovalAnswer("p1", "approve"))
    permissions.answered(ApprovalAnswer("p2", "deny", reason="use pnpm"))
    OwnQuestions(uplink, is_headless=False).ask(ApprovalAsk("q1", "s1", "mode", "plan", "agent"))


def as_json(params: Json) -> str:
    return json.dumps(params, sort_keys=True)


def asked(sent: list[Any]) -> list[ApprovalRequest]:
    return [message for message in sent if isinstance(message, ApprovalRequest)]


async def test_each_method_of_a_session_is_asked_for_as_by_the_sdk(
    cli: CliPlayed, connection: CliConnection
) -> None:
    def came() -> dict[str, list[Json]]:
        found: dict[str, list[Json]] = {}
        for one in list(cli.requests):
            of_method = found.setdefault(one["method"], [])
            if one["params"] not in of_method:
                of_method.append(one["params"])
        return {name: sorted(given, key=as_json) for name, given in found.items()}

    cli.results["session.mode.set"] = {"status": "set", "modelChanged": False}
    cli.results["session.permissions.folderTrust.isTrusted"] = {"trusted": False}
    cli.models = [{"id": "m2", "name": "M", "supportedReasoningEfforts": ["high"]}]

    async def use(client: Any) -> None:
        session = await client.resume_session("s1", on_permission_request=None)
        cli.requests.clear()
        asking = asyncio.create_task(of_the_sdk(session))
        await until_async(lambda: cli.asked("session.ui.elicitation"), what="the last request")
        cli.answer_form("cancel")
        await asking
        theirs.update(came())

    theirs: dict[str, list[Json]] = {}
    await sent_by_the_sdk(cli, use)
    session = await connection.join("s1", part([]), {})
    cli.requests.clear()
    await of_tapui(connection, session)
    theirs["tools.list"] = [{}]
    await until_async(
        lambda: came().keys() >= theirs.keys(), what=lambda: str(theirs.keys() - came().keys())
    )
    cli.answer_form("cancel")
    await until_async(
        lambda: came() == theirs,
        what=lambda: str(
            [(came()[name], theirs[name]) for name in theirs if came()[name] != theirs[name]]
        ),
    )
    assert len(theirs) == 38
