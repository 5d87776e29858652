"""Every message in every state, from a socket."""

from pathlib import Path

import pytest

from tapui.core.conversations.legal import LEGAL
from tapui.core.model import Standing
from tests.conformance.scene import Scene, heard_until_now, scene_of, state_of
from tests.conformance.table import SOCKET_STATES, example, rendered, types
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Peer

STOP = "gateway.stop"
MOVES = {
    (Standing.AWAIT_AUTH, "auth"): "Closed",
    (Standing.AWAIT_PAIRING, "auth.confirm"): "Closed",
    (Standing.BOUND, "hello"): "Unbound",
    (Standing.BOUND, "goodbye"): "Closed",
    (Standing.UNBOUND, "goodbye"): "Closed",
}
"""Where the examples that change the state lead to."""


def test_the_table_is_up_to_date() -> None:
    written = Path(__file__).with_name("table.md").read_text()
    assert written == rendered(), "run python -m tests.conformance"


def test_every_type_is_in_the_table() -> None:
    assert {type_ for table in LEGAL.values() for type_ in table} == set(types())


@pytest.mark.parametrize("state", SOCKET_STATES)
async def test_each_message_is_taken_where_it_is_legal(scene: Scene, state: Standing) -> None:
    """What is refused leaves a connection as it was: one takes all of that, and then what is legal,
    until it has moved. One without a token has little time, and a pairing is seldom had."""
    legal = [type_ for type_ in types() if type_ in LEGAL[state]]
    peer = await scene.in_state(state)
    for type_ in [type_ for type_ in types() if type_ not in legal] + legal:
        if (state, type_) == (Standing.TOWER, STOP):
            continue
        if state is not Standing.AWAIT_PAIRING and await state_of(peer) != state:
            peer = await scene.in_state(state)
        await say(peer, state, type_, scene.session)
        if state is Standing.AWAIT_AUTH:
            await peer.close()


async def say(peer: Peer, state: Standing, type_: str, session: str) -> None:
    """Send an example of a message; check that it is taken or refused as the table says."""
    assert await state_of(peer) == state, type_
    await peer.send({"id": "i7", "requestId": "r7", **example(type_, session)})
    heard, after = await heard_until_now(peer)
    unknown = [one for one in heard if one.get("code") == "UNKNOWN_TYPE"]
    if type_ in LEGAL[state]:
        assert unknown == [], type_
        assert after == MOVES.get((state, type_), state)
        return
    assert len(unknown) == 1, heard
    assert (unknown[0]["type"], unknown[0]["replyTo"]) == ("error", type_)
    assert unknown[0]["id"] == example(type_, session).get("id", "i7")
    assert unknown[0]["requestId"] == "r7"
    assert [one for one in heard if one["type"] == "error"] == unknown
    assert after == state, type_


async def test_a_tower_may_stop_the_gateway(tmp_path: Path) -> None:
    with Gateway(Home(tmp_path), "--no-attach") as gateway:
        async for scene in scene_of(gateway):
            tower = await scene.tower()
            await tower.send({"type": STOP})
            await tower.expect("gateway.stopping")
            await tower.closed(within=20)
        assert gateway.wait() == 0
