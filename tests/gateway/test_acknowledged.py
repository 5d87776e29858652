"""The gateway is killed the moment that something was acknowledged: it is on disk."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.rig.gateway import Gateway, Home
from tests.rig.peers import GREET, Host, Json, Peer, Provider, Tower


def on_disk(home: Home) -> list[Json]:
    """Return every record below a home, by `seq`; each is one whole line of JSON."""
    found: list[Json] = []
    for path in Path(home.root).rglob("*.jsonl"):
        data = path.read_bytes()
        if b'"seq"' not in data:
            continue
        assert data.endswith(b"\n"), path
        found += [json.loads(line) for line in data.splitlines()]
    return sorted((one for one in found if "seq" in one), key=lambda one: one["seq"])


class Acting:
    """A host with session `s1`, a provider in it and a tower on a gateway that will be killed."""

    def __init__(self, gateway: Gateway, host: Host, provider: Provider, tower: Tower) -> None:
        self.gateway = gateway
        self.host = host
        self.provider = provider
        self.tower = tower

    @classmethod
    async def on(cls, gateway: Gateway) -> "Acting":
        host = await Host.hello(gateway.url, gateway.internal_token)
        await host.open("s1", mode="interactive")
        provider = await Provider.bind(gateway.url, gateway.token, session="s1")
        return cls(gateway, host, provider, await Tower.hello(gateway.url, gateway.internal_token))

    async def ask(self) -> str:
        """Let the host ask for a permission; return the approval's id."""
        await self.host.send(
            {"type": "approval.request", "id": "r1", "sessionId": "s1", "kind": "permission",
             "detail": {"command": "ls"}}
        )  # fmt: skip
        return str((await self.tower.event("approval.requested"))["approval"]["id"])


async def call_dispatched(on: Acting) -> Json:
    await on.host.invoke("s1", "greet", {"name": "Ann"})
    call = await on.provider.expect("tool.call")
    return {"kind": "call.started", "call.id": call["id"], "call.args": {"name": "Ann"}}


async def call_progressed(on: Acting) -> Json:
    await on.host.invoke("s1", "greet")
    call = await on.provider.expect("tool.call")
    await on.provider.send({"type": "tool.progress", "id": call["id"], "message": "60 %"})
    await on.host.expect("tool.progress")
    return {"kind": "call.progress", "call.progress": "60 %"}


async def call_answered(on: Acting) -> Json:
    await on.host.invoke("s1", "greet")
    call = await on.provider.answer(data={"text": "Hello"})
    await on.host.expect("tool.outcome")
    return {"kind": "call.finished", "call.id": call["id"], "call.data": {"text": "Hello"}}


async def call_cancelled(on: Acting) -> Json:
    await on.host.invoke("s1", "greet")
    await on.provider.expect("tool.call")
    await on.host.send({"type": "tool.abort", "id": "i1"})
    await on.host.expect("tool.outcome")
    return {"kind": "call.cancelling", "call.errorCode": "CANCELLED"}


async def session_opened(on: Acting) -> Json:
    await on.host.open("s2", label="second")
    return {"kind": "session.opened", "session.id": "s2", "session.label": "second"}


async def session_closed(on: Acting) -> Json:
    await on.host.send({"type": "session.close", "sessionId": "s1", "reason": "the end"})
    await on.provider.expect("session.lifecycle", state="shutdown.pending")
    return {"kind": "session.closed", "session.reason": "the end"}


async def provider_bound(on: Acting) -> Json:
    other = await Provider.bind(on.gateway.url, on.gateway.token, name="other", tools=[])
    return {"kind": "provider.bound", "provider.id": other.id}


async def tools_updated(on: Acting) -> Json:
    tools = [{**GREET, "name": "new"}]
    await on.provider.send({"type": "tools.update", "tools": tools, "requestId": "q"})
    await on.provider.expect("ack")
    return {"kind": "provider.updated", "provider.tools": ["new"]}


async def line_surfaced(on: Acting) -> Json:
    await on.provider.send({"type": "push", "level": "surface", "event": "look"})
    await on.host.expect("session.log")
    return {"kind": "stream.posted", "stream": "greeter@greeter", "line.event": "look"}


async def line_injected(on: Acting) -> Json:
    await on.provider.send({"type": "push", "level": "inject", "event": "wake"})
    await on.host.expect("session.send")
    return {"kind": "stream.posted", "line.event": "wake", "line.level": "inject"}


async def line_seen_by_a_tower(on: Acting) -> Json:
    await on.provider.send({"type": "push", "level": "keep", "event": "seen"})
    await on.tower.event("stream.posted")
    return {"kind": "stream.posted", "line.event": "seen"}


async def permission_approved(on: Acting) -> Json:
    approval = await on.ask()
    decide = {"type": "approval.decide", "approvalId": approval, "decision": "approve"}
    await on.tower.send(decide)
    assert (await on.host.expect("approval.answer"))["decision"] == "approve"
    return {"kind": "approval.decided", "approval.id": approval, "approval.state": "approved"}


async def permission_withdrawn(on: Acting) -> Json:
    approval = await on.ask()
    await on.host.send({"type": "approval.withdraw", "id": "r1", "decidedBy": "cli"})
    await on.tower.event("approval.withdrawn")
    return {"kind": "approval.withdrawn", "approval.id": approval, "approval.decidedBy": "cli"}


async def pairing_opened(on: Acting) -> Json:
    client = await Peer.connect(on.gateway.url, origin="https://app.example.com")
    await client.send({"type": "auth", "mode": "pair"})
    approval = (await on.tower.event("approval.requested"))["approval"]["id"]
    await on.tower.send({"type": "approval.reveal", "approvalId": approval})
    await on.tower.expect("approval.revealed")
    return {"kind": "approval.revealed", "approval.id": approval}


async def client_paired(on: Acting) -> Json:
    client = await Peer.connect(on.gateway.url, origin="https://app.example.com")
    await client.send({"type": "auth", "mode": "pair"})
    approval = (await on.tower.event("approval.requested"))["approval"]["id"]
    await on.tower.send({"type": "approval.reveal", "approvalId": approval})
    code = (await on.tower.expect("approval.revealed"))["code"]
    await client.send({"type": "auth.confirm", "code": code})
    await client.expect("sessions")
    return {"kind": "approval.decided", "approval.id": approval, "approval.state": "approved"}


async def mode_ordered(on: Acting) -> Json:
    await on.tower.send({"type": "session.mode", "sessionId": "s1", "mode": "plan"})
    await on.host.expect("mode.set")
    return {"kind": "mode.changed", "mode": "plan", "state": "ordered"}


async def message_refused(on: Acting) -> Json:
    await on.provider.send({"type": "push", "level": "loud", "event": "e"})
    await on.provider.expect("error")
    return {"kind": "error.sent", "code": "INVALID_JSON", "replyTo": "push"}


ACTS: list[Callable[[Acting], Awaitable[Json]]] = [
    call_dispatched, call_progressed, call_answered, call_cancelled, session_opened,
    session_closed, provider_bound, tools_updated, line_surfaced, line_injected,
    line_seen_by_a_tower, permission_approved, permission_withdrawn, pairing_opened,
    client_paired, mode_ordered, message_refused,
]  # fmt: skip


def part(record: Json, path: str) -> Any:
    value: Any = record
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
async def test_what_was_acknowledged_survives_kill_9(
    gateway: Gateway, act: Callable[[Acting], Awaitable[Json]]
) -> None:
    on = await Acting.on(gateway)
    expected = await act(on)
    gateway.kill()
    await asyncio.gather(*(peer.closed() for peer in (on.host, on.provider, on.tower)))
    records = on_disk(gateway.home)
    assert any(
        all(part(record, path) == value for path, value in expected.items()) for record in records
    ), expected
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
    seen = [one["seq"] for one in on.tower.inbox.messages if one["type"] == "tower.event"]
    assert max(seen, default=0) <= len(records)
    for peer in (on.host, on.provider, on.tower):
        await peer.close()
