"""What goes on in a session beside its turns, as its CLI tells it when its agent asks.

Each is asked for by itself: a CLI that cannot tell one of them tells the others.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal

from tapui.hosts.copilot.connection import AttachError, CliSession, objects_of, text_of
from tapui.text import cut
from tapui.wire import limits
from tapui.wire.host import HostCanvas, HostSchedule, HostTask, SessionLooked

_WITHIN = limits.LOOK_TIMEOUT - 1.0
"""Seconds for each question: the gateway waits a little longer for all."""
_NO_CONNECTION = "tapui is not connected to the session's program now"
_NAMED = {
    "tasks": ("ask for tasks", "session.tasks.list"),
    "schedules": ("ask for schedules", "session.schedule.list"),
    "canvases": ("ask for canvases", "session.canvas.listOpen"),
}


async def look(id_: str, session: CliSession | None) -> SessionLooked:
    """Return the answer to the `session.look` with this id. It never raises `AttachError`."""
    if session is None:
        names = (*_NAMED, "ui")
        return SessionLooked(id_, unknown=dict.fromkeys(names, _NO_CONNECTION))
    unknown: dict[str, str] = {}

    async def asked(name: str, listed: str, read: Callable[[Any], Any]) -> list[Any] | None:
        what, method = _NAMED[name]
        try:
            told = await session.ask(what, method, within=_WITHIN)
            return [read(item) for item in objects_of(told, listed)[: limits.MAX_LOOKED]]
        except AttachError as error:
            why = str(error)
        except (LookupError, TypeError, ValueError, OverflowError) as error:
            why = f"{what}: the answer cannot be read ({error!r})"
        unknown[name] = cut(why, limits.MAX_SUMMARY)
        return None

    tasks, schedules, canvases = await asyncio.gather(
        asked("tasks", "tasks", _task),
        asked("schedules", "entries", _schedule),
        asked("canvases", "openCanvases", _canvas),
    )
    ui = {str(name)[: limits.MAX_ID]: is_there is True for name, is_there in session.ui.items()}
    ui.setdefault("elicitation", False)
    ui.setdefault("canvases", False)
    return SessionLooked(id_, tasks, schedules, canvases, ui, unknown)


def _task(task: Any) -> HostTask:
    kind: Literal["agent", "shell", "other"] = "other"
    if task.get("type") in ("agent", "shell"):
        kind = task["type"]
    names = (text_of(task, name) for name in ("displayName", "description", "command"))
    active = task.get("activeTimeMs")
    return HostTask(
        str(task["id"])[: limits.MAX_ID],
        kind,
        str(task.get("status"))[: limits.MAX_ID],
        cut(" ".join(next(filter(None, names), "").split()), limits.MAX_NAME),
        text_of(task, "agentType"),
        active if isinstance(active, int | float) else None,
    )


def _schedule(entry: Any) -> HostSchedule:
    shown = text_of(entry, "displayPrompt") or text_of(entry, "prompt") or ""
    name = cut(" ".join(shown.split()), limits.MAX_NAME)
    kind: Literal["timed", "cron", "oneTime", "selfPaced"] = "timed"
    cron, interval = text_of(entry, "cron"), entry.get("intervalMs")
    if entry.get("selfPaced"):
        kind = "selfPaced"
    elif cron:
        kind = "cron"
    elif not entry.get("recurring"):
        kind = "oneTime"
    return HostSchedule(
        name or str(entry["id"]),
        kind,
        None if interval is None else interval / 1000,
        None if cron is None else cron[: limits.MAX_ID],
        datetime.fromisoformat(entry["nextRunAt"])
        .astimezone(UTC)
        .strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    )


def _canvas(canvas: Any) -> HostCanvas:
    title = cut(text_of(canvas, "title") or "", limits.MAX_NAME)
    return HostCanvas(str(canvas["instanceId"])[: limits.MAX_ID], title)
