"""Native calls: those of a session's own tools, which its host tells of.

They are shown and recorded beside the providers' calls; the gateway does not dispatch them. One
ends when its host reports it, or with the turn or the session in which it began.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct
from msgspec.structs import replace

from tapui.core.calls.calls import completion
from tapui.core.context import CorePart
from tapui.core.model import NativeCall, OpenSession
from tapui.core.traces import Traces
from tapui.projection.edits import edits
from tapui.projection.summary import one_line
from tapui.secret import without_begun, without_rest
from tapui.wire import limits
from tapui.wire.bounds import Id
from tapui.wire.codec import decode_as, is_null, optional_object, raw
from tapui.wire.errors import CallError
from tapui.wire.events import CallExited, CallFinished, CallProgress, CallStarted
from tapui.wire.message import OptionalRaw, SessionEvent
from tapui.wire.subjects import Call, CallStanding, Shell
from tapui.wire.turns import FileChange

_NO_ARGS = Raw(b"{}")
_CODES = {
    "denied": CallError.DENIED,
    "timeout": CallError.TIMEOUT,
    "cancelled": CallError.CANCELLED,
}
"""The code of a call that did not succeed, by its result's type; else it has failed."""


class _Execution(Struct, rename="camel"):
    tool: Id
    tool_call_id: Id | None = None
    args: OptionalRaw = None
    result: OptionalRaw = None
    duration_ms: float | None = None
    agent_id: Id | None = None
    exit_code: int | None = None
    changes: Annotated[list[FileChange], Meta(max_length=limits.MAX_IDS)] | None = None
    shell: OptionalRaw = None
    answered_by: Id | None = None


class _Printed(Struct, rename="camel"):
    tool_call_id: Id
    partial_output: str = ""


class _Exit(Struct, rename="camel"):
    """How a command ended that went on behind its call."""

    tool_call_id: Id
    exit_code: int
    shell: Shell


class _ExecutionResult(Struct):
    type: Id = "success"
    output: OptionalRaw = None


@dataclass(eq=False, repr=False)
class NativeCalls(CorePart):
    """Follows the native calls of all sessions."""

    traces: Traces

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
            oldest_id = next(iter(session.native_calls))
            oldest = session.native_calls.pop(oldest_id)
            why = "its end was not reported"
            self._give_up(session, oldest_id, oldest, why, CallError.INTERNAL)
        session.native_calls[id_] = NativeCall(
            call_id,
            self._clock.now,
            what.agent_id,
            trace=session.trace,
            parent_id=self.traces.agent_span(session, what.agent_id),
        )
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
        code = _CODES.get(result.type, CallError.INTERNAL)
        output = None if result.output is None or is_null(result.output) else result.output
        duration = what.duration_ms
        id_ = _id_of(session, what)
        native = session.native_calls.get(id_)
        known = out.state.calls.get(native.call_id) if native is not None else None
        if not is_ok and code is CallError.INTERNAL and self._was_denied(session, known, id_):
            code = CallError.DENIED
        shell = _shell(session, known, what.shell)
        session.native_calls.pop(id_, None)
        if duration is None:
            duration = self._took(native) if native is not None else 0.0
        done = completion(
            what.tool, args or (known.args if known else None) or _NO_ARGS, output, is_ok, duration
        )
        if native is None or known is None:
            return done
        data, data_cut = out.recordable(output) if output is not None else (None, None)
        if shell is not None and data_cut is not None and not shell.tail and output is not None:
            shell = _with_ends(shell, _text(output))
        ended = replace(
            known,
            state="done" if is_ok else _standing(code),
            output="",
            args=None,
            args_cut=None,
            data=data,
            data_cut=data_cut,
            error=None if is_ok else _reason(output),
            error_code=None if is_ok else code,
            duration=duration,
            exit_code=what.exit_code,
            shell=shell,
            changes=_changes(what, args or known.args) if is_ok else None,
            answered_by=what.answered_by,
        )
        out.emit(CallFinished(session.id, ended))
        self.traces.own_ended(session, id_, native, ended)
        if shell is not None and shell.is_behind:
            if len(session.behind) >= limits.MAX_NATIVE_CALLS:
                del session.behind[next(iter(session.behind))]
            session.behind[id_] = replace(ended, data=None, data_cut=None, changes=None)
        return done

    def _was_denied(self, session: OpenSession, call: Call | None, id_: str) -> bool:
        """Return whether the permission for a call was denied. Not each host says of the call that
        it ended for that: then it is no failure of the tool all the same."""
        turns = self._out.state.turns.get(session.id)
        latest = turns.latest if turns is not None else None
        ids = {id_} if call is None else {id_, call.id}
        return latest is not None and any(
            step.state == "denied"
            and step.kind in ("call", "subagent")
            and (step.call.id if step.call is not None else step.call_id) in ids
            for step in latest.all_steps()
        )

    def printed(self, session: OpenSession, data: Raw) -> None:
        """Take the newest output of a call under way; what comes too soon is dropped, as the host
        tells the newest again."""
        what = decode_as(data, _Printed, "data")
        native = session.native_calls.get(what.tool_call_id)
        known = self._out.state.calls.get(native.call_id) if native is not None else None
        if native is None or known is None:
            return
        now = self._clock.now
        if native.printed is not None and now - native.printed < limits.LIVE_OUTPUT_INTERVAL:
            return
        output = newest(what.partial_output)
        if output != known.output:
            session.native_calls[what.tool_call_id] = replace(native, printed=now)
            shown = replace(known, output=output, args=None, args_cut=None)
            self._out.emit(CallProgress(session.id, shown))

    def exited(self, session: OpenSession, data: Raw) -> Raw:
        """Take a `shell.completed`; return its data without that of the shell.

        Its shell and code are recorded with the call, if that was one of the session's own shells
        and its command went on behind it.
        """
        fields = decode_as(data, dict[str, Raw], "data")
        told = fields.pop("shell", None)
        if told is None:
            return data
        if not is_null(told) and session.named_shells:
            exit_ = decode_as(data, _Exit, "data")
            known = session.behind.pop(exit_.tool_call_id, None)
            if known is not None:
                shell = replace(exit_.shell, is_behind=True)
                ended = replace(known, exit_code=exit_.exit_code, shell=shell)
                self._out.emit(CallExited(session.id, ended))
        return raw(fields)

    def session_with(self, sessions: Iterable[OpenSession], call_id: str) -> OpenSession | None:
        """Return the session in which a call of this id is under way, or None."""
        for session in sessions:
            if any(native.call_id == call_id for native in session.native_calls.values()):
                return session
        return None

    def turn_ended(
        self,
        session: OpenSession,
        why: str,
        code: CallError = CallError.CANCELLED,
        agent_id: str | None = None,
    ) -> None:
        """End what a turn left open; with `agent_id`, only the calls of that subagent."""
        for id_, native in list(session.native_calls.items()):
            if agent_id in (None, native.agent_id):
                del session.native_calls[id_]
                self._give_up(session, id_, native, why, code)

    def session_ended(self, session: OpenSession, reason: str) -> None:
        """Fail the calls of a session that can no longer tell how they end."""
        natives = list(session.native_calls.items())
        session.native_calls.clear()
        why = f"the session ended: {reason}"
        for id_, native in natives:
            self._give_up(session, id_, native, why, CallError.DISCONNECTED)

    def _give_up(
        self, session: OpenSession, id_: str, native: NativeCall, why: str, code: CallError
    ) -> None:
        """Show a call as ended whose end was not told."""
        known = self._out.state.calls.get(native.call_id)
        if known is None:
            return
        ended = replace(
            known,
            state=_standing(code),
            output="",
            args=None,
            args_cut=None,
            error=why,
            error_code=code,
            duration=self._took(native),
        )
        self._out.emit(CallFinished(session.id, ended))
        self.traces.own_ended(session, id_, native, ended)

    def _took(self, native: NativeCall) -> float:
        return round((self._clock.now - native.started) * 1000, 3)


def _shell(session: OpenSession, call: Call | None, told: OptionalRaw) -> Shell | None:
    """Return what the shell of a call told; None for a call of anything but the session's shells.

    A provider's tool may have a shell's name, and a host may not tell them apart.
    """
    if told is None or is_null(told) or call is None:
        return None
    if call.tool not in session.named_shells or call.tool in session.tools:
        return None
    shell: Shell = decode_as(told, Shell, "data.shell")
    return shell


def _with_ends(shell: Shell, output: str) -> Shell:
    """Return it with the ends of an output that is too long for its record."""
    tail = output[-limits.MAX_SHELL_TEXT :]
    if not (head := output[: len(output) - len(tail)][: limits.MAX_SHELL_TEXT]):
        return replace(shell, tail=tail)
    return replace(shell, head=without_begun(head), tail=without_rest(tail))


def newest(output: str) -> str:
    """Return the end of an output, as long as its limit is in bytes."""
    end = output[-limits.MAX_LIVE_OUTPUT :].encode("utf-8", "replace")
    return end[-limits.MAX_LIVE_OUTPUT :].decode("utf-8", "ignore")


def _standing(code: CallError) -> CallStanding:
    return "cancelled" if code in (CallError.CANCELLED, CallError.STOPPED) else "failed"


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
