"""What is said of streams and their lines, in words."""

from collections.abc import Callable

from tapui.wire.subjects import Stream

LEVEL_WORDS: dict[str, str] = {
    "keep": "kept",
    "surface": "shown to you",
    "inject": "sent to the agent",
}
"""What becomes of a stream's line."""
OUTCOME_WORDS: dict[str, str] = {"drop": "dropped", **LEVEL_WORDS}
"""What a filter makes of a line."""


def filter_rule_words(outcome: str, pattern: str) -> str:
    """Return a rule of a filter: the outcome in a column of its own, then the pattern."""
    return f"{OUTCOME_WORDS.get(outcome, outcome):<17}  {pattern}"


LAGS_FROM = 5.0
"""Seconds that a stream's newest line waited at its provider, from which on the stream lags."""
_LAGS_FOR = 10.0
"""Seconds. A provider's queue sends several lines a second: after so long without one it is empty,
and the stream is silent."""


def lag_words(stream: Stream, since: float | None, age: Callable[[float], str]) -> str:
    """Return how old a stream's newest line is while the stream lags: `newest line 4m old`; "" for
    one that does not. `since` are the seconds since it came, `age` puts seconds in words."""
    waited = stream.waited / 1000
    if since is None or waited < LAGS_FROM or since > _LAGS_FOR:
        return ""
    return f"newest line {age(waited + since)} old"
