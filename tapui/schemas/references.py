"""References in a schema: their targets, and whether one leads out of it."""

from collections.abc import Iterator
from typing import Any

_KEYWORDS = ("$ref", "$dynamicRef", "$recursiveRef")


def references(schema: Any) -> Iterator[str]:
    """Yield the target of every reference in a decoded schema, `#…` for one inside of it."""
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            for key, inner in value.items():
                if key in _KEYWORDS and isinstance(inner, str):
                    yield inner
                else:
                    waiting.append(inner)
        elif isinstance(value, list):
            waiting.extend(value)


def remote_reference(schema: Any) -> str | None:
    """Return the first reference that leads out of a decoded schema, None where there is none."""
    return next((target for target in references(schema) if not target.startswith("#")), None)
