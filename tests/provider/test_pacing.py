"""Pushes of the kit that come faster than the gateway takes them."""

import pytest

from tapui.provider import Provider, Session
from tapui.provider.outbox import MAX_HELD


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
            program.sessions[-1].push(str(number))
        await session.advance(0.5)
        assert [line.event for line in session.pushes] == [str(one) for one in range(10)]
        await session.advance(5)
        assert [line.event for line in session.pushes] == [str(one) for one in range(35)]


async def test_a_flood_of_pushes_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    program = Program()
    async with program.provider.test() as session:
        for number in range(2 * MAX_HELD):
            program.sessions[-1].push(str(number))
        await session.advance(MAX_HELD)
        assert len(session.stream("random")) == MAX_HELD + 10
    assert "some are dropped" in caplog.text
