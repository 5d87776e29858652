"""A tail that reads pages: whatever the person does, no line twice, none missing, none moves."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tapui.projection.state import StreamKey
from tapui.tower.app import buffers as rings_module
from tapui.tower.app.buffers import Ring
from tapui.tower.streams.lines import Lines, WantedPage
from tapui.tower.table.filter import parse
from tapui.wire.message import Line
from tests.tower.streams_rig import line

KEYS: tuple[StreamKey, ...] = (("s1", "a@ci"), ("s1", "b@ci"), ("s2", "a@ci"))
PAGE = 5
HELD = 24


@pytest.fixture(autouse=True, scope="module")
def small_rings() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rings_module, "RING_LINES", 8)
        yield


class Reading(RuleBasedStateMachine):
    """Streams whose lines are all on record, rings with the newest, and a tail over them."""

    def __init__(self) -> None:
        super().__init__()
        self.records: dict[StreamKey, list[Line]] = {key: [] for key in KEYS}
        self.rings = {key: Ring() for key in KEYS}
        self.now = 0
        self.lines = Lines(held_lines=HELD, page_lines=PAGE)
        for key in KEYS:
            self._post(key)
        self.lines.open(self.rings)
        self._work()

    def _post(self, key: StreamKey) -> None:
        self.now += 1
        seq = len(self.records[key]) + 1
        one = line(seq, f"{key[1][0]}{seq}")
        one = Line(seq, f"2026-01-01T{self.now:06}", one.level, one.event)
        self.records[key].append(one)
        self.rings[key].append(one)

    def _work(self) -> None:
        while self.lines.work(0.0):
            pass

    def _answer(self, asked: WantedPage) -> list[Line]:
        known = self.records[asked.key]
        if asked.before is not None:
            return [one for one in known if one.seq < asked.before][-PAGE:]
        assert asked.after is not None
        return [one for one in known if one.seq > asked.after][:PAGE]

    def _seen(self) -> list[tuple[StreamKey, int]]:
        return [(row.source.key, row.seq) for row in self.lines.rows]

    @rule(which=st.lists(st.integers(0, 2), max_size=12))
    def post(self, which: list[int]) -> None:
        for one in which:
            self._post(KEYS[one])

    @rule(which=st.integers(0, 2), count=st.integers(10, 60))
    def flood(self, which: int, count: int) -> None:
        for _ in range(count):
            self._post(KEYS[which])

    @rule()
    def take(self) -> None:
        before = self._seen()
        is_still = not self.lines.is_following
        self.lines.take(self.rings)
        self._work()
        if is_still:
            assert self._seen()[: len(before)] == before

    @rule()
    def stop(self) -> None:
        self.lines.stop()

    @rule()
    def follow(self) -> None:
        self.lines.follow()
        self.lines.take(self.rings)
        self._work()
        assert not self.lines.has_newer
        newest = max(one[-1].ts for one in self.records.values())
        assert self.lines.is_paused or self.lines.is_sieved or self.lines.rows[-1].ts == newest

    @rule()
    def pause(self) -> None:
        self.lines.pause()

    @rule()
    def resume(self) -> None:
        self.lines.resume()
        self._work()

    @rule(text=st.sampled_from(["", "a", "re:[24680]$"]))
    def filter(self, text: str) -> None:
        self.lines.set_filter(parse(text))
        self._work()

    @rule()
    def older(self) -> None:
        self.lines.stop()
        asked = self.lines.older_wanted()
        if asked is None:
            return
        top = self._seen()[: HELD // 2]
        self.lines.add_page(asked, self._answer(asked))
        self._work()
        seen = self._seen()
        if top and top[0] in seen:
            at = seen.index(top[0])
            both = min(len(top), len(seen) - at)
            assert seen[at : at + both] == top[:both]

    @rule()
    def newer(self) -> None:
        asked = self.lines.newer_wanted()
        if asked is not None:
            self.lines.add_page(asked, self._answer(asked))
        self._work()

    @rule(at=st.integers(0, 400))
    def jump(self, at: int) -> None:
        ts = f"2026-01-01T{at:06}"
        pages = {
            key: [one for one in known if one.ts <= ts][-PAGE:]
            for key, known in self.records.items()
        }
        if any(pages.values()):
            self.lines.jump(pages, ts)
            self._work()

    @rule()
    def read_to_the_end(self) -> None:
        """Down, and down again: every line comes by."""
        if self.lines.is_following or self.lines.is_paused or self.lines.is_sieved:
            return
        seen = set(self._seen())
        first = self.lines.rows[0].ts if self.lines.rows else ""
        for _ in range(400):
            if not self.lines.has_newer:
                break
            self.newer()
            seen |= set(self._seen())
        assert not self.lines.has_newer
        wanted = {
            (key, one.seq)
            for key, known in self.records.items()
            for one in known
            if one.ts >= first
        }
        assert wanted <= seen

    @invariant()
    def shows_each_line_once_and_leaves_none_out_between(self) -> None:
        rows = self.lines.rows
        assert [row.ts for row in rows] == sorted({row.ts for row in rows})
        if not rows:
            return
        used = self.lines.filter
        first, last = rows[0].ts, rows[-1].ts
        wanted = {
            one.ts
            for known in self.records.values()
            for one in known
            if first <= one.ts <= last and (used is None or used.matches(one))
        }
        assert wanted == {row.ts for row in rows}

    @invariant()
    def is_bounded(self) -> None:
        assert self.lines.count <= HELD + 3 * PAGE

    @invariant()
    def marks_no_gap(self) -> None:
        assert not any(row.is_gap for row in self.lines.rows)


TestReading = Reading.TestCase
TestReading.settings = settings(
    max_examples=200,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
