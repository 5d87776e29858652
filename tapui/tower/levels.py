"""How the levels of a stream's lines look, and which lines tell of a failure."""

import re

from tapui.tower.marks import Mark
from tapui.wire.message import Level, Line

LEVEL: dict[str, Mark] = {
    "keep": Mark("·", "keep", "muted"),
    "surface": Mark("▲", "surface", "strong"),
    "inject": Mark("◆", "inject", "accent"),
}
"""Glyph, word and tone of each level."""

SHOWN_LEVELS: tuple[tuple[str, frozenset[Level]], ...] = (
    ("all levels", frozenset(("keep", "surface", "inject"))),
    ("surface and inject", frozenset(("surface", "inject"))),
    ("inject", frozenset(("inject",))),
)
"""What one key goes through, with its words."""

LOOKED_AT = 2000
"""Characters of a line that are looked at for a failure."""
_FAILURE = re.compile(
    r"\b(?:failed|failure|fatal|panic(?:ked)?|traceback|exception|errors?|crashed)\b", re.IGNORECASE
)
_NO_FAILURE = re.compile(
    r"\b(?:0|no|without|zero)\s+(?:\w+\s+)?(?:failed|failures?|errors?|exceptions?)\b"
    r"|\b(?:failed|failures?|errors?)\s*[:=]\s*0\b",
    re.IGNORECASE,
)


def tells_failure(line: Line) -> bool:
    """Return whether a line's text says that something failed.

    A line has no field for it: words such as *failed*, *error* or *fatal* decide, unless they are
    counted with zero (`0 failed`, `no errors`, `errors: 0`).
    """
    text = line.event[:LOOKED_AT]
    lower = text.lower()
    # Most lines have none of the words, which the expression takes far longer to find out.
    if not (
        "fail" in lower
        or "error" in lower
        or "exception" in lower
        or "fatal" in lower
        or "panic" in lower
        or "traceback" in lower
        or "crashed" in lower
    ):
        return False
    if _FAILURE.search(text) is None:
        return False
    return _FAILURE.search(_NO_FAILURE.sub("", text)) is not None


def stands_out(line: Line) -> bool:
    """Return whether a line was sent to the agent or tells of a failure."""
    return line.level == "inject" or tells_failure(line)
