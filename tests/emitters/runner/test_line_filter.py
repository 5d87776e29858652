"""Lines that are filtered together have the outcomes of lines that are filtered one by one."""

import signal
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapui.core.hooks.matching import PatternError
from tapui.core.streams.streams import filtered
from tapui.emitters.runner.line_filter import NO_RULE, LineFilter, SearchAlarm
from tapui.runtime.system import RegexMatcher
from tapui.wire.limits import MAX_HOOK_RULES, MAX_PATTERN
from tapui.wire.provider import FilterRule

# The filter has SIGALRM for itself, so the limit of a test cannot be that signal.
pytestmark = pytest.mark.timeout(method="thread")

CATASTROPHE = r"^(a|aa|a?a)+$"
SLOW = "a" * 60 + "!"
PATTERNS = [
    "",
    ".*",
    "warn|fail",
    r"^\s*$",
    r"\bERROR\b",
    r"behind=[1-9]",
    r"(\d+) of \1",
    "É",
    r"[^]",
    r"\w{3}$",
    "(?=x)y",
    "(?R)",
    "(?:abcd){e<=2}",
    "(?<=a+)!",
    CATASTROPHE,
]
WORDS = ["", "Warn", "error", "ERROR:", "behind=0", "behind=7", "3 of 3", "é", "É", "٣", "x", "\0"]


@pytest.fixture(scope="module")
def alarm() -> Iterator[SearchAlarm]:
    before = signal.getsignal(signal.SIGALRM)
    yield SearchAlarm()
    signal.signal(signal.SIGALRM, before)


def decided(lines: LineFilter, texts: list[str]) -> list[int]:
    found: list[int] = []
    while len(found) < len(texts):
        some = lines.decide(texts, len(found))
        assert some
        found += some
    return found


rules = st.lists(
    st.builds(
        FilterRule,
        st.sampled_from(PATTERNS),
        st.sampled_from(["drop", "keep", "surface", "inject"]),
    ),
    max_size=6,
)
texts = st.lists(
    st.one_of(
        st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
        st.just("a" * 20),
    ),
    max_size=300,
)


@settings(deadline=None, max_examples=60)
@given(rules=rules, texts=texts, slow=st.lists(st.integers(0, 300), max_size=3))
def test_together_and_one_by_one_are_the_same(
    alarm: SearchAlarm, rules: list[FilterRule], texts: list[str], slow: list[int]
) -> None:
    for at in slow:
        texts.insert(at, SLOW)
    together, apart = LineFilter(rules, alarm), LineFilter(rules, alarm)
    found = decided(together, texts)
    assert found == [apart.decide_one(text) for text in texts]
    assert together.timed_out == apart.timed_out
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    matcher = RegexMatcher(ignore_case=True)
    core = [(matcher.compile(rule.match), rule.outcome) for rule in rules]
    expected = [filtered(core, "keep", text)[0] for text in texts]
    assert [together.outcome(rule) for rule in found] == expected


def test_time_out_is_no_match_and_is_counted_by_its_rule(alarm: SearchAlarm) -> None:
    rules = [FilterRule("zzz", "drop"), FilterRule(CATASTROPHE, "drop"), FilterRule("!", "surface")]
    lines = LineFilter(rules, alarm)
    texts = ["x"] * 500 + [SLOW] + ["aaa"] * 500 + [SLOW]
    assert decided(lines, texts) == [NO_RULE] * 500 + [2] + [1] * 500 + [2]
    assert lines.timed_out == {1: 2}


def test_lines_that_are_all_slow_are_decided(alarm: SearchAlarm) -> None:
    lines = LineFilter([FilterRule(CATASTROPHE, "drop")], alarm)
    assert decided(lines, [SLOW] * 300) == [NO_RULE] * 300
    assert lines.timed_out == {0: 300}
    assert decided(lines, ["aaa"] * 1000) == [0] * 1000


def test_case_is_ignored_and_classes_are_ascii(alarm: SearchAlarm) -> None:
    lines = LineFilter([FilterRule(r"^warn\d\b", "drop")], alarm)
    assert decided(lines, ["WARN3", "warn٣", "Warn4 x"]) == [0, NO_RULE, 0]


def test_no_rules_keep_everything(alarm: SearchAlarm) -> None:
    lines = LineFilter([], alarm)
    assert {lines.outcome(rule) for rule in decided(lines, ["a"] * 1000)} == {"keep"}


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ([FilterRule("a", "keep"), FilterRule("a(", "keep")], "rule 1: bad pattern: .* position 2"),
        ([FilterRule("(?u)a", "keep")], "rule 0: bad pattern: .* incompatible"),
        ([FilterRule("a" * (MAX_PATTERN + 1), "keep")], "rule 0: a pattern has at most 1000"),
        ([FilterRule("a", "keep")] * (MAX_HOOK_RULES + 1), "at most 50 rules"),
    ],
)
def test_bad_rules_are_named(alarm: SearchAlarm, rules: list[FilterRule], words: str) -> None:
    with pytest.raises(PatternError, match=words):
        LineFilter(rules, alarm)
