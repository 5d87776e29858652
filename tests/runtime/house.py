"""A turn with a real core and a real journal, and ends for it that a test looks through."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tapui.core.gateway import Gateway
from tapui.core.model import Way
from tapui.home.local_socket import UNKNOWN
from tapui.records.journal import Journal
from tapui.runtime.system import RegexMatcher, SystemIds
from tapui.runtime.turn import LoopTurn
from tapui.settings.settings import Answering, Records, Settings
from tapui.wire.codec import encode
from tapui.wire.message import Message
from tests.rig.waiting import HUNG

Json = dict[str, Any]
GREET = {"name": "greet", "description": "Say hello", "parameters": {}}


class Port:
    """A socket's place at the turn: keeps what it is sent, and is as full as a test says."""

    def __init__(self) -> None:
        self.number = 0
        self.is_in_process = False
        self.origin: str | None = None
        self.peer, self.client_end = UNKNOWN, None
        self.way = Way.OWN
        self.outbox_bytes = 0
        self.sent_bytes = 0
        self.sent: list[Json] = []
        self.closed: tuple[int, str] | None = None
        self.is_reading = True
        self.is_trusted = False
        self.on_send: Callable[[Json], None] = lambda _message: None

    def deliver(self, message: Message) -> None:
        self.send(encode(message))

    def send(self, data: bytes) -> None:
        message = json.loads(data)
        self.on_send(message)
        self.sent_bytes += len(data)
        self.sent.append(message)

    def authenticated(self) -> None:
        self.is_trusted = True

    def close(self, code: int, reason: str) -> None:
        self.closed = (code, reason)

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    def heard(self, kind: str) -> list[Json]:
        return [message for message in self.sent if message["type"] == kind]


class House:
    """A turn with a real core and a real journal."""

    def __init__(self, state: Path, persist_dir: Callable[[str], Path] | None = None) -> None:
        self.state = state
        ids = SystemIds()
        self.gateway = Gateway(
            run="run-1",
            ids=ids,
            settings=Settings(approvals=Answering(command_line="always")),
            persist_dir=lambda name: str(state / name),
            matcher=RegexMatcher(),
            provider_token="ptk-1",
            internal_token="itk-1",
        )
        self.reports: list[str] = []
        self.journal = Journal(
            state, "run-1", Records(), lambda text, _level: self.reports.append(text)
        )
        self.stops: list[None] = []
        self.turn = LoopTurn(
            self.gateway,
            self.journal,
            ids,
            asyncio.get_running_loop(),
            on_stop=lambda: self.stops.append(None),
            persist_dir=persist_dir or (lambda name: state / name),
        )

    def say(self, port: Port, **message: Any) -> None:
        self.turn.received(port, json.dumps(message).encode())

    def connect(self, token: str) -> Port:
        port = Port()
        self.turn.opened(port)
        self.say(port, type="auth", token=token)
        return port

    def host(self, session_id: str = "s1") -> Port:
        port = self.connect("itk-1")
        self.say(port, type="host.hello", name="host", kind="test", protocolVersion=2)
        session = {"id": session_id, "label": "one", "cwd": "/"}
        self.say(port, type="session.open", session=session)
        return port

    def provider(self, session_id: str = "s1", **hello: Any) -> Port:
        port = self.connect("ptk-1")
        fields = {"name": "p", "protocolVersion": 2, "session": session_id, "tools": [GREET]}
        self.say(port, type="hello", **{**fields, **hello})
        return port

    async def bound(self) -> tuple[Port, Port]:
        """Return a host with a session, and a provider that is bound to it."""
        host, provider = self.host(), self.provider()
        await until(lambda: provider.heard("hello.ack"))
        return host, provider

    async def called(self, host: Port, provider: Port) -> str:
        """Have the host call the tool; return the call's id once it is with the provider."""
        self.say(host, type="tool.invoke", id="i1", sessionId="s1", tool="greet", args={})
        await until(lambda: provider.heard("tool.call"))
        return str(provider.heard("tool.call")[0]["id"])

    def tower(self) -> Port:
        port = self.connect("itk-1")
        self.say(port, type="tower.hello", protocolVersion=2)
        return port

    def records(self) -> list[Json]:
        """Return all records on disk, by `seq`."""
        found = [
            json.loads(line)
            for path in self.state.rglob("*.jsonl")
            for line in path.read_bytes().split(b"\n")[:-1]
        ]
        return sorted((one for one in found if "seq" in one), key=lambda one: one["seq"])


async def until(holds: Callable[[], object]) -> None:
    """Let the loop turn until something holds."""
    async with asyncio.timeout(HUNG):
        while not holds():  # noqa: ASYNC110 - nothing but the loop itself is waited for
            await asyncio.sleep(0)


class Witness:
    """A session, its provider and a tower that have nothing to do with the fault."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.host = house.host("other")
        self.provider = house.provider("other")
        self.tower = house.tower()
        self._calls = 0

    async def is_bound(self) -> None:
        await until(lambda: self.provider.heard("hello.ack") and self.tower.heard("tower.snapshot"))

    def ask(self) -> str:
        """Invoke the tool; what the fault shares a turn with."""
        self._calls += 1
        id_ = f"witness-{self._calls}"
        self.house.say(
            self.host, type="tool.invoke", id=id_, sessionId="other", tool="greet", args={"n": id_}
        )
        return id_

    async def is_answered(self, id_: str) -> None:
        """The call is dispatched, answered, recorded and shown like any other."""

        def of(messages: list[dict[str, Any]], key: str, value: Any) -> dict[str, Any] | None:
            return next((one for one in messages if one.get(key) == value), None)

        await until(lambda: of(self.provider.heard("tool.call"), "args", {"n": id_}))
        call = of(self.provider.heard("tool.call"), "args", {"n": id_})
        assert call is not None
        self.house.say(self.provider, type="tool.result", id=call["id"], data="hello")
        await until(lambda: of(self.host.heard("tool.outcome"), "id", id_))
        outcome = of(self.host.heard("tool.outcome"), "id", id_)
        assert outcome is not None
        assert outcome["data"] == "hello"
        finished = [
            one["event"]["call"]["id"]
            for one in self.tower.heard("tower.event")
            if one["event"]["kind"] == "call.finished"
        ]
        assert call["id"] in finished
        assert [port.closed for port in (self.host, self.provider, self.tower)] == [None] * 3

    def saw_every_event(self) -> None:
        """The tower has every event since its snapshot, the disk every event of the run."""
        first = self.tower.heard("tower.snapshot")[0]["seq"] + 1
        seen = [one["seq"] for one in self.tower.heard("tower.event")]
        assert seen == list(range(first, first + len(seen)))
        recorded = [one["seq"] for one in self.house.records()]
        assert recorded == list(range(1, self.house.gateway.seq + 1))
