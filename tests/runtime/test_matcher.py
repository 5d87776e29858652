"""Patterns from outside: what is none has a typed error."""

import pytest

from tapui.core.hooks.matching import PatternError
from tapui.runtime.system import RegexMatcher


@pytest.mark.parametrize(
    ("pattern", "ignore_case"), [("(?u)(?a)x", False), ("(?L)(?u)x", False), ("(?u)x", True)]
)
def test_flags_that_contradict_are_a_bad_pattern(pattern: str, ignore_case: bool) -> None:
    with pytest.raises(PatternError, match=r"bad pattern: .* incompatible"):
        RegexMatcher(ignore_case=ignore_case).compile(pattern)


def test_case_counts_unless_it_is_to_be_ignored() -> None:
    for ignore_case in (False, True):
        pattern = RegexMatcher(ignore_case=ignore_case).compile(r"warn\d")
        assert pattern.found_in("a WARN3") is ignore_case
        assert pattern.found_in("a warn3") is True
        assert pattern.found_in("a warn٣") is not ignore_case
