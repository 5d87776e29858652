"""The tower over records: the same screens at any moment, and a line to go through them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from rich.cells import cell_len
from textual.binding import BindingType
from textual.content import Content

from tapui import times
from tapui.projection.feed import Position
from tapui.tower.app.app import TowerApp
from tapui.tower.app.feed import ReplayedFeed
from tapui.tower.app.services import FoundRecord
from tapui.tower.keys.bindings import bindings
from tapui.tower.keys.key_table import replay_keys
from tapui.tower.textual.dialogs import MomentScreen
from tapui.tower.textual.widgets import TextLine, plain
from tapui.wire import events as ev

_TRACK = 40
"""Cells of the track at most."""
_SHORTEST = 6


class TimeBar(TextLine):
    """One line above the footer. Its words get shorter before the track does."""

    DEFAULT_CSS = "TimeBar { height: 1; }"

    def __init__(self) -> None:
        super().__init__()
        self._position: Position | None = None

    def show(self, position: Position) -> None:
        self._position = position
        mark = plain(" REPLAY ", "bold reverse $accent")
        for brevity in range(3):
            words = plain("  ".join(_words(position, brevity)))
            room = self.size.width - cell_len(mark.plain) - cell_len(words.plain) - 3
            if room >= _SHORTEST:
                break
        line = mark + plain(" ")
        if room >= _SHORTEST:
            line += _track(position, min(room, _TRACK)) + plain("  ")
        self.set_line(line + words)

    def on_resize(self) -> None:
        if self._position is not None:
            self.show(self._position)


def _words(position: Position, brevity: int) -> list[str]:
    clock = times.moment(position.ts) if position.ts else "--:--:--"
    day = times.date_and_time(position.ts) if position.ts else clock
    state = "playing" if position.is_playing else "paused"
    speed = f"{state} {position.speed}x"
    if position.number is None:
        return [clock if brevity else day, f"reading, {position.share:.0%}"]
    event = f"{position.number:,} of {position.total:,}"
    turn = f"{position.turn} of {position.turns}"
    if brevity == 2:
        return [clock, event]
    if brevity == 1:
        return [clock, speed, event, f"turn {position.turn}"]
    words = [day, speed, f"event {event}", f"turn {turn}"]
    if position.share < 1:
        words.append(f"reading, {position.share:.0%}")
    return words


def _track(position: Position, width: int) -> Content:
    if position.number is None or not position.total:
        done = width
    else:
        done = round(width * position.number / position.total)
    return plain("━" * done, "$accent") + plain("─" * (width - done), "$text-muted")


class ReplayApp(TowerApp):
    """The tower, read-only, with its time bar. The clock on screen is the replay's."""

    is_replay = True
    BINDINGS: ClassVar[list[BindingType]] = bindings(*(one.id for one in replay_keys()))

    CALLS_PERSON: ClassVar[bool] = False

    def __init__(self, feed: ReplayedFeed, **wiring: Any) -> None:
        super().__init__(feed, clock=feed.now, **wiring)
        self._replayed = feed
        self._bar = TimeBar()
        self.action_replay_event = feed.step
        self.action_replay_turn = feed.step_turn
        self.action_replay_play = feed.play
        self.action_replay_speed = feed.change_speed

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
        if self._bar.is_mounted:
            self._bar.show(self._replayed.position)

    def announce(self, news: Sequence[ev.Event]) -> None:
        """What happened then is no news, and nothing waits any more."""

    def way_to(self, record: FoundRecord) -> Callable[[], object] | None:
        seconds = times.epoch(record.ts)
        if seconds is None or record.session_id not in self.view.state.sessions:
            return None
        return partial(self._replayed.go_to, seconds)

    def action_go_to_time(self) -> None:
        def on_moment(seconds: float | None) -> None:
            if seconds is not None:
                self._replayed.go_to(seconds)

        self.push_screen(MomentScreen(self._replayed.now()), on_moment)
