"""The commands against a running gateway: what they print, and every way to end."""

import asyncio
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.cli.running import (
    HOSTILE,
    RAW,
    Command,
    ask_permission,
    begun,
    on_terminal,
    provider,
    push,
    ran,
    run,
)
from tests.cli.schemas import check
from tests.rig.gateway import ANYBODY, PERSON, Gateway, Home, tapui_argv
from tests.rig.peers import Host
from tests.rig.tmux import Tmux
from tests.rig.waiting import until


def test_a_setting_that_is_written_while_the_gateway_runs_is_named_where_it_would_allow(
    home: Home, serve: Callable[..., Gateway]
) -> None:
    gateway = serve("--no-attach", env=PERSON)
    refused = ran(home, "send", "local", "hello")
    assert (refused.returncode, "has no terminal" in refused.stderr) == (1, True)
    assert "other settings" not in refused.stderr
    home.settle(ANYBODY)
    refused = ran(home, "send", "local", "hello")
    assert refused.returncode == 1
    assert 'approvals.command-line is "person" there' in refused.stderr
    assert f"apply these with tapui stop --port {gateway.port}" in refused.stderr


# status


async def test_status_shows_everything_and_nothing_raw(gateway: Gateway, home: Home) -> None:
    schema = {"type": "object"}
    tool = {"name": "greet", "description": HOSTILE, "parameters": schema}
    async with provider(gateway, name=HOSTILE, tools=[tool]) as one:
        await push(one, HOSTILE, metadata={"x": HOSTILE})
        host, watching, approval_id = await ask_permission(gateway)
        async with host, watching:
            await host.open("s2", label=HOSTILE, cwd=f"/{HOSTILE}", model=HOSTILE)
            code, out, err = await run(home, "status")
            assert (code, err) == (0, "")
            assert RAW.search(out) is None
            for expected in (
                gateway.url,
                "Sessions (2)",
                "Providers (1)",
                "\\x1b]0;owned",
                "builds@",
                "Waiting for you (1)",
                "Waiting for you (1)",
                "FROM   WAITS  ASKS",
                "answer in the tower, or with `tapui approve ID` or `tapui deny ID`",
            ):
                assert expected in out
            assert re.search(rf"{approval_id}  First  \d+s +run ls\n", out)
            code, out, err = await run(home, "status", "--json")
            assert (code, err) == (0, "")
            state = check("status", out)["state"]
            assert [one["label"] for one in state["sessions"]] == ["local", "First", HOSTILE]
            assert state["streams"][0]["last"]["event"] == HOSTILE


async def test_a_status_bar_is_told_in_a_few_characters(gateway: Gateway, home: Home) -> None:
    assert await run(home, "status", "--line") == (0, "", "")
    host, watching, _ = await ask_permission(gateway)
    async with host, watching, provider(gateway) as one:
        assert await run(home, "status", "--line") == (0, "!1\n", "")
        for _ in range(2):
            command = begun(home, "call", "greet")
            await one.answer(error="no", errorCode="INTERNAL")
            assert (await command)[0] == 1
        assert await run(home, "status", "--line") == (0, "!1 ✗2\n", "")


async def test_a_session_that_changed_files_is_done_and_never_idle(
    gateway: Gateway, home: Home
) -> None:
    async with await Host.hello(gateway.url, gateway.internal_token) as host:
        await host.open("s1", label="First")
        edit = {"toolCallId": "c1", "tool": "edit"}
        happened: list[tuple[str, dict[str, object]]] = [
            ("user.message", {"content": HOSTILE}),
            ("tool.execution_start", edit),
            ("tool.execution_complete", edit | {"changes": [{"path": "a.py", "added": 1}]}),
            ("assistant.message", {"content": "All tests pass."}),
            ("session.idle", {}),
        ]
        for name, data in happened:
            said = {"type": "session.event", "sessionId": "s1", "event": name, "data": data}
            await host.send(said)
        await host.invoke("s1", "tap_get_session_state", {})
        told = (await host.expect("tool.outcome"))["data"]["recorded"]
        _, out, _ = await run(home, "status")
        assert re.search(r"s1 +First +done +0", out)
        _, out, _ = await run(home, "status", "--json")
        recorded = check("status", out)["recorded"]
        _, out, _ = await run(home, "doctor", "--json")
        (finding,) = [one for one in check("doctor", out)["findings"] if one["id"] == "proof"]
        assert await run(home, "status", "--line") == (0, "", "")
    assert told == {"state": "unknown", "turn": 1, "text": None, "checkedIn": None}
    assert recorded == {"s1": told}
    assert finding["state"] == "ok"
    assert finding["text"].endswith(": 1 without a known check")


async def test_changes_are_plain_lines(gateway: Gateway, home: Home) -> None:
    host, watching, approval_id = await ask_permission(gateway)
    command = await Command.start(home, "status", "--watch")
    async with host, watching:
        asked = f"run ls (asked by First, {approval_id})\n"
        assert re.fullmatch(r"\d\d:\d\d:\d\d  session First: asks you\n", await command.line())
        assert (await command.line())[10:] == f"waits for you: {asked}"
        assert (await run(home, "deny", approval_id))[0] == 0
        assert (await command.line())[10:] == f"denied by the command line, no check: {asked}"
        await host.send({"type": "session.event", "sessionId": "s1", "event": "session.busy"})
        assert (await command.line())[10:] == "session First: busy\n"
        await host.open("s2", label=HOSTILE)
        told = await command.line()
        assert RAW.search(told) is None
        assert "\\x1b]0;owned" in told
    assert (await command.line())[10:] == "session First: ended\n"
    assert (await command.line()).endswith(": ended\n")
    assert gateway.stop() == 0
    assert await command.end() == (0, "", "the gateway is stopping\n")


async def test_a_gateway_on_another_port_is_found_when_it_is_the_only_one(
    gateway: Gateway, home: Home
) -> None:
    code, out, _ = await run(home, "status")
    assert code == 0
    assert out.startswith(f"{gateway.url}  pid {gateway.pid}  tapui ")
    code, _, err = await run(home, "status", "--port", "1")
    assert (code, err) == (
        3,
        f"tapui: no gateway runs on port 1; choose one with --port: {gateway.port}\n",
    )


@pytest.mark.parametrize("command", [(), ("demo",)])
@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_is_none_is_refused_with_what_to_use_instead(
    home: Home, command: tuple[str, ...], term: str
) -> None:
    said = on_terminal(home.env(TERM=term), *tapui_argv(*command), code=2)
    assert said == (
        "tapui: this terminal (TERM=dumb) cannot show the tower; "
        "`tapui status --watch` tells what happens line by line\r\n"
    )


# records


async def test_records_are_read_with_and_without_a_gateway(gateway: Gateway, home: Home) -> None:
    async with provider(gateway) as one:
        command = begun(home, "call", "greet", "--args", json.dumps({"x": HOSTILE}))
        await one.answer(data={"y": HOSTILE})
        assert (await command)[0] == 0
        await push(one, HOSTILE)
        assert (await run(home, "tail", "builds"))[0] == 0
    assert gateway.stop() == 0
    done = ran(home, "records", "--session", "local", "--collection", "calls")
    assert (done.returncode, done.stderr) == (0, "")
    assert [text.split()[2] for text in done.stdout.splitlines()] == [
        "call.started",
        "call.finished",
    ]
    assert "greet of greeter done after" in done.stdout
    done = ran(home, "records", "--json", "--last", "1000")
    assert (done.returncode, done.stderr) == (0, "")
    records = [check("records", text) for text in done.stdout.splitlines()]
    order = [(one["run"], one["seq"]) for one in records]
    assert order == sorted(order)
    kinds = {one["kind"] for one in records}
    assert {"session.opened", "provider.bound", "call.finished", "stream.posted"} <= kinds
    done = ran(home, "records")
    assert RAW.search(done.stdout) is None
    assert len(ran(home, "records", "--last", "2").stdout.splitlines()) == 2
    done = ran(home, "records", "--session", "loc")
    assert (done.returncode, done.stderr) == (0, "")
    done = ran(home, "records", "--session", "zzz")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("tapui: there are no records of session zzz; sessions with rec")


def test_an_agent_s_question_to_the_records_is_answered(gateway: Gateway, home: Home) -> None:
    assert ran(home, "call", "tap_post", "stream=notes", "message=found it").returncode == 0
    done = ran(home, "call", "tap_query_records", "collection=streams")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [one["line"]["event"] for one in told["records"]] == ["found it"]
    where = json.dumps([{"field": "call.tool", "op": "eq", "value": "tap_post"}])
    done = ran(home, "call", "tap_query_records", "collection=calls", f"where={where}")
    (call,) = json.loads(done.stdout)["records"]
    assert (call["call"]["provider"], call["call"]["state"]) == ("tap", "done")
    refused = ran(home, "call", "tap_query_records", "collection=evals")
    assert refused.returncode != 0
    assert "collection" in refused.stderr


def test_damaged_records_are_passed_over_and_counted(gateway: Gateway, home: Home) -> None:
    assert ran(home, "call", "tap_list_streams").returncode == 0
    assert gateway.stop() == 0
    file = next(home.tapui.rglob("calls.jsonl"))
    with file.open("ab") as out:
        out.write(b'{"v":1,"damaged\n{"torn')
    done = ran(home, "records", "--collection", "calls")
    assert (done.returncode, done.stdout.count("\n")) == (0, 2)
    assert done.stderr.splitlines() == [
        "damaged lines passed over: 1",
        "unfinished last lines passed over: 1",
    ]


# serve, stop


def test_the_ready_line_fits_its_schema(gateway: Gateway) -> None:
    ready = check("ready", gateway.stdout)
    assert ready["pid"] == gateway.pid
    assert Path(ready["internalTokenFile"]).stat().st_mode & 0o777 == 0o600


def test_stop_ends_the_gateway_and_returns_when_it_has(gateway: Gateway, home: Home) -> None:
    done = ran(home, "stop")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"stopped {gateway.url} (pid {gateway.pid})\n"
    assert gateway.wait() == 0
    assert ran(home, "stop").returncode == 3


async def test_stop_asks_where_headless_sessions_end_with_it(
    gateway: Gateway, home: Home, tmux: Tmux
) -> None:
    async with await Host.hello(gateway.url, gateway.internal_token) as host:
        await host.open("s1", label="Nightly", headless=True, can=["close"])
        code, out, err = await run(home, "stop")
        assert (code, out) == (2, "")
        assert "ends with it: headless session Nightly (it rests); its id: s1" in err
        assert "Say so with --yes" in err
        screen = tmux.start(tapui_argv("stop"), env=home.env(), cwd=home.root)
        await screen.seen("end the gateway, and these sessions with it")
        screen.keys("Enter")
        assert await asyncio.to_thread(screen.wait_dead) == 1
        assert (await run(home, "status"))[0] == 0
        code, out, _ = await run(home, "stop", "--yes")
        assert (code, out) == (0, f"stopped {gateway.url} (pid {gateway.pid})\n")


def test_two_gateways_are_told_apart_by_port(
    gateway: Gateway, home: Home, serve: Callable[..., Gateway]
) -> None:
    other = serve("--no-attach")
    done = ran(home, "stop")
    ports = ", ".join(str(port) for port in sorted([gateway.port, other.port]))
    assert done.returncode == 3
    assert done.stderr == f"tapui: no gateway runs on port 9400; choose one with --port: {ports}\n"
    done = ran(home, "stop", "--port", str(other.port))
    assert (done.returncode, done.stdout) == (0, f"stopped {other.url} (pid {other.pid})\n")
    assert ran(home, "status").stdout.startswith(gateway.url)


def test_a_detached_gateway_is_ready_when_the_command_returns(home: Home) -> None:
    home.root.mkdir(parents=True, exist_ok=True)
    done = home.run("serve", "--detach", "--json", "--no-attach", "--port", "0")
    try:
        assert (done.returncode, done.stderr) == (0, "")
        ready = check("ready", done.stdout)
        process = psutil.Process(ready["pid"])
        assert os.getsid(ready["pid"]) == ready["pid"] != os.getsid(0)
        assert ran(home, "status").stdout.startswith(ready["url"])
        log = next((home.tapui / "log").iterdir())
        assert log.stat().st_mode & 0o777 == 0o600
        again = ran(home, "serve", "--detach", "--port", ready["url"].rpartition(":")[2])
        assert (again.returncode, again.stdout) == (2, "")
        assert "choose" in again.stderr
        assert len(list((home.tapui / "log").iterdir())) == 1
    finally:
        assert ran(home, "stop").returncode == 0
    until(lambda: not process.is_running(), what="the gateway's process has ended")


def test_a_detached_gateway_tells_in_words_without_json(home: Home) -> None:
    home.root.mkdir(parents=True, exist_ok=True)
    done = home.run("serve", "--detach", "--no-attach", "--port", "0")
    try:
        assert done.returncode == 0
        assert re.fullmatch(r"serving ws://localhost:\d+ \(pid \d+\)\n", done.stdout)
        assert done.stderr.startswith(f"`tapui stop` ends it; log: {home.tapui}/")
    finally:
        assert ran(home, "stop").returncode == 0
