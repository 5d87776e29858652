"""Columns: those of Sessions are fixed for a width; what of a row is never cut."""

import re

import pytest
from msgspec import Raw
from msgspec.structs import replace

from tapui.projection.now import Loop
from tapui.projection.state import State
from tapui.projection.turns.session import LiveTurns
from tapui.times import lasting
from tapui.tower.app.services import FolderHead
from tapui.tower.calls.calls_pane import CallsPane
from tapui.tower.changes.changes_pane import ChangesPane
from tapui.tower.emitters.emitters_pane import EmittersPane
from tapui.tower.goals.goals_pane import GoalsPane
from tapui.tower.providers.providers_pane import ProvidersPane
from tapui.tower.requests.waiting_band import COLUMNS as BAND
from tapui.tower.sessions import session_status
from tapui.tower.sessions.session_status import STATE
from tapui.tower.sessions.sessions_pane import SessionsPane
from tapui.tower.table.columns import GAP, GLYPH, Cell, Column, Row, row_widths, widths
from tapui.tower.table.table import Table
from tapui.tower.turns.turns_pane import COLUMNS as TURN_COLUMNS
from tapui.wire import events as ev
from tapui.wire.subjects import ContextUse, Subagent
from tapui.wire.turns import SessionTurns, Turn
from tests.rig.waiting import until_async
from tests.tower.running import Running, running
from tests.tower.scripted import approval, at, call, session, world
from tests.tower.stores import ScriptedStore
from tests.tower.told import head, step

SETS = (SessionsPane.COLUMNS, SessionsPane.BESIDE)
NEVER_CUT = [
    {"state": STATE, "for": 7, "ctx": 4},
    {"state": STATE - GLYPH, "for": 7, "ctx": 4},
]


def row(text: str, tail: str = "") -> Row:
    """Return a row of seven cells, full of this text, or empty."""
    return Row(
        text or "none", (Cell(text), Cell(text), *[Cell(tail)] * 2, Cell(""), *[Cell(tail)] * 2)
    )


def the_layout(
    columns: tuple[Column, ...], worlds: list[list[Row]], width: int, *, has_second: bool = False
) -> dict[int, int]:
    """Return the sizes of the columns, which are the same for all these rows and have room."""
    layouts = {widths(columns, rows, width, has_second=has_second) for rows in worlds}
    assert len(layouts) == 1, width
    sizes = dict(layouts.pop())
    assert sum(sizes.values()) + 2 * (len(sizes) - 1) <= width, width
    return sizes


@pytest.mark.parametrize(("columns", "never_cut"), zip(SETS, NEVER_CUT, strict=True))
@pytest.mark.parametrize("has_second", [False, True])
def test_what_stands_in_the_cells_moves_no_column(
    columns: tuple[Column, ...], never_cut: dict[str, int], has_second: bool
) -> None:
    worlds = [[row("a")], [row(""), row("")], [row("long " * 40, "x" * 90), row("b")]]
    for width in range(56, 197):
        sizes = the_layout(columns, worlds, width, has_second=has_second)
        assert [sizes[index] for index in (2, 5, 6)] == list(never_cut.values()), width


def test_no_column_of_changes_moves() -> None:
    """Counts, commands and times of other days come and go while one reads the list."""
    columns = ChangesPane.COLUMNS
    full = Row("full", tuple(Cell("x" * 90) for _ in columns))
    worlds = [[Row("none", tuple(Cell("") for _ in columns))], [full], [full, full]]
    for width in range(40, 197):
        the_layout(columns, worlds, width)


@pytest.mark.parametrize(
    ("columns", "kept"),
    [
        (SessionsPane.COLUMNS, [0, 2]),
        (CallsPane.COLUMNS, [0, 2]),
        (ProvidersPane.COLUMNS, [0, 1]),
        (EmittersPane.COLUMNS, [0, 1]),
        (GoalsPane.COLUMNS, [0, 1]),
        (ChangesPane.COLUMNS, [0]),
        (TURN_COLUMNS, [0]),
    ],
)
def test_a_very_narrow_table_keeps_name_and_state(
    columns: tuple[Column, ...], kept: list[int]
) -> None:
    cells = tuple(Cell(f"{number} and more of that") for number in range(len(columns)))
    layout = widths(columns, [Row("a", cells), Row("b", cells[::-1])], 14, has_second=False)
    assert [index for index, _ in layout] == kept
    assert all(size >= 6 for _, size in layout)
    assert sum(size for _, size in layout) + 2 * (len(layout) - 1) <= 14


async def test_on_the_smallest_terminal_a_session_has_its_name_and_state() -> None:
    state = State(sessions={"s1": session("s1", "Fix the flaky pairing test", state="busy")})
    async with running(state, size=(20, 5)) as rig:
        assert re.search(r"Fix.* busy", rows(rig)[0]), rig.text


@pytest.mark.parametrize("width", [48, 60, 76])
def test_a_prompt_goes_on_over_an_empty_cell_and_no_column_moves(width: int) -> None:
    prompt = Cell("you: “Why does pairing flake, and since when does it do that?”" * 2)
    bare = Row("1", (prompt, Cell(""), Cell("3m 02s")))
    noted = Row("2", (prompt, Cell("exit 1", glyph="✗"), Cell("31s")))
    layout = widths(TURN_COLUMNS, [bare, noted], width, has_second=False)
    (first, text), (_, note), last = layout
    assert row_widths(TURN_COLUMNS, bare, layout) == ((first, text + GAP + note), last)
    assert row_widths(TURN_COLUMNS, noted, layout) == layout
    short = Row("3", (Cell("you: “Go”"), Cell(""), Cell("1s")))
    assert row_widths(TURN_COLUMNS, short, layout) == layout


def crowded() -> State:
    """Return sessions with names, folders and states as long as there are."""
    state = State()
    long = "A very long name that nobody gave with care " * 3
    for number in range(6):
        id_ = f"s{number}"
        use = ContextUse(120_000 + number, 128_000)
        state.sessions[id_] = session(
            id_, f"{number} {long}", cwd=f"/code/{'deep' * 12}{number}", context=use
        )
    state.approvals["a1"] = approval("a1", "permission", {"kind": "shell"}, session_id="s0")
    for number, (code, count) in enumerate(((1, 4), (127, 12), (2**31 - 1, 150)), 1):
        steps = [
            step(f"1.{one}", state="failed", tool="bash", summary="make it", exit_code=code)
            for one in range(1, count + 1)
        ]
        running_ = step("1.999", state="running", ago=9, tool="bash", summary="make it again")
        turn = Turn(
            head(1, "Go", 90_000, None, session_id=f"s{number}", steps=count, failed=count),
            [*steps, running_],
        )
        state.turns[f"s{number}"] = LiveTurns.of(SessionTurns(f"s{number}", [], turn))
        state.sessions[f"s{number}"] = replace(state.sessions[f"s{number}"], state="busy")
    return state


def painted(rig: Running) -> list[list[str]]:
    """Return what is painted of state, for and ctx, by row."""
    table = rig.pane(1).query_one(Table)
    place, high = table.scrollable_content_region, table.row_lines
    lines = rig.text.splitlines()
    spans = {index: (start, end) for index, start, end in table.spans}
    found = []
    for index in range(table.in_sight[0], table.in_sight[1]):
        line = lines[place.y + index * high - table.scroll_offset.y]
        cells = [line[place.x + spans[at][0] : place.x + spans[at][1]].strip() for at in (2, 5, 6)]
        assert cells == [table.rows[index].cells[at].whole for at in (2, 5, 6)]
        found.append(cells)
    return found


def rows(rig: Running) -> list[str]:
    """Return the lines of the list, one for each row."""
    table = rig.pane(1).query_one(Table)
    place = table.scrollable_content_region
    lines = rig.text.splitlines()[place.y : place.bottom]
    return [line[place.x : place.right] for line in lines]


async def test_beside_a_detail_each_session_has_its_place() -> None:
    state = State()
    for id_, name in (("s1", "Fix the flaky pairing test"), ("s2", "Docs")):
        state.sessions[id_] = session(id_, name, cwd=f"/code/app-{id_}")
    store = ScriptedStore()
    store.heads = {f"/code/app-{id_}": FolderHead("/code", "pairing") for id_ in ("s1", "s2")}
    async with running(state, size=(200, 40), store=store) as rig:
        await until_async(lambda: "⎇" in rig.lists, what=lambda: rig.text)
        for width in (200, 160, 150, 140):
            await rig.resize((width, 40))
            for id_, row in zip(("s1", "s2"), rows(rig), strict=False):
                assert f"app-{id_} ⎇" in row, (width, row)
                assert "idle" in row, (width, row)


async def test_state_time_and_context_are_never_cut() -> None:
    async with running(crowded(), size=(80, 40)) as rig:
        await rig.press("1")
        for width in (80, 95, 111, 112, 113, 120, 139, 140, 150, 159, 160, 180, 199, 200):
            await rig.resize((width, 40))
            found = painted(rig)
            states = [state for state, _for, _ctx in found][:4]
            signs = [line[1] for line in rows(rig)][:4]
            if width < 140:
                assert states == ["! asks you", "↻ exit 1, 4×", "↻ fails 12×", "↻ fails 99+×"]
            else:  # the sign stands before the name
                assert states == ["asks you", "exit 1, 4×", "fails 12×", "fails 99+×"]
                assert signs == ["!", "↻", "↻", "↻"]


@pytest.mark.parametrize("size", [(80, 24), (160, 40)])
async def test_a_failure_that_comes_moves_no_column(size: tuple[int, int]) -> None:
    async with running(crowded(), size=size) as rig:
        await rig.press("1")
        table = rig.pane(1).query_one(Table)
        before = table.spans
        for number in range(12):
            made = replace(call(f"f{number}", "build"), session_id="s4")
            failed = replace(made, state="failed", args=None, error="broken")
            rig.feed.happen(ev.CallStarted("s4", made), ev.CallFinished("s4", failed), ts=at(-1))
        await rig.settle()
        assert ("✗9+" if size[0] >= 140 else "✗ 9+") in table.row_text("s4")
        assert table.spans == before


@pytest.mark.parametrize(
    ("loop", "words"),
    [
        (Loop("make", 1, 4), "exit 1, 4×"),
        (Loop("make", 127, 9), "fails 9×"),
        (Loop("a" * 300, None, 5), "fails 5×"),
        (Loop("make", -(2**31), 10**9), "fails 99+×"),
    ],
)
def test_a_loop_is_told_in_few_cells(loop: Loop, words: str) -> None:
    assert session_status.loop_words(loop) == words
    assert len(f"↻ {words}") <= STATE


@pytest.mark.parametrize("size", [(80, 24), (160, 40)], ids=str)
async def test_a_subagents_long_name_moves_no_column_of_the_band(size: tuple[int, int]) -> None:
    agent = Subagent("r1", "reviewer of everything that was ever written", "running", at(60))
    state = State(sessions={"s1": session("s1", "Fix", subagents=[agent])})
    detail = {"kind": "shell", "fullCommandText": "ls"}
    state.approvals["a1"] = approval("a1", "permission", detail, session_id="s1")
    async with running(state, size=size) as rig:
        band = rig.app.main.band
        before = band.table.spans
        asked = {**detail, "agentId": "r1", "fullCommandText": "make all " * 30}
        new = approval("a2", "permission", asked, session_id="s1", created_at=at(1))
        rig.feed.happen(ev.ApprovalRequested(approval=new))
        await until_async(lambda: band.region.height == 2, what="its second line")
        await rig.settle()
        assert band.table.spans == before
        lines = rig.text.splitlines()[band.region.y : band.region.bottom]
        assert len({line.index(" run ") for line in lines}) == 1, lines


def test_no_column_of_the_band_is_narrower_where_the_band_is_wider() -> None:
    before: tuple[int, ...] = ()
    for width in range(20, 400):
        sizes = tuple(size for _, size in widths(BAND, [row("a")], width, has_second=False))
        assert all(now >= was for was, now in zip(before, sizes, strict=bool(before)))
        before = sizes


async def test_the_time_that_a_request_has_left_is_not_cut() -> None:
    async with running(world(), size=(60, 15)) as rig:
        assert re.search(r"pair .*1m \d+s left", rig.text), rig.text


async def test_how_long_a_request_waits_is_not_cut() -> None:
    detail = {"kind": "shell", "fullCommandText": "make all " * 30}
    one = approval("a1", "permission", detail, created_at=at(9), expires_at=at(-180_000))
    state = State(sessions={"s1": session("s1", "Fix")}, approvals={"a1": one})
    async with running(state, size=(60, 15)) as rig:
        waited = 9
        for ago in (9, 599, 35_999, 86_399):
            await rig.turn(ago - waited)
            waited = ago
            (band,) = [line for line in rig.text.splitlines() if "make all" in line][-1:]
            assert band.rstrip().endswith(f"waits {lasting(ago)}")


async def test_the_state_of_a_call_is_not_cut() -> None:
    state = world()
    long = Raw(b'{"command": "' + b"make all " * 20 + b'"}')
    for id_, one in state.calls.items():
        state.calls[id_] = replace(one, state="cancelling", args=long, tool="yearly_report")
    async with running(state, size=(160, 45)) as rig:
        assert "cancelling" in rig.text
        assert "cancelli…" not in rig.text


async def test_the_frame_has_the_titles_of_the_columns_that_are_there() -> None:
    async with running(world(), size=(120, 36)) as rig:
        table = rig.pane(1).query_one(Table)
        whole = table.styles.width
        for width, is_there in ((24, False), (whole, True)):
            table.styles.width = width
            await rig.settle()
            (frame,) = [line for line in rig.text.splitlines() if "1 Sessions ─" in line]
            assert ("ctx" in frame) == is_there, frame
