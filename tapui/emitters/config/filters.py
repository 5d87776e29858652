"""Filters in all their forms, as a list of rules."""

from collections.abc import Sequence
from typing import Any, get_args

from tapui.core.hooks.matching import PatternError
from tapui.emitters.config.bounds import MAX_PATTERN_CHARACTERS
from tapui.emitters.config.fields import Fields
from tapui.emitters.config.problems import quoted
from tapui.runtime.system import RegexMatcher
from tapui.wire import limits
from tapui.wire.emitters import Ownership, Rules
from tapui.wire.provider import FilterRule

FILTER_KEYS = ("eventFilter", "classifier")
"""The documented key of a filter, and the old one."""
PATTERN_KEYS = ("includePattern", "excludePattern", "notifyPattern")
FLAT_KEYS = ("rules", *PATTERN_KEYS)
"""What a filter as an object has, and an emitter itself may have."""
_OUTCOMES = get_args(FilterRule.__annotations__["outcome"])
_LEAST_COUNTED = 32

Filter = tuple[tuple[FilterRule, ...], Ownership]
"""The rules in their order, and who may change them."""


class PatternCheck:
    """Checks patterns with the interface's engine, and how many characters they have together."""

    def __init__(self) -> None:
        self._left = MAX_PATTERN_CHARACTERS
        self._matcher = RegexMatcher(ignore_case=True)

    def fault(self, pattern: str) -> str | None:
        """Return why a pattern cannot be used, None where it can."""
        if len(pattern) > limits.MAX_PATTERN:
            return f"a pattern has at most {limits.MAX_PATTERN:,} characters"
        self._left -= max(len(pattern), _LEAST_COUNTED)
        if self._left < 0:
            return f"all patterns together have at most {MAX_PATTERN_CHARACTERS:,} characters"
        try:
            self._matcher.compile(pattern)
        except PatternError as error:
            return str(error)
        return None


def filter_of(entry: Fields, patterns: PatternCheck) -> Filter:
    """Return an emitter's filter: `eventFilter` before `classifier` before its own keys.

    Raises `EntryRefusedError` for a rule that cannot be used.
    """
    flat = {name: entry.value(name) for name in FLAT_KEYS}
    is_flat = any(value is not None for value in flat.values())
    key = entry.key(*FILTER_KEYS)
    if key is None:
        return _of_object(Fields(flat, entry.path, entry.problems), patterns, "userOwned")
    if is_flat:
        name = next(name for name, value in flat.items() if value is not None)
        entry.warn(name, f"not used: {key} goes first")
    given = entry.values[key]
    path = (*entry.path, key)
    if isinstance(given, list):
        return _rules(Fields({key: given}, entry.path, entry.problems), key, patterns), "userOwned"
    if isinstance(given, dict):
        inner = Fields(given, path, entry.problems)
        found = _of_object(inner, patterns, inner.ownership("userOwned"))
        inner.tell_unknown()
        return found
    raise entry.refuse(key, "a filter is a list of rules: [{match, outcome}]")


def _of_object(given: Fields, patterns: PatternCheck, owner: Ownership) -> Filter:
    three = {name: _pattern(given, name, patterns) for name in PATTERN_KEYS}
    if given.key("rules") is None:
        return _of_patterns(three), owner
    if other := next((name for name, value in three.items() if value is not None), None):
        given.warn(other, "not used: rules go first")
    return _rules(given, "rules", patterns), owner


def _pattern(given: Fields, name: str, patterns: PatternCheck) -> str | None:
    value = given.text(name, most=limits.MAX_PATTERN, what="a pattern")
    if value is not None and (fault := patterns.fault(value)):
        raise given.refuse(name, fault)
    return value


def _of_patterns(three: dict[str, str | None]) -> tuple[FilterRule, ...]:
    """Return three patterns as rules: with an include, all that it does not match is dropped."""
    found = []
    if (exclude := three["excludePattern"]) is not None:
        found.append(FilterRule(exclude, "drop"))
    if (notify := three["notifyPattern"]) is not None:
        found.append(FilterRule(notify, "inject"))
    if (include := three["includePattern"]) is not None:
        found += [FilterRule(include, "keep"), FilterRule(".*", "drop")]
    return tuple(found)


def patterns_of(rules: Sequence[FilterRule]) -> dict[str, str | None] | None:
    """Return rules as the three patterns that they come from; None for rules of other forms."""
    found: dict[str, str | None] = dict.fromkeys(PATTERN_KEYS)
    for key, outcome in zip(PATTERN_KEYS, ("keep", "drop", "inject"), strict=True):
        found[key] = next((rule.match for rule in rules if rule.outcome == outcome), None)
        if outcome == "drop" and found[key] == ".*":
            found[key] = None  # what an include leaves over
    return found if _of_patterns(found) == tuple(rules) else None


def merged_patterns(rules: Sequence[FilterRule], given: dict[str, str | None]) -> Rules | None:
    """Return the rules of three patterns, of which those that are not given stay as they are in
    `rules`; None where these have another form."""
    former = patterns_of(rules)
    if former is None:
        return None
    return list(_of_patterns({key: given.get(key) or former[key] for key in PATTERN_KEYS}))


def _rules(given: Fields, key: str, patterns: PatternCheck) -> tuple[FilterRule, ...]:
    rules = given.values[key]
    if not isinstance(rules, list):
        raise given.refuse(key, "rules are a list of {match, outcome}")
    if len(rules) > limits.MAX_HOOK_RULES:
        raise given.refuse(key, f"a filter has at most {limits.MAX_HOOK_RULES} rules")
    place = (*given.path, key)
    found = [
        _rule(rule, Fields({}, place, given.problems), at, patterns)
        for at, rule in enumerate(rules)
    ]
    return tuple(rule for rule in found if rule is not None)


def _rule(rule: Any, place: Fields, at: int, patterns: PatternCheck) -> FilterRule | None:
    path = (*place.path, at)
    if not isinstance(rule, dict):
        raise Fields({}, path, place.problems).refuse(None, "a rule is {match, outcome}")
    given = Fields(rule, path, place.problems)
    outcome = given.value("outcome")
    if outcome not in _OUTCOMES:
        said = "has no outcome" if outcome is None else f"has the outcome {quoted(outcome)}"
        what = f"rule {at + 1} {said}: it is one of {', '.join(_OUTCOMES)}"
        raise given.refuse(None if outcome is None else "outcome", what)
    match = given.value("match")
    given.tell_unknown()
    if match is None:
        place.problems.warning(path, f"rule {at + 1} has no match: it never matches")
        return None
    if not isinstance(match, str):
        raise given.refuse("match", f"rule {at + 1}: a match is a text, not {quoted(match)}")
    if fault := patterns.fault(match):
        raise given.refuse("match", f"rule {at + 1}: {fault}")
    return FilterRule(match, outcome)
