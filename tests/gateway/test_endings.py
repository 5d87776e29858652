"""How a gateway ends, and what a second one on its port says."""

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gateway.test_acknowledged import on_disk
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host, Provider, Tower

SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


def run_folder(gateway: Gateway) -> Path:
    return Path(gateway.ready["internalTokenFile"]).parent


def is_private(path: Path) -> bool:
    return path.stat().st_mode & 0o777 == 0o600


def gone(path: Path) -> bool:
    return not path.exists()


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
async def test_a_signal_ends_it_in_order(gateway: Gateway, number: signal.Signals) -> None:
    token_file, folder = Path(gateway.ready["tokenFile"]), run_folder(gateway)
    assert is_private(token_file)
    tower = await Tower.hello(gateway.url, gateway.internal_token)
    host = await Host.hello(gateway.url, gateway.internal_token)
    await host.open("s1")
    provider = await Provider.bind(gateway.url, gateway.token, session="s1")
    await host.invoke("s1", "greet", {"name": "Ann"})
    await provider.expect("tool.call")
    gateway.signal(number)
    pending = await provider.expect("session.lifecycle", state="shutdown.pending")
    assert (pending["sessionId"], pending["deadline"]) == ("s1", 10_000)
    assert (await tower.expect("gateway.stopping"))["deadline"] == 10_000
    assert (await host.expect("tool.outcome"))["errorCode"] == "DISCONNECTED"
    await provider.send({"type": "shutdown.ready", "sessionId": "s1"})
    assert [await peer.closed() for peer in (provider, host, tower)] == [1001, 1001, 1001]
    assert gateway.wait() == 0
    assert gone(token_file)
    assert gone(folder)
    assert gateway.stderr == ""
    kinds = [record["kind"] for record in on_disk(gateway.home)]
    for kind in ("call.started", "call.cancelling", "session.closed", "provider.bound"):
        assert kind in kinds
    for peer in (provider, host, tower):
        await peer.close()


async def test_providers_that_say_nothing_are_waited_for_and_a_second_signal_is_not(
    gateway: Gateway,
) -> None:
    provider = await Provider.bind(gateway.url, gateway.token)
    began = time.monotonic()
    gateway.signal(signal.SIGTERM)
    pending = await provider.expect("session.lifecycle", state="shutdown.pending")
    assert provider.is_open
    gateway.signal(signal.SIGTERM)
    assert await provider.closed() == 1001
    assert time.monotonic() - began < pending["deadline"] / 1000
    assert gateway.wait() == 0
    await provider.close()


async def test_nobody_comes_in_while_it_ends(gateway: Gateway) -> None:
    import websockets

    provider = await Provider.bind(gateway.url, gateway.token)
    token = gateway.token
    gateway.signal(signal.SIGTERM)
    await provider.expect("session.lifecycle", state="shutdown.pending")
    with pytest.raises((OSError, websockets.InvalidStatus)):
        await Provider.bind(gateway.url, token)
    await provider.send({"type": "goodbye"})
    assert await provider.closed() == 1000
    assert gateway.wait() == 0
    await provider.close()


def test_a_second_gateway_on_the_port_says_so_and_touches_nothing(
    gateway: Gateway, home: Home
) -> None:
    token = gateway.token
    for more in ("--no-attach", "--detach", "--json"):
        second = home.run("serve", "--port", str(gateway.port), more)
        assert (second.returncode, second.stdout) == (2, "")
        assert second.stderr == (
            f"tapui: a gateway of yours already serves port {gateway.port} (pid {gateway.pid}): "
            f"`tapui` shows it, `tapui stop --port {gateway.port}` ends it; "
            "choose another port with --port N\n"
        )
    elsewhere = home.run(
        *("serve", "--port", str(gateway.port), "--no-attach"),
        env=home.env(TAPUI_HOME=str(home.root / "other")),
    )
    assert elsewhere.returncode == 2
    assert elsewhere.stderr.startswith(f"tapui: port {gateway.port} is held by a tapui gateway")
    assert "of another user or another TAPUI_HOME" in elsewhere.stderr
    assert gateway.token == token
    assert run_folder(gateway).is_dir()


async def test_a_second_gateway_elsewhere_leaves_the_firsts_token_alone(
    serve: Callable[..., Gateway],
) -> None:
    first = serve("--no-attach")
    token = first.token
    second = serve("--no-attach")
    assert second.port != first.port
    assert first.token == token
    for gateway in (first, second):
        async with await Provider.bind(gateway.url, gateway.token) as provider:
            assert provider.ack["sessionId"] == "local"
    assert second.stop() == 0
    assert first.token == token


def test_a_killed_gateways_files_are_replaced(serve: Callable[..., Gateway]) -> None:
    first = serve("--no-attach")
    port, token = first.port, first.token
    first.kill()
    assert Path(first.ready["tokenFile"]).exists()
    second = serve("--no-attach", port=port)
    assert second.token != token
    announced = json.loads((run_folder(second) / "gateway.json").read_text())
    assert announced["pid"] == second.pid
