"""Finds out where the words of a command lead, for rules: it reads folders, and changes nothing."""

import os
import re
import stat
from collections.abc import Iterator
from fnmatch import translate
from itertools import islice
from pathlib import Path
from posixpath import dirname, join, normpath

from tapui.policies.commands import ParsedCommand, parsed
from tapui.policies.guards import is_configuration
from tapui.policies.leads import PROCESS, Leads, WrittenPlace, following, readings

_MOST_WORDS = 1_500
_MOST_FOLDERS = 8
_MOST_LINKS = 40
_MOST_ENTRIES = 8_000
"""Names in folders that are looked at for one command."""
_MOST_PATHS = 200
"""Paths that a request has; one with more is asked about."""
_MOST_WRITTEN = 32
_PATTERN = re.compile(r"[*?\[]")
_MADE = re.compile(r"[$`*?\[{]")
"""What the shell may make another name of."""
_MOVES = frozenset({"cd", "pushd", "chdir"})
_SPACED = frozenset({"-C", "--directory"})
_INTO = re.compile(r"-C|--directory=")


class _TooMuchError(Exception):
    """What is to be looked at goes beyond the bounds."""


def word_leads(text: str, folder: str) -> Leads | None:
    """Return where the words of a command lead that runs in a folder; None where that would take
    too long, or is not known. Bash's names for files are meant, at their most."""
    try:
        return _Search(parsed(text), folder).leads()
    except (_TooMuchError, ValueError, OSError, RecursionError):
        return None  # the command is asked about


def has_other_names(path: str) -> bool:
    """Return whether a file has hard links, by which it may be one of another folder, too."""
    try:
        info = Path(path).stat()
    except (OSError, ValueError):
        return False  # there is no such file
    return stat.S_ISREG(info.st_mode) and info.st_nlink > 1


def _real(path: str) -> str:
    """Return a path without links; of one through the folder of a process, what is there for it."""
    real = os.path.realpath(path)
    if PROCESS.match(normpath(path)):
        return normpath(path)
    if real == normpath(path):
        return real
    for _ in range(_MOST_LINKS):
        at = next((one for one in _prefixes(path) if Path(one).is_symlink()), None)
        if at is None:
            return real
        path = join(dirname(at), str(Path(at).readlink()), path[len(at) + 1 :])
        if PROCESS.match(normpath(path)):
            return normpath(path)
    return real


def _prefixes(path: str) -> Iterator[str]:
    for at, sign in enumerate(path):
        if sign == "/" and at:
            yield path[:at]
    yield path.rstrip("/")


class _Search:
    def __init__(self, command: ParsedCommand, folder: str) -> None:
        self._all = command.all
        self._writes = [name for part in command.parts for name in part.writes]
        self._following = list(following(command))
        self._folder = os.path.realpath(folder)
        self._home = str(Path.home())
        self._left = _MOST_ENTRIES
        self._folders = [self._folder]

    def leads(self) -> Leads:
        self._move()
        given = dict.fromkeys(one for all_ in self._all for w in all_[1:] for one in readings(w))
        if len(given) * len(self._folders) > _MOST_WORDS:
            raise _TooMuchError
        words: dict[str, tuple[str, ...]] = {}
        folders: set[str] = set(self._folders)
        linked: list[str] = []
        for word in given:
            found: dict[str, None] = {}
            for path in self._meant(word):
                real = _real(path)
                if Path(real).is_dir():
                    folders.add(real)
                elif has_other_names(real):
                    linked.append(word)
                if self._is_odd(word, path, real):
                    found[real] = None
            if found:
                words[word] = tuple(found)
        if sum(map(len, words.values())) > _MOST_PATHS:
            raise _TooMuchError
        holding = frozenset(one for one in folders if self._holds(one))
        return Leads(
            words,
            tuple(self._folders),
            holding,
            self._home,
            tuple(dict.fromkeys(linked)),
            tuple(self._below()),
            dict(islice(self._written(), _MOST_WRITTEN)),
        )

    def _written(self) -> Iterator[tuple[str, WrittenPlace]]:
        """Yield the files that redirections write, but for names that the shell makes."""
        for name in dict.fromkeys(self._writes):
            real = [_real(path) for path in self._meant(name)] if not _MADE.search(name) else []
            if real:
                is_outside = any(not self._is_inside(one) for one in real)
                yield name, WrittenPlace(any(map(os.path.lexists, real)), is_outside)

    def _below(self) -> dict[str, None]:
        """Return where links lead, out of the session's folder, that programs follow."""
        found: dict[str, None] = {}
        seen: set[str] = set()
        for words in self._following:
            texts = dict.fromkeys(text for word in words[1:] for text in readings(word))
            named = {_real(path) for text in texts for path in self._meant(text)}
            seen.update({one for one in named if Path(one).is_dir()} or self._folders)
        waiting = list(seen)
        while waiting:
            folder = waiting.pop()
            for name in self._entries(folder):
                path = join(folder, name)
                real = _real(path) if Path(path).is_symlink() else path
                if not self._is_inside(real) and real != path:
                    found[real] = None
                elif real not in seen and Path(real).is_dir():
                    seen.add(real)
                    waiting.append(real)
        if len(found) > _MOST_PATHS:
            raise _TooMuchError
        return found

    def _is_inside(self, real: str) -> bool:
        return real == self._folder or real.startswith(self._folder.rstrip("/") + "/")

    def _is_odd(self, word: str, path: str, real: str) -> bool:
        """Return whether a path is elsewhere than it seems, or outside of the folder."""
        plain = normpath(path)
        if PROCESS.match(real):
            return True
        if self._is_inside(real) and (real == plain or word == "."):
            below = real[len(self._folder) :]
            return _PATTERN.search(word) is not None and is_configuration(below)
        return os.path.lexists(real) or os.path.lexists(dirname(real))

    def _move(self) -> None:
        """Take note of the folders in which the command may be when it takes a word."""
        for words in self._all:
            name = words[0].rpartition("/")[2]
            targets = [words[at + 1 : at + 2] for at, one in enumerate(words) if one in _SPACED]
            named = [one for found in targets for one in found]
            named += [_INTO.sub("", one, count=1) for one in words[1:] if _INTO.match(one)]
            if name in _MOVES:
                plain = [one for one in words[1:] if not one.startswith(("-", "+"))]
                if plain or name == "cd":
                    named += plain or ["~"]
                if (not plain and len(words) > 1) or (not plain and name != "cd"):
                    raise _TooMuchError  # to where an earlier command was
            elif name == "popd":
                raise _TooMuchError
            for one in filter(None, named):
                for path in list(self._meant(one)):
                    real = os.path.realpath(path)
                    if Path(real).is_dir() and real not in self._folders:
                        self._folders.append(real)
            if len(self._folders) > _MOST_FOLDERS:
                raise _TooMuchError

    def _meant(self, word: str) -> Iterator[str]:
        if "\0" in word or not word:
            return
        text = self._home + word[1:] if word == "~" or word.startswith("~/") else word
        for folder in ["/"] if text.startswith("/") else self._folders:
            yield join(folder, text)
            if _PATTERN.search(text):
                yield from self._matching(folder, text.split("/"))

    def _matching(self, folder: str, names: list[str]) -> Iterator[str]:
        """Yield the files below a folder that a pattern's names may mean."""
        for at, name in enumerate(names):
            if not _PATTERN.search(name):
                folder = join(folder, name)
                continue
            means = re.compile(_regular(name))
            for entry in self._entries(folder):
                if means.fullmatch(entry):
                    below = join(folder, entry)
                    if at + 1 == len(names):
                        yield below
                    else:
                        yield from self._matching(below, names[at + 1 :])
                if name == "**" and not entry.startswith("."):  # with globstar, any folders
                    yield from self._matching(join(folder, entry), names[at:])
            if name == "**" and at + 1 < len(names):
                yield from self._matching(folder, names[at + 1 :])
            return
        yield folder

    def _entries(self, folder: str) -> list[str]:
        try:
            with os.scandir(folder) as entries:
                found = [one.name for one in islice(entries, self._left + 1)]
        except OSError:
            return []  # nothing in it can be named
        self._left -= len(found) + 1
        if self._left < 0:
            raise _TooMuchError
        return found

    def _holds(self, folder: str) -> bool:
        """Return whether a folder has configuration of a shell, git or Copilot in it, or a folder
        of it is a repository."""
        for name in self._entries(folder):
            path = join(folder, name)
            if is_configuration(path[len(folder) :]) or os.path.lexists(f"{path}/.git"):
                return True
            if folder == "/etc" and is_configuration(path):
                return True
        return False


def _regular(name: str) -> str:
    """Return a regular expression that fits at least what a pattern of names means to bash.

    `translate` never tries again what a `*` has taken: a pattern of many takes no longer.
    """
    begins = r"(?!\.)" if not name.startswith(".") else ""
    fixed, bracket, _ = name.partition("[")
    return begins + translate(fixed + "*" * bool(bracket))
