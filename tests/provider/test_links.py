"""How providers of the kit come, stay, come back and leave, at a real gateway."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tapui.provider import Concurrency, Context, GatewayRefusal, Provider, Session, SessionNews
from tapui.provider.members import NoSuchSession, choose
from tapui.wire.limits import SHUTDOWN_MS
from tapui.wire.message import ActiveSession
from tapui.wire.provider import Hello, Sessions, SessionsUpdated
from tests.provider.conftest import Bench, WatchedLink
from tests.rig.peers import Host
from tests.rig.peers import Provider as Peer
from tests.rig.waiting import HUNG, until_async


def greeter(**options: Any) -> Provider:
    provider = Provider("greeter", **options)

    @provider.tool
    def greet(name: str) -> str:
        return f"Hello, {name}!"

    return provider


async def test_a_lost_link_is_dialled_again_with_the_reconnect_token(bench: Bench) -> None:
    provider = greeter()
    runs: list[str] = []
    begun, cancelled = asyncio.Event(), asyncio.Event()
    waits = asyncio.Event()

    @provider.background
    async def watch(session: Session) -> None:
        runs.append(session.id)
        await waits.wait()
        session.log("it goes on")

    @provider.tool
    async def hang(context: Context) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    served = await bench.serve(provider)
    tower = await bench.tower()
    before = [one["id"] for one in tower.snapshot["state"]["providers"] if one["state"] == "bound"]
    await bench.host.invoke(bench.session, "hang", id_="h")
    await bench.host.expect("tools.changed")
    link = served.links[0]
    async with asyncio.timeout(HUNG):
        await begun.wait()
    link.abort()
    assert (await bench.host.expect("tool.outcome", id="h"))["errorCode"] == "DISCONNECTED"
    session = served.serving.members[bench.session]
    session.log("said while it was away")
    waits.set()
    await served.told.heard("bound: ", times=2)
    async with asyncio.timeout(HUNG):
        await cancelled.wait()
    said = [(await bench.host.expect("session.log"))["message"] for _ in range(2)]
    assert any("it goes on" in one for one in said)
    assert any("said while it was away" in one for one in said)
    assert runs == [bench.session]
    tower = await bench.tower()
    after = [one["id"] for one in tower.snapshot["state"]["providers"] if one["state"] == "bound"]
    assert after == before
    assert (await bench.call("greet", {"name": "Ada"}))["data"] == "Hello, Ada!"


async def test_what_is_declared_while_the_hello_is_unanswered_reaches_the_session(
    bench: Bench,
) -> None:
    class Busy(Provider):
        """Declares more at the moment at which its first hello was made."""

        def hello(self, *given: Any) -> Hello:
            told = super().hello(*given)
            if len(self.tools) == 1:
                self.tool(late)
                self.set_context("said late \ud83d")
            return told

    def late() -> str:
        return "here"

    provider = Busy("busy", context="said early \ud83d")
    provider.tool(late, name="early")
    await bench.serve(provider)
    names: set[str] = set()
    while not names >= {"early", "late"}:
        offered = await bench.host.expect("tools.changed", sessionId=bench.session)
        names = {tool["name"] for tool in offered["tools"]}
    assert (await bench.call("late"))["data"] == "here"
    submitted = {"type": "prompt.submitted", "id": "p", "sessionId": bench.session, "prompt": "go"}
    await bench.host.send(submitted)
    told = (await bench.host.expect("prompt.prepared", id="p"))["context"]
    assert ("said late �" in told, "said early �" in told) == (True, False)


async def test_it_leaves_with_a_goodbye_and_answers_what_is_under_way(bench: Bench) -> None:
    begun = asyncio.Event()
    provider = greeter()

    @provider.tool
    async def wait() -> None:
        begun.set()
        await asyncio.Event().wait()

    served = await bench.serve(provider)
    tower = await bench.tower()
    await bench.host.invoke(bench.session, "wait", id_="w")
    async with asyncio.timeout(HUNG):
        await begun.wait()
    await served.leave()
    assert (await bench.host.expect("tool.outcome", id="w"))["errorCode"] == "CANCELLED"
    gone = await tower.event("provider.disconnected")
    assert gone["provider"]["reason"] == "the provider leaves"


async def test_when_its_session_ends_it_cleans_up_and_waits_for_the_session(bench: Bench) -> None:
    provider = greeter()
    ended: list[str] = []
    was_cancelled: list[str] = []

    @provider.background
    async def watch(session: Session) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            was_cancelled.append(session.id)

    @provider.on("session.ending")
    async def clean(news: SessionNews) -> None:
        news.session.push("the last line")
        ended.append(news.session.id)

    name = f"{bench.session}-short"
    await bench.host.open(name)
    served = await bench.serve(provider, session=name)
    await bench.host.send({"type": "session.close", "sessionId": name})
    await bench.host.expect("session.closed", sessionId=name, within=SHUTDOWN_MS / 1000)
    assert (ended, was_cancelled) == ([name], [name])
    await served.told.heard(f"waiting: no session '{name}' is open")
    await bench.host.open(name)
    await served.told.heard("bound: ", times=2)


async def test_where_it_was_moved_ends_without_a_close_and_opens_anew(bench: Bench) -> None:
    lost = await Host.hello(bench.gateway.url, bench.gateway.internal_token)
    there = f"{bench.session}-there"
    async with lost:
        await lost.open(there)
        served = await bench.serve(greeter(), session=bench.session)
        tower = await bench.tower()
        (provider,) = [
            one["id"]
            for one in tower.snapshot["state"]["providers"]
            if one.get("sessionId") == bench.session and one["state"] == "bound"
        ]
        move = {"type": "provider.move", "providerId": provider, "sessionId": there}
        await tower.send(move)
        await tower.event("provider.moved")
        lost.drop()
        ended = await tower.event("provider.unbound")
        assert ended["provider"]["reason"] == "the session ended"
        await served.told.heard(f"bound: ['{bench.session}']", times=2)
        assert (await bench.call("greet", {"name": "Ada"}))["data"] == "Hello, Ada!"


async def test_a_session_that_opens_anew_during_the_clean_up_is_bound(bench: Bench) -> None:
    provider = greeter()
    cleans, goes_on = asyncio.Event(), asyncio.Event()

    @provider.on("session.ending")
    async def clean(news: SessionNews) -> None:
        cleans.set()
        await goes_on.wait()

    name = f"{bench.session}-anew"
    lost = await Host.hello(bench.gateway.url, bench.gateway.internal_token)
    async with lost:
        await lost.open(name)
        served = await bench.serve(provider, session=name)
        lost.drop()
        async with asyncio.timeout(HUNG):
            await cleans.wait()
        await bench.host.open(name)
        await until_async(lambda: is_listed(name, served.links[-1]), what="the new session")
        goes_on.set()
        await served.told.heard(f"bound: ['{name}']", times=2)
    assert not [one for one in served.told.words if one.startswith("waiting: no session")]


def is_listed(name: str, link: WatchedLink) -> bool:
    """Return whether the newest list of sessions that came over a link has one of this name."""
    lists = [one for one in link.received if isinstance(one, Sessions | SessionsUpdated)]
    return any(one.id == name for one in lists[-1].active)


async def test_a_provider_of_all_sessions_enters_those_that_open_later(bench: Bench) -> None:
    provider = Provider("everywhere", session="all")
    started: list[str] = []

    @provider.tool
    def where(context: Context) -> str:
        context.log("here")
        return context.session.id

    @provider.on("session.started")
    async def begun(news: SessionNews) -> None:
        started.append(news.session.id)

    await bench.serve(provider, token=bench.gateway.internal_token)
    assert (await bench.call("where"))["data"] == bench.session
    later = f"{bench.session}-later"
    await bench.host.open(later)
    await until_async(lambda: later in started, what="its start")
    await bench.host.invoke(later, "where", id_="l")
    assert (await bench.host.expect("tool.outcome", id="l"))["data"] == later
    assert (await bench.host.expect("session.log", sessionId=later))["message"]
    await bench.host.send({"type": "session.close", "sessionId": later})
    await bench.host.expect("session.closed", sessionId=later)
    assert (await bench.call("where"))["data"] == bench.session


async def test_all_sessions_wait_for_the_person_to_allow_them(bench: Bench) -> None:
    tower = await bench.tower()
    served = await bench.serve(Provider("wants-all", session="all"), is_bound=False)
    asked = (await tower.event("approval.requested"))["approval"]
    await served.told.heard("waiting: binding to all sessions waits for the person's approval")
    decide = {"type": "approval.decide", "approvalId": asked["id"], "decision": "approve"}
    await tower.send(decide)
    await served.told.heard("bound: ")


async def test_two_providers_of_one_name_the_second_waits_for_the_first(bench: Bench) -> None:
    first = await bench.serve(greeter())
    pauses: list[float] = []
    go_on = asyncio.Event()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await go_on.wait()

    second = await bench.serve(greeter(), is_bound=False, sleep=sleep)
    await second.told.heard("waiting: another connection is 'greeter'")
    await first.leave()
    go_on.set()
    await second.told.heard("bound: ")
    assert pauses


async def test_a_tool_that_another_provider_has_is_waited_for(bench: Bench) -> None:
    holder = await Peer.bind(
        bench.gateway.url, bench.gateway.token, name="holder", session=bench.session
    )
    served = await bench.serve(
        greeter(), is_bound=False, sleep=lambda seconds: asyncio.sleep(seconds / 100)
    )
    await served.told.heard("waiting: ")
    assert "greet" in served.told.words[0]
    assert "holder" in served.told.words[0]
    await holder.close()
    await served.told.heard("bound: ")


async def test_instances_share_their_tools(bench: Bench) -> None:
    def tab(name: str) -> Provider:
        provider = Provider("tab", instance=name, metadata={"title": f"page {name}"})

        @provider.tool
        def title() -> str:
            return name

        return provider

    for name in ("one", "two"):
        await bench.serve(tab(name))
    assert (await bench.call("title", {"target": "one"}))["data"] == "one"
    assert (await bench.call("title", {"target": "two"}))["data"] == "two"
    listed = str((await bench.call("list_tab_instances"))["data"])
    assert "page one" in listed
    assert "page two" in listed


async def test_tools_that_come_and_go_while_it_serves(bench: Bench) -> None:
    provider = greeter()
    await bench.serve(provider)
    await bench.host.expect("tools.changed")

    @provider.tool
    def late() -> int:
        return 1

    provider.remove_tool("greet")
    offered = await bench.host.expect("tools.changed")
    names = {tool["name"] for tool in offered["tools"] if tool["provider"] == "greeter"}
    assert names == {"late"}
    assert (await bench.call("late"))["data"] == 1


async def test_concurrency_is_kept_to(bench: Bench) -> None:
    provider = Provider("narrow", concurrency=Concurrency(1, "tool"))
    most, now = 0, 0

    @provider.tool
    async def work() -> None:
        nonlocal most, now
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1

    await bench.serve(provider)
    await asyncio.gather(*(bench.call("work") for _ in range(5)))
    assert most == 1


async def test_a_token_that_is_refused_ends_it(bench: Bench) -> None:
    served = await bench.serve(greeter(), is_bound=False, token="ptk-wrong")
    with pytest.raises(GatewayRefusal, match="AUTH_FAILED"):
        await served.task


async def test_without_a_gateway_it_waits_and_dials_again() -> None:
    from tapui.provider.link import Link, LinkLost
    from tapui.provider.serving import Serving
    from tapui.provider.socket_link import dial_socket
    from tests.provider.conftest import Told

    told, pauses = Told(), []

    async def dial() -> Link:
        return await dial_socket("ws://127.0.0.1:9")

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 8:
            raise LinkLost("enough")

    with pytest.raises(LinkLost, match="enough"):
        await Serving(greeter(), dial, sleep=sleep, listener=told).run()
    assert pauses == [0.25, 0.5, 1, 2, 4, 8, 10, 10]
    assert told.words[0] == "waiting: no gateway answers at ws://127.0.0.1:9"


def session(id_: str, label: str, **more: Any) -> ActiveSession:
    return ActiveSession(id_, label, **{"foreground": False, "state": "idle", **more})


def test_the_session_is_chosen_by_id_label_or_what_is_in_front() -> None:
    active = [
        session("mcp-1", "MCP"),
        session("abc", "docs"),
        session("abd", "docs", foreground=True),
        session("xyz", "tests"),
    ]
    assert choose(active, None) == "abd"
    assert choose(active[:2], None) == "abc"
    assert choose(active, "tests") == "xyz"
    assert choose(active, "abc") == "abc"
    assert choose(active, "xy") == "xyz"
    assert choose(active, "mcp-1") == "mcp-1"
    assert choose([], "all") == "all"
    for wanted, text in (
        (None, "no session"),
        ("none", "no session 'none'"),
        ("docs", "by its id"),
    ):
        with pytest.raises(NoSuchSession, match=text):
            choose(active if wanted else active[:1], wanted)


def test_without_a_name_the_session_of_the_folder_is_chosen(tmp_path: Path) -> None:
    (tmp_path / "app" / "src").mkdir(parents=True)
    (tmp_path / "link").symlink_to("app")
    at = os.path.realpath(tmp_path)
    front = session("front", "infra", foreground=True, cwd=f"{at}/infra")
    app = session("app", "app", cwd=f"{at}/link")
    around = session("around", "all of it", cwd=at)
    odd = session("odd", "odd", cwd="a\0b")
    local = session("local", "local", cwd=f"{at}/app")
    sessions = [front, app, odd, local]
    assert choose(sessions, None, f"{at}/app") == "app"
    assert choose(sessions, None, f"{at}/app/src") == "app"
    assert choose([*sessions, around], None, f"{at}/app") == "app"
    assert choose(sessions[1:], None, at) == "app", "its folder is in this one"
    for case, known in {
        "elsewhere": ([front, app], f"{at}/application"),
        "two in it": ([front, app], at),
        "two of it": ([front, app, session("app-2", "app", cwd=f"{at}/app")], f"{at}/app"),
        "two around it": ([front, app, around], f"{at}/app/src"),
        "only the gateway's own": ([front, local], f"{at}/app"),
    }.items():
        assert choose(*(known[0], None, known[1])) == "front", case
    assert choose(sessions, "infra", f"{at}/app") == "front"
