"""What a tower reads on demand, from a socket: out of memory, and out of the records on disk."""

from tests.gateway.conftest import Place, error

LONG = "x" * 40_000


async def test_lines_older_than_those_in_memory_come_from_the_records(place: Place) -> None:
    tower = await place.tower()
    for number in range(1, 231):
        args = {"stream": "log", "message": f"line {number}"}
        await place.host.invoke(place.session, "tap_post", args, id_=f"p{number}")
        await place.host.expect("tool.outcome", id=f"p{number}")
    read = {"type": "stream.read", "stream": "log@tap", "sessionId": place.session}
    await tower.send({**read, "id": "new", "last": 3})
    newest = await tower.expect("stream.lines", id="new")
    assert [one["seq"] for one in newest["lines"]] == [228, 229, 230]
    await tower.send({**read, "id": "old", "last": 4, "before": 33})
    older = await tower.expect("stream.lines", id="old")
    assert [(one["seq"], one["event"]) for one in older["lines"]] == [
        (number, f"line {number}") for number in (29, 30, 31, 32)
    ]
    await tower.send({**read, "id": "first", "last": 9, "before": 4})
    first = await tower.expect("stream.lines", id="first")
    assert [one["seq"] for one in first["lines"]] == [1, 2, 3]


async def test_all_of_a_call_that_is_over_comes_from_the_records(place: Place) -> None:
    tower = await place.tower()
    provider = await place.provider()
    await place.host.invoke(place.session, "greet", {"name": LONG})
    await provider.answer(data=LONG)
    await place.host.expect("tool.outcome")
    finished = await tower.expect("tower.event")
    while finished["event"]["kind"] != "call.finished":
        finished = await tower.expect("tower.event")
    call = finished["event"]["call"]["id"]
    await tower.send({"type": "detail.read", "id": "d", "of": "call", "subject": call})
    found = (await tower.expect("detail", id="d"))["call"]
    assert (found["args"], found["data"], found["state"]) == ({"name": LONG}, LONG, "done")


async def test_all_of_what_is_not_known_is_refused(place: Place) -> None:
    tower = await place.tower()
    said = await error(tower, {"type": "detail.read", "id": "d", "of": "call", "subject": "c"})
    assert (said["code"], said["id"]) == ("NOT_FOUND", "d")


async def test_lines_after_a_number_come_from_the_records_or_from_memory(place: Place) -> None:
    tower = await place.tower()
    times: dict[int, str] = {}
    for number in range(1, 261):
        args = {"stream": "after", "message": f"line {number}"}
        await place.host.invoke(place.session, "tap_post", args, id_=f"p{number}")
        await place.host.expect("tool.outcome", id=f"p{number}")
    read = {"type": "stream.read", "stream": "after@tap", "sessionId": place.session}

    async def lines(id_: str, **asked: object) -> list[int]:
        await tower.send({**read, "id": id_, **asked})
        found = (await tower.expect("stream.lines", id=id_))["lines"]
        times.update((one["seq"], one["ts"]) for one in found)
        return [one["seq"] for one in found]

    assert await lines("early", after=3, last=5) == [4, 5, 6, 7, 8]
    assert await lines("seam", after=58, last=5) == [59, 60, 61, 62, 63]
    assert await lines("recent", after=250, last=200) == list(range(251, 261))
    assert await lines("none", after=260, last=9) == []
    assert await lines("hint", after=8, last=3, at=times[8]) == [9, 10, 11]
    assert await lines("until", last=3, at=times[10]) == [8, 9, 10]
    assert await lines("all", last=3, at="2999") == [258, 259, 260]
    assert await lines("before all", last=3, at="1999") == []
