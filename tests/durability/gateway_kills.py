"""Kill the whole gateway under load: whatever anybody was told is on the disk.

Each kill starts a `tapui serve` in the same home (so that it finds what the one before left) and
puts a load on it over sockets: two sessions with a host and a provider each, calls in flight all
the time, lines, permissions that a tower approves. At a random message it gets SIGKILL. What each
end was told until then must be in the records: every event that the tower saw, every call that
reached a provider, every outcome and every decision that reached a host.
"""

import asyncio
import json
import random
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import websockets

from tapui.records import register
from tapui.records.reader import Damage
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import GREET, Json
from tests.rig.replayed import records
from tests.rig.waiting import until_async

IN_FLIGHT = 16
SESSIONS = ("s1", "s2")
_ENVELOPE = ("v", "run", "seq", "ts")


@dataclass
class Told:
    """What all kills together saw."""

    kills: int = 0
    acknowledged: int = 0
    outcomes: int = 0
    decisions: int = 0
    damaged: int = 0
    lost: list[str] = field(default_factory=list)


class End:
    """A connection that notes all it is told, and answers."""

    def __init__(self, load: "Load") -> None:
        self.load = load
        self.told: list[Json] = []

    async def run(self, url: str, token: str, hello: Json) -> None:
        # The gateway may be killed at any time, also within the handshake (InvalidMessage).
        gone = (websockets.ConnectionClosed, websockets.InvalidMessage, ConnectionError)
        with suppress(*gone):
            async with websockets.connect(url, compression=None, max_size=None) as socket:
                self.socket = socket
                await self.send({"type": "auth", "token": token})
                await self.send(hello)
                async for frame in socket:
                    message = json.loads(frame)
                    self.told.append(message)
                    self.load.count()
                    await self.hear(message)

    async def send(self, message: Json) -> None:
        await self.socket.send(json.dumps(message))

    async def hear(self, message: Json) -> None:
        raise NotImplementedError


class HostEnd(End):
    """Keeps calls in flight, and now and then asks for a permission."""

    def __init__(self, load: "Load", session: str) -> None:
        super().__init__(load)
        self.session = session
        self.asked = 0

    async def hear(self, message: Json) -> None:
        if message["type"] == "host.ack":
            session = {"id": self.session, "label": self.session, "cwd": "/"}
            await self.send({"type": "session.open", "session": session})
        elif message["type"] == "tools.changed" and not self.asked:
            for _ in range(IN_FLIGHT):
                await self.invoke()
        elif message["type"] == "tool.outcome":
            await self.invoke()

    async def invoke(self) -> None:
        self.asked += 1
        name = f"{self.session}-{self.asked}"
        pad = "x" * random.choice((0, 10, 1000, 100_000))
        await self.send(
            {"type": "tool.invoke", "id": name, "sessionId": self.session, "tool": "greet",
             "args": {"name": name, "pad": pad}}
        )  # fmt: skip
        if self.asked % 7 == 0:
            await self.send(
                {"type": "approval.request", "id": name, "sessionId": self.session,
                 "kind": "permission", "detail": {"ask": name}}
            )  # fmt: skip


class ProviderEnd(End):
    """Answers each call with its name, and posts a line with it."""

    async def hear(self, message: Json) -> None:
        if message["type"] == "tool.call":
            name = message["args"]["name"]
            await self.send({"type": "push", "level": "keep", "event": name})
            await self.send({"type": "tool.result", "id": message["id"], "data": name})


class TowerEnd(End):
    """Sees every event, and approves what waits."""

    async def hear(self, message: Json) -> None:
        if message["type"] == "tower.event":
            event = message["event"]
            if event["kind"] == "approval.requested":
                await self.send(
                    {"type": "approval.decide", "approvalId": event["approval"]["id"],
                     "decision": "approve"}
                )  # fmt: skip


class Load:
    """The ends of one gateway, and when it is killed."""

    def __init__(self, gateway: Gateway, kill_at: int) -> None:
        self.gateway = gateway
        self.tower = TowerEnd(self)
        self.hosts = [HostEnd(self, session) for session in SESSIONS]
        self.providers = [ProviderEnd(self) for _ in SESSIONS]
        self._kill_at = kill_at
        self._count = 0

    def count(self) -> None:
        self._count += 1
        if self._count == self._kill_at:
            self.gateway.kill()

    async def run(self) -> None:
        """Put the load on until the gateway is dead."""
        gateway = self.gateway
        url, internal, token = gateway.url, gateway.internal_token, gateway.token
        tower = {"type": "tower.hello", "protocolVersion": 2}
        host = {"type": "host.hello", "name": "host", "kind": "test", "protocolVersion": 2}
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            group.create_task(self.tower.run(url, internal, tower))
            for one in self.hosts:
                group.create_task(one.run(url, internal, host))
            await until_async(self.all_open, what="every session is open")
            for session, provider in zip(SESSIONS, self.providers, strict=True):
                hello = {"type": "hello", "name": f"p-{session}", "protocolVersion": 2,
                         "session": session, "tools": [GREET]}  # fmt: skip
                group.create_task(provider.run(url, token, hello))

    def all_open(self) -> bool:
        """Whether every session is open, or the gateway is dead by now."""
        opened = [any(one["type"] == "session.opened" for one in host.told) for host in self.hosts]
        return all(opened) or self._count >= self._kill_at

    def check(self, found: dict[int, Json]) -> list[str]:
        """Return what was told to somebody and is not in the records `found`, by `seq`."""
        lost = []
        for message in self.tower.told:
            if message["type"] == "tower.event":
                record = found.get(message["seq"], {})
                event = {key: value for key, value in record.items() if key not in _ENVELOPE}
                if event != message["event"]:
                    lost.append(f"event {message['seq']} {message['event']['kind']}")
        events = list(found.values())
        started = {one["call"]["id"] for one in events if one["kind"] == "call.started"}
        finished = {one["call"].get("data") for one in events if one["kind"] == "call.finished"}
        decided = {
            one["approval"]["detail"]["ask"]
            for one in events
            if one["kind"] == "approval.decided" and one["approval"]["state"] == "approved"
        }
        opened = {one["sessionId"] for one in events if one["kind"] == "session.opened"}
        for provider in self.providers:
            lost += [
                f"call {message['id']} that reached its provider"
                for message in provider.told
                if message["type"] == "tool.call" and message["id"] not in started
            ]
        for host in self.hosts:
            for message in host.told:
                kind, id_ = message["type"], message.get("id")
                if kind == "tool.outcome" and message.get("data") not in finished:
                    lost.append(f"outcome of {id_}")
                if kind == "approval.answer" and id_ not in decided:
                    lost.append(f"decision on {id_}")
                if kind == "session.opened" and message["sessionId"] not in opened:
                    lost.append(f"session {message['sessionId']}")
        return lost

    @property
    def run_name(self) -> str | None:
        """The gateway's run, if the tower got as far as its snapshot."""
        names = (one["run"] for one in self.tower.told if one["type"] == "tower.snapshot")
        return next(names, None)

    def heard(self, kind: str) -> int:
        """How many messages of a kind the hosts were told."""
        return sum(one["type"] == kind for host in self.hosts for one in host.told)

    @property
    def acknowledged(self) -> int:
        """How many messages the ends were told."""
        return self._count


def read_back(state: Path, run: str) -> tuple[dict[int, Json], int]:
    """Return all records of a run by `seq`, and how many lines are damaged."""
    damage = Damage()
    known = register.sessions(state)
    folders = [folder for places in known.values() for folder in places]
    folders += register.gateway_folders(state)
    found: dict[int, Json] = {}
    for record in records(folders, run, damage=damage):
        line: dict[str, Any] = json.loads(record.line)
        found[record.seq] = line
    return found, damage.lines


def run_kills(kills: int, seed: int, root: Path) -> Told:
    """Kill gateways in one home, one after the other."""
    dice = random.Random(seed)
    told = Told()
    for number in range(kills):
        home = Home(root / f"h{number // 10}")
        kill_at = dice.choice((dice.randrange(1, 60), dice.randrange(1, 4000)))
        with Gateway(home, "--no-attach") as gateway:
            load = Load(gateway, kill_at)
            asyncio.run(load.run())
        told.kills += 1
        told.acknowledged += load.acknowledged
        told.outcomes += load.heard("tool.outcome")
        told.decisions += load.heard("approval.answer")
        if load.run_name is None:
            continue
        found, damaged = read_back(home.tapui, load.run_name)
        told.damaged += damaged
        told.lost += [f"kill {number} (at {kill_at}): {one}" for one in load.check(found)]
    return told


def main(kills: int, seed: int, folder: Path) -> int:
    """Kill gateways and print what was seen; return the exit code."""
    began = time.monotonic()
    told = run_kills(kills, seed, folder)
    for line in told.lost[:20]:
        print(line)
    print(
        f"{told.kills} kills of the gateway (seed {seed}, {time.monotonic() - began:.0f} s): "
        f"{told.acknowledged:,} messages told ({told.outcomes:,} outcomes, {told.decisions:,} "
        f"decisions), {len(told.lost):,} not on the disk, "
        f"{told.damaged} damaged records"
    )
    return 1 if told.lost or told.damaged else 0
