"""Text from outside, made safe for a screen, a log or a prompt listing."""

import re
import unicodedata

NAME_LENGTH = 64
"""Names and labels are cut at this many characters."""

_MAX_MARKS = 2
_ESCAPED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_PLAIN = re.compile(r"[ -~]*\Z")


def _visible(char: str) -> str:
    point = ord(char)
    if point <= 0xFF:
        return f"\\x{point:02x}"
    if point <= 0xFFFF:
        return f"\\u{point:04x}"
    return f"\\U{point:08x}"


def safe_text(text: str, *, limit: int | None = None, newlines: bool = False) -> str:
    """Return `text` with everything a terminal could act on turned into visible escapes.

    Control, format, surrogate, private and unassigned characters and the line and paragraph
    separators become `\\xNN`, `\\uNNNN` or `\\UNNNNNNNN`; at most two combining marks follow a
    character, further ones are escaped. With `newlines`, a line feed is kept as it is. With
    `limit`, the result is at most that many characters long and ends in `…` where it was cut.
    """
    if limit is not None and len(text) > limit:
        # Escapes only lengthen text, so what lies beyond the limit is never shown.
        text, cut = text[:limit], True
    else:
        cut = False
    if not _PLAIN.match(text):
        text = _escape(text, newlines=newlines)
    if limit is not None and (cut or len(text) > limit):
        return text[: max(limit - 1, 0)] + "…"
    return text


def _escape(text: str, *, newlines: bool) -> str:
    out: list[str] = []
    marks = 0
    for char in text:
        category = unicodedata.category(char)
        if category in {"Mn", "Me", "Mc"}:
            marks += 1
            out.append(char if marks <= _MAX_MARKS else _visible(char))
            continue
        marks = 0
        if category in _ESCAPED_CATEGORIES and not (newlines and char == "\n"):
            out.append(_visible(char))
        else:
            out.append(char)
    return "".join(out)


def safe_name(text: str) -> str:
    """Return a name or label for the screen: `safe_text`, cut at 64 characters."""
    return safe_text(text, limit=NAME_LENGTH)
