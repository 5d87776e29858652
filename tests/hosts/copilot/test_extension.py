"""tapui's extension of Copilot CLI, run by Node: the CLI and tapui are played."""

import json
import os
import queue
import socket
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pytest

from tapui.hosts.copilot.finding.discovery import ExtensionDoor, doors_of
from tapui.hosts.copilot.install.own_files import ExtensionFile
from tests.conftest import program
from tests.rig.waiting import HUNG, until

Json = dict[str, Any]
SESSION = "s1"
BARE = {"tools": [], "hooks": False, "requestPermission": False}


class Peer:
    """One end of a JSON-RPC conversation: messages in frames, over two files."""

    def __init__(self, source: IO[bytes], sink: IO[bytes]) -> None:
        self._source = source
        self._sink = sink
        self._came: queue.Queue[Json | None] = queue.Queue()
        self.ended = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while head := self._source.readline():
                size = int(head.partition(b":")[2])
                self._source.readline()
                self._came.put(json.loads(self._source.read(size)))
        except (OSError, ValueError):
            pass  # closed by the other end, or by the test
        self._came.put(None)
        self.ended.set()

    def send(self, **message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.send_raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def send_raw(self, data: bytes) -> None:
        self._sink.write(data)
        self._sink.flush()

    def next(self) -> Json | None:
        """Return the next message; None at the end of the connection."""
        return self._came.get(timeout=HUNG)

    def request(self, method: str) -> Json:
        """Return the next message, which must be a request for `method`."""
        message = self.next()
        assert message is not None
        assert message["method"] == method, message
        return message

    def answer(self, request: Json, **result: Any) -> None:
        self.send(id=request["id"], result=result)


@contextmanager
def connection_to(door: ExtensionDoor) -> Iterator[Peer]:
    """Connect to the extension until the end of the block."""
    with (
        socket.create_connection(("127.0.0.1", door.port)) as connection,
        connection.makefile("rwb") as file,
    ):
        peer = Peer(file, file)
        try:
            yield peer
        finally:
            with suppress(OSError):  # the other end has closed it
                connection.shutdown(socket.SHUT_RDWR)
            peer.ended.wait(HUNG)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A `COPILOT_HOME` with the extension."""
    ExtensionFile(tmp_path).install()
    return tmp_path


@pytest.fixture
def process(home: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """The extension as the CLI starts it; this process is the CLI."""
    node = program("node")
    with subprocess.Popen(
        [node, str(ExtensionFile(home).path)],
        env={"PATH": os.environ["PATH"], "SESSION_ID": SESSION},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as started:
        yield started
        started.terminate()


@pytest.fixture
def cli(process: "subprocess.Popen[bytes]") -> Peer:
    """The CLI's end, which the extension has joined with nothing."""
    assert process.stdout
    assert process.stdin
    peer = Peer(process.stdout, process.stdin)
    peer.answer(peer.request("connect"))
    joins = peer.request("session.resume")
    assert joins["params"] == {"sessionId": SESSION, "disableResume": True, **BARE}
    peer.answer(joins)
    return peer


@pytest.mark.parametrize("refused", ["connect", "session.resume"])
def test_a_session_that_was_not_joined_has_no_door(
    process: "subprocess.Popen[bytes]", home: Path, refused: str
) -> None:
    assert process.stdout
    assert process.stdin
    peer = Peer(process.stdout, process.stdin)
    asked = peer.request("connect")
    if refused != "connect":
        peer.answer(asked)
        asked = peer.request(refused)
    peer.send(id=asked["id"], error={"code": -32602, "message": "it has another form"})
    assert process.wait(HUNG) == 1
    assert not doors_of(home, os.getpid(), os.getuid())


@pytest.fixture
def door(cli: Peer, home: Path) -> ExtensionDoor:
    """What the extension says of itself."""
    (found,) = until(lambda: doors_of(home, os.getpid(), os.getuid()), what="the door")
    return found


@pytest.fixture
def connect(door: ExtensionDoor) -> Iterator[Callable[[], Peer]]:
    """Connect to the extension."""
    with ExitStack() as stack:

        def connected() -> Peer:
            return stack.enter_context(connection_to(door))

        yield connected


@pytest.fixture
def tapui(connect: Callable[[], Peer], cli: Peer, door: ExtensionDoor) -> Peer:
    """A tapui that the extension has let in."""
    peer = connect()
    peer.send(id="c", method="connect", params={"token": door.token.reveal(), "more": 1})
    passed = cli.request("connect")
    assert passed["params"] == {"more": 1}
    cli.answer(passed, ok=True)
    assert peer.next() == {"jsonrpc": "2.0", "id": "c", "result": {"ok": True}}
    return peer


def test_the_door_is_private_and_goes_with_the_extension(
    door: ExtensionDoor, home: Path, process: "subprocess.Popen[bytes]"
) -> None:
    path = home / "tapui" / "doors" / f"{os.getpid()}-{process.pid}.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert (door.session, door.pid) == (SESSION, process.pid)
    assert door.token.reveal() not in repr(door)
    assert doors_of(home, os.getpid() + 1, os.getuid()) == ()
    assert doors_of(home, os.getpid(), os.getuid() + 1) == ()
    path.chmod(0o640)
    assert doors_of(home, os.getpid(), os.getuid()) == ()
    process.terminate()
    process.wait(HUNG)
    assert not path.exists()


def test_the_end_of_the_cli_ends_it(
    cli: Peer, door: ExtensionDoor, home: Path, process: "subprocess.Popen[bytes]"
) -> None:
    assert process.stdin
    process.stdin.close()
    assert process.wait(HUNG) == 0
    assert doors_of(home, os.getpid(), os.getuid()) == ()


def test_nothing_is_passed_on_without_the_token(
    connect: Callable[[], Peer], tapui: Peer, cli: Peer
) -> None:
    firsts: list[Json] = [
        {"id": "c", "method": "connect", "params": {"token": "guessed"}},
        {"id": "c", "method": "connect", "params": {}},
        {"id": "c", "method": "session.resume", "params": {"sessionId": SESSION}},
    ]
    for first in firsts:
        stranger = connect()
        stranger.send(**first)
        refused = stranger.next()
        assert refused is not None
        assert refused["error"]["message"] == "wrong token"
        assert stranger.next() is None
    tapui.send(id="p", method="ping", params={})
    cli.request("ping")  # and nothing before it


def test_nonsense_closes_the_connection(connect: Callable[[], Peer]) -> None:
    for sent in (
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"Content-Length: 999999999\r\n\r\n",
        b"Content-Length: 3\r\n\r\n{]}",
        b"x" * 5000,
    ):
        stranger = connect()
        stranger.send_raw(sent)
        assert stranger.next() is None, sent


def test_one_tapui_at_a_time(connect: Callable[[], Peer], tapui: Peer, door: ExtensionDoor) -> None:
    second = connect()
    second.send(id="c", method="connect", params={"token": door.token.reveal()})
    refused = second.next()
    assert refused is not None
    assert refused["error"]["message"] == "another tapui is in this session"


def test_it_joins_at_once_with_nothing_and_then_once_with_all(tapui: Peer, cli: Peer) -> None:
    wants = {"sessionId": SESSION, "tools": [], "hooks": True, "requestPermission": True}
    tapui.send(id="r", method="session.resume", params=wants)
    bare = cli.request("session.resume")
    assert bare["params"] == {**wants, **BARE}
    cli.answer(bare, workspacePath="/w")
    joined = tapui.next()
    assert joined is not None
    assert joined["result"] == {"workspacePath": "/w"}
    tools = [{"name": "greet"}]
    tapui.send(id="t1", method="session.tools.set", params={"sessionId": SESSION, "tools": tools})
    full = cli.request("session.resume")
    assert full["params"] == {**wants, "tools": tools}
    # While the CLI asks the person: the same again is no second question, others are one more.
    tapui.send(id="t2", method="session.tools.set", params={"sessionId": SESSION, "tools": tools})
    tapui.send(id="t3", method="session.tools.set", params={"sessionId": SESSION, "tools": []})
    tapui.send(id="p", method="ping", params={})
    cli.request("ping")
    cli.answer(full)
    again = cli.request("session.resume")
    assert again["params"] == wants
    cli.answer(again)
    answered = [tapui.next() for _ in range(3)]
    assert sorted(one["id"] for one in answered if one) == ["t1", "t2", "t3"]
    assert all(one["result"] == {"success": True} for one in answered if one)


def test_what_waits_is_answered_when_tapui_goes(cli: Peer, door: ExtensionDoor) -> None:
    with connection_to(door) as tapui:
        tapui.send(id="c", method="connect", params={"token": door.token.reveal()})
        cli.answer(cli.request("connect"))
        event = {"type": "external_tool.requested", "data": {"requestId": "q1"}}
        done = {"type": "external_tool.requested", "data": {"requestId": "q2"}}
        over = {"type": "external_tool.completed", "data": {"requestId": "q2"}}
        for one in (event, done, over):
            cli.send(method="session.event", params={"sessionId": SESSION, "event": one})
        cli.send(id=7, method="hooks.invoke", params={"hookType": "preToolUse"})
        cli.send(id=8, method="something.else", params={})
        told = [tapui.next() for _ in range(6)]
        assert told[-1] is not None
        assert told[-1]["id"] == 8
    hook = cli.next()
    assert hook == {"jsonrpc": "2.0", "id": 7, "result": {}}
    other = cli.next()
    assert other is not None
    assert (other["id"], other["error"]["code"]) == (8, -32601)
    call = cli.request("session.tools.handlePendingToolCall")
    assert call["params"]["requestId"] == "q1"
    assert call["params"]["result"]["resultType"] == "failure"
    cli.answer(call)
    leaves = cli.request("session.resume")
    assert leaves["params"] == {"sessionId": SESSION, "disableResume": True, **BARE}
    cli.answer(leaves)
    # What the CLI asks meanwhile is not held up.
    cli.send(id=9, method="hooks.invoke", params={"hookType": "preToolUse"})
    assert cli.next() == {"jsonrpc": "2.0", "id": 9, "result": {}}


def test_a_tapui_that_detaches_leaves_nothing(tapui: Peer, cli: Peer) -> None:
    tapui.send(id="d", method="session.detach", params={"sessionId": SESSION})
    cli.answer(cli.request("session.resume"))
    assert tapui.next() == {"jsonrpc": "2.0", "id": "d", "result": {"success": True}}


def test_files_of_clis_that_are_gone_are_removed(
    home: Path, request: pytest.FixtureRequest
) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = home / "tapui" / "doors" / f"1-{ended.pid}.json"
    left.parent.mkdir(parents=True)
    left.write_text("{}")
    request.getfixturevalue("door")  # the extension has started
    assert not left.exists()


@pytest.mark.parametrize(
    "said",
    [
        "",
        "[]",
        '{"port": 1}',
        '{"port": 99999, "token": "t", "pid": 1, "session": "s"}',
        '{"port": 80, "token": "t", "pid": -1, "session": "s"}',
        '{"port": 80, "token": "t", "pid": 1, "session": "s"}',  # not a child of the CLI
    ],
)
def test_a_forged_file_is_no_door(tmp_path: Path, said: str) -> None:
    path = tmp_path / "tapui" / "doors" / f"{os.getpid()}-1.json"
    path.parent.mkdir(parents=True)
    path.touch(0o600)
    path.write_text(said)
    assert doors_of(tmp_path, os.getpid(), os.getuid()) == ()


def test_messages_arrive_whole_however_they_come(tapui: Peer, cli: Peer) -> None:
    large = "ü" * 1_000_000
    tapui.send(id="l", method="session.log", params={"message": large})
    assert cli.request("session.log")["params"] == {"message": large}
    cli.send(method="session.event", params={"event": {"type": "x", "data": {"text": large}}})
    told = tapui.next()
    assert told is not None
    assert told["params"]["event"]["data"]["text"] == large
    one = b'Content-Length: 46\r\n\r\n{"jsonrpc": "2.0", "id": "a", "method": "one"}'
    two = one.replace(b'"one"', b'"two"')
    tapui.send_raw(one + two)
    cli.request("one")
    cli.request("two")
    for at in range(len(one)):
        tapui.send_raw(one[at : at + 1])
    cli.request("one")
