"""The tower over records: the same screens at any moment, and a line to go through them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from textual.binding import BindingType

from tapui import times
from tapui.tower.app import TowerApp
from tapui.tower.feed import ReplayedFeed
from tapui.tower.finding import FoundRecord
from tapui.tower.keys.bindings import bindings
from tapui.tower.keys.table import AREAS, Area, replay_keys
from tapui.tower.screens.moment import MomentScreen
from tapui.tower.time_bar import TimeBar
from tapui.wire import events as ev


class ReplayApp(TowerApp):
    """The tower, read-only, with its time bar. The clock on screen is the replay's."""

    is_replay = True
    BINDINGS: ClassVar[list[BindingType]] = bindings(*(one.id for one in replay_keys()))

    CALLS_PERSON: ClassVar[bool] = False

    def __init__(self, feed: ReplayedFeed, **wiring: Any) -> None:
        super().__init__(feed, clock=feed.now, **wiring)
        self._replayed = feed
        self._bar = TimeBar()

    @property
    def key_areas(self) -> tuple[Area, ...]:
        """Where keys work, for the help."""
        return tuple(AREAS)

    @property
    def can_call(self) -> bool:
        """Nothing is called: these are records."""
        return False

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

    def way_to(self, found: FoundRecord) -> Callable[[], object] | None:
        """Go to the moment of a record of the session that is replayed."""
        seconds = times.epoch(found.ts)
        if seconds is None or found.session_id not in self.view.state.sessions:
            return None
        return partial(self._replayed.go_to, seconds)

    def action_replay_event(self, events: int) -> None:
        """Go on by an event, or back."""
        self._replayed.step(events)

    def action_replay_turn(self, direction: int) -> None:
        """Go to the beginning of another turn."""
        self._replayed.step_turn(direction)

    def action_replay_play(self) -> None:
        """Play, or stop."""
        self._replayed.play()

    def action_replay_speed(self, direction: int) -> None:
        """Play faster or slower."""
        self._replayed.change_speed(direction)

    def action_go_to_time(self) -> None:
        """Ask for a time and go there."""

        def given(seconds: float | None) -> None:
            if seconds is not None:
                self._replayed.go_to(seconds)

        self.push_screen(MomentScreen(self._replayed.now()), given)
