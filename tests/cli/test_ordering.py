"""`tapui send` and `tapui stop-turn` against a running gateway."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tapui.wire.subjects import UNCHECKED
from tests.cli.running import HOSTILE, RAW, Command, begun, run
from tests.cli.schemas import check
from tests.cli.sharing import gateway, home, running
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host, Json

__all__ = ["gateway", "home", "running"]

CAN = ["tell", "now", "stop"]


@asynccontextmanager
async def session(gateway: Gateway, **fields: object) -> AsyncIterator[Host]:
    """A host with the session `s1-long`, that takes orders."""
    async with await Host.hello(gateway.url, gateway.internal_token) as host:
        await host.open("s1-long", can=CAN, **fields)
        yield host


async def answered(host: Host, type_: str, *states: str, **more: object) -> Json:
    """Answer the next order with these states, the last with `more`; return the order."""
    order = await host.expect(type_)
    for state in states:
        result = {"type": "order.result", "id": order["id"], "state": state}
        await host.send({**result, **(more if state == states[-1] else {})})
    return order


async def test_a_text_is_sent_to_the_session_that_a_beginning_names(
    gateway: Gateway, home: Home
) -> None:
    async with session(gateway) as host:
        command = begun(home, "send", "s1", "/go", "on")
        order = await answered(host, "session.tell", "working", "done")
        assert (order["text"], order["from"], order["sessionId"]) == (
            *("/go on", UNCHECKED),
            "s1-long",
        )
        assert await command == (0, "delivered  (tell (after this turn): /go on)\n", "")


@pytest.mark.parametrize(("flag", "way"), [("--now", "now"), ("--stop-first", "stopFirst")])
async def test_a_text_goes_the_way_that_is_asked_for(
    gateway: Gateway, home: Home, flag: str, way: str
) -> None:
    async with session(gateway) as host:
        command = begun(home, "send", "s1", "go on", flag, "--json")
        order = await answered(host, "session.tell", "stopping", "done", running=["sleep 9"])
        assert order["way"] == way
        code, out, err = await command
        assert (code, err) == (0, "")
        told = check("order", out)
        assert (told["state"], told["way"], told["running"]) == ("done", way, ["sleep 9"])


async def test_a_text_that_waits_for_the_turns_end_is_not_waited_for(
    gateway: Gateway, home: Home
) -> None:
    async with session(gateway) as host:
        command = begun(home, "send", "s1", "go on")
        await answered(host, "session.tell", "queued")
        code, out, err = await command
        assert (code, err) == (0, "")
        assert out.startswith("waits for the turn's end")


async def test_a_text_for_now_is_followed_until_the_turn_has_taken_it(
    gateway: Gateway, home: Home
) -> None:
    async with session(gateway) as host:
        command = begun(home, "send", "s1", "go on", "--now")
        await answered(host, "session.tell", "working", "queued", "done")
        code, out, err = await command
        assert (code, out) == (0, "delivered  (tell (now): go on)\n")
        assert "waits until the turn can take it; it is delivered then" in err


async def test_a_text_that_is_not_delivered_fails(gateway: Gateway, home: Home) -> None:
    async with session(gateway) as host:
        command = begun(home, "send", "s1", "go on")
        await answered(host, "session.tell", "failed", error=HOSTILE)
        code, out, err = await command
        assert (code, err) == (1, "")
        assert out.startswith("not delivered: \\x1b]0;owned")
        assert RAW.search(out) is None


async def test_a_turn_is_stopped_and_what_survives_is_named(gateway: Gateway, home: Home) -> None:
    async with session(gateway) as host:
        command = begun(home, "stop-turn", "s1-long")
        await answered(
            host, "session.stop", "stopping", "done", running=["sleep 9"], dropped=["later"]
        )
        assert await command == (
            0,
            (
                "stopped; still running in the background: sleep 9; dropped with the turn: later"
                "  (stop the turn)\n"
            ),
            "",
        )


async def test_what_became_of_an_order_is_a_plain_line(gateway: Gateway, home: Home) -> None:
    watching = await Command.start(home, "status", "--watch")
    async with session(gateway, label="Long") as host:
        assert (await watching.line())[10:] == "session Long: idle\n"
        stopping = begun(home, "stop-turn", "s1-long")
        await answered(host, "session.stop", "stopping", "done")
        assert (await stopping)[0] == 0
        assert (await watching.line())[10:] == "session Long: stop the turn: stopped\n"
    assert (await watching.line())[10:] == "session Long: ended\n"
    watching.interrupt()
    await watching.end()


async def test_a_session_that_ends_meanwhile_fails_the_command(
    gateway: Gateway, home: Home
) -> None:
    async with session(gateway) as host:
        command = begun(home, "stop-turn", "s1", "--json")
        await host.expect("session.stop")
        host.drop()
        code, out, _ = await command
        assert code == 1
        assert check("order", out)["error"] == "the session ended"


@pytest.mark.parametrize(
    ("args", "code", "text"),
    [
        (("send", "s9", "x"), 1, "there is no session s9; open are: local (local), s1-long"),
        (("send", "s1", " "), 2, "there is no text to send"),
        (("send", "s1", "x" * 70_000), 2, "a text has at most 65,536 characters"),
        (("send", "local", "x"), 1, "there is no agent in it"),
        (("stop-turn", "local"), 1, "there is no agent in it"),
    ],
)
async def test_what_cannot_be_done_is_told(
    gateway: Gateway, home: Home, args: tuple[str, ...], code: int, text: str
) -> None:
    async with session(gateway):
        got, out, err = await run(home, *args)
        assert (got, out) == (code, "")
        assert text in err


async def test_a_beginning_that_fits_several_sessions_is_refused(
    gateway: Gateway, home: Home
) -> None:
    async with session(gateway) as host:
        await host.open("s1-other", can=CAN)
        _, _, err = await run(home, "send", "s1", "x")
        assert "s1 fits several sessions: s1-long, s1-other" in err
        assert (await run(home, "stop-turn", "s1-o9"))[0] == 1
