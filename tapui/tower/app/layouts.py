"""Where things are on the screen: one table, from the terminal's size to the places of the panes.

Between the header and the line with what waits stand shelves from top to bottom; a shelf has
columns, a column slots, and in a slot one of its panes is seen at a time. A pane that no slot names
takes turns in the last one. A pane that is `bare`, because it has had nothing to show yet, leaves
its room to the others, unless the person is there. `DETAIL` stands for the detail of what is under
the cursor.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple


class PanePlace(NamedTuple):
    """A rectangle, in cells, within the area of the panes."""

    x: int
    y: int
    width: int
    height: int


DETAIL = "detail"
LISTS = 0
"""The share of a column that is as wide as `lists_width` says; the other one has the rest."""
_LISTS_WIDTHS = ((140, 60), (160, 74), (200, 84))
"""Of the screen, of the lists on it: a diff in the detail has 80 columns before they get more."""


class PaneColumn(NamedTuple):
    """A column with its share of the shelf's width.

    `slots` are its slots from top to bottom, with their shares of its height. A slot is the ids of
    the panes that take turns in it; the first is there unless another is asked for. Slots with a
    bar between them stand side by side.
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

    `has_band`: there is a line with what waits. `has_tabs`: a line names all panes, because some
    are out of sight.
    """

    width: int
    height: int
    has_band: bool
    has_tabs: bool
    shelves: tuple[PaneShelf, ...]


def _shelf(share: int, *columns: tuple[int, dict[str, int]]) -> PaneShelf:
    return PaneShelf(share, tuple(PaneColumn(*column) for column in columns))


_SESSIONS = (1, {"sessions": 1})
_ONE = (_shelf(1, (1, {"sessions turns streams providers calls emitters changes goals": 1})),)

LAYOUTS: tuple[ScreenLayout, ...] = (
    ScreenLayout(
        width=190,
        height=42,
        has_band=True,
        has_tabs=False,
        shelves=(
            _shelf(
                1,
                (LISTS, {"sessions": 14, "turns": 33}),
                (1, {DETAIL: 28, "calls | streams providers emitters changes goals": 19}),
            ),
        ),
    ),
    ScreenLayout(
        width=140,
        height=28,
        has_band=True,
        has_tabs=False,
        shelves=(
            _shelf(
                1,
                (LISTS, {"sessions": 10, "turns": 27}),
                (1, {DETAIL: 20, "calls": 5, "streams providers emitters changes goals": 12}),
            ),
        ),
    ),
    ScreenLayout(
        width=116,
        height=34,
        has_band=True,
        has_tabs=True,
        shelves=(
            _shelf(
                1,
                (72, {"sessions": 13, "turns changes goals": 20}),
                (48, {"streams providers emitters": 20, "calls": 13}),
            ),
        ),
    ),
    ScreenLayout(
        width=100,
        height=28,
        has_band=True,
        has_tabs=True,
        shelves=(
            _shelf(13, _SESSIONS),
            _shelf(9, (1, {"turns streams providers calls emitters changes goals": 1})),
        ),
    ),
    ScreenLayout(width=0, height=10, has_band=True, has_tabs=True, shelves=_ONE),
    ScreenLayout(width=0, height=0, has_band=False, has_tabs=False, shelves=_ONE),
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
    heights: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, PanePlace]:
    """Return where the panes in sight are within an area of this size.

    `panes` are all there are; `recent` are those that were gone to, the last one last. Zoomed,
    that last one has all the room. `bare` ones have had nothing to show yet. Below a detail a pane
    has the height that `heights` says, and the next slot what that leaves.
    """
    if is_zoomed and recent:
        return {recent[-1]: PanePlace(0, 0, width, height)}
    placed: dict[str, PanePlace] = {}
    shelves = _filled(layout, [one for one in panes if one not in bare or one in recent[-1:]])
    y = 0
    for shelf, tall in zip(shelves, _parts([one.share for one in shelves], height), strict=True):
        x = 0
        wide = _widths([one.share for one in shelf.columns], width)
        for column, across in zip(shelf.columns, wide, strict=True):
            top = y
            down = _parts(list(column.slots.values()), tall)
            if DETAIL in column.slots:
                _fit(down, list(column.slots), heights)
            for slots, deep in zip(column.slots, down, strict=True):
                left = x
                beside = slots.split("|")
                for slot, part in zip(beside, _parts([1] * len(beside), across), strict=True):
                    ids = slot.split()
                    pane = next((one for one in reversed(recent) if one in ids), ids[0])
                    placed[pane] = PanePlace(left, top, part, deep)
                    left += part
                top += deep
            x += across
        y += tall
    return placed


def slot_of(layout: ScreenLayout, panes: Sequence[str], pane: str) -> list[str]:
    """Return the panes that take turns in one place with `pane`, itself among them."""
    return next(
        ids
        for shelf in _filled(layout, panes)
        for column in shelf.columns
        for slots in column.slots
        for slot in slots.split("|")
        if pane in (ids := slot.split())
    )


def lists_width(width: int) -> int:
    """Return how wide the lists are beside a detail on a screen of so many columns."""
    (low, least), *_ = _LISTS_WIDTHS
    for high, most in _LISTS_WIDTHS[1:]:
        if width <= high:
            return least + (most - least) * (width - low) // (high - low)
        low, least = high, most
    return width * least // low


def _widths(shares: Sequence[int], width: int) -> list[int]:
    if shares[0] != LISTS or len(shares) == 1:
        return _parts([share or 1 for share in shares], width)
    lists = lists_width(width)
    return [lists, *_parts(shares[1:], width - lists)]


def _filled(layout: ScreenLayout, panes: Sequence[str]) -> list[PaneShelf]:
    """Return the shelves with the panes that there are; what holds none is left out."""
    named: set[str] = set()
    shelves: list[PaneShelf] = []
    for shelf in layout.shelves:
        columns: list[PaneColumn] = []
        for column in shelf.columns:
            slots: dict[str, int] = {}
            for beside, share in column.slots.items():
                named.update(beside.replace("|", " ").split())
                held = [
                    " ".join(pane for pane in slot.split() if pane in panes)
                    for slot in beside.split("|")
                ]
                if held := list(filter(None, held)):
                    slots["|".join(held)] = share
            if slots:
                columns.append(PaneColumn(column.share, slots))
        if columns:
            shelves.append(PaneShelf(shelf.share, tuple(columns)))
    others = " ".join(pane for pane in panes if pane not in named and pane != DETAIL)
    if not others:
        return shelves
    if not shelves:
        return [_shelf(1, (1, {others: 1}))]
    *first, last = shelves
    *left, right = last.columns
    *upper, (lowest, share) = right.slots.items()
    slots = dict([*upper, (f"{lowest} {others}", share)])
    return [*first, PaneShelf(last.share, (*left, PaneColumn(right.share, slots)))]


_LEAST_HEIGHT = 5
"""Lines of a slot that another one takes lines from, at least."""


def _fit(down: list[int], slots: Sequence[str], heights: Mapping[str, int]) -> None:
    """Give slots the heights that they want, at the cost of the next one."""
    for at, slot in enumerate(slots[:-1]):
        if slot in heights:
            more = min(heights[slot] - down[at], down[at + 1] - _LEAST_HEIGHT)
            down[at] += more
            down[at + 1] -= more


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
