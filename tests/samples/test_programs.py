"""Whole programs of the documents, as an author pastes them: only the port is another one."""

import asyncio
from collections.abc import AsyncIterator, Callable
from itertools import count

import pytest

from tests.rig.gateway import Gateway
from tests.rig.peers import Host, Json, Provider
from tests.samples.running import Running

Run = Callable[..., Running]
_numbers = count(1)


@pytest.fixture
def session() -> str:
    """The id of a session of the test's own."""
    return f"s{next(_numbers)}"


@pytest.fixture
async def host(process: Gateway, session: str) -> AsyncIterator[Host]:
    """A host whose session is in front, so that a sample binds to it."""
    async with await Host.hello(process.url, process.internal_token) as host:
        await host.open(session, foreground=True)
        yield host


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
    host: Host, session: str, run: Run, name: str, tool: str, args: Json, answer: object
) -> None:
    program = run(name)
    definition = await offered(host, session, tool)
    assert definition["parameters"]["required"] == list(args)
    assert await result(host, session, tool, args) == answer
    # A second call, after one that its caller gave up.
    await host.invoke(session, tool, args, id_="i2")
    await host.send({"type": "tool.abort", "id": "i2"})
    await host.expect("tool.outcome", id="i2")
    assert await result(host, session, tool, args, id_="i3") == answer
    assert program.process.poll() is None
    assert "rror" not in program.out


async def test_an_expression_that_fails_is_told_as_its_result(
    host: Host, session: str, run: Run
) -> None:
    run("compute.py")
    await offered(host, session, "compute")
    assert await result(host, session, "compute", {"expr": "1 / 0"}) == "division by zero"


async def test_the_core_provider_leaves_with_its_session_and_comes_back_to_the_next(
    host: Host, session: str, run: Run
) -> None:
    program = run("core.js")
    await offered(host, session, "greet")
    await host.send({"type": "session.close", "sessionId": session})
    await host.expect("session.closed", sessionId=session)  # its goodbye, long before 10 s
    following = f"{session}-next"
    await host.open(following, foreground=True)
    await offered(host, following, "greet")
    assert await result(host, following, "greet", {"name": "Bo"}) == "Hello, Bo!"
    await asyncio.to_thread(program.says, "Registered as p-", times=2)


async def test_the_core_provider_in_python_ends_with_its_session(
    host: Host, session: str, run: Run
) -> None:
    program = run("core.py")
    await offered(host, session, "greet")
    await host.send({"type": "session.close", "sessionId": session})
    await host.expect("session.closed", sessionId=session)
    assert await asyncio.to_thread(program.process.wait, 30) == 0


async def test_the_core_provider_waits_for_another_gateway(own_gateway: Gateway, run: Run) -> None:
    program = run("core.py", gateway=own_gateway)
    await asyncio.to_thread(program.says, "Registered as p-")
    await asyncio.to_thread(own_gateway.kill)
    await asyncio.to_thread(program.says, "Disconnected. Reconnecting in 5s...")
    assert program.process.poll() is None


async def test_a_wrong_token_is_told_and_the_connection_closed(run: Run) -> None:
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
