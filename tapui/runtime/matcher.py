"""The regex engine with a time limit per match: `regex`, 1 ms of the thread's own time."""

from functools import lru_cache
from typing import TYPE_CHECKING

from tapui.core.hooks.javascript import original_position, translated
from tapui.core.hooks.matching import PatternError
from tapui.match_time import found, replaced
from tapui.wire.limits import MATCH_TIMEOUT

if TYPE_CHECKING:
    import regex


class RegexPattern:
    """A compiled pattern of the `regex` library."""

    __slots__ = ("_compiled", "search")

    def __init__(self, compiled: "regex.Pattern[str]") -> None:
        self._compiled = compiled
        self.search = compiled.search
        """The engine's own search, without a time limit: for who limits many searches together."""

    def found_in(self, subject: str) -> bool | None:
        """Return whether it matches anywhere; None when 1 ms was not enough."""
        return found(self._compiled, subject, MATCH_TIMEOUT)

    def replaced(self, text: str, by: str) -> tuple[str, int] | None:
        """Return the text with `by` for each match, and how many; None when 1 ms was not enough."""
        return replaced(self._compiled, by, text, MATCH_TIMEOUT)


class RegexMatcher:
    """Compiles patterns; equal ones once.

    With `ignore_case`, letters match in either case, and classes such as `\\w` are ASCII: so are
    the patterns of emitters meant.
    """

    def __init__(self, *, ignore_case: bool = False) -> None:
        self._ignore_case = ignore_case

    def compile(self, pattern: str) -> RegexPattern:
        """Compile; raises `PatternError` with the position of the fault."""
        return _compile(pattern, self._ignore_case)


@lru_cache(maxsize=256)
def _compile(pattern: str, ignore_case: bool) -> RegexPattern:
    import regex  # with the first pattern: most gateways never see one

    changed, places = translated(pattern)
    flags = regex.IGNORECASE | regex.ASCII if ignore_case else 0
    try:
        return RegexPattern(regex.compile(changed, flags))
    except regex.error as error:
        where = "" if error.pos is None else f" at position {original_position(error.pos, places)}"
        raise PatternError(f"bad pattern: {error.msg}{where}") from None
    except ValueError as error:  # flags that exclude each other
        raise PatternError(f"bad pattern: {error}") from None
    except (RecursionError, OverflowError):
        raise PatternError("bad pattern: too complex") from None
