"""The core's memory: nothing stays of those who have gone, and nothing waits for the collector.

What stays of those who are there is bounded, in numbers and in bytes.
"""

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

import pytest

from tapui.projection import cuts
from tapui.wire import limits
from tests.core import says
from tests.core.conftest import Scene
from tests.core.harness import EVERYTHING, PROVIDER_TOKEN, Conversation, Json, tool
from tests.core.lives import Stage
from tests.rig.memory import grown, left_to_the_collector, reachable

MOST_PEERS = 14
MEGABYTE = 1024 * 1024

# Those who have gone


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Those who stay, in a gateway whose tables of those who have gone are full soon."""
    for name in (
        "ENDED_SESSIONS", "LEVEL_RUNS", "MAX_CHILDREN", "MAX_FINDINGS", "MAX_FORMER_IDS",
        "MAX_GOALS", "MAX_SUBAGENTS", "RECENT_FINDINGS", "RECENT_REVIEWS",
        "RECENT_APPROVALS", "RECENT_CALLS", "RECENT_GATES", "RECENT_ORDERS", "RECENT_PROVIDERS",
        "RECENT_STREAMS", "STREAM_LINES", "SUBAGENT_STEPS", "TURNS", "TURN_FILES", "TURN_STEPS",
    ):  # fmt: skip
        monkeypatch.setattr(limits, name, 5)
    monkeypatch.setattr(limits, "SESSION_STEPS", 20)
    monkeypatch.setattr(cuts, "_REMEMBERED", 5)
    return Stage.set()


def test_a_gateway_keeps_as_many_objects_after_ten_lives_as_after_six(stage: Stage) -> None:
    for number in range(6):
        stage.life(number)
    before = reachable(stage.talk.gateway)
    for number in range(6, 10):
        stage.life(number)
    assert grown(before, reachable(stage.talk.gateway)) == {}


def test_what_is_over_in_a_life_is_freed_without_the_collector(stage: Stage) -> None:
    with left_to_the_collector("tapui") as left:
        stage.life(0)
    assert left == {}


def live(talk: Conversation, dice: Random, steps: int) -> None:
    """Let peers of all sorts come, talk and go by the dice; at the end time passes alone."""
    for _ in range(steps):
        open_ = [peer for peer in talk.peers.values() if peer.state != "Closed"]
        step = dice.random()
        if len(open_) < 4 or (step < 0.1 and len(open_) < MOST_PEERS):
            says.arrive(talk, dice)
        elif step < 0.85:
            peer = dice.choice(open_)
            peer.say(says.SPEAKERS[peer.state](talk, dice, peer))
        elif step < 0.9:
            peer = dice.choice(open_)
            peer.say(says.garbled(dice, says.SPEAKERS[peer.state](talk, dice, peer)))
        elif step < 0.97:
            talk.wait(dice.choice((0.001, 0.05, 0.2, 1.0, 5.0, 12.0)))
        else:
            dice.choice(open_).drop()
        talk.forget()
    for peer in list(talk.peers.values()):
        peer.drop()
    talk.wait(EVERYTHING)
    talk.forget()
    talk.peers.clear()


MODEL = ("tapui.core.model.", "tapui.core.hooks.matching.", "tapui.core.providers.identity.")


def who_is_there(talk: Conversation) -> dict[str, int]:
    """Return how many objects of the core's model there are: peers, sessions, calls and so on."""
    found = reachable(talk.gateway)
    return {name: count for name, count in found.items() if name.startswith(MODEL)}


@pytest.mark.parametrize("seed", range(3))
def test_nothing_stays_of_peers_that_talk_by_the_dice(seed: int) -> None:
    talk = Conversation()
    talk.local()
    talk.tools()
    before = who_is_there(talk)
    with left_to_the_collector("tapui") as left:
        live(talk, Random(seed), 2000)
    assert left == {}
    assert who_is_there(talk) == before


# Bytes


@contextmanager
def at_most(megabytes: float) -> Iterator[None]:
    """Fail when more memory than this is in use after the block than before it."""
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        yield
        gc.collect()
        used = (tracemalloc.get_traced_memory()[0] - before) / MEGABYTE
    finally:
        tracemalloc.stop()
    assert used < megabytes


PADDING = "x" * MEGABYTE
"""A field that no message has: it is ignored, and must not stay with those that are kept."""
SOME = 20


def push(scene: Scene, number: int) -> None:
    scene.talk.wait(1)
    scene.provider.push(f"line {number}", metadata={"number": number}, padding=PADDING)


def call(scene: Scene, number: int) -> None:
    scene.provider.hear()
    scene.host.invoke("s1", id_=f"i{number}", args={"number": number}, padding=PADDING)
    scene.provider.result(scene.provider.take_call(), data=[number], padding=PADDING)


def native_call(scene: Scene, number: int) -> None:
    event: Json = {"type": "session.event", "sessionId": "s1", "padding": PADDING}
    data = {"tool": "bash", "toolCallId": f"t{number}", "args": {"number": number}}
    scene.host.say(event, event="tool.execution_start", data=data)
    scene.host.say(event, event="tool.execution_complete", data={**data, "result": {"output": 1}})


def tool_update(scene: Scene, number: int) -> None:
    added = [tool(f"tool{number}")]
    scene.provider.say(type="tools.update", tools=added, remove=[], padding=PADDING)


def hello(scene: Scene, number: int) -> None:
    provider = scene.talk.connect(PROVIDER_TOKEN)
    added = [tool(f"tool{number}")]
    provider.hello(
        session="s1", name=f"p{number}", metadata={"n": number}, tools=added, padding=PADDING
    )


@pytest.mark.parametrize("kept", [push, call, native_call, tool_update, hello])
def test_what_is_kept_of_a_message_does_not_keep_the_message(
    scene: Scene, kept: Callable[[Scene, int], None]
) -> None:
    with at_most(SOME / 4):
        for number in range(SOME):
            kept(scene, number)
            scene.talk.forget()


def test_cancelled_calls_do_not_keep_their_arguments_until_their_deadline(scene: Scene) -> None:
    with at_most(SOME / 4):
        for number in range(SOME):
            scene.provider.hear()
            scene.host.invoke("s1", id_=f"i{number}", args={"text": PADDING}, timeout=8e7)
            scene.provider.result(scene.provider.take_call(), data=number)
            scene.talk.forget()


# Those who are there


def is_refused(heard: list[Json], code: str) -> bool:
    """Return whether what was heard is the one error of this code."""
    return [one.get("code") for one in heard] == [code]


def test_definitions_of_a_provider_are_bounded_however_many_updates_bring_them(
    scene: Scene,
) -> None:
    large = "x" * 900_000
    update: Json = {"type": "tools.update", "remove": [], "requestId": "r"}
    for name in ("one", "two"):
        one = tool(name, description=large)
        assert scene.provider.ask(update, tools=[one])[0]["type"] == "ack"
    heard = scene.provider.ask(update, tools=[tool("three", description=large)])
    assert is_refused(heard, "PAYLOAD_TOO_LARGE")
    assert scene.provider.ask(update, tools=[], remove=["one"])[0]["type"] == "ack"
    assert scene.provider.ask(update, tools=[tool("three")])[0]["type"] == "ack"


def test_transforms_are_bounded_in_the_text_of_all_of_them(scene: Scene) -> None:
    def set_(section: str, text: str) -> list[Json]:
        transforms = {section: {"action": "append", "content": text}}
        return scene.provider.ask(type="hooks.update", transforms=transforms, requestId="r")

    large = "x" * 1_500_000
    assert set_("a", large)[0]["type"] == "ack"
    assert is_refused(set_("b", large), "PAYLOAD_TOO_LARGE")
    assert set_("a", "small")[0]["type"] == "ack"
    assert set_("b", large)[0]["type"] == "ack"


def test_injects_that_wait_are_bounded_in_characters(scene: Scene) -> None:
    scene.host.event("s1", "session.busy")
    large = "x" * 1_900_000
    for _ in range(2):
        scene.provider.hear()
        assert scene.provider.push(large, "inject").hear() == []
    assert is_refused(scene.provider.push(large, "inject").hear(), "RATE_LIMITED")
    assert scene.provider.push("small", "inject").hear() == []


def test_calls_under_way_are_bounded_in_number_and_bytes(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def outcomes() -> list[str]:
        return [one["errorCode"] for one in scene.host.hear_of("tool.outcome")]

    monkeypatch.setattr(limits, "MAX_CALL_BYTES", 2 * MEGABYTE)
    scene.host.invoke("s1", id_="large 1", args={"text": PADDING})
    assert outcomes() == []
    scene.host.invoke("s1", id_="large 2", args={"text": PADDING})
    assert outcomes() == ["RATE_LIMITED"]
    scene.host.say(type="tool.abort", id="large 1")
    assert outcomes() == ["CANCELLED"]
    scene.host.invoke("s1", id_="large 3", args={"text": PADDING})
    assert outcomes() == ["RATE_LIMITED"], "the provider has not answered the cancelled one"
    scene.talk.wait(limits.CANCEL_GRACE)
    monkeypatch.setattr(limits, "MAX_CALLS", 3)
    for number in range(3):
        scene.host.invoke("s1", id_=f"i{number}")
    assert outcomes() == []
    scene.host.invoke("s1", id_="i3")
    assert outcomes() == ["RATE_LIMITED"]
    other = scene.talk.tower()
    other.invoke("s1")
    assert other.hear_of("tool.outcome") == []


def test_approvals_that_a_host_waits_for_are_bounded(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    request: Json = {"type": "approval.request", "sessionId": "s1", "kind": "permission"}
    monkeypatch.setattr(limits, "MAX_REQUEST_BYTES", 2 * MEGABYTE)
    assert scene.host.ask(request, id="a", detail={"text": PADDING}) == []
    heard = scene.host.ask(request, id="b", detail={"text": PADDING})
    assert is_refused(heard, "RATE_LIMITED")
    monkeypatch.setattr(limits, "MAX_REQUESTS", 3)
    for number in range(2):
        assert scene.host.ask(request, id=f"r{number}") == []
    assert is_refused(scene.host.ask(request, id="one too many"), "RATE_LIMITED")
    scene.host.say(type="approval.withdraw", id="a")
    assert scene.host.ask(request, id="in its place") == []


def test_open_sessions_are_bounded(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_SESSIONS", 2)
    scene.host.open("s2")
    session = {"id": "s3", "label": "", "cwd": "/"}
    heard = scene.host.ask(type="session.open", session=session)
    assert is_refused(heard, "RATE_LIMITED")
    scene.host.open("s3", replaces="s2")


def test_streams_of_departed_providers_are_bounded_in_number(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_DEPARTED_STREAMS", 3)
    for number in range(5):
        provider = scene.talk.provider("s1", name=f"p{number}", tools=[])
        provider.push("last words")
        provider.drop()
    streams = scene.talk.gateway.parts.streams
    assert set(streams.of("s1")) == {"p2@p2", "p3@p3", "p4@p4"}
    assert scene.talk.deadlines == 3 + 5, "each departed provider may come back, too"
    scene.talk.wait(limits.DEPARTED_STREAM_TTL)
    assert set(streams.of("s1")) == set()
