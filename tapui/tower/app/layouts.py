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


@dataclass(frozen=True, slots=True)
class PaneSlot:
    """The ids of panes that take turns in one place; the first is there unless another is asked
    for. `share` is its part of the column's height."""

    panes: tuple[str, ...]
    share: int = 1


@dataclass(frozen=True, slots=True)
class PaneColumn:
    """Slots from top to bottom, with the column's share of the shelf's width."""

    share: int
    slots: tuple[PaneSlot, ...]


@dataclass(frozen=True, slots=True)
class PaneShelf:
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


_ALL = ("sessions", "turns", "streams", "providers", "calls", "emitters")


def _one(*panes: str) -> tuple[PaneShelf, ...]:
    return (PaneShelf(1, (PaneColumn(1, (PaneSlot(panes),)),)),)


LAYOUTS: tuple[ScreenLayout, ...] = (
    ScreenLayout(
        width=190,
        height=42,
        waiting=5,
        has_tabs=False,
        shelves=(
            PaneShelf(
                1,
                (
                    PaneColumn(72, (PaneSlot(("sessions",)),)),
                    PaneColumn(74, (PaneSlot(("turns",)),)),
                    PaneColumn(
                        54,
                        (
                            PaneSlot(("streams",), 16),
                            PaneSlot(("emitters",), 8),
                            PaneSlot(("calls",), 14),
                            PaneSlot(("providers",), 8),
                        ),
                    ),
                ),
            ),
        ),
    ),
    ScreenLayout(
        width=150,
        height=40,
        waiting=5,
        has_tabs=False,
        shelves=(
            PaneShelf(11, (PaneColumn(1, (PaneSlot(("sessions",)),)),)),
            PaneShelf(
                27,
                (
                    PaneColumn(92, (PaneSlot(("turns",)),)),
                    PaneColumn(
                        68,
                        (
                            PaneSlot(("streams",), 11),
                            PaneSlot(("emitters",), 7),
                            PaneSlot(("calls",), 9),
                            PaneSlot(("providers",), 7),
                        ),
                    ),
                ),
            ),
        ),
    ),
    ScreenLayout(
        width=116,
        height=34,
        waiting=5,
        has_tabs=False,
        shelves=(
            PaneShelf(8, (PaneColumn(1, (PaneSlot(("sessions",)),)),)),
            PaneShelf(
                21,
                (
                    PaneColumn(84, (PaneSlot(("turns", "calls")),)),
                    PaneColumn(
                        36,
                        (
                            PaneSlot(("streams",), 13),
                            PaneSlot(("emitters",), 8),
                            PaneSlot(("providers",), 8),
                        ),
                    ),
                ),
            ),
        ),
    ),
    ScreenLayout(
        width=100,
        height=28,
        waiting=5,
        has_tabs=True,
        shelves=(
            PaneShelf(13, (PaneColumn(1, (PaneSlot(("sessions",)),)),)),
            PaneShelf(9, (PaneColumn(1, (PaneSlot(_ALL[1:]),)),)),
        ),
    ),
    ScreenLayout(
        width=40,
        height=16,
        waiting=2,
        has_tabs=True,
        shelves=_one(*_ALL),
    ),
    ScreenLayout(
        width=0,
        height=10,
        waiting=1,
        has_tabs=True,
        shelves=_one(*_ALL),
    ),
    ScreenLayout(
        width=0,
        height=0,
        waiting=0,
        has_tabs=False,
        shelves=_one(*_ALL),
    ),
)
"""The first that fits is taken: the largest come first, the last fits every terminal."""


def layout_for(width: int, height: int) -> ScreenLayout:
    return next(one for one in LAYOUTS if one.width <= width and one.height <= height)


def seen_panes(
    layout: ScreenLayout,
    panes: Sequence[str],
    recent: Sequence[str],
    *,
    is_zoomed: bool = False,
    bare: Collection[str] = (),
) -> list[str]:
    """Return the ids of the panes that are in sight, in the order of `panes`.

    `panes` are all there are; `recent` are those that were gone to, the last one last. Zoomed,
    that last one has all the room. `bare` ones have had nothing to show yet.
    """
    if is_zoomed and recent:
        return [recent[-1]]
    found = {
        _taken(slot, recent)
        for shelf in _filled(layout, _placed(panes, recent, bare))
        for column in shelf.columns
        for slot in column.slots
    }
    return [pane for pane in panes if pane in found]


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
    """Return where the panes in sight are within an area of this size."""
    if is_zoomed and recent:
        return {recent[-1]: PanePlace(0, 0, width, height)}
    found: dict[str, PanePlace] = {}
    shelves = _filled(layout, _placed(panes, recent, bare))
    y = 0
    for shelf, tall in zip(shelves, _parts([one.share for one in shelves], height), strict=True):
        x = 0
        wide = _parts([one.share for one in shelf.columns], width)
        for column, across in zip(shelf.columns, wide, strict=True):
            top = y
            down = _parts([one.share for one in column.slots], tall)
            for slot, deep in zip(column.slots, down, strict=True):
                found[_taken(slot, recent)] = PanePlace(x, top, across, deep)
                top += deep
            x += across
        y += tall
    return found


def _placed(panes: Sequence[str], recent: Sequence[str], bare: Collection[str]) -> list[str]:
    """Return the panes that have a place: not those that are bare, unless the person is there."""
    return [one for one in panes if one not in bare or one in recent[-1:]]


def _taken(slot: PaneSlot, recent: Sequence[str]) -> str:
    return next((one for one in reversed(recent) if one in slot.panes), slot.panes[0])


def _filled(layout: ScreenLayout, panes: Sequence[str]) -> list[PaneShelf]:
    """Return the shelves with the panes that there are; what holds none is left out."""
    named = {
        pane
        for shelf in layout.shelves
        for column in shelf.columns
        for slot in column.slots
        for pane in slot.panes
    }
    others = tuple(pane for pane in panes if pane not in named)
    shelves: list[PaneShelf] = []
    for shelf in layout.shelves:
        columns: list[PaneColumn] = []
        for column in shelf.columns:
            slots = [
                PaneSlot(held, slot.share)
                for slot in column.slots
                if (held := tuple(pane for pane in slot.panes if pane in panes))
            ]
            if slots:
                columns.append(PaneColumn(column.share, tuple(slots)))
        if columns:
            shelves.append(PaneShelf(shelf.share, tuple(columns)))
    if not others:
        return shelves
    if not shelves:
        return list(_one(*others))
    *first, last = shelves
    *left, right = last.columns
    *upper, lowest = right.slots
    slots_now = (*upper, PaneSlot((*lowest.panes, *others), lowest.share))
    return [*first, PaneShelf(last.share, (*left, PaneColumn(right.share, slots_now)))]


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
