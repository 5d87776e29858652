"""The built-in tools for streams, and for the session itself: its state, its mode."""

from typing import Any

from msgspec import Struct

from tapui.emitters.config.arguments import ToolArguments
from tapui.tools.definitions import TEXT, BuiltinTool, Pages, RefusedError, object_of
from tapui.wire.builtin import (
    EmitterAnswer,
    InjectorAsked,
    ModeAnswer,
    ModeRequest,
    ModeRequestCancel,
    StateAnswer,
    StateRead,
    StreamPost,
    StreamPostDone,
)
from tapui.wire.codec import decode_as, decode_object, optional_object, raw
from tapui.wire.limits import MAX_HISTORY, MAX_NAME
from tapui.wire.message import BUILTIN_PROVIDER, Level, Message, Mode, OptionalRaw
from tapui.wire.provider import ToolCall
from tapui.wire.tower import StreamLines, StreamRead


class NoArguments(Struct):
    """Tools that take nothing."""


class ModeArguments(Struct, forbid_unknown_fields=True):
    """Arguments of `tap_set_session_mode`."""

    mode: Mode
    reason: str | None = None


def _read_state(call: ToolCall) -> Message:
    decode_as(call.args, NoArguments, "arguments")
    return StateRead(call.id, call.session_id, looks=True)


def _read_streams(call: ToolCall) -> Message:
    decode_as(call.args, NoArguments, "arguments")
    return StateRead(call.id, call.session_id)


def _told_state(_call: ToolCall, answer: StateAnswer) -> Any:
    return answer.state


def _set_mode(call: ToolCall) -> Message:
    given = decode_as(call.args, ModeArguments, "arguments")
    return ModeRequest(call.id, call.session_id, given.mode, "Copilot", given.reason)


def _told_mode(call: ToolCall, answer: ModeAnswer) -> Any:
    if answer.error is not None:
        raise RefusedError(f"{answer.error} (decided by {answer.decided_by})")
    mode = decode_as(call.args, ModeArguments, "arguments").mode
    return {"mode": mode, "decidedBy": answer.decided_by}


SESSION_TOOLS = (
    BuiltinTool(
        "tap_get_session_state",
        "Read this session's mode, model, activity, context, tasks, schedules, canvases, tools, "
        "providers, emitters, goals, reviews, spans and waiting approvals. What is null is not "
        "known: `unknown` says why.",
        _read_state,
        _told_state,
        {},
    ),
    BuiltinTool(
        "tap_set_session_mode",
        "Ask the person to switch this session's mode; it is switched only if they approve.",
        _set_mode,
        _told_mode,
        {
            "mode": TEXT | {"enum": ["interactive", "plan", "autopilot"]},
            "reason": TEXT | {"description": "Shown to the person"},
        },
        ("mode",),
        patience=lambda timeouts: timeouts.mode_approval,
        withdraw=ModeRequestCancel,
    ),
)


_USUAL = 20


class PostArguments(Struct, forbid_unknown_fields=True):
    """Arguments of `tap_post`; `channel`, `source` and `description` are the earlier extension's.

    A `source` is kept in the line's metadata; a stream has no description.
    """

    message: str
    stream: str = ""
    channel: str = ""
    level: Level = "keep"
    metadata: OptionalRaw = None
    source: str | None = None
    description: str | None = None


class HistoryArguments(Struct, forbid_unknown_fields=True):
    """Arguments of `tap_stream_history`; `channel` and `limit` are the earlier extension's."""

    stream: str = ""
    channel: str = ""
    last: int = _USUAL
    limit: Any = None
    cursor: str | None = None


def _post(call: ToolCall) -> Message:
    given = decode_as(call.args, PostArguments, "arguments")
    stream = (given.stream or given.channel).removesuffix(f"@{BUILTIN_PROVIDER}")
    if not 1 <= len(stream) <= MAX_NAME or "@" in stream:
        raise ValueError(f"stream: 1 to {MAX_NAME} characters, one of tapui's own")
    if not given.message.strip():
        raise ValueError("message: must not be empty")
    metadata = given.metadata
    if given.source is not None:
        told = optional_object(given.metadata, "metadata")
        former: dict[str, Any] = {} if told is None else decode_object(told, "metadata")
        metadata = raw({"source": given.source, **former})
    return StreamPost(call.id, call.session_id, stream, given.message, given.level, metadata)


def _posted(_call: ToolCall, answer: StreamPostDone) -> Any:
    return {"stream": answer.stream, "seq": answer.seq}


def _history(call: ToolCall) -> Message:
    given = decode_as(call.args, HistoryArguments, "arguments")
    name = given.stream or given.channel
    if not name:
        raise ValueError("stream: missing")
    is_old = given.limit is not None and given.last == _USUAL
    last = _limited(given.limit) if is_old else given.last
    if not 1 <= last <= MAX_HISTORY:
        raise ValueError(f"last: 1 to {MAX_HISTORY}")
    full = name if "@" in name else f"{name}@{BUILTIN_PROVIDER}"
    return StreamRead(call.id, full, call.session_id, last)


def _limited(limit: Any) -> int:
    """Return how many lines the earlier extension's `limit` means; any value is accepted."""
    if isinstance(limit, bool) or not isinstance(limit, int | float):
        return _USUAL
    return int(min(max(limit, 1), MAX_HISTORY))


def _lines(_call: ToolCall, answer: StreamLines) -> Any:
    return answer.lines


def _listed(_call: ToolCall, answer: StateAnswer) -> Any:
    return answer.streams


def _injector(call: ToolCall, *, enabled: bool) -> Message:
    stream, delivery = ToolArguments(object_of(call)).injector()
    return InjectorAsked(call.id, call.session_id, stream, enabled, delivery)


def _told_injector(_call: ToolCall, answer: EmitterAnswer) -> Any:
    if answer.error is not None or answer.emitter is None:
        raise RefusedError(answer.error or "the stream is not there")
    emitter = answer.emitter
    return {
        "stream": emitter.stream,
        "sessionInjector": "off" if emitter.injector == "disabled" else "on",
        "delivery": emitter.delivery,
        "lifespan": "temporary",
        "ownership": "modelOwned",
    }


_STREAM = TEXT | {"description": "The stream's name"}
_PERSONS = "Only for streams of emitters that you started; others are the person's."

STREAM_TOOLS = (
    BuiltinTool(
        "tap_post",
        "Post a message to one of tapui's own event streams. keep stores it, surface also "
        "shows it in the timeline, inject also sends it into the session as a prompt.",
        _post,
        _posted,
        {
            "stream": TEXT | {"description": "Name of the stream, such as notes"},
            "message": TEXT,
            "level": TEXT | {"enum": ["keep", "surface", "inject"], "default": "keep"},
            "metadata": {"type": "object", "description": "Stored with the line"},
        },
        ("stream", "message"),
        former=frozenset({"channel", "source", "description"}),
    ),
    BuiltinTool(
        "tap_list_streams",
        "List the event streams of this session, and which emitters post to each.",
        _read_streams,
        _listed,
        {},
        pages=Pages("streams", "stream"),
    ),
    BuiltinTool(
        "tap_stream_history",
        "Read the newest lines of an event stream, oldest first.",
        _history,
        _lines,
        {
            "stream": TEXT | {"description": "stream@provider; a bare name is one of tapui's own"},
            "last": {"type": "integer", "minimum": 1, "maximum": MAX_HISTORY, "default": _USUAL},
        },
        ("stream",),
        pages=Pages("lines", "seq", is_newest_last=True),
        former=frozenset({"channel", "limit"}),
    ),
)
INJECTOR_TOOLS = (
    BuiltinTool(
        "tap_enable_injector",
        "Let lines of a stream reach this session as prompts: those that the filter injects, or "
        f"with delivery all every line that it keeps. {_PERSONS}",
        lambda call: _injector(call, enabled=True),
        _told_injector,
        {
            "stream": _STREAM,
            "delivery": TEXT | {"enum": ["surface", "important", "all"], "default": "surface"},
        },
        ("stream",),
        former=frozenset({"channel"}),
    ),
    BuiltinTool(
        "tap_disable_injector",
        "Let no line of a stream reach this session as a prompt: they are stored and shown. "
        f"{_PERSONS}",
        lambda call: _injector(call, enabled=False),
        _told_injector,
        {"stream": _STREAM},
        ("stream",),
        former=frozenset({"channel"}),
    ),
)
