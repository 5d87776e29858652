"""The Copilot host is a process of its own: what becomes of the sessions when it is killed."""

import os
import signal
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from tests.rig.copilot import Copilot
from tests.rig.gateway import Gateway
from tests.rig.model_server import ModelServer, Rule
from tests.rig.processes import below
from tests.rig.provider_process import ProviderProcess
from tests.rig.taken import wait_for_tools
from tests.rig.waiting import until

SHIP = {
    "name": "ship",
    "description": "Ship an order",
    "parameters": {"type": "object", "properties": {}},
}


@pytest.fixture
def tapui(copilot: Copilot, serve: Callable[..., Gateway]) -> Gateway:
    """A `tapui serve` that has found the CLI's session."""
    gateway = serve()
    until(lambda: is_open(gateway, copilot), what=lambda: f"attached; {gateway.stderr}")
    return gateway


def sessions(gateway: Gateway) -> dict[str, dict[str, Any]]:
    """Return the open sessions of a gateway by id."""
    return {
        one["id"]: one
        for one in gateway.home.state().get("sessions", [])
        if one["state"] != "ended"
    }


def is_open(gateway: Gateway, copilot: Copilot) -> bool:
    return copilot.session_id in sessions(gateway)


def host_of(gateway: Gateway) -> int:
    (host,) = [one.pid for one in below(gateway.pid, lambda argv: "tapui.hosts.copilot" in argv)]
    return host


def test_killed_host_costs_its_own_sessions_only_and_they_come_back(
    copilot: Copilot, model: ModelServer, tapui: Gateway
) -> None:
    model.script(
        Rule(calls=[("ship", {})], needs="ship"),
        Rule(text="then without it", when="ended before the tool answered"),
    )
    with (
        ProviderProcess(tapui.url, tapui.token, name="at-home", tools=[], session="local") as local,
        ProviderProcess(
            tapui.url, tapui.token, name="shop", tools=[SHIP], session=copilot.session_id
        ) as shop,
    ):
        wait_for_tools(tapui.home, copilot)
        copilot.prompt("ship it")
        copilot.choose_first("Run extension tool")
        shop.expect("tool.call")
        killed = host_of(tapui)
        os.kill(killed, signal.SIGKILL)
        shop.expect("session.lifecycle", state="shutdown.pending", sessionId=copilot.session_id)
        shop.send({"type": "shutdown.ready", "sessionId": copilot.session_id})
        until(lambda: "local" in sessions(tapui), what="the local session")
        # It comes back, and what its former process left unanswered is answered.
        copilot.screen.wait_for("then without it")
        until(lambda: is_open(tapui, copilot), what="the session")
        assert host_of(tapui) != killed
        with pytest.raises(AssertionError, match=r"no session\.lifecycle"):
            local.expect("session.lifecycle", state="shutdown.pending", within=0)
    model.script(
        Rule(calls=[("ship", {})], needs="ship"),
        Rule(text="shipped at last", when="on its way"),
    )
    again = {"name": "shop", "tools": [SHIP], "session": copilot.session_id}
    with ProviderProcess(tapui.url, tapui.token, **again) as shop:
        wait_for_tools(tapui.home, copilot)
        copilot.prompt("once more")
        copilot.choose_first("Run extension tool")
        shop.answer(data="on its way")
        copilot.screen.wait_for("shipped at last")


def test_host_ends_with_tapui_and_the_cli_goes_on(
    copilot: Copilot, model: ModelServer, tapui: Gateway
) -> None:
    host = host_of(tapui)
    assert tapui.stop() == 0
    assert not psutil.pid_exists(host)
    model.script(Rule(text="still here", when="hello"))
    copilot.prompt("hello")
    copilot.screen.wait_for("still here")


def test_no_host_is_left_when_tapui_is_killed(copilot: Copilot, tapui: Gateway) -> None:
    host = host_of(tapui)
    tapui.kill()
    until(lambda: not psutil.pid_exists(host), what="the host has ended")
    assert psutil.pid_exists(copilot.pid)
