"""How a row of the tail looks: cursor, time, level, stream, text."""

from collections.abc import Callable
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tapui import times
from tapui.projection.state import StreamKey
from tapui.text import safe_text
from tapui.tower.streams.sources import TailRow
from tapui.tower.table.columns import fit
from tapui.tower.table.filter import Filter
from tapui.tower.wording.marks import LEVEL, tells_failure

SHOWN_CHARS = 2000
"""Characters of a line that its row shows; all of it is in the line's details."""
LEVEL_WIDTH = 9
SHORT_BELOW = 48
"""Narrower than this, a level is its glyph alone."""
PREFIX_WIDTH = 16
"""Cells of a stream's name before its lines, at most."""
SESSION_WIDTH = 24


class RowLook(NamedTuple):
    """What rows have beside their own: `prefixes` by stream, all `prefix_width` wide, of which
    `current` stands out; the session that injects were sent to, by stream."""

    prefixes: dict[StreamKey, str]
    sessions: dict[StreamKey, str]
    prefix_width: int = 0
    current: StreamKey | None = None


def look_of(
    keys: list[StreamKey], session_name: Callable[[str], str], current: StreamKey | None
) -> RowLook:
    """Return how rows of these streams look; of one stream they have no prefix."""
    sessions = {
        key: fit(
            safe_text(session_name(key[0]), limit=200), SESSION_WIDTH, cuts_middle=True
        ).rstrip()
        for key in keys
    }
    if len(keys) < 2:
        return RowLook({}, sessions, 0, None)
    short = [key[1].partition("@")[0] for key in keys]
    names = [
        safe_text(key[1] if short.count(name) > 1 else name, limit=200)
        for key, name in zip(keys, short, strict=True)
    ]
    width = min(max(map(cell_len, names)), PREFIX_WIDTH)
    prefixes = {
        key: fit(name, width, cuts_middle=True) for key, name in zip(keys, names, strict=True)
    }
    return RowLook(prefixes, sessions, width, current)


def gutter_width(look: RowLook, width: int) -> int:
    """Return the cells before a row's text: cursor, time, level, prefix."""
    level = LEVEL_WIDTH if width >= SHORT_BELOW else 1
    return 1 + 9 + level + 1 + (look.prefix_width + 1 if look.prefix_width else 0)


def said_before(row: TailRow, look: RowLook) -> str:
    """Return what stands before the text of a line: where an inject was sent."""
    if row.line.level != "inject":
        return ""
    return f"→ sent to {look.sessions.get(row.source.key, '')}  "


def shown_text(row: TailRow, look: RowLook, limit: int | None = SHOWN_CHARS) -> str:
    return said_before(row, look) + safe_text(row.line.event, limit=limit)


def gutter_text(row: TailRow, look: RowLook, width: int) -> str:
    return "".join(text for text, _ in _gutter(row, look, width))


def _gutter(row: TailRow, look: RowLook, width: int) -> list[tuple[str, str]]:
    mark = LEVEL[row.line.level]
    glyph, tone = ("✗", "error") if tells_failure(row.line) else (mark.glyph, mark.tone)
    level = f"{glyph} {mark.word}" if width >= SHORT_BELOW else glyph
    cells = LEVEL_WIDTH if width >= SHORT_BELOW else 1
    parts = [(f"{times.moment(row.line.ts):<8} ", "time"), (f"{level:<{cells}} ", tone)]
    if look.prefix_width:
        prefix = look.prefixes.get(row.source.key, " " * look.prefix_width)
        parts.append((f"{prefix} ", "accent" if row.source.key == look.current else "muted"))
    return parts


def row_strip(
    row: TailRow,
    look: RowLook,
    style: Callable[[str], Style],
    *,
    base: Style,
    width: int,
    used: Filter | None,
    is_cursor: bool,
) -> Strip:
    """Paint a row in one line, at its full length. `style` returns those of the tail's parts."""
    over = style("cursor") if is_cursor else Style.null()
    edge = "▌" if is_cursor else "┊" if row.is_gap and used is None else " "
    segments = [Segment(edge, base + (over if is_cursor else style("gap")))]
    segments += [
        Segment(text, base + style(tone) + over) for text, tone in _gutter(row, look, width)
    ]
    before = said_before(row, look)
    if before:
        segments.append(Segment(before, base + style("accent") + over))
    for piece, is_match in _pieces(safe_text(row.line.event, limit=SHOWN_CHARS), used):
        segments.append(Segment(piece, base + over + style("match") if is_match else base + over))
    return Strip(segments, sum(cell_len(segment.text) for segment in segments))


def _pieces(text: str, used: Filter | None) -> list[tuple[str, bool]]:
    """Split a row's text at what the filter looks for."""
    needle = used.needle if used else ""
    folded = text.casefold()
    if not needle or len(folded) != len(text):
        return [(text, False)]
    pieces: list[tuple[str, bool]] = []
    at = 0
    while (start := folded.find(needle, at)) >= 0:
        pieces += [(text[at:start], False), (text[start : start + len(needle)], True)]
        at = start + len(needle)
    return [*((piece, hit) for piece, hit in pieces if piece), (text[at:], False)]


def wrapped(strip: Strip, gutter: int, width: int) -> list[Strip]:
    """Return the strip of a row cut into lines that are not wider; the text stays in its column."""
    room = width - gutter
    if strip.cell_length <= width or room < 8:
        return [strip]
    text = strip.crop(gutter, strip.cell_length)
    lines = [Strip.join([strip.crop(0, gutter), text.crop(0, room)])]
    for start in range(room, text.cell_length, room):
        blank = Strip([Segment(" " * gutter, next(iter(strip)).style)], gutter)
        lines.append(Strip.join([blank, text.crop(start, start + room)]))
    return lines
