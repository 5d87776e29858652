"""Tokens in memory, and texts that were cut where one may stand.

Records are masked by what a secret looks like (`records/masking.py`), and the half of one no longer
looks like it: so what is kept of a text that was cut leaves out the words at its cut.
"""

import hmac
import re

_WORD = r"[A-Za-z0-9_.~+/=-]"
_BEGUN = re.compile(rf"{_WORD}+\Z")
_LONGEST_BEGUN = 64
"""Characters of a word at a text's end that are left out. Of every known form that is enough to be
known as one; longer words, such as paths, stay."""
_REST = re.compile(rf"{_WORD}*(?:[^A-Za-z0-9_.~+/=\n⏎-]{{1,16}}{_WORD}*){{0,3}}")
"""The rest of a word and the next three of the same line (`⏎` is a line's end in a summary): it may
be that of `Authorization`, say, by which the secret behind it is known."""


def without_begun(kept: str) -> str:
    """Return the beginning of a text that was cut behind it, without the word at the cut."""
    begun = _BEGUN.search(kept[-_LONGEST_BEGUN - 1 :])
    if begun is None or len(begun[0]) > _LONGEST_BEGUN:
        return kept
    return kept[: len(kept) - len(begun[0])]


def without_rest(kept: str) -> str:
    """Return the end of a text that was cut before it, without the words at the cut."""
    return _REST.sub("", kept, count=1)


class Secret:
    """A token whose text never shows in a repr, a log or a traceback."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "Secret(…)"

    __str__ = __repr__

    def matches(self, candidate: str) -> bool:
        """Compare in constant time."""
        return hmac.compare_digest(self._text.encode(), candidate.encode("utf-8", "replace"))

    def is_same(self, other: "Secret") -> bool:
        return other.matches(self._text)

    def reveal(self) -> str:
        """Return the text, for the one place that must have it."""
        return self._text
