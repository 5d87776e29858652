"""The commands against a running gateway: what they print, and every way to end."""

import asyncio
import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import takewhile
from pathlib import Path

import psutil
import pytest

from tests.cli.schemas import check
from tests.rig.gateway import Gateway, Home, tapui_argv
from tests.rig.peers import Host, Peer, Provider
from tests.rig.waiting import until

HOSTILE = "\x1b]0;owned\x07\x9b31m\u202e\x00\x7f[/]\u2028end"
"""Title, colour, direction, NUL, DEL, markup and a line separator, as a peer may send them."""
RAW = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]")


class Command:
    """A `tapui` process that runs beside the test's event loop."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid

    @classmethod
    async def start(cls, home: Home, *args: str) -> "Command":
        return cls(
            await asyncio.create_subprocess_exec(
                *tapui_argv(*args),
                env=home.env(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )

    async def line(self) -> str:
        """Return the next line of stdout."""
        assert self._process.stdout is not None
        async with asyncio.timeout(10):
            return (await self._process.stdout.readline()).decode()

    async def note(self) -> str:
        """Return the next line of stderr."""
        assert self._process.stderr is not None
        async with asyncio.timeout(10):
            return (await self._process.stderr.readline()).decode()

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def close_stdout(self) -> None:
        """Stop reading, as `head` does when it has enough."""
        self._process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]

    async def end(self) -> tuple[int, str, str]:
        """Return exit code, and the rest of stdout and stderr."""
        async with asyncio.timeout(15):
            out, err = await self._process.communicate()
        assert self._process.returncode is not None
        return self._process.returncode, out.decode(), err.decode()


async def run(home: Home, *args: str) -> tuple[int, str, str]:
    return await (await Command.start(home, *args)).end()


@asynccontextmanager
async def provider(gateway: Gateway, **options: object) -> AsyncIterator[Provider]:
    one = await Provider.bind(gateway.url, gateway.token, **options)  # type: ignore[arg-type]
    async with one:
        yield one


async def push(one: Provider, event: str, level: str = "keep", **more: object) -> None:
    await one.send({"type": "push", "level": level, "stream": "builds", "event": event, **more})


async def tower(gateway: Gateway) -> Peer:
    peer = await Peer.connect(gateway.url, token=gateway.internal_token)
    await peer.send({"type": "tower.hello", "protocolVersion": 2})
    await peer.expect("tower.snapshot")
    return peer


async def ask_permission(gateway: Gateway) -> tuple[Host, Peer, str]:
    """Return a host whose session asks for a permission, a tower, and the approval's id."""
    watching = await tower(gateway)
    host = await Host.hello(gateway.url, gateway.internal_token)
    await host.open("s1", label="First")
    await host.send(
        {
            "type": "approval.request",
            "id": "r1",
            "sessionId": "s1",
            "kind": "permission",
            "detail": {"kind": "shell", "fullCommandText": "ls"},
        }
    )
    event = await next_event(watching, "approval.requested")
    return host, watching, event["approval"]["id"]


async def next_event(peer: Peer, kind: str) -> dict[str, dict[str, str]]:
    while (event := (await peer.expect("tower.event"))["event"])["kind"] != kind:
        pass
    return event


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
                "Sessions (3)",
                "Providers (1)",
                "\\x1b]0;owned",
                "builds@",
                "Waiting for you (1)",
                approval_id,
            ):
                assert expected in out
            code, out, err = await run(home, "status", "--json")
            assert (code, err) == (0, "")
            state = check("status", out)["state"]
            assert [one["label"] for one in state["sessions"]] == ["local", "First", HOSTILE]
            assert state["streams"][0]["last"]["event"] == HOSTILE


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


@pytest.mark.usefixtures("gateway")
def test_a_terminal_gets_bold_headings_unless_no_color_is_set(home: Home) -> None:
    assert "\x1b[1mSessions (1)\x1b[0m" in on_terminal(home.env(), "status")
    assert "\x1b" not in on_terminal(home.env(NO_COLOR="1"), "status")
    assert "\x1b" not in on_terminal(home.env(TERM="dumb"), "status")


def on_terminal(env: dict[str, str], *args: str) -> str:
    """Run a command with a terminal as its stdout; return what arrived there."""
    master, slave = pty.openpty()
    try:
        process = subprocess.Popen(tapui_argv(*args), env=env, stdin=slave, stdout=slave)
        os.close(slave)
        data = b""
        while True:
            try:
                block = os.read(master, 4096)
            except OSError:  # Linux: the other end is closed
                break
            if not block:
                break
            data += block
        assert process.wait(10) == 0
    finally:
        os.close(master)
    return data.decode()


# call


async def test_call_prints_the_result_as_json_and_progress_as_notes(
    gateway: Gateway, home: Home
) -> None:
    async with provider(gateway) as one:
        command = await Command.start(home, "call", "greet", "--args", '{"name": "Ada"}')
        call = await one.expect("tool.call")
        assert (call["args"], call["sessionId"]) == ({"name": "Ada"}, "local")
        await one.send({"type": "tool.progress", "id": call["id"], "message": f"50 % {HOSTILE}"})
        assert "50 % \\x1b]0;owned" in await command.note()
        data = {"text": HOSTILE, "number": 12345678901234567890.5}
        await one.send({"type": "tool.result", "id": call["id"], "data": data})
        code, out, err = await command.end()
    assert (code, err) == (0, "")
    assert RAW.search(out) is None
    assert json.loads(out) == data


@pytest.mark.parametrize(
    ("result", "code", "out", "err"),
    [
        ({"data": None}, 0, "null\n", ""),
        ({"data": 1e400}, 0, "1e400\n", ""),
        (
            {"error": "not\tthere\nat all", "errorCode": "NOT_FOUND"},
            1,
            "",
            "tapui: NOT_FOUND: not\\x09there at all\n",
        ),
        ({"errorCode": "RATE_LIMITED"}, 1, "", "tapui: RATE_LIMITED: RATE_LIMITED\n"),
    ],
)
async def test_how_a_call_ends(
    gateway: Gateway, home: Home, result: dict[str, object], code: int, out: str, err: str
) -> None:
    async with provider(gateway) as one:
        command = await Command.start(home, "call", "greet")
        call = await one.expect("tool.call")
        message = json.dumps({"type": "tool.result", "id": call["id"], **result})
        await one._socket.send(message.replace("Infinity", "1e400"))
        assert await command.end() == (code, out, err)


@pytest.mark.usefixtures("gateway")
@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("nope",), "NOT_FOUND: Tool 'nope' is not supported"),
        (("tap_list_streams", "--session", "gone"), "NOT_FOUND: unknown session gone"),
    ],
)
def test_a_call_that_cannot_be_made_is_1(home: Home, args: tuple[str, ...], said: str) -> None:
    done = home.run("call", *args)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr


async def test_interrupting_a_call_cancels_it_and_is_130(gateway: Gateway, home: Home) -> None:
    async with provider(gateway) as one:
        command = await Command.start(home, "call", "greet")
        call = await one.expect("tool.call")
        command.interrupt()
        cancel = await one.expect("tool.cancel")
        assert (cancel["id"], cancel["reason"]) == (call["id"], "interrupted by the person")
        assert await command.end() == (130, "", "")


async def test_a_gateway_that_is_killed_during_a_call_is_1(gateway: Gateway, home: Home) -> None:
    async with provider(gateway) as one:
        command = await Command.start(home, "call", "greet")
        await one.expect("tool.call")
        gateway.kill()
        code, out, err = await command.end()
        assert (code, out) == (1, "")
        assert err == "tapui: the gateway closed the connection\n"
    code, _, err = await run(home, "status")
    assert code == 3
    assert err.startswith("tapui: no gateway runs; start one")


# tail


async def test_tail_prints_the_held_lines_oldest_first(gateway: Gateway, home: Home) -> None:
    async with provider(gateway) as one:
        for number in range(3):
            await push(one, f"line {number} {HOSTILE}", metadata={"n": number})
        watching = await tower(gateway)
        async with watching:
            await watching.send(
                {"type": "stream.read", "id": "x", "stream": "builds@greeter", "sessionId": "local"}
            )
            assert len((await watching.expect("stream.lines"))["lines"]) == 3
        code, out, err = await run(home, "tail", "builds")
        assert (code, err) == (0, "")
        assert RAW.search(out) is None
        assert [re.sub(r"^[\d: -]{19}", "T", text)[:18] for text in out.splitlines()] == [
            "T  keep     line 0",
            "T  keep     line 1",
            "T  keep     line 2",
        ]
        code, out, err = await run(home, "tail", "builds@greeter", "--json")
        assert (code, err) == (0, "")
        lines = [check("tail", text) for text in out.splitlines()]
        assert [line["seq"] for line in lines] == [1, 2, 3]
        assert lines[2]["event"] == f"line 2 {HOSTILE}"
        assert lines[2]["metadata"] == {"n": 2}


async def test_tail_follows_until_the_session_ends(gateway: Gateway, home: Home) -> None:
    host = await Host.hello(gateway.url, gateway.internal_token)
    async with host:
        await host.open("s1")
        async with provider(gateway, session="s1") as one:
            await push(one, "first")
            command = await Command.start(home, "tail", "builds", "--follow", "--json")
            assert check("tail", await command.line())["event"] == "first"
            await push(one, "second", "surface")
            second = check("tail", await command.line())
            assert (second["seq"], second["level"]) == (2, "surface")
            fields = {"id": "s2", "label": "s2", "cwd": "/", "replaces": "s1"}
            await host.send({"type": "session.open", "session": fields})
            await host.expect("session.opened", sessionId="s2")
            await push(one, "third", sessionId="s2")
            third = check("tail", await command.line())
            assert (third["event"], third["sessionId"]) == ("third", "s2")
            await one.send({"type": "goodbye"})
        await host.send({"type": "session.close", "sessionId": "s2"})
        assert await command.end() == (0, "", "the session ended\n")


async def test_tail_waits_for_a_stream_that_is_yet_to_come(gateway: Gateway, home: Home) -> None:
    command = await Command.start(home, "tail", "builds", "--follow")
    assert await command.note() == "waiting for stream builds\n"
    async with provider(gateway) as one:
        await push(one, "here")
        assert (await command.line()).endswith("keep     here\n")
        command.interrupt()
        assert await command.end() == (130, "", "")


async def test_a_tail_whose_reader_has_enough_ends_quietly(gateway: Gateway, home: Home) -> None:
    async with provider(gateway) as one:
        await push(one, "first")
        command = await Command.start(home, "tail", "builds", "--follow")
        await command.line()
        command.close_stdout()
        ending = asyncio.create_task(command.end())
        while not ending.done():
            await push(one, "more")
            await asyncio.wait([ending], timeout=0.2)
        code, _, err = ending.result()
    assert (code, err) == (0, "")


async def test_a_stream_that_is_not_there_or_not_alone(gateway: Gateway, home: Home) -> None:
    code, _, err = await run(home, "tail", "builds")
    assert (code, err) == (1, "tapui: there is no stream builds; no stream has a line yet\n")
    async with provider(gateway) as one, provider(gateway, name="other", tools=[]) as two:
        for each in (one, two):
            await push(each, "x")
        code, _, err = await run(home, "tail", "nope")
        assert code == 1
        assert "there are: builds@greeter, builds@other" in err
        code, _, err = await run(home, "tail", "builds")
        assert code == 1
        assert "builds could be several streams" in err
        code, out, _ = await run(home, "tail", "builds@other")
        assert (code, out.count("\n")) == (0, 1)


# approve, deny


@pytest.mark.parametrize(
    ("command", "word", "decision"),
    [("approve", "approved", "approve"), ("deny", "denied", "deny")],
)
async def test_a_permission_is_decided_by_a_beginning_of_its_id(
    gateway: Gateway, home: Home, command: str, word: str, decision: str
) -> None:
    host, watching, id_ = await ask_permission(gateway)
    async with host, watching:
        assert await run(home, command, id_[:-1]) == (0, f"{word} permission {id_}\n", "")
        assert (await host.expect("approval.answer", id="r1"))["decision"] == decision
        decided = await next_event(watching, "approval.decided")
        assert decided["approval"]["decidedBy"] == f"tapui {command}"
        code, _, err = await run(home, command, id_)
        assert (code, err) == (1, f"tapui: {id_} no longer waits: {word} by tapui {command}\n")
        code, _, err = await run(home, command, "zzz")
        assert (code, err) == (1, "tapui: there is no approval zzz; nothing waits for you\n")


async def test_an_ambiguous_beginning_decides_nothing(gateway: Gateway, home: Home) -> None:
    host, watching, first = await ask_permission(gateway)
    async with host, watching:
        message = {"type": "approval.request", "id": "r2", "sessionId": "s1", "kind": "permission"}
        await host.send(message)
        second = (await next_event(watching, "approval.requested"))["approval"]["id"]
        same = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
        common = "".join(one for one, _ in same)
        code, _, err = await run(home, "approve", common)
        assert (code, err) == (1, f"tapui: {common} fits several: {first}, {second}\n")


async def test_approving_a_pairing_prints_the_code_that_pairs(gateway: Gateway, home: Home) -> None:
    watching = await tower(gateway)
    visitor = await Peer.connect(gateway.url, origin="https://dash.example")
    async with watching, visitor:
        await visitor.send({"type": "auth", "mode": "pair"})
        await visitor.expect("auth.pairing")
        id_ = (await next_event(watching, "approval.requested"))["approval"]["id"]
        code, out, err = await run(home, "approve", id_)
        assert code == 0
        assert re.fullmatch(r"\d{6}\n", out)
        assert err.startswith("type this code at the provider, before ")
        await visitor.send({"type": "auth.confirm", "code": out.strip()})
        assert (await visitor.expect("sessions"))["token"].startswith("ext-")


async def test_a_question_is_not_approved_without_an_answer(gateway: Gateway, home: Home) -> None:
    host, watching, _ = await ask_permission(gateway)
    async with host, watching:
        message = {"type": "approval.request", "id": "r2", "sessionId": "s1", "kind": "userInput"}
        await host.send({**message, "detail": {"question": "Which?"}})
        id_ = (await next_event(watching, "approval.requested"))["approval"]["id"]
        code, out, err = await run(home, "approve", id_)
        assert (code, out) == (2, "")
        assert "asks for an answer; give it in the tower" in err


# records


async def test_records_are_read_with_and_without_a_gateway(gateway: Gateway, home: Home) -> None:
    async with provider(gateway) as one:
        command = await Command.start(home, "call", "greet", "--args", json.dumps({"x": HOSTILE}))
        await one.answer(data={"y": HOSTILE})
        assert (await command.end())[0] == 0
        await push(one, HOSTILE)
        assert (await run(home, "tail", "builds"))[0] == 0
    assert gateway.stop() == 0
    done = home.run("records", "--session", "local", "--collection", "calls")
    assert (done.returncode, done.stderr) == (0, "")
    assert [text.split()[2] for text in done.stdout.splitlines()] == [
        "call.started",
        "call.finished",
    ]
    assert "greet of greeter done after" in done.stdout
    done = home.run("records", "--json", "--last", "1000")
    assert (done.returncode, done.stderr) == (0, "")
    records = [check("records", text) for text in done.stdout.splitlines()]
    order = [(one["run"], one["seq"]) for one in records]
    assert order == sorted(order)
    kinds = {one["kind"] for one in records}
    assert {"session.opened", "provider.bound", "call.finished", "stream.posted"} <= kinds
    done = home.run("records")
    assert RAW.search(done.stdout) is None
    assert len(home.run("records", "--last", "2").stdout.splitlines()) == 2
    done = home.run("records", "--session", "loc")
    assert (done.returncode, done.stderr) == (0, "")
    done = home.run("records", "--session", "zzz")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("tapui: there are no records of session zzz; sessions with rec")


def test_damaged_records_are_passed_over_and_counted(gateway: Gateway, home: Home) -> None:
    assert home.run("call", "tap_list_streams").returncode == 0
    assert gateway.stop() == 0
    file = next(home.tapui.rglob("calls.jsonl"))
    with file.open("ab") as out:
        out.write(b'{"v":1,"damaged\n{"torn')
    done = home.run("records", "--collection", "calls")
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
    done = home.run("stop")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"stopped {gateway.url} (pid {gateway.pid})\n"
    assert gateway.wait(within=5) == 0
    assert home.run("stop").returncode == 3


def test_two_gateways_are_told_apart_by_port(
    gateway: Gateway, home: Home, serve: Callable[..., Gateway]
) -> None:
    other = serve("--no-attach")
    done = home.run("stop")
    ports = ", ".join(str(port) for port in sorted([gateway.port, other.port]))
    assert done.returncode == 3
    assert done.stderr == f"tapui: no gateway runs on port 9400; choose one with --port: {ports}\n"
    done = home.run("stop", "--port", str(other.port))
    assert (done.returncode, done.stdout) == (0, f"stopped {other.url} (pid {other.pid})\n")
    assert home.run("status").stdout.startswith(gateway.url)


def test_a_detached_gateway_is_ready_when_the_command_returns(home: Home) -> None:
    home.root.mkdir(parents=True, exist_ok=True)
    done = home.run("serve", "--detach", "--json", "--no-attach", "--port", "0")
    try:
        assert (done.returncode, done.stderr) == (0, "")
        ready = check("ready", done.stdout)
        process = psutil.Process(ready["pid"])
        assert os.getsid(ready["pid"]) == ready["pid"] != os.getsid(0)
        assert home.run("status").stdout.startswith(ready["url"])
        log = next((home.tapui / "log").iterdir())
        assert log.stat().st_mode & 0o777 == 0o600
        again = home.run("serve", "--detach", "--port", ready["url"].rpartition(":")[2])
        assert (again.returncode, again.stdout) == (2, "")
        assert "choose" in again.stderr
        assert len(list((home.tapui / "log").iterdir())) == 1
    finally:
        assert home.run("stop").returncode == 0
    until(lambda: not process.is_running(), what="the gateway's process has ended")


async def test_a_detached_gateway_tells_in_words_without_json(home: Home) -> None:
    home.root.mkdir(parents=True, exist_ok=True)
    code, out, err = await run(home, "serve", "--detach", "--no-attach", "--port", "0")
    try:
        assert code == 0
        assert re.fullmatch(r"serving ws://localhost:\d+ \(pid \d+\)\n", out)
        assert err.startswith("`tapui stop` ends it; what it says goes to ")
    finally:
        assert (await run(home, "stop"))[0] == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_serve_cleanly(gateway: Gateway, home: Home, number: signal.Signals) -> None:
    gateway.signal(number)
    assert (gateway.wait(), gateway.stderr) == (0, "")
    assert not list((home.tapui / "run").iterdir())
