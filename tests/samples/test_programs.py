"""Whole programs of the documents, as an author pastes them: only the port is another one."""

import asyncio
from collections.abc import Callable

import pytest

from tests.rig.gateway import Gateway
from tests.rig.peers import Host, Json, Provider
from tests.samples.running import Running

Run = Callable[..., Running]


async def offered(host: Host, session: str, tool: str) -> Json:
    """Wait until a session has a tool; return its definition."""
    while True:
        listed = (await host.expect("tools.changed", sessionId=session))["tools"]
        for one in listed:
            if one["name"] == tool:
                return dict(one)


async def result(host: Host, session: str, tool: str, args: Json, *, id_: str = "i1") -> object:
    """Call a tool; return what it returned."""
    await host.invoke(session, tool, args, id_=id_)
    outcome = await host.expect("tool.outcome", id=id_)
    assert "error" not in outcome, outcome
    return outcome.get("data")


@pytest.mark.parametrize(
    ("name", "tool", "args", "answer"),
    [
        ("first.js", "say_hello", {"name": "Ada"}, "Hello, Ada!"),
        ("core.js", "greet", {"name": "Ada"}, "Hello, Ada!"),
        ("compute.py", "compute", {"expr": "6 * 7"}, 42),
        ("core.py", "greet", {"name": "Ada"}, "Hello, Ada!"),
    ],
)
async def test_its_tool_answers_in_the_session_in_front(
    own_gateway: Gateway, run: Run, name: str, tool: str, args: Json, answer: object
) -> None:
    async with await Host.hello(own_gateway.url, own_gateway.internal_token) as host:
        await host.open("s1", foreground=True)
        program = run(name)
        definition = await offered(host, "s1", tool)
        assert definition["parameters"]["required"] == list(args)
        assert await result(host, "s1", tool, args) == answer
        # A second call, after one that its caller gave up.
        await host.invoke("s1", tool, args, id_="i2")
        await host.send({"type": "tool.abort", "id": "i2"})
        await host.expect("tool.outcome", id="i2")
        assert await result(host, "s1", tool, args, id_="i3") == answer
        assert program.process.poll() is None
        assert "rror" not in program.out


async def test_an_expression_that_fails_is_told_as_its_result(
    own_gateway: Gateway, run: Run
) -> None:
    async with await Host.hello(own_gateway.url, own_gateway.internal_token) as host:
        await host.open("s1", foreground=True)
        run("compute.py")
        await offered(host, "s1", "compute")
        assert await result(host, "s1", "compute", {"expr": "1 / 0"}) == "division by zero"


async def test_the_core_provider_leaves_with_its_session_and_comes_back_to_the_next(
    own_gateway: Gateway, run: Run
) -> None:
    async with await Host.hello(own_gateway.url, own_gateway.internal_token) as host:
        await host.open("s1", foreground=True)
        program = run("core.js")
        await offered(host, "s1", "greet")
        await host.send({"type": "session.close", "sessionId": "s1"})
        await host.expect("session.closed", sessionId="s1")  # its goodbye, long before 10 s
        await host.open("s2", foreground=True)
        await offered(host, "s2", "greet")
        assert await result(host, "s2", "greet", {"name": "Bo"}) == "Hello, Bo!"
        await asyncio.to_thread(program.says, "Registered as p-", times=2)


async def test_the_core_provider_in_python_ends_with_its_session(
    own_gateway: Gateway, run: Run
) -> None:
    async with await Host.hello(own_gateway.url, own_gateway.internal_token) as host:
        await host.open("s1", foreground=True)
        program = run("core.py")
        await offered(host, "s1", "greet")
        await host.send({"type": "session.close", "sessionId": "s1"})
        await host.expect("session.closed", sessionId="s1")
        assert await asyncio.to_thread(program.process.wait, 30) == 0


async def test_the_core_provider_waits_for_another_gateway(own_gateway: Gateway, run: Run) -> None:
    program = run("core.py")
    await asyncio.to_thread(program.says, "Registered as p-")
    await asyncio.to_thread(own_gateway.kill)
    await asyncio.to_thread(program.says, "Disconnected. Reconnecting in 5s...")
    assert program.process.poll() is None


async def test_a_wrong_token_is_told_and_the_connection_closed(
    own_gateway: Gateway, run: Run
) -> None:
    program = run("core.py", token="ptk-a8f3")
    await asyncio.to_thread(program.says, "Error [AUTH_FAILED]")
    assert await asyncio.to_thread(program.process.wait, 30) == 0


async def test_the_token_is_in_the_file_that_the_core_profile_names(own_gateway: Gateway) -> None:
    file = own_gateway.home.copilot / "extensions/tap/.provider-token"
    assert file.stat().st_mode & 0o077 == 0
    async with await Provider.bind(own_gateway.url, file.read_text().strip()) as provider:
        assert provider.ack["protocolVersion"] == 2
    assert await asyncio.to_thread(own_gateway.stop) == 0
    assert not file.exists()
