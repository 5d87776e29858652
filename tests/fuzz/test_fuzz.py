"""Frames by the dice; `python -m tests.fuzz --frames N --seed S` sends more."""

from random import Random

import pytest

from tapui.core.conversations.legal import LEGAL
from tapui.core.conversations.provider import ProviderConversation
from tapui.core.gateway import Gateway
from tapui.core.model import Standing
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tests.fuzz.corpus import MESSAGES
from tests.fuzz.mutations import MUTATIONS, spoilt
from tests.fuzz.run import FuzzError, fuzz
from tests.fuzz.stage import Stage, fingerprint

FRAMES = 200_000
PARTS = 8


@pytest.mark.parametrize("seed", range(PARTS))
def test_frames_raise_nothing_and_change_nothing_when_refused(seed: int) -> None:
    done = fuzz(FRAMES // PARTS, 1_000_000 + seed)
    # A corpus that is always refused, or never, would prove nothing.
    assert 0.3 < done.refused / done.frames < 0.95
    assert done.looks > done.frames * 0.5


def test_the_corpus_has_every_message_that_comes_by_socket() -> None:
    states = [state for state in Standing if state is not Standing.BUILTIN]
    known = {type_ for state in states for type_ in LEGAL[state]}
    assert {message["type"] for message in MESSAGES} == known


def test_the_stage_has_somebody_in_every_state() -> None:
    stage = Stage()
    found = {stage.gateway.standing(number) for number in stage.numbers}
    assert found == set(Standing) - {Standing.BUILTIN, Standing.CLOSED}
    r = stage.gateway.parts
    assert r.calls.pending
    assert r.gates._asked
    assert r.prompts._asked
    assert r.approvals.waiting


def test_every_mutation_changes_something() -> None:
    dice = Random(1)
    data = b'{"type": "push", "level": "keep", "event": "e"}'
    for mutation in MUTATIONS:
        assert any(mutation(dice, data) != data for _ in range(20)), mutation
    assert any(spoilt(dice, data) == data for _ in range(100))


def test_a_frame_that_raises_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def update(*_: object) -> None:
        raise KeyError("forgotten")

    monkeypatch.setattr(ProviderConversation, "context_update", update)
    with pytest.raises(FuzzError, match="KeyError"):
        fuzz(5_000, 0)


def test_a_refusal_that_leaves_something_behind_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def update(self: ProviderConversation, connection: object, _: object) -> None:
        self.sessions.aliases["left"] = "behind"
        raise WireError(ErrorCode.INVALID_JSON, "no")

    monkeypatch.setattr(ProviderConversation, "context_update", update)
    with pytest.raises(FuzzError, match="behind"):
        fuzz(5_000, 0)


@pytest.mark.parametrize(
    ("size", "codes"),
    [
        (limits.MAX_MESSAGE_BYTES, {"push": None, "tool.result": None}),
        (limits.MAX_MESSAGE_BYTES + 1, {"push": "PAYLOAD_TOO_LARGE", "tool.result": None}),
        (limits.MAX_RESULT_BYTES, {"push": "PAYLOAD_TOO_LARGE", "tool.result": None}),
        (limits.MAX_RESULT_BYTES + 1, dict.fromkeys(("push", "tool.result"), "PAYLOAD_TOO_LARGE")),
    ],
)
@pytest.mark.parametrize("kind", ["push", "tool.result"])
def test_sizes_are_inclusive(size: int, codes: dict[str, str | None], kind: str) -> None:
    stage = Stage()
    number = _bound(stage.gateway, stage.numbers, "dan")
    before = fingerprint(stage.gateway)
    head = {
        "push": b'{"type":"push","level":"keep","event":"e","metadata":{"x":"',
        "tool.result": b'{"type":"tool.result","id":"none","data":{"x":"',
    }[kind]
    data = head + b"x" * (size - len(head) - 3) + b'"}}'
    assert len(data) == size
    error, has_closed = stage.receive(number, data)
    assert (error.code if error else None) == codes[kind]
    assert not has_closed
    if error is not None:
        assert fingerprint(stage.gateway) == before


def _bound(gateway: Gateway, numbers: list[int], name: str) -> int:
    connections = gateway.parts.connections.by_number
    return next(one for one in numbers if one in connections and connections[one].name == name)
