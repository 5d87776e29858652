"""Nothing moves under the cursor, whatever happens: the row that it is on stays that row, on its
line of the screen, until it is gone itself.

One app, all panes in sight. In each the cursor goes to a row in the middle; then things happen by
chance (with a seed): rows come, go, end, and stand elsewhere in the order.
"""

from collections.abc import Callable
from itertools import count
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tapui.projection.state import State
from tapui.tower.sessions.sessions_pane import SessionsPane
from tapui.tower.streams.tail import Tail
from tapui.tower.table.columns import Row, heading, held
from tapui.tower.table.table import Table
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.message import Line
from tapui.wire.tower import Snapshot
from tests.tower.running import Running, running
from tests.tower.scripted import approval, at, call, lines, posts, provider, session
from tests.tower.told import turns_world

STEPS = 5
STREAM = "log-0@p"
_NUMBERS = count(100)


def busy_world() -> State:
    """Return ten of everything: more than its pane has lines for, or fewer, by the pane."""
    told = turns_world()
    sessions = [
        told.sessions["s1"],
        *(session(f"n{n}", f"Session {n}", state=("idle", "busy")[n % 2]) for n in range(10)),
    ]
    providers = [provider(f"q{n}", f"provider-{n}", session_id="s1") for n in range(10)]
    calls = [call(f"c{n}", f"tool_{n % 4}", started_at=at(100 - n)) for n in range(10)]
    ended = [
        call(f"e{n}", f"tool_{n % 4}", state="done", duration=10.0 * n, started_at=at(300 - n))
        for n in range(10)
    ]
    asked = [
        approval(
            f"a{n}",
            "permission",
            {"kind": "shell", "fullCommandText": f"make {n}"},
            session_id=f"n{n}",
            created_at=at(100 + n),
            expires_at=at(-9_000),
        )
        for n in range(6)
    ]
    state = State.of(Snapshot(sessions, providers, [*calls, *ended], [], asked))
    state.turns = told.turns
    return state


class Chance:
    """Lets one thing happen after another; `spared` is what must not go."""

    def __init__(self, rig: Running, seed: int, *, spared: str) -> None:
        self._rig = rig
        self._random = Random(seed)
        self.spared = spared

    async def happen(self) -> None:
        state, random = self._rig.app.view.state, self._random
        open_sessions = [one for one in state.sessions.values() if one.id.startswith("n")]
        asked = [one for one in state.approvals.values() if one.state == "waiting"]
        plugged = [one for one in state.providers.values() if one.state == "bound"]
        number = next(_NUMBERS)
        some = random.choice(open_sessions)
        events: list[Callable[[], ev.AnyEvent | None]] = [
            lambda: ev.SessionOpened(f"n{number}", session(f"n{number}", f"A new one {number}")),
            lambda: ev.SessionUpdated(
                some.id,
                replace(some, state=random.choice(["busy", "idle"]), label=f"n{number}"),
            ),
            lambda: self._closed(some.id),
            lambda: ev.CallStarted("s1", call(f"c{number}", f"a_tool_{number % 7}")),
            lambda: self._finished(list(state.calls.values())),
            lambda: self._progress(list(state.calls.values())),
            lambda: ev.ProviderConnected(provider(f"q{number}", f"another-{number}")),
            lambda: self._unplugged(plugged),
            lambda: ev.ApprovalRequested(
                approval(
                    f"a{number}",
                    "permission",
                    {"kind": "shell", "fullCommandText": f"urgent {number}"},
                    session_id=some.id,
                    created_at=at(random.choice([5, 500])),
                    expires_at=at(random.choice([-30, -9_000])),
                )
            ),
            lambda: self._answered(asked),
            lambda: ev.StreamPosted("s1", STREAM, Line(number, at(), "keep", f"line {number}")),
            lambda: ev.StreamPosted("s1", f"log-{number}@p", Line(1, at(), "inject", "new")),
            lambda: ev.SessionHappened("s1", random.choice(["user.message", "assistant.message"])),
        ]
        for make in random.sample(events, 7):
            event = make()
            if event is not None:
                self._rig.feed.happen(event)
        await self._rig.turn(random.choice([1, 70]))

    def _closed(self, id_: str) -> ev.AnyEvent | None:
        one = self._rig.app.view.state.sessions[id_]
        if id_ in self.spared or one.state == "ended" or self._random.random() < 0.5:
            return None
        return ev.SessionClosed(id_, replace(one, state="ended", ended_at=at()))

    def _finished(self, calls: list[subjects.Call]) -> ev.AnyEvent | None:
        if not calls:
            return None
        one = self._random.choice(calls)
        return ev.CallFinished("s1", replace(one, state="done", duration=5.0))

    def _progress(self, calls: list[subjects.Call]) -> ev.AnyEvent | None:
        if not calls:
            return None
        one = self._random.choice(calls)
        return ev.CallProgress("s1", replace(one, progress="half " * 9))

    def _unplugged(self, plugged: list[subjects.Provider]) -> ev.AnyEvent | None:
        one = self._random.choice(plugged) if len(plugged) > 7 else None
        if one is None or one.id == self.spared:
            return None
        return ev.ProviderDisconnected(replace(one, state="disconnected"))

    def _answered(self, asked: list[subjects.Approval]) -> ev.AnyEvent | None:
        one = self._random.choice(asked) if len(asked) > 3 else None
        if one is None or one.id == self.spared:
            return None
        return ev.ApprovalDecided(replace(one, state="approved", decided_by="keyboard"))


def place_of(widget: Table | Tail) -> tuple[object, int]:
    """Return what the cursor is on, and its line on the widget."""
    if isinstance(widget, Tail):
        row = widget.row
        assert row is not None
        return row.seq, widget.cursor - widget.scroll_offset.y
    return widget.selected, widget.cursor * widget.row_lines - widget.scroll_offset.y


PLACES: dict[str, tuple[list[str], list[str]]] = {
    "sessions": (["1"], ["down"] * 4),
    "sessions by age": (["1", "s", "s", "s"], ["home", *["down"] * 4]),
    "turns": (["2"], ["end", "up", "up"]),
    "tail": (["3"], ["up"] * 5),
    "streams": (["3"], ["home", "down", "down"]),
    "providers": (["4"], ["down"] * 4),
    "calls": (["5"], ["down"] * 4),
    "calls that ended": (["5"], ["end", "up", "up", "up"]),
    "calls by time": (["5", "s", "s", "s"], ["home", *["down"] * 4]),
    "calls by tool": (["5", "v"], ["home", "down", "down"]),
    "what waits": ([], ["down"]),
}
"""Keys that go to the pane, and those that move the cursor there."""


async def go_to(rig: Running, place: str) -> Table | Tail:
    """Put the cursor on a row in the middle of a place; return what shows it."""
    to_pane, to_row = PLACES[place]
    await rig.press(*to_pane)
    pane = rig.app.main.current
    if place == "turns":
        sessions = rig.pane(1)
        assert isinstance(sessions, SessionsPane)
        sessions.select_session("s1")
        await rig.settle()
    elif place == "streams":
        rig.app.screen.set_focus(pane.query_one(Table))
    elif place == "what waits":
        pane = rig.app.main.band
        pane.focus_inside()
    await rig.press(*to_row)
    widget = pane.query_one(Tail if place == "tail" else Table)
    assert widget.has_focus
    return widget


async def test_nothing_moves_under_the_cursor() -> None:
    async with running(busy_world(), size=(200, 50)) as rig:
        rig.feed.happen(*posts(("s1", STREAM), lines(48)))
        for number in range(1, 5):
            rig.feed.happen(*posts(("s1", f"log-{number}@p"), lines(2)))
        await rig.settle()
        for seed, place in enumerate(PLACES, 50):
            widget = await go_to(rig, place)
            was = place_of(widget)
            chance = Chance(rig, seed, spared=str(was[0]))
            for _ in range(STEPS):
                await chance.happen()
                now = place_of(widget)
                if place.startswith("sessions"):  # they keep their order, by need or as chosen
                    now = now[0], was[1]
                assert now == was, place


@given(
    st.permutations(range(8)),
    st.permutations(range(8)),
    st.integers(0, 7),
    st.sets(st.integers(0, 7), max_size=2),
    st.booleans(),
)
def test_a_row_is_held_where_it_was(
    before: list[int], now: list[int], at: int, headings: set[int], crosses: bool
) -> None:
    """All other rows keep their order, and the row its part of the list if it does not cross."""
    key = str(before[at])
    rows = [Row(str(number), ()) for number in now]
    for number in sorted(headings):
        rows.insert(number, heading(f"part {number}"))
    found = held(rows, key, at, crosses=crosses)
    assert [row for row in found if row.key != key] == [row for row in rows if row.key != key]
    if crosses:
        assert found[at].key == key
    else:
        assert part_of(found, key) == part_of(rows, key)


def part_of(rows: list[Row], key: str) -> int:
    at = next(index for index, row in enumerate(rows) if row.key == key)
    return sum(row.is_heading for row in rows[:at])
