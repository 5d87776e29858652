"""Gates, rules, contexts, transforms, filters and events of the kit, at a real gateway."""

import asyncio
from typing import Any

import pytest

from tapui.provider import (
    Allow,
    DeclarationError,
    Deny,
    GateCall,
    GatewayRefusal,
    Provider,
    Session,
    SessionNews,
)
from tests.provider.conftest import Bench
from tests.rig.peers import Json
from tests.rig.waiting import HUNG


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


async def test_gates_decide_on_calls_that_match(bench: Bench) -> None:
    provider = Provider("guard")
    seen: list[Any] = []

    @provider.gate(tool="bash", args=r"git push", reason="CI is red")
    def pushes(call: GateCall) -> Any:
        seen.append((call.tool, call.args, call.session.id))
        return "force" not in call.args["command"]

    @provider.gate(tool="edit", file="*.sql")
    async def migrations(call: GateCall) -> Any:
        return Allow("keep it compatible") if "add" in call.args["path"] else Deny("never drop")

    await bench.serve(provider)
    assert (await decision(bench, "bash", command="ls"))["decision"] in ("allow", "ask")
    assert not seen
    denied = await decision(bench, "bash", command="git push --force")
    assert (denied["decision"], denied["reason"]) == ("deny", "CI is red")
    assert seen == [("bash", {"command": "git push --force"}, bench.session)]
    assert (await decision(bench, "bash", command="git push"))["decision"] in ("allow", "ask")
    told = await decision(bench, "edit", path="add.sql")
    assert "keep it compatible" in told["context"]
    denied = await decision(bench, "edit", path="drop.sql")
    assert (denied["decision"], denied["reason"]) == ("deny", "never drop")


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


async def test_rules_contexts_and_transforms_hold(bench: Bench) -> None:
    provider = Provider("rules", context="CI is green", startup_context="the rules are here")
    provider.deny(tool="bash", args="rm -rf", reason="not here")
    provider.context_rule("ask before a release", tool="release")
    provider.append("custom_instructions", "use pnpm")

    @provider.transform("code_change_rules")
    def rules(current: str) -> str:
        return f"{current} Test first."

    served = await bench.serve(provider)
    denied = await decision(bench, "bash", command="rm -rf /")
    assert (denied["decision"], denied["reason"]) == ("deny", "not here")
    assert "ask before a release" in (await decision(bench, "release"))["context"]
    sections = {"custom_instructions": "Be short.", "code_change_rules": "Lint."}
    found = await prepared(bench, "hello", sections=sections)
    assert "CI is green" in "\n".join(found["context"])
    assert "the rules are here" in "\n".join(found["context"])
    assert "use pnpm" in found["sections"]["custom_instructions"]
    assert found["sections"]["code_change_rules"] == "Lint. Test first."

    provider.set_context("CI is red")
    provider.set_context("CI is green again")
    while "CI is green again" not in "\n".join((await prepared(bench, "again"))["context"]):
        pass  # each question takes a turn of the gateway
    assert "transforms may have no effect" in served.told.words[0]


async def test_streams_are_filtered_and_queried(bench: Bench) -> None:
    provider = Provider("watcher")
    provider.filter("git", [("behind=0", "drop"), ("conflict", "inject")])
    found: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    @provider.tool
    async def watch(session_lines: list[str]) -> Any:
        session = served.serving.members[bench.session]
        for line in session_lines:
            session.push(line, stream="git", metadata={"from": "git"})
        lines = await session.query("git", last=10)
        return [line.event for line in lines["git@watcher"]]

    @provider.background
    async def ask(session: Session) -> None:
        try:
            await session.query("ci@somebody-else")
        except GatewayRefusal as error:
            found.set_result(error.code)

    served = await bench.serve(provider)
    outcome = await bench.call("watch", {"session_lines": ["behind=0", "behind=2", "conflict"]})
    assert outcome["data"] == ["conflict", "behind=2"]
    sent = await bench.host.expect("session.send")
    assert "conflict" in sent["prompt"]
    assert await found == "UNAUTHORIZED"


async def test_pushes_show_and_wake(bench: Bench) -> None:
    provider = Provider("pusher")

    @provider.background
    async def push(session: Session) -> None:
        session.log("half a smile: \ud83d")
        session.prompt("Look at the build.")

    await bench.serve(provider)
    assert "half a smile: \ufffd" in (await bench.host.expect("session.log"))["message"]
    assert "Look at the build." in (await bench.host.expect("session.send"))["prompt"]


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


@pytest.mark.expects_error_log("the handler of tool.execution_complete failed")
async def test_handlers_hear_of_events_and_of_the_sessions_life(bench: Bench) -> None:
    provider = Provider("listener")
    heard: list[tuple[str, Any]] = []
    both = asyncio.Event()

    @provider.tool
    def nothing() -> None:
        return None

    @provider.on("session.started")
    @provider.on("session.idle")
    def life(news: SessionNews) -> None:
        heard.append((news.name, news.session.id))

    @provider.on("tool.execution_complete")
    async def breaks(news: SessionNews) -> None:
        raise RuntimeError

    @provider.on("tool.execution_complete")
    async def completed(news: SessionNews) -> None:
        heard.append((news.name, news.data["tool"]))
        both.set()

    await bench.serve(provider)
    await bench.call("nothing")
    async with asyncio.timeout(HUNG):
        await both.wait()
    assert heard == [
        ("session.started", bench.session),
        ("session.idle", bench.session),
        ("tool.execution_complete", "nothing"),
    ]


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
