"""Frames by the dice into the decoder and the core."""

from dataclasses import dataclass
from random import Random
from typing import Any

from tapui.core.conversations.legal import LEGAL
from tapui.core.model import Standing
from tapui.wire.errors import ErrorCode
from tapui.wire.message import Error
from tests.fuzz.corpus import FRAMES, MESSAGES
from tests.fuzz.mutations import spoilt
from tests.fuzz.stage import Stage, fingerprint

FRAMES_A_STAGE = 400
LOOKS = 1
"""How many refused frames in a row are looked at together."""
ANSWERS = (None, "tool.result", "gate.result", "transform.result")
"""What may be the answer to something: refused, it settles what it answered."""


class FuzzError(AssertionError):
    """A frame did what no frame may do."""


@dataclass(slots=True)
class Done:
    """How many frames there were, how many were refused, how many looks were taken."""

    frames: int = 0
    refused: int = 0
    looks: int = 0


def fuzz(frames: int, seed: int, looks: int = LOOKS) -> Done:
    """Send `frames` frames. Raises `FuzzError` naming the frame (with `looks` 1, exactly)."""
    done, number = Done(), 0
    while done.frames < frames:
        most = min(FRAMES_A_STAGE, frames - done.frames)
        _on_a_stage(Random(f"{seed}.{number}"), most, looks, done)
        number += 1
    return done


def _on_a_stage(dice: Random, most: int, looks: int, done: Done) -> None:
    stage = Stage(dice)
    before: tuple[Any, ...] | None = None
    batch: list[tuple[int, bytes, Error]] = []
    for _ in range(most):
        number, data = _frame(dice, stage)
        if before is None:
            before = fingerprint(stage.gateway)
        standing = stage.gateway.standing(number)
        is_busy = _is_busy(stage, number)
        try:
            error, has_closed = stage.receive(number, data)
        except Exception as fault:
            text = f"{standing} takes {data[:2000]!r}: {type(fault).__name__}: {fault}"
            raise FuzzError(text) from fault
        done.frames += 1
        if error is None:
            # It may have done something: what was refused just before can no longer be told.
            before, batch = None, []
            continue
        done.refused += 1
        if has_closed or _may_change(error, standing, is_busy=is_busy):
            before, batch = None, []
            continue
        batch.append((number, data, error))
        if len(batch) >= looks:
            _look(stage, before, batch, done)
            batch = []
            if dice.random() < 0.2:
                stage.wait(dice.choice((0.05, 0.3, 2.0)))
                before = None
    if stage.folded != stage.gateway.state:
        raise FuzzError("the events no longer fold to the state")


def _look(
    stage: Stage,
    before: tuple[Any, ...],
    batch: list[tuple[int, bytes, Error]],
    done: Done,
) -> None:
    done.looks += 1
    after = fingerprint(stage.gateway)
    if after != before:
        sent = "\n".join(f"{one[1][:1000]!r} refused: {one[2]}" for one in batch)
        raise FuzzError(f"a refused frame changed {_difference(before, after)}:\n{sent}")


def _difference(before: Any, after: Any, path: str = "") -> str:
    """Return where two fingerprints differ first, and how."""
    if isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            if one != other:
                return _difference(one, other, f"{path}.{index}")
    return f"{path}: {before!r:.500} → {after!r:.500}"


def _frame(dice: Random, stage: Stage) -> tuple[int, bytes]:
    index = dice.randrange(len(FRAMES))
    kind = MESSAGES[index]["type"]
    data = FRAMES[index]
    if dice.random() < 0.5:
        data = _with_live_ids(dice, stage, data)
    gateway = stage.gateway
    numbers = stage.numbers
    if dice.random() < 0.85:
        able = [one for one in numbers if kind in LEGAL[gateway.standing(one)]]
        numbers = able or numbers
    number = dice.choice(numbers)
    return number, spoilt(dice, data)


def _with_live_ids(dice: Random, stage: Stage, data: bytes) -> bytes:
    r = stage.gateway.parts
    pools = (
        (b"call-1", r.calls.pending),
        (b"gate-1", r.gates._asked),
        (b"tx-1", r.prompts._asked),
        (b"a-1", r.approvals.waiting),
        (b"p-1", r.providers.connected),
    )
    for name, pool in pools:
        if pool and name in data:
            return data.replace(name, dice.choice([*pool]).encode())
    return data


def _is_busy(stage: Stage, number: int) -> bool:
    connection = stage.gateway.parts.connections.by_number.get(number)
    provider = connection.provider if connection is not None else None
    return provider is not None and bool(provider.calls or provider.gates or provider.transforming)


def _may_change(error: Error, standing: Standing, *, is_busy: bool) -> bool:
    """Return whether a refusal has its own consequences, by the rules of the interface."""
    if error.code.is_fatal:
        return True
    if error.code is ErrorCode.INTERNAL:
        # A decision that could not be recorded is settled all the same: it has failed.
        return True
    if is_busy and error.reply_to in ANSWERS:
        return True
    if error.reply_to == "hello":
        # It unbinds, or opens the question whether one may bind to all sessions.
        return standing is Standing.BOUND or error.code is ErrorCode.UNAUTHORIZED
    return False
