"""An inspection over sockets: refusals, hostile frames, who may, and its end."""

from tests.gateway.conftest import Place, error


async def test_hostile_frames_are_shown_and_refused_as_ever(place: Place) -> None:
    tower, provider = await place.tower(), await place.provider()
    await tower.send({"type": "inspect.start", "id": "x", "providerId": provider.id})
    await tower.expect("inspect.lines", id="x", lines=[])
    await tower.send({"type": "inspect.read", "id": "x"})
    await error(tower, {"type": "inspect.start", "id": "x", "providerId": provider.id})
    frames: list[str | bytes] = [
        "{",
        "[]",
        '{"type":"nonsense","token":"ptk-secret"}',
        '{"type":"push","level":"keep","event":"\x7f\u202e\\u001b]52;c;x"}',
        b"\x00\x01",
        "[" * 10_000,
        '{"type":"push","event":"' + "y" * (2 * 1024 * 1024) + '"}',
    ]
    for frame in frames:
        await provider.send(frame)
    lines: list[dict[str, object]] = []
    while len(lines) < 2 * len(frames) - 1:  # all but one are refused
        lines += (await tower.expect("inspect.lines", id="x"))["lines"]
        await tower.send({"type": "inspect.read", "id": "x"})
    assert [line["way"] for line in lines].count("in") == len(frames)
    assert "ptk-secret" not in str(lines)
    refused = [str(line["text"]) for line in lines if line.get("kind") == "error"]
    assert len(refused) == len(frames) - 1
    assert "PAYLOAD_TOO_LARGE" in refused[-1]
    binary = next(line for line in lines if line["text"] == "a binary message")
    assert binary["size"] == 2
    provider.drop()
    await tower.expect("inspect.ended", id="x")


async def test_a_host_is_inspected_by_one_of_its_sessions(place: Place) -> None:
    tower, provider = await place.tower(), await place.provider()
    await tower.send({"type": "inspect.start", "id": "h", "sessionId": place.session})
    await tower.expect("inspect.lines", id="h", lines=[])
    await tower.send({"type": "inspect.read", "id": "h"})
    await place.host.invoke(place.session, "greet", {"name": "you"})
    await provider.answer(data="hello")
    kinds: list[object] = []
    while "tool.outcome" not in kinds:
        batch = await tower.expect("inspect.lines", id="h")
        kinds += [line["kind"] for line in batch["lines"]]
        await tower.send({"type": "inspect.read", "id": "h"})
    assert kinds[0] == "tool.invoke"


async def test_only_towers_may_and_not_without_end(place: Place) -> None:
    tower, provider = await place.tower(), await place.provider()
    start = {"type": "inspect.start", "providerId": provider.id}
    for peer in (provider, place.host):
        assert (await error(peer, {**start, "id": "x"}))["code"] == "UNKNOWN_TYPE"
    for number in range(8):
        await tower.send({**start, "id": f"x{number}"})
    said = await error(tower, {**start, "id": "x8"})
    assert (said["code"], said["id"]) == ("RATE_LIMITED", "x8")
    said = await error(tower, {"type": "inspect.start", "id": "y"})
    assert (said["code"], said["replyTo"]) == ("RATE_LIMITED", "inspect.start")
    await tower.send({"type": "inspect.stop", "id": "x0"})
    said = await error(tower, {"type": "inspect.start", "id": "y", "providerId": "p-none"})
    assert said["code"] == "NOT_FOUND"
