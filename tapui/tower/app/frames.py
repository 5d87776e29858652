"""When the app paints, and what: only what changed and can be seen, for a share of the time."""

from asyncio import TimerHandle
from collections.abc import Callable
from typing import TYPE_CHECKING

from tapui.tower.app.view import ALL_TOPICS
from tapui.tower.table.pane import Pane
from tapui.tower.textual.inside import after
from tapui.tower.textual.sheet import LiveScreen, Sheet

if TYPE_CHECKING:
    from tapui.tower.app.base_app import BaseApp

LEAST_INTERVAL = 1 / 12
"""Seconds between two frames at least, however cheap they are."""
MOVING_INTERVAL = 0.03
"""The same while the person moves: with what timers are late, the detail follows the cursor thirty
times a second."""
MOST_INTERVAL = 2.0
"""Seconds between two frames at most: a frame that takes longer than half a second may exceed the
share, so that the screen still moves."""
SHARE = 0.25
"""The part of the time that frames may take."""
SEEN_AFTER = 1.0
"""Seconds for which a step stands on the screen in full until it counts as seen."""


class Pace:
    """When the next frame may begin, from the beginning and the cost of the last one (seconds).

    Each frame pays for itself: after one that cost `c` the next begins `c / SHARE` later.
    """

    def __init__(self) -> None:
        self._began: float | None = None
        self._cost = 0.0

    def begin(self, now: float) -> None:
        """A frame begins at `now`; until `end` it counts as cheap."""
        self._began = now
        self._cost = 0.0

    def end(self, cost: float) -> None:
        """The frame was painted, and took so many seconds of the processor."""
        self._cost = cost

    def wait(self, now: float, least: float = LEAST_INTERVAL) -> float:
        """Return the seconds until the next frame may begin, `least` after the last one."""
        if self._began is None:
            return 0.0
        interval = min(max(self._cost / SHARE, least), MOST_INTERVAL)
        return max(self._began + interval - now, 0.0)


SECONDS = 3
"""The rate is the mean over so many seconds."""


class Meter:
    """How fast the count of all events grows."""

    def __init__(self) -> None:
        self._second = 0
        self._counts: list[int] = []

    def tick(self, now: float, count: int) -> float | None:
        """Return events a second when a second of the clock has begun, else None."""
        second = int(now)
        if second == self._second:
            return None
        passed = max(min(second - self._second, SECONDS), 1)
        self._second = second
        self._counts = [*self._counts, *[count] * passed][-SECONDS - 1 :]
        spent = len(self._counts) - 1
        return (self._counts[-1] - self._counts[0]) / spent if spent else 0.0


class Frames:
    """Paints the app's panes and sheets. `ticks` and `cpu` are seconds that only go forward.

    A frame comes as soon as `Pace` allows after `wake()`; nothing is painted while nothing happens.
    """

    def __init__(
        self, app: "BaseApp", ticks: Callable[[], float], cpu: Callable[[], float]
    ) -> None:
        self._app = app
        self._ticks = ticks
        self._cpu = cpu
        self._pace = Pace()
        self._meter = Meter()
        self._folding = 0.0
        self._is_woken = False
        self._timer: TimerHandle | None = None
        """Of the frame that is to come, where it has to wait."""
        self._visible: set[Pane] = set()
        self._offered: tuple[object, ...] = ()
        self._standing: tuple[str, str] | None = None
        self._stands_since = 0.0

    def fold(self, work: Callable[[], None]) -> None:
        """Do work that comes between two frames and is not a frame's cost."""
        began = self._cpu()
        work()
        self._folding += self._cpu() - began

    def wake(self, *, is_moving: bool = False) -> None:
        """Something changed: paint it in the next frame, which comes sooner where the person has
        moved a cursor."""
        if self._timer is not None and is_moving:
            self._timer.cancel()
        elif self._is_woken:
            return
        self._is_woken = True
        wait = self._pace.wait(self._ticks(), MOVING_INTERVAL if is_moving else LEAST_INTERVAL)
        self._timer = after(wait, self._app, self._frame) if wait > 0 else None
        if self._timer is None:
            self._app.call_later(self._frame)

    def _frame(self) -> None:
        self._is_woken, self._timer = False, None
        self.paint()

    def clock_ticked(self) -> None:
        """A second has begun: the clock and the ages that are shown change."""
        self.wake()
        after(1.001 - self._app.clock() % 1, self._app, self.clock_ticked)

    def paint(self) -> None:
        """Paint what changed, where it can be seen."""
        app, view = self._app, self._app.view
        if app.has_left or not app.is_running or not app.main.is_mounted:
            return  # the panes are still being made, or are on their way out
        spent = self._cpu() - self._folding
        self._pace.begin(self._ticks())
        view.now = app.clock()
        self._tick()
        dirty = view.take_dirty()
        news = view.take_news()
        main = app.main
        seen = main.seen_panes()
        with app.batch_update():
            app.frame_begins(news, dirty)
            for pane in seen:
                topics = dirty if pane in self._visible else ALL_TOPICS
                if topics & pane.TOPICS:
                    pane.paint(view, topics)
                    app.give_way()
                elif dirty and len(pane.slot) > 1:
                    pane.show_frame()  # the tabs of the others in its place
            main.show_detail(view, dirty)
            for screen in app.screen_stack:
                if isinstance(screen, LiveScreen) and screen.is_mounted and dirty & screen.topics:
                    screen.show(view, dirty)
        self._visible = set(seen)
        main.keep_focus()
        offers = self._offers()
        if offers != self._offered:
            self._offered = offers
            app.screen.refresh_bindings()
        self._see()
        app.call_after_refresh(self._painted, spent)
        if view.is_dirty:
            self.wake()
        app.frame_ends()

    def _see(self) -> None:
        """A failed step, or a session that ended by itself, that stands there in full for long
        enough was seen, if the terminal has the focus: without it the person is elsewhere."""
        app = self._app
        detail = app.main.detail_area.detail if app.has_detail else None
        if isinstance(app.screen, Sheet):
            detail = app.screen.detail
        elif app.screen is not app.main:
            detail = None
        standing = detail.step_key if detail is not None and app.app_focus else None
        ended = app.view.state.sessions.get(standing[0]) if standing and not standing[1] else None
        if ended is not None:
            is_new = app.view.has_unseen_end(ended)
        else:
            is_new = any((one.session_id, one.key) == standing for one in app.view.failures)
        standing = standing if is_new else None
        now = self._ticks()
        if standing != self._standing:
            self._standing, self._stands_since = standing, now
        elif standing is not None and now - self._stands_since >= SEEN_AFTER:
            if standing[1]:
                app.view.see_failure(*standing)
            else:
                app.view.see_end(standing[0])

    def focus_moved(self) -> None:
        """The terminal got or lost the focus: what stands there begins anew."""
        self._standing = None
        self.wake()

    def _painted(self, spent: float) -> None:
        """The frame is on the terminal: `spent` was the processor time before it."""
        self._pace.end(self._cpu() - self._folding - spent)

    def _offers(self) -> tuple[object, ...]:
        """Return what the keys can do now: the footer is made anew only when this changes."""
        bindings = self._app.screen.active_bindings.values()
        return tuple((one.binding.action, one.enabled) for one in bindings)

    def _tick(self) -> None:
        """Once a second: ages go on, and the events are counted."""
        view = self._app.view
        rate = self._meter.tick(view.now, view.events)
        if rate is None:
            return
        view.rate = rate
        view.touch("clock")
