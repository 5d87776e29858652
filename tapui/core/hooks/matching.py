"""What a provider wants of calls, prompts and streams, as data, and how its patterns are matched.

The regex engine is injected because its time limit needs a clock.
"""

import re
from dataclasses import dataclass, field
from fnmatch import translate
from typing import Literal, Protocol

import msgspec
from msgspec import Raw

from tapui.core.hooks.javascript import stringified
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.message import Level
from tapui.wire.provider import HookRule, Transform

_FILE_ARGUMENTS = ("path", "file_path", "filePath", "file")


class PatternError(Exception):
    """A pattern that does not compile; the text says where and why."""


class Pattern(Protocol):
    """A compiled regex."""

    def found_in(self, subject: str) -> bool | None:
        """Return whether it matches anywhere; None when the time limit was hit."""


class Matcher(Protocol):
    """The regex engine."""

    def compile(self, pattern: str) -> Pattern:
        """Compile; raises `PatternError`."""


def compiled(matcher: Matcher, pattern: str, field: str) -> Pattern:
    """Compile a pattern from outside. Raises `WireError` (`INVALID_JSON`) naming `field`."""
    _check_length(pattern, field)
    try:
        return matcher.compile(pattern)
    except PatternError as error:
        raise WireError(ErrorCode.INVALID_JSON, f"{field}: {error}") from None


def matches(pattern: Pattern, subject: str) -> bool | None:
    """Return whether a pattern matches; None when the subject is too long or the time was up."""
    if len(subject) > limits.MAX_SUBJECT:
        return None
    return pattern.found_in(subject)


def file_pattern(pattern: str, field: str) -> re.Pattern[str]:
    """Compile a file name pattern (`*`, `?`, `[…]`). Raises like `compiled`."""
    _check_length(pattern, field)
    return re.compile(translate(pattern))


def _check_length(pattern: str, field: str) -> None:
    if len(pattern) > limits.MAX_PATTERN:
        raise WireError(
            ErrorCode.INVALID_JSON,
            f"{field}: a pattern has at most {limits.MAX_PATTERN} characters",
        )


class Subject:
    """The arguments of a call, as rules see them; decoded once, when a rule first looks.

    Decoding and encoding anew takes escapes out, so that they hide nothing.
    """

    __slots__ = ("_args", "_files", "_text")

    def __init__(self, args: Raw) -> None:
        self._args = args
        self._text: str | None = None
        self._files: list[str] | None = None

    @property
    def is_too_long(self) -> bool:
        """Whether regexes are not tried on it."""
        return memoryview(self._args).nbytes > limits.MAX_SUBJECT

    @property
    def is_readable(self) -> bool:
        """Whether rules can look into it: a number may be too large for any program to hold."""
        try:
            return bool(self.text)
        except msgspec.DecodeError:
            return False

    @property
    def text(self) -> str:
        """The arguments as compact JSON, with numbers as JavaScript writes them."""
        if self._text is None:
            self._text = stringified(self._args)
        return self._text

    @property
    def files(self) -> list[str]:
        """The arguments that name a file."""
        if self._files is None:
            arguments = msgspec.json.decode(self._args, type=dict[str, object])
            values = (arguments.get(name) for name in _FILE_ARGUMENTS)
            self._files = [value for value in values if isinstance(value, str)]
        return self._files

    def names_file(self, pattern: re.Pattern[str]) -> bool:
        """Return whether a named file's whole path or base name fits."""
        return any(
            pattern.match(name) or pattern.match(name.rpartition("/")[2]) for name in self.files
        )


@dataclass(slots=True, eq=False)
class ActiveRule:
    """A rule with its patterns compiled."""

    rule: HookRule
    args: Pattern | None
    file: re.Pattern[str] | None


Outcome = Level | Literal["drop"]
Filter = list[tuple[Pattern, Outcome]]
"""Patterns, each with the outcome of a line that it matches; the first that matches decides."""


@dataclass(slots=True)
class HookSet:
    """What one provider wants in one session: its rules, sections, contexts and filters."""

    rules: list[ActiveRule] = field(default_factory=list)
    transforms: dict[str, Transform] = field(default_factory=dict)
    context: str | None = None
    startup: str | None = None
    filters: dict[str, Filter] = field(default_factory=dict)
    """By the names of its streams, without `@provider`."""
    is_startup_told: bool = False
    """Whether the session has had the start-up context."""

    def copy(self) -> "HookSet":
        """Return the same for another session, where it may change on its own."""
        return HookSet(
            self.rules, dict(self.transforms), self.context, self.startup, dict(self.filters)
        )
