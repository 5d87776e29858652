"""Events of a session at work, for a journal to write."""

from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.message import Line
from tests.records.turns import stamp


def raw(value: Any) -> Raw:
    return Raw(msgspec.json.encode(value))


def prompt(text: str, session_id: str = "s1") -> ev.SessionHappened:
    return ev.SessionHappened(session_id, "user.message", raw({"content": text}))


def idle(session_id: str = "s1") -> ev.SessionHappened:
    return ev.SessionHappened(session_id, "session.idle", raw({}))


def message(text: str, session_id: str = "s1") -> ev.SessionHappened:
    return ev.SessionHappened(session_id, "assistant.message", raw({"content": text}))


def call(
    id_: str, tool: str, args: Any, result: Any = "done", session_id: str = "s1", **fields: Any
) -> list[ev.Event]:
    """Return the start and the end of a call."""
    began = subjects.Call(id_, session_id, "copilot", tool, "running", stamp(0), args=raw(args))
    told = {"state": "done", "args": None, "data": raw(result), **fields}
    return [ev.CallStarted(session_id, began), ev.CallFinished(session_id, replace(began, **told))]


def line(text: str, stream: str = "log@ci", session_id: str = "s1") -> ev.StreamPosted:
    return ev.StreamPosted(session_id, stream, Line(1, stamp(1), "keep", text))


def permission(id_: str, command: str, session_id: str = "s1", **more: str) -> list[ev.Event]:
    """Return a permission that is asked for and approved by the person."""
    detail = {"kind": "shell", "fullCommandText": command, **more}
    asked = subjects.Approval(id_, "permission", "waiting", detail, stamp(0), stamp(9), session_id)
    decided = replace(asked, state="approved", decided_by="tower")
    return [ev.ApprovalRequested(asked, session_id), ev.ApprovalDecided(decided, session_id)]
