"""The files of a folder that a command names, and what is in them.

What cannot be followed is named as not covered: patterns, links and paths that lead out of the
folder, what the files themselves name.
"""

import hashlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from tapui.emitters.consent.named_words import named_words
from tapui.emitters.consent.startable import Startable
from tapui.files.foreign_file import inner_parts, open_within, read_up_to, real_path
from tapui.policies.rules import is_within
from tapui.text import safe_text

MAX_FILES = 32
MAX_WHOLE = 8 * 1024 * 1024
"""Bytes up to which a file counts as a whole; of a larger one its size, time and beginning do."""
MAX_HEAD = 1024 * 1024
MAX_ALL = 64 * 1024 * 1024
"""Bytes of an entry's files that count as a whole; the others as large ones."""
MAX_WORDS = 500
_MAX_BASES = 8
_MAX_UNCOVERED = 20
_SHOWN = 200
_NOWHERE = "/dev/"


@dataclass(slots=True)
class NamedFiles:
    """`digests` by the path in the folder; `uncovered` in words that are safe to show."""

    digests: dict[str, str] = field(default_factory=dict)
    uncovered: list[str] = field(default_factory=list)
    doubts: tuple[str, ...] = ()
    """Why the command may run more than its words name."""
    read: int = 0
    """Bytes of files that count as a whole."""

    def uncover(self, words: str) -> None:
        """Add what is not covered."""
        shown = safe_text(words, limit=_SHOWN)
        if shown not in self.uncovered and len(self.uncovered) < _MAX_UNCOVERED:
            self.uncovered.append(shown)


def named_files(folder: str, entry: Startable) -> NamedFiles:
    """Find and read the files that an entry names. `folder` has no links. Not on a loop."""
    found = NamedFiles()
    words, reads = _words(entry, found)
    bases = _bases(folder, entry.cwd, words, found)
    more = 0
    for word in words:
        for base in bases:
            name = _inner_file(folder, base, word, found)
            if name is None or name in found.digests:
                continue
            if len(found.digests) >= MAX_FILES:
                more += 1
            elif (digest := _digest(folder, name, found)) is None:
                found.uncover(f"{name}: it cannot be read")
            else:
                found.digests[name] = digest
                if program := reads.get(name.rpartition("/")[2]):
                    found.uncover(f"{name}: what {program} runs because of it is not followed")
    if more:
        found.uncovered.append(f"and {more:,} more files: {MAX_FILES} are covered")
    return found


def _words(entry: Startable, found: NamedFiles) -> tuple[list[str], dict[str, str]]:
    """Return the words that may name files, each once, and the files that programs read."""
    named = named_words(entry)
    found.doubts = tuple(dict.fromkeys(named.doubts))
    for pattern in named.patterns:
        found.uncover(f"{pattern}: a pattern, the files that it stands for are not followed")
    words = list(named.words)
    if len(words) > MAX_WORDS:
        found.uncover(f"and {len(words) - MAX_WORDS:,} more words: {MAX_WORDS} are looked at")
    return words[:MAX_WORDS], named.reads


def _bases(folder: str, cwd: str, words: list[str], found: NamedFiles) -> list[str]:
    """Return the folders from which names may be meant: where it runs, and those that it names, in
    which it may run programs as after `cd` or `make -C`, one after the other."""
    bases = [cwd]
    for word in words:
        for base in list(bases):
            path = os.path.normpath(os.path.join(base, word))  # noqa: PTH118 - for each word
            if path in bases or not is_within(path, folder) or not _is_folder(path):
                continue
            if len(bases) < _MAX_BASES:
                bases.append(path)
            else:
                found.uncover(f"{word}: one more folder: {_MAX_BASES} are looked into")
    return bases


def _is_folder(path: str) -> bool:
    try:
        return os.path.isdir(path)  # noqa: PTH112 - text in, for each word
    except ValueError:
        return False


def _inner_file(folder: str, base: str, word: str, found: NamedFiles) -> str | None:
    """Return the path in the folder of the file that a word names; None for none."""
    if word.startswith("~"):
        found.uncover(word)
        return None
    whole = os.path.join(base, word)  # noqa: PTH118 - text in, for each word
    path = os.path.normpath(whole)
    if not is_within(path, folder):
        # Nothing outside is looked at. A word without a slash may name anything.
        if "/" in word and not path.startswith(_NOWHERE):
            found.uncover(word)
        return None
    try:
        os.lstat(whole)  # most words are no files: that is found out soon
        real = real_path(Path(whole))
    except OSError:
        return None  # no file can have this name, or none has it
    parts = inner_parts(folder, real)
    if parts is None and real != folder:
        found.uncover(f"{word}: a link that leads out of the folder")
        return None
    try:
        mode = os.stat(real).st_mode  # noqa: PTH116 - text in, for each word
    except OSError:
        found.uncover(f"{word}: a link to what is not there")
        return None
    if stat.S_ISDIR(mode):
        if word not in (".", ".."):
            found.uncover(f"{word}: a folder, of which only what is named is covered")
        return None
    if parts is None or not stat.S_ISREG(mode):
        found.uncover(f"{word}: no file, what it gives is not known")
        return None
    return "/".join(parts)


def _digest(folder: str, name: str, found: NamedFiles) -> str | None:
    """Return what is in a file, None when it cannot be read."""
    try:
        fd, info = open_within(folder, name)
    except OSError:
        return None
    try:
        if info.st_size <= min(MAX_WHOLE, MAX_ALL - found.read):
            data = read_up_to(fd, MAX_WHOLE + 1)
            if len(data) <= MAX_WHOLE:
                found.read += len(data)
                return f"sha256:{hashlib.sha256(data).hexdigest()}"
            info = os.fstat(fd)  # it grows
            data = data[:MAX_HEAD]
        else:
            data = read_up_to(fd, MAX_HEAD)
    except OSError:
        return None
    finally:
        os.close(fd)
    # Whoever writes to it can set one of the times, and not the other.
    times = f"{info.st_mtime_ns}:{info.st_ctime_ns}"
    return f"large:{info.st_size}:{times}:{hashlib.sha256(data).hexdigest()}"
