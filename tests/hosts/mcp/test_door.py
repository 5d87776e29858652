"""The MCP door as a process, with the official client in both protocol eras."""

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from mcp import MCPError

from tapui.home.tokens import ToolsTokenFile
from tapui.wire.limits import MAX_MESSAGE_BYTES
from tests.conformance.conftest import process
from tests.hosts.mcp.mcp_client import MODES, McpClient, connected, mcp_sessions, session_of
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import GREET, Host, Provider, Tower
from tests.rig.waiting import HUNG

__all__ = ["process"]

in_each_era = pytest.mark.parametrize("mode", MODES)
"""For what the door does by other messages in each era."""


@pytest.fixture
def mode() -> str:
    """The era of the clients that are not of each."""
    return MODES[1]


@pytest.fixture
def token(home: Home) -> ToolsTokenFile:
    """The token for tools of a gateway of the test's own, made before it."""
    file = ToolsTokenFile(home.tapui)
    file.make()
    return file


@pytest.fixture
async def client(process: Gateway, mode: str) -> AsyncIterator[McpClient]:
    """A client whose door has found the module's gateway; its session ends with the test."""
    ready: asyncio.Future[McpClient] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def keep() -> None:
        """Enter and leave in one task, as the client's cancel scopes want it."""
        async with connected(process.home, mode, "--port", str(process.port)) as one:
            ready.set_result(one)
            await over.wait()

    keeping = asyncio.create_task(keep())
    await asyncio.wait([keeping, ready], return_when=asyncio.FIRST_COMPLETED)
    if keeping.done():
        keeping.result()
    yield ready.result()
    over.set()
    await keeping
    async with await Tower.hello(process.url, process.internal_token) as tower:
        left = {one["id"] for one in mcp_sessions(tower)}
        while left:
            left.discard((await tower.event("session.closed"))["session"]["id"])


async def provided(gateway: Gateway, client: McpClient, **hello: Any) -> Provider:
    """Bind a provider to the door's session, and wait until the client was told of its tools."""
    provider = await Provider.bind(
        gateway.url, gateway.token, session=await session_of(gateway), **hello
    )
    await client.has(*(tool["name"] for tool in hello.get("tools", [GREET])))
    return provider


@in_each_era
async def test_a_client_lists_and_calls_what_is_bound_to_its_session(
    client: McpClient, process: Gateway
) -> None:
    assert await client.names() == []
    async with await provided(process, client) as provider:
        (tool,) = await client.tools()
        assert (tool.description, tool.output_schema) == ("Say hello", None)
        assert tool.input_schema == GREET["parameters"]
        calling = asyncio.create_task(client.call("greet", {"name": "you"}))
        call = await provider.answer(data={"said": "hello"})
        assert call["args"] == {"name": "you"}
        result = await calling
        assert (result.is_error, result.structured_content) == (False, {"said": "hello"})
        assert json.loads(result.content[0].text) == {"said": "hello"}
        async with await Tower.hello(process.url, process.internal_token) as tower:
            (session,) = mcp_sessions(tower)
        assert session["label"] == "MCP: mcp"  # the official client's name
        assert not session.get("foreground")
    await client.has()


async def test_results_that_are_no_objects_are_texts_images_or_links(
    client: McpClient, process: Gateway
) -> None:
    async with await provided(process, client) as provider:
        for data, text in (
            ("plain", "plain"),
            ([1, 2], "[1, 2]"),
            (None, "null"),
            (3.5, "3.5"),
            ("é\n\x1b[0m", "é\n\x1b[0m"),
        ):
            calling = asyncio.create_task(client.call("greet"))
            await provider.answer(data=data)
            result = await calling
            assert result.content[0].text == text
            assert (result.is_error, result.structured_content) == (False, None)
        folder = process.home.copilot / "providers" / "greeter"
        for name, kind, content in (
            ("a.png", "image/png", b"\x89PNG\r\n"),
            ("b.wav", "audio/wav", b"RIFF"),
            ("c.csv", "text/csv", b"1,2\n"),
        ):
            (folder / name).write_bytes(content)
            calling = asyncio.create_task(client.call("greet"))
            size = len(content)
            file = {"path": str(folder / name), "mimeType": kind, "size": size}
            await provider.answer(file=file)
            text, shown = (await calling).content
            assert f"({kind}, {size} bytes)" in text.text
            if kind == "text/csv":
                assert (shown.type, shown.mime_type, shown.size) == ("resource_link", kind, size)
                assert shown.uri.startswith("file:///")
            else:
                assert (shown.type, shown.mime_type) == (kind.partition("/")[0], kind)
                assert base64.b64decode(shown.data) == content


async def test_an_error_is_a_result_with_its_code(client: McpClient, process: Gateway) -> None:
    async with await provided(process, client) as provider:
        calling = asyncio.create_task(client.call("greet"))
        await provider.answer(error="no such name", errorCode="NOT_FOUND", retryable=True)
        result = await calling
        assert result.is_error
        assert result.content[0].text == (
            "NOT_FOUND: no such name It may work if it is called again."
        )
        unknown = await client.call("nobody's")
        assert unknown.is_error
        assert unknown.content[0].text.startswith("NOT_FOUND: Tool 'nobody's' is not supported")
        large = await client.call("greet", {"text": "x" * MAX_MESSAGE_BYTES})
        assert large.is_error
        assert large.content[0].text.startswith("PAYLOAD_TOO_LARGE: ")
        hasty = {**GREET, "timeout": 50}
        await provider.send({"type": "tools.update", "tools": [hasty], "requestId": "t"})
        await provider.expect("ack")
        late = await client.call("greet")
        assert late.is_error
        assert late.content[0].text.startswith("TIMEOUT: ")
        # A gate of a provider holds here, too.
        rule = {"action": "deny", "match": {"tool": "greet"}, "reason": "not today"}
        await provider.send({"type": "hooks.update", "onPreToolUse": [rule], "requestId": "r"})
        await provider.expect("ack")
        denied = await client.call("greet")
        assert (denied.is_error, denied.content[0].text) == (True, "UNAUTHORIZED: not today")


@in_each_era
async def test_progress_reaches_the_client(client: McpClient, process: Gateway) -> None:
    told: list[tuple[float, float | None, str | None]] = []
    come = asyncio.Event()

    async def progress(done: float, total: float | None, text: str | None) -> None:
        told.append((done, total, text))
        come.set()

    async with await provided(process, client) as provider:
        calling = asyncio.create_task(client.call("greet", progress_callback=progress))
        call = await provider.expect("tool.call")
        half = {"message": "1/2 half", "done": 1, "total": 2}
        await provider.send({"type": "tool.progress", "id": call["id"], **half})
        async with asyncio.timeout(HUNG):
            await come.wait()
        await provider.send({"type": "tool.result", "id": call["id"], "data": "done"})
        assert (await calling).content[0].text == "done"
        assert told == [(1, 2, "half")]


@in_each_era
async def test_the_list_answers_while_a_call_hangs_and_after_it_was_given_up(
    client: McpClient, process: Gateway
) -> None:
    async with await provided(process, client) as provider:
        calling = asyncio.create_task(client.call("greet"))
        call = await provider.expect("tool.call")
        assert await client.names() == ["greet"]  # the call hangs
        calling.cancel()
        cancel = await provider.expect("tool.cancel")
        assert (cancel["id"], cancel["reason"]) == (call["id"], "the client gave the call up")
        assert await client.names() == ["greet"]  # the provider has not answered yet
        with pytest.raises(MCPError):
            await client.call("greet", read_timeout_seconds=0.2)
        assert await client.names() == ["greet"]
        await provider.expect("tool.cancel")
        provider.inbox.messages.clear()
        calling = asyncio.create_task(client.call("greet"))
        await provider.answer(data="works")
        assert (await calling).content[0].text == "works"


async def test_without_a_gateway_there_are_no_tools_and_one_that_comes_is_found(
    home: Home, token: ToolsTokenFile, serve: Callable[..., Gateway], mode: str
) -> None:
    async with connected(home, mode) as client:
        assert await client.names() == []
        result = await client.call("greet")
        assert result.is_error
        assert "no gateway runs" in result.content[0].text
        gateway = serve("--no-attach")
        async with await provided(gateway, client):
            assert client.changes >= 1


async def test_a_gateway_that_dies_in_a_call_ends_it_and_the_next_one_is_found(
    home: Home, token: ToolsTokenFile, gateway: Gateway, serve: Callable[..., Gateway], mode: str
) -> None:
    async with connected(home, mode, "--port", str(gateway.port)) as client:
        provider = await provided(gateway, client)
        calling = asyncio.create_task(client.call("greet"))
        await provider.expect("tool.call")
        gateway.kill()
        async with asyncio.timeout(HUNG):
            result = await calling
        assert result.is_error
        assert result.content[0].text.startswith("DISCONNECTED: the gateway went away")
        await client.has()
        await provider.close()
        again = serve("--no-attach", port=gateway.port)
        async with await provided(again, client) as provider:
            calling = asyncio.create_task(client.call("greet"))
            await provider.answer(data="back")
            assert (await calling).content[0].text == "back"


async def test_a_revoked_token_ends_the_session_at_once(
    home: Home, token: ToolsTokenFile, gateway: Gateway, mode: str
) -> None:
    async with connected(home, mode, "--port", str(gateway.port)) as client:
        async with await provided(gateway, client) as provider:
            calling = asyncio.create_task(client.call("greet"))
            await provider.expect("tool.call")
            done = await asyncio.to_thread(home.run, "uninstall", "mcp")
            assert done.stdout.startswith("revoked the token for tools\n")
            # When the command has ended, the gateway takes it no longer.
            await provider.expect("session.lifecycle", state="shutdown.pending")
            result = await calling
            assert result.is_error
            await client.has()
            result = await client.call("greet")
            assert "token" in result.content[0].text
            # A new one is found without starting the client again.
            assert token.make()
            await provider.send({"type": "goodbye"})
        async with await provided(gateway, client):
            pass


async def test_hostile_tools_spoil_nothing(client: McpClient, process: Gateway) -> None:
    tools = [
        {**GREET, "name": "long", "description": "y" * 1_000_000},
        {**GREET, "name": "raw", "description": "\x1b]0;title\x07\u202eevil\nsecond line"},
        {**GREET, "name": "root", "parameters": {"type": "string"}},
        {**GREET, "name": "deep", "parameters": {"properties": {"a": {"type": "number"}}}},
        {**GREET, "name": "n" * 64},
    ]
    odd = [
        {**GREET, "name": "odd", "parameters": {"type": "object", "required": "yes"}},
        {**GREET, "name": "odder", "parameters": {"type": "object", "properties": [1]}},
    ]
    provider = await Provider.bind(
        process.url, process.token, session=await session_of(process), tools=[*tools, *odd]
    )
    async with provider:
        await client.has(*(str(tool["name"]) for tool in tools))
        shown = {tool.name: tool for tool in await client.tools()}
        assert len(shown["long"].description or "") == 16_384
        assert shown["raw"].description == "\\x1b]0;title\\x07\\u202eevil\nsecond line"
        assert {tool.input_schema["type"] for tool in shown.values()} == {"object"}
        # Half of a character in a result, and a very long one.
        calling = asyncio.create_task(client.call("raw"))
        call = await provider.expect("tool.call")
        half = json.dumps({"type": "tool.result", "id": call["id"], "data": "\ud83d"})
        await provider.send(half)
        assert (await calling).is_error
        calling = asyncio.create_task(client.call("raw"))
        await provider.answer(data="z" * 1_048_576)
        assert len((await calling).content[0].text) == 1_048_576


@in_each_era
async def test_a_second_client_has_a_session_of_its_own_which_goes_with_it(
    client: McpClient, process: Gateway, mode: str
) -> None:
    port = ("--port", str(process.port))
    async with (
        await provided(process, client),
        await Tower.hello(process.url, process.internal_token) as tower,
    ):
        async with connected(process.home, mode, *port) as second:
            opened = await tower.event("session.opened")
            assert await second.names() == []
            refused = await second.call("greet")
            assert refused.content[0].text.startswith("NOT_FOUND")
        closed = await tower.event("session.closed")
        assert closed["session"]["id"] == opened["session"]["id"]
        assert closed["session"]["reason"] == "its client is gone"


async def test_a_client_whose_program_is_attached_gets_nothing_twice(
    client: McpClient, process: Gateway
) -> None:
    host = await Host.hello(process.url, process.internal_token)
    async with await provided(process, client) as provider, host:
        await host.open("s1", pid=os.getpid())  # the door is a child of this process
        await host.send({"type": "session.update", "sessionId": "s1", "toolsRevision": 1})
        await client.has()
        await provider.send({"type": "goodbye"})
        result = await client.call("greet")
        assert result.is_error
    async with await provided(process, client):
        pass
