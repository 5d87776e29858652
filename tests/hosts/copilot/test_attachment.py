"""Attached sessions, each for itself: with a played CLI, over a real socket."""

import asyncio
import base64
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from tapui.hosts.copilot import attachment
from tapui.hosts.copilot.connection import AttachError, CliConnection, LostError, Participation
from tapui.hosts.copilot.uplink import HostTiming, Uplink
from tapui.hosts.for_models import MEDIA_BYTES
from tapui.wire.errors import ErrorCode
from tapui.wire.host import (
    ApprovalAnswer,
    ApprovalRequest,
    Sender,
    SessionClose,
    SessionEvent,
    SessionOpen,
    SessionSend,
    SessionSent,
    SessionUpdate,
    ToolsChanged,
)
from tapui.wire.message import FileResult, ToolInvoke, ToolOutcome
from tests.hosts.cli_played import CliPlayed
from tests.hosts.gateway import GREET, GatewayPlayed, HostThread
from tests.rig.waiting import HUNG, until, until_async

QUOTA = {
    "entitlementRequests": 150, "isUnlimitedEntitlement": False, "overage": 0,
    "overageAllowedWithExhaustedQuota": False, "remainingPercentage": 35.3,
    "usageAllowedWithExhaustedQuota": False, "usedRequests": 97,
}  # fmt: skip
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


@pytest.fixture
def cli(copilot_home: Path) -> Iterator[CliPlayed]:
    """A CLI with two sessions; s1 is on the screen."""
    with CliPlayed(copilot_home, "s1", "s2") as played:
        yield played


@pytest.fixture
def hosted(cli: CliPlayed, copilot_home: Path, timing: HostTiming) -> Iterator[HostThread]:
    """A host that has attached to both sessions."""
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home, timing=timing) as host:
        until(lambda: len(gateway.of(SessionOpen)) == 2, what="both sessions")
        until(lambda: len(cli.asked("session.tools.set")) == 2, what="the tools of both")
        yield host


def test_session_that_cannot_be_attached_to_leaves_the_others_alone(
    cli: CliPlayed, copilot_home: Path
) -> None:
    cli.broken = {"s1"}
    gateway = GatewayPlayed()
    timing = HostTiming(scan=0.05, settle=0.05)
    with HostThread(gateway, copilot_home, timing=timing) as host:
        assert gateway.wait(SessionOpen).session.id == "s2"

        def tries() -> int:
            return len([one for one in cli.asked("session.resume") if one["sessionId"] == "s1"])

        until(lambda: tries() > 3, what="further tries")
        assert len([text for _, text in host.reports if "s1 is corrupt" in text]) == 1
        cli.broken = set()
        until(lambda: len(gateway.of(SessionOpen)) == 2, what="s1")
        assert not gateway.of(SessionClose)


def test_session_that_cannot_be_joined_again_closes_alone_and_comes_back(
    cli: CliPlayed, hosted: HostThread
) -> None:
    gateway = hosted.gateway
    cli.broken = {"s2"}
    cli.drop()
    closed = gateway.wait(SessionClose)
    assert (closed.session_id, closed.reason) == ("s2", "it cannot be reached any more")
    until(lambda: [one for one in hosted.reports if "is back" in one[1]], what="the connection")
    cli.broken = set()
    until(lambda: len(gateway.of(SessionOpen)) == 3, what="s2 again")
    assert gateway.of(SessionOpen)[-1].session.id == "s2"
    assert [one.session_id for one in gateway.of(SessionClose)] == ["s2"]


def test_what_the_end_of_a_connection_leaves_unanswered_is_no_warning(
    cli: CliPlayed, hosted: HostThread
) -> None:
    methods = ("session.plan.readSqlTodos", "session.quota.get")
    before = [len(cli.asked(one)) for one in methods]
    cli.mute = {*methods}
    cli.happens("s1", "session.todos_changed")
    cli.happens("s1", "session.idle")
    until(
        lambda: all(len(cli.asked(one)) > at for one, at in zip(methods, before, strict=True)),
        what="both are asked",
    )
    cli.mute, cli.quotas = set(), {"chat": QUOTA}
    cli.drop()
    hosted.gateway.wait(SessionEvent, event="session.quota", session_id="s1")  # asked once more
    until(lambda: [one for one in hosted.reports if "is back" in one[1]], what="the connection")
    assert not [text for _, text in hosted.reports if "ask for the todo list" in text]


def test_gateway_learns_whether_a_prompt_could_be_sent(cli: CliPlayed, hosted: HostThread) -> None:
    gateway = hosted.gateway
    cli.deaf = {"s1"}
    for session in ("s1", "s2"):
        gateway.tell(SessionSend(session, "the build is red", Sender("ci")))
    assert gateway.wait(SessionSent, session_id="s2") == SessionSent("s2", ok=True)
    failed = gateway.wait(SessionSent, session_id="s1")
    assert failed.ok is False
    assert "the session takes no prompt" in (failed.error or "")


def ends(cli: CliPlayed, session: str) -> None:
    """The CLI ends a session."""
    cli.happens(
        session,
        "session.shutdown",
        shutdownType="routine",
        totalPremiumRequests=0,
        totalApiDurationMs=0,
        sessionStartTime=0,
        codeChanges={"linesAdded": 0, "linesRemoved": 0, "filesModified": []},
        modelMetrics={},
    )


@pytest.mark.parametrize("timing", [HostTiming(replace=0.01)])
def test_session_that_ends_only_after_another_came_on_screen_was_replaced(
    cli: CliPlayed, hosted: HostThread
) -> None:
    gateway = hosted.gateway
    cli.shows("s3")
    opened = gateway.wait(SessionOpen, lambda one: one.session.id == "s3")
    assert opened.session.replaces is None
    ends(cli, "s1")
    closed = gateway.wait(SessionClose)
    assert (closed.session_id, closed.replaced_by) == ("s1", "s3")


@pytest.mark.parametrize("timing", [HostTiming(replace=0.01)])
def test_session_that_ends_while_its_follower_is_joined_was_replaced(
    cli: CliPlayed, hosted: HostThread
) -> None:
    gateway = hosted.gateway
    cli.slow = {"s3"}
    cli.shows("s3")
    until(lambda: cli.asked("session.resume")[-1]["sessionId"] == "s3", what="joining")
    ends(cli, "s1")
    cli.happens("s2", "user.message", content="after the end")
    gateway.wait(SessionEvent, lambda one: one.session_id == "s2" and one.event == "user.message")
    assert not gateway.of(SessionClose)
    cli.answer_the_slow()
    closed = gateway.wait(SessionClose)
    assert (closed.session_id, closed.replaced_by) == ("s1", "s3")


@pytest.mark.parametrize("timing", [HostTiming(replace=0.01, after_shutdown=0.01)])
def test_session_that_another_joined_on_screen_stays_beside_it(
    cli: CliPlayed, hosted: HostThread
) -> None:
    gateway = hosted.gateway
    cli.shows("s3")
    gateway.wait(SessionOpen, lambda one: one.session.id == "s3")
    cli.shows("s1")
    gateway.wait(SessionUpdate, lambda one: (one.session_id, one.foreground) == ("s1", True))
    ends(cli, "s1")  # it is on screen again: nothing took its place
    closed = gateway.wait(SessionClose)
    assert (closed.session_id, closed.replaced_by) == ("s1", None)


def calls(cli: CliPlayed, number: int, tool: str = "greet", **more: Any) -> None:
    """Let the model call a tool."""
    about = {"toolName": tool, "sessionId": "s1", "arguments": {}, **more}
    ids = {"requestId": f"r{number}", "toolCallId": f"t{number}"}
    cli.happens("s1", "external_tool.requested", **about, **ids)


def answered_with(cli: CliPlayed, hosted: HostThread, file: FileResult) -> dict[str, object]:
    """Let the model call a tool that answers with a file; return what the CLI was handed."""
    gateway = hosted.gateway
    before = len(cli.asked("session.tools.handlePendingToolCall"))
    number = len(gateway.of(ToolInvoke))
    calls(cli, number)
    until(lambda: len(gateway.of(ToolInvoke)) > number, what="the call")
    gateway.tell(ToolOutcome(gateway.of(ToolInvoke)[-1].id, file=file))
    answers = until(
        lambda: cli.asked("session.tools.handlePendingToolCall")[before:], what="the answer"
    )
    result: dict[str, object] = answers[0]["result"]
    return result


def test_image_reaches_the_model_as_an_image_and_other_files_by_their_path(
    cli: CliPlayed, hosted: HostThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "shot"
    file.write_bytes(PNG)
    size = len(PNG)
    shown = answered_with(cli, hosted, FileResult(str(file), "image/png", size))
    (image,) = shown["binaryResultsForLlm"]  # type: ignore[misc]
    assert base64.b64decode(image["data"]) == PNG
    assert (image["type"], image["mimeType"]) == ("image", "image/png")
    text = f"The result is in the file {file} (image/png, {size} bytes)"
    assert shown["textResultForLlm"] == text
    plain = answered_with(cli, hosted, FileResult(str(file), "text/plain", size))
    assert "binaryResultsForLlm" not in plain
    link = tmp_path / "link"
    link.symlink_to(file)
    for unreadable in (tmp_path / "gone", link, tmp_path):
        told = answered_with(cli, hosted, FileResult(str(unreadable), "image/png", size))
        assert ("binaryResultsForLlm" in told, told["resultType"]) == (False, "success")
    os.truncate(file, MEDIA_BYTES + 1)
    large = answered_with(cli, hosted, FileResult(str(file), "image/png", MEDIA_BYTES + 1))
    assert "binaryResultsForLlm" not in large
    assert large["resultType"] == "success"


def test_calls_are_noted_on_disk_outside_of_the_loops_thread(
    cli: CliPlayed, hosted: HostThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[str, int]] = []
    really_open = os.open

    def watched(path: str, *args: int, **options: int) -> int:
        opened.append((str(path), threading.get_ident()))
        return really_open(path, *args, **options)

    monkeypatch.setattr(os, "open", watched)
    answered_with(cli, hosted, FileResult(str(tmp_path), "text/plain", 1))
    loops_thread = hosted.run_in_loop(threading.get_ident)
    noted = [thread for path, thread in opened if path.endswith(".calls")]
    assert noted
    assert loops_thread not in noted


def test_tools_that_another_program_offers_are_told_once_however_their_number_changes(
    cli: CliPlayed, copilot_home: Path
) -> None:
    cli.taken = {"greet", "tap_list_streams"}
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home, timing=HostTiming(retry_tools=0.05)) as host:

        def clashes() -> list[str]:
            return [text for _, text in host.reports if "greet" in text]

        until(lambda: len(clashes()) == 2, what="a report for each session")
        cli.taken = {"greet"}
        cli.requests.clear()
        until(lambda: len(cli.asked("session.tools.set")) > 10, what="further tries")
        assert not gateway.of(SessionUpdate, tools_revision=1)
        cli.taken = set()
        for session in cli.sessions:
            gateway.wait(SessionUpdate, session_id=session, tools_revision=1)
        assert len(clashes()) == 2


def test_gateway_learns_when_a_session_has_taken_its_tools(
    cli: CliPlayed, hosted: HostThread
) -> None:
    gateway = hosted.gateway
    gateway.wait(SessionUpdate, session_id="s1", tools_revision=1)
    gateway.tell(ToolsChanged("s1", [GREET], 2))
    gateway.wait(SessionUpdate, session_id="s1", tools_revision=2)
    cli.drop()
    gateway.wait(SessionUpdate, session_id="s1", tools_revision=0)
    until(
        lambda: len(gateway.of(SessionUpdate, session_id="s1", tools_revision=2)) == 2,
        what="they are taken again",
    )
    assert not gateway.of(SessionUpdate, session_id="s2", tools_revision=2)


def test_gateway_learns_that_a_session_without_tools_has_them_all(
    cli: CliPlayed, copilot_home: Path
) -> None:
    gateway = GatewayPlayed(tools=())
    with HostThread(gateway, copilot_home):
        gateway.wait(SessionUpdate, session_id="s1", tools_revision=1)
    assert not cli.asked("session.tools.set")


NEVER = HostTiming(decision=3600, prompt=3600, turn_end=3600)


def refusals(host: HostThread) -> list[str]:
    return [text for _, text in host.reports if "refused" in text]


@pytest.mark.parametrize("timing", [NEVER], ids=["never in vain"])
def test_a_question_that_the_gateway_refuses_is_answered_at_once(
    cli: CliPlayed, hosted: HostThread
) -> None:
    hosted.gateway.refuses = ErrorCode.INTERNAL
    said = cli.hook("s1", "preToolUse", toolName="bash", toolArgs={})
    assert said is not None
    assert "the gateway said refused" in said["permissionDecisionReason"]
    assert cli.hook("s1", "userPromptSubmitted", prompt="Go on") is None
    assert cli.hook("s1", "agentStop", stopReason="end_turn") is None
    assert len(refusals(hosted)) == 3


def test_a_call_that_the_gateway_refuses_is_answered(cli: CliPlayed, hosted: HostThread) -> None:
    hosted.gateway.refuses = ErrorCode.RATE_LIMITED
    calls(cli, 1)
    until(lambda: cli.asked("session.tools.handlePendingToolCall"), what="an answer")
    answer = cli.asked("session.tools.handlePendingToolCall")[0]
    assert (answer["requestId"], answer["result"]["resultType"]) == ("r1", "failure")
    assert "refused" in answer["result"]["textResultForLlm"]


def test_a_call_of_a_tool_that_another_program_has_by_now_is_not_answered(
    cli: CliPlayed, hosted: HostThread
) -> None:
    cli.taken = {"greet"}
    cli.drop()
    until(lambda: [text for _, text in hosted.reports if "greet" in text], what="the clash is told")
    for number, tool in enumerate(("greet", "tap_list_streams")):
        calls(cli, number, tool)
    hosted.gateway.wait(ToolInvoke, tool="tap_list_streams")
    assert not hosted.gateway.of(ToolInvoke, tool="greet")
    assert cli.asked("session.tools.handlePendingToolCall") == []


ODD = {
    "tasks": [7, {}, {"type": "agent", "status": "running"}],
    "items": [None, {"requestId": 1}, {"requestId": "p", "request": {"kind": "read", "paths": 1}}],
    "events": [{"type": ["session.start"]}, {"type": "session.start"}],
    "servers": [{"name": 5}, {"name": "x", "status": []}],
    "agents": [{"name": "a", "tools": "all", "description": 1}],
    "contextInfo": {"compactionThreshold": 1e999},
    "modelMetrics": {"m": {"usage": 1, "requests": []}, "n": 2},
    "snapshots": {"q": {"resetDateEpochMs": 1e999}, "r": None},
    "rows": [{"status": []}],
    "state": {"id": {}},
    "trusted": "no",
}


@pytest.mark.parametrize("odd", [None, [1], "odd", 7, ODD], ids=lambda odd: type(odd).__name__)
def test_a_session_is_attached_to_whatever_its_cli_answers(
    cli: CliPlayed, copilot_home: Path, timing: HostTiming, odd: Any
) -> None:
    cli.results = dict.fromkeys(ASKED, odd)
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home, timing=timing) as host:
        for session in cli.sessions:
            gateway.wait(SessionUpdate, session_id=session, tools_revision=1)
        cli.drop()
        until(lambda: len(cli.asked("session.resume")) == 4, what="both are joined again")
        until(lambda: len(cli.asked("session.tools.set")) == 4, what="the tools of both")
        assert [text for level, text in host.reports if level == "error"] == []
        assert not gateway.of(SessionClose)


ASKED = (
    "ping",
    "session.agent.list",
    "session.autopilotObjective.getState",
    "session.eventLog.read",
    "session.gitHubAuth.getStatus",
    "session.mcp.list",
    "session.metadata.contextInfo",
    "session.metadata.isProcessing",
    "session.metadata.snapshot",
    "session.model.getCurrent",
    "session.name.get",
    "session.permissions.folderTrust.isTrusted",
    "session.permissions.getMode",
    "session.permissions.pendingRequests",
    "session.plan.readSqlTodos",
    "session.quota.get",
    "session.tasks.list",
    "session.tools.listPendingRequests",
    "session.tools.set",
    "session.usage.getMetrics",
    "tools.list",
)


AGO = datetime.now(UTC) - timedelta(seconds=36)


def logged(name: str, request_id: str | None = None, **data: Any) -> dict[str, Any]:
    """Return an event of 36 seconds ago, as the CLI's log has it."""
    if request_id is not None:
        data["requestId"] = request_id
    at, told = AGO.isoformat(), {"id": f"{name} {request_id}", "parentId": None}
    return {**told, "timestamp": at, "type": name, "data": data}


def log_of(*events: Any, **more: Any) -> dict[str, Any]:
    return {"session.eventLog.read": {"events": list(events), "cursor": "c", **more}}


def test_what_was_asked_before_tapui_came_waits_since_then(
    cli: CliPlayed, copilot_home: Path, timing: HostTiming
) -> None:
    plan = {"summary": "Look", "planContent": "1. Look", "actions": ["interactive"]}
    form = {"message": "Which?", "requestedSchema": {"type": "object", "properties": {}}}
    cli.processing = True
    cli.permissions = [{"kind": "url", "url": "https://example.org"}, {"kind": "read", "path": "/"}]
    cli.results = log_of(
        logged("user_input.requested", "u-0", question="of a turn that was stopped"),
        logged("abort", reason="user"),
        logged("permission.requested", "p-0", permissionRequest={"kind": "url", "url": "forged"}),
        logged("permission.requested", "p-9", permissionRequest={"kind": "url", "url": "forged"}),
        7,
        {"type": "elicitation.requested"},
        logged("elicitation.requested", "e-1", **form, toolCallId="t-1"),
        logged("elicitation.completed", "e-1", action="accept"),
        logged("elicitation.requested", "e-2", **form, toolCallId="t-2"),
        logged("elicitation.requested", "e-3", **form),  # of a program that may be gone
        logged("exit_plan_mode.requested", "x-0", actions=7),
        logged("exit_plan_mode.requested", "x-1", **plan),
    )
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home, timing=timing):
        for id_, is_known in (("p-0", True), ("p-1", False)):
            asked = gateway.wait(ApprovalRequest, id=id_, session_id="s1")
            assert ((asked.waited or 0) >= 36_000, asked.waited is not None) == (is_known,) * 2
        until(lambda: len(gateway.of(ApprovalRequest, session_id="s1")) == 4, what="all")
        mine = gateway.of(ApprovalRequest, session_id="s1")
        assert not any(b"forged" in bytes(one.detail) for one in mine)
        form, plan = [one for one in mine if one.kind == "elicitation"]
        assert b"Which?" in bytes(form.detail)
        assert b"1. Look" in bytes(plan.detail)
        assert min(form.waited or 0, plan.waited or 0) >= 36_000
        gateway.tell(ApprovalAnswer(form.id, "approve", {}))
        until(lambda: cli.asked("session.ui.handlePendingElicitation"), what="the answer")
        assert cli.asked("session.ui.handlePendingElicitation")[0]["requestId"] == "e-2"


def test_a_question_in_the_log_with_the_id_of_a_permission_answers_no_permission(
    cli: CliPlayed, copilot_home: Path, timing: HostTiming
) -> None:
    cli.processing = True
    cli.permissions = [{"kind": "shell", "fullCommandText": "rm -rf /"}]
    cli.results = log_of(
        logged("permission.requested", "p-0", permissionRequest={"kind": "shell"}),
        logged("user_input.requested", "p-0", question="Tea or coffee?"),
        logged("user_input.requested", "u-1", question="Tea or coffee?"),
        logged("user_input.requested", "p-1", question="Tea or coffee?"),
    )
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home, timing=timing):
        assert gateway.wait(ApprovalRequest, id="p-0").kind == "permission"
        questions = [asked for asked in gateway.of(ApprovalRequest) if asked.kind == "userInput"]
        for question in questions:
            gateway.tell(ApprovalAnswer(question.id, "approve", "tea"))
        until(lambda: len(cli.asked("session.ui.handlePendingUserInput")) >= 2, what="the answers")
        assert not cli.asked("session.permissions.handlePendingPermissionRequest")


def test_of_very_many_questions_in_the_log_the_newest_are_shown(
    cli: CliPlayed, copilot_home: Path, timing: HostTiming
) -> None:
    cli.processing = True
    cli.permissions = [{"kind": "url", "url": "https://example.org"}]
    asked = [logged("user_input.requested", f"u-{number}", question="?") for number in range(500)]
    cli.results = log_of(*asked)
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home, timing=timing):
        gateway.wait(ApprovalRequest, id="p-0", session_id="s1")  # after them
        mine = gateway.of(ApprovalRequest, session_id="s1")
        assert len([request for request in mine if request.kind == "userInput"]) == 20


def test_a_permission_of_a_subagent_waits_since_it_was_asked(
    cli: CliPlayed, copilot_home: Path, timing: HostTiming
) -> None:
    cli.permissions = [{"kind": "url", "url": "https://example.org"}]
    cli.results = log_of(logged("permission.requested", "p-0", permissionRequest={"kind": "url"}))
    task = {"type": "agent", "status": "running", "id": "a", "agentType": "explore"}
    cli.results["session.tasks.list"] = {"tasks": [{**task, "toolCallId": "t"}]}
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home, timing=timing):
        assert (gateway.wait(ApprovalRequest, id="p-0").waited or 0) >= 36_000


@pytest.mark.parametrize("timing", [HostTiming(scan=0.05, settle=0.05)])
def test_an_attached_cli_without_a_lock_keeps_its_sessions(
    cli: CliPlayed, hosted: HostThread, copilot_home: Path
) -> None:
    """It is known by its log then, and as one that is attached."""
    started = psutil.Process().create_time() * 1000
    logs = copilot_home / "logs"
    logs.mkdir()
    (logs / f"process-{started:.0f}-{os.getpid()}.log").touch()
    (logs / "process-1234567890123-9999999999.log").touch()
    (attachment,) = hosted.host.attachments.values()
    process = attachment.process
    assert process is not None
    (this,) = [found for found in hosted.host._discovery.scan() if found.process == process]
    hosted.run_in_loop(lambda: hosted.host._look_at(replace(this, sessions=())))
    for lock in copilot_home.glob("session-state/*/inuse.*.lock"):
        lock.unlink()
    cli.happens("s1", "session.title_changed", title="It goes on")
    hosted.gateway.wait(SessionUpdate, label="It goes on")
    assert not hosted.gateway.of(SessionClose)


def test_a_log_that_has_no_end_tells_of_no_question(
    cli: CliPlayed, copilot_home: Path, timing: HostTiming
) -> None:
    cli.processing = True
    cli.permissions = [{"kind": "url", "url": "https://example.org"}]
    cli.results = log_of(logged("user_input.requested", "u-1", question="?"), hasMore=True)
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home, timing=timing):
        assert gateway.wait(ApprovalRequest, id="p-0").waited is None
        assert not gateway.of(ApprovalRequest, id="u-1")
        pages = cli.asked("session.eventLog.read")
        assert [one.get("cursor") for one in pages[:2]] == [None, "c"]


def test_half_an_emoji_in_a_title_an_event_or_a_call_stops_nothing(
    cli: CliPlayed, hosted: HostThread
) -> None:
    gateway = hosted.gateway
    half = "half \ud83d"
    cli.happens("s1", "session.title_changed", title=half)
    cli.happens("s1", "session.error", errorType="query", message=half)
    calls(cli, 1, arguments={half: half})
    invoke = gateway.wait(ToolInvoke)
    assert msgspec.json.decode(invoke.args) == {"half \N{REPLACEMENT CHARACTER}": "half \ufffd"}
    assert gateway.wait(SessionEvent, event="session.error")
    assert gateway.wait(SessionUpdate, label="half \ufffd")


def test_the_clis_trace_goes_along_with_a_call(cli: CliPlayed, hosted: HostThread) -> None:
    gateway = hosted.gateway
    given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    for number, traceparent in enumerate((given, None, "x" * 300)):
        calls(cli, number, **({} if traceparent is None else {"traceparent": traceparent}))
        until(lambda at=number: len(gateway.of(ToolInvoke)) > at, what="the call")  # type: ignore[misc]
    assert [one.traceparent for one in gateway.of(ToolInvoke)] == [given, None, None]


@pytest.mark.parametrize("timing", [HostTiming(ping=2.0)])
def test_a_cli_that_answers_nothing_is_told_until_it_answers(
    cli: CliPlayed, hosted: HostThread
) -> None:

    def told() -> list[tuple[str, bool]]:
        updates = hosted.gateway.of(SessionUpdate)
        return [(one.session_id, one.silent) for one in updates if one.silent is not None]

    cli.is_hung = True
    until(lambda: len(told()) == 2, what="that both sessions are silent")
    assert told() == [("s1", True), ("s2", True)]
    cli.is_hung = False
    until(lambda: len(told()) == 4, what="that it answers")
    assert told()[2:] == [("s1", False), ("s2", False)]
    assert not hosted.gateway.of(SessionClose)


@pytest.mark.parametrize("timing", [HostTiming(scan=2 * HUNG)])  # it is not found once more
def test_a_cli_that_is_left_while_its_sessions_are_joined_again_is_not_connected_to_again(
    cli: CliPlayed, hosted: HostThread
) -> None:
    (joined,) = hosted.host.attachments.values()
    cli.slow = {"s1"}
    cli.drop()
    until(lambda: len(cli.asked("session.resume")) == 3, what="s1 is joined again")
    asyncio.run_coroutine_threadsafe(joined.leave(), hosted.loop).result(10)
    until(lambda: not hosted.host.attachments, what="the attachment's end")
    assert len(cli.asked("session.resume")) == 3


PART = Participation(lambda _: None, {})


async def connected(cli: CliPlayed) -> CliConnection:
    return await CliConnection.open(cli.port, None, within=HUNG, on_foreground=lambda _: None)


async def test_no_session_is_joined_over_a_connection_that_was_closed(cli: CliPlayed) -> None:
    connection = await connected(cli)
    await connection.close()
    with pytest.raises(LostError, match="the connection was closed"):
        await connection.join("s1", PART, {})
    assert cli.asked("session.resume") == []
    await until_async(lambda: cli.connections == 0, what="the socket is closed")


async def test_a_cli_that_is_left_while_it_is_connected_to_keeps_no_socket(
    cli: CliPlayed, copilot_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    greet = CliConnection.greet
    begun, goes_on = asyncio.Event(), asyncio.Event()

    async def late(connection: CliConnection, what: str, *token: str | None, within: float) -> None:
        begun.set()
        await goes_on.wait()
        await greet(connection, what, *token, within=within)

    monkeypatch.setattr(CliConnection, "greet", late)
    uplink = Uplink(lambda _: None, lambda: "c1", lambda *_: None)
    joined = attachment.Attachment(None, cli.port, uplink, copilot_home=copilot_home, cwd="/")
    connecting = asyncio.create_task(joined.connect(["s1"]))
    await begun.wait()
    await joined.leave()
    goes_on.set()
    with pytest.raises(AttachError, match="left meanwhile"):
        await connecting
    assert cli.asked("session.resume") == []
    await until_async(lambda: cli.connections == 0, what="the socket is closed")
