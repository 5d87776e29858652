"""The page of `tapui provider new --lang browser` in a real Chromium, with a real tapui."""

import asyncio
import json
import subprocess
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from tests.javascript.digits import read_code
from tests.javascript.panel import Panel
from tests.javascript.relay import Relay
from tests.javascript.site import Site
from tests.javascript.test_project import made
from tests.rig.chromium import Chromium
from tests.rig.gateway import Gateway, Home
from tests.rig.node import node
from tests.rig.peers import Host, Tower
from tests.rig.tmux import Tmux
from tests.rig.tower import TowerProcess

TOKEN = "localStorage.getItem('tapui.my-tools.token')"


@pytest.fixture
def site(home: Home) -> Iterator[Site]:
    with Site(made(home, "browser")) as site:
        yield site


def called(home: Home, port: int, tool: str, *args: str) -> Any:
    """Call a tool as a person does; return its result."""
    done = home.run("call", tool, *args, "--port", str(port))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


async def revealed(tower: Tower, sessions: tuple[str, ...] = ("local",)) -> str:
    """Open the next pairing request as a tower does; return the code."""
    approval = (await tower.event("approval.requested"))["approval"]
    open_ = {"type": "approval.reveal", "approvalId": approval["id"]}
    await tower.send({**open_, "sessions": list(sessions)})
    return str((await tower.expect("approval.revealed"))["code"])


def test_the_projects_own_test_passes(home: Home) -> None:
    done = subprocess.run(
        [node(), "--test"],
        cwd=made(home, "browser"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "# pass 4" in done.stdout


async def test_a_page_pairs_by_the_code_in_the_tower_and_is_read(
    home: Home, site: Site, tmux: Tmux
) -> None:
    tapui = TowerProcess(tmux, home, "--port", "0", "--no-attach")
    port = tapui.gateway["port"]
    screen = tapui.screen
    async with Chromium() as browser:
        page = await browser.open(site.url)
        panel = Panel(page)
        await panel.connect(tapui.url)
        await panel.shows("code", "Open the request in tapui")

        def answer() -> str | None:
            screen.press("a", lambda: bool(screen.find("asks to be paired")))
            screen.press("y", lambda: bool(screen.find("Enter shows the pairing code")))
            screen.press("Enter", lambda: read_code(screen.text()) is not None)
            return read_code(screen.text())

        code = await asyncio.to_thread(answer)
        assert code is not None
        await panel.enter(code)
        await panel.shows("bound", "in local")
        await asyncio.to_thread(screen.wait_for, "my-tools")

        found = await asyncio.to_thread(called, home, port, "read_page")
        assert (found["title"], found["headings"]) == ("my-tools", ["Hello from my-tools"])
        assert found["url"] == site.url
        tower = await Tower.hello(tapui.url, tapui.internal_token)
        numbers = count(1)

        async def call(tool: str, **args: str) -> Any:
            id_ = f"i{next(numbers)}"
            invoke = {"type": "tool.invoke", "sessionId": "local", "tool": tool, "args": args}
            await tower.send({**invoke, "id": id_})
            return (await tower.expect("tool.outcome", id=id_))["data"]

        await page.eval("getSelection().selectAllChildren(document.querySelector('h1'))")
        assert await call("read_selection") == {"text": "Hello from my-tools"}
        assert await call("set_greeting", text="Good morning") == "Hello from my-tools"
        assert await call("read_text", selector="h1") == {"text": "Good morning"}
        assert "<h1>Good morning</h1>" in (await call("read_html", selector="body"))["text"]
        assert (await call("find_elements", selector="p"))["count"] == 3
        assert (await call("point_at", selector="h1"))["isSeen"] is True
        await page.eval("setTimeout(() => { throw new Error('no cups left'); })")
        await page.eval("console.error('out of tea')")
        await asyncio.to_thread(screen.wait_for, "my-tools.*errors|errors.*my-tools")
        lines = await call("read_console", level="error")
        texts = sorted(one["text"] for one in lines)
        assert ["no cups left" in texts[0], texts[1:]] == [True, ["out of tea"]]
        await tower.close()
    await asyncio.to_thread(tapui.end)


async def test_a_wrong_code_is_told_and_a_new_one_is_asked_for(
    home: Home, site: Site, gateway: Gateway
) -> None:
    tower = await Tower.hello(gateway.url, gateway.internal_token)
    async with tower, Chromium() as browser:
        panel = Panel(await browser.open(site.url))
        await panel.connect(gateway.url)
        code = await revealed(tower)
        await panel.enter(f"{(int(code) + 1) % 10**6:06}")
        await panel.shows("start", "Wrong pairing code. Connect again for a new code.")
        assert await panel.page.eval(TOKEN) is None
        await panel.click(".start .main")
        await panel.enter(await revealed(tower))
        await panel.shows("bound", "in local")

        await panel.page.go(site.url)  # its token is kept
        await panel.shows("bound", "in local")
        other = Panel(await browser.open(site.url.replace("localhost", "127.0.0.1")))
        await other.ready()
        await other.shows("start")
        token = await panel.page.eval(TOKEN)
        for what, value in (("token", token), ("gateway", gateway.url)):
            await other.page.eval(f"localStorage.setItem('tapui.my-tools.{what}', {value!r})")
        await other.page.go(site.url.replace("localhost", "127.0.0.1"))
        await other.shows("start", "Connect again.")  # the token is of the first page's origin
        assert await other.page.eval(TOKEN) is None

        await panel.click(".head")
        await panel.click(".bound .plain")
        await panel.shows("start", "not connected")
        assert await panel.page.eval(TOKEN) is None
        while (await tower.event("provider.disconnected"))["provider"]["name"] != "my-tools":
            pass


async def test_a_page_comes_back_after_a_lost_link_and_asks_anew_after_a_restart(
    home: Home, site: Site, serve: Callable[..., Gateway]
) -> None:
    gateway = serve("--no-attach")
    tower = await Tower.hello(gateway.url, gateway.internal_token)
    async with tower, Relay(gateway.port) as relay, Chromium() as browser:
        panel = Panel(await browser.open(site.url))
        await panel.connect(relay.url)
        await panel.enter(await revealed(tower))
        await panel.shows("bound", "in local")
        before = relay.connections
        relay.cut()
        await panel.shows("busy", "The gateway is gone. Trying again …")
        await panel.shows("bound", "in local")
        assert relay.connections > before
        gateway.kill()
        await panel.shows("busy", "Trying again …")
        serve("--no-attach", port=gateway.port)
        await panel.shows("start", "tapui has restarted. Connect again.", within=30)


async def test_one_tab_is_in_a_session_and_leaves_it_when_it_ends(
    site: Site, gateway: Gateway
) -> None:
    tower = await Tower.hello(gateway.url, gateway.internal_token)
    host = await Host.hello(gateway.url, gateway.internal_token)
    async with tower, host, Chromium() as browser:
        await host.open("s1", label="Fix pairing")
        panel = Panel(await browser.open(site.url))
        await panel.connect(gateway.url)
        await panel.enter(await revealed(tower, ("s1",)))
        await panel.shows("bound", "in Fix pairing")
        other = Panel(await browser.open(site.url))
        await other.ready()
        await other.shows("busy", "Another tab of this page is connected. Trying again …")
        await panel.page.close()
        await other.shows("bound", "in Fix pairing")
        await host.send({"type": "session.close", "sessionId": "s1"})
        await other.shows("start", "The session has ended, or tapui has restarted. Connect again.")
        assert await other.page.eval(TOKEN) is None


async def test_the_panel_fits_narrow_pages_and_says_what_is_wrong(site: Site) -> None:
    async with Chromium() as browser:
        panel = Panel(await browser.open(site.url))
        await panel.connect("ws://localhost:1")
        await panel.shows("start", "No gateway answers at ws://localhost:1. Is tapui running?")
        for width in (320, 800, 1600):
            await panel.page.size(width, 640)
            left, right = await panel.place()
            assert left >= 0
            assert right <= width
