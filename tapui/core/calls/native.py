"""Native calls: those of a session's own tools, which its host tells of.

They are shown and recorded beside the providers' calls; the gateway does not dispatch them. One
ends when its host reports it, or with the turn or the session in which it began.
"""

from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct
from msgspec.structs import replace

from tapui.core.calls.calls import completion
from tapui.core.context import CorePart
from tapui.core.model import NativeCall, OpenSession
from tapui.projection.edits import edits
from tapui.projection.summary import one_line
from tapui.wire import limits
from tapui.wire.bounds import Id
from tapui.wire.codec import decode_as, is_null, optional_object
from tapui.wire.errors import CallError
from tapui.wire.events import CallFinished, CallStarted
from tapui.wire.message import OptionalRaw, SessionEvent
from tapui.wire.subjects import Call, CallStanding
from tapui.wire.turns import FileChange

_NO_ARGS = Raw(b"{}")


class _Execution(Struct, rename="camel"):
    tool: Id
    tool_call_id: Id | None = None
    args: OptionalRaw = None
    result: OptionalRaw = None
    duration_ms: float | None = None
    agent_id: Id | None = None
    exit_code: int | None = None
    changes: Annotated[list[FileChange], Meta(max_length=limits.MAX_IDS)] | None = None


class _ExecutionResult(Struct):
    type: Id = "success"
    output: OptionalRaw = None


class NativeCalls(CorePart):
    """Follows the native calls of all sessions."""

    def happened(self, session: OpenSession, host: str, message: SessionEvent) -> Raw:
        """Take a `tool.execution_start` or `tool.execution_complete` of a session.

        Returns the event's data as providers that subscribe get it.
        """
        what = decode_as(message.data, _Execution, "data")
        if message.event == "tool.execution_start":
            self._started(session, host, what)
            return message.data
        return self._completed(session, what)

    def _started(self, session: OpenSession, host: str, what: _Execution) -> None:
        out, id_ = self._out, _id_of(session, what)
        args, args_cut = out.recordable(optional_object(what.args, "data.args") or _NO_ARGS)
        known = session.native_calls.pop(id_, None)
        if known is not None:
            call_id = known.call_id
        else:
            call_id = self._ids.id("call") if id_ in out.state.calls else id_
        if len(session.native_calls) >= limits.MAX_NATIVE_CALLS:
            oldest = session.native_calls.pop(next(iter(session.native_calls)))
            self._give_up(session, oldest, "its end was not reported", CallError.INTERNAL)
        session.native_calls[id_] = NativeCall(call_id, self._clock.now, what.agent_id)
        call = Call(
            id=call_id,
            session_id=session.id,
            provider=host,
            tool=what.tool,
            state="running",
            started_at=self._clock.timestamp(),
            caller=host,
            args=args,
            args_cut=args_cut,
            agent_id=what.agent_id,
        )
        out.emit(CallStarted(session.id, call))

    def _completed(self, session: OpenSession, what: _Execution) -> Raw:
        """Show a call as ended; return its `tool.execution_complete`.

        A host may leave out the arguments, which it told at the start, and the duration.
        """
        out = self._out
        args = optional_object(what.args, "data.args")
        given = optional_object(what.result, "data.result")
        result = _ExecutionResult()
        if given is not None:
            result = decode_as(given, _ExecutionResult, "data.result")
        is_ok = result.type == "success"
        output = None if result.output is None or is_null(result.output) else result.output
        duration = what.duration_ms
        native = session.native_calls.pop(_id_of(session, what), None)
        known = out.state.calls.get(native.call_id) if native is not None else None
        if duration is None:
            duration = self._took(native) if native is not None else 0.0
        done = completion(
            what.tool, args or (known.args if known else None) or _NO_ARGS, output, is_ok, duration
        )
        if native is None or known is None:
            return done
        data, data_cut = out.recordable(output) if output is not None else (None, None)
        out.emit(
            CallFinished(
                session.id,
                replace(
                    known,
                    state="done" if is_ok else "failed",
                    args=None,
                    args_cut=None,
                    data=data,
                    data_cut=data_cut,
                    error=None if is_ok else _reason(output),
                    error_code=None if is_ok else CallError.INTERNAL,
                    duration=duration,
                    exit_code=what.exit_code,
                    changes=_changes(what, args or known.args) if is_ok else None,
                ),
            )
        )
        return done

    def session_with(self, sessions: Iterable[OpenSession], call_id: str) -> OpenSession | None:
        """Return the session in which a call of this id is under way, or None."""
        for session in sessions:
            if any(native.call_id == call_id for native in session.native_calls.values()):
                return session
        return None

    def turn_ended(self, session: OpenSession, why: str, agent_id: str | None = None) -> None:
        """End what a turn left open; with `agent_id`, only the calls of that subagent."""
        for id_, native in list(session.native_calls.items()):
            if agent_id in (None, native.agent_id):
                del session.native_calls[id_]
                self._give_up(session, native, why, CallError.CANCELLED)

    def session_ended(self, session: OpenSession, reason: str) -> None:
        """Fail the calls of a session that can no longer tell how they end."""
        natives = list(session.native_calls.values())
        session.native_calls.clear()
        for native in natives:
            self._give_up(session, native, f"the session ended: {reason}", CallError.DISCONNECTED)

    def _give_up(self, session: OpenSession, native: NativeCall, why: str, code: CallError) -> None:
        """Show a call as ended whose end was not told."""
        known = self._out.state.calls.get(native.call_id)
        if known is None:
            return
        state: CallStanding = "cancelled" if code is CallError.CANCELLED else "failed"
        ended = replace(
            known,
            state=state,
            args=None,
            args_cut=None,
            error=why,
            error_code=code,
            duration=self._took(native),
        )
        self._out.emit(CallFinished(session.id, ended))

    def _took(self, native: NativeCall) -> float:
        return round((self._clock.now - native.started) * 1000, 3)


def _reason(output: Raw | None) -> str:
    """Return why a tool failed: its output, where that is text."""
    text = _text(output) if output is not None else ""
    return one_line(text) or "the tool failed"


def _text(output: Raw) -> str:
    data = bytes(output)
    return msgspec.json.decode(data, type=str) if data.lstrip()[:1] == b'"' else ""


def _changes(what: _Execution, args: Raw | None) -> list[FileChange] | None:
    """Return the files that a call changed, as its host or its arguments say."""
    if what.changes is not None:
        return what.changes[: limits.TURN_FILES] or None
    return (edits(what.tool, args) or None) if args is not None else None


def _id_of(session: OpenSession, what: _Execution) -> str:
    return what.tool_call_id or f"{session.id}-{what.tool}"
