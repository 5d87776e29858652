"""Which lines or rows to show: a text, or a regular expression that cannot hang the screen."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tapui.match_time import found
from tapui.wire.limits import MATCH_TIMEOUT, MAX_PATTERN, MAX_SUBJECT
from tapui.wire.message import Line

if TYPE_CHECKING:
    import regex

REGEX_PREFIX = "re:"


class FilterError(ValueError):
    """A filter that cannot be used; the text says why and, in a pattern, where."""


class Undecided(Exception):  # noqa: N818 - not an error: the line is counted and not shown
    """The text is too long for a regular expression, or `is_slow`: matching it took too long."""

    def __init__(self, *, is_slow: bool) -> None:
        super().__init__("the line took too long to match" if is_slow else "the line is too long")
        self.is_slow = is_slow


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter as the person typed it; `needle` or `pattern` is what it looks for."""

    text: str
    needle: str = ""
    pattern: "regex.Pattern[str] | None" = field(default=None, repr=False, compare=False)

    def matches(self, line: Line) -> bool:
        """Return whether the line is shown. Raises Undecided where a pattern cannot tell."""
        return self.finds(line.event)

    def finds(self, text: str) -> bool:
        """Return whether it is in a text. Raises Undecided where a pattern cannot tell."""
        if self.pattern is None:
            return self.needle in text.casefold()
        if len(text) > MAX_SUBJECT:
            raise Undecided(is_slow=False)
        is_found = found(self.pattern, text, MATCH_TIMEOUT)
        if is_found is None:
            raise Undecided(is_slow=True)
        return is_found


def exactly(first: str) -> Filter:
    """Return a filter for rows whose first cell is this text, and no longer one."""
    import regex

    return Filter(first, pattern=regex.compile(f"^{regex.escape(first)}(  |$)"))


def parse(text: str) -> Filter | None:
    """Return the filter that `text` asks for, None for none.

    `re:…` is a regular expression; anything else is looked for as it is, in upper or lower case.
    Raises FilterError for a pattern that is wrong or too long.
    """
    if len(text) > MAX_PATTERN:
        raise FilterError(f"longer than {MAX_PATTERN} characters: shorten it")
    if not text.startswith(REGEX_PREFIX):
        return Filter(text, needle=text.casefold()) if text else None
    source = text.removeprefix(REGEX_PREFIX)
    if not source:
        return None
    import regex  # the tower's first frame does not wait for it

    try:
        return Filter(text, pattern=regex.compile(source))
    except regex.error as error:
        where = "" if error.pos is None else f" at character {error.pos + 1}"
        raise FilterError(f"{error.msg}{where}") from error
    except (RecursionError, OverflowError, MemoryError) as error:
        raise FilterError("too complicated: simplify it") from error
