"""What goes on in a session beside its turns, as its CLI tells it when its agent asks.

Each is asked for by itself: a CLI that cannot tell one of them tells the others.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC
from typing import TYPE_CHECKING, Any, Literal

from tapui.hosts.copilot import sdk
from tapui.hosts.copilot.sdk import AttachError
from tapui.text import cut
from tapui.wire import limits
from tapui.wire.host import HostCanvas, HostSchedule, HostTask, SessionLooked

if TYPE_CHECKING:
    from copilot import CopilotSession

_WITHIN = limits.LOOK_TIMEOUT - 1.0
"""Seconds for each question: the gateway waits a little longer for all."""
_NO_CONNECTION = "tapui is not connected to the session's program now"
_NAMED = {
    "tasks": ("ask for tasks", lambda session: session.rpc.tasks.list()),
    "schedules": ("ask for schedules", lambda session: session.rpc.schedule.list()),
    "canvases": ("ask for canvases", lambda session: session.rpc.canvas.list_open()),
}


async def look(id_: str, session: "CopilotSession | None") -> SessionLooked:
    """Return the answer to the `session.look` with this id. It never raises `AttachError`."""
    if session is None:
        names = (*_NAMED, "ui")
        return SessionLooked(id_, unknown=dict.fromkeys(names, _NO_CONNECTION))
    unknown: dict[str, str] = {}

    async def asked(name: str, read: Callable[[Any], list[Any]]) -> list[Any] | None:
        what, ask = _NAMED[name]
        try:
            return read(await sdk.call(what, _awaited(ask, session), within=_WITHIN))
        except AttachError as error:
            unknown[name] = cut(str(error), limits.MAX_SUMMARY)
            return None

    tasks, schedules, canvases = await asyncio.gather(
        asked("tasks", lambda told: [_task(one) for one in _some(told.tasks)]),
        asked("schedules", lambda told: [_schedule(one) for one in _some(told.entries)]),
        asked("canvases", lambda told: [_canvas(one) for one in _some(told.open_canvases)]),
    )
    shown = session.capabilities.get("ui") or {}
    ui = {str(name)[: limits.MAX_ID]: is_there is True for name, is_there in shown.items()}
    ui.setdefault("elicitation", False)
    ui.setdefault("canvases", False)
    return SessionLooked(id_, tasks, schedules, canvases, ui, unknown)


async def _awaited(ask: "Callable[[CopilotSession], Awaitable[Any]]", session: Any) -> Any:
    """Ask. Raises `AttachError` where this SDK does not have the question."""
    try:
        asking = ask(session)
    except AttributeError:
        raise AttachError("this Copilot SDK does not know that") from None
    return await asking


def _some(listed: Iterable[Any]) -> list[Any]:
    return list(listed)[: limits.MAX_LOOKED]


def _task(task: Any) -> HostTask:
    kind: Literal["agent", "shell", "other"] = "other"
    if task.type in ("agent", "shell"):
        kind = task.type
    name = (
        getattr(task, "display_name", None)
        or getattr(task, "description", None)
        or getattr(task, "command", None)
        or ""
    )
    return HostTask(
        str(task.id)[: limits.MAX_ID],
        kind,
        str(getattr(task.status, "value", task.status))[: limits.MAX_ID],
        cut(" ".join(str(name).split()), limits.MAX_NAME),
        getattr(task, "agent_type", None),
        getattr(task, "active_time_ms", None),
    )


def _schedule(entry: Any) -> HostSchedule:
    shown = entry.to_dict().get("displayPrompt") or entry.prompt
    name = cut(" ".join(shown.split()), limits.MAX_NAME)
    kind: Literal["timed", "cron", "oneTime", "selfPaced"] = "timed"
    if entry.self_paced:
        kind = "selfPaced"
    elif entry.cron:
        kind = "cron"
    elif not entry.recurring:
        kind = "oneTime"
    return HostSchedule(
        name or str(entry.id),
        kind,
        None if entry.interval_ms is None else entry.interval_ms / 1000,
        None if entry.cron is None else entry.cron[: limits.MAX_ID],
        entry.next_run_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    )


def _canvas(canvas: Any) -> HostCanvas:
    return HostCanvas(canvas.instance_id[: limits.MAX_ID], cut(canvas.title or "", limits.MAX_NAME))
