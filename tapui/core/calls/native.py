"""Native calls: those of a session's own tools, which its host tells of.

They are shown and recorded beside the providers' calls; the gateway does not dispatch them.
"""

from msgspec import Raw, Struct
from msgspec.structs import replace

from tapui.core.clock import Clock
from tapui.core.mint import Mint
from tapui.core.model import OpenSession
from tapui.core.output import Output
from tapui.wire.codec import decode_as, optional_object, raw
from tapui.wire.errors import CallError
from tapui.wire.events import Call, CallFinished, CallStarted
from tapui.wire.message import OptionalRaw, SessionEvent


class _Execution(Struct, rename="camel"):
    tool: str
    tool_call_id: str | None = None
    args: Raw = Raw(b"{}")
    result: OptionalRaw = None
    duration_ms: float | None = None


class _ExecutionResult(Struct):
    type: str = "success"
    output: OptionalRaw = None


class NativeCalls:
    """Follows the native calls of all sessions."""

    def __init__(
        self,
        *,
        clock: Clock,
        out: Output,
        mint: Mint,
    ) -> None:
        self._clock = clock
        self._out = out
        self._mint = mint

    def happened(self, session: OpenSession, host: str, message: SessionEvent) -> None:
        """Take a `tool.execution_start` or `tool.execution_complete` of a session."""
        what = decode_as(message.data, _Execution, "data")
        if message.event == "tool.execution_start":
            self._started(session, host, what)
        else:
            self._completed(session, what)

    def _started(self, session: OpenSession, host: str, what: _Execution) -> None:
        out, id_ = self._out, _id_of(session, what)
        args, args_cut = out.recordable(what.args)
        call_id, _ = session.own_calls.get(id_, (id_, 0.0))
        if id_ not in session.own_calls and id_ in out.state.calls:
            call_id = self._mint.id("call")
        session.own_calls[id_] = (call_id, self._clock.now)
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
        )
        out.emit(CallStarted(session.id, call))

    def _completed(self, session: OpenSession, what: _Execution) -> None:
        out = self._out
        given = optional_object(what.result, "data.result")
        result = _ExecutionResult()
        if given is not None:
            result = decode_as(given, _ExecutionResult, "data")
        call_id, started = session.own_calls.pop(_id_of(session, what), ("", 0.0))
        known = out.state.calls.get(call_id)
        if known is None:
            return
        is_ok = result.type == "success"
        data, data_cut = out.recordable(result.output) if result.output else (None, None)
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
                    error=None if is_ok else "the tool failed",
                    error_code=None if is_ok else CallError.INTERNAL,
                    duration=what.duration_ms or self._took(started),
                ),
            )
        )

    def forwarded(self, data: Raw) -> Raw:
        """Return the data of a `tool.execution_complete` as providers that subscribe are told it.

        The call's arguments are added, which the host tells at its start only.
        """
        what = decode_as(data, _Execution, "data")
        known = self._out.state.recent_calls.get(what.tool_call_id or "")
        return raw(
            {
                "tool": what.tool,
                "args": known.args if known is not None and known.args else what.args,
                "result": what.result or Raw(b"{}"),
                "durationMs": what.duration_ms,
            }
        )

    def session_ended(self, session: OpenSession, reason: str) -> None:
        """Fail the calls of a session that can no longer tell how they end."""
        out = self._out
        for call_id, started in session.own_calls.values():
            known = out.state.calls.get(call_id)
            if known is not None:
                ended = replace(
                    known,
                    state="failed",
                    args=None,
                    args_cut=None,
                    error=f"the session ended: {reason}",
                    error_code=CallError.DISCONNECTED,
                    duration=self._took(started),
                )
                out.emit(CallFinished(session.id, ended))
        session.own_calls.clear()

    def _took(self, started: float) -> float:
        return round((self._clock.now - started) * 1000, 3)


def _id_of(session: OpenSession, what: _Execution) -> str:
    return what.tool_call_id or f"{session.id}-{what.tool}"
