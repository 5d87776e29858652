"""Who goes first: the gateway says when it has work, and whoever paints rests then."""

import json
from typing import Any

from tapui.runtime.tuning import REST, RightOfWay
from tests.runtime.house import House, until


class Hours:
    """A clock that work and rests move on."""

    def __init__(self) -> None:
        self.now = 100.0
        self.rests: list[float] = []

    def rest(self, seconds: float) -> None:
        self.rests.append(seconds)
        self.now += seconds

    def way(self) -> RightOfWay:
        return RightOfWay(lambda: self.now, self.rest)


def test_nobody_rests_while_the_gateway_has_no_work() -> None:
    hours = Hours()
    way = hours.way()
    for _ in range(5):
        hours.now += 1
        way.give()
    assert hours.rests == []


def test_whoever_paints_rests_between_pieces_and_goes_on_though_the_work_never_ends() -> None:
    hours = Hours()
    way = hours.way()
    way.is_taken = True
    for _ in range(5):
        hours.now += 0.001
        way.give()
    assert hours.rests == [REST] * 5


def test_very_small_pieces_are_taken_together() -> None:
    hours = Hours()
    way = hours.way()
    way.is_taken = True
    for _ in range(100):
        hours.now += 0.00002
        way.give()
    assert 0 < len(hours.rests) < 10


async def test_a_turn_has_the_way_from_its_first_input_until_everybody_was_told(
    house: House,
) -> None:
    way = house.turn.way
    host = house.connect("itk-1")
    await until(lambda: not way.is_taken)
    during: list[bool] = []
    host.on_send = lambda _message: during.append(way.is_taken)
    hello: dict[str, Any] = {"type": "host.hello", "name": "h", "kind": "t", "protocolVersion": 2}
    house.turn.received(host, json.dumps(hello).encode())
    assert way.is_taken
    house.say(host, type="session.open", session={"id": "s1", "label": "one", "cwd": "/"})
    await until(lambda: host.heard("session.opened"))
    assert during
    assert all(during)
    await until(lambda: not way.is_taken)
