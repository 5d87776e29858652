"""Servers of the package `mcp`, which speak the newer protocol: over stdio, and at an address."""

import asyncio
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme

from tapui.mcp_servers.messages import AnsweredForm, ServerAsks, ServerLost, ServerReady
from tapui.secret import Secret
from tapui.wire.codec import raw
from tests.mcp_servers.bridge.conftest import Scene
from tests.rig.waiting import until

OWN = str(Path(__file__).with_name("own_server.py"))
TOKEN = "s3cr3t-t0ken"
TOOLS = ["echo", "wait", "add", "ask", "where", "big"]


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def answers(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def served(port: int) -> Iterator[None]:
    """Run the server at an address."""
    with subprocess.Popen([sys.executable, OWN, str(port), TOKEN]) as server:
        try:
            until(lambda: answers(port), what="the server listens")
            yield
        finally:
            server.kill()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server that the module's tests share."""
    port = free_port()
    with served(port):
        yield f"http://127.0.0.1:{port}/mcp"


def headers(token: str = TOKEN) -> dict[str, Any]:
    return {"headers": {"Authorization": Secret(f"Bearer {token}")}}


@pytest.mark.parametrize("over", ["stdio", "http", "http, the older handshake"])
async def test_all_pages_are_offered_and_called(scene: Scene, address: str, over: str) -> None:
    if over == "stdio":
        bridge = await scene.bridge(OWN, "stdio", name="own")
    else:
        is_old = over != "http"
        bridge = await scene.bridge(name="own", url=address, legacy=is_old, **headers())
    ready = await bridge.heard(ServerReady)
    assert [tool.name for tool in ready.tools][:6] == TOOLS
    assert (ready.server_name, ready.server_version) == ("own", "1.2")
    assert ready.is_legacy is (over == "http, the older handshake")
    assert (await scene.call("echo", {"a": 1}))["data"] == "{'a': 1}"
    assert len((await scene.call("big", {"size": 3 * 2**20}))["data"]) == 3 * 2**20
    outcome = await scene.call("wait", {"seconds": 20}, timeout=300)
    assert outcome["errorCode"] == "TIMEOUT"
    assert (await scene.call("echo"))["data"] == "{}"
    assert TOKEN not in repr(bridge.told) + bridge.errors


async def test_an_answer_that_needs_the_person_first(scene: Scene) -> None:
    bridge = await scene.bridge(OWN, "stdio", name="own")
    id_ = await scene.invoke("ask")
    asked = await bridge.heard(ServerAsks)
    assert (asked.message, asked.session_id) == ("Who?", scene.session)
    await bridge.say(AnsweredForm(asked.id, "accept", raw({})))
    assert (await scene.outcome(id_))["data"] == "accept 1"


async def test_a_tool_that_is_added_is_offered(scene: Scene) -> None:
    await scene.bridge(OWN, "stdio", name="own")
    await scene.call("add")
    await scene.sees(lambda names: "added" in names)


async def test_a_server_that_wants_a_token_is_known(scene: Scene, address: str) -> None:
    bridge = await scene.start(name="own", url=address, **headers("wrong-s3cr3t"))
    lost = await bridge.heard(ServerLost)
    assert lost.why == f"{address.removesuffix('/mcp')} answered HTTP 401"
    assert "--header" in lost.hint
    assert "s3cr3t" not in repr(bridge.told) + bridge.errors


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
async def test_a_server_is_called_by_the_proxy_of_the_environment(
    scene: Scene, variable: str
) -> None:
    asked: asyncio.Queue[bytes] = asyncio.Queue()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.put_nowait(await reader.readline())
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(take, "127.0.0.1") as proxy:
        port = proxy.sockets[0].getsockname()[1]
        environ = {variable: f"http://127.0.0.1:{port}"}
        bridge = await scene.start(name="own", url="https://mcp.corp.test/mcp", environ=environ)
        lost = await bridge.heard(ServerLost)
        assert await asked.get() == b"CONNECT mcp.corp.test:443 HTTP/1.1\r\n"
        assert lost.why.startswith("the proxy refused https://mcp.corp.test: 407")
        assert "HTTPS_PROXY" in lost.hint
        await bridge.end()
        while not asked.empty():
            asked.get_nowait()  # it was tried again
        environ = {**environ, "NO_PROXY": "corp.test"}
        bridge = await scene.start(name="own", url="https://mcp.corp.test/mcp", environ=environ)
        assert (await bridge.heard(ServerLost)).why == "nothing answers at https://mcp.corp.test"
        assert asked.empty()


async def test_a_companys_certificate_is_trusted_where_it_is_named(
    scene: Scene, tmp_path: Path
) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    file = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(file))

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(take, "127.0.0.1", ssl=context) as server:
        host = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        bridge = await scene.start(name="own", url=f"{host}/mcp")
        lost = await bridge.heard(ServerLost)
        assert lost.why.startswith(f"the certificate of {host} is not trusted: ")
        assert "SSL_CERT_FILE" in lost.hint
        for variable in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
            environ = {variable: str(file)}
            bridge = await scene.start(name="own", url=f"{host}/mcp", environ=environ)
            assert (await bridge.heard(ServerLost)).why == f"{host} answered HTTP 401"


async def test_no_proxy_is_asked_for_what_is_on_this_machine(scene: Scene, address: str) -> None:
    environ = {"HTTP_PROXY": "http://127.0.0.1:9", "ALL_PROXY": "http://127.0.0.1:9"}
    await scene.bridge(name="own", url=address, environ=environ, **headers())
    assert (await scene.call("echo"))["data"] == "{}"


@pytest.mark.parametrize(
    ("environ", "why"),
    [
        ({"SSL_CERT_FILE": "/no/such/file"}, "No such file"),
        ({"REQUESTS_CA_BUNDLE": "/no/such/file"}, "No such file"),
        ({"ALL_PROXY": "gopher://127.0.0.1"}, "gopher"),
    ],
)
async def test_an_environment_that_cannot_be_used_is_told(
    scene: Scene, environ: dict[str, str], why: str
) -> None:
    bridge = await scene.start(name="own", url="https://mcp.corp.test/mcp", environ=environ)
    lost = await bridge.heard(ServerLost)
    assert lost.why.startswith("proxy or certificates of the environment: ")
    assert why in lost.why


@pytest.mark.parametrize("is_old", [True, False])
async def test_a_server_that_is_restarted_is_found_again(scene: Scene, is_old: bool) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    with ExitStack() as stack:
        stack.enter_context(served(port))
        bridge = await scene.bridge(name="own", url=url, legacy=is_old, **headers())
        waiting = await scene.invoke("wait", {"seconds": 60})
        assert (await scene.call("echo"))["data"] == "{}"  # the other one is under way by now
        await asyncio.to_thread(stack.close)
        outcome = await scene.outcome(waiting)
        assert (outcome["errorCode"], outcome["retryable"]) == ("SERVER_LOST", True)
    with ExitStack() as stack:
        await asyncio.to_thread(stack.enter_context, served(port))
        await bridge.heard(ServerReady, times=2)
        assert (await scene.call("echo", {"a": 1}))["data"] == "{'a': 1}"
