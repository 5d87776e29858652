"""How much of streams is in memory; what is not is read from the records."""

from tapui.wire import limits
from tests.core.conftest import Scene
from tests.core.harness import Conversation, Json, Peer

BIG = 1_900_000


def held(talk: Conversation) -> int:
    """Return the characters of all lines in memory."""
    logs = talk.gateway.parts.streams._logs
    return sum(
        len(line.event)
        for streams in logs.values()
        for log in streams.values()
        for line in log.lines
    )


def pour(talk: Conversation, provider: Peer, count: int, size: int = BIG, **push: str) -> None:
    for number in range(count):
        provider.push(f"{number} " + "x" * (size - 8), "keep", **push)
        talk.wait(0.2)


def read(scene: Scene, stream: str, last: int = 100, **more: int) -> list[Json]:
    answer = scene.tower.ask(
        type="stream.read", id="x", stream=stream, sessionId="s1", last=last, **more
    )
    found: list[Json] = next(one for one in answer if one["type"] == "stream.lines")["lines"]
    return found


def test_a_session_holds_16_mib_and_its_largest_stream_gives_way(scene: Scene) -> None:
    scene.provider.push("small", "keep", stream="notes")
    pour(scene.talk, scene.provider, 30, stream="logs")
    assert held(scene.talk) <= limits.SESSION_STREAM_BYTES
    assert [one["event"] for one in read(scene, "notes@greeter")] == ["small"]
    assert scene.talk.reads == []
    assert [one["seq"] for one in read(scene, "logs@greeter", last=1)] == [30]
    assert scene.talk.reads == []


def test_all_sessions_hold_64_mib(talk: Conversation) -> None:
    host = talk.host()
    for number in range(6):
        host.open(f"s{number}")
        pour(talk, talk.provider(f"s{number}"), 9)
    assert limits.STREAM_BYTES - 2 * BIG < held(talk) <= limits.STREAM_BYTES
    host.say(type="session.close", sessionId="s0")
    talk.wait(60)
    assert talk.gateway.parts.streams._total == sum(talk.gateway.parts.streams._sizes.values())
    pour(talk, talk.provider("s1", name="other", tools=[]), 1)
    assert held(talk) <= limits.STREAM_BYTES


def test_lines_that_left_memory_are_read_from_the_records(scene: Scene) -> None:
    for number in range(1, 251):
        scene.provider.push(f"line {number}", "keep")
        scene.talk.wait(0.2)
    assert [one["seq"] for one in read(scene, "greeter@greeter", last=5, before=54)] == [
        49,
        50,
        51,
        52,
        53,
    ]
    assert len(scene.talk.reads) == 1
    assert read(scene, "greeter@greeter", last=5, before=1) == []
    assert len(scene.talk.reads) == 1


def test_an_answer_has_at_most_4_mib_and_one_line_at_least(scene: Scene) -> None:
    pour(scene.talk, scene.provider, 4)
    assert [one["seq"] for one in read(scene, "greeter@greeter")] == [3, 4]


def test_streams_of_a_provider_that_is_gone_leave_memory_after_ten_minutes(scene: Scene) -> None:
    scene.provider.push("last words")
    scene.provider.drop()
    scene.talk.wait(limits.DEPARTED_STREAM_TTL - 1)
    assert held(scene.talk) > 0
    scene.talk.wait(1)
    assert held(scene.talk) == 0
    assert [one["event"] for one in read(scene, "greeter@greeter")] == ["last words"]
    again = scene.talk.provider("s1")
    again.push("back")
    assert [one["seq"] for one in read(scene, "greeter@greeter")] == [1, 2]


def test_streams_of_a_provider_that_comes_back_stay(scene: Scene) -> None:
    scene.provider.push("before")
    scene.provider.drop()
    scene.talk.wait(limits.DEPARTED_STREAM_TTL - 1)
    scene.talk.provider("s1")
    scene.talk.wait(limits.DEPARTED_STREAM_TTL)
    assert [one["event"] for one in read(scene, "greeter@greeter")] == ["before"]
    assert scene.talk.reads == []


def test_names_that_come_and_go_leave_nothing_behind(scene: Scene) -> None:
    for number in range(600):
        provider = scene.talk.provider("s1", name=f"p{number}", tools=[])
        provider.push("hello")
        provider.drop()
    scene.talk.wait(limits.DEPARTED_STREAM_TTL)
    streams = scene.talk.gateway.parts.streams
    assert set(streams.of("s1")) <= {"greeter@greeter"}
    assert len(streams._released) <= limits.RECENT_STREAMS
    assert len(scene.talk.gateway.state.streams) <= limits.RECENT_STREAMS
