"""Rules of a running gateway, from the file to the answer, and who allowed what."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.running import Command, provider, run
from tests.cli.schemas import check
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host

RULES = '[[rules]]\nallow = "npm ci"\n\n[[rules]]\ndeny = "rm"\nreason = "not here"\n'


async def asks(host: Host, id_: str, command: str) -> None:
    """Begin a call and ask for its permission, as a host does."""
    args = {"command": command}
    begun = {"tool": "bash", "toolCallId": f"call-{id_}", "args": args}
    event = {"type": "session.event", "sessionId": "s1", "event": "tool.execution_start"}
    await host.send({**event, "data": begun})
    detail = {"kind": "shell", "fullCommandText": command, "toolCallId": f"call-{id_}"}
    await host.send(
        {"type": "approval.request", "id": id_, "sessionId": "s1", "kind": "permission",
         "detail": detail}
    )  # fmt: skip


async def opened(gateway: Gateway, folder: Path) -> Host:
    host = await Host.hello(gateway.url, gateway.internal_token)
    await host.open("s1", cwd=str(folder))
    return host


async def test_a_rule_of_the_file_answers_and_why_allowed_names_it(
    serve: Callable[..., Gateway], home: Home, tmp_path: Path
) -> None:
    home.tapui.mkdir(parents=True, exist_ok=True)
    (home.tapui / "config.toml").write_text(RULES)
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "tapui.toml").write_text('[[rules]]\nask = "npm ci --force"\n')
    gateway = serve("--no-attach")
    async with await opened(gateway, tmp_path / "link") as host:
        await asks(host, "r1", "npm ci")
        assert (await host.expect("approval.answer", id="r1"))["decision"] == "approve"
        await asks(host, "r2", "npm ci && rm x")
        assert (await host.expect("approval.answer", id="r2"))["reason"] == "not here"
        await asks(host, "r3", "npm ci --force")
        await asks(host, "r5", "npm ci --force")
        await asks(host, "r4", "npm ci -v")
        assert (await host.expect("approval.answer"))["id"] == "r4"
        await host.send(
            {"type": "session.event", "sessionId": "s1", "event": "permission.completed",
             "data": {"toolCallId": "call-r3", "by": "allow-all"}}
        )  # fmt: skip
        await host.send(
            {"type": "session.event", "sessionId": "s1", "event": "permission.completed",
             "data": {"toolCallId": "call-r5", "by": "cli-judge", "reason": "it only reads"}}
        )  # fmt: skip
        code, out, _ = await run(home, "why-allowed", "call-r1")
        assert code == 0
        assert "bash  npm ci" in out
        assert "allowed by rule “npm ci” (" in out
        assert "config.toml:2)" in out
        code, out, _ = await run(home, "why-allowed", "call-r2")
        assert "denied by rule “rm”" in out
        code, out, _ = await run(home, "why-allowed", "--json", "call-r3")
        told: dict[str, Any] = json.loads(out)
        assert (told["by"], told["words"]) == ("allow-all", "Copilot's allow-all")
        code, out, _ = await run(home, "why-allowed", "call-r5")
        assert "allowed by Copilot's judge: it only reads" in out
        code, out, err = await run(home, "why-allowed", "call-r9")
        assert (code, out) == (1, "")
        assert "no record has a call call-r9" in err


async def test_a_request_that_no_rule_answers_says_which_came_nearest(
    serve: Callable[..., Gateway], home: Home, tmp_path: Path
) -> None:
    home.tapui.mkdir(parents=True, exist_ok=True)
    (home.tapui / "config.toml").write_text(RULES)
    async with await opened(serve("--no-attach"), tmp_path) as host:
        await asks(host, "r1", "npm run build > log")
        await asks(host, "r2", "npm ci && rm x")
        await host.expect("approval.answer", id="r2")
        why = "rule “npm ci”: it names ci, not run"
        code, out, _ = await run(home, "status", "--json")
        asked, denied = check("status", out)["state"]["approvals"]
        assert (code, asked["judged"]["parts"][0]["why"]) == (0, why)
        assert (denied["rule"]["effect"], denied["rule"]["pattern"]) == ("deny", "rm")
        code, out, _ = await run(home, "show", asked["id"])
        assert (code, f"  └ no rule allows it: {why}\n  └ writes log\n" in out) == (0, True)
        code, out, _ = await run(home, "show", denied["id"])
        assert "  └ rm x    denied by rule “rm” (" in out
        assert out.splitlines()[-1].startswith("denied by rule “rm” (")


async def test_a_call_that_was_denied_before_a_question_says_by_what(
    serve: Callable[..., Gateway], home: Home, tmp_path: Path
) -> None:
    home.tapui.mkdir(parents=True, exist_ok=True)
    (home.tapui / "config.toml").write_text(RULES)
    gateway = serve("--no-attach")
    async with await opened(gateway, tmp_path) as host:
        event = {"type": "session.event", "sessionId": "s1"}
        for id_, command in (("c1", "rm x"), ("c2", "ls")):
            told: dict[str, Any] = {"tool": "bash", "toolCallId": id_, "args": {"command": command}}
            await host.send({**event, "event": "tool.execution_start", "data": told})
            await host.send(
                {"type": "hook.preToolUse", "id": id_, "sessionId": "s1", "tool": "bash",
                 "args": told["args"]}
            )  # fmt: skip
            await host.expect("hook.decision", id=id_)
            told["result"] = {"type": "denied", "output": "no"}
            await host.send({**event, "event": "tool.execution_complete", "data": told})
        await host.send(
            {"type": "hook.preToolUse", "id": "c3", "sessionId": "s1", "tool": "view", "args": {}}
        )
        await host.expect("hook.decision", id="c3")
        code, out, _ = await run(home, "why-allowed", "c1")
        assert code == 0
        assert "denied by rule “rm” (" in out
        assert "not here" in out
        _, out, _ = await run(home, "why-allowed", "--json", "c1")
        assert (json.loads(out)["state"], json.loads(out)["by"]) == ("denied", "rule")
        _, out, _ = await run(home, "why-allowed", "c2")
        assert "denied by Copilot: no" in out


async def test_calls_that_copilot_asks_nobody_about_are_named_too(
    gateway: Gateway, home: Home
) -> None:
    async with await Host.hello(gateway.url, gateway.internal_token) as host:
        await host.open("s1")
        await host.invoke("s1", "tap_list_streams", toolCallId="t-1")
        await host.expect("tool.outcome", id="i1")
        code, out, _ = await run(home, "why-allowed", "t-1")
        assert code == 0
        assert "tap_list_streams" in out
        assert "a tool of tapui's own that only reads" in out
    async with provider(gateway) as one:
        command = await Command.start(home, "call", "greet")
        call = await one.expect("tool.call")
        await one.send({"type": "tool.result", "id": call["id"], "data": 1})
        await command.end()
        assert (
            "allowed by the command line, no check\n"
            in (await run(home, "why-allowed", call["id"]))[1]
        )


async def test_a_file_that_is_saved_holds_without_a_restart(
    serve: Callable[..., Gateway], home: Home, tmp_path: Path
) -> None:
    gateway = serve("--no-attach")
    async with await opened(gateway, tmp_path) as host:
        await asks(host, "r1", "npm ci")
        home.tapui.mkdir(parents=True, exist_ok=True)
        (home.tapui / "config.toml").write_text(RULES)
        answer = await host.expect("approval.answer")
        assert (answer["id"], answer["decision"]) == ("r1", "approve")
        (tmp_path / "tapui.toml").write_text('[[rules]]\ndeny = "npm ci"\n')
        await asks(host, "r2", "rm x")
        assert (await host.expect("approval.answer", id="r2"))["decision"] == "deny"
