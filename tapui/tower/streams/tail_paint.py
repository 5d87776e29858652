"""How a row of the tail looks: cursor, time, sign, stream, text, and where it went."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
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
from tapui.tower.wording.marks import sign_of

SHOWN_CHARS = 2000
"""Characters of a line that its row shows; all of it is in the line's details."""
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
    sessions = {key: safe_text(session_name(key[0]), limit=200) for key in keys}
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


_LEAST_NAME = 7
"""Cells to which the name of a session that a line was sent to may be cut."""


def gutter_width(look: RowLook) -> int:
    """Return the cells before a row's text: cursor, time, sign, prefix."""
    return 1 + 9 + 2 + (look.prefix_width + 1 if look.prefix_width else 0)


def shown_text(row: TailRow, look: RowLook, width: int, limit: int | None = SHOWN_CHARS) -> str:
    """Return what stands behind the gutter in a row that is `width` cells wide."""
    text = safe_text(row.line.event, limit=limit)
    return text + _address(row, look, gutter_width(look) + cell_len(text), width)


def _address(row: TailRow, look: RowLook, used: int, width: int) -> str:
    """Return where a line was sent, "" for none: at the right where it has room, else behind the
    text, which is more than a row takes."""
    if row.line.level != "inject":
        return ""
    room = width - used - 2 - len("to ")
    most = min(room, SESSION_WIDTH) if room >= _LEAST_NAME else SESSION_WIDTH
    name = fit(look.sessions.get(row.source.key, ""), most, cuts_middle=True).rstrip()
    address = f"to {name}"
    return " " * max(width - used - cell_len(address), 2) + address


def gutter_text(row: TailRow, look: RowLook) -> str:
    return "".join(text for text, _ in _gutter(row, look))


def _gutter(row: TailRow, look: RowLook) -> list[tuple[str, str]]:
    sign = sign_of(row.line)
    parts = [(f"{times.moment(row.line.ts):<8} ", "time"), (f"{sign.glyph} ", sign.tone)]
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
    segments += [Segment(text, base + style(tone) + over) for text, tone in _gutter(row, look)]
    text = safe_text(row.line.event, limit=SHOWN_CHARS)
    for piece, tone, is_match in painted_pieces(text, used):
        look_ = base + style(tone) + over if tone else base + over
        segments.append(Segment(piece, look_ + style("match") if is_match else look_))
    cells = sum(cell_len(segment.text) for segment in segments)
    address = _address(row, look, cells, width)
    if address:
        segments.append(Segment(address, base + style("muted") + over))
    return Strip(segments, cells + cell_len(address))


_WORDS = (
    r"\b(?:(?P<figure>(?<!\.)\d+(?:\.\d+)?\s?(?:ns|[uµ]s|ms|s|min|m|h|seconds?|minutes?)\b)"
    r"|(?P<error>(?:ERROR|FATAL|CRITICAL)\b|(?:error|fatal)(?=:))"
    r"|(?P<strong>WARN(?:ING)?\b|warning(?=:))"
    r"|(?P<muted>(?:INFO|NOTICE|DEBUG|TRACE)\b|(?:info|debug)(?=:)))"
)
_FACTS = re.compile(_WORDS)
_FACTS_AND_PLACES = re.compile(
    r"(?P<link>\b(?:https?|wss?|ssh|git|file)://[^\s\"'<>]*[^\s\"'<>.,;:!?)\]}]"
    r"|(?<![\w@./~+-])(?:(?:[~.]|\.\.)?/[\w@+-][\w.@+-]*(?:/[\w.@+-]+)*/?"
    r"|(?:[\w@+-][\w.@+-]*/)+[\w.@+-]*\.[A-Za-z]\w*)(?<!\.)(?::\d+)*)|"
    f"{_WORDS}"
)
"""Levels of loggers and durations; URLs and paths, too. Each group is a tone of the tail.

A line comes from outside: the search takes time that grows with its length, not faster. The tones
of a flood's lines are a part of what its frames cost, so the places, which are most of that, are
looked for only where there is a slash.
"""


def painted_pieces(text: str, used: Filter | None) -> Iterator[tuple[str, str, bool]]:
    """Yield a row's text in pieces: each with its tone, and whether the filter looks for it."""
    wanted = _FACTS_AND_PLACES if "/" in text else _FACTS
    facts = [(*one.span(), one.lastgroup or "") for one in wanted.finditer(text)]
    hits = list(_hits(text, used))
    edges = {0, len(text)}
    edges.update(edge for fact in facts for edge in fact[:2])
    edges.update(edge for hit in hits for edge in hit)
    at = 0
    for start, end in pairwise(sorted(edges)):
        while at < len(facts) and facts[at][1] <= start:
            at += 1
        tone = facts[at][2] if at < len(facts) and facts[at][0] <= start else ""
        yield text[start:end], tone, any(one <= start < other for one, other in hits)


def _hits(text: str, used: Filter | None) -> Iterator[tuple[int, int]]:
    needle = used.needle if used else ""
    folded = text.casefold()
    if not needle or len(folded) != len(text):
        return
    at = 0
    while (start := folded.find(needle, at)) >= 0:
        at = start + len(needle)
        yield start, at


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
