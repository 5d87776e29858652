"""Which gateway a provider's program connects to, and which token it shows to whom."""

import socket
from pathlib import Path

import pytest

from tapui.provider.gateway_finder import GatewayFinder
from tapui.provider.link import LinkLost
from tapui.provider.socket_link import SocketLink
from tests.rig.gateway import Gateway, Home


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_the_token_that_is_kept_is_for_this_machine(running: Gateway, host: str) -> None:
    url = f"ws://{host}:{running.port}"
    token = GatewayFinder(running.home.env(TAP_GATEWAY=url)).token()
    assert token is not None
    assert token.reveal() == running.token


@pytest.mark.parametrize("host", ["192.0.2.1", "gateway.example", "localhost.example"])
async def test_the_token_that_is_kept_goes_to_no_other_machine(running: Gateway, host: str) -> None:
    finder = GatewayFinder(running.home.env(TAP_GATEWAY=f"ws://{host}:{running.port}"))
    assert finder.token() is None
    with pytest.raises(LinkLost, match="set TAP_PROVIDER_TOKEN"):
        await finder.dial()


def test_the_environments_token_is_shown_at_its_address(running: Gateway) -> None:
    env = running.home.env(TAP_GATEWAY=running.url, TAP_PROVIDER_TOKEN="its own")
    for port in (None, running.port):
        token = GatewayFinder(env, port).token()
        assert token is not None
        assert token.reveal() == "its own"


@pytest.mark.parametrize("url", ["foo", "localhost:9400", "http://localhost:9400", "ws://[", "ws:"])
async def test_what_is_no_address_is_named_as_that(tmp_path: Path, url: str) -> None:
    finder = GatewayFinder(Home(tmp_path).env(TAP_GATEWAY=url))
    assert finder.token() is None
    with pytest.raises(LinkLost, match="is no address of a gateway; set TAP_GATEWAY to one such"):
        await finder.dial()


async def test_a_gateway_that_is_lost_is_looked_for_where_it_was(tmp_path: Path) -> None:
    home = Home(tmp_path)
    finder = GatewayFinder(home.env(TAP_PROVIDER_TOKEN="ptk-any"))
    with Gateway(home, "--no-attach") as gateway:
        assert finder.token() is not None
        port = gateway.port
    with pytest.raises(LinkLost, match=f"ws://localhost:{port}"):
        await finder.dial()


async def way_of(finder: GatewayFinder) -> str:
    """Return how a link of a finder came."""
    link = await finder.dial()
    assert isinstance(link, SocketLink)
    assert link._transport is not None
    family = link._transport.get_extra_info("socket").family
    await link.close()
    return "unix" if family == socket.AF_UNIX else "tcp"


async def test_a_gateway_that_was_found_is_reached_by_its_socket(running: Gateway) -> None:
    assert await way_of(GatewayFinder(running.home.env())) == "unix"
    assert await way_of(GatewayFinder(running.home.env(), running.port)) == "unix"


async def test_one_that_is_named_is_reached_where_it_was_named(running: Gateway) -> None:
    assert await way_of(GatewayFinder(running.home.env(TAP_GATEWAY=running.url))) == "tcp"


async def test_one_whose_socket_is_gone_is_reached_by_its_port(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with Gateway(home, "--no-attach") as gateway:
        gateway.socket.unlink()
        assert await way_of(GatewayFinder(home.env())) == "tcp"
