"""Tools that are switched off, over real sockets, in real ledgers, and what a restart leaves."""

from pathlib import Path

from tests.gateway.conftest import Place
from tests.gateway.test_proof import at_work, folder
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import GREET, Host, Json, Provider, Tower
from tests.rig.waiting import until

__all__ = ["folder"]


def names(listing: Json) -> list[str]:
    return [one["name"] for one in listing["tools"] if one["provider"] == "greeter"]


async def switch(tower: Tower, session: str, *, on: bool, tool: str | None = None) -> Json:
    about = {"type": "tools.switch", "sessionId": session, "provider": "greeter", "on": on}
    await tower.send(about if tool is None else {**about, "tool": tool})
    return await tower.event("tools.switched")


async def offered(host: Host, wanted: list[str]) -> None:
    while names(await host.expect("tools.changed")) != wanted:
        pass


async def test_host_and_tower_see_the_same_filtered_set(place: Place) -> None:
    tools = [GREET, {**GREET, "name": "wave"}]
    await place.provider(name="greeter", tools=tools)
    tower = await place.tower()
    await offered(place.host, ["greet", "wave"])
    event = await switch(tower, place.session, on=False, tool="wave")
    assert event["off"] == {"greeter": ["wave"]}
    await offered(place.host, ["greet"])
    await place.host.invoke(place.session, "wave", {}, id_="off")
    outcome = await place.host.expect("tool.outcome", id="off")
    assert outcome["error"] == "Tool 'wave' is switched off for this session by the person."
    await tower.send({"type": "tools.read", "id": "r", "sessionId": place.session})
    assert names(await tower.expect("tools.list", id="r")) == ["greet"]
    late = await place.tower()
    off = [one for one in late.snapshot["state"]["toolsOff"] if one["sessionId"] == place.session]
    assert off == [{"sessionId": place.session, "off": {"greeter": ["wave"]}}]
    await switch(tower, place.session, on=True, tool="wave")
    await offered(place.host, ["greet", "wave"])


async def test_a_bad_switch_leaves_the_tower_connected(place: Place) -> None:
    tower = await place.tower()
    about: Json = {"type": "tools.switch", "sessionId": place.session, "provider": "greeter"}
    for more in ({}, {"on": 1}, {"on": False, "tool": "x" * 300}, {"on": False, "tool": "none"}):
        await tower.send({**about, **more})
        error = await tower.expect("error")
        assert error["replyTo"] == "tools.switch"
    await place.host.send({**about, "on": False})
    assert (await place.host.expect("error"))["replyTo"] == "tools.switch"


async def test_what_is_off_is_off_again_after_a_restart(home: Home, folder: Path) -> None:
    with Gateway(home, "--no-attach") as gateway:
        async with at_work(gateway, folder) as work:
            about = {"name": "greeter", "session": "s1", "tools": [GREET]}
            async with await Provider.bind(gateway.url, gateway.token, **about):
                await switch(work.tower, "s1", on=False)
                until(lambda: work.facts("tools"), what="the ledger's line")
    with Gateway(home, "--no-attach") as gateway:
        async with at_work(gateway, folder) as work:
            off = [one["off"] for one in work.tower.snapshot["state"].get("toolsOff", [])]
            if not off:  # the tower was there before the ledger was read
                off = [(await work.tower.event("tools.switched"))["off"]]
            assert off == [{"greeter": []}]
            about = {"name": "greeter", "session": "s1", "tools": [GREET]}
            async with await Provider.bind(gateway.url, gateway.token, **about):
                await work.host.invoke("s1", "greet", {}, id_="off")
                outcome = await work.host.expect("tool.outcome", id="off")
                assert outcome["errorCode"] == "UNAUTHORIZED"
