"""The rows of the list of streams, and the lines above and below the tail."""

from collections import deque
from dataclasses import dataclass, field
from itertools import islice

from textual.content import Content

from tapui import times
from tapui.projection.state import StreamKey
from tapui.projection.stream_words import lag_words
from tapui.tower.app.buffers import Ring
from tapui.tower.app.view import View
from tapui.tower.streams.tail import Tail
from tapui.tower.table.columns import Cell, Column, Row
from tapui.tower.textual.widgets import plain
from tapui.tower.wording.marks import LEVEL, SHOWN_LEVELS, tells_failure
from tapui.tower.wording.words import short_count, sparkline
from tapui.wire.subjects import Stream

LOOKED_THROUGH = 200
"""New lines of a stream that one frame looks through for failures; of more, the newest."""

RATE_SECONDS = 30
"""Seconds of a stream's rate that its row shows."""
_BARS_WIDTH = RATE_SECONDS // 2

COLUMNS = (
    Column("stream", 12, 60, grows=True, cuts_middle=True),
    Column("", 8, _BARS_WIDTH, rank=3, is_spare=True),
    Column("session", 7, 64, rank=2, is_spare=True, is_common=True),
    Column("failed", 3, 6, rank=1, right=True),
    Column("new", 5, 10, right=True),
    Column("rate", 3, 8, rank=1, right=True),
)


@dataclass(slots=True)
class StreamPace:
    """What was counted of one stream: `rates` in lines a second for each of the last seconds,
    `failed` of the unread lines up to number `seen`."""

    at: float = 0.0
    count: int = 0
    rates: deque[float] = field(default_factory=lambda: deque(maxlen=RATE_SECONDS))
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
    return f"{len(key[0])}:{key[0]}{key[1]}"


def _tick(pace: StreamPace, now: float, count: int) -> None:
    """Count the lines since the last tick, spread over the seconds between: of a pane that was out
    of sight only their mean is known."""
    if pace.at and now > pace.at:
        passed = now - pace.at
        seconds = min(max(round(passed), 1), RATE_SECONDS)
        pace.rates.extend([max(count - pace.count, 0) / passed] * seconds)
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
    elif pace.failed:
        glyph, tone = "✗", "error"
    new = f"{short_count(unread)} new" if unread else ""
    now = pace.rates[-1] if pace.rates else 0.0
    failed = f"✗ {pace.failed}{'+' if pace.is_part else ''}" if pace.failed else ""
    return Row(
        row_key(key),
        (
            Cell(stream.name, "muted" if is_muted else "strong" if unread else "", glyph, tone),
            Cell(sparkline(list(pace.rates), _BARS_WIDTH) if not is_muted else "", "primary"),
            Cell(view.session_name(stream.session_id), "muted"),
            Cell(failed, "error"),
            Cell("muted" if is_muted else new, "muted" if is_muted else "strong"),
            Cell(f"{now:,.0f}/s" if not is_muted else "", "" if now >= 1 else "muted"),
        ),
    )


def heading(view: View, shown: list[StreamKey], selected: StreamKey | None) -> Content:
    streams = view.state.streams
    if len(shown) > 1:
        total = sum(streams[key].count for key in shown if key in streams)
        names = ", ".join(key[1] for key in shown)
        return Content("").join(
            [
                plain(f"{len(shown)} streams", "bold"),
                plain(f"  {total:,} lines", "$text-muted"),
                plain(f"  {names}", "$text-muted", limit=120),
            ]
        )
    key = shown[0] if shown else selected
    stream = streams.get(key) if key else None
    if stream is None:
        return Content("")
    note = "" if shown else "  muted: stored, not shown"
    return Content("").join(
        [
            plain(stream.name, "bold"),
            plain(f"  {view.session_name(stream.session_id)}", "$text-muted", limit=66),
            plain(f"  {stream.count:,} lines{note}", "$text-muted"),
        ]
    )


def _lag(stream: Stream, now: float) -> str:
    last = stream.last
    return lag_words(stream, times.since(last.ts if last else None, now), times.age)


def standing(view: View, tail: Tail, shown: list[StreamKey]) -> Content:
    """Return how it follows again, which of its streams lags, and what the filter leaves."""
    lines = tail.lines
    parts = [plain("")]
    if lines.is_paused:
        parts.append(plain("Space to resume", "$warning"))
    elif not lines.is_following:
        parts.append(plain("End to follow", "$accent" if lines.unseen() else "$text-muted"))
    known = [one for key in shown if (one := view.state.streams.get(key)) is not None]
    lagging = ((one.name, words) for one in known if (words := _lag(one, view.now)))
    for name, lags in islice(lagging, 1):
        lead = f"{name}: " if len(known) > 1 else ""
        parts.append(plain(f"  {lead}{lags}", "bold", limit=120))
    if lines.levels != SHOWN_LEVELS[0]:
        levels = [mark.word for level, mark in LEVEL.items() if level in lines.levels]
        parts.append(plain(f"  {' and '.join(levels)} only", "bold"))
    if lines.filter:
        parts.append(plain(f"  / {lines.filter.text}", "bold", limit=32))
    if lines.hidden_to is not None:
        parts.append(plain("  what was above is hidden", "bold"))
    if lines.is_sieved:
        parts.append(plain(f"  {len(lines.rows):,} of {lines.count:,} match", "$text-muted"))
    if lines.undecided:
        parts.append(plain(f", {lines.undecided:,} could not be matched", "$warning"))
    if tail.is_wrapped:
        parts.append(plain("  wrapped", "$text-muted"))
    elif tail.scroll_offset.x:
        parts.append(plain(f"  → {tail.scroll_offset.x}", "$text-muted"))
    return Content("").join(parts)
