"""What a tail shows is the filter over the ring, whatever happened on the way there."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tapui.tower.app import buffers
from tapui.tower.app.buffers import Ring
from tapui.tower.streams.lines import Lines
from tapui.tower.table.filter import MAX_PATTERN, MAX_SUBJECT, FilterError, Undecided, parse
from tapui.wire.message import Line
from tests.tower.streams_rig import line

KEY = ("s1", "ci-watch@ci")
FILTERS = ("", "a", "B", "re:a+b", "re:^$", "re:[13579]$", "none such")
TEXTS = st.text("abA1 ", max_size=4)


@pytest.fixture(autouse=True, scope="module")
def small_rings() -> Iterator[None]:
    """Rings of 12 lines, so that eviction comes soon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buffers, "RING_LINES", 12)
        yield


class Tailing(RuleBasedStateMachine):
    """A ring that lines are posted to and merged into, and a tail that looks at it now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.ring = Ring()
        self.next = 40
        self.lines = Lines(held_lines=20)
        self.lines.open({KEY: self.ring})
        self.shown: list[Line] = []
        self.taken = True

    def _all(self) -> list[Line]:
        """The filter over the ring, by its definition."""
        used = self.lines.filter
        return [one for one in self.ring.lines if used is None or used.matches(one)]

    def _work(self) -> None:
        while self.lines.work(0.0):
            pass

    @rule(texts=st.lists(TEXTS, max_size=9), gap=st.integers(0, 2))
    def post(self, texts: list[str], gap: int) -> None:
        self.next += gap
        for text in texts:
            self.ring.append(line(self.next, text))
            self.next += 1
        self.taken = False

    @rule(amount=st.integers(1, 8))
    def merge(self, amount: int) -> None:
        first = self.ring.lines[0].seq if self.ring.lines else self.next
        self.ring.merge([line(seq) for seq in range(max(first - amount, 1), first)])
        self.taken = False

    @rule()
    def begin_anew(self) -> None:
        self.next = 1
        self.ring.append(line(self.next))
        self.next += 1
        self.taken = False

    @rule()
    def replace_ring(self) -> None:
        self.ring = Ring()
        self.next = 40
        self.taken = False

    @rule()
    def take(self) -> None:
        before = self.lines.rows[:]
        is_still = not self.lines.is_following
        self.lines.take({KEY: self.ring})
        self._work()
        self.taken = True
        if is_still:
            seqs = {one.seq for one in self.lines.rows}
            assert {one.seq for one in before} <= seqs

    @rule(text=st.sampled_from(FILTERS))
    def filter(self, text: str) -> None:
        self.lines.set_filter(parse(text))
        self._work()

    @rule()
    def stop(self) -> None:
        self.lines.stop()

    @rule()
    def pause(self) -> None:
        self.lines.pause()

    @rule()
    def resume(self) -> None:
        self.lines.resume()
        self._work()
        self.lines.take({KEY: self.ring})
        self._work()
        self.taken = True

    @rule()
    def follow(self) -> None:
        self.lines.follow()
        self.lines.take({KEY: self.ring})
        self._work()
        self.taken = True

    @invariant()
    def rows_rise(self) -> None:
        seqs = [one.seq for one in self.lines.rows]
        assert seqs == sorted(set(seqs))

    @invariant()
    def is_bounded(self) -> None:
        assert self.lines.count <= 20 + 12

    @precondition(lambda self: self.taken and self.lines.is_following and not self.lines.is_paused)
    @invariant()
    def shows_the_filter_over_the_ring(self) -> None:
        assert [one.line for one in self.lines.rows] == self._all()
        assert self.lines.unseen() == 0

    @invariant()
    def misses_are_never_negative(self) -> None:
        assert self.lines.unseen() >= 0


TestTailing = Tailing.TestCase
TestTailing.settings = settings(
    max_examples=150,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def test_what_is_held_is_bounded_in_bytes() -> None:
    ring = Ring()
    ring.append(line(1))
    lines = Lines(held_lines=20, held_bytes=1000)
    lines.open({KEY: ring})
    lines.work()
    lines.stop()
    for seq in range(2, 10):
        ring.append(line(seq, "x" * 300))
        lines.take({KEY: ring})
        lines.work()
    assert [one.seq for one in lines.rows] == [1, 2, 3, 4, 5]
    assert lines.unseen() == 8
    lines.follow()
    lines.work()
    assert [one.seq for one in lines.rows] == list(range(1, 10))


def test_filtering_takes_small_turns() -> None:
    ring = Ring()
    for seq in range(1, 13):
        ring.append(line(seq))
    ticks = iter(range(1000))
    lines = Lines(timer=lambda: next(ticks), held_lines=20)
    lines.open({KEY: ring})
    lines.set_filter(parse("line"))
    assert lines.work(3) is True
    assert 0 < len(lines.rows) < 12
    while lines.work(3):
        pass
    assert len(lines.rows) == 12


def test_a_slow_pattern_is_refused_and_the_old_one_stays() -> None:
    ring = Ring()
    for seq in range(1, 13):
        ring.append(line(seq, "a" * 50 + "!"))
    lines = Lines(held_lines=20)
    lines.open({KEY: ring})
    lines.set_filter(parse("A!"))
    with pytest.raises(FilterError, match="too slow"):
        lines.set_filter(parse(r"re:^(a|aa|a?a)+$"))
    lines.work()
    assert len(lines.rows) == 12
    assert lines.filter == parse("A!")


def test_lines_that_come_later_and_are_slow_are_counted_and_not_shown() -> None:
    ring = Ring()
    ring.append(line(1, "aaa"))
    lines = Lines(held_lines=20)
    lines.open({KEY: ring})
    lines.set_filter(parse(r"re:^(a|aa|a?a)+$"))
    lines.work()
    ring.append(line(2, "a" * 50 + "!"))
    ring.append(line(3, "a"))
    lines.take({KEY: ring})
    while lines.work():
        pass
    assert [one.seq for one in lines.rows] == [1, 3]
    assert lines.undecided == 1


def test_a_line_beyond_the_limit_does_not_match_a_pattern_but_a_text() -> None:
    long = line(1, "x" * (MAX_SUBJECT + 1))
    pattern, text = parse("re:x"), parse("X")
    assert pattern is not None
    assert text is not None
    with pytest.raises(Undecided):
        pattern.matches(long)
    assert text.matches(long)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("re:(", "missing \\) at character 2"),
        ("re:*", "nothing to repeat"),
        ("x" * (MAX_PATTERN + 1), "longer than 1000 characters"),
        ("re:" + "(" * 900, "missing|too complicated"),
    ],
)
def test_a_wrong_filter_says_what_is_wrong(text: str, told: str) -> None:
    with pytest.raises(FilterError, match=told):
        parse(text)


@pytest.mark.parametrize("text", ["", "re:"])
def test_nothing_typed_is_no_filter(text: str) -> None:
    assert parse(text) is None
