"""The live export of a running gateway, and what `status` and `doctor` say of spans."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.running import ran
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host
from tests.rig.waiting import until_async
from tests.telemetry.collector import collecting
from tests.telemetry.spans import attributes, spans_of


def happened(event: str, **data: Any) -> dict[str, object]:
    return {"type": "session.event", "sessionId": "s1", "event": event, "data": data}


async def call(host: Host) -> None:
    """Let a tool of the session's own run, in a turn."""
    await host.send(happened("user.message", content="hunter2"))
    await host.send(
        happened("tool.execution_start", toolCallId="t1", tool="bash", args={"x": "hunter2"})
    )
    await host.send(happened("tool.execution_complete", toolCallId="t1", tool="bash"))
    await host.send(happened("session.idle"))


def status(gateway: Gateway) -> dict[str, Any]:
    done = ran(gateway.home, "status", "--json", "--port", str(gateway.port))
    told: dict[str, Any] = json.loads(done.stdout)
    return told


async def test_spans_go_to_the_collector_as_they_end(
    home: Home, serve: Callable[..., Gateway]
) -> None:
    with collecting() as collector:
        home.settle(f'[telemetry]\notlp-endpoint = "{collector.address}"\n')
        gateway = serve("--no-attach")
        async with await Host.hello(gateway.url, gateway.internal_token) as host:
            await host.open("s1", label="one")
            await call(host)
            await until_async(lambda: collector.came, what="a post")
            await until_async(lambda: status(gateway)["spanExport"], what="the export's state")
            told = status(gateway)
        gateway.stop()
        bodies = [body for _path, _type, body in collector.came]
    found = [one for body in bodies for one in spans_of(body)]
    assert {one.name for one in found} == {"execute_tool bash", "invoke_agent"}
    assert {attributes(one)["session.id"] for one in found} == {"s1"}
    assert len({one.trace_id for one in found}) == 1
    assert not any(b"hunter2" in body for body in bodies)
    assert told["spans"] == {"spans": 2, "errors": 0, "dropped": 0}
    assert told["spanExport"]["error"] is None
    assert told["spanExport"]["sent"] == 2


@pytest.mark.parametrize("answer", [500, "hangs"])
async def test_a_collector_that_does_not_take_them_is_told(
    home: Home, serve: Callable[..., Gateway], answer: object
) -> None:
    with collecting(answer) as collector:
        home.settle(f'[telemetry]\notlp-endpoint = "{collector.address}"\n')
        gateway = serve("--no-attach")
        async with await Host.hello(gateway.url, gateway.internal_token) as host:
            await host.open("s1", label="one")
            await call(host)
            export = await until_async(lambda: status(gateway)["spanExport"], what="its state")
            assert export["error"] is not None
            assert (export["sent"], export["dropped"]) == (0, 2)
            doctor = ran(gateway.home, "doctor", "--json")
            findings = json.loads(doctor.stdout)["findings"]
            (found,) = [one for one in findings if one["id"] == "spanExport"]
            assert f"2 spans did not reach {collector.address}" in found["text"]
            assert status(gateway)["spans"]["spans"] == 2
        collector.over.set()


async def test_without_an_endpoint_nothing_is_sent(serve: Callable[..., Gateway]) -> None:
    gateway = serve("--no-attach")
    async with await Host.hello(gateway.url, gateway.internal_token) as host:
        await host.open("s1", label="one")
        await call(host)
        await until_async(lambda: status(gateway)["spans"]["spans"] == 2, what="two spans")
        assert status(gateway)["spanExport"] is None
