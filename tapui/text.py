"""Text from outside, made safe for a screen, a log or a prompt listing."""

import json
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

_T = TypeVar("_T")

NAME_LENGTH = 64
"""Names and labels are cut at this many characters."""
MOST_LISTED = 20
"""Things of which people read a line each, where nothing is to be decided about them."""

_MAX_MARKS = 2
_ODD = re.compile(r"[^ -~\n]")
_ESCAPED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_PLAIN = re.compile(r"[ -~]*\Z")
_INVISIBLE = frozenset(
    chr(point)
    for first, last in (
        # Default_Ignorable_Code_Point; its format and unassigned characters are escaped anyway.
        (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x3164, 0x3164),
        (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xE0100, 0xE01EF),
        # Letters and signs without ink that the property leaves out, and marks that only join.
        (0x2800, 0x2800), (0x1D159, 0x1D159), (0x13441, 0x13442), (0x16FE4, 0x16FE4),
        (0x2D7F, 0x2D7F), (0x1107F, 0x1107F),
    )
    for point in range(first, last + 1)
)  # fmt: skip
"""Characters of other categories that leave no ink."""
_SYLLABLE_PARTS = re.compile(r"[\u1161-\u11ff\ud7b0-\ud7ff]")
"""Vowels and ends of a Hangul syllable: without its beginning they have no width of their own."""
_HANGUL = re.compile(r"[\u1100-\u115e\u1161-\u11ff\ua960-\ua97c\uac00-\ud7ff]")
_KEYCAPS = frozenset("#*0123456789©®‼⁉ℹ↔")  # noqa: RUF001 - these are the signs that are meant
_SELECTORS = frozenset("\ufe0e\ufe0f")
"""What has an emoji shown in colour or as text."""
MOST_BLANKS = 16
"""Blanks in a row that are shown as they are where something is to be decided on."""
_MOST_INDENT = 40
"""The same at the beginning of a line, also behind the sign of a diff."""
_MOST_EMPTY = 8
"""Empty lines in a row that are shown as they are there."""
_RUN = re.compile(rf"[^\S\r\n]{{{MOST_BLANKS + 1},}}")
_EMPTY_LINES = re.compile(rf"\n(?:[^\S\n]*\n){{{_MOST_EMPTY + 1},}}")


def _visible(char: str) -> str:
    point = ord(char)
    if point <= 0xFF:
        return f"\\x{point:02x}"
    if point <= 0xFFFF:
        return f"\\u{point:04x}"
    return f"\\U{point:08x}"


def safe_text(text: str, *, limit: int | None = None, newlines: bool = False) -> str:
    """Return `text` with everything a terminal could act on turned into visible escapes.

    Control, format, surrogate, private and unassigned characters, the line and paragraph
    separators and letters without ink become `\\xNN`, `\\uNNNN` or `\\UNNNNNNNN`; at most two
    combining marks follow a character, further ones are escaped. The selector of an emoji's look
    stays behind an emoji, and the parts of a Hangul syllable behind its beginning. Blanks
    other than the space become one; with `newlines` they are kept, as is a line feed. With `limit`,
    the result is at most that many characters long and ends in `…` where it was cut.
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


def cut(text: str, most: int) -> str:
    """Return a text of at most `most` characters, ending in `…` where it was cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _escape(text: str, *, newlines: bool) -> str:
    out: list[str] = []
    marks = 0
    for char in text:
        category = unicodedata.category(char)
        is_part = _SYLLABLE_PARTS.match(char) is not None
        if char in _INVISIBLE and not (char in _SELECTORS and _is_emoji(out[-1:])):
            out.append(_visible(char))
            continue
        if category in {"Mn", "Me", "Mc"} or (is_part and _is_hangul(out[-1:])):
            marks += 1
            out.append(char if marks <= _MAX_MARKS else _visible(char))
            continue
        marks = 0
        if (is_part or category in _ESCAPED_CATEGORIES) and not (newlines and char == "\n"):
            out.append(_visible(char))
        elif category == "Zs" and not newlines:
            out.append(" ")
        else:
            out.append(char)
    return "".join(out)


def _is_hangul(before: list[str]) -> bool:
    return bool(before) and _HANGUL.match(before[0]) is not None


def _is_emoji(before: list[str]) -> bool:
    """Return whether this is a sign that an emoji's selector may follow."""
    return bool(before) and (unicodedata.category(before[0][-1]) == "So" or before[0] in _KEYCAPS)


def is_invisible(char: str) -> bool:
    """Return whether a character has no ink: also blanks other than the space, and controls."""
    return char != " " and (
        char in _INVISIBLE or unicodedata.category(char) in _ESCAPED_CATEGORIES or char.isspace()
    )


def revealed(text: str, *, newlines: bool = False) -> str:
    """Return `safe_text` of something that is to be decided on: it shows all that is in the text.

    Every character without ink is escaped, emoji's selectors and other blanks than the space too.
    Of a long run of blanks, and of empty lines, their number is shown: they cannot push the rest
    out of sight.
    """
    if _PLAIN.match(text) and _RUN.search(text) is None:
        return text
    if newlines:
        text = _EMPTY_LINES.sub(
            lambda run: f"\n⟨{run[0].count(chr(10)) - 1:,} empty lines⟩\n", text
        )
    text = _RUN.sub(_counted, text)
    shown = (
        _visible(char) if is_invisible(char) and not (newlines and char == "\n") else char
        for char in text
    )
    return safe_text("".join(shown), newlines=newlines)


def _counted(run: re.Match[str]) -> str:
    count = run.end() - run.start()
    before = run.string.rfind("\n", 0, run.start()) + 1
    is_indent = run.start() - before <= 2 and not set(run[0]) - {" "}
    return run[0] if is_indent and count <= _MOST_INDENT else f"⟨{count:,} blanks⟩"


def few(items: Sequence[_T], *, most: int = MOST_LISTED) -> tuple[Sequence[_T], list[str]]:
    """Return the first of many things, and what is said of the others: `and 280 more`, or none."""
    rest = len(items) - most
    return items[:most], [f"and {rest:,} more"] if rest > 0 else []


def safe_name(text: str) -> str:
    """Return a name or label for the screen: `safe_text`, cut at 64 characters."""
    return safe_text(text, limit=NAME_LENGTH)


def json_text(value: object, *, indent: int | None = None) -> str:
    """Return a decoded JSON value as JSON in which a screen shows every character itself.

    On one line unless `indent` is given. Raises `ValueError` or `RecursionError` for a value that
    is no JSON (a lone surrogate is escaped, not refused).
    """
    separators = (", ", ": ") if indent is None else (",", ": ")
    return escaped(
        json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, separators=separators)
    )


def escaped(text: str) -> str:
    """Return a JSON text, whole or not, with what a screen would not show itself as `\\uXXXX`.

    Line feeds stay, a tab becomes two blanks: outside of strings, JSON does not tell them apart.
    """
    text = text.replace("\r\n", "\n").replace("\t", "  ")
    if safe_text(text, newlines=True) == text:
        return text
    return _ODD.sub(lambda found: _shown(found[0]), text)


@lru_cache(maxsize=4096)
def _shown(char: str) -> str:
    return char if safe_text(f"a{char * 3}") == f"a{char * 3}" else _code(char)


def _code(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
