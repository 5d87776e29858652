"""What models used, as hosts tell it: read from events, and added up."""

from collections.abc import Iterable, Mapping
from typing import Any

from tapui.wire import limits
from tapui.wire.turns import ModelUsage, Usage

OTHER = ""
"""The name under which models beyond `limits.MAX_USED_MODELS` are counted together, and those that
were not named."""
_MOST = 2**53

Used = dict[str, Usage]
"""What was used, by model."""


def usage_of(data: Mapping[str, Any]) -> Usage:
    """Return what one answer of a model used: the data of `assistant.usage`, or of one model in
    `session.usage`. What is no number of tokens counts as none."""
    calls = data.get("calls")
    return Usage(
        count(data.get("inputTokens")),
        count(data.get("outputTokens")),
        amount(data.get("cost")),
        amount(data.get("requests")),
        count(data.get("cacheReadTokens")),
        count(data.get("cacheWriteTokens")),
        amount(data.get("credits")),
        1 if calls is None else count(calls),
    )


def model_of(data: Mapping[str, Any]) -> str:
    model = data.get("model")
    return model[: limits.MAX_ID] if isinstance(model, str) else OTHER


def totals_of(data: Mapping[str, Any]) -> Used | None:
    """Return what a session's models used since its beginning: the data of `session.usage`.

    None where the data does not say it.
    """
    models = data.get("models")
    if not isinstance(models, list):
        return None
    used: Used = {}
    for one in models:
        if isinstance(one, Mapping):
            add_to(used, model_of(one), usage_of(one))
    return used


def add_to(used: Used, model: str, usage: Usage) -> None:
    """Add what a model used; there are never more than `limits.MAX_USED_MODELS` names."""
    if model not in used and len(used) >= limits.MAX_USED_MODELS:
        model = OTHER
        if OTHER not in used:
            first = next(iter(used))
            usage = added(used.pop(first), usage)
    known = used.get(model)
    used[model] = usage if known is None else added(known, usage)


def total(usages: Iterable[Usage]) -> Usage:
    found = Usage()
    for one in usages:
        found = added(found, one)
    return found


def added(one: Usage, other: Usage) -> Usage:
    return Usage(
        min(one.input + other.input, _MOST),
        min(one.output + other.output, _MOST),
        _sum(one.cost, other.cost),
        _sum(one.requests, other.requests),
        min(one.cache_read + other.cache_read, _MOST),
        min(one.cache_write + other.cache_write, _MOST),
        _sum(one.credits, other.credits),
        min(one.calls + other.calls, _MOST),
    )


def less(one: Usage, other: Usage) -> Usage:
    """Return what `one` used beyond `other`; never less than nothing."""
    return Usage(
        max(one.input - other.input, 0),
        max(one.output - other.output, 0),
        _less(one.cost, other.cost),
        _less(one.requests, other.requests),
        max(one.cache_read - other.cache_read, 0),
        max(one.cache_write - other.cache_write, 0),
        _less(one.credits, other.credits),
        max(one.calls - other.calls, 0),
    )


def tokens(usage: Usage) -> int:
    """Return the tokens that were read and written. What came from a cache was read, too."""
    return usage.input + usage.output


def told(used: Used) -> list[ModelUsage]:
    return [ModelUsage(model, usage) for model, usage in used.items()]


def used_of(models: Iterable[ModelUsage]) -> Used:
    return {one.model: one.usage for one in models}


def bounded(usage: Usage) -> Usage:
    """Return a usage of others within its bounds."""
    return Usage(
        count(usage.input),
        count(usage.output),
        amount(usage.cost),
        amount(usage.requests),
        count(usage.cache_read),
        count(usage.cache_write),
        amount(usage.credits),
        count(usage.calls),
    )


def count(value: Any) -> int:
    """Return a number of things; what is none, or below zero, is 0."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(min(value, _MOST)) if is_number and value >= 0 else 0


def amount(value: Any) -> float | None:
    """Return an amount that is zero or more; None for what is none."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(min(value, _MOST)) if is_number and value >= 0 else None


def _sum(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one + other, float(_MOST))


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None else max(one - (other or 0.0), 0.0)
