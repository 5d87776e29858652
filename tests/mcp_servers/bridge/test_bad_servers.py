"""Servers that do what they should not: the person learns of it, and nobody else notices."""

import asyncio
import json
import os

import psutil
import pytest

from tapui.mcp_servers.messages import (
    AnsweredForm,
    MappedTool,
    ServerAsks,
    ServerLost,
    ServerReady,
    ServerTold,
    ServerTools,
    ToolsAllowed,
    WithdrawnForm,
)
from tapui.secret import Secret
from tapui.wire.codec import raw
from tests.mcp_servers.bridge.conftest import BAD, Scene
from tests.rig.bridge_process import BridgeProcess
from tests.rig.peers import GREET, Json, Provider
from tests.rig.waiting import SLOWNESS, until_async


def tool_of(told: ServerReady | ServerTools, name: str) -> MappedTool:
    (tool,) = [one for one in told.tools if one.name == name]
    return tool


def server_of(bridge: BridgeProcess) -> psutil.Process:
    (server,) = psutil.Process(bridge.process.pid).children()
    return server


async def greets(scene: Scene, provider: Provider) -> None:
    """The session's other provider is called, and answers."""
    id_ = await scene.invoke("greet", {"name": "Ada"})
    await provider.answer(data="Hello, Ada!")
    assert (await scene.outcome(id_))["data"] == "Hello, Ada!"


async def test_tools_are_offered_with_legal_names_and_bad_schemas_are_not(scene: Scene) -> None:
    bridge = await scene.bridge()
    ready = await bridge.heard(ServerReady)
    assert ready.server_name == "bad\\x1b[31m"
    assert ready.is_legacy
    echo = tool_of(ready, "echo")
    assert (echo.offered_as, echo.is_changed) == ("echo", False)
    assert echo.digest.startswith("sha256:")
    assert json.loads(bytes(echo.annotations or b"")) == {"readOnlyHint": True}
    assert tool_of(ready, "name with spaces/ü").offered_as == "name_with_spaces_29b872c8"
    assert tool_of(ready, "nonsense").problem == "its schema is not valid: properties/a/type"
    assert tool_of(ready, "array").problem == "its schema is not one of an object"
    assert tool_of(ready, "remote").problem == "its schema refers to another document"
    offered = await scene.sees(lambda names: "echo" in names)
    assert not {"nonsense", "remote", "array"} & set(offered)
    assert (await scene.call("name_with_spaces_29b872c8", {"a": 1}))["data"] == '{"a": 1}'


async def test_what_is_printed_goes_to_streams_and_disturbs_no_call(scene: Scene) -> None:
    await scene.bridge()
    other = await scene.provider(tools=[GREET])
    assert (await scene.call("prints"))["data"] == "prints"
    lines = await scene.lines_of("log@bad", "Listening")
    assert "not a message, on standard output: Listening on port 8080 red" in lines
    assert "a warning" in await scene.lines_of("stderr@bad", "a warning")
    # More than the streams take is counted, and costs the call nothing.
    assert (await scene.call("prints", {"lines": 20_000}))["data"] == '{"lines": 20000}'
    assert any("left out" in line for line in await scene.lines_of("stderr@bad", "left out"))
    await greets(scene, other)


async def test_a_server_that_dies_in_a_call_is_started_again(scene: Scene) -> None:
    bridge = await scene.bridge()
    other = await scene.provider(tools=[GREET])
    waiting = await scene.invoke("late", {"seconds": 30})
    outcome = await scene.call("dies")
    assert (outcome["errorCode"], outcome["retryable"]) == ("SERVER_LOST", True)
    assert outcome["error"] == "the connection to the MCP server bad was lost during the call"
    assert (await scene.outcome(waiting))["errorCode"] == "SERVER_LOST"
    lost = await bridge.heard(ServerLost)
    assert (lost.stage, lost.again) == ("connection", 1.0)
    assert "Segmentation fault" in lost.why
    await greets(scene, other)
    assert (await scene.call("echo", {"a": 1}))["data"] == '{"a": 1}'  # it waits for the new one
    await bridge.heard(ServerReady, times=2)


async def test_a_call_that_timed_out_is_cancelled_at_the_server(scene: Scene) -> None:
    await scene.bridge()
    outcome = await scene.call("late", {"seconds": 3}, timeout=200)
    assert outcome["errorCode"] == "TIMEOUT"

    async def cancelled(times: int) -> None:
        while len(json.loads((await scene.call("seen"))["data"])) < times:
            pass  # the news of it passes no call

    await cancelled(1)
    id_ = await scene.invoke("late", {"seconds": 3})
    await scene.host.expect("tool.progress", id=id_)
    await scene.host.send({"type": "tool.abort", "id": id_})
    assert (await scene.outcome(id_))["errorCode"] == "CANCELLED"
    await cancelled(2)
    # The late answers, to both, come while other calls are under way.
    assert (await scene.call("late", {"seconds": 4}))["data"] == '{"seconds": 4}'


async def test_a_flood_of_changes_is_read_once_in_a_while(scene: Scene) -> None:
    bridge = await scene.bridge()
    assert (await scene.call("flood", {"times": 3_000}))["data"] == '{"times": 3000}'
    assert (await scene.call("add"))["data"] == "add"
    await scene.sees(lambda names: "extra" in names)
    await bridge.heard(ServerTools)
    assert len([one for one in bridge.told if isinstance(one, ServerTools)]) == 1


async def test_large_answers_become_files_and_larger_ones_errors(scene: Scene) -> None:
    await scene.bridge()
    file = (await scene.call("big", {"size": 6 * 2**20}))["file"]
    assert (file["mimeType"], file["size"]) == ("text/plain", 6 * 2**20)
    assert file["note"].startswith("It is too long to be shown here. It begins: xxx")
    assert await asyncio.to_thread(os.path.getsize, file["path"]) == 6 * 2**20
    assert len((await scene.call("big", {"size": 4 * 2**20}))["data"]) == 4 * 2**20
    outcome = await scene.call("huge")
    assert outcome["error"] == "a message of 17.0 MiB was dropped"
    assert (await scene.call("echo", {"a": 1}))["data"] == '{"a": 1}'


async def test_answers_that_differ_from_the_output_schema_are_handed_on(scene: Scene) -> None:
    await scene.bridge()
    assert (await scene.call("lies"))["data"] == 'three\n\n{"total":3}'
    lines = await scene.lines_of("log@bad", "structured content")
    assert "'sum' is a required property" in lines[0]
    outcome = await scene.call("fails")
    assert (outcome["errorCode"], outcome["error"]) == ("TOOL_FAILED", "there is no such city")


async def test_a_changed_description_waits_until_it_is_allowed(scene: Scene) -> None:
    first = await scene.bridge()
    pins = {tool.name: tool.digest for tool in (await first.heard(ServerReady)).tools}
    del pins["seen"]
    await first.end()
    bridge = await scene.bridge(pinned=pins)
    ready = await bridge.heard(ServerReady)
    assert not tool_of(ready, "echo").is_changed
    assert (tool_of(ready, "seen").is_changed, tool_of(ready, "seen").offered_as) == (True, None)
    await scene.sees(lambda names: "echo" in names and "seen" not in names)
    await scene.call("change")
    changed = await bridge.heard(ServerTools)
    echo = tool_of(changed, "echo")
    assert (echo.is_changed, echo.offered_as) == (True, None)
    assert echo.description.endswith("example.org.")
    await scene.sees(lambda names: "echo" not in names)
    assert (await scene.call("echo"))["errorCode"] == "NOT_FOUND"
    await bridge.say(ToolsAllowed({tool.name: tool.digest for tool in changed.tools}))
    allowed = await bridge.heard(ServerTools, times=2)
    assert tool_of(allowed, "echo").offered_as == "echo"
    await scene.sees(lambda names: {"echo", "seen"} <= set(names))
    assert (await scene.call("echo"))["data"] == "echo"


@pytest.mark.parametrize(
    ("argv", "more", "stage", "why"),
    [
        ((BAD, "hangs"), {"patience": 1.0}, "handshake", "within 1 s"),
        ((BAD, "hangs", "part 1 of 70"), {"patience": 1.0}, "handshake", "it said: part 1 of 70"),
        ((BAD, "exits"), {}, "handshake", "it ended; it said: the database is locked"),
        ((), {"command": "no-such-program"}, "start", "no-such-program was not found"),
        ((BAD,), {"cwd": "/no/such/folder"}, "start", "the folder /no/such/folder is not there"),
        ((), {"url": "http://127.0.0.1:9/mcp"}, "start", "nothing answers at http://127.0.0.1:9"),
    ],
)
async def test_a_server_that_does_not_start_is_known_and_tried_again(
    scene: Scene, argv: tuple[str, ...], more: Json, stage: str, why: str
) -> None:
    other = await scene.provider(tools=[GREET])
    bridge = await scene.start(*argv, **more)
    await scene.join(bridge)
    lost = await bridge.heard(ServerLost)
    assert (lost.stage, lost.again) == (stage, 1.0)
    assert why in lost.why
    assert lost.hint
    await greets(scene, other)
    assert (await bridge.heard(ServerLost, times=2)).again == 2.0


async def test_a_server_that_ignores_the_newer_handshake_is_quick_with_the_older(
    scene: Scene,
) -> None:
    bridge = await scene.bridge(BAD, "deaf", legacy=True)
    assert (await bridge.heard(ServerReady)).seconds < 5  # ten, where it is asked for the newer


async def test_a_server_that_goes_on_speaking_is_waited_for(scene: Scene) -> None:
    bridge = await scene.bridge(BAD, "speaks", str(SLOWNESS), patience=2 * SLOWNESS)
    assert (await bridge.heard(ServerReady)).seconds > 2 * SLOWNESS


async def test_a_mark_before_the_first_message_costs_no_time(scene: Scene) -> None:
    bridge = await scene.bridge(BAD, "marked")
    assert (await bridge.heard(ServerReady)).seconds < 5  # ten, where its first answer is not read


async def test_a_server_without_tools_is_ready(scene: Scene) -> None:
    bridge = await scene.bridge(BAD, "bare")
    assert (await bridge.heard(ServerReady)).tools == []


GOOD = '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"good"}]}}'


@pytest.mark.parametrize(
    ("text", "data", "error"),
    [
        (GOOD.replace("good", r"cut \ud83d"), "cut \ufffd", None),
        (f"[{GOOD}]", "good", None),
        (f"done: {GOOD}", "good", None),
        (
            json.dumps(json.loads(GOOD.replace("ID", "0")), indent=2).replace("0,", "ID,"),
            "good",
            None,
        ),
        (GOOD[:-4], None, "the server's answer is not what the protocol says: it is no JSON"),
        (
            '{"jsonrpc":"2.0","id":ID,"result":3}',
            None,
            "the server's answer is not what the protocol says: its result is no object",
        ),
        ('{"jsonrpc":"2.0","id":ID,"error":"no such city"}', None, "no such city"),
    ],
)
async def test_an_answer_that_is_not_as_it_should_be_is_an_answer(
    scene: Scene, text: str, data: str | None, error: str | None
) -> None:
    await scene.bridge()
    outcome = await scene.call("says", {"text": text})
    assert outcome.get("data") == data
    assert (outcome.get("error") or "").startswith(error or "")
    assert outcome.get("errorCode") == (None if error is None else "INTERNAL")


async def test_a_form_is_answered_by_the_person(scene: Scene) -> None:
    bridge = await scene.bridge()
    id_ = await scene.invoke("asks")
    asked = await bridge.heard(ServerAsks)
    assert (asked.message, asked.session_id) == ("Who?", scene.session)
    assert json.loads(bytes(asked.schema))["properties"] == {"name": {"type": "string"}}
    await bridge.say(AnsweredForm(asked.id, "accept", raw({"name": "Ada"})))
    answer = json.loads((await scene.outcome(id_))["data"])
    assert (answer["action"], answer["content"]) == ("accept", {"name": "Ada"})

    id_ = await scene.invoke("asks")
    asked = await bridge.heard(ServerAsks, times=2)
    await bridge.say(AnsweredForm(asked.id, "decline"))
    assert json.loads((await scene.outcome(id_))["data"])["action"] == "decline"


async def test_a_form_of_a_server_that_dies_is_withdrawn(scene: Scene) -> None:
    bridge = await scene.bridge()
    await scene.invoke("asks")
    asked = await bridge.heard(ServerAsks)
    await scene.call("dies")
    await bridge.heard(WithdrawnForm, id=asked.id)
    await bridge.say(AnsweredForm(asked.id, "accept"))
    await bridge.heard(ServerReady, times=2)


async def test_a_page_to_visit_is_declined_and_its_address_not_shown(scene: Scene) -> None:
    bridge = await scene.bridge()
    assert json.loads((await scene.call("visit"))["data"])["action"] == "decline"
    lines = await scene.lines_of("log@bad", "visit")
    assert lines == ["asked the person to visit http://evil.example; that was declined"]
    assert not [one for one in bridge.told if isinstance(one, ServerAsks)]


async def test_a_name_that_is_taken_gets_the_servers_name_before_it(scene: Scene) -> None:
    await scene.provider(tools=[{**GREET, "name": "echo"}])
    bridge = await scene.start(BAD)
    await scene.join(bridge)
    changed = await bridge.heard(ServerTools)
    assert tool_of(changed, "echo").offered_as == "bad_echo"
    await scene.sees(lambda names: "bad_echo" in names)
    assert (await scene.call("bad_echo", {"a": 1}))["data"] == '{"a": 1}'


async def test_the_server_gets_its_own_variables_and_no_others(scene: Scene) -> None:
    bridge = await scene.bridge(env={"API_KEY": Secret("s3cr3t")})
    environ = json.loads((await scene.call("environ"))["data"])
    assert environ["API_KEY"] == "s3cr3t"
    ours = {name for name in environ if name.startswith(("TAPUI", "COPILOT"))}
    assert ours == {"TAPUI_INSIDE"}
    command = psutil.Process(bridge.process.pid).cmdline()
    assert "s3cr3t" not in repr(bridge.told) + bridge.errors + " ".join(command)


async def test_progress_is_told(scene: Scene) -> None:
    await scene.bridge()
    id_ = await scene.invoke("counts")
    told = await scene.host.expect("tool.progress", id=id_)
    assert told["message"] == "0/3 so far"
    assert (await scene.outcome(id_))["data"] == "counts"


async def test_the_end_of_the_input_ends_the_server_and_its_calls(scene: Scene) -> None:
    bridge = await scene.bridge()
    server = server_of(bridge)
    id_ = await scene.invoke("late", {"seconds": 30})
    assert await bridge.end() == 0
    assert (await scene.outcome(id_))["errorCode"] in ("CANCELLED", "DISCONNECTED")
    await until_async(lambda: not server.is_running(), what="the server has ended")
    await scene.sees(lambda names: "echo" not in names)


async def test_a_killed_bridge_leaves_no_server(scene: Scene) -> None:
    bridge = await scene.bridge()
    server = server_of(bridge)
    bridge.process.kill()
    await until_async(lambda: not server.is_running(), what="the server has ended")
    await scene.sees(lambda names: "echo" not in names)


async def test_what_is_no_line_for_the_bridge_is_ignored(scene: Scene) -> None:
    bridge = await scene.bridge()
    await bridge.write(b'nonsense s3cr3t\n{"type":"session.closed"}\n')
    told = await bridge.heard(ServerTold, times=2)
    assert told.text.startswith("a line was ignored")
    assert "s3cr3t" not in repr(bridge.told)
    assert (await scene.call("echo"))["data"] == "echo"


async def test_what_does_not_begin_with_start_is_no_bridge(scene: Scene) -> None:
    for text in (b"", b"nonsense\n", b'{"type":"stop"}\n'):
        bridge = BridgeProcess(scene.home, None)
        async with bridge:
            await bridge.write(text)
            code = await bridge.end()
            assert code == (1 if text else 0)
