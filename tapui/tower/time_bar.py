"""The line of a replay: where it is, when that was, and how fast it plays."""

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from tapui import times
from tapui.projection.feed import Position
from tapui.tower.plain import plain

_TRACK = 40
"""Cells of the track at most."""
_SHORTEST = 6


class TimeBar(Widget):
    """One line above the footer. What it says gets shorter before the track does."""

    DEFAULT_CSS = "TimeBar { height: 1; }"

    def __init__(self) -> None:
        super().__init__()
        self._line = Content("")
        self._position: Position | None = None

    def show(self, position: Position) -> None:
        """Paint it anew where something changed."""
        self._position = position
        line = self._told(position)
        if not line.is_same(self._line):
            self._line = line
            self.refresh()

    def on_resize(self) -> None:
        """Another width has other room."""
        if self._position is not None:
            self.show(self._position)

    def render(self) -> Content:
        """Return the line."""
        return self._line

    def _told(self, position: Position) -> Content:
        mark = plain(" REPLAY ", "bold reverse $accent")
        for brevity in range(3):
            words = plain("  ".join(_words(position, brevity)))
            room = self.size.width - cell_len(mark.plain) - cell_len(words.plain) - 3
            if room >= _SHORTEST:
                break
        if room < _SHORTEST:
            return mark + plain(" ") + words
        return mark + plain(" ") + _track(position, min(room, _TRACK)) + plain("  ") + words


def _words(position: Position, brevity: int) -> list[str]:
    """Return what is said beside the track, all of it or the most important."""
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
    """Return where it is between the first event and the last."""
    if position.number is None or not position.total:
        done = width
    else:
        done = round(width * position.number / position.total)
    return plain("━" * done, "$accent") + plain("─" * (width - done), "$text-muted")
