"""Rulings on what the interface's documents leave open, from a socket."""

from tests.conformance.scene import Scene
from tests.rig.peers import GREET


async def test_null_is_absent_and_any_integral_number_an_integer(scene: Scene) -> None:
    limit = {"max": 1.0, "scope": None}
    provider = await scene.provider(tools=[GREET | {"timeout": None}], concurrency=limit)
    await provider.send(
        '{"type":"stream.query","queryId":"q","streams":[],"last":2e1,"sessionId":null}'
    )
    await provider.expect("stream.history", queryId="q")
    invoke = {"type": "tool.invoke", "sessionId": scene.session, "tool": "greet", "args": None}
    await scene.host.send({**invoke, "id": "i1"})
    await scene.host.send({**invoke, "id": "i2"})
    call = await provider.expect("tool.call", args={})
    fields = {"data": None, "error": "no", "errorCode": None, "file": None}
    await provider.send({"type": "tool.result", "id": call["id"], **fields})
    assert await scene.host.expect("tool.outcome", id="i1") == {
        "type": "tool.outcome",
        "id": "i1",
        "error": "no",
        "errorCode": "INTERNAL",
    }
    call = await provider.expect("tool.call")
    await provider.send({"type": "tool.result", "id": call["id"], "data": None, "error": None})
    outcome = await scene.host.expect("tool.outcome", id="i2")
    assert outcome == {"type": "tool.outcome", "id": "i2", "data": None}
