"""The fuzzer of rules finds nothing, and would find each hole that was closed."""

import re

import pytest

from tapui.policies import commands, leads, programs, rules
from tests.policies.fuzz import fuzz

pytestmark = pytest.mark.machine  # bash runs what is allowed

QUICK = ["git fetch", "git grep", "git merge", "sort", "uniq", "make", "tar", "find", "test"]


def test_what_is_allowed_runs_and_writes_nothing_else() -> None:
    found = fuzz(500, 1, [*QUICK, "echo", "cat docs/*", "tail docs/*", "diff docs/*"])
    assert found.judged == 500
    assert found.ran > 50
    assert not found.faults


@pytest.mark.parametrize(
    ("rule", "most", "what"),
    [
        ("git fetch", 60, "ran"),
        ("sort", 60, "ran|made"),
        ("uniq", 60, "made"),
        ("test", 300, "ran"),
        ("tar", 60, "ran"),
    ],
)
def test_without_the_tables_of_options_it_finds_what_runs(
    monkeypatch: pytest.MonkeyPatch, rule: str, most: int, what: str
) -> None:
    monkeypatch.setattr(programs, "unknown_option", lambda *_: "")
    commands.parsed.cache_clear()
    faults = fuzz(most, 1, [rule]).faults
    assert any(re.search(f": (?:{what})", one) for one in faults)


def test_with_stars_that_climb_it_finds_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "_leaves", lambda *_: False)
    assert any(": read" in one for one in fuzz(250, 1, ["cat docs/*"]).faults)


@pytest.mark.parametrize("rule", ["tail docs/*", "diff docs/*"])
def test_with_other_operands_it_finds_what_is_read(
    monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    assert not fuzz(150, 1, [rule]).faults
    monkeypatch.setattr(leads, "stray", lambda *_, **__: "")
    assert any(": read" in one for one in fuzz(150, 1, [rule]).faults)


def test_with_other_descriptors_it_finds_what_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "DESCRIPTOR", re.compile(".*"))
    commands.parsed.cache_clear()
    found = fuzz(300, 1, ["echo"])
    commands.parsed.cache_clear()
    assert any(": made" in one for one in found.faults)
