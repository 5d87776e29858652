"""Who calls: tools, the gates before them, and prompts, for hosts, towers and commands alike.

The calls of children and the allowlists of agents: `tapui/wire/README.md`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isfinite

from msgspec import Raw
from msgspec.structs import replace

from tapui.core.approvals.note_writes import NoteWrites
from tapui.core.approvals.policies import BY_RULE, Policies, applied, question, refusal
from tapui.core.approvals.spending import Spending
from tapui.core.calls.calls import Calls, off_words
from tapui.core.context import CorePart
from tapui.core.hooks.gates import Gates, GateVerdict, Settled, judge
from tapui.core.model import Connection, Inquiry, OpenSession, Standing
from tapui.core.providers.identity import Providers
from tapui.core.providers.instances import UnknownTargetError
from tapui.core.sessions.sessions import OpenSessions, UnknownSessionError, may_call, own_or_child
from tapui.wire.builtin import CHANGING_TOOLS, POST
from tapui.wire.codec import given_object, raw
from tapui.wire.errors import CallError, ErrorCode, WireError
from tapui.wire.host import HookDecision, HookPreToolUse, PromptSubmitted
from tapui.wire.message import ToolAbort, ToolInvoke, ToolOutcome

_SHELL = "bash"
"""Tool name used to judge commands of emitters."""


@dataclass(eq=False, repr=False)
class CallerConversation(CorePart):
    """Handlers of what callers send. Each raises `WireError` to refuse."""

    sessions: OpenSessions
    providers: Providers
    calls: Calls
    gates: Gates
    spending: Spending
    policies: Policies
    note_writes: NoteWrites

    def tool_invoke(self, connection: Connection, message: ToolInvoke) -> None:
        """A host, a tower or a command calls a tool."""
        if message.id in connection.invokes or message.id in connection.inquiries:
            raise WireError(
                ErrorCode.INVALID_JSON, f"id: {message.id} is in flight already", id=message.id
            )
        args = given_object(message.args, "args")
        if args is not message.args:
            message = replace(message, args=args)
        if message.timeout is not None and not (isfinite(message.timeout) and message.timeout > 0):
            raise WireError(
                ErrorCode.INVALID_JSON, "timeout: must be a number of milliseconds above 0"
            )
        try:
            session, agent = self.sessions.resolve(message.session_id)
        except UnknownSessionError as error:
            self._no_call(connection, message.id, str(error))
            return
        if session.host != connection.id and _is_bound(connection, message):
            self._no_call(connection, message.id, f"unknown session {message.session_id}")
            return
        if message.agent_id is not None:
            agent = session.children.get(message.agent_id, message.agent_id)
        if message.tool not in session.tools or not may_call(session, agent, message.tool):
            text = f"Tool '{message.tool}' is not supported by this client instance."
            self._no_call(connection, message.id, text)
            return
        if session.has_off(session.tools[message.tool]):
            self._switched_off(connection, message)
            return
        if not self.calls.has_room(connection, message):
            text = "as many calls, or as large ones, are under way as may be at once"
            self._no_call(connection, message.id, text, CallError.RATE_LIMITED)
            return
        session.last_activity = self._clock.now
        is_asked_before = connection.host_asks_hooks and connection.id == session.host
        has_rules = session.rules is not None or self.policies.has_denials(session)
        if is_asked_before or not has_rules:
            self._call(connection, session, message)
            return
        inquiry = Inquiry(session, message.tool, connection, message.id, invoke=message)
        connection.inquiries[message.id] = inquiry
        self.policies.when_read(session, partial(self._inquire, inquiry, message.args))

    def _call(
        self,
        connection: Connection,
        session: OpenSession,
        message: ToolInvoke,
        contexts: list[str] | None = None,
        gated: float | None = None,
        *,
        is_allowed: bool = False,
    ) -> None:
        """Dispatch a call that may go ahead, after a question to the person where their setting has
        one (`is_allowed`: they said yes). The tool may have gone meanwhile."""
        entry = session.tools.get(message.tool) if session.is_open else None
        if entry is None:
            text = f"Tool '{message.tool}' is not supported by this client instance."
            self._no_call(connection, message.id, text)
            return
        if session.has_off(entry):  # since providers were asked
            self._switched_off(connection, message)
            return
        if not is_allowed and self.note_writes.must_ask(session, entry, connection, message):
            self._ask_person(connection, session, message, contexts, gated)
            return
        try:
            self.calls.start(session, entry, connection, message, contexts, gated)
        except UnknownTargetError as error:
            self._no_call(connection, message.id, str(error))

    def _ask_person(
        self,
        connection: Connection,
        session: OpenSession,
        message: ToolInvoke,
        contexts: list[str] | None,
        gated: float | None,
    ) -> None:
        inquiry = Inquiry(session, message.tool, connection, message.id, invoke=message)
        connection.inquiries[message.id] = inquiry

        def answered(refusal: str | None) -> None:
            if connection.inquiries.get(message.id) is not inquiry:
                return  # it was given up meanwhile
            del connection.inquiries[message.id]
            if refusal is None:
                self._call(connection, inquiry.session, message, contexts, gated, is_allowed=True)
            else:
                self._no_call(connection, message.id, refusal, CallError.UNAUTHORIZED)

        try:
            self.note_writes.ask(inquiry, answered)
        except WireError as error:
            del connection.inquiries[message.id]
            self._no_call(connection, message.id, error.text, CallError.RATE_LIMITED)

    def _switched_off(self, connection: Connection, message: ToolInvoke) -> None:
        self._no_call(connection, message.id, off_words(message.tool), CallError.UNAUTHORIZED)

    def _no_call(
        self,
        connection: Connection,
        invoke_id: str,
        text: str,
        code: CallError = CallError.NOT_FOUND,
    ) -> None:
        self._out.send(connection.id, ToolOutcome(invoke_id, error=text, error_code=code))

    def tool_abort(self, connection: Connection, message: ToolAbort) -> None:
        """The caller gives up; of a call that is over, it is ignored."""
        call = connection.invokes.get(message.id)
        inquiry = connection.inquiries.get(message.id)
        if inquiry is not None and inquiry.invoke is not None:
            self.note_writes.drop(inquiry, message.reason or "the caller gave up")
            self.gates.drop(inquiry, message.reason or "Cancelled")
            self._no_call(
                connection, message.id, message.reason or "Cancelled", CallError.CANCELLED
            )
        elif call is not None:
            self.calls.cancel(
                call,
                CallError.CANCELLED,
                message.reason or "Cancelled",
                message.reason or "aborted",
            )

    def hook_pre_tool_use(self, connection: Connection, message: HookPreToolUse) -> None:
        """May a tool run? The rules of the session's providers say."""
        session = own_or_child(self.sessions, connection, message.session_id)
        args = given_object(message.args, "args")
        if message.id in connection.inquiries:
            raise WireError(ErrorCode.INVALID_JSON, f"id: {message.id} is in flight already")
        inquiry = Inquiry(session, message.tool, connection, message.id)
        connection.inquiries[message.id] = inquiry
        self.policies.when_read(session, partial(self._inquire, inquiry, args))

    def inquire_shell(
        self,
        session: OpenSession,
        connection: Connection,
        request_id: str,
        command: str,
        then: Callable[[Settled], None],
    ) -> None:
        """Ask rules and gates about a command as one of the session's shell; `then` gets the
        outcome."""
        if request_id in connection.inquiries:
            raise WireError(ErrorCode.INVALID_JSON, f"id: {request_id} is in flight already")
        inquiry = Inquiry(session, _SHELL, connection, request_id, then=then)
        connection.inquiries[request_id] = inquiry
        args = raw({"command": command})
        self.policies.when_read(session, partial(self._inquire, inquiry, args))

    def give_up(self, connection: Connection, request_id: str) -> None:
        """Forget an inquiry whose asker no longer waits."""
        inquiry = connection.inquiries.get(request_id)
        if inquiry is not None:
            self.gates.drop(inquiry, "the caller gave up")

    def _inquire(self, inquiry: Inquiry, args: Raw) -> None:
        """Ask the person's rules, then the providers'."""
        session = inquiry.session
        if inquiry.asker.inquiries.get(inquiry.request_id) is not inquiry:
            return  # it was given up while the rules were read
        rule = self.policies.strictest(session, inquiry.tool, args)
        if rule is not None and rule.effect == "ask":
            inquiry.question = question(rule)
        elif rule is not None:
            verdict = GateVerdict(denied_by=BY_RULE, reason=refusal(rule), rule=applied(rule))
            self.gates.begin(inquiry, verdict, args)
            return
        if session.rules is None:
            self.gates.begin(inquiry, GateVerdict(), args)
            return
        entry = session.tools.get(inquiry.tool)
        verdict = judge(session.rules, inquiry.tool, entry.owner if entry else None, args)
        for provider in verdict.undecided:
            self.providers.count_fault(provider)
        self.gates.begin(inquiry, verdict, args)

    def settled(self, settled: Settled) -> None:
        """An inquiry has ended: tell the host, or let the call go ahead."""
        inquiry = settled.inquiry
        asker, invoke = inquiry.asker, inquiry.invoke
        if inquiry.then is not None:
            inquiry.then(settled)
            return
        if settled.is_dropped or not asker.is_open:
            return
        if invoke is None:
            context = "\n\n".join(settled.contexts) or None
            answer = HookDecision(inquiry.request_id, settled.decision, settled.reason, context)
            if inquiry.question and settled.decision != "deny":
                answer = replace(answer, decision="ask", reason=inquiry.question)
            self._out.send(asker.id, answer)
        elif settled.decision == "deny":
            self._no_call(asker, invoke.id, settled.reason or "denied", CallError.UNAUTHORIZED)
        else:
            gated = inquiry.view.duration if inquiry.view is not None else None
            self._call(asker, inquiry.session, invoke, settled.contexts or None, gated)

    def prompt_submitted(self, connection: Connection, message: PromptSubmitted) -> None:
        """Add what the session's providers add to a prompt and to the system prompt."""
        session = own_or_child(self.sessions, connection, message.session_id)
        if message.sections:
            self._applies_sections(connection, session)
        self.spending.submitted(connection, session, message)

    def _applies_sections(self, connection: Connection, session: OpenSession) -> None:
        """A host that gives sections applies them, also when its hello did not say so."""
        if session.applies_sections:
            return
        session.applies_sections = True
        if connection.host_applies_sections is None:
            connection.host_applies_sections = True
        for provider in session.providers.values():
            self.providers.refresh(provider)


def _is_bound(connection: Connection, invoke: ToolInvoke) -> bool:
    """Return whether the caller may call this in sessions of its own alone.

    That is each tool for a tool host, and for other hosts what changes a session.
    """
    if connection.standing is Standing.HOST:
        return invoke.tool in CHANGING_TOOLS or invoke.tool == POST
    return connection.standing is Standing.TOOL_HOST
