"""Bytes of a command's output to lines.

A line ends with `\\n` or `\\r\\n`. What a lone `\\r` ends is a state of a progress display, which
the next text overwrites: of such states only the newest is a line, and at most two a second. A
beginning without an end is a line when nothing follows it for a second (a prompt), and at the end.

Lines are trimmed, and free of terminal codes and control characters but tabs: neither rules nor
readers have to know colours, and no program that shows or is sent a line acts upon it. Bytes
that are no UTF-8 become U+FFFD. Blank lines are left out. A check's output is laid out for readers
and for what counts its tests: its blank lines and what it indents can be kept.
"""

import re

LINE_BYTES = 64 * 1024
"""A line is cut here; no rule is tried on longer ones (`limits.MAX_SUBJECT`)."""
STATE_SECONDS = 0.5
"""Seconds between two states of a progress display."""
QUIET_SECONDS = 1.0
"""Seconds after which a beginning without an end is a line."""
_BLOCK_BYTES = 8 * 1024
"""Lines are taken apart so many bytes at a time: what is read holds 64 KiB of one-byte lines."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_TERMINAL_CODE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b(?:[ -/]*[0-~])?"
)
"""Sequences that begin with ESC, or with the one character that stands for ESC and a second."""


class LineReader:
    """Takes the bytes of one pipe. `truncated` counts lines that were cut. With `keeps_layout`
    blank lines are lines, and only the end of a line is trimmed."""

    def __init__(self, *, keeps_layout: bool = False) -> None:
        self._keeps_layout = keeps_layout
        self.truncated = 0
        self._unread = b""
        """What came, from the line that is read next on."""
        self._begun = bytearray()
        """The beginning of a line whose end has not come, and one byte more than a line has where
        it is longer."""
        self._begun_at = 0.0
        """When something last came."""
        self._has_returned = False
        """Whether it was a `\\r`, which a `\\n` may follow."""
        self._state = b""
        """The newest state that was overwritten, until it is a line."""
        self._state_at = float("-inf")
        """When a progress state was last emitted as a line."""

    @property
    def is_unread(self) -> bool:
        """Whether lines of what was fed are left."""
        return bool(self._unread)

    def feed(self, data: bytes, now: float) -> None:
        """Take bytes, when all of the earlier ones are read."""
        assert not self._unread, "lines are left"
        self._unread = data
        self._begun_at = now

    def take(self) -> list[str]:
        """Return the next lines, at most 8 KiB of them or one; none when nothing is left."""
        while data := self._unread:
            end = data.rfind(b"\n", 0, _BLOCK_BYTES)
            if end < 0:
                end = data.find(b"\n", _BLOCK_BYTES)
            if end < 0:
                self._unread = b""
                self._begin(data)
                return []
            self._unread = data[end + 1 :]
            if lines := self._lines(data[:end]):
                return lines
        return []

    @property
    def due(self) -> float | None:
        """When `overdue` has a line if nothing comes until then; None for never."""
        if self._state:
            return self._state_at + STATE_SECONDS
        return self._begun_at + QUIET_SECONDS if self._begun else None

    def overdue(self, now: float) -> list[str]:
        """Return the state, or the beginning, that is a line by now."""
        if self.due is None or self.due > now:
            return []
        if not self._state:
            return self.rest()
        state, self._state = self._state, b""
        self._state_at = now
        return self._cleaned(state)

    def rest(self) -> list[str]:
        """Return what has begun as a line: the pipe is quiet, or at its end."""
        return self._ended_by(b"") if self._begun or self._state else []

    def _lines(self, block: bytes) -> list[str]:
        """Return whole lines; the first may have begun earlier."""
        lines: list[str] = []
        if self._begun or self._state or self._has_returned:
            first, newline, block = block.partition(b"\n")
            lines = self._ended_by(first)
            if not newline:
                return lines
        if b"\r" in block:
            block = (block + b"\n").replace(b"\r\n", b"\n")[:-1]
        if b"\r" in block or len(block) > LINE_BYTES:
            for line in block.split(b"\n"):
                lines += self._ended_by(line)
            return lines
        text = block.decode("utf-8", "replace")
        lines += self._trimmed(_shown(text).split("\n"))
        return lines

    def _begin(self, data: bytes) -> None:
        """Take bytes of a line whose end has not come."""
        if not data:
            return
        if self._has_returned:
            data = b"\r" + data
        self._has_returned = data.endswith(b"\r")
        before, is_state, last = data.rstrip(b"\r").rpartition(b"\r")
        if is_state:
            self._state = _newest_state(bytes(self._begun) + before) or self._state
            self._begun.clear()
        self._begun += last[: LINE_BYTES + 1 - len(self._begun)]

    def _ended_by(self, data: bytes) -> list[str]:
        """Return the line of which `data` is the end, none when it is blank."""
        self._begin(data)
        line = bytes(self._begun) if self._begun.strip() else self._state
        self._begun.clear()
        self._state = b""
        self._has_returned = False
        return self._cleaned(line)

    def _cleaned(self, line: bytes) -> list[str]:
        text = line.decode("utf-8", "replace")
        if len(line) > LINE_BYTES:
            self.truncated += 1
            # A character may be cut in two there.
            text = line[:LINE_BYTES].decode("utf-8", "replace").rstrip("\ufffd")
        return self._trimmed([_shown(text)])

    def _trimmed(self, lines: list[str]) -> list[str]:
        if self._keeps_layout:
            return [line.rstrip() for line in lines]
        return [line for line in map(str.strip, lines) if line]


def _shown(text: str) -> str:
    if _CONTROL.search(text):
        return _CONTROL.sub("", _TERMINAL_CODE.sub("", text))
    return text


def _newest_state(data: bytes) -> bytes:
    """Return the last text between `\\r`s that is not blank."""
    return data.rstrip().rpartition(b"\r")[2][: LINE_BYTES + 1]
