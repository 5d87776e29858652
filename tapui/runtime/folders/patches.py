"""Two contents of a file by their lines: how many differ, hunks to be shown, and patches of git's.

Contents are hostile: to compare lines has a bound in steps, and what does not come to its end in
time is shown as all lines going and all coming. Ends of lines are those of git: only `\\n`.
"""

import re
import zlib
from base64 import b85encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import Match, SequenceMatcher
from itertools import accumulate
from typing import NamedTuple

import msgspec

from tapui.runtime.folders.repository import LINK
from tapui.wire import limits
from tapui.wire.changes import DiffHunk

AROUND = 3
"""Lines around those that changed."""
_MOST_STEPS = 4_000_000
"""Pairs of equal lines of one comparison: 0.3 s."""
_SNIFFED = 8_000
"""Bytes in which a NUL makes a content binary, as in git."""
_QUOTED = {0x07: b"a", 0x08: b"b", 0x09: b"t", 0x0A: b"n", 0x0B: b"v", 0x0C: b"f", 0x0D: b"r",
           0x22: b'"', 0x5C: b"\\"}  # fmt: skip
_PLAIN_NAME = re.compile(rb"[ !#-\[\]-~]+")
_NO_END = "\\ No newline at end of file"
_ENCODED = 52
"""Bytes on a line of a binary patch."""


_Late = Callable[[], bool]


class LineChange(NamedTuple):
    """Old lines from `first` up to `last`, which gave way to the new ones from `start` up to `end`;
    counted from 0, without the last."""

    first: int
    last: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Content:
    """A file: its bytes, git's mode (0 where there is none), and its object's name in hex."""

    data: bytes
    mode: int
    oid: str = ""

    @property
    def is_binary(self) -> bool:
        return b"\0" in self.data[:_SNIFFED]

    @property
    def lines(self) -> list[bytes]:
        """Its lines with their ends, of which the last one may have none."""
        parts = self.data.split(b"\n")
        last = parts.pop()
        lines = [part + b"\n" for part in parts]
        return [*lines, last] if last else lines


class _Matcher(SequenceMatcher[bytes]):
    """Compares until it is late. Raises `TimeoutError`."""

    def __init__(
        self, old: Sequence[bytes], new: Sequence[bytes], late: Callable[[], bool]
    ) -> None:
        super().__init__(None, old, new)
        known: dict[bytes, list[int]] = self.b2j  # type: ignore[attr-defined]
        self._ways = [0, *accumulate(len(known.get(line, ())) + 1 for line in old)]
        """How many pairs of equal lines there are up to each old line."""
        self._steps = 0
        self._is_late = late

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> Match:
        ways = self._ways
        self._steps += ways[-1 if ahi is None else ahi] - ways[alo]
        if self._steps > _MOST_STEPS or self._is_late():
            raise TimeoutError
        return super().find_longest_match(alo, ahi, blo, bhi)


def line_changes(
    old: Sequence[bytes], new: Sequence[bytes], is_late: Callable[[], bool]
) -> tuple[list[LineChange], bool]:
    """Return which lines differ, and whether they were compared to the end."""
    least = min(len(old), len(new))
    first = 0
    while first < least and old[first] == new[first]:
        first += 1
    after = 0
    while after < least - first and old[-1 - after] == new[-1 - after]:
        after += 1
    last, end = len(old) - after, len(new) - after
    if first in (last, end):
        return ([LineChange(first, last, first, end)] if first < max(last, end) else []), True
    try:
        matcher = _Matcher(old[first:last], new[first:end], is_late)
        found = [
            LineChange(first + a, first + b, first + c, first + d)
            for tag, a, b, c, d in matcher.get_opcodes()
            if tag != "equal"
        ]
    except TimeoutError:
        return [LineChange(first, last, first, end)], False
    return found, True


def counted(changes: Sequence[LineChange]) -> tuple[int, int]:
    """Return how many lines came and how many went."""
    added = sum(one.end - one.start for one in changes)
    return added, sum(one.last - one.first for one in changes)


def _groups(changes: Sequence[LineChange]) -> Iterator[list[LineChange]]:
    """Yield changes that are so near to each other that they are one hunk."""
    group: list[LineChange] = []
    for one in changes:
        if group and one.first - group[-1].last > 2 * AROUND:
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def _marked(
    old: Sequence[bytes], new: Sequence[bytes], group: Sequence[LineChange]
) -> Iterator[tuple[str, bytes]]:
    """Yield the lines of a hunk, each with its mark."""
    at = max(0, group[0].first - AROUND)
    for one in group:
        yield from ((" ", line) for line in old[at : one.first])
        yield from (("-", line) for line in old[one.first : one.last])
        yield from (("+", line) for line in new[one.start : one.end])
        at = one.last
    yield from ((" ", line) for line in old[at : at + AROUND])


def hunks(
    old: Sequence[bytes], new: Sequence[bytes], changes: Sequence[LineChange]
) -> tuple[list[DiffHunk], int]:
    """Return hunks to be shown, and how many of their lines are cut off for the size of all."""
    found: list[DiffHunk] = []
    room, left_out = limits.MAX_DIFF_BYTES, 0
    for group in _groups(changes):
        lines: list[str] = []
        for mark, line in _marked(old, new, group):
            text = mark + _shown(line)
            room -= len(msgspec.json.encode(text)) + 1
            if room < 0:
                left_out += 1
                continue
            lines.append(text)
            if not line.endswith(b"\n"):
                lines.append(_NO_END)
        if lines:
            found.append(DiffHunk(*_numbers(old, new, group), lines))
    return found, left_out


def _numbers(
    old: Sequence[bytes], new: Sequence[bytes], group: Sequence[LineChange]
) -> tuple[int, int]:
    """Return the numbers of the first lines of a hunk."""
    back = min(AROUND, group[0].first)
    first, start = group[0].first - back, group[0].start - back
    return (first + 1 if old else 0, start + 1 if new else 0)


class HunkFound(NamedTuple):
    """The changes of a hunk that was shown. Without `is_exact` lines of it were shown otherwise
    than they are: cut, or not UTF-8."""

    changes: list[LineChange]
    is_exact: bool


def hunk_of(
    old: Sequence[bytes], new: Sequence[bytes], changes: Sequence[LineChange], shown: DiffHunk
) -> HunkFound | None:
    """Return the hunk that is shown exactly like this one; None where there is none."""
    for group in _groups(changes):
        if _numbers(old, new, group) != (shown.old, shown.new):
            continue
        lines: list[str] = []
        is_exact = True
        for mark, line in _marked(old, new, group):
            text = _shown(line)
            is_exact = is_exact and text.encode() == line.removesuffix(b"\n")
            lines.append(mark + text)
            if not line.endswith(b"\n"):
                lines.append(_NO_END)
        return HunkFound(group, is_exact) if lines == shown.lines else None
    return None


def lines_shown(lines: Sequence[bytes]) -> list[str]:
    """Return lines as they are shown, without their ends."""
    return [_shown(line).removesuffix("\r") for line in lines]


def _shown(line: bytes) -> str:
    text = line.removesuffix(b"\n")[: 4 * limits.MAX_DIFF_LINE + 1].decode("utf-8", "replace")
    if len(text) > limits.MAX_DIFF_LINE:
        return text[: limits.MAX_DIFF_LINE] + "…"
    return text


# Patches


def patch(
    path: bytes, old: Content, new: Content, changes: Sequence[LineChange], former: bytes = b""
) -> str:
    """Return a patch of git's. `former`: where a renamed file was.

    What is binary or not UTF-8 goes as git's binary patch, so that a patch is text all the same.
    """
    if old.mode and new.mode and (old.mode == LINK) != (new.mode == LINK):
        nothing = Content(b"", 0)
        gone = [LineChange(0, len(old.lines), 0, 0)] * bool(old.data)
        come = [LineChange(0, 0, 0, len(new.lines))] * bool(new.data)
        return patch(path, old, nothing, gone) + patch(path, nothing, new, come)
    before, after = _name(b"a/" + (former or path)), _name(b"b/" + path)
    lines = [f"diff --git {before} {after}"]
    if not old.mode:
        lines.append(f"new file mode {new.mode:06o}")
    elif not new.mode:
        lines.append(f"deleted file mode {old.mode:06o}")
    elif old.mode != new.mode:
        lines += [f"old mode {old.mode:06o}", f"new mode {new.mode:06o}"]
    if former:
        lines += [f"rename from {_name(former)}", f"rename to {_name(path)}"]
    if old.data == new.data and old.mode and new.mode:
        return "\n".join([*lines, ""])
    none = "0" * len(old.oid or new.oid)
    is_same_mode = old.mode == new.mode
    mode = f" {new.mode:06o}" if is_same_mode else ""
    lines.append(f"index {old.oid or none}..{new.oid or none}{mode}")
    if old.is_binary or new.is_binary or not (_is_text(old.data) and _is_text(new.data)):
        return "\n".join([*lines, "GIT binary patch", f"literal {len(new.data)}",
                          *_binary(new.data), "", ""])  # fmt: skip
    if not changes:
        return "\n".join([*lines, ""])
    lines.append(f"--- {before if old.mode else '/dev/null'}")
    lines.append(f"+++ {after if new.mode else '/dev/null'}")
    # Git takes a name with blanks to its end only where a tab follows.
    lines[-2:] = [
        line + "\t" if " " in line[4:] and line[4] != '"' else line for line in lines[-2:]
    ]
    return "\n".join([*lines, *_hunk_texts(old.lines, new.lines, changes), ""])


def _hunk_texts(
    old: Sequence[bytes], new: Sequence[bytes], changes: Sequence[LineChange]
) -> Iterator[str]:
    for group in _groups(changes):
        back = min(AROUND, group[0].first)
        ahead = min(AROUND, len(old) - group[-1].last)
        first, start = group[0].first - back, group[0].start - back
        olds, news = group[-1].last + ahead - first, group[-1].end + ahead - start
        yield f"@@ -{_range(first, olds)} +{_range(start, news)} @@"
        for mark, line in _marked(old, new, group):
            yield mark + line.removesuffix(b"\n").decode()
            if not line.endswith(b"\n"):
                yield "\\ No newline at end of file"


def _range(first: int, count: int) -> str:
    return f"{first + 1 if count else first},{count}"


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _binary(data: bytes) -> Iterator[str]:
    """Yield the lines of a binary patch's content: each begins with a letter for its length."""
    packed = zlib.compress(data)
    for at in range(0, len(packed), _ENCODED):
        part = packed[at : at + _ENCODED]
        size = len(part)
        letter = chr(size - 1 + ord("A")) if size <= 26 else chr(size - 27 + ord("a"))
        yield letter + b85encode(part, pad=True).decode()


def _name(path: bytes) -> str:
    """Return a path as git writes it: in quotes where it has other than printable ASCII."""
    if _PLAIN_NAME.fullmatch(path):
        return path.decode()
    letters = b"".join(
        b"\\" + _QUOTED[one] if one in _QUOTED
        else (bytes((one,)) if 0x20 <= one < 0x7F else b"\\%03o" % one)
        for one in path
    )  # fmt: skip
    return f'"{letters.decode()}"'


def mode_text(mode: int) -> str:
    return f"{mode:06o}" if mode else ""
