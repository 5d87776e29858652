"""What happened in a session before tapui ran: the end of its own `events.jsonl`, as turns.

The file is the CLI's, and its agent can write to it: every line is taken for what anybody may
have written. It is read without the CLI.
"""

import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from tapui.hosts.copilot.session.prompts import OWN_SOURCE, SENT_BACK, SentPrompts, notice_words
from tapui.hosts.copilot.session.shells import (
    RUNNING,
    exit_code,
    result_type,
    shell_behind,
    shell_ended,
)
from tapui.projection.edits import diff_lines
from tapui.projection.summary import one_line, summary
from tapui.projection.turns.decisions import mode_changed, model_changed
from tapui.projection.turns.earlier_turns import bounded, interrupted
from tapui.projection.turns.session import LiveTurns, call_finished, call_started
from tapui.projection.turns.session_events import happened
from tapui.wire import limits
from tapui.wire.codec import raw
from tapui.wire.errors import CallError
from tapui.wire.events import AnyEvent, CallFinished, CallStarted, ModeChanged, SessionHappened
from tapui.wire.subjects import Call
from tapui.wire.turns import FileChange, Turn

_MOST_BYTES = 4 * 1024 * 1024
_MOST_OPEN = 10_000
"""Calls, shells and prompts that are remembered; the oldest is forgotten beyond that."""
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_Kept = TypeVar("_Kept")
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{3,6})Z\Z")
_HOST = "copilot"
_PASSED_ON = frozenset(
    {
        "assistant.intent",
        "session.error",
        "session.compaction_start",
        "abort",
        "subagent.completed",
        "subagent.failed",
    }
)
"""Events whose data already has the fields of the host conversation."""
FOLDED = _PASSED_ON | {
    "hook.end",
    "user.message",
    "assistant.turn_start",
    "assistant.message",
    "session.usage_record",
    "session.compaction_complete",
    "subagent.started",
    "tool.execution_start",
    "tool.execution_complete",
    "session.mode_changed",
    "session.model_change",
    "system.notification",
}
"""All events that the history is made of."""


@dataclass(slots=True, frozen=True)
class OpenCall:
    """A call that has begun, and has not ended as far as the file tells."""

    id: str
    tool: str
    at: str
    args: Any
    agent: str | None


@dataclass(slots=True, frozen=True)
class Earlier:
    """The turns of a session, oldest first, and the calls under way in the newest one."""

    turns: list[Turn]
    calls: list[OpenCall]
    prompts: dict[str, str] = field(default_factory=dict)
    """When each prompt was given, by its event's id."""


def read(workspace: Path, session_id: str, before: datetime, *, is_busy: bool) -> Earlier:
    """Return what happened in the session up to `before`; nothing where the file has nothing.

    With `is_busy`, the newest turn goes on. Raises `OSError` when the file cannot be read.
    """
    history = HistoryFold(session_id, before.isoformat(timespec="microseconds")[:26] + "Z")
    for line in _lines(workspace / "events.jsonl"):
        history.take(line)
    return history.told(is_busy=is_busy)


def _lines(path: Path) -> list[bytes]:
    try:
        fd = os.open(path, _FLAGS)
    except FileNotFoundError:
        return []
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            return []
        start = max(found.st_size - _MOST_BYTES, 0)
        lines = os.pread(fd, min(found.st_size, _MOST_BYTES), start).split(b"\n")
    finally:
        os.close(fd)
    return lines[1 if start else 0 : -1]


class HistoryFold:
    """Folds the CLI's events as the gateway folds what this host tells live.

    `on_event` gets each event in the form in which the gateway would have recorded it, and its
    time. A change of the model is left to the session's own row.
    """

    def __init__(
        self,
        session_id: str,
        before: str = "9",
        on_event: Callable[[AnyEvent, str], None] = lambda _event, _at: None,
    ) -> None:
        self._live = LiveTurns(session_id)
        self._before = before
        self._on_event = on_event
        self._last = ""
        self._calls: dict[str, OpenCall] = {}
        self._sent = SentPrompts()
        self._behind: dict[str, dict[str, str]] = {}
        """The calls whose commands went on in the background, by their shells."""
        self._prompts: dict[str, str] = {}
        self._is_resting = False
        """Whether the agent has ended its turn, as far as the file tells: its last message called
        no tool. The file has no `session.idle`."""

    def take(self, line: bytes) -> None:
        """Take a line; one that is no event of the CLI's changes nothing."""
        try:
            event = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return
        if isinstance(event, dict):
            self.take_event(event)

    def take_event(self, event: Mapping[str, Any]) -> None:
        """Take what a line holds."""
        name, data, at = event.get("type"), event.get("data"), time_of(event.get("timestamp"))
        if not isinstance(name, str) or not isinstance(data, dict) or at is None:
            return
        agent, id_ = event.get("agentId"), event.get("id")
        if name == "user.message" and agent is None and isinstance(id_, str) and at < self._before:
            _remember(self._prompts, id_[: limits.MAX_ID], at)
        self.take_told(name, data, at, agent)

    def take_told(self, name: str, data: dict[str, Any], at: str, agent: Any) -> None:
        """Take an event at a time as `time_of` returns it."""
        if at < self._before:
            self._fold(name, data, at, agent if isinstance(agent, str) else None)
            self._last = max(self._last, at)

    def told(self, *, is_busy: bool) -> Earlier:
        live = self._live
        turn = live.running
        calls = [self._calls[id_] for id_ in live.open if id_ in self._calls] if is_busy else []
        if not is_busy and turn is not None and not live.open:
            self._ended()
        elif not is_busy or turn is None:
            interrupted(live, self._last)
        return Earlier(bounded(one.told() for one in live.turns), calls, self._prompts)

    def end(self) -> str:
        """End the newest turn where nothing of it is under way; return when it all ended."""
        if not self._live.open:
            self._ended()
        return self._last

    def _ended(self) -> None:
        """The turn under way ended: the file does not say so, what comes next does."""
        if self._live.running is not None:
            self._happened("session.idle", {}, self._last)

    def _fold(self, name: str, data: dict[str, Any], at: str, agent: str | None) -> None:
        live = self._live
        match name:
            case "hook.end" if agent is None:
                self._sent.by_hook(str(data.get("hookType")), data.get("output"))
            case "user.message" if agent is None:
                self._is_resting = False
                if self._sent.take(str(data.get("content"))) is not None:
                    self._happened("prompt.automatic", {**data, **SENT_BACK}, at)
                    return
                if data.get("delivery") != "steering":
                    self._ended()
                is_own = data.get("source") in (None, "user")
                if data.get("isAutopilotContinuation") is True:
                    self._happened("prompt.automatic", {**data, "source": "autopilot"}, at)
                else:
                    self._happened("user.message" if is_own else "prompt.automatic", data, at)
            case "assistant.turn_start" if agent is None:
                self._is_resting = False
            case "assistant.message":
                if agent is None:
                    self._is_resting = not data.get("toolRequests")
                self._happened(name, {"content": data.get("content")}, at, agent)
            case "session.usage_record":
                usage = data.get("usage")
                self._happened("assistant.usage", usage, at, agent)
            case "session.compaction_complete":
                told = {**data, "tokensBefore": data.get("preCompactionTokens")}
                self._happened(name, told, at, agent)
            case "subagent.started":
                told = {**data, "remoteSessionId": agent or data.get("toolCallId")}
                self._happened(name, told, at)
            case "tool.execution_start":
                self._started(data, at, agent)
            case "tool.execution_complete":
                self._completed(data, at)
            case "session.mode_changed" if agent is None:
                mode, former = data.get("newMode"), data.get("previousMode")
                if mode in ("interactive", "plan", "autopilot"):
                    source = former if former in ("interactive", "plan", "autopilot") else None
                    said = ModeChanged(
                        session_id=live.session_id, mode=mode, state="done", by="", source=source
                    )
                    mode_changed(live, said, at)
                    self._on_event(said, at)
            case "session.model_change" if agent is None:
                before, after = data.get("previousModel"), data.get("newModel")
                if isinstance(after, str) and isinstance(before, str) and before != after:
                    model_changed(live, before, after, at)
            case "system.notification":
                self._notified(data, at)
                words = notice_words(data) if agent is None else None
                if words is not None and self._is_resting:
                    self._ended()
                    self._happened("prompt.automatic", {"content": words, "source": OWN_SOURCE}, at)
                    self._is_resting = False
            case _ if name in _PASSED_ON:
                self._happened(name, data, at, agent)

    def _happened(self, name: str, data: Any, at: str, agent: str | None = None) -> None:
        if isinstance(data, dict):
            told = {**data, "agentId": agent} if agent is not None else data
            event = SessionHappened(self._live.session_id, name, raw(told))
            happened(self._live, event, at)
            self._on_event(event, at)

    def _started(self, data: Mapping[str, Any], at: str, agent: str | None) -> None:
        id_, tool = data.get("toolCallId"), data.get("toolName")
        if not isinstance(id_, str) or not isinstance(tool, str):
            return
        call = Call(
            id=id_,
            session_id=self._live.session_id,
            provider=_HOST,
            tool=tool,
            state="running",
            started_at=at,
            args=raw(data.get("arguments") or {}),
            agent_id=agent,
        )
        _remember(self._calls, id_, OpenCall(id_, tool, at, data.get("arguments"), agent))
        call_started(self._live, call, at)
        self._on_event(CallStarted(self._live.session_id, call), at)

    def _completed(self, data: Mapping[str, Any], at: str) -> None:
        id_ = data.get("toolCallId")
        if not isinstance(id_, str) or id_ not in self._calls:
            return
        began = self._calls.pop(id_)
        tool = began.tool
        if tool in RUNNING and (shell := shell_behind(data)) is not None:
            command = summary(tool, began.args)
            behind = {"toolCallId": id_, "tool": tool, "command": command}
            _remember(self._behind, shell, behind)
        ended = result_type(data)
        is_ok = ended == "success"
        done = Call(
            id=id_,
            session_id=self._live.session_id,
            provider=_HOST,
            tool=tool,
            state="done" if is_ok else "failed",
            started_at=began.at,
            duration=_milliseconds(began.at, at),
            exit_code=exit_code(data),
            changes=changes(data) if is_ok else None,
            error_code=_CODES.get(ended),
        )
        done = done if is_ok else replace(done, error=_error(data))
        call_finished(self._live, done, at)
        self._on_event(CallFinished(self._live.session_id, done), at)

    def _notified(self, data: Mapping[str, Any], at: str) -> None:
        ended = shell_ended(data)
        call = self._behind.pop(ended[0], None) if ended is not None else None
        if ended is not None and call is not None:
            self._happened("shell.completed", {**call, "exitCode": ended[1]}, at)


def _remember(known: dict[str, _Kept], name: str, value: _Kept) -> None:
    known[name] = value
    if len(known) > _MOST_OPEN:
        del known[next(iter(known))]


_CODES = {"denied": CallError.DENIED, "timeout": CallError.TIMEOUT}


def _error(data: Mapping[str, Any]) -> str:
    error = data.get("error")
    message = error.get("message") if isinstance(error, Mapping) else None
    return one_line(message) if isinstance(message, str) else "the tool failed"


def time_of(text: Any) -> str | None:
    """Return a time with microseconds, or None for what is none."""
    found = _TIME.match(text) if isinstance(text, str) else None
    return None if found is None else f"{found[1]}.{found[2]:0<6}Z"


def _milliseconds(began: str, ended: str) -> float | None:
    try:
        took = datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    except ValueError:
        return None
    return max(round(took.total_seconds() * 1000, 3), 0.0)


def changes(data: Mapping[str, Any], written: Sequence[str] = ()) -> list[FileChange] | None:
    """Return the files that a call changed: as the CLI says, else those its command seems to write.

    None where neither says anything.
    """
    paths = [path for edit in _list(data.get("fileEdits")) if (path := _path(edit))]
    if not paths:
        probable = [FileChange(path, is_probable=True) for path in written if path]
        return probable[: limits.TURN_FILES] or None
    result = data.get("result")
    diff = result.get("detailedContent") if isinstance(result, Mapping) else None
    lines = diff_lines(diff) if isinstance(diff, str) else {}
    if len(paths) == 1 and len(lines) == 1:
        return [FileChange(paths[0], *next(iter(lines.values())))]
    return [
        FileChange(path, *lines.get(path.lstrip("/"), (None, None)))
        for path in paths[: limits.TURN_FILES]
    ]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _path(edit: Any) -> str:
    path = edit.get("path") if isinstance(edit, Mapping) else None
    return path if isinstance(path, str) else ""
