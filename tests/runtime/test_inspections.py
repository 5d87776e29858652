"""Inspections at the turn: what is shown and what is not, how much waits, that nobody else pays."""

import json

import pytest

from tapui.records.masking import Masks
from tapui.runtime.inspections import TappedPort, inspected
from tapui.runtime.system import RegexMatcher
from tapui.wire import limits
from tests.runtime.house import House, Json, Port, until


async def bound(house: House) -> tuple[Port, Port, Port, str]:
    host, provider, tower = house.host(), house.provider(), house.tower()
    await until(lambda: provider.heard("hello.ack") and tower.heard("tower.snapshot"))
    return host, provider, tower, provider.heard("hello.ack")[0]["providerId"]


def seen(tower: Port) -> list[Json]:
    return [line for one in tower.heard("inspect.lines") for line in one["lines"]]


async def test_both_ways_of_a_conversation_are_shown_and_nothing_is_recorded(house: House) -> None:
    host, provider, tower, id_ = await bound(house)
    house.say(tower, type="inspect.start", id="x", providerId=id_)
    await until(lambda: tower.heard("inspect.lines"))
    assert isinstance(house.turn._ports[provider.number], TappedPort)
    assert [one["lines"] for one in tower.heard("inspect.lines")] == [[]]
    before = len(house.records())
    house.say(provider, type="push", level="nonsense", event="e")
    await until(lambda: provider.heard("error"))
    house.say(tower, type="inspect.read", id="x")
    await until(lambda: len(seen(tower)) == 2)
    asked, refused = seen(tower)
    assert (asked["way"], asked["kind"], refused["way"], refused["kind"]) == (
        "in", "push", "out", "error",
    )  # fmt: skip
    assert json.loads(refused["text"])["code"] == "INVALID_JSON"
    assert asked["size"] == len(json.dumps({"type": "push", "level": "nonsense", "event": "e"}))
    assert asked["ts"] <= refused["ts"]
    assert [one["kind"] for one in house.records()[before:]] == ["error.sent"]
    assert host.heard("inspect.lines") == []


async def test_a_connection_that_nobody_inspects_passes_no_tap(house: House) -> None:
    _, provider, tower, id_ = await bound(house)
    turn, real = house.turn, house.turn._ports[provider.number]
    plain, plain_given = turn.received, turn.given
    house.say(tower, type="inspect.start", id="x", providerId=id_)
    await until(lambda: turn.received != plain)
    assert turn._ports[provider.number] is not real
    house.say(tower, type="inspect.stop", id="x")
    await until(lambda: turn.received == plain)
    assert (turn.given, turn._ports[provider.number]) == (plain_given, real)
    assert not turn._inspections.targets


async def test_what_waits_for_a_slow_tower_is_bounded_and_what_is_dropped_counted(
    house: House,
) -> None:
    _, provider, tower, id_ = await bound(house)
    house.say(tower, type="inspect.start", id="x", providerId=id_)
    await until(lambda: tower.heard("inspect.lines"))
    for _ in range(limits.INSPECT_LINES + 50):
        house.say(provider, type="nonsense")
    await until(lambda: len(provider.heard("error")) == limits.INSPECT_LINES + 50)
    assert len(tower.heard("inspect.lines")) == 1  # it has not asked for more
    house.say(tower, type="inspect.read", id="x")
    await until(lambda: len(tower.heard("inspect.lines")) == 2)
    batch = tower.heard("inspect.lines")[1]
    assert len(batch["lines"]) == limits.INSPECT_LINES
    assert batch["dropped"] == limits.INSPECT_LINES + 100
    assert {one["kind"] for one in batch["lines"]} == {"error"}  # the newest
    for _ in range(80):
        house.say(provider, type="nonsense", event="x" * limits.INSPECT_HEAD)
    await until(lambda: len(provider.heard("error")) == limits.INSPECT_LINES + 130)
    house.say(tower, type="inspect.read", id="x")
    await until(lambda: len(tower.heard("inspect.lines")) == 3)
    batch = tower.heard("inspect.lines")[2]
    assert sum(len(one["text"]) for one in batch["lines"]) <= limits.INSPECT_BYTES
    assert batch["dropped"] + len(batch["lines"]) == 160
    assert batch["dropped"] > 0


async def test_an_inspection_ends_with_its_tower_and_with_what_it_looks_at(house: House) -> None:
    _, provider, tower, id_ = await bound(house)
    other = house.tower()
    for peer in (tower, other):
        house.say(peer, type="inspect.start", id="x", providerId=id_)
    await until(lambda: len(house.turn._inspections.targets.get(provider.number, ())) == 2)
    house.turn.closed(other)
    await until(lambda: len(house.turn._inspections.targets[provider.number]) == 1)
    house.say(provider, type="goodbye")
    house.turn.closed(provider)
    await until(lambda: tower.heard("inspect.ended"))
    assert [one["kind"] for one in seen(tower)][:1] == ["goodbye"]
    assert not house.turn._inspections.targets
    house.say(tower, type="inspect.read", id="x")
    house.say(tower, type="inspect.stop", id="x")
    house.say(tower, type="stream.read", id="q", sessionId="s1", stream="p@p")
    await until(lambda: tower.heard("stream.lines"))
    assert tower.heard("error") == []


@pytest.mark.parametrize(
    ("frame", "shown", "kind"),
    [
        (b'{"type":"auth","token":"ptk-1"}', '{"type":"auth","token":"[redacted]"}', "auth"),
        (b'{"type":"auth","\\u0074oken":"ptk-1"}', '{"type":"auth","token":"[redacted]"}', "auth"),
        (b'{"type":"auth.confirm","code":"847293"}', None, "auth.confirm"),
        (b'{"type":"approval.revealed","code":"847293"}', None, "approval.revealed"),
        (b'{"type":"session.log","message":"code 847293","ephemeral":true}', None, "session.log"),
        (b'{"type":"token.minted","id":"x","token":"ptk-1"}', None, "token.minted"),
        (b'{"type":"hello.ack","reconnectToken":"ptk-1"}', None, "hello.ack"),
        (b'{"type":"hello","nonce":"847293"', '{"type":"hello","nonce":"[redacted]"', "hello"),
        (b'{"token": "ptk-1 and no end', '{"token": "[redacted]"', ""),
        (b'{"token": 847293, "x"', '{"token": "[redacted]", "x"', ""),
        (b'{"type":"error","code":"INVALID_JSON"}', '{"type":"error","code":"INVALID_JSON"}',
         "error"),
        (b'{"type":7}', '{"type":7}', ""),
        (b"[1]", "[1]", ""),
        (b"\xff\xfe", "\ufffd\ufffd", ""),
        (b"", "", ""),
        (b'{"type":"push","event":"ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaa"}',
         '{"type":"push","event":"ghp_[masked]"}', "push"),
        (b'{"type":"push","event":"\\ud800"}', None, "push"),
    ],
)  # fmt: skip
def test_secrets_are_taken_out_before_anything_leaves(
    frame: bytes, shown: str | None, kind: str
) -> None:
    line = inspected(frame, "ts", "in", Masks().masked_text)
    assert (line.kind, line.size) == (kind, len(frame))
    assert "ptk-1" not in line.text
    assert "847293" not in line.text
    if shown is not None:
        assert line.text == shown


def test_a_secret_at_the_edge_of_a_long_message_does_not_show_in_part() -> None:
    pad = b"x" * (limits.INSPECT_HEAD - 30)
    for size in (1, 200_000):
        frame = b'{"type":"hello","pad":"%s","token":"ptk-123456","rest":"%s"}' % (pad, b"y" * size)
        line = inspected(frame, "ts", "in", Masks().masked_text)
        assert "ptk" not in line.text
        assert (len(line.text), line.is_cut) == (limits.INSPECT_HEAD, True)


def test_the_persons_own_patterns_are_masked_too() -> None:
    masks = Masks([RegexMatcher().compile("ACME-[0-9]+")])
    assert "ACME" not in inspected(b'{"a":"ACME-4711"}', "t", "in", masks.masked_text).text
    assert "ACME" not in inspected(b"no JSON: ACME-4711", "t", "in", masks.masked_text).text
