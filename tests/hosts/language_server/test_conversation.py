"""A conversation with a server, message by message: the server is a process that is played."""

import json
import os
from pathlib import Path
from typing import Any

from tapui.wire.codec import raw
from tapui.wire.errors import ErrorCode
from tapui.wire.host import (
    ApprovalWithdraw,
    HookPreToolUse,
    ModeResult,
    ModeSet,
    PromptHeld,
    PromptPrepared,
    PromptSubmitted,
    Sender,
    SessionAbort,
    SessionClose,
    SessionEvent,
    SessionOpen,
    SessionSend,
    SessionSent,
    SessionUpdate,
    ToolsChanged,
)
from tapui.wire.message import ToolAbort, ToolInvoke, ToolOutcome
from tapui.wire.steering import (
    ModelsList,
    ModelsRead,
    OrderResult,
    SessionEnd,
    SessionSet,
    SessionStop,
)
from tests.hosts.gateway import GREET
from tests.hosts.language_server.hosting import AnsweringGateway, hosting
from tests.rig.language_server import answers, told
from tests.rig.waiting import until_async


def real(path: Path) -> str:
    return os.path.realpath(path)


async def test_a_session_is_opened_with_the_servers_own_tools_and_those_offered(
    tmp_path: Path,
) -> None:
    async with hosting(tmp_path) as seen:
        session = seen.gateway.of(SessionOpen)[0].session
        assert session.cwd == real(seen.folder)
        assert {"read_file", "apply_patch", "run_in_terminal"} <= set(session.reserved_tools or ())
        assert (session.shell_tools, session.pid) == (["run_in_terminal"], os.getpid())
        registered = told(seen.program, "conversation/registerTools")[-1]["params"]["tools"]
        assert [one["name"] for one in registered] == [
            *("create_file", "insert_edit_into_file", "run_in_terminal"),
            *("greet", "tap_list_streams"),
        ]
        seen.gateway.tell(ToolsChanged(seen.session, [GREET], 2))
        await seen.gateway.got(SessionUpdate, tools_revision=2)
        (gone,) = told(seen.program, "conversation/unregisterTools")
        assert gone["params"] == {"toolIds": ["copilot-editor.tap_list_streams"]}


async def test_turns_of_one_conversation(tmp_path: Path) -> None:
    turns = [[{"say": "Hello there."}], [{"say": "And again."}]]
    async with hosting(tmp_path, *turns) as seen:
        first = await seen.turn("hello")
        await seen.turn("more")
        assert [one["content"] for one in seen.gateway.events("user.message")] == ["hello", "more"]
        messages = seen.gateway.events("assistant.message")
        assert [one["content"] for one in messages] == ["Hello there.", "And again."]
        states = [one.state for one in seen.gateway.of(OrderResult, id=first)]
        assert states == ["working", "done"]
        assert seen.gateway.events("assistant.usage")[0]["inputTokens"] == 100
        (create,) = told(seen.program, "conversation/create")
        (turn,) = told(seen.program, "conversation/turn")
        assert create["params"]["turns"] == [{"request": "hello"}]
        assert create["params"]["workspaceFolder"] == seen.folder.resolve().as_uri()
        assert (turn["params"]["conversationId"], turn["params"]["message"]) == ("c-1", "more")


async def test_prompts_wait_for_each_other(tmp_path: Path) -> None:
    turns = [[{"call": "greet"}], [{"say": "two"}]]
    gateway = AnsweringGateway()
    gateway.gives = lambda _: None
    async with hosting(tmp_path, *turns, gateway=gateway) as seen:
        seen.prompt("one")
        call = await gateway.got(ToolInvoke)
        second = seen.prompt("two")
        await gateway.got(OrderResult, id=second, state="queued")
        assert len(gateway.events("user.message")) == 1
        gateway.tell(ToolOutcome(call.id, data=raw("given")))
        await gateway.got(OrderResult, id=second, state="done")
        await until_async(lambda: len(gateway.events("session.idle")) == 2, what="both turns")


async def test_a_prompt_has_what_providers_add_and_may_be_refused(tmp_path: Path) -> None:
    gateway = AnsweringGateway()
    gateway.answers_hooks = False
    async with hosting(tmp_path, [{"say": "x"}], gateway=gateway) as seen:
        seen.prompt("do it")
        asked = await gateway.got(PromptSubmitted, prompt="do it")
        gateway.tell(PromptHeld(asked.id))
        gateway.tell(PromptPrepared(asked.id, ["Be brief.", "Be kind."], {}))
        await until_async(lambda: told(seen.program, "conversation/create"), what="a turn")
        (create,) = told(seen.program, "conversation/create")
        wanted = "Be brief.\n\nBe kind.\n\ndo it"
        assert create["params"]["turns"] == [{"request": wanted}]
        await until_async(lambda: gateway.events("session.idle"), what="an idle")
        refused = seen.prompt("again")
        asked = await gateway.got(PromptSubmitted, prompt="again")
        gateway.tell(PromptPrepared(asked.id, [], {}, "the budget is used up"))
        result = await gateway.got(OrderResult, id=refused, state="failed")
        assert result.error == "the budget is used up"
        assert len(gateway.events("user.message")) == 1


async def test_a_prompt_of_a_provider(tmp_path: Path) -> None:
    async with hosting(tmp_path, [{"say": "x"}]) as seen:
        sender = Sender(provider="ci")
        seen.gateway.tell(SessionSend(seen.session, "the build is red", sender))
        await seen.gateway.got(SessionSent, ok=True)
        await until_async(lambda: seen.gateway.events("session.idle"), what="an idle")
        (prompt,) = seen.gateway.events("prompt.injected")
        assert prompt == {"content": "the build is red", "from": "ci"}


async def test_the_gateway_sends_the_agent_back(tmp_path: Path) -> None:
    gateway = AnsweringGateway()
    gateway.goes_on = lambda ending: None if ending.active else "run the tests"
    async with hosting(tmp_path, [{"say": "Done."}], [{"say": "Now."}], gateway=gateway) as seen:
        await seen.turn()
        (prompt,) = gateway.events("prompt.automatic")
        assert (prompt["content"], prompt["source"]) == ("run the tests", "hook")
        (turn,) = told(seen.program, "conversation/turn")
        assert turn["params"]["message"] == "run the tests"
        assert len(gateway.events("session.idle")) == 1


# Tools


async def test_a_tool_of_a_provider_is_answered_as_a_tuple(tmp_path: Path) -> None:
    async with hosting(tmp_path, [{"call": "greet", "input": {"a-b": [1]}}]) as seen:
        await seen.turn()
        (call,) = seen.gateway.of(ToolInvoke)
        assert (call.tool, json.loads(bytes(call.args))) == ("greet", {"a-b": [1]})
        assert call.tool_call_id is not None
        assert answers(seen.program) == [
            [{"content": [{"value": "given"}], "status": "success"}, None]
        ]
        assert seen.gateway.events("tool.execution_start") == []  # the gateway shows it
        (round_,) = seen.gateway.events("tool.round")
        assert (round_["tool"], round_["roundId"]) == ("greet", 1)
        assert round_["turnId"].startswith("t-")


async def test_rules_and_gates_judge_a_tool_of_a_provider(tmp_path: Path) -> None:
    gateway = AnsweringGateway()
    async with hosting(tmp_path, *[[{"call": "greet"}]] * 3, gateway=gateway) as seen:
        for decision in ("deny", "context", "ask"):
            gateway.judges = lambda _, decision=decision: decision  # type: ignore[misc]
            await seen.turn()
        denied, added, asked = (answer for answer, _ in answers(seen.program))
        assert denied == {"content": [{"value": "DENIED: a rule says no"}], "status": "error"}
        assert added["content"] == [{"value": "given"}, {"value": "mind the rules"}]
        assert (added["status"], asked["status"]) == ("success", "success")
        assert len(gateway.of(ToolInvoke)) == 2
        (detail,) = gateway.asked()  # by the rule that asks
        assert (detail["kind"], detail["toolName"]) == ("custom-tool", "greet")


async def test_a_call_of_what_is_not_there(tmp_path: Path) -> None:
    steps: list[dict[str, Any]]
    steps = [{"call": "nope"}, {"call": "read_file"}, {"call": ""}, {"call": "greet", "input": 5}]
    async with hosting(tmp_path, steps) as seen:
        await seen.turn()
        nope, own, nameless, shapeless = answers(seen.program)
        text = "NOT_FOUND: Tool 'nope' is not supported by this client instance."
        assert nope == [{"content": [{"value": text}], "status": "error"}, None]
        # A tool of the server's own takes a bare list.
        assert [one["type"] for one in own] == ["text"]
        assert nameless[0]["status"] == shapeless[0]["status"] == "error"
        assert seen.gateway.of(ToolInvoke) == []


async def test_one_bad_tool_costs_itself_and_is_named(tmp_path: Path) -> None:
    gateway = AnsweringGateway()
    refused = type(GREET)("refused", "x", GREET.parameters, "p")
    gateway.tools.append(refused)
    async with hosting(tmp_path, [{"call": "greet"}, {"call": "refused"}], gateway=gateway) as seen:
        assert any("the tool refused: the server refuses it" in one for one in seen.reports)
        await seen.turn()
        assert [one[0]["status"] for one in answers(seen.program)] == ["success", "error"]


# What the server runs itself


async def test_what_reads_in_the_folder_needs_no_question(tmp_path: Path) -> None:
    inside = str(tmp_path / "work" / "a.txt")
    steps = [
        {"own": "read_file", "input": {"filePath": inside}},
        {"own": "grep_search", "input": {"query": "x"}},
        {"own": "list_dir", "input": {"path": str(tmp_path / "work")}},
    ]
    async with hosting(tmp_path, steps) as seen:
        await seen.turn()
        assert seen.gateway.asked() == []
        assert answers(seen.program) == [[{"result": "accept"}, None]] * 3
        asked = [one.tool for one in seen.gateway.of(HookPreToolUse)]
        assert asked == ["read_file", "grep_search", "list_dir"]
        calls = seen.gateway.events("tool.execution_complete")
        assert [one["result"]["type"] for one in calls] == ["success"] * 3


async def test_what_reads_outside_is_asked(tmp_path: Path) -> None:
    gateway = AnsweringGateway()
    decisions = iter(("approve", "deny", "expired"))
    gateway.decides = lambda _: next(decisions)
    link = tmp_path / "work" / "link"
    link.parent.mkdir()
    link.symlink_to(tmp_path)
    steps = [{"own": "read_file", "input": {"filePath": str(link / "secret")}}] * 3
    async with hosting(tmp_path, steps, gateway=gateway) as seen:
        await seen.turn()
        outside = real(tmp_path / "secret")
        asked = [(detail["kind"], detail["path"]) for detail in gateway.asked()]
        assert asked == [("read", outside)] * 3
        words = [answer["result"] for answer, _ in answers(seen.program)]
        assert words == ["accept", "dismiss", "dismiss"]


async def test_a_rule_that_forbids_a_tool_of_the_server(tmp_path: Path) -> None:
    gateway = AnsweringGateway()
    gateway.judges = lambda tool: "deny" if tool == "grep_search" else "allow"
    async with hosting(tmp_path, [{"own": "grep_search"}], gateway=gateway) as seen:
        await seen.turn()
        assert answers(seen.program) == [[{"result": "dismiss"}, None]]
        (line,) = gateway.events("log")
        assert line["message"] == "grep_search: a rule says no"


async def test_other_tools_of_the_server_are_asked_about(tmp_path: Path) -> None:
    steps = [
        {"own": "fetch_webpage", "input": {"urls": ["https://a.example", "https://b.example"]}},
        {"own": "validate_cves", "input": {"a": 1}},
    ]
    async with hosting(tmp_path, steps) as seen:
        await seen.turn()
        web, other = seen.gateway.asked()
        assert (web["kind"], web["url"]) == ("url", "https://a.example\nhttps://b.example")
        assert (other["toolName"], other["args"]) == ("validate_cves", {"a": 1})
        assert other["intention"] == "Run validate_cves?"


async def test_without_a_decision_of_the_gateway_nothing_runs(tmp_path: Path) -> None:
    gateway = AnsweringGateway()
    steps = [{"own": "grep_search"}, {"call": "greet"}]
    async with hosting(tmp_path, steps, gateway=gateway) as seen:
        gateway.refuses = ErrorCode.RATE_LIMITED
        await seen.turn()
        dismissed, refused = answers(seen.program)
        assert dismissed == [{"result": "dismiss"}, None]
        text = "DENIED: the gateway refused it: refused"
        assert refused[0] == {"content": [{"value": text}], "status": "error"}
        assert gateway.of(ToolInvoke) == []


# What is written and run here


def edit(path: Path, text: str, shown: str = "replace_string_in_file") -> dict[str, Any]:
    given = {"filePath": str(path), "code": text, "explanation": "because"}
    return {"call": "insert_edit_into_file", "shown": shown, "input": given}


async def test_a_file_is_written_once_its_difference_was_approved(tmp_path: Path) -> None:
    file = tmp_path / "work" / "a b.txt"
    file.parent.mkdir()
    file.write_text("one\ntwo\n")
    async with hosting(tmp_path, [edit(file, "one\nTWO\n"), edit(file, "1\nTWO\n")]) as seen:
        await seen.turn()
        assert file.read_text() == "1\nTWO\n"
        first, _ = seen.gateway.asked()
        assert (first["kind"], first["fileName"]) == ("write", real(file))
        assert first["diff"].split("\n")[2:] == ["@@ -1,3 +1,3 @@", " one", "-two", "+TWO", " "]
        assert first["intention"] == "because"
        assert answers(seen.program)[0][0]["content"] == [{"value": "one\nTWO\n"}]
        call = seen.gateway.events("tool.execution_complete")[0]
        change = {"path": real(file), "added": 1, "removed": 1}
        assert (call["tool"], call["changes"]) == ("replace_string_in_file", [change])
        (opened,) = told(seen.program, "textDocument/didOpen")
        (changed,) = told(seen.program, "textDocument/didChange")
        document = opened["params"]["textDocument"]
        assert document["uri"].endswith("/work/a%20b.txt")
        assert (document["version"], document["text"]) == (1, "one\nTWO\n")
        assert changed["params"]["textDocument"]["version"] == 2
        assert changed["params"]["contentChanges"] == [{"text": "1\nTWO\n"}]
        watched = told(seen.program, "workspace/didChangeWatchedFiles")
        assert [one["params"]["changes"][0]["type"] for one in watched] == [2, 2]


async def test_the_server_is_given_what_others_change_of_its_files(tmp_path: Path) -> None:
    file = tmp_path / "work" / "a.txt"
    command = f"echo by-a-command > {file}"
    steps = [
        edit(file, "one\n"),
        {"call": "run_in_terminal", "input": {"command": command}},
        {"call": "run_in_terminal", "input": {"command": f"rm {file}"}},
    ]
    async with hosting(tmp_path, steps) as seen:
        await seen.turn()
        (changed,) = told(seen.program, "textDocument/didChange")
        assert changed["params"]["contentChanges"] == [{"text": "by-a-command\n"}]
        (closed,) = told(seen.program, "textDocument/didClose")
        assert closed["params"] == {"textDocument": {"uri": file.resolve().as_uri()}}


async def test_a_file_that_is_denied_stays(tmp_path: Path) -> None:
    gateway = AnsweringGateway()
    gateway.decides = lambda _: "deny"
    file = tmp_path / "work" / "new" / "a.txt"
    create = {"call": "create_file", "input": {"filePath": str(file), "content": "x"}}
    async with hosting(tmp_path, [create | {"confirms": True}], gateway=gateway) as seen:
        await seen.turn()
        assert not file.parent.exists()
        accepted, denied = answers(seen.program)
        assert accepted == [{"result": "accept"}, None]  # the one question has the whole text
        assert denied[0]["content"] == [{"value": "DENIED: the person denied it"}]
        assert len(gateway.asked()) == 1
        assert told(seen.program, "textDocument/didOpen") == []


async def test_a_file_outside_is_neither_asked_about_nor_written(tmp_path: Path) -> None:
    outside = tmp_path / "a.txt"
    link = tmp_path / "work" / "link"
    link.parent.mkdir()
    link.symlink_to(tmp_path)
    steps = [
        edit(outside, "x"),
        edit(link / "a.txt", "x"),
        {"call": "create_file", "input": {"filePath": f"file://{outside}", "content": "x"}},
        {"own": "replace_string_in_file", "input": {"filePath": str(outside)}},
    ]
    async with hosting(tmp_path, steps) as seen:
        await seen.turn()
        assert seen.gateway.asked() == []
        assert not outside.exists()
        *written, confirmed = answers(seen.program)
        text = "INTERNAL: it is outside of the session's folder"
        assert [one[0]["content"] for one in written] == [[{"value": text}]] * 3
        assert confirmed == [{"result": "dismiss"}, None]


async def test_a_command_is_asked_about_with_its_whole_text(tmp_path: Path) -> None:
    command = "echo $TAPUI_INSIDE $PWD; echo two >&2; exit 3"
    step = {"call": "run_in_terminal", "input": {"command": command, "explanation": "to see"}}
    async with hosting(tmp_path, [step | {"confirms": True}]) as seen:
        await seen.turn()
        (detail,) = seen.gateway.asked()
        assert (detail["kind"], detail["fullCommandText"]) == ("shell", command)
        assert detail["intention"] == "to see"
        assert "leads" in detail
        accepted, ran = answers(seen.program)
        assert accepted == [{"result": "accept"}, None]
        output = f"1 {real(seen.folder)}\ntwo"  # it knows that an agent runs it
        assert ran[0]["content"] == [{"value": f"{output}\n[exit code 3]"}]
        (call,) = seen.gateway.events("tool.execution_complete")
        assert (call["tool"], call["exitCode"]) == ("run_in_terminal", 3)
        assert call["result"] == {"type": "success", "output": output}
        shell = {"id": call["toolCallId"], "cwd": real(seen.folder), "isCut": False}
        assert call["shell"] == shell


# Ends


async def test_a_turn_is_stopped_with_what_it_waits_for(tmp_path: Path) -> None:
    gateway = AnsweringGateway()
    gateway.decides = lambda _: None
    step = {"call": "run_in_terminal", "input": {"command": "true"}}
    async with hosting(tmp_path, [step], [{"say": "next"}], gateway=gateway) as seen:
        seen.prompt()
        await until_async(gateway.asked, what="a request")
        gateway.tell(SessionStop("stop", seen.session))
        await gateway.got(OrderResult, id="stop", state="done")
        await gateway.got(ApprovalWithdraw)
        assert answers(seen.program)[0][0]["status"] == "cancelled"
        assert gateway.events("session.idle") == [{"aborted": True}]
        (cancel,) = told(seen.program, "window/workDoneProgress/cancel")
        assert cancel["params"] == {"token": "turn-1"}
        await seen.turn()
        assert gateway.events("assistant.message") == [{"content": "next"}]


async def test_what_waits_for_a_turn_that_is_stopped_is_dropped(tmp_path: Path) -> None:
    async with hosting(tmp_path, [{"wait": True}], [{"say": "later"}]) as seen:
        seen.prompt("one")
        await until_async(lambda: seen.gateway.events("assistant.turn_start"), what="a turn")
        second = seen.prompt("two")
        seen.gateway.tell(SessionStop("stop", seen.session))
        result = await seen.gateway.got(OrderResult, id=second, state="failed")
        assert result.error == "the turn was stopped, and what waited for its end was dropped"
        await seen.gateway.got(OrderResult, id="stop", state="done")
        await seen.turn("three")
        prompts = [one["content"] for one in seen.gateway.events("user.message")]
        assert prompts == ["one", "three"]


async def test_a_prompt_that_the_person_holds_is_stopped(tmp_path: Path) -> None:
    gateway = AnsweringGateway()
    gateway.answers_hooks = False
    async with hosting(tmp_path, gateway=gateway) as seen:
        held = seen.prompt("one")
        asked = await gateway.got(PromptSubmitted)
        gateway.tell(PromptHeld(asked.id))
        gateway.tell(SessionStop("stop", seen.session))
        result = await gateway.got(OrderResult, id=held, state="failed")
        assert result.error == "the turn was stopped"
        await gateway.got(OrderResult, id="stop", state="done")
        assert told(seen.program, "conversation/create") == []


async def test_a_call_that_is_under_way_is_given_up_with_its_turn(tmp_path: Path) -> None:
    gateway = AnsweringGateway()
    gateway.gives = lambda _: None
    async with hosting(tmp_path, [{"call": "greet"}], gateway=gateway) as seen:
        seen.prompt()
        call = await gateway.got(ToolInvoke)
        gateway.tell(SessionAbort(seen.session))
        await gateway.got(ToolAbort, id=call.id)
        await until_async(lambda: gateway.events("session.idle"), what="an idle")


async def test_a_text_may_stop_the_turn_first(tmp_path: Path) -> None:
    async with hosting(tmp_path, [{"wait": True}], [{"say": "yes"}]) as seen:
        seen.prompt("one")
        await until_async(lambda: seen.gateway.events("assistant.turn_start"), what="a turn")
        second = seen.prompt("two", way="stopFirst")
        await seen.gateway.got(OrderResult, id=second, state="done")
        await until_async(lambda: len(seen.gateway.events("session.idle")) == 2, what="two turns")
        assert seen.gateway.events("abort") == [{"reason": "CancelledByUser"}]


async def test_a_turn_that_the_server_refuses(tmp_path: Path) -> None:
    turns = [[{"fail": "not signed in"}], [{"say": "now"}]]
    async with hosting(tmp_path, *turns) as seen:
        failed = await seen.turn()
        result = await seen.gateway.got(OrderResult, id=failed, state="failed")
        assert result.error == "not signed in"
        assert seen.gateway.events("session.error") == [{"message": "not signed in"}]
        await seen.turn()  # a new conversation is begun
        assert len(told(seen.program, "conversation/create")) == 2


async def test_the_session_ends_by_order(tmp_path: Path) -> None:
    async with hosting(tmp_path, [{"wait": True}]) as seen:
        seen.prompt()
        await until_async(lambda: seen.gateway.events("assistant.turn_start"), what="a turn")
        seen.gateway.tell(SessionEnd("end", seen.session))
        assert await seen.ended() == ""
        assert seen.gateway.of(SessionClose)
        assert told(seen.program, "shutdown")


async def test_orders_that_there_is_no_way_for(tmp_path: Path) -> None:
    async with hosting(tmp_path) as seen:
        seen.gateway.tell(ModeSet("m", seen.session, "plan"))
        seen.gateway.tell(SessionSet("effort", seen.session, "effort", "high"))
        seen.gateway.tell(SessionSet("label", seen.session, "label", "mine"))
        await seen.gateway.got(ModeResult, id="m", ok=False)
        await seen.gateway.got(OrderResult, id="effort", state="failed")
        await seen.gateway.got(OrderResult, id="label", state="done")
        await seen.gateway.got(SessionUpdate, label="mine")


async def test_each_turn_names_its_model(tmp_path: Path) -> None:
    turns = [[{"say": "one"}], [{"say": "two"}], [{"say": "three"}]]
    async with hosting(tmp_path, *turns) as seen:
        await seen.turn()
        await seen.gateway.got(SessionUpdate, model="large")
        seen.gateway.tell(ModelsRead("models", seen.session))
        listed = await seen.gateway.got(ModelsList, id="models")
        assert [one.id for one in listed.models or ()] == ["small", "large"]
        for model, state in (("off", "failed"), ("small", "done")):
            seen.gateway.tell(SessionSet(model, seen.session, "model", model))
            await seen.gateway.got(OrderResult, id=model, state=state)
        await seen.turn()
        seen.gateway.tell(SessionSet("mine", seen.session, "model", "mine/own"))
        await seen.gateway.got(OrderResult, id="mine", state="done")
        await seen.turn()
        methods = ("conversation/create", "conversation/turn")
        named = [
            one["params"]["modelInfo"] for one in told(seen.program) if one.get("method") in methods
        ]
        assert named == [{"id": "large"}, {"id": "small"}, {"id": "own", "providerName": "mine"}]


async def test_without_a_model_a_turn_fails(tmp_path: Path) -> None:
    async with hosting(tmp_path, models=[{"id": 5}, "x", {"id": "y"}]) as seen:
        failed = await seen.turn()
        result = await seen.gateway.got(OrderResult, id=failed, state="failed")
        assert result.error == "the server offers no model: name one with --model"


async def test_a_text_is_no_command(tmp_path: Path) -> None:
    async with hosting(tmp_path, [{"say": "x"}], [{"say": "y"}]) as seen:
        await seen.turn("/fix it")
        await seen.turn(" @terminal x")
        (create,) = told(seen.program, "conversation/create")
        (turn,) = told(seen.program, "conversation/turn")
        assert create["params"]["turns"] == [{"request": "Prompt: /fix it"}]
        assert turn["params"]["message"] == "Prompt:  @terminal x"
        prompts = [prompt["content"] for prompt in seen.gateway.events("user.message")]
        assert prompts == ["/fix it", " @terminal x"]


async def test_only_so_many_prompts_wait(tmp_path: Path) -> None:
    gateway = AnsweringGateway()
    gateway.gives = lambda _: None
    async with hosting(tmp_path, [{"call": "greet"}], gateway=gateway) as seen:
        seen.prompt()
        await gateway.got(ToolInvoke)
        for _ in range(100):
            seen.prompt("x")
        late = seen.prompt("late")
        result = await gateway.got(OrderResult, id=late)
        assert (result.state, result.error) == ("failed", "100 prompts wait already")


async def test_what_is_told_after_a_turn_is_none_of_it(tmp_path: Path) -> None:
    late = {"method": "$/progress", "params": {"token": "turn-9", "value": {"kind": "begin"}}}
    body = json.dumps({"jsonrpc": "2.0", **late})
    whole = f"Content-Length: {len(body)}\r\n\r\n{body}"
    async with hosting(tmp_path, [{"raw": whole}, {"say": "x"}]) as seen:
        await seen.turn()
        assert len(seen.gateway.of(SessionEvent, event="assistant.turn_start")) == 1
