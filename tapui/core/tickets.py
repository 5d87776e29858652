"""Tickets: an effect that wants an answer carries one, and the answer names it."""

from collections.abc import Callable
from typing import Any, Protocol


class OfSession(Protocol):
    """A session that may end while an answer is awaited."""

    is_open: bool


class Tickets:
    """What goes on with each answer of the shell.

    A ticket of a session falls with it: what has ended needs no answer. Most are not a session's,
    though a session is in their effect: a caller, a tower or the shell itself still waits.
    """

    def __init__(self) -> None:
        self._count = 0
        self._waiting: dict[int, tuple[Callable[[Any], None], OfSession | None]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def keep(self, then: Callable[[Any], None], session: OfSession | None = None) -> int:
        """Return a new ticket; `then` takes its answer, unless `session` has ended by then."""
        self._count += 1
        self._waiting[self._count] = then, session
        return self._count

    def answered(self, ticket: int, answer: Any) -> None:
        """Take an answer; of a ticket that was answered already it is ignored."""
        then, session = self._waiting.pop(ticket, (None, None))
        if then is not None and (session is None or session.is_open):
            then(answer)
