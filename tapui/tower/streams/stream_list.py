"""The rows of the list of streams, and the lines above and below the tail."""

from dataclasses import dataclass
from itertools import islice

from textual.content import Content

from tapui.projection.state import StreamKey
from tapui.tower.app.buffers import Ring
from tapui.tower.app.view import View
from tapui.tower.streams.tail import Tail
from tapui.tower.table.columns import Cell, Column, Row
from tapui.tower.textual.widgets import plain
from tapui.tower.wording.marks import LEVEL, SHOWN_LEVELS, tells_failure
from tapui.tower.wording.words import MANY, short_count

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


def standing(tail: Tail) -> Content:
    """Return how the tail stands, what is missed, and what the filter leaves."""
    lines = tail.lines
    unseen = lines.unseen()
    about = "up to " if lines.is_sieved and lines.is_frozen else ""
    new = f"{about}{unseen:,} new"
    if lines.is_paused:
        state = plain(f"‖ paused, {new} — Space to resume", "$warning")
    elif lines.is_following:
        state = plain("● following", "$success")
    elif unseen:
        state = plain(f"↓ {new} — End to follow", "$accent")
    else:
        state = plain("○ not following — End to follow", "$text-muted")
    parts = [state]
    if lines.levels != SHOWN_LEVELS[0][1]:
        shown = [level for level in ("keep", "surface", "inject") if level in lines.levels]
        parts.append(plain(f"  {' and '.join(shown)} only", "bold"))
    if lines.filter:
        parts.append(plain(f"  / {lines.filter.text}", "bold", limit=32))
    if lines.is_sieved:
        parts.append(plain(f"  {len(lines.rows):,} of {lines.count:,} match", "$text-muted"))
    if lines.undecided:
        parts.append(plain(f", {lines.undecided:,} could not be matched", "$warning"))
    if tail.is_wrapped:
        parts.append(plain("  wrapped", "$text-muted"))
    elif tail.scroll_offset.x:
        parts.append(plain(f"  → {tail.scroll_offset.x}", "$text-muted"))
    return Content("").join(parts)
