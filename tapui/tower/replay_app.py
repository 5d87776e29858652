"""The tower over records: the same screens at any moment, and a line to go through them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from tapui import times
from tapui.tower.app import TowerApp
from tapui.tower.feed import ReplayedFeed
from tapui.tower.finding import FoundRecord
from tapui.tower.screens.moment import MomentScreen
from tapui.tower.time_bar import TimeBar
from tapui.wire import events as ev


class ReplayApp(TowerApp):
    """The tower, read-only, with its time bar. The clock on screen is the replay's."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("less_than_sign", "step(-1)", "Event", key_display="<"),
        Binding("greater_than_sign", "step(1)", "Event", key_display=">"),
        Binding("left_curly_bracket", "step_turn(-1)", "Turn", key_display="{"),
        Binding("right_curly_bracket", "step_turn(1)", "Turn", key_display="}"),
        Binding("p", "play", "Play"),
        Binding("left_parenthesis", "speed(-1)", "Slower", show=False),
        Binding("right_parenthesis", "speed(1)", "Faster", show=False),
        Binding("w", "go_to", "Time"),
    ]

    def __init__(self, feed: ReplayedFeed, **wiring: Any) -> None:
        super().__init__(feed, clock=feed.now, **wiring)
        self._replayed = feed
        self._bar = TimeBar()

    def _shown(self) -> None:
        """The screen is there: put the bar below its panes."""
        super()._shown()
        self.main.mount(self._bar)
        self.wake()

    def frame_ends(self) -> None:
        """The bar is painted with the panes."""
        if self._bar.is_mounted:
            self._bar.show(self._replayed.position)

    def announce(self, news: Sequence[ev.Event]) -> None:
        """What happened then is no news, and nothing waits any more."""

    def way_to(self, found: FoundRecord) -> Callable[[], None] | None:
        """Go to the moment of a record of the session that is replayed."""
        seconds = times.epoch(found.ts)
        if seconds is None or found.session_id not in self.view.state.sessions:
            return None
        return partial(self._replayed.go_to, seconds)

    def action_step(self, events: int) -> None:
        """Go on by an event, or back."""
        self._replayed.step(events)

    def action_step_turn(self, direction: int) -> None:
        """Go to the beginning of another turn."""
        self._replayed.step_turn(direction)

    def action_play(self) -> None:
        """Play, or stop."""
        self._replayed.play()

    def action_speed(self, direction: int) -> None:
        """Play faster or slower."""
        self._replayed.change_speed(direction)

    def action_go_to(self) -> None:
        """Ask for a time and go there."""

        def given(seconds: float | None) -> None:
            if seconds is not None:
                self._replayed.go_to(seconds)

        self.push_screen(MomentScreen(self._replayed.now()), given)
