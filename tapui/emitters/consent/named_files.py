"""The files of a folder that a command names, and what is in them.

A command is taken apart as for rules. What it names by variables, patterns or other programs'
settings is not seen, and what lies outside of the folder is named as not covered.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tapui.emitters.consent.startable import Startable
from tapui.emitters.folder_file import inner_parts, open_within, read_up_to, real_path
from tapui.policies.commands import naive_words, parsed
from tapui.policies.rules import is_within
from tapui.text import safe_text
from tapui.wire.limits import MAX_PATH

MAX_FILES = 32
MAX_WHOLE = 8 * 1024 * 1024
"""Bytes up to which a file counts as a whole; of a larger one its size, time and beginning do."""
MAX_HEAD = 1024 * 1024
_MAX_BASES = 8
_MAX_UNCOVERED = 20
_SHOWN = 200
_INPUT = re.compile(r"<\s*([^\s<>|;&()]+)")
_NOWHERE = "/dev/"


@dataclass(slots=True)
class NamedFiles:
    """`digests` by the path in the folder; `uncovered` in words that are safe to show."""

    digests: dict[str, str] = field(default_factory=dict)
    uncovered: list[str] = field(default_factory=list)
    doubts: tuple[str, ...] = ()
    """Why the command may run more than its words name."""


def named_files(folder: str, entry: Startable) -> NamedFiles:
    """Find and read the files that an entry names. `folder` has no links. Not on a loop."""
    found = NamedFiles()
    more = 0
    words, bases = _words(entry, found)
    for word in dict.fromkeys(words):
        for base in bases:
            name = _inner_file(folder, base, word, found)
            if name is None or name in found.digests:
                continue
            if len(found.digests) >= MAX_FILES:
                more += 1
            elif (digest := _digest(folder, name)) is None:
                _uncover(found, f"{name}: it cannot be read")
            else:
                found.digests[name] = digest
    if more:
        found.uncovered.append(f"and {more:,} more files: {MAX_FILES} are covered")
    return found


def _words(entry: Startable, found: NamedFiles) -> tuple[list[str], list[str]]:
    """Return the words that may name files, and the folders in which they may do so."""
    words: list[str] = []
    bases = [entry.cwd]
    if entry.kind == "provider":
        words += (entry.command or "", *entry.args)
    elif entry.command is not None:
        command = parsed(entry.command)
        found.doubts = tuple(command.doubts)
        programs = list(naive_words(entry.command)) if command.is_vast else command.all
        for program in programs:
            words += program
            if program[0] in ("cd", "pushd") and len(program) > 1 and len(bases) < _MAX_BASES:
                bases.append(os.path.normpath(Path(entry.cwd, program[-1])))
        words += (named.strip("\"'") for named in _INPUT.findall(entry.command))
    words += [entry.shell] if entry.shell else []
    for _, value in entry.env:
        words += (value, *value.split(os.pathsep))
    return [part for word in words for part in _parts(word)], list(dict.fromkeys(bases))


def _parts(word: str) -> Iterator[str]:
    """Yield a word, and what an option in it may name: `--file=x`, `@x`."""
    _, equals, value = word.partition("=")
    for part in (word, value if equals else "", word[1:] if word.startswith("@") else ""):
        if part and len(part) <= MAX_PATH and "\0" not in part:
            yield part


def _inner_file(folder: str, base: str, word: str, found: NamedFiles) -> str | None:
    """Return the path in the folder of the file that a word names; None for none."""
    if word.startswith("~"):
        _uncover(found, word)
        return None
    path = os.path.normpath(Path(base, word))
    if not is_within(path, folder):
        # Nothing outside is looked at. A word without a slash may name anything.
        if "/" in word and not path.startswith(_NOWHERE):
            _uncover(found, word)
        return None
    try:
        real = real_path(Path(base, word))
        if not os.path.isfile(real):  # noqa: PTH113 - text in, for each word
            return None
    except OSError:
        return None  # no file can have this name
    parts = inner_parts(folder, real)
    if parts is None:
        _uncover(found, f"{word}: a link that leads out of the folder")
        return None
    return "/".join(parts)


def _uncover(found: NamedFiles, words: str) -> None:
    shown = safe_text(words, limit=_SHOWN)
    if shown not in found.uncovered and len(found.uncovered) < _MAX_UNCOVERED:
        found.uncovered.append(shown)


def _digest(folder: str, name: str) -> str | None:
    """Return what is in a file, None when it cannot be read."""
    try:
        fd, info = open_within(folder, name)
    except OSError:
        return None
    try:
        if info.st_size <= MAX_WHOLE:
            data = read_up_to(fd, MAX_WHOLE + 1)
            if len(data) <= MAX_WHOLE:
                return f"sha256:{hashlib.sha256(data).hexdigest()}"
            info = os.fstat(fd)  # it grows
            data = data[:MAX_HEAD]
        else:
            data = read_up_to(fd, MAX_HEAD)
    except OSError:
        return None
    finally:
        os.close(fd)
    return f"large:{info.st_size}:{info.st_mtime_ns}:{hashlib.sha256(data).hexdigest()}"
