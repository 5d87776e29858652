"""Pushes of the kit that come faster than the gateway takes them."""

import asyncio

import pytest

from tapui.provider import Provider, Session
from tapui.provider.outbox import MAX_HELD, PushPace
from tapui.testing.gateway import HandClock
from tapui.wire.limits import KEPT_PER_SECOND
from tapui.wire.provider import Push


class Program:
    """A provider, with the sessions that it is in."""

    def __init__(self) -> None:
        self.provider = Provider("random")
        self.sessions: list[Session] = []

        @self.provider.background
        async def remember(session: Session) -> None:
            self.sessions.append(session)


async def test_more_pushes_than_a_second_takes_come_in_order_later() -> None:
    program = Program()
    async with program.provider.test() as session:
        for number in range(35):
            program.sessions[-1].push(str(number), level="surface")
        await session.advance(0.5)
        assert [line.event for line in session.pushes] == [str(one) for one in range(10)]
        await session.advance(5)
        assert [line.event for line in session.pushes] == [str(one) for one in range(35)]


async def test_a_push_says_how_long_it_waited_for_those_before_it() -> None:
    clock, sent = HandClock(), list[Push]()
    pace = PushPace(sent.append, clock.sleep, lambda: True, clock.now)
    for number in range(35):
        pace.push(Push(level="surface", event=str(number)))
    for _ in range(50):
        await settled()
        clock.turn(clock.now() + 0.1)
    await settled()
    waited = [one.waited for one in sent]
    assert waited[:10] == [0] * 10
    assert waited[10:] == sorted(waited[10:])
    assert 1_100 <= waited[10] < 1_300
    assert 3_300 <= waited[-1] < 3_700


async def settled() -> None:
    """Return once what is due has been done."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_what_is_only_kept_goes_far_faster() -> None:
    program = Program()
    async with program.provider.test() as session:
        for number in range(2 * KEPT_PER_SECOND):
            program.sessions[-1].push(str(number))
        await session.advance(0.5)
        assert len(session.pushes) == KEPT_PER_SECOND


async def test_of_a_flood_of_pushes_the_newest_are_kept_and_the_stream_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    program = Program()
    async with program.provider.test() as session:
        for number in range(2 * MAX_HELD):
            program.sessions[-1].push(str(number))
        await session.advance(MAX_HELD)
        lines = [line.event for line in session.stream("random")]
    lost = MAX_HELD - KEPT_PER_SECOND
    told = f"{lost:,} dropped, faster than 10 a second"
    assert told in lines
    lines.remove(told)
    first = [str(one) for one in range(KEPT_PER_SECOND)]
    assert lines == first + [str(one) for one in range(MAX_HELD, 2 * MAX_HELD)]
    assert "the oldest are dropped" in caplog.text
