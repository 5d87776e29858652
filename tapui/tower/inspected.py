"""What a tower was shown of an inspected connection: the newest messages, bounded."""

from collections import deque
from typing import NamedTuple

from tapui.wire.tower import Inspected, InspectEnded, InspectLines

KEPT_LINES = 1_000
"""Messages of one inspection that the tower keeps; the oldest goes first."""
KEPT_BYTES = 2 * 1024 * 1024
"""Characters of their texts together."""


class Numbered(NamedTuple):
    """A message, and how many came before it."""

    number: int
    line: Inspected


class InspectedLog:
    """One inspection. `dropped` counts what the gateway and the tower let go of."""

    def __init__(self) -> None:
        self.lines: deque[Numbered] = deque()
        self.dropped = 0
        self.count = 0
        self.is_on = False
        """Whether the gateway has begun, and has not ended it."""
        self.is_answered = False
        """Whether the gateway answered, and may be asked for more."""
        self.ended = ""
        """Why nothing more comes."""
        self.is_lost = False
        """Whether it ended with the link to the gateway."""
        self.reopened_at: set[int] = set()
        """Numbers of the messages before which the link was lost."""
        self._bytes = 0

    def take(self, message: InspectLines | InspectEnded) -> None:
        """Take in what the gateway said."""
        if isinstance(message, InspectEnded):
            self.end("the connection is gone")
            return
        self.is_on = self.is_answered = True
        self.dropped += message.dropped
        for line in message.lines:
            self.count += 1
            self.lines.append(Numbered(self.count, line))
            self._bytes += len(line.text)
        while len(self.lines) > KEPT_LINES or self._bytes > KEPT_BYTES:
            gone = self.lines.popleft()
            self._bytes -= len(gone.line.text)
            self.reopened_at.discard(gone.number)
            self.dropped += 1

    def end(self, why: str) -> None:
        """Nothing more comes."""
        self.is_on = self.is_answered = False
        self.ended = self.ended or why

    def lose(self) -> None:
        """The link to the gateway is gone."""
        if not self.ended:
            self.end("the link to the gateway was lost")
            self.is_lost = True

    def reopen(self) -> None:
        """The gateway was asked again: what comes now is not what followed."""
        self.ended, self.is_lost = "", False
        self.reopened_at.add(self.count + 1)
