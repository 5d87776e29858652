"""Tokens in memory."""

import hmac


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
