"""The Unix socket of a `tapui serve`: who finds it, and what becomes of it."""

import json
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path

import psutil
import pytest

from tapui.client import gateways
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway
from tapui.client.glance import glance
from tapui.home import paths as home_paths
from tests.rig.gateway import Gateway, Home, tapui_argv
from tests.rig.waiting import until


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def socket_of(gateway: Gateway) -> Path:
    said = json.loads((gateway.home.tapui / f"run/{gateway.port}/gateway.json").read_text())
    return Path(said["socket"])


def older(gateway: Gateway) -> None:
    """Announce it as gateways did before they had such sockets."""
    path = gateway.home.tapui / f"run/{gateway.port}/gateway.json"
    said = json.loads(path.read_text())
    Path(said.pop("socket")).unlink()
    path.write_text(json.dumps(said))


def found(gateway: Gateway) -> FoundGateway:
    home = home_paths.Home.at(gateway.home.tapui, gateway.home.copilot)
    return gateways.find(home, gateway.port, is_explicit=True)


def own_tcp() -> list[int]:
    """Return the ports that this process has connections to."""
    return [one.raddr.port for one in psutil.Process().net_connections("tcp") if one.raddr]


def ways_of(gateway: Gateway) -> Counter[str]:
    """Return how the gateway's clients have come, as its own open sockets say."""
    sockets = psutil.Process(gateway.pid).net_connections("all")
    tcp = [one for one in sockets if one.raddr and one.laddr.port == gateway.port]
    unix = [one for one in sockets if one.laddr == str(gateway.socket)]
    return Counter({"tcp": len(tcp), "unix": len(unix)})


def test_it_is_in_the_run_folder_until_the_end(home: Home) -> None:
    with Gateway(home, "--no-attach") as gateway:
        path = socket_of(gateway)
        assert path == home.tapui / f"run/{gateway.port}/gateway.sock"
        assert stat.S_IMODE(path.lstat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.lstat().st_mode) == 0o700
        gateway.stop()
        assert not path.parent.exists()


def test_what_a_killed_gateway_left_is_in_nobodys_way(home: Home) -> None:
    with Gateway(home, "--no-attach") as gateway:
        port, path = gateway.port, socket_of(gateway)
        gateway.kill()
    assert path.exists()
    with Gateway(home, "--no-attach", port=port) as again:
        assert socket_of(again) == path
        glance(found(again), name="test")


def test_a_home_with_a_long_path_has_one_too(tmp_path: Path) -> None:
    home = Home(tmp_path / "/".join(["a folder with quite a long name"] * 6))
    with Gateway(home, "--no-attach") as gateway:
        assert socket_of(gateway).exists()
        glance(found(gateway), name="test")


async def test_clients_come_by_it(home: Home) -> None:
    with Gateway(home, "--no-attach") as gateway:
        async with await GatewayConnection.open(found(gateway)):
            assert gateway.port not in own_tcp()


KIT = """
from tapui.provider import Provider

kit = Provider("kit")

@kit.tool
def greet() -> str:
    return "hello"

if __name__ == "__main__":
    kit.run()
"""


@pytest.mark.parametrize(
    ("argv", "names_it", "way"),
    [
        (tapui_argv("provider", "dev", "kit.py"), False, "unix"),
        (tapui_argv("provider", "run", "kit.py"), False, "unix"),
        ([sys.executable, "kit.py"], False, "unix"),
        ([sys.executable, "kit.py"], True, "tcp"),
    ],
    ids=["provider dev", "provider run", "a kit's program", "TAP_GATEWAY"],
)
def test_programs_of_this_user_come_by_it_unless_they_were_given_an_address(
    home: Home, tmp_path: Path, argv: list[str], names_it: bool, way: str
) -> None:
    (tmp_path / "kit.py").write_text(KIT)
    with Gateway(home, "--no-attach") as gateway:
        named = {"TAP_GATEWAY": gateway.url} if names_it else {}
        others = ways_of(gateway)
        with subprocess.Popen(
            argv, cwd=tmp_path, env=home.env(**named), stdout=subprocess.DEVNULL
        ) as program:
            try:
                came = until(lambda: ways_of(gateway) - others, what="it has connected")
            finally:
                program.kill()
        assert set(came) == {way}


@pytest.mark.parametrize("has_none", ["announced", "to be opened"])
async def test_without_it_clients_come_over_tcp(home: Home, has_none: str) -> None:
    with Gateway(home, "--no-attach") as gateway:
        if has_none == "announced":
            older(gateway)
        else:
            socket_of(gateway).unlink()
        async with await GatewayConnection.open(found(gateway)):
            assert gateway.port in own_tcp()
        glance(found(gateway), name="test")
