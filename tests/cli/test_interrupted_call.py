"""`tapui call` that is interrupted before its call has been sent to the end."""

import asyncio
import select
from pathlib import Path

import pytest
from msgspec import Raw

from tapui.cli.commands import call
from tapui.cli.tool_call import GivenArguments
from tests.client.fake_gateway import FakeGateway, Json, Peer
from tests.client.test_connection import found
from tests.rig.waiting import until_async

TOOL = {"name": "t", "description": "", "parameters": {}, "provider": "p"}
LARGER_THAN_SOCKETS = Raw(b'{"text": "' + b"x" * 16_000_000 + b'"}')


async def test_a_call_that_is_interrupted_while_it_is_sent_is_aborted(tmp_path: Path) -> None:
    asked = asyncio.Event()
    goes_on = asyncio.Event()
    heard: list[Json] = []
    sockets = []

    async def talk(peer: Peer) -> None:
        await peer.greet()
        request = await peer.receive()
        transport = peer.socket.transport
        transport.pause_reading()
        sockets.append(transport.get_extra_info("socket"))
        await peer.send("tools.list", id=request["id"], sessionId="s1", tools=[TOOL])
        asked.set()
        await goes_on.wait()
        transport.resume_reading()
        heard.extend([await peer.receive(), await peer.receive()])

    async with FakeGateway(tmp_path, talk, max_bytes=None) as fake:
        calling = asyncio.create_task(
            call.outcome_of(found(fake), "t", None, GivenArguments(LARGER_THAN_SOCKETS))
        )
        await asked.wait()
        await until_async(
            lambda: select.select(sockets, [], [], 0)[0], what="the call is being sent"
        )
        calling.cancel()
        goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await calling
    kinds = [one["type"] for one in heard]
    assert kinds == ["tool.invoke", "tool.abort"]
    assert heard[1] == {"type": "tool.abort", "id": "call", "reason": "interrupted by the person"}
