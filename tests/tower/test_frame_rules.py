"""The frame around what one reads: what moves, what looks focused, what notices cover."""

import pytest
from msgspec.structs import replace

from tapui.projection.state import State
from tapui.tower.requests.request_detail import RequestDetail
from tapui.wire import events as ev
from tests.rig.waiting import until_async
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import call, session, world

NOTICE = "Copied. It is also in /run/user/1000/tapui/copied.txt, which only you can read, as ever."


def quiet() -> State:
    state = world()
    state.calls.clear()
    return state


def starts(rig: Running, *numbers: int) -> None:
    rig.feed.happen(*(ev.CallStarted("s1", call(f"x{one}", "build")) for one in numbers))


def ends(rig: Running, *numbers: int) -> None:
    done = [replace(call(f"x{one}", "build"), state="done", duration=1.0) for one in numbers]
    rig.feed.happen(*(ev.CallFinished("s1", one) for one in done))


def places(rig: Running) -> dict[str, tuple[int, int]]:
    """Where the right column's parts begin, and how high they are."""
    area = rig.app.main.area
    found = area.places(area.size)
    return {one: (found[one].y, found[one].height) for one in ("detail", "calls", "streams")}


async def test_calls_has_a_line_for_each_call_and_the_detail_keeps_its_height() -> None:
    async with running(quiet(), size=(160, 40)) as rig:
        starts(rig, 1)
        await rig.settle()
        assert places(rig) == {"detail": (0, 20), "calls": (20, 4), "streams": (24, 13)}
        starts(rig, 2, 3, 4)
        await rig.settle()
        assert places(rig) == {"detail": (0, 20), "calls": (20, 6), "streams": (26, 11)}
        assert rig.text.splitlines()[21].rstrip(" ─╮").endswith("4")
        assert "5 Calls in flight" in rig.text
        starts(rig, *range(5, 20))
        await rig.settle()
        assert places(rig)["calls"] == (20, 7), "five at most"


async def test_calls_shrinks_only_after_a_while_and_not_under_the_person() -> None:
    async with running(quiet(), size=(160, 40)) as rig:
        starts(rig, 1, 2, 3, 4)
        await rig.settle()
        ends(rig, 1, 2, 3)
        await rig.turn(9)
        assert places(rig)["calls"] == (20, 6), "it does not flicker"
        starts(rig, 5, 6, 7)
        await rig.turn(2)
        ends(rig, 4, 5, 6)
        await rig.turn(9)
        assert places(rig)["calls"] == (20, 6), "the ten seconds begin anew"
        await rig.press("3")
        await rig.turn(20)
        assert places(rig)["calls"] == (20, 6), "the person is in a pane that would move"
        await rig.press("1")
        await rig.turn(1)
        assert places(rig)["calls"] == (20, 4)


async def test_tabs_in_a_frame_stand_closer_before_their_names_are_cut() -> None:
    names = ["3 Streams", "4 Providers", "6 Emitters", "7 Changes", "8 Goals"]
    async with running(world(), size=(200, 50)) as rig:
        for key in "468":
            await rig.press(key)
            (frame,) = [line for line in rig.text.splitlines() if "4 Prov" in line]
            assert [one for one in names if one not in frame] == [], key


async def test_only_the_detail_with_the_keys_looks_focused() -> None:
    async with running(world(), size=(160, 40)) as rig:
        await rig.settle()
        detail = rig.app.main.detail_area.detail
        assert detail is not None

        assert "$border-blurred" in detail.border_title
        assert "$primary" not in detail.border_title
        assert "→ detail" in rig.text.splitlines()[-1]
        await rig.press("right")
        assert "$border-blurred" not in detail.border_title
        await rig.press("left")
        assert "$border-blurred" in detail.border_title


async def shown_notices(rig: Running, *texts: str) -> None:
    for text in texts:
        rig.app.notify(text, timeout=60)
    await shows(rig, texts[-1][:9])


async def shows(rig: Running, text: str) -> None:
    await until_async(lambda: text in rig.text, what=f"a notice with {text}")


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (160, 40), (140, 28)], ids=str)
async def test_notices_cover_neither_the_band_nor_a_requests_letters(size: tuple[int, int]) -> None:
    async with running(world(), size=size, notices=True) as rig:
        band = rig.text.splitlines()[-3:]
        await shown_notices(rig, *(f"{number}: {NOTICE}" for number in range(2)))
        assert rig.text.splitlines()[-3:] == band
        await rig.press("a")
        assert isinstance(on_top(rig.app), RequestDetail)
        await shows(rig, "1: Copied")
        letters = [line for line in rig.text.splitlines() if "deny" in line]
        assert letters
        assert not any("Copied" in line or "▌ " in line for line in letters)
        assert rig.text.splitlines()[-2].startswith(" ! ")
        assert "20:10:00" in rig.text.splitlines()[0]


async def test_a_notice_over_a_sheet_leaves_the_line_below_it() -> None:
    async with running(world(), size=(80, 24), notices=True) as rig:
        rig.feed.happen(ev.SessionOpened("s9", session("s9", "Another")))
        await rig.press("enter")
        below = rig.text.splitlines()[-2:]
        await shown_notices(rig, NOTICE)
        assert rig.text.splitlines()[-2:] == below


async def test_a_terminal_that_is_too_small_is_said_to_be() -> None:
    async with running(world(), size=(80, 24)) as rig:
        for keys in ([], ["enter"], ["question_mark"]):
            await rig.press(*keys)
            for size, is_said in (
                ((80, 8), False),
                ((80, 7), True),
                ((40, 24), False),
                ((39, 24), True),
                ((80, 24), False),
            ):
                await rig.resize(size)
                last = rig.text.splitlines()[-1]
                assert ("needs 40×8 or more" in last) == is_said, (keys, size)
            await rig.close_all()
