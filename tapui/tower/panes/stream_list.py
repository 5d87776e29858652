"""The rows of the list of streams: what is new in each, how fast, and what failed."""

from dataclasses import dataclass
from itertools import islice

from tapui.projection.state import StreamKey
from tapui.tower.columns import Cell, Column, Row
from tapui.tower.levels import LEVEL, tells_failure
from tapui.tower.rings import Ring
from tapui.tower.view import View
from tapui.tower.words import MANY, short_count

LOOKED_THROUGH = 200
"""New lines of a stream that one frame looks through for failures; of more, the newest."""

COLUMNS = (
    Column("stream", 12, 60, grows=True, cuts_middle=True),
    Column("session", 7, 64, rank=2, is_spare=True, is_common=True),
    Column("failed", 3, 6, rank=1, right=True),
    Column("new", 5, 18, right=True),
)


@dataclass(slots=True)
class StreamPace:
    """What was counted of one stream: `rate` in lines a second between two clock ticks, `failed`
    of the unread lines up to number `seen`."""

    at: float = 0.0
    count: int = 0
    rate: float = 0.0
    failed: int = 0
    seen: int = 0
    is_part: bool = False


class StreamList:
    """Makes the rows, and keeps what they count."""

    def __init__(self) -> None:
        self._paces: dict[StreamKey, StreamPace] = {}

    def rows(self, view: View, marked: list[StreamKey], dirty: frozenset[str]) -> list[Row]:
        """Return the rows; those in `marked` are shown together."""
        streams = view.state.streams
        self._paces = {key: self._paces.get(key) or StreamPace() for key in streams}
        for key, pace in self._paces.items():
            if "clock" in dirty:
                _tick(pace, view.now, streams[key].count)
            _look_through(pace, view.rings.get(key))
        return [_row(view, key, self._paces[key], is_marked=key in marked) for key in streams]


def row_key(key: StreamKey) -> str:
    """Return the key of a stream's row."""
    return f"{len(key[0])}:{key[0]}{key[1]}"


def _tick(pace: StreamPace, now: float, count: int) -> None:
    if pace.at and now > pace.at:
        pace.rate = max(count - pace.count, 0) / (now - pace.at)
    pace.at, pace.count = now, count


def _look_through(pace: StreamPace, ring: Ring | None) -> None:
    if ring is None or not ring.unread or not ring.lines:
        pace.failed, pace.seen, pace.is_part = (
            0,
            ring.lines[-1].seq if ring and ring.lines else 0,
            False,
        )
        return
    newest = ring.lines[-1].seq
    if newest < pace.seen:  # it began anew
        pace.failed, pace.seen = 0, 0
    fresh = min(newest - pace.seen, ring.unread)
    pace.is_part |= fresh > LOOKED_THROUGH
    lines = islice(reversed(ring.lines), min(fresh, LOOKED_THROUGH))
    pace.failed += sum(map(tells_failure, lines))
    pace.seen = newest


def _row(view: View, key: StreamKey, pace: StreamPace, *, is_marked: bool) -> Row:
    stream = view.state.streams[key]
    ring = view.rings.get(key)
    unread = ring.unread if ring else 0
    level = LEVEL[stream.last.level] if stream.last else None
    glyph, tone = (level.glyph, level.tone) if level else ("·", "muted")
    is_muted = key in view.muted
    if is_muted:
        glyph, tone = "×", "muted"
    elif is_marked:
        glyph, tone = "+", "accent"
    new = f"{short_count(unread)} new" if unread else ""
    if unread > MANY and pace.rate >= 1:
        new = f"{new}, {pace.rate:,.0f}/s"
    failed = f"✗ {pace.failed}{'+' if pace.is_part else ''}" if pace.failed else ""
    return Row(
        row_key(key),
        (
            Cell(stream.name, "muted" if is_muted else "strong" if unread else "", glyph, tone),
            Cell(view.session_name(stream.session_id), "muted"),
            Cell(failed, "error"),
            Cell("muted" if is_muted else new, "muted" if is_muted else "strong"),
        ),
    )
