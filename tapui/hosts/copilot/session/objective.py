"""What a session's agent is to reach (`/goal`) and its todo list, as its CLI tells them.

The CLI's events have no text, which is asked for; that of the objective comes twice a turn.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from tapui.hosts.copilot.connection import AttachError, CliSession, objects_of, text_of
from tapui.hosts.copilot.uplink import SessionUplink
from tapui.text import cut
from tapui.wire import limits
from tapui.wire.codec import raw
from tapui.wire.host import SessionEvent

OBJECTIVE_CHANGED = "session.autopilot_objective_changed"
TODOS_CHANGED = "session.todos_changed"


class Asked:
    """Asks one session's CLI for something, and tells the gateway where it has changed.

    One question is under way at a time. A CLI that cannot answer it is asked again by the next
    connection alone. `what` names it in a report, `event` is the event that tells it, whose data
    `read` returns.
    """

    def __init__(
        self,
        uplink: SessionUplink,
        what: str,
        event: str,
        read: Callable[[CliSession, str], Awaitable[dict[str, Any]]],
    ) -> None:
        self._uplink = uplink
        self._what, self._event, self._read = what, event, read
        self._told: dict[str, Any] = {}
        self._is_asked = False
        self._is_asking = False
        self._has_changed = False

    def begin(self, session: CliSession) -> None:
        self._is_asked, self._is_asking = True, False
        self.changed(session)

    def changed(self, session: CliSession) -> None:
        self._has_changed = True
        if self._is_asked and not self._is_asking:
            self._is_asking = True
            self._uplink.spawn(self._ask(session))

    async def _ask(self, session: CliSession) -> None:
        while self._has_changed and self._uplink.session is session:
            self._has_changed = False
            try:
                self._tell(await self._read(session, f"ask for the {self._what}"))
            except AttachError as error:
                self._is_asked = False
                self._uplink.unanswered(error)
        if self._uplink.session is session:
            self._is_asking = False

    def _tell(self, told: dict[str, Any]) -> None:
        if told != self._told:
            self._told = told
            self._uplink.send(SessionEvent(self._uplink.id, self._event, raw(told)))


def objective_told(uplink: SessionUplink) -> Asked:
    async def read(session: CliSession, what: str) -> dict[str, Any]:
        state = (await session.ask(what, "session.autopilotObjective.getState")).get("state")
        return _objective(state) if isinstance(state, dict) else {}

    return Asked(uplink, "objective", "session.objective", read)


def todos_told(uplink: SessionUplink) -> Asked:
    async def read(session: CliSession, what: str) -> dict[str, Any]:
        rows = objects_of(await session.ask(what, "session.plan.readSqlTodos"), "rows")
        todos = [_todo(one) for one in rows[: limits.MAX_TODOS]]
        if len(rows) <= len(todos):
            return {"todos": todos} if todos else {}
        return {"todos": todos, "counts": Counter(map(_todo_state, rows))}

    return Asked(uplink, "todo list", "session.todos", read)


_TODO_STATES = {
    "done": "done",
    "completed": "done",
    "in_progress": "inProgress",
    "blocked": "blocked",
}


def _todo(row: Any) -> dict[str, str]:
    names = (text_of(row, name) for name in ("title", "description", "id"))
    title = next(filter(None, names), "").strip()
    return {"title": cut(title, limits.MAX_SUMMARY), "state": _todo_state(row)}


def _todo_state(row: Any) -> str:
    return _TODO_STATES.get(text_of(row, "status") or "", "pending")


def _objective(state: Any) -> dict[str, str]:
    id_ = str(state.get("id"))
    reason = text_of(state, "completionSummary") or text_of(state, "pauseReason") or ""
    text = (text_of(state, "objective") or "").strip()
    return {
        "id": id_,
        "text": cut(text, limits.MAX_CRITERION) or f"objective {id_}",
        "status": text_of(state, "status") or "",
        "reason": cut(reason, limits.MAX_CRITERION),
    }
