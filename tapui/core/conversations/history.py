"""What happened in a session before this run: read back from the records, or told by its host."""

from functools import partial

from msgspec import Raw

from tapui.core.context import CoreContext
from tapui.core.effects import EarlierTurns, ReadRecords, RecordsRead
from tapui.core.model import Connection, OpenSession
from tapui.core.sessions.sessions import OpenSessions, own_session
from tapui.projection.turns.restored import bounded, unknown_of
from tapui.wire.codec import decode_as
from tapui.wire.events import TurnsRestored
from tapui.wire.host import SessionHistory
from tapui.wire.turns import Turn


class History:
    """Puts earlier turns before those of this run. What records have goes before a host's."""

    def __init__(self, context: CoreContext, *, sessions: OpenSessions) -> None:
        self._out, self._tickets = context.out, context.tickets
        self._sessions = sessions

    def read_back(self, session: OpenSession) -> None:
        """A session has opened: ask for its turns of earlier runs."""
        session.awaits_history = True
        ticket = self._tickets.keep(partial(self._records_read, session), session)
        self._out.effects.append(ReadRecords(ticket, session.id, EarlierTurns()))

    def _records_read(self, session: OpenSession, read: RecordsRead) -> None:
        """The shell has read them, or could not: then there are none."""
        session.awaits_history = False
        for entry in read.entries:
            if isinstance(entry.event, TurnsRestored):
                self._restore(session, entry.event.turns)
        if session.told_history is not None:
            told, session.told_history = session.told_history, None
            self._restore(session, told)

    def told(self, connection: Connection, message: SessionHistory) -> None:
        """A host tells what happened before it came."""
        session = own_session(self._sessions, connection, message.session_id)
        turns = bounded(decode_as(Raw(message.turns), list[Turn], "turns"))
        if session.awaits_history:
            session.told_history = turns
        else:
            self._restore(session, turns)

    def _restore(self, session: OpenSession, turns: list[Turn]) -> None:
        known = self._out.state.turns.get(session.id)
        new = unknown_of(known, turns) if known is not None else []
        if new:
            self._out.emit(TurnsRestored(session.id, new))
