"""Long text and JSON that is taken: records and snapshots keep a bounded part of it."""

import json
from collections.abc import Iterator
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
import pytest
from msgspec import Raw, Struct

from tapui.wire import builtin, host, limits, message, provider, tower
from tapui.wire.codec import encode
from tests.core.conftest import Scene
from tests.core.conversations.test_states import EXAMPLES
from tests.core.harness import Json

UNIONS = (provider.FromProvider, host.FromHost, tower.FromTower, builtin.FromBuiltin)
KINDS: list[type[message.Message]] = list(
    dict.fromkeys(kind for union in UNIONS for kind in get_args(union))
)
LONG = "x" * (1024 * 1024)
JSON_FIELDS = ("metadata", "data", "args", "detail", "answer", "parameters")


@pytest.mark.parametrize("field", ["id", "requestId", "queryId", "sessionId"])
def test_an_id_that_is_too_long_is_not_echoed(scene: Scene, field: str) -> None:
    error = scene.provider.error({"type": "goodbye" * 1000, field: LONG})
    assert (error["code"], error["replyTo"]) == ("UNKNOWN_TYPE", ("goodbye" * 1000)[:1024])
    assert field not in error


def test_sections_add_up_to_a_bound(scene: Scene) -> None:
    add = {"action": "append", "content": "x"}
    peer = scene.provider
    first = {f"s{number}": add for number in range(limits.MAX_SECTIONS)}
    assert peer.ask(type="hooks.update", transforms=first) == []
    assert peer.ask(type="hooks.update", transforms={"s0": add}) == []
    error = peer.error(type="hooks.update", transforms={"s0": None, "one more": add})
    assert error["code"] == "PAYLOAD_TOO_LARGE"
    scene.talk.wait(1)
    (shown,) = scene.talk.gateway.state.providers.values()
    assert len(shown.sections) == limits.MAX_SECTIONS
    assert peer.ask(type="hooks.update", transforms={"s0": None}) == []
    assert peer.ask(type="hooks.update", transforms={"one more": add}) == []


def test_filters_add_up_to_a_bound(scene: Scene) -> None:
    rules = [{"match": "x", "outcome": "drop"}]
    for number in range(limits.MAX_STREAMS):
        assert scene.provider.ask(type="filter.set", stream=f"s{number}", rules=rules) == []
    error = scene.provider.error(type="filter.set", stream="one more", rules=rules)
    assert error["code"] == "PAYLOAD_TOO_LARGE"
    assert scene.provider.ask(type="filter.set", stream="s0", rules=[]) == []
    assert scene.provider.ask(type="filter.set", stream="one more", rules=rules) == []


# What is long and taken is cut where it is kept


def texts(kind: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the fields of a message that take long text or any JSON."""
    if get_origin(kind) is Annotated:
        bare, meta = get_args(kind)
        if (meta.extra or {}).get("text"):
            yield path
        kind = bare
    if kind is Raw or kind is Any:
        yield path
    if get_origin(kind) in (Union, type(int | str)):
        for one in get_args(kind):
            yield from texts(one, path)
    elif isinstance(kind, type) and issubclass(kind, Struct):
        for one in msgspec.structs.fields(kind):
            yield from texts(one.type, (*path, one.encode_name))


VALID: dict[str, Json] = {
    "hello": {"session": "s1", "tools": []},
    "session.open": {"session": {"id": "s9", "label": "", "cwd": "/"}},
    "push": {"sessionId": "s1"},
}
LONG_TEXTS = [
    pytest.param(kind, path, id=f"{kind.__struct_config__.tag}.{'.'.join(path)}")
    for kind in KINDS
    for path in dict.fromkeys(texts(kind))
]
RECORDED = 3 * 64 * 1024
"""An event has at most this many bytes, whatever comes in."""
SHOWN = 64 * 1024


@pytest.mark.parametrize(("kind", "path"), LONG_TEXTS)
def test_records_and_snapshots_stay_small_whatever_comes_in(
    scene: Scene, kind: type[message.Message], path: tuple[str, ...]
) -> None:
    type_ = str(kind.__struct_config__.tag)
    given: Json = json.loads(json.dumps(next(one for one in EXAMPLES if one["type"] == type_)))
    given |= json.loads(json.dumps(VALID.get(type_, {})))
    inner = given
    for name in path[:-1]:
        inner = inner.setdefault(name, {})
    inner[path[-1]] = {"x": LONG} if path[-1] in JSON_FIELDS else LONG
    approval = {"type": "approval.request", "id": "r1", "sessionId": "s1", "kind": "permission"}
    scene.host.say(approval)
    scene.host.invoke("s1")
    call = scene.provider.take_call()
    if type_ in ("tool.result", "tool.progress"):
        given["id"] = call
    elif type_ == "approval.decide":
        given["approvalId"] = scene.talk.events("approval.requested")[0]["approval"]["id"]
    elif type_ == "tool.abort":
        given["id"] = "i1"
    for peer in (scene.provider, scene.host, scene.tower):
        peer.say(given)
    scene.talk.wait(1)
    bodies = [encode(entry.event) for entry in scene.talk.entries]
    assert max(map(len, bodies)) < RECORDED
    scene.provider.drop()
    assert len(encode(scene.talk.tower().ack["state"])) < SHOWN
