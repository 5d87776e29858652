"""The budget of a session, as the person writes and reads it: `400k tokens, 30 requests`."""

import re

from tapui.wire.subjects import Budget

HINT = "Such as 400k tokens, 30 requests; none for no budget."
_PART = re.compile(
    r"(\d[\d,_]*(?:\.\d+)?)\s*([kKmM]?)\s*(tokens?|(?:premium )?requests?|premium)?\Z"
)
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}
_MOST = 2**53


class BudgetError(ValueError):
    """What was written is no budget; the text says what is."""


def read_budget(text: str) -> Budget:
    """Return the budget that is meant; one without bounds for `none`. Raises `BudgetError`."""
    said = text.strip()
    if said.lower() in ("none", "no", "0"):
        return Budget()
    tokens: int | None = None
    requests: float | None = None
    for part in re.split(r",\s+|\s+and\s+|;", said):
        found = _PART.match(part.strip())
        if found is None:
            raise BudgetError(f"“{part.strip()}” is no budget. {HINT}")
        amount = float(re.sub("[,_]", "", found[1])) * _TIMES[found[2].lower()]
        if not 0 < amount <= _MOST:
            raise BudgetError(f"“{part.strip()}” must be above 0. {HINT}")
        if found[3] is None or found[3].startswith("token"):
            tokens = max(int(amount), 1)
        else:
            requests = amount
    return Budget(tokens, requests)


def budget_words(budget: Budget | None) -> str:
    """Return a budget as it can be written; `none` where there is none."""
    said = []
    if budget is not None and budget.tokens is not None:
        said.append(f"{budget.tokens:,} tokens")
    if budget is not None and budget.requests is not None:
        said.append(f"{budget.requests:g} requests")
    return ", ".join(said) or "none"
