"""Who takes part in the soak: hosts, providers, towers, slow readers, senders of garbage.

Each member lives a while on one connection, leaves in one of several ways, and comes back.
"""

import asyncio
import time
from collections import Counter
from random import Random

from tests.fuzz.corpus import FRAMES
from tests.fuzz.mutations import spoilt
from tests.soak.wire import GONE, Json, Wire, connected

KINDS = ("echo", "fail", "silent", "slow", "large", "sink")
"""The tools that each provider offers, as the beginnings of their names."""
WEIGHTS = (70, 8, 4, 6, 6, 6)
LARGE = "x" * 300_000
LOST = 60.0
"""Seconds after which a call without an outcome counts as lost; each has a time-out of 5 s."""


class Meeting:
    """What the members share: where the gateway is, and what was counted."""

    def __init__(self, url: str, token: str, internal_token: str) -> None:
        self.url = url
        self.token = token
        self.internal_token = internal_token
        self.connected = 0
        self.counts: Counter[str] = Counter()
        self.latencies: list[float] = []
        """Seconds of the calls to `echo` since the last sample, as the host saw them."""
        self.faults: list[str] = []
        """What no gateway may do."""

    def sample(self) -> list[float]:
        """Take the latencies since the last time."""
        latencies, self.latencies = self.latencies, []
        return latencies


class Member:
    """Somebody who comes and goes. `life` is how long one stays, in seconds."""

    life = (20.0, 120.0)

    def __init__(self, meeting: Meeting, number: int) -> None:
        self.meeting = meeting
        self.number = number
        self.dice = Random(number)
        self.counts = meeting.counts

    async def run(self) -> None:
        """Come and go until it is cancelled."""
        while True:
            try:
                async with asyncio.timeout(self.dice.uniform(*self.life)):
                    self.meeting.connected += 1
                    await self.stay()
            except* TimeoutError:
                self.counts["lives that ended in time"] += 1
            except* GONE as group:
                for error in _single(group):
                    self.counts[f"lives that ended with {type(error).__name__}"] += 1
            finally:
                self.meeting.connected -= 1
            await asyncio.sleep(self.dice.choice((0.1, 0.5, 2.0)))

    async def stay(self) -> None:
        """Spend one life; it is cancelled at its end. May raise one of `GONE`."""
        raise NotImplementedError


class Host(Member):
    """Opens and closes sessions, calls tools, asks gates and approvals, takes turns."""

    life = (60.0, 300.0)

    def __init__(self, meeting: Meeting, number: int) -> None:
        super().__init__(meeting, number)
        self.rate = 1.0
        """Calls a second."""
        self._count = 0
        self._tools: dict[str, list[str]] = {}
        self._asked: dict[str, tuple[str, float]] = {}

    async def stay(self) -> None:
        self._tools.clear()
        self._asked.clear()
        async with connected(self.meeting.url, self.meeting.internal_token) as wire:
            hooks = self.dice.random() < 0.5
            await wire.say(
                type="host.hello",
                name=f"h{self.number}",
                kind="soak",
                protocolVersion=2,
                hooks=hooks,
            )
            async with asyncio.TaskGroup() as group:
                group.create_task(self._listen(wire))
                group.create_task(self._act(wire))

    def _next(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self.number}-{self._count}"

    async def _act(self, wire: Wire) -> None:
        dice = self.dice
        await self._open(wire)
        while True:
            await asyncio.sleep(dice.expovariate(self.rate))
            kind = dice.random()
            session = dice.choice([*self._tools]) if self._tools else None
            if session is None or kind < 0.002:
                await self._open(wire)
            elif kind < 0.004 and len(self._tools) > 1:
                del self._tools[session]
                await wire.say(type="session.close", sessionId=session)
            elif kind < 0.02:
                await wire.say(
                    type="hook.preToolUse", id=self._next("k"), sessionId=session, tool="bash"
                )
            elif kind < 0.025:
                id_ = self._next("r")
                await wire.say(
                    type="approval.request", id=id_, sessionId=session, kind="permission",
                    detail={"command": "ls"}, timeout=3000,
                )  # fmt: skip
            else:
                await self._call(wire, session)

    async def _open(self, wire: Wire) -> None:
        id_ = self._next("s")
        session = {"id": id_, "label": id_, "cwd": "/"}
        await wire.say(type="session.open", session=session)

    async def _call(self, wire: Wire, session: str) -> None:
        wanted = self.dice.choices(KINDS, WEIGHTS)[0]
        offered = [name for name in self._tools[session] if name.startswith(wanted)]
        if not offered:
            self.counts["calls for which nobody offers a tool"] += 1
            return
        id_ = self._next("i")
        args = {"text": LARGE} if wanted in ("large", "sink") else {"text": "hello"}
        self._asked[id_] = (wanted, time.monotonic())
        self.counts[f"calls to {wanted}"] += 1
        await wire.say(
            type="tool.invoke", id=id_, sessionId=session, tool=self.dice.choice(offered),
            args=args, timeout=300 if wanted == "silent" else 5000,
        )  # fmt: skip
        if wanted == "slow":
            await wire.say(type="tool.abort", id=id_)

    async def _listen(self, wire: Wire) -> None:
        async for message in wire:
            match message["type"]:
                case "session.opened" | "tools.changed":
                    self._tools[message["sessionId"]] = [one["name"] for one in message["tools"]]
                case "tool.outcome":
                    self._ended(message)
                case "session.send":
                    id_ = message["sessionId"]
                    for event in ("assistant.turn_start", "session.idle"):
                        await wire.say(type="session.event", sessionId=id_, event=event, data={})
                case "error":
                    self.counts[f"errors to hosts: {message['code']}"] += 1
                    self._asked.pop(message.get("id") or "", None)

    def _ended(self, message: Json) -> None:
        wanted, since = self._asked.pop(message["id"], ("", 0.0))
        now = time.monotonic()
        if not wanted:
            self.meeting.faults.append(f"outcome {message['id']} came twice, or to nobody")
        elif wanted == "echo" and message.get("errorCode") is None:
            self.meeting.latencies.append(now - since)
        self.counts[f"outcomes: {message.get('errorCode', 'ok')}"] += 1
        for id_, (wanted, since) in list(self._asked.items()):
            if now - since < LOST:
                break
            self.meeting.faults.append(f"call {id_} to {wanted} has no outcome after {LOST:g} s")
            del self._asked[id_]


class Provider(Member):
    """Offers tools, pushes, judges; leaves politely or not, and may come back as itself."""

    def __init__(self, meeting: Meeting, number: int) -> None:
        super().__init__(meeting, number)
        self._reconnect: str | None = None
        self._sessions: list[str] = []

    async def stay(self) -> None:
        async with (
            connected(self.meeting.url, self.meeting.token) as wire,
            asyncio.TaskGroup() as group,
        ):
            group.create_task(self._listen(wire))
            group.create_task(self._push(wire))
            group.create_task(self._leave(wire))

    async def _leave(self, wire: Wire) -> None:
        await asyncio.sleep(self.dice.uniform(10.0, 110.0))
        if self.dice.random() < 0.5:
            wire.cut()
        else:
            await wire.say(type="goodbye")

    async def _hello(self, wire: Wire) -> None:
        if not self._sessions:
            return
        name = f"p{self.number}"
        tools = [
            {"name": f"{kind}_{name}", "description": kind, "parameters": {"type": "object"}}
            for kind in KINDS
        ]
        hello: Json = {"name": name, "protocolVersion": 2, "tools": tools}
        if self._reconnect is not None and self.dice.random() < 0.7:
            hello["reconnectToken"] = self._reconnect
        self._reconnect = None
        if self.dice.random() < 0.2:
            rule = {"action": "gate", "gateId": "g", "match": {"tool": "bash"}}
            hello["hooks"] = {"onPreToolUse": [rule]}
        await wire.say(type="hello", session=self.dice.choice(self._sessions), **hello)

    async def _push(self, wire: Wire) -> None:
        while True:
            await asyncio.sleep(self.dice.expovariate(1.0))
            level = self.dice.choices(("keep", "surface", "inject"), (90, 8, 2))[0]
            await wire.say(type="push", level=level, event="something " * 10, stream="log")

    async def _listen(self, wire: Wire) -> None:
        async for message in wire:
            match message["type"]:
                case "sessions" | "sessions.updated":
                    known = self._sessions
                    # Sessions of the hosts, which may come later: `local` is always there.
                    active = [one["id"] for one in message["active"]]
                    self._sessions = [one for one in active if one != "local"]
                    if message["type"] == "sessions" or not known:
                        await self._hello(wire)
                case "hello.ack":
                    self.counts["hellos"] += 1
                    self._reconnect = message.get("reconnectToken")
                case "tool.call":
                    await self._answer(wire, message)
                case "gate.check":
                    if self.dice.random() < 0.95:
                        decision = self.dice.choice(("allow", "deny"))
                        await wire.say(
                            type="gate.result", callId=message["callId"], decision=decision
                        )
                case "session.lifecycle" if message["state"] == "shutdown.pending":
                    await wire.say(type="shutdown.ready", sessionId=message["sessionId"])
                    await self._hello(wire)
                case "error":
                    self.counts[f"errors to providers: {message['code']}"] += 1
                    if message.get("replyTo") == "hello":
                        await asyncio.sleep(0.5)
                        await self._hello(wire)

    async def _answer(self, wire: Wire, call: Json) -> None:
        result: Json = {"type": "tool.result", "id": call["id"]}
        match call["tool"].partition("_")[0]:
            case "echo":
                await wire.say(**result, data=call["args"])
            case "large":
                await wire.say(**result, data=LARGE)
            case "sink":
                await wire.say(**result, data=None)
            case "fail":
                await wire.say(**result, error="it does not work", errorCode="INTERNAL")


class SlowProvider(Provider):
    """Reads nothing for minutes after its hello, though it is called; then it is gone."""

    life = (60.0, 180.0)

    async def stay(self) -> None:
        async with connected(self.meeting.url, self.meeting.token, queue=1) as wire:
            message = await wire.hear_one("sessions")
            self._sessions = [one["id"] for one in message["active"]]
            await self._hello(wire)
            await wire.hear_one("hello.ack", "error")
            await asyncio.sleep(300)


class Tower(Member):
    """Watches, decides approvals, and checks that no event is missing between snapshots."""

    def __init__(self, meeting: Meeting, number: int) -> None:
        super().__init__(meeting, number)
        self._seq = 0

    async def stay(self) -> None:
        async with connected(self.meeting.url, self.meeting.internal_token) as wire:
            await wire.say(type="tower.hello", protocolVersion=2)
            await self.watch(wire)

    async def watch(self, wire: Wire) -> None:
        """Read until it is over."""
        async for message in wire:
            if message["type"] == "tower.snapshot":
                self.counts["snapshots"] += 1
                self._seq = message["seq"]
            elif message["type"] == "tower.event":
                if message["seq"] != self._seq + 1:
                    text = f"tower {self.number} was told event {message['seq']} after {self._seq}"
                    self.meeting.faults.append(text)
                self._seq = message["seq"]
                event = message["event"]
                if event["kind"] == "approval.requested":
                    await wire.say(
                        type="approval.decide", approvalId=event["approval"]["id"],
                        decision=self.dice.choice(("approve", "deny")),
                    )  # fmt: skip


class SlowTower(Tower):
    """Reads nothing for minutes; then it reads on from wherever the gateway has put it."""

    life = (200.0, 300.0)

    async def stay(self) -> None:
        async with connected(self.meeting.url, self.meeting.internal_token, queue=1) as wire:
            await wire.say(type="tower.hello", protocolVersion=2)
            await asyncio.sleep(self.dice.uniform(60.0, 180.0))
            await self.watch(wire)


class Vandal(Member):
    """Sends what is not in order: spoilt messages, bytes, no WebSocket at all."""

    life = (5.0, 30.0)

    async def stay(self) -> None:
        dice = self.dice
        if dice.random() < 0.1:
            await self._knock()
            return
        token = self.meeting.token if dice.random() < 0.8 else None
        async with connected(self.meeting.url, token) as wire, asyncio.TaskGroup() as group:
            group.create_task(self._drop_all(wire))
            while True:
                await asyncio.sleep(dice.expovariate(5.0))
                frame = spoilt(dice, dice.choice(FRAMES))
                await wire.say_frame(frame, text=dice.random() < 0.95)
                self.counts["garbage frames"] += 1

    async def _drop_all(self, wire: Wire) -> None:
        async for _ in wire:
            pass

    async def _knock(self) -> None:
        """Connect and speak no HTTP."""
        port = int(self.meeting.url.rpartition(":")[2].strip("/"))
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(self.dice.randbytes(2000))
            await asyncio.wait_for(reader.read(), 5)
        finally:
            writer.close()
        self.counts["knocks"] += 1


SHARES: tuple[tuple[type[Member], float], ...] = (
    (Host, 0.12),
    (SlowProvider, 0.04),
    (Tower, 0.12),
    (SlowTower, 0.04),
    (Vandal, 0.1),
    (Provider, 0.0),
)
"""The parts of the connections by kind; providers are the rest."""


def members(meeting: Meeting, connections: int, rate: float) -> list[Member]:
    """Return the members for so many connections, one of each kind at least."""
    found: list[Member] = []
    for kind, share in SHARES:
        rest = connections - len(found)
        count = max(1, round(connections * share)) if share else rest
        found += [kind(meeting, len(found) + number) for number in range(count)]
    hosts = [one for one in found if isinstance(one, Host)]
    for host in hosts:
        host.rate = rate / len(hosts)
    return found


def _single(error: BaseException) -> list[BaseException]:
    """Return the exceptions in a group, and in groups in it."""
    if isinstance(error, BaseExceptionGroup):
        return [one for inner in error.exceptions for one in _single(inner)]
    return [error]
