"""One log, three readers: a tower is told what the records say and a snapshot shows."""

import json
from typing import Any

import msgspec

from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.wire.events import AnyEvent
from tapui.wire.tower import Snapshot
from tests.gateway.conftest import Place
from tests.gateway.test_acknowledged import on_disk
from tests.rig.peers import Json

HOSTILE = "\x1b]0;owned\x07 \u202e [link=x] \ud83d\ude00 \n"


def read(value: Any, kind: Any) -> Any:
    return msgspec.json.decode(json.dumps(value, ensure_ascii=False), type=kind)


async def test_a_tower_the_records_and_a_snapshot_agree(place: Place) -> None:
    tower = await place.tower()
    provider = await place.provider(metadata={"title": HOSTILE})
    for level in ("keep", "surface", "inject"):
        await provider.send(
            {"type": "push", "level": level, "event": HOSTILE, "metadata": {"x": HOSTILE}}
        )
    await place.host.invoke(place.session, "greet", {"name": HOSTILE})
    await provider.answer(data={"text": HOSTILE})
    await place.host.expect("tool.outcome")
    await place.host.invoke(place.session, "greet", id_="i2")
    await provider.expect("tool.call")
    await place.host.send(
        {
            "type": "approval.request",
            "id": "r1",
            "sessionId": place.session,
            "kind": "permission",
            "detail": {"command": HOSTILE},
        }
    )
    await place.host.send({"type": "session.event", "sessionId": place.session, "event": "mark"})
    events: list[Json] = []
    while not events or events[-1]["event"].get("event") != "mark":
        events.append(await tower.expect("tower.event"))
    later = await place.tower()

    first = tower.snapshot["seq"]
    assert [one["seq"] for one in events] == list(range(first + 1, first + 1 + len(events)))
    assert later.snapshot["seq"] == events[-1]["seq"]
    assert {frozenset(one) for one in events} == {frozenset({"type", "seq", "ts", "event"})}

    state = State.of(read(tower.snapshot["state"], Snapshot))
    for one in events:
        fold(state, read(one["event"], AnyEvent), one["ts"])
    assert state == State.of(read(later.snapshot["state"], Snapshot))

    records = {one["seq"]: one for one in on_disk(place.gateway.home)}
    for one in events:
        record = records[one["seq"]]
        assert record == {
            "v": 1,
            "run": tower.snapshot["run"],
            "seq": one["seq"],
            "ts": one["ts"],
            **one["event"],
        }
