"""The five tools that are in every session (`tap_…`), and what they do when they are called."""

from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

from tapui.wire.builtin import (
    ModeAnswer,
    ModeRequest,
    ModeRequestCancel,
    StateAnswer,
    StateRead,
    StreamPost,
    StreamPostDone,
)
from tapui.wire.codec import decode_as, raw
from tapui.wire.errors import CallError, WireError
from tapui.wire.limits import MAX_HISTORY, MAX_NAME, PROTOCOL_VERSION
from tapui.wire.message import BUILTIN_PROVIDER, Error, Level, Message, Mode, OptionalRaw, Tool
from tapui.wire.provider import Hello, Sessions, ToolCall, ToolCancel, ToolResult
from tapui.wire.tower import StreamLines, StreamRead

_MODE_MARGIN_MS = 5_000


class ToolPort(Protocol):
    """The in-process end that the tools speak through."""

    def send(self, message: Message) -> None:
        """Send a message to the gateway; answers come later."""


class PostArguments(Struct, forbid_unknown_fields=True):
    """Arguments of `tap_post`."""

    stream: str
    message: str
    level: Level = "keep"
    metadata: OptionalRaw = None


class NoArguments(Struct):
    """Tools that take nothing."""


class HistoryArguments(Struct, forbid_unknown_fields=True):
    """Arguments of `tap_stream_history`."""

    stream: str
    last: int = 20


class ModeArguments(Struct, forbid_unknown_fields=True):
    """Arguments of `tap_set_session_mode`."""

    mode: Mode
    reason: str | None = None


_TEXT = {"type": "string"}
_SCHEMAS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "tap_post": (
        (
            "Post a message to one of tapui's own event streams. keep stores it, surface also "
            "shows it in the timeline, inject also sends it into the session as a prompt."
        ),
        {
            "stream": _TEXT | {"description": "Name of the stream, such as notes"},
            "message": _TEXT,
            "level": _TEXT | {"enum": ["keep", "surface", "inject"], "default": "keep"},
            "metadata": {"type": "object", "description": "Stored with the line"},
        },
        ["stream", "message"],
    ),
    "tap_list_streams": ("List the event streams of this session.", {}, []),
    "tap_stream_history": (
        "Read the newest lines of an event stream, oldest first.",
        {
            "stream": _TEXT | {"description": "stream@provider; a bare name is one of tapui's own"},
            "last": {"type": "integer", "minimum": 1, "maximum": MAX_HISTORY, "default": 20},
        },
        ["stream"],
    ),
    "tap_get_session_state": (
        "Read this session's mode, model, activity, tools, providers and waiting approvals.",
        {},
        [],
    ),
    "tap_set_session_mode": (
        "Ask the person to switch this session's mode; it is switched only if they approve.",
        {
            "mode": _TEXT | {"enum": ["interactive", "plan", "autopilot"]},
            "reason": _TEXT | {"description": "Shown to the person"},
        },
        ["mode"],
    ),
}


def definitions(mode_approval: float) -> list[Tool]:
    """Return the tools' definitions; `mode_approval` is how long the person has, in seconds."""
    tools = []
    for name, (description, properties, required) in _SCHEMAS.items():
        parameters: dict[str, Any] = {"type": "object", "properties": properties}
        if required:
            parameters["required"] = required
        timeout = None
        if name == "tap_set_session_mode":
            timeout = mode_approval * 1000 + _MODE_MARGIN_MS
        tools.append(Tool(name, description, raw(parameters), timeout))
    return tools


class BuiltinTools:
    """Answers the calls of the built-in tools. Nothing here waits: answers settle calls."""

    def __init__(
        self,
        open_port: Callable[[Callable[[Message], None], Callable[[], None]], ToolPort],
        mode_approval: float,
    ) -> None:
        self._definitions = definitions(mode_approval)
        self._pending: dict[str, ToolCall] = {}
        self._receivers: dict[type[Message], Callable[[Any], None]] = {
            Sessions: self._on_sessions,
            ToolCall: self._on_call,
            ToolCancel: self._on_cancel,
            StreamPostDone: self._on_posted,
            StreamLines: self._on_lines,
            StateAnswer: self._on_state,
            ModeAnswer: self._on_mode,
            Error: self._on_error,
        }
        self._tools: dict[str, tuple[type[Struct], Callable[[ToolCall, Any], Message]]] = {
            "tap_post": (PostArguments, self._post),
            "tap_list_streams": (NoArguments, self._read_state),
            "tap_stream_history": (HistoryArguments, self._history),
            "tap_get_session_state": (NoArguments, self._read_state),
            "tap_set_session_mode": (ModeArguments, self._set_mode),
        }
        self._port = open_port(self._receive, self._closed)

    def _receive(self, message: Message) -> None:
        receiver = self._receivers.get(type(message))
        if receiver is not None:
            receiver(message)

    def _closed(self) -> None:
        self._pending.clear()

    def _on_sessions(self, _message: Sessions) -> None:
        self._port.send(
            Hello(BUILTIN_PROVIDER, PROTOCOL_VERSION, session="all", tools=self._definitions)
        )

    # Calls

    def _on_call(self, call: ToolCall) -> None:
        arguments, act = self._tools[call.tool]
        try:
            given = decode_as(call.args, arguments, "arguments")
            request = act(call, given)
        except WireError as error:
            self._fail(call.id, CallError.INTERNAL, error.text)
        except ValueError as error:
            self._fail(call.id, CallError.INTERNAL, f"arguments: {error}")
        else:
            self._pending[call.id] = call
            self._port.send(request)

    def _post(self, call: ToolCall, given: PostArguments) -> Message:
        stream = given.stream.removesuffix(f"@{BUILTIN_PROVIDER}")
        if not 1 <= len(stream) <= MAX_NAME or "@" in stream:
            raise ValueError(f"stream: 1 to {MAX_NAME} characters, one of tapui's own")
        if not given.message.strip():
            raise ValueError("message: must not be empty")
        return StreamPost(
            call.id, call.session_id, stream, given.message, given.level, given.metadata
        )

    def _history(self, call: ToolCall, given: HistoryArguments) -> Message:
        if not 1 <= given.last <= MAX_HISTORY:
            raise ValueError(f"last: 1 to {MAX_HISTORY}")
        name = given.stream if "@" in given.stream else f"{given.stream}@{BUILTIN_PROVIDER}"
        return StreamRead(call.id, name, call.session_id, given.last)

    def _read_state(self, call: ToolCall, _given: NoArguments) -> Message:
        return StateRead(call.id, call.session_id)

    def _set_mode(self, call: ToolCall, given: ModeArguments) -> Message:
        return ModeRequest(call.id, call.session_id, given.mode, "Copilot", given.reason)

    def _on_cancel(self, message: ToolCancel) -> None:
        call = self._pending.pop(message.id, None)
        if call is not None and call.tool == "tap_set_session_mode":
            self._port.send(ModeRequestCancel(message.id))
        self._fail(message.id, CallError.CANCELLED, "Cancelled")

    # Answers

    def _on_posted(self, message: StreamPostDone) -> None:
        self._succeed(message.id, {"stream": message.stream, "seq": message.seq})

    def _on_lines(self, message: StreamLines) -> None:
        self._succeed(message.id, message.lines)

    def _on_state(self, message: StateAnswer) -> None:
        call = self._pending.get(message.id)
        wants_streams = call is not None and call.tool == "tap_list_streams"
        self._succeed(message.id, message.streams if wants_streams else message.state)

    def _on_mode(self, message: ModeAnswer) -> None:
        call = self._pending.get(message.id)
        if call is None:
            return
        if message.error is not None:
            del self._pending[message.id]
            text = f"{message.error} (decided by {message.decided_by})"
            self._fail(message.id, CallError.UNAUTHORIZED, text)
            return
        mode = decode_as(call.args, ModeArguments, "arguments").mode
        self._succeed(message.id, {"mode": mode, "decidedBy": message.decided_by})

    def _on_error(self, message: Error) -> None:
        call = self._pending.pop(message.id or "", None)
        if call is not None:
            self._fail(call.id, CallError.INTERNAL, message.message)

    def _succeed(self, call_id: str, data: Any) -> None:
        if self._pending.pop(call_id, None) is not None:
            self._port.send(ToolResult(call_id, data=raw(data)))

    def _fail(self, call_id: str, code: CallError, text: str) -> None:
        self._port.send(ToolResult(call_id, error=text, error_code=code))
