"""What git ignores: patterns of `.gitignore` files, of `info/exclude` and of the person's own file.

The library dulwich has the patterns. Its manager of files is not used: it opens FIFOs, fails where
one file cannot be read, and ranks the person's own file above `info/exclude`.
"""

import errno
import os
import re
import stat
from collections.abc import Iterator
from io import BytesIO

from dulwich.ignore import IgnoreFilter, Pattern, read_ignore_patterns

from tapui.files.foreign_file import read_up_to

MAX_BYTES = 256 * 1024
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_STARS = re.compile(rb"(?<!\\)\*{2,}")
_BEHIND_LETTERS = re.compile(rb"([^*?\[\\]*[^*?\[\\/])\*{2,}/(.+)", re.DOTALL)
_BOM = b"\xef\xbb\xbf"

Patterns = tuple[Pattern, ...]
"""The patterns of one file, the last first: the first that matches decides."""
Chain = tuple[tuple[int, Patterns], ...]
"""Files from the outermost to the innermost, each with the length of its folder's path."""


class TooManyPatternsError(Exception):
    """A file of patterns that is too large to be read."""


def is_ignored(path: bytes, is_folder: bool, chain: Chain) -> bool:
    """Return whether patterns exclude a path, whose parents they do not exclude."""
    for length, patterns in reversed(chain):
        name = path[length:]
        for pattern in patterns:
            if pattern.matches(name, is_folder):
                return pattern.is_exclude
    return False


class IgnoreFiles:
    """Files of patterns, each read again when it has changed."""

    def __init__(self) -> None:
        self._files: dict[bytes, tuple[tuple[int, ...], Patterns]] = {}
        self.is_changed = False
        """Whether one has changed since this was set to False."""

    def patterns(self, path: bytes, ignores_case: bool, *, is_linked: bool = False) -> Patterns:
        """Return the patterns of a file; none where there is none.

        With `is_linked`, a link is followed, as git does outside of a work tree. Raises
        `TooManyPatternsError`.
        """
        try:
            info = os.stat(path, follow_symlinks=is_linked)  # noqa: PTH116 - bytes
        except (OSError, ValueError):
            self.forget(path)
            return ()
        stamp = (info.st_ctime_ns, info.st_mtime_ns, info.st_size, info.st_ino, int(ignores_case))
        known = self._files.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        self.is_changed = True
        data = _read(path, info, is_linked=is_linked)
        filter_ = IgnoreFilter(_lines(data), ignorecase=ignores_case)
        patterns = tuple(reversed(filter_.patterns))
        self._files[path] = (stamp, patterns)
        return patterns

    def forget(self, path: bytes) -> None:
        """Forget a file that is not there."""
        if self._files.pop(path, None) is not None:
            self.is_changed = True


def _read(path: bytes, info: os.stat_result, *, is_linked: bool) -> bytes:
    if not stat.S_ISREG(info.st_mode):
        return b""  # git reads no links in a work tree, and nothing else is a file
    if info.st_size > MAX_BYTES:
        raise TooManyPatternsError
    try:
        fd = os.open(path, _FILE & ~os.O_NOFOLLOW if is_linked else _FILE)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.EACCES):
            return b""  # as git, which warns
        raise
    try:
        return read_up_to(fd, MAX_BYTES) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)


def _lines(data: bytes) -> Iterator[bytes]:
    for line in read_ignore_patterns(BytesIO(data.removeprefix(_BOM))):
        # The library drops all slashes at the end. Git drops one, and then no name matches.
        if not line.endswith(b"//"):
            yield from _as_git(line)


def _as_git(line: bytes) -> Iterator[bytes]:
    """Yield patterns that are to the library what this one is to git.

    To git several stars are more than one only as a whole part; the library takes each `**/` for
    that. And git compares the letters before the first wildcard by themselves: in `a**/b` what is
    left is `**/b`, so that it matches `ab`, `ax/b` and `ax/y/b`.
    """
    sign = line[:1] if line[:1] == b"!" else b""
    pattern = line[len(sign) :]
    if (found := _BEHIND_LETTERS.fullmatch(pattern)) is not None:
        letters, rest = found[1].lstrip(b"/"), _single_stars(found[2])
        for between in (b"", b"*/", b"*/**/"):
            yield b"%s/%s%s%s" % (sign, letters, between, rest)
    else:
        yield sign + _single_stars(pattern)


def _single_stars(pattern: bytes) -> bytes:
    parts = pattern.split(b"/")
    return b"/".join(_STARS.sub(b"**" if one.strip(b"*") == b"" else b"*", one) for one in parts)
