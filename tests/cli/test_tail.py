"""`tapui tail` at a running gateway."""

import asyncio
import re

from tests.cli.running import (
    HOSTILE,
    RAW,
    Command,
    provider,
    push,
    run,
    tower,
)
from tests.cli.schemas import check
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host


async def test_tail_prints_the_held_lines_oldest_first(gateway: Gateway, home: Home) -> None:
    async with provider(gateway) as one:
        for number in range(3):
            await push(one, f"line {number} {HOSTILE}", metadata={"n": number})
        watching = await tower(gateway)
        async with watching:
            await watching.send(
                {"type": "stream.read", "id": "x", "stream": "builds@greeter", "sessionId": "local"}
            )
            assert len((await watching.expect("stream.lines"))["lines"]) == 3
        code, out, err = await run(home, "tail", "builds")
        assert (code, err) == (0, "")
        assert RAW.search(out) is None
        assert [re.sub(r"^[\d: -]{19}", "T", text)[:28] for text in out.splitlines()] == [
            "T  kept               line 0",
            "T  kept               line 1",
            "T  kept               line 2",
        ]
        code, out, err = await run(home, "tail", "builds@greeter", "--json")
        assert (code, err) == (0, "")
        lines = [check("tail", text) for text in out.splitlines()]
        assert [line["seq"] for line in lines] == [1, 2, 3]
        assert lines[2]["event"] == f"line 2 {HOSTILE}"
        assert lines[2]["metadata"] == {"n": 2}


async def test_tail_follows_until_the_session_ends(gateway: Gateway, home: Home) -> None:
    host = await Host.hello(gateway.url, gateway.internal_token)
    async with host:
        await host.open("s1")
        async with provider(gateway, session="s1") as one:
            await push(one, "first")
            command = await Command.start(home, "tail", "builds", "--follow", "--json")
            assert check("tail", await command.line())["event"] == "first"
            await push(one, "second", "surface")
            second = check("tail", await command.line())
            assert (second["seq"], second["level"]) == (2, "surface")
            fields = {"id": "s2", "label": "s2", "cwd": "/", "replaces": "s1"}
            await host.send({"type": "session.open", "session": fields})
            await host.expect("session.opened", sessionId="s2")
            await push(one, "third", sessionId="s2")
            third = check("tail", await command.line())
            assert (third["event"], third["sessionId"]) == ("third", "s2")
            await one.send({"type": "goodbye"})
        await host.send({"type": "session.close", "sessionId": "s2"})
        assert await command.end() == (0, "", "the session ended\n")


async def test_tail_waits_for_a_stream_that_is_yet_to_come(gateway: Gateway, home: Home) -> None:
    command = await Command.start(home, "tail", "builds", "--follow")
    assert await command.note() == "waiting for stream builds\n"
    async with provider(gateway) as one:
        await push(one, "here")
        assert (await command.line()).endswith("kept               here\n")
        command.interrupt()
        assert await command.end() == (130, "", "")


async def test_a_tail_whose_reader_has_enough_ends_quietly(gateway: Gateway, home: Home) -> None:
    async with provider(gateway) as one:
        await push(one, "first")
        command = await Command.start(home, "tail", "builds", "--follow")
        await command.line()
        command.close_stdout()
        ending = asyncio.create_task(command.end())
        while not ending.done():
            await push(one, "more")
            await asyncio.wait([ending], timeout=0.2)
        code, _, err = ending.result()
    assert (code, err) == (0, "")


async def test_a_stream_that_is_not_there_or_not_alone(gateway: Gateway, home: Home) -> None:
    code, _, err = await run(home, "tail", "builds")
    assert (code, err) == (1, "tapui: there is no stream builds; no stream has a line yet\n")
    assert await run(home, "tail") == (0, "", "no stream has a line yet\n")
    async with provider(gateway) as one, provider(gateway, name="other", tools=[]) as two:
        for each in (one, two):
            await push(each, "x")
        code, out, err = await run(home, "tail")
        assert (code, err) == (0, "")
        assert [row.split() for row in out.splitlines()] == [
            ["STREAM", "SESSION", "LINES"],
            ["builds@greeter", "local", "1"],
            ["builds@other", "local", "1"],
        ]
        for option in ("--follow", "--json"):
            code, _, err = await run(home, "tail", option)
            assert (code, err) == (2, "tapui: --follow and --json are of a stream: name one\n")
        code, _, err = await run(home, "tail", "nope")
        assert code == 1
        assert "there are: builds@greeter, builds@other" in err
        code, _, err = await run(home, "tail", "builds")
        assert code == 1
        assert "builds could be several streams" in err
        code, out, _ = await run(home, "tail", "builds@other")
        assert (code, out.count("\n")) == (0, 1)
