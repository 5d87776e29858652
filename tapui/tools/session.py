"""The tools about the session itself: what it is like, and its mode."""

from typing import Any

from msgspec import Struct

from tapui.tools.definitions import TEXT, BuiltinTool, RefusedError
from tapui.wire.builtin import ModeAnswer, ModeRequest, ModeRequestCancel, StateAnswer, StateRead
from tapui.wire.codec import decode_as
from tapui.wire.message import Message, Mode
from tapui.wire.provider import ToolCall


class NoArguments(Struct):
    """Tools that take nothing."""


class ModeArguments(Struct, forbid_unknown_fields=True):
    """Arguments of `tap_set_session_mode`."""

    mode: Mode
    reason: str | None = None


def read_state(call: ToolCall) -> Message:
    """Ask how the session is, and for its streams."""
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
        "Read this session's mode, model, activity, tools, providers, emitters and waiting "
        "approvals.",
        read_state,
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
