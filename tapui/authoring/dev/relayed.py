"""A program as the relay knows it."""

from collections.abc import Callable

from tapui.authoring.dev.channel import Signal
from tapui.wire.message import Message


class RelayedProgram:
    """A program as the relay knows it: what it is sent, and the calls that it has."""

    def __init__(
        self, number: int, put: Callable[[Message | Signal], None], end: Callable[[], None]
    ) -> None:
        """`put` sends it something; `end` has it ended, for which nobody waits."""
        self.number = number
        self.put = put
        self._end = end
        self.calls: set[str] = set()
        self.questions: set[str] = set()
        """Gates and sections about which it is asked, by the ids of the questions."""
        self.is_retired = False
        self.is_ending = False

    def end(self) -> None:
        """Have it ended."""
        self.is_ending = True
        self._end()

    @property
    def is_done(self) -> bool:
        """Whether it was relieved, and owes nobody an answer."""
        return self.is_retired and not self.calls and not self.questions

    def mark(self, id_: str) -> str:
        """Return an id of the program's as one that no other program has."""
        return f"{self.number}:{id_}"
