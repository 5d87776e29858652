"""What a session's agent is to reach (`/goal`) and its todo list, as its CLI tells them.

The CLI's events have no text, which is asked for; that of the objective comes twice a turn.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from tapui.hosts.copilot import sdk
from tapui.hosts.copilot.sdk import AttachError
from tapui.hosts.copilot.uplink import SessionUplink
from tapui.text import cut
from tapui.wire import limits
from tapui.wire.codec import raw
from tapui.wire.host import SessionEvent

if TYPE_CHECKING:
    from copilot import CopilotSession

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
        read: "Callable[[CopilotSession], Awaitable[dict[str, Any]]]",
    ) -> None:
        self._uplink = uplink
        self._what, self._event, self._read = what, event, read
        self._told: dict[str, Any] = {}
        self._is_asked = False
        self._is_asking = False
        self._has_changed = False

    def begin(self, session: "CopilotSession") -> None:
        self._is_asked, self._is_asking = True, False
        self.changed(session)

    def changed(self, session: "CopilotSession") -> None:
        self._has_changed = True
        if self._is_asked and not self._is_asking:
            self._is_asking = True
            self._uplink.spawn(self._ask(session))

    async def _ask(self, session: "CopilotSession") -> None:
        while self._has_changed and self._uplink.session is session:
            self._has_changed = False
            try:
                self._tell(await sdk.call(f"ask for the {self._what}", self._read(session)))
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
    async def read(session: "CopilotSession") -> dict[str, Any]:
        state = (await session.rpc.autopilot_objective.get_state()).state
        return {} if state is None else _objective(state)

    return Asked(uplink, "objective", "session.objective", read)


def todos_told(uplink: SessionUplink) -> Asked:
    async def read(session: "CopilotSession") -> dict[str, Any]:
        rows = (await session.rpc.plan.read_sql_todos()).rows
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
    title = (row.title or row.description or row.id or "").strip()
    return {"title": cut(title, limits.MAX_SUMMARY), "state": _todo_state(row)}


def _todo_state(row: Any) -> str:
    return _TODO_STATES.get(row.status or "", "pending")


def _objective(state: Any) -> dict[str, str]:
    reason = state.completion_summary or state.pause_reason or ""
    return {
        "id": str(state.id),
        "text": cut(state.objective.strip(), limits.MAX_CRITERION) or f"objective {state.id}",
        "status": state.status.value,
        "reason": cut(reason, limits.MAX_CRITERION),
    }
