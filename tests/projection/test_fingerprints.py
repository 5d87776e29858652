"""Fingerprints: diffs around a finding leave it known, and others are not taken for it."""

import random

import pytest

from tapui.core.reviews.known_findings import KnownFindings
from tapui.projection.fingerprints import fingerprint, is_same, normalised
from tapui.wire.criteria import Disposal
from tapui.wire.reviews import Finding

WORDS = ("cart", "price", "total", "round", "user", "order", "tax", "item", "query", "load")
PATH = "src/shop/cart.py"


def program(rng: random.Random) -> list[str]:
    """Return lines as programs have them: repeated ones, blank ones, indented ones."""
    lines = []
    for _ in range(rng.randint(40, 120)):
        kind = rng.random()
        indent = "    " * rng.randint(0, 3)
        name, other = rng.choice(WORDS), rng.choice(WORDS)
        if kind < 0.15:
            lines.append("")
        elif kind < 0.3:
            lines.append(f"{indent}return {name}")
        elif kind < 0.4:
            lines.append(f"{indent}pass")
        else:
            lines.append(
                f"{indent}{name}_{rng.randint(0, 99)} = {other}({name}, {rng.random():.2f})"
            )
    return lines


def replayed(rng: random.Random, lines: list[str], at: int) -> tuple[list[str], int, str]:
    """Return the lines after a diff as commits have them, where line `at` is then, and its path:
    hunks elsewhere and beside it, another indentation, a folder that was renamed."""
    made = list(lines)
    path = PATH
    for _ in range(rng.randint(1, 4)):
        where = rng.randrange(len(made) + 1)
        if rng.random() < 0.5:
            new = [f"added_{rng.randint(0, 999)} = {rng.choice(WORDS)}"] * rng.randint(1, 5)
            made[where:where] = new
            at += len(new) if where <= at else 0
        else:
            end = min(where + rng.randint(1, 3), len(made))
            if where <= at < end:
                continue  # the line itself is gone: then the finding is, too
            del made[where:end]
            at -= end - where if end <= at else 0
    if rng.random() < 0.25:  # a line directly above or below is another one
        beside = at + rng.choice((-1, 1))
        if 0 <= beside < len(made):
            made[beside] = "    changed = True"
    if rng.random() < 0.2:  # a block around it
        made = [f"    {line}" if line else line for line in made]
    if rng.random() < 0.2:
        path = PATH.replace("src/", rng.choice(("lib/", "packages/core/", "")))
    return made, at, path


def finding_at(rng: random.Random, lines: list[str]) -> int:
    return rng.choice([n for n, line in enumerate(lines) if normalised(line)])


def kept(count: int, seed: int) -> float:
    """Return which part of findings is known again after as many replayed diffs."""
    rng, same = random.Random(seed), 0
    for _ in range(count):
        lines = program(rng)
        at = finding_at(rng, lines)
        before = fingerprint("rule", "t", PATH, lines, at + 1)
        after, now, path = replayed(rng, lines, at)
        same += is_same(before, fingerprint("rule", "other words", path, after, now + 1))
    return same / count


@pytest.mark.parametrize("seed", range(5))
def test_of_200_replayed_diffs_95_percent_keep_the_fingerprint(seed: int) -> None:
    assert kept(200, seed) >= 0.95


def test_of_50_dismissed_none_comes_back_where_line_and_a_neighbour_are_there() -> None:
    rng = random.Random(7)
    known = KnownFindings(10_000)
    files = []
    for n in range(50):
        lines = program(rng)
        at = finding_at(rng, lines)
        print_ = fingerprint(f"rule-{n}", "t", PATH, lines, at + 1)
        known.put(Finding(f"f-{n}", print_, "t", "audit", disposed=Disposal("rejected", "you", "")))
        files.append((n, lines, at))
    back = 0
    for n, lines, at in files:
        # Any change elsewhere, and one neighbour at most.
        after = ["# a header", *lines[:at], lines[at], *lines[at + 1 :], "# a footer"]
        if n % 2 and at:
            after[at] = "# another neighbour"
        found = known.before(fingerprint(f"rule-{n}", "said anew", PATH, after, at + 2))
        back += found is None or found.disposed is None
    assert back == 0


def test_others_are_not_taken_for_it() -> None:
    lines = ["def a():", "    pass", "", "def b():", "    pass", "end"]
    first = fingerprint("r", "t", PATH, lines, 2)
    assert not is_same(first, fingerprint("r", "t", PATH, lines, 5))  # the same line elsewhere
    assert not is_same(first, fingerprint("q", "t", PATH, lines, 2))
    assert not is_same(first, fingerprint("r", "t", "src/other/file.py", lines, 2))
    assert not is_same(first, fingerprint("r", "t", PATH, ["def a():", "    go()"], 2))


def test_without_a_rule_its_title_counts_and_not_how_it_is_written() -> None:
    lines = ["a", "b", "c"]
    first = fingerprint("", "Uses eval!", PATH, lines, 2)
    assert is_same(first, fingerprint("", "uses `eval`", PATH, lines, 2))
    assert not is_same(first, fingerprint("", "has no test", PATH, lines, 2))


def test_without_its_line_a_finding_is_known_by_its_title() -> None:
    assert fingerprint("r", "Too long.", PATH) == fingerprint("r", "too long", PATH)
    assert fingerprint("r", "too long", PATH) != fingerprint("r", "has no test", PATH)


@pytest.mark.parametrize("first", [0, 1, 3, 99])
def test_a_line_that_is_not_there_does_not_stop_it(first: int) -> None:
    assert fingerprint("r", "t", PATH, ["", "  "], first).startswith("f1-")
    assert fingerprint("r", "t", PATH, (), first).startswith("f1-")


def test_of_too_many_the_oldest_is_forgotten() -> None:
    known = KnownFindings(3)
    for n in range(5):
        known.put(Finding(f"f-{n}", f"f1-{n}-x-y", "t", "audit"))
    assert list(known.by_id) == ["f-2", "f-3", "f-4"]
    assert known.before("f1-1-x-y") is None
    assert known.named("f1-4-x-y") is known.by_id["f-4"]
