"""When the person is called, and in which words: once a request, rarely, never for what is over."""

from collections.abc import Collection, Sequence

from tapui.projection import asking
from tapui.projection.state import State
from tapui.text import safe_name
from tapui.wire.subjects import Alarm, Approval

QUIET_SECONDS = 10.0
"""Between two calls at least; what comes meanwhile is one call with a count."""

_ASKS = {
    "run": "asks to run a command",
    "write": "asks to write a file",
    "read": "asks to read a file",
    "open": "asks to open a path",
    "fetch": "asks to fetch a URL",
    "call": "asks to call a tool",
    "mode": "asks to switch the mode",
    "question": "asks a question",
    "form": "asks to have a form filled in",
    "budget": "has used up its budget",
}
_OTHERS = "asks for a permission"
_NOT_OF_A_SESSION = {
    "pairing": "a web page or program asks to pair",
    "bindAll": "a provider asks to join all sessions",
    "terminal": "a new terminal wants to answer for you",
    "command": "a command wants to answer for you",
}


class Notices:
    """Remembers what the person was not called for yet. `now` is the app's clock, in seconds."""

    def __init__(self) -> None:
        self._uncalled: dict[str, None] = {}
        self._called: set[str] = set()
        """Those that the person was called for and that still wait: an alarm can be told again."""
        self._called_at: float | None = None

    def asked(self, id_: str) -> None:
        """A request or an alarm has come."""
        if id_ not in self._called:
            self._uncalled[id_] = None

    def forget(self) -> None:
        """Another tower calls the person."""
        self._uncalled.clear()

    def due(self, now: float, waiting: Collection[str]) -> list[str]:
        """Return the requests and alarms to call the person for now; each is returned once.

        `waiting` are those that still wait, or hold. Nothing is due until `QUIET_SECONDS` after
        the last call; a clock that was set back does not make that longer.
        """
        self._uncalled = {id_: None for id_ in self._uncalled if id_ in waiting}
        self._called.intersection_update(waiting)
        if not self._uncalled:
            return []
        if self._called_at is not None and 0 <= now - self._called_at < QUIET_SECONDS:
            return []
        self._called_at = now
        due, self._uncalled = list(self._uncalled), {}
        self._called.update(due)
        return due


_ALARMS = {
    "waiting": "has waited for you for long",
    "quiet": "has had no event for long",
    "failing": "fails again and again",
}


def alarm_words(state: State, alarms: Sequence[Alarm]) -> str:
    """Return a notice about alarms, in the same way."""
    if len(alarms) != 1:
        return f"Look at it: {len(alarms)} alarms"
    (alarm,) = alarms
    label = safe_name(asking.session_name(state, alarm.session_id)) or "something"
    return f"Look at it: {label} {_ALARMS[alarm.kind]}"


def notice_words(state: State, approvals: Sequence[Approval]) -> str:
    """Return a notice about requests: constant words, and of what came from outside only a
    session's label, made safe. It begins with a constant, so that no program takes it for an
    option."""
    if len(approvals) != 1:
        return f"Waiting for you: {len(approvals)} requests"
    (approval,) = approvals
    if approval.kind in _NOT_OF_A_SESSION:
        return f"Waiting for you: {_NOT_OF_A_SESSION[approval.kind]}"
    label = safe_name(asking.session_name(state, approval.session_id)) or "a session"
    return f"Waiting for you: {label} {_ASKS.get(asking.verb(approval), _OTHERS)}"
