"""Where things are on the screen: one table, from the terminal's size to the places of the panes.

Below the header stands what waits, then shelves from top to bottom; a shelf has columns, a column
slots, and in a slot one of its panes is seen at a time. A pane that no slot names takes turns in
the last one. A pane that is `bare`, because it has had nothing to show yet, leaves its room to the
others, unless the person is there.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class PanePlace(NamedTuple):
    """A rectangle, in cells, within the area of the panes."""

    x: int
    y: int
    width: int
    height: int


class PaneColumn(NamedTuple):
    """A column with its share of the shelf's width.

    `slots` are its slots from top to bottom, with their shares of its height. A slot is the ids of
    the panes that take turns in it; the first is there unless another is asked for.
    """

    share: int
    slots: dict[str, int]


class PaneShelf(NamedTuple):
    """Columns side by side, with the shelf's share of the height."""

    share: int
    columns: tuple[PaneColumn, ...]


@dataclass(frozen=True, slots=True)
class ScreenLayout:
    """What a terminal of at least `width` × `height` shows.

    `waiting` is the height of the band with what waits, its frame included; from four lines on it
    has one. `has_tabs`: a line names all panes, because some are out of sight.
    """

    width: int
    height: int
    waiting: int
    has_tabs: bool
    shelves: tuple[PaneShelf, ...]


def _shelf(share: int, *columns: tuple[int, dict[str, int]]) -> PaneShelf:
    return PaneShelf(share, tuple(PaneColumn(*column) for column in columns))


_SESSIONS = (1, {"sessions": 1})
_ONE = (_shelf(1, (1, {"sessions turns streams providers calls emitters": 1})),)

LAYOUTS: tuple[ScreenLayout, ...] = (
    ScreenLayout(
        width=190,
        height=42,
        waiting=5,
        has_tabs=False,
        shelves=(
            _shelf(
                1,
                (72, {"sessions": 1}),
                (74, {"turns": 1}),
                (54, {"streams": 16, "emitters": 8, "calls": 14, "providers": 8}),
            ),
        ),
    ),
    ScreenLayout(
        width=150,
        height=40,
        waiting=5,
        has_tabs=False,
        shelves=(
            _shelf(11, _SESSIONS),
            _shelf(
                27,
                (92, {"turns": 1}),
                (68, {"streams": 11, "emitters": 7, "calls": 9, "providers": 7}),
            ),
        ),
    ),
    ScreenLayout(
        width=116,
        height=34,
        waiting=5,
        has_tabs=False,
        shelves=(
            _shelf(8, _SESSIONS),
            _shelf(
                21, (84, {"turns calls": 1}), (36, {"streams": 13, "emitters": 8, "providers": 8})
            ),
        ),
    ),
    ScreenLayout(
        width=100,
        height=28,
        waiting=5,
        has_tabs=True,
        shelves=(
            _shelf(13, _SESSIONS),
            _shelf(9, (1, {"turns streams providers calls emitters": 1})),
        ),
    ),
    ScreenLayout(width=40, height=16, waiting=2, has_tabs=True, shelves=_ONE),
    ScreenLayout(width=0, height=10, waiting=1, has_tabs=True, shelves=_ONE),
    ScreenLayout(width=0, height=0, waiting=0, has_tabs=False, shelves=_ONE),
)
"""The first that fits is taken: the largest come first, the last fits every terminal."""


def layout_for(width: int, height: int) -> ScreenLayout:
    return next(one for one in LAYOUTS if one.width <= width and one.height <= height)


def places(
    layout: ScreenLayout,
    panes: Sequence[str],
    recent: Sequence[str],
    width: int,
    height: int,
    *,
    is_zoomed: bool = False,
    bare: Collection[str] = (),
) -> dict[str, PanePlace]:
    """Return where the panes in sight are within an area of this size.

    `panes` are all there are; `recent` are those that were gone to, the last one last. Zoomed,
    that last one has all the room. `bare` ones have had nothing to show yet.
    """
    if is_zoomed and recent:
        return {recent[-1]: PanePlace(0, 0, width, height)}
    placed: dict[str, PanePlace] = {}
    shelves = _filled(layout, [one for one in panes if one not in bare or one in recent[-1:]])
    y = 0
    for shelf, tall in zip(shelves, _parts([one.share for one in shelves], height), strict=True):
        x = 0
        wide = _parts([one.share for one in shelf.columns], width)
        for column, across in zip(shelf.columns, wide, strict=True):
            top = y
            down = _parts(list(column.slots.values()), tall)
            for slot, deep in zip(column.slots, down, strict=True):
                ids = slot.split()
                pane = next((one for one in reversed(recent) if one in ids), ids[0])
                placed[pane] = PanePlace(x, top, across, deep)
                top += deep
            x += across
        y += tall
    return placed


def _filled(layout: ScreenLayout, panes: Sequence[str]) -> list[PaneShelf]:
    """Return the shelves with the panes that there are; what holds none is left out."""
    named: set[str] = set()
    shelves: list[PaneShelf] = []
    for shelf in layout.shelves:
        columns: list[PaneColumn] = []
        for column in shelf.columns:
            slots: dict[str, int] = {}
            for slot, share in column.slots.items():
                named.update(slot.split())
                if held := " ".join(pane for pane in slot.split() if pane in panes):
                    slots[held] = share
            if slots:
                columns.append(PaneColumn(column.share, slots))
        if columns:
            shelves.append(PaneShelf(shelf.share, tuple(columns)))
    others = " ".join(pane for pane in panes if pane not in named)
    if not others:
        return shelves
    if not shelves:
        return [_shelf(1, (1, {others: 1}))]
    *first, last = shelves
    *left, right = last.columns
    *upper, (lowest, share) = right.slots.items()
    slots = dict([*upper, (f"{lowest} {others}", share)])
    return [*first, PaneShelf(last.share, (*left, PaneColumn(right.share, slots)))]


def _parts(shares: Sequence[int], size: int) -> list[int]:
    """Divide `size` cells by shares; nothing is lost to rounding."""
    whole, used, spent = sum(shares), 0, 0
    parts: list[int] = []
    for share in shares:
        used += share
        edge = size * used // whole
        parts.append(edge - spent)
        spent = edge
    return parts
