"""Tool calls: one terminal outcome each, whatever provider, caller and clock do.

Core Profile "Tool call terminal semantics"; design section 5, "Calls".
"""

from msgspec import Raw
from msgspec.structs import replace

from tapui.core.connection import Connection
from tapui.core.deadlines import Deadline, Deadlines, Due
from tapui.core.mint import Mint
from tapui.core.output import Output
from tapui.core.providers import ConnectedProvider
from tapui.core.sessions import OpenSession
from tapui.core.tools import RegisteredTool
from tapui.wire import limits
from tapui.wire.errors import CallError
from tapui.wire.events import Call, CallCancelling, CallFinished, CallProgress, CallStarted
from tapui.wire.message import FileResult, ToolInvoke, ToolOutcome, ToolProgress
from tapui.wire.provider import ToolCall, ToolCancel, ToolResult


class PendingCall:
    """A call under way. Once settled it is only absorbed: the caller has its outcome."""

    __slots__ = (
        "caller",
        "deadline",
        "invoke_id",
        "is_settled",
        "provider",
        "session",
        "started",
        "view",
    )

    def __init__(
        self,
        *,
        view: Call,
        session: OpenSession,
        provider: ConnectedProvider,
        caller: Connection,
        invoke_id: str,
        started: float,
    ) -> None:
        self.view = view
        self.session = session
        self.provider = provider
        self.caller = caller
        self.invoke_id = invoke_id
        self.started = started
        self.is_settled = False
        self.deadline: Deadline | None = None


class Calls:
    """All calls under way."""

    def __init__(self, out: Output, deadlines: Deadlines, mint: Mint, timeout: float) -> None:
        self._out = out
        self._deadlines = deadlines
        self._mint = mint
        self._timeout_ms = timeout * 1000
        self.pending: dict[str, PendingCall] = {}

    def start(
        self, session: OpenSession, entry: RegisteredTool, caller: Connection, invoke: ToolInvoke
    ) -> None:
        """Dispatch a call to its provider."""
        out, provider = self._out, entry.provider
        timeout = self._timeout_ms
        if entry.tool.timeout is not None and entry.tool.timeout < timeout:
            timeout = entry.tool.timeout
        if invoke.timeout is not None and invoke.timeout < timeout:
            timeout = invoke.timeout
        call_id = self._mint.id("call")
        args, args_cut = out.recordable(invoke.args)
        view = Call(
            id=call_id,
            session_id=session.id,
            provider=provider.name,
            tool=invoke.tool,
            state="running",
            started_at=out.timestamp(),
            timeout=timeout,
            provider_id=provider.id,
            caller=caller.name,
            args=args,
            args_cut=args_cut,
        )
        call = PendingCall(
            view=view,
            session=session,
            provider=provider,
            caller=caller,
            invoke_id=invoke.id,
            started=out.now,
        )
        call.deadline = self._deadlines.add(out.now + timeout / 1000, Due.CALL, call)
        self.pending[call_id] = provider.calls[call_id] = caller.invokes[invoke.id] = call
        provider.running += 1
        out.emit(CallStarted(session.id, view))
        out.send(provider.connection.id, ToolCall(call_id, session.id, invoke.tool, invoke.args))

    def progress(self, call: PendingCall, message: str) -> None:
        """Pass a status on to the caller."""
        call.view = replace(call.view, progress=message, args=None, args_cut=None)
        self._out.emit(CallProgress(call.view.session_id, call.view))
        self._out.send(call.caller.id, ToolProgress(call.invoke_id, message))

    def result(self, call: PendingCall, result: ToolResult) -> None:
        """Take the provider's answer, already checked to be exactly one of data, error, file."""
        if call.is_settled:
            self._absorb(call)
            return
        self._forget(call)
        if result.error is not None or result.error_code is not None:
            code = result.error_code or CallError.INTERNAL
            self._fail(call, result.error or code, code, retryable=result.retryable)
        else:
            self._succeed(call, result.data if isinstance(result.data, Raw) else None, result.file)

    def fail(self, call: PendingCall, code: str, text: str) -> None:
        """Settle a call that its provider can no longer answer, or answered wrongly."""
        if call.is_settled:
            self._absorb(call)
            return
        self._forget(call)
        self._fail(call, text, code)

    def cancel(self, call: PendingCall, code: CallError, text: str, reason: str) -> None:
        """Settle a call with `code` at once and tell its provider to stop."""
        if call.is_settled:
            return
        out = self._out
        self._settle(call)
        call.view = replace(
            call.view, state="cancelling", error=text, error_code=code, args=None, args_cut=None
        )
        call.deadline = self._deadlines.add(out.now + limits.CANCEL_GRACE, Due.CANCEL_GRACE, call)
        out.emit(CallCancelling(call.view.session_id, call.view))
        out.send(call.provider.connection.id, ToolCancel(call.view.id, call.session.id, reason))
        if call.caller.is_open:
            out.send(call.caller.id, ToolOutcome(call.invoke_id, error=text, error_code=code))

    def due(self, call: PendingCall) -> None:
        """The call's time is over."""
        timeout = call.view.timeout or 0
        self.cancel(
            call,
            CallError.TIMEOUT,
            f"Tool '{call.view.tool}' did not answer within {timeout / 1000:g} s",
            "timeout",
        )

    def grace_over(self, call: PendingCall) -> None:
        """The provider did not answer `tool.cancel`: the call is shown no longer."""
        self._absorb(call)

    def _settle(self, call: PendingCall) -> None:
        """The call has its outcome: nothing it does from here on reaches the caller."""
        call.is_settled = True
        call.provider.running -= 1
        self._deadlines.cancel(call.deadline)
        if call.caller.invokes.get(call.invoke_id) is call:
            del call.caller.invokes[call.invoke_id]

    def _forget(self, call: PendingCall) -> None:
        self._settle(call)
        del self.pending[call.view.id]
        del call.provider.calls[call.view.id]

    def _absorb(self, call: PendingCall) -> None:
        """The late answer of a cancelled call: it ends here."""
        self._deadlines.cancel(call.deadline)
        if self.pending.pop(call.view.id, None) is None:
            return
        del call.provider.calls[call.view.id]
        state = "cancelled" if call.view.error_code == CallError.CANCELLED else "failed"
        self._finished(call, state=state)

    def _succeed(self, call: PendingCall, data: Raw | None, file: FileResult | None) -> None:
        if data is not None:
            kept, kept_cut = self._out.recordable(data)
            self._finished(call, state="done", data=kept, data_cut=kept_cut)
            outcome = ToolOutcome(call.invoke_id, data=data)
        else:
            self._finished(call, state="done", file=file)
            outcome = ToolOutcome(call.invoke_id, file=file)
        self._out.send(call.caller.id, outcome)

    def _fail(
        self, call: PendingCall, text: str, code: str, *, retryable: bool | None = None
    ) -> None:
        state = "cancelled" if code == CallError.CANCELLED else "failed"
        self._finished(call, state=state, error=text, error_code=code)
        if call.caller.is_open:
            self._out.send(
                call.caller.id,
                ToolOutcome(call.invoke_id, error=text, error_code=code, retryable=retryable),
            )

    def _finished(self, call: PendingCall, **changes: object) -> None:
        duration = round((self._out.now - call.started) * 1000, 3)
        view = replace(call.view, args=None, args_cut=None, duration=duration, **changes)
        call.view = view
        self._out.emit(CallFinished(view.session_id, view))
