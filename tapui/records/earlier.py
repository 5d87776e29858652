"""The turns of a session's earlier runs, out of the end of its records.

An agent can write to these files: what they say becomes turns and nothing else, within bounds.
"""

import contextlib
import time
from pathlib import Path

from msgspec.structs import replace

from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.projection.turns.restored import bounded, interrupted
from tapui.projection.turns.session import LiveTurns
from tapui.records.reader import Damage, Record, backward, in_order
from tapui.wire import events as ev
from tapui.wire.turns import Turn

_COLLECTIONS = ("sessions", "calls", "approvals", "modes")
_MOST_BYTES = 8 * 1024 * 1024
"""Of each file."""
_MOST_RECORDS = 10_000
"""Of each collection."""
_MOST_TIME = 2.0
"""Seconds for all of it; what is older than what was read by then is left out."""
_KINDS = (
    ev.SessionHappened,
    ev.TurnsRestored,
    ev.SessionUpdated,
    ev.CallStarted,
    ev.CallFinished,
    ev.ApprovalRequested,
    ev.ApprovalDecided,
    ev.ApprovalWithdrawn,
    ev.ApprovalExpired,
    ev.ModeChanged,
    ev.GateChecked,
)


def earlier_turns(folder: Path, run: str, session_id: str) -> list[Turn]:
    """Return the newest turns of a session before `run`, oldest first.

    What was under way when a run ended is unknown. Raises `OSError` when a file cannot be read.
    """
    deadline = time.monotonic() + _MOST_TIME
    found = [
        record
        for collection in _COLLECTIONS
        for record in _newest(folder, collection, run, session_id, deadline)
    ]
    state, latest = State(turns={session_id: LiveTurns(session_id)}), ""
    live, last = state.turns[session_id], ""
    for record in in_order(found):
        if latest and record.run != latest:
            interrupted(live, last)
        latest, last = record.run, record.ts
        event = record.event
        if isinstance(event, ev.TurnsRestored):
            event = replace(event, turns=bounded(event.turns))
        if event is not None:
            fold(state, event, record.ts)
    interrupted(live, last)
    return bounded(turn.told() for turn in live.turns)


def _newest(
    folder: Path, collection: str, run: str, session_id: str, deadline: float
) -> list[Record]:
    found: list[Record] = []
    with contextlib.closing(backward(folder, collection, Damage(), most=_MOST_BYTES)) as records:
        for number, record in enumerate(records):
            if number >= _MOST_RECORDS or time.monotonic() > deadline:
                break
            is_wanted = isinstance(record.event, _KINDS) and record.session_id == session_id
            if record.run != run and is_wanted:
                found.append(record)
    return found
