"""Events of the CLI, as they were recorded, in the words of the host conversation."""

import uuid
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tapui.hosts.copilot.connection import CliEvent
from tapui.hosts.copilot.session.translator import OUTPUT_LENGTH, Translator
from tapui.wire.codec import encode
from tapui.wire.host import SESSION_EVENTS, Agent, SessionEvent, SessionUpdate
from tapui.wire.limits import MAX_MESSAGE_BYTES
from tapui.wire.message import Message

CALL = "call_96ddac401d26"


def recorded(kind: str, data: Any, *, at: str = "49.000", agent: str | None = None) -> Any:
    return CliEvent.read(
        {
            "type": kind,
            "id": str(uuid.uuid4()),
            "parentId": None,
            "timestamp": f"2026-11-21T22:15:{at}Z",
            "data": data,
            **({"agentId": agent} if agent else {}),
        }
    )


@pytest.fixture
def translator() -> Translator:
    return Translator("s1", {"greet"}.__contains__)


def told(messages: list[Message]) -> list[tuple[str, Any]]:
    shown = []
    for message in messages:
        assert isinstance(message, SessionEvent)
        assert message.session_id == "s1"
        shown.append((message.event, msgspec.json.decode(message.data)))
    return shown


def bash_start(at: str = "49.000") -> Any:
    return recorded(
        "tool.execution_start",
        {
            "toolCallId": CALL,
            "toolName": "bash",
            "arguments": {"command": "echo hi > x.txt", "description": "write"},
            "model": "scripted",
            "shellToolInfo": {"hasWriteFileRedirection": True, "possiblePaths": ["x.txt"]},
            "toolTitle": "Running command",
            "turnId": "0",
        },
        at=at,
    )


def complete(call: str, at: str = "50.250", **data: Any) -> Any:
    return recorded("tool.execution_complete", {"toolCallId": call, "turnId": "0", **data}, at=at)


def notified(shell: str, code: object) -> Any:
    kind = {"type": "shell_completed", "shellId": shell, "exitCode": code, "description": "d"}
    return recorded("system.notification", {"content": "It has exited.", "kind": kind})


READING = {"toolCallId": "call_2", "toolName": "read_bash", "arguments": {"shellId": "bg1"}}


def test_files_that_a_command_seems_to_write_are_those_of_its_redirections(
    translator: Translator,
) -> None:
    """The paths are those that the CLI has sent."""
    command = 'sleep 300 & curl -fsS https://example.org/x > f 2>/dev/null; git push >> "$LOG"'
    started: Any = {"toolCallId": CALL, "toolName": "bash", "arguments": {"command": command}}
    paths = ["300", "https://example.org/x", "push"]
    started["shellToolInfo"] = {"hasWriteFileRedirection": True, "possiblePaths": paths}
    told(translator.translate(recorded("tool.execution_start", started)))
    ((_name, end),) = told(translator.translate(complete(CALL, success=True)))
    assert end["changes"] == [{"path": "f", "isProbable": True}]


def test_what_the_cli_begins_by_itself_is_a_prompt_of_its_own(translator: Translator) -> None:
    translator.translate(notified("bg1", 5))
    read = recorded("assistant.message", {"messageId": "m", "content": "", "toolRequests": []})
    prompt, message = told(translator.translate(read))
    named = {"content": "shell “d” completed", "source": "host-Copilot", "delivery": "steering"}
    assert (prompt, message[0]) == (("prompt.automatic", named), "assistant.message")
    ((name, _),) = told(translator.translate(recorded("tool.execution_start", READING)))
    assert name == "tool.execution_start"


def test_a_notice_that_is_read_with_a_prompt_begins_nothing(translator: Translator) -> None:
    translator.translate(notified("bg1", 5))
    translator.translate(recorded("user.message", {"content": "go"}))
    ((name, _),) = told(translator.translate(recorded("assistant.turn_start", {"turnId": "0"})))
    assert name == "assistant.turn_start"


def test_prompt_of_the_person(translator: Translator) -> None:
    said = recorded(
        "user.message",
        {
            "content": "please do bash",
            "delivery": "idle",
            "interactionId": "3ff816e2-689a-4887-bffe-4aeaee81baf4",
            "supportedNativeDocumentMimeTypes": [],
            "transformedContent": "<current_datetime>…</current_datetime>\n\nplease do bash",
        },
    )
    assert told(translator.translate(said)) == [("user.message", {"content": "please do bash"})]


def test_a_rewind_tells_from_when_on_turns_are_undone(translator: Translator) -> None:
    def prompt(text: str, at: str) -> str:
        said = recorded("user.message", {"content": text}, at=at)
        translator.translate(said)
        return str(said.id)

    def rewound(**data: Any) -> Any:
        event = recorded("session.snapshot_rewind", {"eventsRemoved": 3, **data})
        ((name, said),) = told(translator.translate(event))
        assert name == "session.snapshot_rewind"
        return said

    translator.prompted_before({str(uuid.UUID(int=1)): "2026-11-21T20:00:00.000000Z"})
    first, second, third = prompt("1", "10.000"), prompt("2", "20.500"), prompt("3", "30.000")
    assert rewound(upToEventId=str(uuid.uuid4())) == {}
    at = "2026-11-21T22:15:{}Z".format
    assert rewound(upToEventId=third, eventIds=[third, str(uuid.uuid4())]) == {
        "since": at("30.000000")
    }
    assert rewound(upToEventId=second) == {"since": at("20.500000")}
    assert rewound(upToEventId=second) == {}
    before = {"since": "2026-11-21T20:00:00.000000Z"}
    assert rewound(upToEventId=str(uuid.UUID(int=1))) == before
    assert rewound(upToEventId=first) == {}


def test_prompt_that_was_injected_is_not_the_persons_and_only_once(translator: Translator) -> None:
    translator.sent.by_provider("red", "ci-watch")
    said = recorded("user.message", {"content": "red"})
    injected = {"content": "red", "from": "ci-watch"}
    assert told(translator.translate(said)) == [("prompt.injected", injected)]
    assert told(translator.translate(said)) == [("user.message", {"content": "red"})]


@pytest.mark.parametrize("mark", [{"isAutopilotContinuation": True}, {"source": "system"}])
def test_prompt_that_the_cli_made_is_not_the_persons(
    translator: Translator, mark: dict[str, Any]
) -> None:
    ((name, _),) = told(translator.translate(recorded("user.message", {"content": "go"} | mark)))
    assert name == "prompt.automatic"


def test_the_reason_of_a_hook_that_sent_the_agent_back_goes_on_with_the_turn(
    translator: Translator,
) -> None:
    said = recorded("user.message", {"content": "run it", "delivery": "queued"})
    ended = {"hookInvocationId": "h1", "success": True}
    blocked = {"decision": "block", "reason": "run it"}
    for hook, output in (("preToolUse", blocked), ("agentStop", {"decision": "allow"})):
        hooked = recorded("hook.end", {**ended, "hookType": hook, "output": output})
        assert translator.translate(hooked) == []
    persons = {"content": "run it", "delivery": "queued"}
    assert told(translator.translate(said)) == [("user.message", persons)]
    hooked = recorded("hook.end", {**ended, "hookType": "agentStop", "output": blocked})
    assert translator.translate(hooked) == []
    goes_on = {"content": "run it", "source": "hook", "delivery": "steering"}
    assert told(translator.translate(said)) == [("prompt.automatic", goes_on)]
    assert told(translator.translate(said)) == [("user.message", persons)]


def test_prompt_that_steers_says_so(translator: Translator) -> None:
    said = recorded("user.message", {"content": "use pnpm", "delivery": "steering"})
    assert told(translator.translate(said)) == [
        ("user.message", {"content": "use pnpm", "delivery": "steering"})
    ]


def test_prompt_of_an_agent_to_its_child_is_left_out(translator: Translator) -> None:
    said = recorded("user.message", {"content": "review it"}, agent="child-1")
    assert translator.translate(said) == []


def test_own_tool_call_with_result_and_time(translator: Translator) -> None:
    ((name, start),) = told(translator.translate(bash_start()))
    assert name == "tool.execution_start"
    args = {"command": "echo hi > x.txt", "description": "write"}
    assert start == {"toolCallId": CALL, "tool": "bash", "args": args}
    ((name, end),) = told(
        translator.translate(
            complete(
                CALL,
                success=True,
                result={"content": "<shellId: 0 completed with exit code 0>"},
                toolTelemetry={"metrics": {"context_token_limit": 128000.0}},
            )
        )
    )
    assert name == "tool.execution_complete"
    assert end == {
        "toolCallId": CALL,
        "tool": "bash",
        "args": args,
        "result": {"type": "success", "output": "<shellId: 0 completed with exit code 0>"},
        "durationMs": 1250.0,
        "changes": [{"path": "x.txt", "isProbable": True}],
    }


@pytest.mark.parametrize(
    "said",
    [
        {"shellExecution": {"exitCode": 7}, "result": {"content": ""}},
        {"result": {"content": "", "contents": [
            {"type": "text", "text": "x"}, {"type": "shell_exit", "exitCode": 7, "shellId": "0"}
        ]}},
    ],
)  # fmt: skip
def test_a_shell_says_its_exit_code(translator: Translator, said: dict[str, Any]) -> None:
    translator.translate(bash_start())
    ((_, end),) = told(translator.translate(complete(CALL, success=True, **said)))
    assert (end["exitCode"], end["result"]["type"]) == (7, "success")


def test_an_edit_says_its_lines(translator: Translator) -> None:
    args = {"path": "/code/a.txt", "old_str": "two", "new_str": "2"}
    start = {"toolCallId": CALL, "toolName": "edit", "arguments": args}
    translator.translate(recorded("tool.execution_start", start))
    diff = "\ndiff --git a/code/a.txt b/code/a.txt\n--- a/code/a.txt\n+++ b/code/a.txt\n"
    diff += "@@ -1,4 +1,5 @@\n one\n-two\n+2\n+2b\n three\n"
    edits = [{"path": "/code/a.txt", "kind": "edit"}]
    result = {"content": "updated", "detailedContent": diff}
    end = complete(CALL, success=True, fileEdits=edits, result=result)
    ((_, said),) = told(translator.translate(end))
    assert said["changes"] == [{"path": "/code/a.txt", "added": 2, "removed": 1}]


def test_a_subagent_says_what_it_is_for_and_what_it_took(translator: Translator) -> None:
    args = {"description": "Look for sleeps", "prompt": "…"}
    start = {"toolCallId": CALL, "toolName": "task", "arguments": args}
    translator.translate(recorded("tool.execution_start", start))
    names = {"agentName": "explore", "agentDisplayName": "Explore", "toolCallId": CALL}
    begun = recorded("subagent.started", {**names, "agentDescription": "d"}, agent="k1")
    ((_, said),) = told(translator.translate(begun))
    assert said == {
        "remoteSessionId": "k1", "toolCallId": CALL, "agentName": "explore",
        "agentDisplayName": "Explore", "description": "Look for sleeps",
    }  # fmt: skip
    over = {**names, "durationMs": 1500, "totalTokens": 300, "totalToolCalls": 3}
    ((_, said),) = told(translator.translate(recorded("subagent.completed", over, agent="k1")))
    assert (said["durationMs"], said["tokens"], said["calls"]) == (1500.0, 300, 3)


def test_a_subagent_has_the_name_that_its_agent_gave_it(translator: Translator) -> None:
    args = {"name": "sleep-finder", "agent_type": "general-purpose", "prompt": "…"}
    translator.translate(recorded("tool.execution_start", {
        "toolCallId": CALL, "toolName": "task", "arguments": args,
    }))  # fmt: skip
    names = {"agentName": "general-purpose", "agentDisplayName": "General Purpose"}
    begun = recorded("subagent.started", {**names, "toolCallId": CALL}, agent="k1")
    ((_, said),) = told(translator.translate(begun))
    assert (said["agentName"], said["agentDisplayName"]) == ("general-purpose", "sleep-finder")
    task = {"type": "agent", "id": "k2", "agentType": "explore", "displayName": "Explore"}
    ((_, said),) = told(translator.subagents([{**task, "status": "running"}]))
    assert (said["agentName"], said["agentDisplayName"]) == ("explore", "Explore")


def test_compaction_and_the_end_of_a_stopped_turn(translator: Translator) -> None:
    data = {"success": True, "preCompactionTokens": 90, "tokensRemoved": 60}
    done = recorded("session.compaction_complete", data)
    assert told(translator.translate(done)) == [
        ("session.compaction_complete",
         {"success": True, "tokensBefore": 90, "tokensRemoved": 60}),
    ]  # fmt: skip
    idle = recorded("session.idle", {"aborted": True})
    assert told(translator.translate(idle)) == [("session.idle", {"aborted": True})]


def test_failed_tool_call_says_why(translator: Translator) -> None:
    translator.translate(bash_start())
    failed = complete(CALL, success=False, error={"message": "Plan mode does not permit it"})
    ((_, end),) = told(translator.translate(failed))
    assert end["result"] == {"type": "failure", "output": "Plan mode does not permit it"}


def test_long_output_is_cut(translator: Translator) -> None:
    translator.translate(bash_start())
    long = complete(CALL, success=True, result={"content": "x" * (OUTPUT_LENGTH + 1)})
    ((_, end),) = told(translator.translate(long))
    assert len(end["result"]["output"]) == OUTPUT_LENGTH
    assert end["result"]["output"].endswith("…")


def test_calls_of_offered_tools_are_the_gateways_to_tell(translator: Translator) -> None:
    start = {"toolCallId": "call_1", "toolName": "greet", "arguments": {"name": "bob"}}
    assert translator.translate(recorded("tool.execution_start", start)) == []
    assert translator.translate(complete("call_1", success=True, result={"content": "hi"})) == []


def test_end_of_a_call_that_began_before_we_came_is_left_out(translator: Translator) -> None:
    assert translator.translate(complete("call_0", success=True)) == []


def test_answer_with_the_tools_it_asks_for(translator: Translator) -> None:
    answer = recorded(
        "assistant.message",
        {
            "content": "",
            "messageId": "a29ecfd5-7e11-496d-942f-985aa2f547db",
            "model": "scripted",
            "toolRequests": [{"toolCallId": CALL, "name": "bash", "arguments": {"command": "ls"}}],
            "turnId": "0",
        },
    )
    assert told(translator.translate(answer)) == [
        (
            "assistant.message",
            {"content": "", "toolRequests": [{"name": "bash", "args": {"command": "ls"}}]},
        )
    ]


def test_context_use_is_the_sessions_or_a_childs(translator: Translator) -> None:
    use = {"currentTokens": 12469, "messagesLength": 6, "tokenLimit": 128000}
    assert told(translator.translate(recorded("session.usage_info", use))) == [
        ("session.context", {"tokens": 12469, "limit": 128000})
    ]
    assert told(translator.translate(recorded("session.usage_info", use, agent="child-1"))) == [
        ("session.context", {"tokens": 12469, "limit": 128000, "agentId": "child-1"})
    ]


def test_the_context_is_told_again_once_its_threshold_is_known(translator: Translator) -> None:
    assert translator.context_info({"compactionThreshold": 100_000}) == []
    use = {"currentTokens": 12469, "messagesLength": 6, "tokenLimit": 128000}
    known = {"tokens": 12469, "limit": 128000, "compactsAt": 100_000}
    assert told(translator.translate(recorded("session.usage_info", use))) == [
        ("session.context", known)
    ]
    assert translator.context_info({"compactionThreshold": 100_000}) == []
    assert told(translator.context_info({"compactionThreshold": 90_000})) == [
        ("session.context", {**known, "compactsAt": 90_000})
    ]
    assert told(translator.context_info(None)) == [
        ("session.context", {"tokens": 12469, "limit": 128000})
    ]


def test_how_full_the_context_is_is_asked_for_until_an_event_has_told_it(
    translator: Translator,
) -> None:
    info = {
        "compactionThreshold": 100_000,
        "conversationTokens": 4_000,
        "limit": 128_000,
        "systemTokens": 6_000,
        "toolDefinitionsTokens": 2_000,
        "totalTokens": 12_000,
    }
    found = {"tokens": 12_000, "limit": 128_000, "compactsAt": 100_000}
    filled = {"system": 6_000, "tools": 2_000, "conversation": 4_000}
    assert told(translator.context_info(info)) == [("session.context", {**found, **filled})]
    assert translator.context_info({**info, "totalTokens": 99_000}) == []
    use = {"currentTokens": 12469, "messagesLength": 6, "tokenLimit": 128000}
    translator.translate(recorded("session.usage_info", use))
    assert told(translator.context_info({**info, "compactionThreshold": 90_000})) == [
        ("session.context", {"tokens": 12469, "limit": 128000, "compactsAt": 90_000})
    ]


@pytest.mark.parametrize(
    "info", [None, 7, {}, {"totalTokens": 0, "limit": 9}, {"totalTokens": 1e999, "limit": "x"}]
)
def test_a_context_that_is_not_told_is_not_known(translator: Translator, info: Any) -> None:
    assert translator.context_info(info) == []


@pytest.mark.parametrize(
    ("charged", "expected"),
    [
        ({"copilotUsage": {"totalNanoAiu": 2_500_000_000, "tokenDetails": []}}, 2.5),
        ({"copilotUsage": {"totalNanoAiu": 0, "tokenDetails": []}}, 0.0),
        ({"aiCreditsStatus": "unavailable", "copilotUsage": {"totalNanoAiu": 0}}, None),
        ({}, None),
    ],
)
def test_an_answer_has_the_credits_that_it_was_charged(
    translator: Translator, charged: dict[str, Any], expected: float | None
) -> None:
    use = {"model": "gpt-5", "inputTokens": 100, "outputTokens": 20, "cost": 1.0, **charged}
    ((name, data),) = told(translator.translate(recorded("assistant.usage", use)))
    assert (name, data["cost"], data.get("credits")) == ("assistant.usage", 1.0, expected)


def test_idle_turns_and_intent(translator: Translator) -> None:
    assert told(translator.translate(recorded("session.idle", {"mode": "interactive"}))) == [
        ("session.idle", {})
    ]
    assert translator.translate(recorded("session.idle", {}, agent="child-1")) == []
    assert told(translator.translate(recorded("assistant.turn_start", {"turnId": "0"}))) == [
        ("assistant.turn_start", {"turnId": "0"})
    ]
    assert told(translator.translate(recorded("assistant.intent", {"intent": "Fixing"}))) == [
        ("assistant.intent", {"intent": "Fixing"})
    ]


@pytest.mark.parametrize(
    ("kind", "data", "update"),
    [
        (
            "session.mode_changed",
            {"previousMode": "interactive", "newMode": "plan"},
            {"mode": "plan"},
        ),
        (
            "session.model_change",
            {"previousModel": "a", "newModel": "b"},
            {"model": "b", "effort": ""},
        ),
        (
            "session.model_change",
            {"previousModel": "a", "newModel": "a", "reasoningEffort": "high"},
            {"model": "a", "effort": "high"},
        ),
        ("session.title_changed", {"title": "Fix it"}, {"label": "Fix it"}),
        ("session.title_changed", {"title": " Fix it\nand that"}, {"label": "Fix it"}),
        ("session.context_changed", {"cwd": "/code/foo"}, {"cwd": "/code/foo"}),
    ],
)
def test_changes_of_the_session_are_updates(
    translator: Translator, kind: str, data: dict[str, Any], update: dict[str, Any]
) -> None:
    assert translator.translate(recorded(kind, data)) == [SessionUpdate("s1", **update)]
    assert translator.translate(recorded(kind, data, agent="child-1")) == []


def test_a_session_is_not_called_after_what_woke_it(translator: Translator) -> None:
    woken = {"title": "※ tap — background event stream update:\n- stream=ci emitter=ci/stdout: no"}
    assert translator.translate(recorded("session.title_changed", woken)) == []


def test_subagent_from_start_to_failure(translator: Translator) -> None:
    who = {"agentName": "reviewer", "agentDisplayName": "Reviewer", "toolCallId": "call_7"}
    start = recorded("subagent.started", who | {"agentDescription": "reviews"}, agent="child-1")
    assert told(translator.translate(start)) == [
        (
            "subagent.started",
            {
                "remoteSessionId": "child-1",
                "toolCallId": "call_7",
                "agentName": "reviewer",
                "agentDisplayName": "Reviewer",
            },
        )
    ]
    failed = recorded("subagent.failed", who | {"error": "gave up"}, agent="child-1")
    assert told(translator.translate(failed)) == [
        (
            "subagent.failed",
            {
                "remoteSessionId": "child-1",
                "toolCallId": "call_7",
                "agentName": "reviewer",
                "error": "gave up",
            },
        )
    ]


def test_agents_of_the_session_are_kept_current(translator: Translator) -> None:
    def agent(name: str, tools: list[str] | None) -> dict[str, Any]:
        return {
            "id": name,
            "name": name,
            "displayName": name,
            "description": "Reviews\n changes" if name == "reviewer" else "",
            "source": "project",
            "tools": tools,
            "userInvocable": True,
        }

    agents = [agent("reviewer", ["greet"]), agent("free", None), agent("star", ["*"])]
    data = {"agents": agents, "errors": [], "warnings": []}
    reviewer = Agent("reviewer", ["greet"], "Reviews changes")
    expected = [reviewer, Agent("free", None), Agent("star", None)]
    changed = recorded("session.custom_agents_updated", data)
    assert translator.translate(changed) == [SessionUpdate("s1", agents=expected)]
    none_left = recorded("session.custom_agents_updated", {**data, "agents": []})
    assert translator.translate(none_left) == [SessionUpdate("s1", agents=[])]


def test_subagents_that_are_at_work_are_told_of(translator: Translator) -> None:
    def task(id_: str, status: str) -> dict[str, Any]:
        return {
            "type": "agent",
            "id": id_,
            "agentType": "reviewer",
            "description": "…",
            "prompt": "…",
            "startedAt": "2026-01-01T00:00:00Z",
            "status": status,
            "toolCallId": f"call of {id_}",
        }

    tasks = [task("c1", "running"), task("c2", "completed"), task("c3", "idle")]
    listed = tasks
    assert told(translator.subagents(listed)) == [
        (
            "subagent.started",
            {"remoteSessionId": "c1", "toolCallId": "call of c1", "agentName": "reviewer"},
        )
    ]


def test_arguments_of_many_megabytes_are_told_in_part(translator: Translator) -> None:
    huge = {"path": "a", "file_text": "x" * 4_000_000}
    start = {"toolCallId": "c", "toolName": "create", "arguments": huge}
    requests = [{"name": "create", "toolCallId": "c", "arguments": huge}] * 3
    said = {"content": "", "messageId": "m", "toolRequests": requests}
    for kind, data in (("tool.execution_start", start), ("assistant.message", said)):
        (message,) = translator.translate(recorded(kind, data))
        assert len(encode(message)) < MAX_MESSAGE_BYTES / 4
        assert b'"truncated":"{\\"path\\":\\"a\\"' in encode(message)


def test_half_an_emoji_of_the_cli_stops_no_event(translator: Translator) -> None:
    said = recorded(
        "assistant.message",
        {
            "content": "half \ud83d",
            "messageId": "m",
            "toolRequests": [{"name": "t", "toolCallId": "c", "arguments": {"\udc00": "\ud83d"}}],
        },
    )
    ((_, data),) = told(translator.translate(said))
    assert data["content"] == "half \N{REPLACEMENT CHARACTER}"
    start = {"toolCallId": "c", "toolName": "bash", "arguments": {"command": "echo \ud83d"}}
    ((_, data),) = told(translator.translate(recorded("tool.execution_start", start)))
    assert data["args"] == {"command": "echo \N{REPLACEMENT CHARACTER}"}


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("assistant.message_delta", {"deltaContent": "do", "messageId": "m"}),
        ("session.background_tasks_changed", {}),
        ("model.messages_snapshot", {"kind": "messages_snapshot", "messages": []}),
    ],
)
def test_what_says_nothing_to_a_person_is_left_out(
    translator: Translator, kind: str, data: dict[str, Any]
) -> None:
    assert translator.translate(recorded(kind, data)) == []


@pytest.mark.parametrize(
    ("code", "kind"),
    [("denied", "denied"), ("rejected", "denied"), ("timeout", "timeout"), ("x", "failure")],
)
def test_a_call_that_did_not_fail_by_itself_says_why(
    translator: Translator, code: str, kind: str
) -> None:
    translator.translate(bash_start())
    error = {"message": "The user rejected this tool call", "code": code}
    ((_, data),) = told(translator.translate(complete(CALL, success=False, error=error)))
    assert data["result"] == {"type": kind, "output": "The user rejected this tool call"}


def test_a_call_in_allow_all_says_who_allowed_it(translator: Translator) -> None:
    change = {"previousMode": "manual", "mode": "allow-all"}
    update, *events = translator.translate(recorded("session.permissions_changed", change))
    assert update == SessionUpdate("s1", permissions="allow-all")
    assert told(events) == [("session.permissions_changed", {"mode": "allow-all"})]
    begun = told(translator.translate(bash_start()))
    assert begun[1] == ("permission.completed", {"toolCallId": CALL, "by": "allow-all"})
    ours = recorded("tool.execution_start", {"toolCallId": "c2", "toolName": "greet"})
    assert told(translator.translate(ours)) == [
        ("permission.completed", {"toolCallId": "c2", "by": "allow-all"})
    ]
    change = {"previousMode": "allow-all", "mode": "manual"}
    translator.translate(recorded("session.permissions_changed", change))
    assert len(translator.translate(bash_start())) == 1


def test_an_event_of_a_newer_cli_is_handed_on_by_its_own_name(translator: Translator) -> None:
    event = recorded("session.weather_changed", {"message": "rain", "degrees": 9})
    assert told(translator.translate(event)) == [
        ("session.weather_changed", {"message": "rain", "degrees": 9})
    ]
    large = recorded("session.weather_changed", {"map": "x" * OUTPUT_LENGTH})
    assert told(translator.translate(large)) == [("session.weather_changed", {})]
    for data in (None, ["rain"], "rain", 9):
        odd = recorded("session.weather_changed", data)
        assert told(translator.translate(odd)) == [("session.weather_changed", {})]


@pytest.mark.parametrize("name", ["model.weather", "x" * 5_000, "assistant.message_delta"])
def test_the_protocol_and_what_is_not_kept_are_left_out(translator: Translator, name: str) -> None:
    data = {"deltaContent": "a", "messageId": "m"} if name.endswith("delta") else {"a": 1}
    assert translator.translate(recorded(name, data)) == []
    ephemeral = replace(recorded("session.weather_changed", {}), is_ephemeral=True)
    assert translator.translate(ephemeral) == []


def test_what_a_call_tells_of_its_progress_comes_once_a_second(translator: Translator) -> None:
    translator.translate(bash_start())

    def progress(text: str, at: str) -> list[tuple[str, Any]]:
        data = {"toolCallId": CALL, "progressMessage": text}
        return told(translator.translate(recorded("tool.execution_progress", data, at=at)))

    def as_told(text: str) -> list[tuple[str, Any]]:
        data = {"toolCallId": CALL, "tool": "bash", "progressMessage": text}
        return [("tool.execution_progress", data)]

    assert progress("x" * 5_000, "50.000") == as_told("x" * 4_096)
    assert progress("more", "50.900") == []
    assert progress("newest", "51.000") == as_told("newest")
    other = {"toolCallId": "call_of_ours", "progressMessage": "half"}
    assert translator.translate(recorded("tool.execution_progress", other)) == []


def test_the_output_of_a_call_so_far_is_its_pieces_or_what_the_cli_merged(
    translator: Translator,
) -> None:
    assert translator.output_of(CALL, "line") is None
    translator.translate(bash_start())
    assert translator.output_of(CALL) is None
    merged = {"toolCallId": CALL, "tool": "bash", "partialOutput": "merged"}
    assert translator.output_of(CALL, "merged") == merged
    for sequence, text in enumerate(["one\n", "two\n"]):
        piece = {"toolCallId": CALL, "sequence": sequence, "text": text, "stream": "stdout"}
        assert translator.translate(recorded("tool.shell_output", piece)) == []
    assert translator.output_of(CALL, "merged") == {**merged, "partialOutput": "one\ntwo\n"}
    translator.translate(complete(CALL, success=True, result={"content": "one\ntwo\n"}))
    assert translator.output_of(CALL, "merged") is None


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        ("assistant.reasoning", {"content": "hm", "reasoningId": "r1"}, None),
        (
            "model.call_failure",
            {"source": "top_level", "model": "m", "errorMessage": "429"},
            None,
        ),
        (
            "model.call_failure",
            {"source": "top_level", "statusCode": 429, "retryAttempt": 0},
            None,
        ),
        ("session.warning", {"warningType": "policy", "message": "no", "url": "https://x"}, None),
        ("session.autopilot_stopped", {"reason": "task_complete"}, None),
        (
            "commands.changed",
            {"commands": [{"name": "deploy", "description": "d"}]},
            {"commands": [{"name": "deploy"}]},
        ),
        ("capabilities.changed", {"ui": {"elicitation": True}}, None),
    ],
)
def test_events_of_the_documents_are_passed_on(
    translator: Translator, kind: str, data: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    assert told(translator.translate(recorded(kind, data))) == [(kind, expected or data)]


def test_every_event_that_is_told_is_known_to_those_who_subscribe(translator: Translator) -> None:
    updates = {
        "session.custom_agents_updated",
        "session.mcp_servers_loaded",
        "session.mode_changed",
        "session.model_change",
        "session.title_changed",
        "session.context_changed",
        "session.usage_info",
        "system.notification",
    }
    not_told = {"external_tool.requested", "tool.shell_output", "hook.end"}
    assert translator.table.keys() - updates - not_told <= SESSION_EVENTS
