"""Alarms of a running gateway, as commands tell them."""

from collections.abc import Callable

from tests.cli.running import ran
from tests.rig.gateway import Gateway
from tests.rig.peers import Host
from tests.rig.waiting import until_async


def happened(event: str) -> dict[str, object]:
    return {"type": "session.event", "sessionId": "s1", "event": event, "data": {}}


async def test_a_quiet_turn_is_told_by_status(serve: Callable[..., Gateway]) -> None:
    gateway = serve("--no-attach", env={"TAPUI_ALARMS_QUIET": "0.001"})
    async with await Host.hello(gateway.url, gateway.internal_token) as host:
        await host.open("s1", label="\x1b]0;owned\x07quiet")
        await host.send(happened("session.busy"))

        def status() -> str:
            return ran(gateway.home, "status", "--port", str(gateway.port)).stdout

        def alarms() -> str:
            return said if "Alarms (1)" in (said := status()) else ""

        said = await until_async(alarms, what="an alarm in the status")
        assert "a turn without an event" in said
        assert "\x1b" not in said
        await host.send(happened("session.idle"))
        await until_async(lambda: "Alarms" not in status(), what="no alarm in the status")
