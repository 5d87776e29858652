"""JSON values as text to be read: no quotes, no escapes, names before what they name."""

import msgspec

_DEEPEST = 40
"""Levels that are set out; what is deeper is one line of JSON."""


def readable(found: object) -> str:
    """Return a JSON value as text: `name: value` lines, `- ` before the items of a list, what is
    inside another value set in by two blanks. Nothing here is made safe yet."""
    return "\n".join(_lines(found, 0))


def _lines(found: object, depth: int) -> list[str]:
    if isinstance(found, str):
        return found.split("\n")
    if depth < _DEEPEST and isinstance(found, dict) and found:
        return [
            line
            for name, inner in found.items()
            for line in _named(f"{' '.join(str(name).split())}:", inner, depth)
        ]
    if depth < _DEEPEST and isinstance(found, list) and found:
        return [line for inner in found for line in _item(inner, depth)]
    return [msgspec.json.encode(found).decode("utf-8", "replace")]


def _named(name: str, inner: object, depth: int) -> list[str]:
    lines = _lines(inner, depth + 1)
    if len(lines) == 1 and not (isinstance(inner, dict | list) and inner):
        return [f"{name} {lines[0]}"]
    return [name, *(f"  {line}" for line in lines)]


def _item(inner: object, depth: int) -> list[str]:
    first, *rest = _lines(inner, depth + 1)
    return [f"- {first}", *(f"  {line}" for line in rest)]
