"""Gates, rules, contexts, transforms, filters and events of the kit, at a real gateway."""

import asyncio
from typing import Any

import pytest

from tapui.provider import (
    DeclarationError,
    GateCall,
    GatewayRefusal,
    Provider,
    Session,
)
from tests.provider.conftest import Bench
from tests.rig.peers import Json


async def decision(bench: Bench, tool: str, **args: Any) -> Json:
    """Have the session ask whether a call may run."""
    ask = {"type": "hook.preToolUse", "id": "h", "sessionId": bench.session, "tool": tool}
    await bench.host.send({**ask, "args": args})
    return await bench.host.expect("hook.decision", id="h")


async def prepared(bench: Bench, prompt: str, **more: Any) -> Json:
    """Have the session ask what is added to a prompt."""
    ask = {"type": "prompt.submitted", "id": "p", "sessionId": bench.session, "prompt": prompt}
    await bench.host.send({**ask, **more})
    return await bench.host.expect("prompt.prepared", id="p")


@pytest.mark.expects_error_log("the gate 'raises' failed")
@pytest.mark.expects_error_log("the gate 'says_nothing' returned 'NoneType'")
@pytest.mark.expects_error_log("the gate 'open_one' failed")
async def test_a_gate_that_fails_denies_unless_it_fails_open(bench: Bench) -> None:
    provider = Provider("broken-guard")

    @provider.gate(tool="a")
    def raises(call: GateCall) -> bool:
        raise RuntimeError("the secret is 1234")

    @provider.gate(tool="b")
    def says_nothing(call: GateCall) -> None:
        return None

    @provider.gate(tool="c", fail_open=True)
    async def open_one(call: GateCall) -> bool:
        raise RuntimeError

    await bench.serve(provider)
    denied = await decision(bench, "a")
    assert denied["decision"] == "deny"
    assert "1234" not in denied["reason"]
    assert (await decision(bench, "b"))["decision"] == "deny"
    assert (await decision(bench, "c"))["decision"] in ("allow", "ask")


async def test_a_rule_and_a_transform_hold_and_the_newest_context_counts(bench: Bench) -> None:
    provider = Provider("rules")
    provider.deny(tool="bash", args="rm -rf", reason="not here")

    @provider.transform("code_change_rules")
    def rules(current: str) -> str:
        return f"{current} Test first."

    served = await bench.serve(provider)
    denied = await decision(bench, "bash", command="rm -rf /")
    assert (denied["decision"], denied["reason"]) == ("deny", "not here")
    found = await prepared(bench, "hello", sections={"code_change_rules": "Lint."})
    assert found["sections"]["code_change_rules"] == "Lint. Test first."
    provider.set_context("CI is red")
    provider.set_context("CI is green again")
    while "CI is green again" not in "\n".join((await prepared(bench, "again"))["context"]):
        pass  # each question takes a turn of the gateway
    assert "transforms may have no effect" in served.told.words[0]


async def test_a_query_of_anothers_stream_is_refused_in_the_code_that_asks(bench: Bench) -> None:
    provider = Provider("watcher")
    found: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    @provider.background
    async def ask(session: Session) -> None:
        try:
            await session.query("ci@somebody-else")
        except GatewayRefusal as error:
            found.set_result(error.code)

    await bench.serve(provider)
    assert await found == "UNAUTHORIZED"


async def test_what_cannot_be_pushed_is_refused_where_it_is_said(bench: Bench) -> None:
    provider = Provider("careless")

    @provider.background
    async def push(session: Session) -> None:
        for bad in (
            {"event": None},
            {"event": "x" * (3 * 2**20)},
            {"event": "x", "stream": "s" * 65},
            {"event": "x", "metadata": {"a": object()}},
            {"event": "x", "level": "shout"},
        ):
            with pytest.raises(DeclarationError):
                session.push(**bad)
        session.push("done", level="surface")

    served = await bench.serve(provider)
    assert "done" in (await bench.host.expect("session.log"))["message"]
    assert not [word for word in served.told.words if "noticed" in word]


def test_a_tool_without_a_text_is_described_by_its_name() -> None:
    provider = Provider("terse")
    for name in ("look_up", "_"):
        provider.tool(name=name, description=" ")(lambda: None)
    assert [tool.description for tool in provider.tools] == ["look up", "_"]


def test_what_cannot_be_declared_says_why() -> None:
    provider = Provider("strict")
    with pytest.raises(DeclarationError, match="without @"):
        Provider("a@b")
    with pytest.raises(DeclarationError, match="tapui's own"):
        Provider("tap")
    with pytest.raises(DeclarationError, match="no regex"):
        provider.deny(args="(", reason="r")
    with pytest.raises(DeclarationError, match="only be appended"):
        provider.replace("safety", "none")
    with pytest.raises(DeclarationError, match="async def"):
        provider.background(lambda session: None)
    with pytest.raises(DeclarationError, match="outcome"):
        provider.filter("s", [("x", "explode")])  # type: ignore[list-item]
    for number in range(50):
        provider.deny(tool=str(number), reason="r")
    with pytest.raises(DeclarationError, match="at most 50 rules"):
        provider.context_rule("more")
    for number in range(1000):
        provider.tool(name=f"t{number}")(lambda: None)
    with pytest.raises(DeclarationError, match="at most 1,000 tools"):
        provider.tool(name="one_more")(lambda: None)
