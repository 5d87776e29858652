"""The inspector: a conversation both ways, with its refusals; filtered, paused, copied, bounded."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tapui.projection.feed import Link
from tapui.tower.app.buffers import KEPT_LINES, InspectedLog
from tapui.tower.providers.inspector import RULINGS, InspectorScreen
from tapui.tower.table.table import Table
from tapui.wire.errors import ErrorCode
from tapui.wire.message import Error
from tapui.wire.tower import (
    Inspected,
    InspectEnded,
    InspectLines,
    InspectRead,
    InspectStart,
    InspectStop,
)
from tests.tower.running import Running, running
from tests.tower.scripted import at, world
from tests.tower.test_hostile_text import HOSTILE, check, hostile_world


def line(way: str, ago: float = 0.0, **message: object) -> Inspected:
    text = json.dumps(message, separators=(",", ":"))
    return Inspected(at(ago), way, len(text), text, str(message.get("type", "")))  # type: ignore[arg-type]


LINES = [
    line("in", 9, type="push", stream="ci-watch", level="keep", event="build 4711 started"),
    line("out", 8, type="tool.call", id="c1", tool="greet", args={"name": "you"}),
    line("in", 7, type="tool.result", id="c1", data={"said": ["hello", "you"]}),
    line("in", 6, type="push", level="loud", event="x"),
    line("out", 5, type="error", code="INVALID_JSON", message="level: invalid enum value 'loud'",
         replyTo="push"),
]  # fmt: skip


@asynccontextmanager
async def inspecting(
    size: tuple[int, int] = (120, 36), **wiring: object
) -> AsyncIterator[tuple[Running, InspectorScreen]]:
    async with running(world(), size=size, **wiring) as rig:
        await rig.press("4", "full_stop", "i")
        screen = rig.app.screen
        assert isinstance(screen, InspectorScreen)
        yield rig, screen


async def told(rig: Running, screen: InspectorScreen, *lines: Inspected, dropped: int = 0) -> None:
    rig.feed.put(InspectLines(screen.inspection, list(lines), dropped))
    await rig.settle()
    rig.clock.turn(1)
    await rig.settle()


async def test_it_asks_shows_what_comes_and_asks_for_more() -> None:
    async with inspecting() as (rig, screen):
        (asked,) = (one for one in rig.feed.sent if isinstance(one, InspectStart))
        assert (asked.id, asked.provider_id) == (screen.inspection, "p1")
        assert "Asking the gateway" in rig.text
        await told(rig, screen)
        assert "Nothing has been said since" in rig.text
        assert rig.feed.sent.count(InspectRead(screen.inspection)) == 1
        await told(rig, screen, *LINES, dropped=3)
        assert rig.feed.sent.count(InspectRead(screen.inspection)) == 2
        assert "→ in   push" in rig.text
        assert "← out  tool.call" in rig.text
        assert "stream: ci-watch  level: keep  event: build 4711 started" in rig.text
        assert "3 dropped, 5 messages" in rig.text
        assert screen.query_one(Table).selected == "5"  # it follows
        await rig.press("escape")
        assert rig.feed.sent[-1].__struct_config__.tag == "inspect.stop"
        assert rig.app.view.inspected == {}


async def test_a_refusal_has_its_ruling_and_a_message_its_fields() -> None:
    async with inspecting() as (rig, screen):
        await told(rig, screen, *LINES)
        await rig.press("enter")
        assert "why: INVALID_JSON" in rig.text
        assert "a field that is missing or of the wrong type" in " ".join(rig.text.split())
        await rig.press("left", "left")
        assert "tool.result" in rig.text
        assert "- hello" in rig.text


async def test_pause_stops_the_display_and_keeps_what_comes() -> None:
    async with inspecting() as (rig, screen):
        await told(rig, screen, *LINES[:2])
        await rig.press("space")
        await told(rig, screen, *LINES[2:])
        assert "paused, 3 more" in rig.text
        assert "tool.result" not in rig.text
        await rig.press("space")
        assert "tool.result" in rig.text


async def test_it_is_filtered_and_copied() -> None:
    async with inspecting() as (rig, screen):
        await told(rig, screen, *LINES)
        await rig.press("slash", *"push", "enter")
        assert "/ push: 3" in rig.text
        assert "tool.result" not in rig.text
        await rig.press("home", "c")
        assert screen.copied() == LINES[0].text
        await rig.press("slash", *["backspace"] * 4, *"zzz", "enter")
        assert "The filter finds nothing" in rig.text


@pytest.mark.parametrize("how", ["gone", "refused", "link"])
async def test_its_end_is_told_and_what_was_shown_stays(how: str) -> None:
    async with inspecting() as (rig, screen):
        await told(rig, screen, *LINES)
        if how == "gone":
            rig.feed.put(InspectEnded(screen.inspection))
        elif how == "refused":
            said = "provider p1 is not connected"
            rig.feed.put(Error(ErrorCode.NOT_FOUND, said, "inspect.start", id=screen.inspection))
        else:
            rig.feed.put(Link("down", "lost"))
        await rig.settle()
        rig.clock.turn(1)
        await rig.settle()
        words = {"gone": "the connection is gone", "refused": "not connected", "link": "was lost"}
        assert f"ended: {'provider p1 is ' if how == 'refused' else ''}" in rig.text
        assert words[how] in rig.text
        assert "tool.result" in rig.text
        sent = len(rig.feed.sent)
        await rig.press("escape")
        assert len(rig.feed.sent) == sent  # nothing is to be stopped


async def test_after_the_link_was_lost_it_goes_on_by_itself_and_says_so() -> None:
    async with inspecting() as (rig, screen):
        await told(rig, screen, *LINES)
        rig.feed.put(Link("down", "lost"))
        await rig.settle()
        rig.feed.begin(world())
        await rig.settle()
        first, again = (one for one in rig.feed.sent if isinstance(one, InspectStart))
        assert (again.provider_id, again.id == first.id) == (first.provider_id, False)
        assert "reopened after the link was lost" in rig.text
        await told(rig, screen, *LINES[:1])
        assert "what was said meanwhile is missing" in rig.text
        await rig.press("escape")
        assert rig.feed.sent[-1] == InspectStop(again.id)


async def test_what_a_sheet_says_is_no_notice_as_well() -> None:
    async with inspecting() as (rig, screen):
        said = "provider p1 is not connected"
        rig.feed.put(Error(ErrorCode.NOT_FOUND, said, "inspect.start", id=screen.inspection))
        rig.feed.put(Error(ErrorCode.NOT_FOUND, "no such call", "detail.read", id="detail-9"))
        await rig.settle()
        assert said in rig.text
        assert rig.notices == []
        rig.feed.put(Error(ErrorCode.INTERNAL, "a fault"))
        await rig.settle()
        assert rig.notices == ["INTERNAL: a fault"]


async def test_the_host_of_a_session_is_inspected() -> None:
    async with running(world(), size=(120, 36)) as rig:
        await rig.press("1", "full_stop", "i")
        (asked,) = (one for one in rig.feed.sent if isinstance(one, InspectStart))
        assert (asked.provider_id, asked.session_id) == (None, "s1")


def test_what_is_kept_is_bounded_and_the_rest_counted() -> None:
    log = InspectedLog()
    for _ in range(KEPT_LINES // 100 + 2):
        log.take(InspectLines("x", [line("in", type="push")] * 100, dropped=1))
    assert len(log.lines) == KEPT_LINES
    assert log.dropped == 200 + KEPT_LINES // 100 + 2
    log.take(InspectLines("x", [Inspected("t", "in", 1, "y" * 1_000_000)] * 5))
    assert len(log.lines) == 2


def test_every_code_has_its_ruling() -> None:
    assert set(RULINGS) == set(ErrorCode)


@pytest.mark.parametrize("size", [(20, 5), (80, 24), (200, 50)])
async def test_hostile_messages_are_shown_harmlessly(size: tuple[int, int]) -> None:
    async with running(hostile_world(HOSTILE), size=size) as rig:
        await rig.press("4", "full_stop", "i")
        screen = rig.app.screen
        assert isinstance(screen, InspectorScreen)
        lines = [
            line("in", type=HOSTILE, **{HOSTILE: HOSTILE}),
            Inspected(HOSTILE, "in", 2**60, HOSTILE, HOSTILE, is_cut=True),
            Inspected("", "out", 0, "", "error"),
            Inspected("", "out", 0, "[" * 4000, "error"),
            line("out", type="error", code=HOSTILE, message=HOSTILE),
        ]
        await told(rig, screen, *lines)
        check(rig.app, "lines")
        await rig.press("home")
        for number in range(len(lines)):
            await rig.press("enter" if number == 0 else "right")
            check(rig.app, f"message {number}")
