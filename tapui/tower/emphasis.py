"""Parts of a text that stand out, such as what was looked for, without markup."""

from collections.abc import Iterator

from tapui.text import safe_text
from tapui.tower.columns import Marks


def emphasis(text: str, marks: Marks) -> tuple[str, Marks]:
    """Return a text made safe, and where its marked parts are in that.

    Where a text cannot be made safe part by part, nothing of it is marked.
    """
    safe = safe_text(text)
    if safe == text:
        return safe, marks
    parts: list[str] = []
    moved: list[tuple[int, int]] = []
    at = 0
    for part, is_mark in split(text, marks):
        shown = safe_text(part)
        parts.append(shown)
        if is_mark:
            moved.append((at, at + len(shown)))
        at += len(shown)
    return safe, tuple(moved) if "".join(parts) == safe else ()


def split(text: str, marks: Marks) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text, each with whether it is marked; marks beyond its end are cut."""
    at = 0
    for start, end in marks:
        if not at <= start < len(text):
            continue
        if at < start:
            yield text[at:start], False
        yield text[start:end], True
        at = end
    if at < len(text):
        yield text[at:], False
