"""A wider terminal never shows less than a narrower one of the same height.

The panes in sight never become fewer. While a pane is arranged as it was (the same table of places,
as many lines for each row, a list above or beside its lines), its rows stay in sight and every word
of a cell stays whole. One column of a table takes what the others leave: only its text may become
shorter, and only where its row gained a field for it. Where the arrangement changes there are more
panes, or more rows.
"""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import pytest

from tapui.projection.state import State
from tapui.tower.table.table import Table
from tests.tower.changes.changes_world import by, file, list_files
from tests.tower.running import Running, running
from tests.tower.scripted import crowd, lines, posts
from tests.tower.told import turns_world

HEIGHTS = (24, 36, 50)
WIDTHS = range(80, 201, 15)

Words = Counter[str]


class RowInSight(NamedTuple):
    """What is painted of a row, and the text that may become shorter."""

    words: Words
    yields: frozenset[str]


class PaneInSight(NamedTuple):
    row_lines: tuple[int, bool]
    """Lines of a row; whether the pane has its list above the lines, not beside them."""
    columns: frozenset[int]
    rows: dict[str, RowInSight]


class ScreenInSight(NamedTuple):
    layout: object
    seen: frozenset[str]
    panes: dict[str, PaneInSight]
    header: Words
    footer: Words


def words(text: str) -> Words:
    """Return the words that are whole; scroll bars and the cursor are none."""
    return Counter(word for word in text.split() if "…" not in word and word.isprintable())


def table_in_sight(table: Table, screen: list[str], *, is_stacked: bool) -> PaneInSight:
    place, high = table.scrollable_content_region, table.row_lines
    has_titles = int(table.virtual_size.height - len(table.rows) * high)
    found: dict[str, RowInSight] = {}
    for index, row in enumerate(table.rows):
        y = index * high - table.scroll_offset.y + has_titles
        if has_titles <= y <= place.height - high:
            painted = [
                line[place.x + 1 : place.right] for line in screen[place.y + y : place.y + y + high]
            ]
            at = next((at for at, column in enumerate(table.columns) if column.grows), 0)
            cell = row.cells[at] if at < len(row.cells) else row.cells[0]
            said = frozenset(words(cell.whole)) if cell.whole else frozenset()
            found[row.key or f"#{index}"] = RowInSight(words(" ".join(painted)), said)
    return PaneInSight((high, is_stacked), frozenset(index for index, *_ in table.spans), found)


def in_sight(rig: Running) -> ScreenInSight:
    screen, main = rig.text.splitlines(), rig.app.main
    panes = {
        pane.kind.id: table_in_sight(table, screen, is_stacked=pane.has_class("-stacked"))
        for pane in main.seen_panes()
        for table in pane.query(Table)
        if table.region.height
    }
    seen = frozenset(pane.kind.id for pane in main.seen_panes())
    seen |= {"detail"} if main.area.has_detail else frozenset()
    layout = main.area.screen_layout
    return ScreenInSight(layout, seen, panes, words(screen[0]), words(screen[-1]))


def check_row(before: RowInSight, now: RowInSight, where: str) -> None:
    lost, gained = before.words - now.words, now.words - before.words
    assert not lost or gained, f"{where} lost {dict(lost)} and gained nothing"
    assert set(lost) <= before.yields, f"{where} lost {dict(lost)} of other columns"


def check(before: ScreenInSight, now: ScreenInSight, where: str) -> None:
    assert before.seen <= now.seen, where
    assert not before.footer - now.footer, where
    numbers = {word for word in before.header if any(char.isdigit() for char in word)}
    assert numbers <= set(now.header), where
    if before.layout != now.layout:
        rows = [sum(len(pane.rows) for pane in one.panes.values()) for one in (before, now)]
        assert before.seen < now.seen or rows[0] <= rows[1], where
        return
    for name, pane in before.panes.items():
        wider = now.panes[name]
        assert set(pane.rows) <= set(wider.rows), f"{where}: {name} lost rows"
        if pane.row_lines != wider.row_lines:
            assert wider.row_lines < pane.row_lines, f"{where}: {name} needs more lines for a row"
            continue
        assert pane.columns <= wider.columns, f"{where}: {name} lost a column"
        for key, row in pane.rows.items():
            check_row(row, wider.rows[key], f"{where}: {name} {key}")


@pytest.mark.parametrize("state", [turns_world, crowd])
async def test_a_wider_terminal_never_shows_less(state: Callable[[], State]) -> None:
    async with running(state(), size=(80, 24)) as rig:
        rig.feed.happen(*posts(("s1", "ci-watch@ci-watcher"), lines(60)[48:]))
        for height in HEIGHTS:
            before: ScreenInSight | None = None
            for width in WIDTHS:
                await rig.resize((width, height))
                now = in_sight(rig)
                assert now.panes["sessions"].rows
                if before is not None:
                    check(before, now, f"{width}x{height}")
                before = now


async def test_a_wider_terminal_never_shows_less_of_changes() -> None:
    found = [
        file(
            f"src/some/folder/module_{number}.py",
            10**number,
            number,
            by=[by("shell", "sed -i s/v0.3/v0.4/ src", ago=86_400 * number)],
            is_after_check=bool(number % 2),
        )
        for number in range(7)
    ]
    async with running(turns_world(), size=(80, 24)) as rig:
        await rig.press("7")
        await list_files(rig, found)
        for height in HEIGHTS:
            before: ScreenInSight | None = None
            for width in WIDTHS:
                await rig.resize((width, height))
                now = in_sight(rig)
                where = f"{width}x{height}"
                assert now.panes["changes"].rows
                if before is not None and before.layout == now.layout:
                    check(before, now, where)
                elif before is not None:  # another pane may give its place to the detail
                    assert len(before.seen) <= len(now.seen), where
                    assert set(before.panes["changes"].rows) <= set(now.panes["changes"].rows), (
                        where
                    )
                before = now
