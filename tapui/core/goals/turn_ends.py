"""The end of a turn: the host asks whether the agent may stop, and is answered at once.

The rules are `decide`; without any a turn ends. A host waits two seconds and then lets the turn end
(`tapui/wire/README.md`), so an answer that comes later is of no use, and does no harm.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tapui.core.context import CorePart
from tapui.core.model import Connection, OpenSession
from tapui.core.sessions.sessions import OpenSessions, own_session
from tapui.wire import limits
from tapui.wire.host import TurnEnd, TurnEnding

Answer = Callable[[str | None], None]
"""Takes why the agent is to go on, or None for the end. Only its first call counts."""
Decide = Callable[[OpenSession, TurnEnding, Answer], None]


def _at_once(_session: OpenSession, _ending: TurnEnding, answer: Answer) -> None:
    answer(None)


@dataclass(eq=False, repr=False)
class TurnEnds(CorePart):
    """Handler of `turn.ending`. It raises `WireError` to refuse."""

    sessions: OpenSessions

    def __post_init__(self) -> None:
        super().__post_init__()
        self.decide: Decide = _at_once
        """The rules: they answer at once, or later where something has to be looked at first."""

    def ending(self, connection: Connection, message: TurnEnding) -> None:
        session = own_session(self.sessions, connection, message.session_id)
        is_answered = False

        def answer(reason: str | None) -> None:
            nonlocal is_answered
            if is_answered or not connection.is_open:
                return
            is_answered = True
            why = (reason or "")[: limits.MAX_NOTE]
            end = TurnEnd(message.id, "again", why) if why else TurnEnd(message.id, "end")
            self._out.send(connection.id, end)

        self.decide(session, message, answer)
