"""`tapui approve` and `tapui deny` at a running gateway."""

import re
from itertools import takewhile

import pytest

from tapui.wire.subjects import UNCHECKED
from tests.cli.running import (
    ask_permission,
    next_event,
    run,
    tower,
)
from tests.cli.sharing import gateway, home, running
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Peer

__all__ = ["gateway", "home", "running"]


@pytest.mark.parametrize(
    ("command", "word", "decision"),
    [("approve", "approved", "approve"), ("deny", "denied", "deny")],
)
async def test_a_permission_is_decided_by_a_beginning_of_its_id(
    gateway: Gateway, home: Home, command: str, word: str, decision: str
) -> None:
    host, watching, id_ = await ask_permission(gateway)
    async with host, watching:
        said = f"{word} {id_}: run ls, asked by First\n"
        assert await run(home, command, id_[:-1]) == (0, said, "")
        assert (await host.expect("approval.answer", id="r1"))["decision"] == decision
        decided = await next_event(watching, "approval.decided")
        assert decided["approval"]["decidedBy"] == UNCHECKED
        code, _, err = await run(home, command, id_)
        assert (code, err) == (
            1,
            f"tapui: {id_} no longer waits: {word} by the command line, no check\n",
        )
        code, _, err = await run(home, command, "zzz")
        assert (code, err) == (1, "tapui: there is no approval zzz; nothing waits for you\n")


async def test_an_ambiguous_beginning_decides_nothing(gateway: Gateway, home: Home) -> None:
    host, watching, first = await ask_permission(gateway)
    async with host, watching:
        message = {"type": "approval.request", "id": "r2", "sessionId": "s1", "kind": "permission"}
        await host.send(message)
        second = (await next_event(watching, "approval.requested"))["approval"]["id"]
        same = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
        common = "".join(one for one, _ in same)
        code, _, err = await run(home, "approve", common)
        assert (code, err) == (1, f"tapui: {common} fits several: {first}, {second}\n")


async def test_approving_a_pairing_prints_the_code_that_pairs(gateway: Gateway, home: Home) -> None:
    watching = await tower(gateway)
    visitor = await Peer.connect(gateway.url, origin="https://dash.example")
    async with watching, visitor:
        await visitor.send({"type": "auth", "mode": "pair"})
        await visitor.expect("auth.pairing")
        id_ = (await next_event(watching, "approval.requested"))["approval"]["id"]
        code, out, err = await run(home, "approve", id_)
        assert code == 0
        assert re.fullmatch(r"\d{6}\n", out)
        assert err.startswith(
            f"approved {id_}: pair https://dash.example\nenter this code on the web page before "
        )
        await visitor.send({"type": "auth.confirm", "code": out.strip()})
        assert (await visitor.expect("sessions"))["token"].startswith("ext-")


async def test_a_question_is_not_approved_without_an_answer(gateway: Gateway, home: Home) -> None:
    host, watching, _ = await ask_permission(gateway)
    async with host, watching:
        message = {"type": "approval.request", "id": "r2", "sessionId": "s1", "kind": "userInput"}
        await host.send({**message, "detail": {"question": "Which?"}})
        id_ = (await next_event(watching, "approval.requested"))["approval"]["id"]
        code, out, err = await run(home, "approve", id_)
        assert (code, out) == (2, "")
        assert err == (
            f"tapui: {id_} asks for an answer; give it in the tower, or with `tapui next` (an"
            " answer) or `tapui deny ID` (none)\n"
        )


async def test_denying_a_pairing_turns_the_visitor_away(gateway: Gateway, home: Home) -> None:
    watching = await tower(gateway)
    visitor = await Peer.connect(gateway.url, origin="https://dash.example")
    async with watching, visitor:
        await visitor.send({"type": "auth", "mode": "pair"})
        id_ = (await next_event(watching, "approval.requested"))["approval"]["id"]
        said = f"denied {id_}: pair https://dash.example\n"
        assert await run(home, "deny", id_) == (0, said, "")
        assert (await visitor.expect("error"))["code"] == "AUTH_FAILED"
