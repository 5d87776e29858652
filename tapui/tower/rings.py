"""The lines of streams that the tower keeps."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from tapui.tower.payloads import length
from tapui.wire.message import Line

RING_LINES = 2000
"""Lines of one stream that the tower keeps."""
RING_BYTES = 4 * 1024 * 1024
"""Bytes of one stream's lines that the tower keeps."""


@dataclass(slots=True)
class Ring:
    """The newest lines of one stream, oldest first, by rising `seq`.

    `unread` counts the lines since the person last looked, `levels` the same by level. `epoch`
    rises when the stream begins anew, `merges` when lines were put in before the newest: what
    follows a ring sees by them that more happened than lines at its ends. `head` is the number of
    a line of which a snapshot brought the beginning only. `is_muted`: its lines are not counted.
    """

    lines: deque[Line] = field(default_factory=deque)
    size: int = 0
    unread: int = 0
    levels: dict[str, int] = field(default_factory=dict)
    epoch: int = 0
    merges: int = 0
    head: int | None = None
    is_muted: bool = False

    def append(self, line: Line) -> None:
        """Add the newest line. A `seq` that does not rise means that the stream began anew."""
        lines = self.lines
        if lines and line.seq <= lines[-1].seq:
            self.clear()
        lines.append(line)
        self.size += weight(line)
        while len(lines) > RING_LINES or (self.size > RING_BYTES and len(lines) > 1):
            self.size -= weight(lines.popleft())
        if not self.is_muted:
            self.unread += 1
            self.levels[line.level] = self.levels.get(line.level, 0) + 1

    def merge(self, found: Iterable[Line]) -> None:
        """Put lines that were read from the gateway in their places; they are not unread."""
        self.merges += 1
        known = {line.seq: line for line in found}
        if self.head in known:
            self.lines = deque(line for line in self.lines if line.seq != self.head)
            self.head = None
        known.update((line.seq, line) for line in self.lines)
        self.lines = deque(known[seq] for seq in sorted(known))
        self.size = sum(map(weight, self.lines))
        while len(self.lines) > RING_LINES or (self.size > RING_BYTES and len(self.lines) > 1):
            self.size -= weight(self.lines.popleft())

    def line(self, seq: int) -> Line | None:
        """Return the line of this number."""
        return next((line for line in self.lines if line.seq == seq), None)

    def mark_read(self) -> None:
        """The person has seen it."""
        self.unread = 0
        self.levels.clear()

    def clear(self) -> None:
        """Drop all lines."""
        self.epoch += 1
        self.lines.clear()
        self.size = 0
        self.mark_read()


def weight(line: Line) -> int:
    """Return about how many bytes of a line the tower holds."""
    return len(line.event) + length(line.metadata)
