"""Copying what was recorded of a session, as `tapui proof SESSION --md` prints it."""

from collections.abc import Callable
from itertools import count

from tapui import times
from tapui.projection.feed import FeedItem, Link
from tapui.projection.proof import record_of
from tapui.projection.proof_report import (
    FROM_RECORDS,
    LIVE,
    ReportSource,
    as_markdown,
    report,
)
from tapui.tower.app.view import View
from tapui.wire import limits
from tapui.wire.message import Error, Message
from tapui.wire.subjects import Session
from tapui.wire.tower import TurnsList, TurnsRead

Copy = Callable[[str], None]


class ProofCopies:
    """Reads the turns of a session, whole, and has its report copied when they have come."""

    def __init__(
        self, view: View, send: Callable[[Message], None], copy: Copy, *, is_replay: bool
    ) -> None:
        self._view = view
        self._send = send
        self._copy = copy
        self._from = FROM_RECORDS if is_replay else LIVE
        self._ids = count(1)
        self._asked: dict[str, tuple[str, ReportSource]] = {}

    def order(self, session: Session) -> None:
        id_ = f"proof-copy-{next(self._ids)}"
        source = ReportSource(session.label or session.id, session.cwd, self._from)
        self._asked[id_] = session.id, source
        self._send(TurnsRead(id_, session.id, last=limits.TURNS))

    def take(self, item: FeedItem) -> None:
        match item:
            case TurnsList(id=id_, turns=turns) if id_ in self._asked:
                session_id, source = self._asked.pop(id_)
                state = self._view.state
                known, session = state.turns.get(session_id), state.sessions.get(session_id)
                record = record_of(state, session) if session is not None else None
                standing = known.standing if known is not None else None
                told = report(source, turns, record, standing, times.date_and_time)
                self._copy("\n".join(as_markdown(told, times.date_and_time)))
            case Error(id=str(id_)):
                self._asked.pop(id_, None)
            case Link(state=state) if state != "up":
                self._asked.clear()
            case _:
                pass
