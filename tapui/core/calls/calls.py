"""Tool calls: one terminal outcome each, under any order of what provider, caller and clock do.

Core Profile "Tool call terminal semantics"; `tapui/wire/README.md`. A call takes a place in its
lane or waits there; subscribers hear of its end (`tool.execution_complete`).
"""

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from tapui.core.context import CoreContext
from tapui.core.deadlines import Due
from tapui.core.effects import Copied, NotCopied
from tapui.core.model import (
    ConnectedProvider,
    Connection,
    Lane,
    OpenSession,
    PendingCall,
    RegisteredTool,
)
from tapui.core.providers.instances import choose, listing, split_target
from tapui.core.traces import Traces
from tapui.wire import limits
from tapui.wire.codec import compact, raw
from tapui.wire.errors import CallError
from tapui.wire.events import CallCancelling, CallFinished, CallProgress, CallStarted
from tapui.wire.message import (
    FileResult,
    Number,
    SessionEvent,
    Tool,
    ToolInvoke,
    ToolOutcome,
    ToolProgress,
)
from tapui.wire.provider import ToolCall, ToolCancel, ToolResult
from tapui.wire.subjects import Call

_ELLIPSIS = "…"


def completion(  # noqa: PLR0917 - the fields of the event
    tool: str,
    args: Raw,
    output: Raw | str | None,
    is_ok: bool,
    duration_ms: float,
    provider: str | None = None,
) -> Raw:
    """Return the event's data. `output` is a text, or JSON that becomes one; None if there is none.

    A session's own tools have no `provider`.
    """
    result = {"type": "success" if is_ok else "failure"}
    if output is not None:
        result["output"] = _cut(output if isinstance(output, str) else _text(output))
    data: dict[str, object] = {"tool": tool}
    if provider is not None:
        data["provider"] = provider
    return raw(data | {"args": args, "result": result, "durationMs": duration_ms})


def _text(output: Raw) -> str:
    """Return a JSON string's text, and any other JSON unchanged."""
    data = bytes(output)
    if data.lstrip()[:1] == b'"':
        return msgspec.json.decode(data, type=str)
    return bytes(compact(output)).decode()


def _cut(text: str) -> str:
    """Return at most 64 KiB of a text, as UTF-8, with an ellipsis where it was cut."""
    data = text.encode()
    if len(data) <= limits.MAX_EVENT_OUTPUT:
        return text
    head = data[: limits.MAX_EVENT_OUTPUT - len(_ELLIPSIS.encode())]
    return head.decode(errors="ignore") + _ELLIPSIS


def off_words(tool: str) -> str:
    """Return what the caller of a tool reads that the person has switched off."""
    return f"Tool '{tool}' is switched off for this session by the person."


class Lanes:
    """The lanes in use, by what their calls share."""

    def __init__(self) -> None:
        self._lanes: dict[tuple[object, ...], Lane] = {}

    def enter(self, call: PendingCall, scope: str, most: int) -> bool:
        """Give a call its lane; return whether there is a place in it."""
        key = _key(call, scope)
        call.lane = lane = self._lanes.setdefault(key, Lane(key, most))
        lane.most = most
        if lane.running < lane.most:
            lane.running += 1
            return True
        return False

    def queue(self, call: PendingCall) -> int:
        """Let a call wait in its lane; return how many wait there."""
        assert call.lane is not None
        call.lane.queue.append(call)
        return len(call.lane.queue)

    def leave(self, call: PendingCall) -> list[PendingCall]:
        """Give up a call's place, or its turn in the queue; return those that may go now."""
        lane = call.lane
        assert lane is not None
        call.lane = None
        if call.is_queued:
            lane.queue.remove(call)
            return []
        lane.running -= 1
        following = []
        while lane.queue and lane.running < lane.most:
            lane.running += 1
            following.append(lane.queue.popleft())
        if not lane.running:
            del self._lanes[lane.key]
        return following

    def replace_session(self, former: OpenSession, current: OpenSession) -> None:
        """Let `current` count on from `former`."""
        for lane in [lane for lane in self._lanes.values() if former in lane.key]:
            del self._lanes[lane.key]
            lane.key = tuple(current if part is former else part for part in lane.key)
            self._lanes[lane.key] = lane

    @property
    def in_use(self) -> list[Lane]:
        """The lanes with calls in them."""
        return list(self._lanes.values())


def _key(call: PendingCall, scope: str) -> tuple[object, ...]:
    """Return what the calls of a lane share. Names mean something within one session only."""
    if scope == "instance":
        return (scope, call.provider.id)
    if scope == "provider":
        return (scope, call.session, call.provider.name)
    return (scope, call.session, call.provider.name, call.invoke.tool)


_LONGEST_MS = limits.MAX_CALL_TIMEOUT * 1000


class Calls:
    """All calls under way."""

    def __init__(self, context: CoreContext, *, traces: Traces, timeout: float) -> None:
        self._clock, self._out, self._deadlines = context.clock, context.out, context.deadlines
        self._ids = context.ids
        self._traces = traces
        self._timeout_ms = timeout * 1000
        self._lanes = Lanes()
        self.pending: dict[str, PendingCall] = {}

    def tower_of(self, call_id: str) -> str | None:
        """Return who made a call by a tower or a command: `you`, or which process it is; None of a
        call by a session's host."""
        call = self.pending.get(call_id)
        return call.view.caller if call is not None and call.caller.by else None

    def has_room(self, caller: Connection, invoke: ToolInvoke) -> bool:
        """Return whether a caller may make another call beside those that are under way."""
        size = caller.call_bytes + len(memoryview(invoke.args))
        count = caller.calls + len(caller.inquiries)
        return count < limits.MAX_CALLS and size <= limits.MAX_CALL_BYTES

    def start(  # noqa: PLR0917 - what a call is made of
        self,
        session: OpenSession,
        entry: RegisteredTool,
        caller: Connection,
        invoke: ToolInvoke,
        context: list[str] | None = None,
        gated: float | None = None,
    ) -> None:
        """Dispatch a call to the provider, or to the instance that is meant.

        `context` is what rules and gates added; the caller gets it with the outcome. `gated` is
        how many milliseconds gates took. Raises `UnknownTargetError` when it names an instance that
        is not there.
        """
        if entry.lists:
            self._list_instances(session, entry, caller, invoke, context)
            return
        args, target = invoke.args, None
        if entry.target is not None or len(entry.offers) > 1:
            target, args = split_target(args, entry.target)
            offering = [provider for provider, _ in entry.offers.values()]
            provider = choose(offering, target)
            tool = entry.offers[provider.id][1]
        else:
            provider, tool = next(iter(entry.offers.values()))
        call = self._open(session, provider, tool, caller, invoke, args)
        call.has_target = target is not None
        call.context = context
        if gated is not None:
            call.view = replace(call.view, gated=gated)
        self._take_place(call)

    def _open(  # noqa: PLR0917 - what a call is made of
        self,
        session: OpenSession,
        provider: ConnectedProvider,
        tool: Tool,
        caller: Connection,
        invoke: ToolInvoke,
        args: Raw,
    ) -> PendingCall:
        out = self._out
        timeout = self._timeout_of(tool, invoke)
        call_id = self._ids.id("call")
        kept, kept_cut = out.recordable(args)
        view = Call(
            id=call_id,
            session_id=session.id,
            provider=provider.name,
            tool=invoke.tool,
            state="running",
            started_at=self._clock.timestamp(),
            timeout=timeout,
            provider_id=provider.id,
            caller=caller.by or caller.name,
            args=kept,
            args_cut=kept_cut,
            agent_id=invoke.agent_id,
            tool_call_id=invoke.tool_call_id,
        )
        call = PendingCall(
            view=view,
            session=session,
            provider=provider,
            caller=caller,
            invoke=invoke,
            args=args,
            started=self._clock.now,
        )
        self.pending[call_id] = provider.calls[call_id] = caller.invokes[invoke.id] = call
        caller.calls += 1
        caller.call_bytes += len(memoryview(invoke.args))
        return call

    def _timeout_of(self, tool: Tool, invoke: ToolInvoke) -> Number:
        """Return the smallest timeout that tool and caller give, else the default, in ms."""
        timeout = tool.timeout
        if invoke.timeout is not None and (timeout is None or invoke.timeout < timeout):
            timeout = invoke.timeout
        return self._timeout_ms if timeout is None else min(timeout, _LONGEST_MS)

    def _take_place(self, call: PendingCall) -> None:
        """Send a call off, or let it wait for a place with its provider."""
        limit = call.provider.limit
        if limit is None or limit.max is None:
            self._out.emit(CallStarted(call.session.id, call.view))
            self._send_off(call)
            return
        if self._lanes.enter(call, limit.scope, limit.max):
            self._out.emit(CallStarted(call.session.id, call.view))
            self._send_off(call)
            return
        call.is_queued = True
        call.provider.running += 1
        call.view = replace(call.view, state="queued")
        self._out.emit(CallStarted(call.session.id, call.view))
        if self._lanes.queue(call) > limits.MAX_QUEUED:
            text = f"{limits.MAX_QUEUED} calls wait for provider '{call.provider.label}' already"
            self.fail(call, CallError.RATE_LIMITED, text)

    def _send_off(self, call: PendingCall) -> None:
        out, provider = self._out, call.provider
        if call.is_queued:
            call.is_queued = False
            self._traces.left_queue(call)
            call.view = replace(
                call.view, state="running", queued=self._took(call), args=None, args_cut=None
            )
            out.emit(CallProgress(call.session.id, call.view))
        else:
            provider.running += 1
        provider.last_active = self._clock.now
        call.deadline = self._deadlines.add(
            self._clock.now + (call.view.timeout or 0) / 1000, Due.CALL, call
        )
        out.send(
            provider.connection.id,
            ToolCall(
                call.view.id,
                call.session.id,
                call.invoke.tool,
                call.args,
                self._traces.sent(call),
            ),
        )

    def _leave_place(self, call: PendingCall) -> None:
        """Give up a call's place, or its turn in the queue; the next ones move up."""
        if call.lane is not None:
            for next_call in self._lanes.leave(call):
                self._send_off(next_call)

    def _list_instances(
        self,
        session: OpenSession,
        entry: RegisteredTool,
        caller: Connection,
        invoke: ToolInvoke,
        context: list[str] | None,
    ) -> None:
        """Answer the tool that lists a provider's instances; the gateway knows them."""
        out, data = self._out, listing(session, entry.owner)
        kept, kept_cut = out.recordable(data)
        view = Call(
            id=self._ids.id("call"),
            session_id=session.id,
            provider=entry.owner,
            tool=invoke.tool,
            state="running",
            started_at=self._clock.timestamp(),
            caller=caller.by or caller.name,
        )
        out.emit(CallStarted(session.id, view))
        done = replace(
            view, state="done", data=kept, data_cut=kept_cut, duration=0.0, context=context
        )
        out.emit(CallFinished(session.id, done))
        outcome = ToolOutcome(invoke.id, data=data, context=context)
        out.send(caller.id, outcome)
        if session.subscribers:
            self._tell_subscribers(session, done, invoke.args, outcome, 0.0)

    def replace_session(self, former: OpenSession, current: OpenSession) -> None:
        """Continue the calls of `former` in `current`, in the lanes that they have."""
        for call in self.pending.values():
            if call.session is former:
                call.session = current
        self._lanes.replace_session(former, current)

    def switched_off(self, session: OpenSession) -> None:
        """Tools were switched off: refuse the calls of these that wait for a place. What is at its
        provider already runs on."""
        for call in list(self.pending.values()):
            entry = session.tools.get(call.invoke.tool)
            if call.session is session and call.is_queued and entry and session.has_off(entry):
                self.fail(call, CallError.UNAUTHORIZED, off_words(call.invoke.tool))

    def progress(self, call: PendingCall, told: ToolProgress) -> None:
        call.view = replace(call.view, progress=told.message, args=None, args_cut=None)
        self._out.emit(CallProgress(call.view.session_id, call.view))
        self._out.send(call.caller.id, replace(told, id=call.invoke_id))

    def result(self, call: PendingCall, result: ToolResult) -> None:
        """Take the provider's answer, already checked to be exactly one of data, error, file."""
        if call.is_settled:
            self._absorb(call)
            return
        self._forget(call)
        if result.error is not None or result.error_code is not None:
            code = result.error_code or CallError.INTERNAL
            if result.retryable and self._retry(call, result.error or code, code):
                return
            self._fail(call, result.error or code, code, retryable=result.retryable)
        else:
            self._succeed(call, result.data if isinstance(result.data, Raw) else None, result.file)

    def _retry(self, call: PendingCall, text: str, code: str) -> bool:
        """Try a call once more on another instance, unless the caller chose the first, or the
        person has switched the tool off since."""
        entry = call.session.tools.get(call.invoke.tool)
        if call.is_retry or call.has_target or entry is None or not call.session.is_open:
            return False
        if call.session.has_off(entry):
            return False
        others = [one for one, _ in entry.offers.values() if one is not call.provider]
        if not others or not call.caller.is_open:
            return False
        self._finished(call, state="failed", error=text, error_code=code)
        provider = choose(others, None)
        again = self._open(
            call.session,
            provider,
            entry.offers[provider.id][1],
            call.caller,
            call.invoke,
            call.args,
        )
        again.is_retry = True
        again.asked = call.started
        again.context = call.context
        self._take_place(again)
        return True

    def file_copied(self, call: PendingCall, file: FileResult, copied: Copied | NotCopied) -> None:
        """A result's file was copied for the session, or may not be used."""
        call.awaits_file = False
        if call.is_settled:
            self._absorb(call)
        elif isinstance(copied, NotCopied):
            self.fail(call, copied.code, copied.text)
        else:
            self._forget(call)
            kept = FileResult(copied.path, file.mime_type, copied.size, note=file.note)
            self._succeed(call, None, kept)

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
        if call.is_queued:
            self.fail(call, code, text)
            return
        out = self._out
        self._settle(call)
        call.view = replace(
            call.view, state="cancelling", error=text, error_code=code, args=None, args_cut=None
        )
        call.deadline = self._deadlines.add(
            self._clock.now + limits.CANCEL_GRACE, Due.CANCEL_GRACE, call
        )
        out.emit(CallCancelling(call.view.session_id, call.view))
        out.send(call.provider.connection.id, ToolCancel(call.view.id, call.session.id, reason))
        self._answer(
            call, ToolOutcome(call.invoke_id, error=text, error_code=code, context=call.context)
        )

    def due(self, call: PendingCall) -> None:
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
        self._drop(call)

    def _drop(self, call: PendingCall) -> None:
        """Nothing waits for a call any more; its place goes to the next."""
        del self.pending[call.view.id]
        del call.provider.calls[call.view.id]
        call.caller.calls -= 1
        call.caller.call_bytes -= len(memoryview(call.invoke.args))
        self._leave_place(call)

    def _absorb(self, call: PendingCall) -> None:
        """The late answer of a cancelled call: it ends here."""
        self._deadlines.cancel(call.deadline)
        if call.view.id not in self.pending:
            return
        self._drop(call)
        state = "cancelled" if call.view.error_code == CallError.CANCELLED else "failed"
        self._finished(call, state=state, context=call.context)

    def _succeed(self, call: PendingCall, data: Raw | None, file: FileResult | None) -> None:
        if data is not None:
            kept, kept_cut = self._out.recordable(data)
            view = replace(
                call.view,
                state="done",
                args=None,
                args_cut=None,
                data=kept,
                data_cut=kept_cut,
                duration=self._took(call),
                context=call.context,
            )
            self._ended(call, view)
            outcome = ToolOutcome(call.invoke_id, data=data, context=call.context)
        else:
            self._finished(call, state="done", file=file, context=call.context)
            outcome = ToolOutcome(call.invoke_id, file=file, context=call.context)
        self._answer(call, outcome)

    def _fail(
        self, call: PendingCall, text: str, code: str, *, retryable: bool | None = None
    ) -> None:
        state = "cancelled" if code == CallError.CANCELLED else "failed"
        self._finished(call, state=state, error=text, error_code=code, context=call.context)
        outcome = ToolOutcome(
            call.invoke_id, error=text, error_code=code, retryable=retryable, context=call.context
        )
        self._answer(call, outcome)

    def _finished(self, call: PendingCall, **changes: object) -> None:
        view = replace(call.view, args=None, args_cut=None, duration=self._took(call), **changes)
        self._ended(call, view)

    def _took(self, call: PendingCall) -> float:
        return self._milliseconds(call.started)

    def _milliseconds(self, since: float) -> float:
        """Return the milliseconds since then, to the microsecond."""
        return int((self._clock.now - since) * 1e6 + 0.5) / 1000

    def _ended(self, call: PendingCall, view: Call) -> None:
        call.view = view
        self._out.emit(CallFinished(view.session_id, view))
        if call.span_id:
            self._traces.ended(call)
        elif call.is_queued:
            self._traces.left_queue(call)

    def _answer(self, call: PendingCall, outcome: ToolOutcome) -> None:
        """Give the caller its outcome, and tell the session's providers that want to know."""
        if call.caller.is_open:
            self._out.send(call.caller.id, outcome)
        if call.session.subscribers:
            since = call.started if call.asked is None else call.asked
            took = self._milliseconds(since)
            self._tell_subscribers(call.session, call.view, call.args, outcome, took)

    def _tell_subscribers(
        self, session: OpenSession, view: Call, args: Raw, outcome: ToolOutcome, took: float
    ) -> None:
        subscribers = session.subscribers.get("tool.execution_complete")
        if not subscribers:
            return
        output: Raw | str | None = outcome.error
        if isinstance(outcome.data, Raw):
            output = outcome.data
        elif outcome.file is not None:
            output = raw(outcome.file)
        data = completion(view.tool, args, output, outcome.error is None, took, view.provider)
        for provider in subscribers:
            self._out.send(
                provider.connection.id,
                SessionEvent(session.id, "tool.execution_complete", data),
            )
