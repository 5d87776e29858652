"""The regex engine with a time limit per match: `regex`, 1 ms."""

from functools import lru_cache
from typing import TYPE_CHECKING

from tapui.core.hooks.javascript import original_position, translated
from tapui.core.hooks.matching import PatternError
from tapui.wire.limits import MATCH_TIMEOUT

if TYPE_CHECKING:
    import regex


class RegexPattern:
    """A compiled pattern of the `regex` library."""

    __slots__ = ("_search", "_subn")

    def __init__(self, compiled: "regex.Pattern[str]") -> None:
        self._search = compiled.search
        self._subn = compiled.subn

    def found_in(self, subject: str) -> bool | None:
        """Return whether it matches anywhere; None when 1 ms was not enough."""
        try:
            return self._search(subject, timeout=MATCH_TIMEOUT) is not None
        except TimeoutError:
            return None

    def replaced(self, text: str, by: str) -> tuple[str, int] | None:
        """Return the text with `by` for each match, and how many; None when 1 ms was not enough."""
        try:
            made: tuple[str, int] = self._subn(lambda _match: by, text, timeout=MATCH_TIMEOUT)
        except TimeoutError:
            return None
        return made


class RegexMatcher:
    """Compiles patterns; equal ones once."""

    def compile(self, pattern: str) -> RegexPattern:
        """Compile; raises `PatternError` with the position of the fault."""
        return _compile(pattern)


@lru_cache(maxsize=256)
def _compile(pattern: str) -> RegexPattern:
    import regex  # with the first pattern: most gateways never see one

    changed, places = translated(pattern)
    try:
        return RegexPattern(regex.compile(changed))
    except regex.error as error:
        where = "" if error.pos is None else f" at position {original_position(error.pos, places)}"
        raise PatternError(f"bad pattern: {error.msg}{where}") from None
    except ValueError as error:  # flags that exclude each other
        raise PatternError(f"bad pattern: {error}") from None
    except (RecursionError, OverflowError):
        raise PatternError("bad pattern: too complex") from None
