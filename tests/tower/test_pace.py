"""Frames adapt to what they cost: the rule, and the app that obeys it."""

import pytest

from tapui.tower.app import frames
from tapui.tower.app.frames import (
    LEAST_INTERVAL,
    MOST_INTERVAL,
    MOVING_INTERVAL,
    SHARE,
    Frames,
    Pace,
)
from tapui.wire import events as ev
from tests.rig.waiting import until_async
from tests.tower.running import running
from tests.tower.scripted import call, lines, posts, world


def painted(pace: Pace, now: float, cost: float) -> None:
    pace.begin(now)
    pace.end(cost)


def test_the_first_frame_comes_at_once() -> None:
    assert Pace().wait(100.0) == 0.0


def test_cheap_frames_come_twelve_times_a_second() -> None:
    pace = Pace()
    painted(pace, 100.0, 0.001)
    assert pace.wait(100.0) == pytest.approx(1 / 12)
    assert pace.wait(100.05) == pytest.approx(1 / 12 - 0.05)
    assert pace.wait(100.0 + LEAST_INTERVAL) == 0.0
    assert pace.wait(200.0) == 0.0


def test_the_frames_of_a_cursor_that_moves_come_sooner_and_still_pay_for_themselves() -> None:
    pace = Pace()
    painted(pace, 100.0, 0.001)
    assert pace.wait(100.0, MOVING_INTERVAL) == pytest.approx(0.03)
    painted(pace, 200.0, 0.1)
    assert pace.wait(200.0, MOVING_INTERVAL) == pytest.approx(0.4)


@pytest.mark.parametrize("cost", [0.021, 0.05, 0.1, 0.4])
def test_dear_frames_take_a_quarter_of_the_time_in_the_long_run(cost: float) -> None:
    pace, now, spent = Pace(), 0.0, 0.0
    while now < 100.0:
        painted(pace, now, cost)
        spent += cost
        now += pace.wait(now)
    assert spent / now <= SHARE + 1e-9
    assert spent / now > SHARE * 0.9, "and no less often than that allows"


def test_one_dear_frame_holds_up_the_next_one_only() -> None:
    pace = Pace()
    painted(pace, 0.0, 0.2)
    assert pace.wait(0.0) == pytest.approx(0.8)
    painted(pace, 0.8, 0.002)
    assert pace.wait(0.8) == pytest.approx(LEAST_INTERVAL)


def test_a_frame_whose_end_is_not_known_yet_counts_as_cheap() -> None:
    pace = Pace()
    painted(pace, 0.0, 0.2)
    pace.begin(1.0)
    assert pace.wait(1.0) == pytest.approx(LEAST_INTERVAL)


def test_a_screen_that_is_very_slow_still_moves() -> None:
    pace = Pace()
    painted(pace, 0.0, 60.0)
    assert pace.wait(0.0) == MOST_INTERVAL


async def test_nothing_is_painted_while_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(world(), size=(200, 50)) as rig:
        assert not rig.app.view.is_dirty
        shown: list[str] = []
        for pane in rig.app.panes:
            show = pane.show
            monkeypatch.setattr(
                pane,
                "show",
                lambda view, dirty, pane=pane, show=show: (
                    shown.append(pane.kind.id),
                    show(view, dirty),
                ),
            )
        await rig.settle()
        assert shown == []
        rig.feed.happen(ev.CallStarted(session_id="s1", call=call("n1", "new_call")))
        await rig.settle()
        assert "calls" in shown
        assert "streams" not in shown


async def test_what_happens_is_painted_without_being_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Frames, "clock_ticked", lambda _: None)  # each second paints by itself
    async with running(world()) as rig:
        await rig.press("5")
        frames: list[float] = []
        paint = Frames.paint
        monkeypatch.setattr(Frames, "paint", lambda own: (frames.append(1), paint(own)))
        rig.clock.turn(1)  # since the last frame
        rig.feed.happen(ev.CallStarted(session_id="s1", call=call("n1", "new_call")))
        await rig.feed.taken()
        await until_async(lambda: "new_call" in rig.text, what="the frame")
        await rig.pilot.pause()
        assert len(frames) == 1


async def test_a_frame_that_waits_for_next_to_nothing_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with running(world()) as rig:
        await rig.press("5")
        monkeypatch.setattr(Pace, "wait", lambda *_: 1e-9)
        rig.feed.happen(ev.CallStarted(session_id="s1", call=call("n1", "new_call")))
        await until_async(lambda: "new_call" in rig.text, what="the frame")


async def test_the_detail_of_a_cursor_that_moves_does_not_wait_for_the_next_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with running(world(), size=(200, 50)) as rig:
        await rig.press("1")
        monkeypatch.setattr(frames, "LEAST_INTERVAL", 3_600.0)
        monkeypatch.setattr(frames, "MOST_INTERVAL", 3_600.0)
        area = rig.app.main.detail_area
        before = area.detail and area.detail.key
        rig.app.wake()  # a frame that comes in an hour
        rig.app.simulate_key("down")
        await until_async(lambda: area.detail and area.detail.key != before, what="its detail")


async def test_others_may_go_first_between_the_pieces_of_a_frame() -> None:
    came: list[int] = []
    async with running(world(), size=(200, 50), give_way=lambda: came.append(1)) as rig:
        await rig.press("1")
        before = len(came)
        await rig.settle()
        assert len(came) == before, "nothing was painted"
        # Pieces are what one batch brings, the pane that changed, its list, and eight lines.
        rig.feed.happen(*posts(("s1", "ci-watch@ci-watcher"), lines(60)[52:]))
        await rig.settle()
        assert len(came) - before >= 1 + 1 + 1 + 8
