"""A rule of the person, and which requests it is about."""

import posixpath
import re
import shlex
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from tapui.wire.subjects import RuleEffect, RuleSource

RuleKind = Literal["shell", "write", "read", "url", "mcp", "tool", "memory", "hook"]

_URL = re.compile(
    r"(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]*)://(?P<host>\*|[A-Za-z0-9.*_-]+|\[[0-9A-Fa-f:.]+\])"
    r"(?::(?P<port>\d{1,5}))?(?P<path>/.*)?",
    re.DOTALL,
)
_PLAIN_URL = re.compile(r"[!-~]+")
_DEFAULT_PORTS = {"http": "80", "https": "443"}
_SCHEME = re.compile(r"^(?!file:)[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_CLIMBING = re.compile(
    r"(?:^|[/=:,])(?:\.{1,2}(?=[/=:,]|$)|\.[^/=:,]*[*?\[])"  # `.*` may become `..` in the shell
    r"|(?:^|[=:,])[/~]"
    r"|//"
)
_SHORT_OPTION = re.compile(r"-[A-Za-z]")
_CLIMBS = re.compile(r"(?:^|/)(?:\.|%2e){1,2}(?:/|$|[?#])", re.IGNORECASE)


class RulePatternError(ValueError):
    """A pattern that no rule of its kind can have; the text says why."""


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """What is done with requests of one kind that fit a pattern.

    `place` is `file:line`. `folder` is a real path: the rule holds there and below, None is
    everywhere. With `is_exact`, nothing may follow the words of the pattern. `reason` is what the
    agent reads of a refusal. `targets` are a path's pattern made absolute, with its links and
    without links. A rule of a session has the whole request as its pattern.
    """

    effect: RuleEffect
    kind: RuleKind
    pattern: str
    source: RuleSource = "person"
    place: str = ""
    folder: str | None = None
    is_exact: bool = False
    reason: str | None = None
    targets: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        return pattern_words(self.pattern)

    def holds_in(self, folder: str | None) -> bool:
        """Return whether a session in `folder`, a real path, comes under the rule."""
        return self.folder is None or (folder is not None and is_within(folder, self.folder))


def is_within(path: str, folder: str) -> bool:
    """Return whether an absolute path is a folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


# Words


@lru_cache(maxsize=1024)
def pattern_words(pattern: str) -> tuple[str, ...]:
    """Split a shell pattern. Raises `RulePatternError`."""
    try:
        words = tuple(shlex.split(pattern))
    except ValueError as error:
        raise RulePatternError(f"{str(error).lower()}: close the quotes") from None
    return words


def fits(pattern: str, text: str) -> bool:
    """Return whether a text is a pattern's, in which `*` stands for any characters.

    The time is linear: a repository's file cannot hold up the gateway with many stars.
    """
    if "*" not in pattern:
        return pattern == text
    first, *pieces, last = pattern.split("*")
    at, end = len(first), len(text) - len(last)
    if at > end or not text.startswith(first) or not text.endswith(last):
        return False
    for piece in pieces:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def word_fits(pattern: str, word: str) -> bool:
    """Return whether a word is a pattern's.

    A `*` stands for no option, and in a path for nothing that leaves the folder before it.
    """
    if "*" not in pattern:
        return pattern == word
    if pattern.startswith("*") and word.startswith("-"):
        return False
    return fits(pattern, word) and not _leaves(pattern.partition("*")[0], word)


def _leaves(fixed: str, word: str) -> bool:
    """Return whether the `*` of a pattern, which begins with `fixed`, could match a path outside
    its folder: one with `.`, `..` or an empty name in it, from the root, or of a home."""
    begin = len(fixed) if _SHORT_OPTION.fullmatch(fixed) else fixed.rfind("/") + 1
    path = _SCHEME.sub("", word[begin:])
    return _CLIMBING.search(path) is not None


@lru_cache(maxsize=1024)
def starred(pattern: tuple[str, ...]) -> frozenset[int]:
    """Return the places of words that a pattern does not name: those for which a star stands.

    A star behind `=` is the value of what is named.
    """
    return frozenset(
        at for at, word in enumerate(pattern) if "*" in word and "=" not in word.partition("*")[0]
    )


def fitting_size(words: tuple[str, ...], pattern: tuple[str, ...]) -> int:
    """Return how many of a pattern's first words fit words, one by one."""
    pairs = enumerate(zip(pattern, words, strict=False))
    ends = min(len(pattern), len(words))
    return next((at for at, (wanted, word) in pairs if not word_fits(wanted, word)), ends)


def occurs(text: str, pattern: tuple[str, ...]) -> bool:
    """Return whether a pattern's words come in a text, in its order, wherever they stand."""
    return fits("*".join(("", *pattern, "")), text)


# Paths


def is_straight(path: str) -> bool:
    """Return whether an absolute path has no `.`, `..` or empty name in it."""
    return not path.startswith("//") and posixpath.normpath(path) == path


_PATH_PART = re.compile(r"(\*\*/|\*\*|\*|\?)")


def path_fits(pattern: str, path: str) -> bool:
    """Return whether an absolute path is a pattern's; one that ends with `/` means all below.

    `**` stands for any folders, `*` and `?` for what has no `/`. The places of the path that a part
    of the pattern may lead to are the bits of a number, so the time is that of a few operations for
    each character of the pattern, for any path: no clock is needed.
    """
    whole = f"{pattern}**" if pattern.endswith("/") else pattern
    first, *parts = _PATH_PART.split(whole)
    if not path.startswith(first) or (not parts and path != first):
        return False
    is_at = _Places(path)
    reached = 1 << len(first)
    for part in parts:
        match part:
            case "**/":
                reached |= is_at.any_after(reached) & (is_at.letter("/") << 1)
            case "**":
                reached = is_at.any_after(reached)
            case "*":
                reached = is_at.within_name(reached)
            case "?":
                reached = (reached & is_at.in_name) << 1
            case _:
                for letter in part:
                    reached = (reached & is_at.letter(letter)) << 1
        if not reached:
            return False
    return bool(reached >> len(path))


class _Places:
    """Places in a path, as numbers of which bit n is the place before character n."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._letters: dict[str, int] = {}
        self._all = (2 << len(path)) - 1
        self.in_name = (self._all >> 1) & ~self.letter("/")
        """Before each character that is no slash."""

    def letter(self, wanted: str) -> int:
        if wanted not in self._letters:
            bits = "".join("1" if one == wanted else "0" for one in reversed(self._path))
            self._letters[wanted] = int(f"0{bits}", 2)
        return self._letters[wanted]

    def any_after(self, reached: int) -> int:
        """Return these places and all behind the first of them."""
        return self._all & -(reached & -reached)

    def within_name(self, reached: int) -> int:
        """Return these places and those behind them up to the next slash.

        An addition carries each bit through a run of ones, to the place behind it.
        """
        return reached | (((reached & self.in_name) + self.in_name) ^ self.in_name)


# URLs


@dataclass(frozen=True, slots=True)
class UrlParts:
    """A URL, or a pattern of one. `path` is with the query; `port` is never left out of a URL."""

    scheme: str
    host: str
    port: str
    path: str


def url_parts(url: str) -> UrlParts | None:
    """Split a URL; None for one that programs may read in different ways.

    Such has a user before its host, a backslash, a space, or characters outside of ASCII.
    """
    found = _URL.fullmatch(url) if _PLAIN_URL.fullmatch(url) and "\\" not in url else None
    if found is None:
        return None
    scheme = found["scheme"].lower()
    port = found["port"] or _DEFAULT_PORTS.get(scheme, "")
    return UrlParts(scheme, found["host"].lower().rstrip("."), port, found["path"] or "/")


def url_fits(pattern: str, url: UrlParts, *, is_generous: bool = False) -> bool:
    """Return whether a URL is a pattern's.

    A path in the pattern means that one, and with `*` what begins so; none means all of the host.
    Scheme and port must be the same unless `is_generous`.
    """
    wanted = _URL.fullmatch(pattern)
    if wanted is None:
        return False
    scheme, host = wanted["scheme"].lower(), wanted["host"].lower().rstrip(".")
    port = wanted["port"] or _DEFAULT_PORTS.get(scheme, "")
    if not is_generous and (scheme != url.scheme or port != url.port):
        return False
    if not _host_fits(host, url.host):
        return False
    path = wanted["path"]
    if path in (None, "/"):
        return True
    if not is_generous and _CLIMBS.search(url.path):
        return False
    return fits(path, url.path)


def host_of(pattern: str) -> str:
    """Return the host of a URL's pattern without what may stand before it; "" for any."""
    wanted = _URL.fullmatch(pattern)
    return wanted["host"].lower().lstrip("*.") if wanted else ""


def _host_fits(pattern: str, host: str) -> bool:
    if pattern.startswith("*."):
        return host.endswith(pattern[1:]) and len(host) > len(pattern) - 1
    return pattern in ("*", host)


# What can be a pattern

_OPERATORS = re.compile(r"[|&;<>()`$\n\r]")


def pattern_fault(effect: RuleEffect, kind: RuleKind, pattern: str, folder: str | None) -> str:
    """Say why there can be no such rule; "" where there can."""
    if not pattern.strip():
        return "the pattern is empty"
    if effect == "allow" and kind == "hook":
        return "what a hook asks cannot be allowed by a rule"
    match kind:
        case "shell":
            return _shell_fault(effect, pattern)
        case "write" | "read":
            if pattern.startswith(("/", "~/")) or folder is not None:
                return ""
            return "write an absolute path, one that begins with ~/, or add a folder"
        case "url":
            return _url_fault(pattern)
        case "mcp":
            return "" if "/" in pattern or pattern == "*" else "write server/tool, or server/*"
        case _:
            return ""


def _shell_fault(effect: RuleEffect, pattern: str) -> str:
    if found := _OPERATORS.search(pattern):
        return f"{found[0]!r} in it: a rule is about one command; write one for each part"
    try:
        words = pattern_words(pattern)
    except RulePatternError as error:
        return str(error)
    if not words or not words[0]:
        return "the pattern is empty"
    if effect == "allow" and "*" in words[0]:
        return "name the program; * may stand in the words behind it"
    return ""


def _url_fault(pattern: str) -> str:
    wanted = _URL.fullmatch(pattern)
    if wanted is None:
        return "write it as https://host/path, with * for any characters in the path"
    host = wanted["host"]
    if "*" in host and host != "*" and ("*" in host[1:] or not host.startswith("*.")):
        return "in a host, * may only stand before the first dot: https://*.example.org"
    return ""
