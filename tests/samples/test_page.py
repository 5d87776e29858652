"""The interface's page, in a browser: it pairs, shares its tools, and comes back by itself."""

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.javascript.site import Site
from tests.rig.chromium import Chromium, Page
from tests.rig.gateway import Gateway
from tests.rig.peers import Host, Json, Tower
from tests.rig.waiting import HUNG, LONGEST
from tests.samples.running import sample


class Tabs:
    """Tabs with the page, and the person's tower that shows their codes."""

    def __init__(self, browser: Chromium, url: str, tower: Tower) -> None:
        self._browser = browser
        self._url = url
        self._tower = tower

    async def connected(self, *sessions: str) -> Page:
        """Open the page and have it connect; type the code, which lets it into these sessions."""
        page = await self._browser.open(self._url)
        await page.eval("connect()")
        approval = (await self._tower.event("approval.requested"))["approval"]
        reveal = {"type": "approval.reveal", "approvalId": approval["id"]}
        await self._tower.send({**reveal, "sessions": list(sessions)})
        code = (await self._tower.expect("approval.revealed"))["code"]

        async with asyncio.timeout(HUNG):
            while not await answered(page, code):  # noqa: ASYNC110
                await asyncio.sleep(LONGEST)  # the browser tells of its dialog only when asked
        return page


async def answered(page: Page, code: str) -> bool:
    """Type a code into the page's dialog; return whether it was there."""
    try:
        await page.do("Page.handleJavaScriptDialog", accept=True, promptText=code)
    except AssertionError as error:
        if "No dialog is showing" not in str(error):
            raise
        return False
    return True


@pytest.fixture
async def host(own_gateway: Gateway) -> AsyncIterator[Host]:
    """A host with two sessions."""
    async with await Host.hello(own_gateway.url, own_gateway.internal_token) as host:
        for id_ in ("abc123", "def456"):
            await host.open(id_)
        yield host


@pytest.fixture
async def tabs(own_gateway: Gateway, tmp_path: Path) -> AsyncIterator[Tabs]:
    """A browser and a tower."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text(sample("tab.html", own_gateway.port))
    tower = await Tower.hello(own_gateway.url, own_gateway.internal_token)
    with Site(folder) as site:
        async with tower, Chromium() as browser:
            yield Tabs(browser, site.url, tower)


async def offered(host: Host, session: str, instances: int) -> Json:
    """Wait until a session has the tools of so many tabs; return them by name."""
    while True:
        listed = (await host.expect("tools.changed", sessionId=session))["tools"]
        tools = {one["name"]: one for one in listed}
        known = tools.get("list_browser_instances", {}).get("instances", [])
        if len(known) == instances:
            return tools


async def test_two_tabs_are_paired_called_by_name_and_come_back(host: Host, tabs: Tabs) -> None:
    first = await tabs.connected("abc123")
    tools = await offered(host, "abc123", 1)
    assert {"page_title", "screenshot"} <= tools.keys()
    second = await tabs.connected("abc123")
    tools = await offered(host, "abc123", 2)
    names = [await page.eval("INSTANCE") for page in (first, second)]
    described = tools["page_title"]["parameters"]["properties"]["target"]["description"]
    assert all(f"{name} (Dashboard)" in described for name in names)

    await first.eval("document.title = 'Settings'")
    await host.invoke("abc123", "page_title", {"target": names[0]}, id_="i1")
    assert (await host.expect("tool.outcome", id="i1"))["data"] == "Settings"
    await host.invoke("abc123", "screenshot", {"target": names[1]}, id_="i2")
    assert (await host.expect("tool.progress", id="i2"))["message"] == "Capturing..."
    picture = (await host.expect("tool.outcome", id="i2"))["data"]["image"]
    kind, _, encoded = picture.partition(",")
    assert kind == "data:image/jpeg;base64"
    assert base64.b64decode(encoded).startswith(b"\xff\xd8")

    # The connection is lost: five seconds later the page is there again, without a code.
    await first.eval("ws.close()")
    await offered(host, "abc123", 1)
    await offered(host, "abc123", 2)
    await host.invoke("abc123", "page_title", {"target": names[0]}, id_="i3")
    assert (await host.expect("tool.outcome", id="i3"))["data"] == "Settings"


async def test_a_page_that_may_use_two_sessions_picks_one(host: Host, tabs: Tabs) -> None:
    page = await tabs.connected("abc123", "def456")
    await page.until("pick !== null")
    await page.eval("pick('def456')")
    assert "page_title" in await offered(host, "def456", 1)
