"""How providers in JavaScript come, stay, come back and leave, at a real gateway."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

from tests.javascript.conftest import PROGRAMS, Bench, Program, environment
from tests.javascript.relay import Relay
from tests.rig.gateway import Gateway, Home
from tests.rig.node import node
from tests.rig.peers import Host, Provider, Tower
from tests.rig.waiting import HUNG

WIDE = (PROGRAMS / "wide.js").read_text()
GREETER = """
import { Provider } from "./tap-provider.js";
const greeter = new Provider("greeter", { session: process.env.WANTED });
greeter.tool("greet", { parameters: { type: "object", required: ["name"],
  properties: { name: { type: "string" } } } }, ({ name }, { session }) => `${name} ${session.id}`);
greeter.log("begins");
await greeter.run();
"""
NOTES = """
import { Provider } from "./tap-provider.js";
const notes = new Provider("notes", { context: "for all" });
const text = { type: "object", required: ["text"], properties: { text: { type: "string" } } };
notes.tool("note", { parameters: text }, ({ text }, { session }) => session.setContext(text));
notes.tool("noteForAll", { parameters: text }, ({ text }) => notes.setContext(text));
notes.tool("noteWhileAway", { parameters: text }, ({ text }, { session, signal }) => {
  signal.addEventListener("abort", () => session.setContext(text));
  return new Promise(() => {});
});
await notes.run();
"""
BUSY = """
import { Provider } from "./tap-provider.js";
class Busy extends Provider {
  hello(...given) {
    const told = super.hello(...given);
    if (this.tools.length === 1) {
      this.tool("late", () => "here");
      this.setContext("said late");
    }
    return told;
  }
}
const busy = new Busy("busy", { context: "said early" });
busy.tool("early", () => "here");
await busy.run();
"""
FINDER = """
import { findGateway } from "./tap-provider.js";
for (const url of process.argv.slice(2)) {
  const environ = { ...process.env, TAP_GATEWAY: url };
  const found = await findGateway({ environ }).catch((error) => error);
  console.log(url, found.token ?? found.name);
}
"""


def test_it_says_what_it_does_and_outlives_its_gateway(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with Program(tmp_path / "greeter", home.env(), GREETER) as greeter:
        greeter.says(
            "greeter: waiting: no gateway runs; start one with `tapui`, in another terminal\n"
        )
        with Gateway(home, "--no-attach") as gateway:
            port = gateway.port
            greeter.says("greeter: in session local (local)\n")
            assert "  tools: greet\n" in greeter.out
            line = f"""  try one: tapui call greet --args '{{"name":"…"}}' --port {port}\n"""
            assert line in greeter.out
            entry = json.loads(greeter.out.splitlines()[-1])["providers"][0]
            assert entry["args"] == [str(tmp_path / "greeter" / "program.js")]
            call = ("call", "greet", "name=Ada", "--port", str(port))
            assert home.run(*call).stdout == '"Ada local"\n'
            gateway.stop()
            greeter.says("greeter: waiting: the gateway is gone")
        with Gateway(home, "--no-attach", port=port):
            greeter.says("greeter: in session local (local)\n", times=2)
            assert greeter.out.count("try one:") == 1
            assert home.run(*call).stdout == '"Ada local"\n'
            assert greeter.leave() == 0
            assert greeter.out.endswith("greeter: left\n")


def test_the_session_and_the_gateway_are_chosen(running: Gateway, tmp_path: Path) -> None:
    env = environment(running, "first") | {"TAPUI_HOME": str(tmp_path / "elsewhere")}
    with Program(tmp_path / "a", env, GREETER) as greeter:
        greeter.says("greeter: waiting: no session 'first' is open\n")
        assert greeter.leave() == 0
    with Program(tmp_path / "b", env, GREETER, "--session", "local", "--port", "1") as greeter:
        greeter.says("greeter: in session local (local)\n")
    with Program(tmp_path / "c", {**env, "TAP_PROVIDER_TOKEN": "ptk-wrong"}, GREETER) as greeter:
        assert greeter.process.wait(HUNG) == 1
        assert "greeter: the gateway refuses it: AUTH_FAILED" in greeter.err
    with Program(tmp_path / "d", running.home.env(), GREETER) as greeter:
        greeter.says("greeter: in session local (local)\n")  # the only gateway of this home
    done = subprocess.run(
        [node(), "program.js", "--port", "x"],
        cwd=tmp_path / "d",
        env=env,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 2
    assert "--session ID" in done.stderr


async def test_a_lost_link_is_dialled_again_with_the_reconnect_token(
    bench: Bench, tmp_path: Path
) -> None:
    async with Relay(bench.gateway.port) as relay:
        env = environment(bench.gateway, bench.session) | {"TAP_GATEWAY": relay.url}
        with Program(tmp_path / "wide", env, WIDE) as wide:
            await asyncio.to_thread(wide.says, f"({bench.session})\n")
            before = await _bound(bench)
            id_ = await bench.start("waitsLong")
            await bench.start("counts")
            await bench.host.expect("tool.progress")
            relay.cut()
            outcome = await bench.host.expect("tool.outcome", id=id_)
            assert outcome["errorCode"] == "DISCONNECTED"
            await asyncio.to_thread(wide.says, "wide: waiting: the gateway is gone")
            await asyncio.to_thread(wide.says, f"({bench.session})\n", times=2)
            assert await _bound(bench) == before
            assert relay.connections == 2
            heard = await bench.data("heard")
            assert "waitsLong: AbortError true" in heard
            assert f"left {bench.session}" not in heard
            assert await asyncio.to_thread(wide.leave) == 0


async def test_what_a_session_is_told_with_every_prompt_outlives_the_link(
    bench: Bench, tmp_path: Path
) -> None:
    async def is_told(*texts: str) -> None:
        async with asyncio.timeout(HUNG):
            while await _told(bench) != list(texts):
                pass

    async with Relay(bench.gateway.port) as relay:
        env = environment(bench.gateway, bench.session) | {"TAP_GATEWAY": relay.url}
        with Program(tmp_path / "notes", env, NOTES) as notes:
            await asyncio.to_thread(notes.says, f"({bench.session})\n")
            await bench.data("note", {"text": "for this one"})
            await is_told("for this one")
            relay.cut()
            await asyncio.to_thread(notes.says, f"({bench.session})\n", times=2)
            await is_told("for this one")
            id_ = await bench.start("noteWhileAway", {"text": "said while away"})
            await bench.data("note", {"text": "before"})
            relay.cut()
            await bench.host.expect("tool.outcome", id=id_)
            await asyncio.to_thread(notes.says, f"({bench.session})\n", times=3)
            await is_told("said while away")
            await bench.data("noteForAll", {"text": "for all again"})
            await is_told("for all again")
            relay.cut()
            await asyncio.to_thread(notes.says, f"({bench.session})\n", times=4)
            await is_told("for all again")


async def test_what_is_declared_while_the_hello_is_unanswered_reaches_the_session(
    bench: Bench, tmp_path: Path
) -> None:
    with Program(tmp_path / "busy", environment(bench.gateway, bench.session), BUSY) as busy:
        await asyncio.to_thread(busy.says, f"({bench.session})\n")
        names: set[str] = set()
        while not names >= {"early", "late"}:
            offered = await bench.host.expect("tools.changed", sessionId=bench.session)
            names = {tool["name"] for tool in offered["tools"]}
        assert await bench.data("late") == "here"
        told = await _told(bench)
        assert ("said late" in told, "said early" in told) == (True, False)


async def _told(bench: Bench) -> Any:
    """Return the context that goes to the agent with a prompt."""
    submitted = {"type": "prompt.submitted", "id": "p", "sessionId": bench.session, "prompt": "go"}
    await bench.host.send(submitted)
    return (await bench.host.expect("prompt.prepared", id="p"))["context"]


def test_the_token_that_is_kept_here_goes_to_no_other_machine(
    running: Gateway, tmp_path: Path
) -> None:
    port = running.port
    here = [f"ws://{name}:{port}" for name in ("localhost", "127.0.0.1", "[::1]")]
    away = [f"ws://{name}:{port}" for name in ("gateway.example", "localhost.example", "192.0.2.1")]
    with Program(tmp_path, running.home.env(), FINDER, *here, *away) as finder:
        assert finder.process.wait(HUNG) == 0, finder.err
        said = [f"{url} {running.token}" for url in here] + [f"{url} LinkLost" for url in away]
        assert finder.out.splitlines() == said


async def test_it_leaves_with_a_goodbye_and_answers_what_is_under_way(
    bench: Bench, tmp_path: Path
) -> None:
    with Program(tmp_path / "wide", environment(bench.gateway, bench.session), WIDE) as wide:
        wide.says(f"({bench.session})\n")
        id_ = await bench.start("waitsLong")
        await bench.data("result", {"kind": "words"})
        assert wide.leave() == 0
        assert (await bench.host.expect("tool.outcome", id=id_))["errorCode"] == "CANCELLED"
        assert await _bound(bench) == []


async def test_it_waits_until_a_name_is_free(bench: Bench, tmp_path: Path) -> None:
    first = await Provider.bind(
        bench.gateway.url, bench.gateway.token, name="greeter", session=bench.session
    )
    env = environment(bench.gateway, bench.session)
    async with first:
        with Program(tmp_path / "greeter", env, GREETER) as greeter:
            greeter.says("greeter: waiting: ")
            await first.close()
            greeter.says(f"({bench.session})\n")
            assert await bench.data("greet", {"name": "Ada"}) == f"Ada {bench.session}"


async def test_tools_whose_names_are_free_are_offered_beside_those_that_are_taken(
    bench: Bench, tmp_path: Path
) -> None:
    env = environment(bench.gateway, bench.session)
    two = GREETER.replace("greeter.log(", "greeter.tool('other', {}, () => 'mine');\ngreeter.log(")
    async with await Provider.bind(
        bench.gateway.url, bench.gateway.token, name="first", session=bench.session
    ):
        with Program(tmp_path / "greeter", env, two) as greeter:
            greeter.says("greeter: left out: greet (Tool 'greet' already registered by provider")
            greeter.says(f"({bench.session})\n")
            assert await bench.data("other", {}) == "mine"


async def test_a_provider_of_all_sessions_is_in_those_that_open_later(
    bench: Bench, tmp_path: Path
) -> None:
    env = environment(bench.gateway, "all") | {
        "TAP_PROVIDER_TOKEN": bench.gateway.internal_token,
        "WANTED": "all",
    }
    with Program(tmp_path / "greeter", env, GREETER) as greeter:
        greeter.says("greeter: in session ")
        assert f"({bench.session})" in greeter.out
        await bench.logs("begins")
        async with await Host.hello(bench.gateway.url, bench.gateway.internal_token) as host:
            later = Bench(bench.gateway, host, "later")
            await host.open("later")
            await later.has_tools("greet")
            assert await later.data("greet", {"name": "Ada"}) == "Ada later"
        assert await bench.data("greet", {"name": "Ada"}) == f"Ada {bench.session}"


async def test_a_provider_that_the_person_moves_goes_on_there(bench: Bench, tmp_path: Path) -> None:
    env = environment(bench.gateway, bench.session)
    with Program(tmp_path / "greeter", env, GREETER) as greeter:
        greeter.says(f"({bench.session})\n")
        (provider,) = await _bound(bench)
        await bench.host.open("there")
        tower = await Tower.hello(bench.gateway.url, bench.gateway.internal_token)
        async with tower:
            move = {"type": "provider.move", "providerId": provider, "sessionId": "there"}
            await tower.send(move)
            await bench.host.expect("tools.changed", sessionId="there")
        await bench.host.invoke("there", "greet", {"name": "Ada"}, id_="g")
        assert (await bench.host.expect("tool.outcome", id="g"))["data"] == "Ada there"


async def test_where_it_was_moved_ends_without_a_close(bench: Bench, tmp_path: Path) -> None:
    env = environment(bench.gateway, bench.session)
    lost = await Host.hello(bench.gateway.url, bench.gateway.internal_token)
    tower = await Tower.hello(bench.gateway.url, bench.gateway.internal_token)
    async with lost, tower:
        await lost.open("lost")
        with Program(tmp_path / "greeter", env, GREETER) as greeter:
            greeter.says(f"({bench.session})\n")
            (provider,) = await _bound(bench)
            move = {"type": "provider.move", "providerId": provider, "sessionId": "lost"}
            await tower.send(move)
            await tower.event("provider.moved")
            lost.drop()
            await tower.event("provider.unbound")
            assert (await tower.event("provider.bound"))["sessionId"] == bench.session
            assert await bench.data("greet", {"name": "Ada"}) == f"Ada {bench.session}"


async def _bound(bench: Bench) -> list[str]:
    tower = await Tower.hello(bench.gateway.url, bench.gateway.internal_token)
    async with tower:
        providers = tower.snapshot["state"]["providers"]
    return [
        one["id"]
        for one in providers
        if one["state"] == "bound" and one.get("sessionId") == bench.session
    ]


def test_a_provider_that_declares_too_much_together_ends_with_words(
    running: Gateway, tmp_path: Path
) -> None:
    text = """
import { Provider } from "./tap-provider.js";
const large = new Provider("large");
large.tool("a", { description: "x".repeat(1_500_000) }, () => 1);
for (let i = 0; i < 20; i++) large.append(`section ${i}`, "y".repeat(50_000));
await large.run();
"""
    with Program(tmp_path, environment(running, "local"), text) as large:
        assert large.process.wait(HUNG) == 1
        assert large.err == "large: what the provider declares: larger than 2 MiB together\n"


def test_a_node_that_is_too_old_is_named(tmp_path: Path) -> None:
    env = Home(tmp_path / "home").env(NODE_OPTIONS="--no-experimental-websocket")
    with Program(tmp_path, env, GREETER) as greeter:
        assert greeter.process.wait(HUNG) == 1
        assert greeter.err == "greeter: serve: a browser, or Node 22 or newer, is needed\n"
