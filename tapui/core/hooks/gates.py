"""Gates: providers are asked before a call goes ahead, and silence is a no.

Provider Interface v2 "Gate timeout behavior: fail closed"; `tapui/wire/README.md`.
"""

from dataclasses import dataclass, field
from typing import Literal

from msgspec import Raw
from msgspec.structs import replace

from tapui.core.context import CoreContext
from tapui.core.deadlines import Due
from tapui.core.hooks.rules import Verdict
from tapui.core.model import ConnectedProvider, Inquiry, OpenSession, RuleEntry
from tapui.core.traces.traces import Traces
from tapui.wire import limits
from tapui.wire.events import GateChecked
from tapui.wire.provider import GateCheck, GateResult
from tapui.wire.subjects import AppliedRule, Gate

Decision = Literal["allow", "deny", "context"]


@dataclass(slots=True, frozen=True)
class Settled:
    """How an inquiry ended. `contexts` are what rules and providers add, in their order."""

    inquiry: Inquiry
    decision: Decision
    by: str | None = None
    reason: str | None = None
    contexts: list[str] = field(default_factory=list)
    is_dropped: bool = False
    """The answer is no longer needed."""
    rule: AppliedRule | None = None
    """The person's rule that decided."""


class Gates:
    """Inquiries under way."""

    def __init__(self, context: CoreContext, traces: Traces) -> None:
        self._clock, self._out, self._deadlines = context.clock, context.out, context.deadlines
        self._mint = context.mint
        self._traces = traces
        self._asked: dict[str, Inquiry] = {}
        """By the id of each question that is open."""
        self._settled: list[Settled] = []

    def take(self) -> list[Settled]:
        """Hand over the inquiries that have ended since the last time."""
        settled, self._settled = self._settled, []
        return settled

    @property
    def has_settled(self) -> bool:
        """Whether `take` has something to hand over."""
        return bool(self._settled)

    def begin(self, inquiry: Inquiry, verdict: Verdict, args: Raw) -> None:
        """Ask every provider whose gate matches, all at once."""
        out, session = self._out, inquiry.session
        inquiry.contexts = verdict.contexts
        if verdict.denied_by is not None:
            denied = Settled(inquiry, "deny", verdict.denied_by, verdict.reason, rule=verdict.rule)
            self._end(denied)
            return
        if not verdict.gates:
            self._allow(inquiry)
            return
        inquiry.began = self._clock.now
        inquiry.view = Gate(
            id=self._mint.id("g"),
            session_id=session.id,
            tool=inquiry.tool,
            state="waiting",
            providers=list(dict.fromkeys(provider.label for _, provider, _ in verdict.gates)),
            started_at=self._clock.timestamp(),
        )
        out.emit(GateChecked(session.id, inquiry.view))
        for number, provider, rule in verdict.gates:
            call_id = self._mint.id("gate")
            inquiry.open[call_id] = (number, provider, rule)
            self._asked[call_id] = inquiry
            provider.gates.add(call_id)
            out.send(
                provider.connection.id,
                GateCheck(rule.rule.gate_id or "", call_id, session.id, inquiry.tool, args),
            )
        inquiry.deadline = self._deadlines.add(
            self._clock.now + limits.GATE_TIMEOUT, Due.GATE, inquiry
        )
        inquiry.asker.inquiries[inquiry.request_id] = inquiry

    def answered(self, provider: ConnectedProvider, result: GateResult) -> None:
        """Take a provider's answer.

        Late ones, those to others' questions and those that name another gate are ignored.
        """
        inquiry = self._asked.get(result.call_id)
        if inquiry is None or result.call_id not in provider.gates:
            return
        number, _, rule = inquiry.open[result.call_id]
        if result.gate_id is not None and result.gate_id != rule.rule.gate_id:
            return
        self._close(inquiry, result.call_id)
        if result.decision == "deny":
            reason = result.reason or f"denied by provider '{provider.label}'"
            self._end(Settled(inquiry, "deny", provider.label, reason))
            return
        if result.decision == "context" and result.reason:
            inquiry.contexts.append((number, result.reason))
        if not inquiry.open:
            self._allow(inquiry, provider.label)

    def failed(self, provider: ConnectedProvider, call_id: str, why: str) -> None:
        """A provider cannot answer: that is a no, unless its rule is fail-open."""
        inquiry = self._asked.get(call_id)
        if inquiry is None or call_id not in provider.gates:
            return
        _, _, rule = self._close(inquiry, call_id)
        if not rule.rule.fail_open:
            reason = f"Gate provider '{provider.label}' {why}."
            self._end(Settled(inquiry, "deny", provider.label, reason))
        elif not inquiry.open:
            self._allow(inquiry, provider.label)

    def due(self, inquiry: Inquiry) -> None:
        """5 s have passed."""
        for call_id, (_, provider, _) in list(inquiry.open.items()):
            self.failed(provider, call_id, "did not respond in time")

    def provider_gone(self, provider: ConnectedProvider, session_id: str | None = None) -> None:
        """A provider left (one session, or all): its answers will not come."""
        for call_id in list(provider.gates):
            # One refusal may have settled what else it was asked.
            inquiry = self._asked.get(call_id)
            if inquiry is not None and session_id in (None, inquiry.session.id):
                self.failed(provider, call_id, "disconnected")

    def replace_session(self, former: OpenSession, current: OpenSession) -> None:
        """Let what is asked about `former` go on in `current`."""
        for inquiry in self._asked.values():
            if inquiry.session is former:
                inquiry.session = current

    def drop(self, inquiry: Inquiry, reason: str) -> None:
        """Whoever asked no longer wants to know."""
        self._end(Settled(inquiry, "deny", None, reason, is_dropped=True))

    def _close(self, inquiry: Inquiry, call_id: str) -> RuleEntry:
        del self._asked[call_id]
        entry = inquiry.open.pop(call_id)
        entry[1].gates.discard(call_id)
        return entry

    def _allow(self, inquiry: Inquiry, by: str | None = None) -> None:
        texts = [text for _, text in sorted(inquiry.contexts, key=lambda entry: entry[0])]
        if texts:
            self._end(Settled(inquiry, "context", by, contexts=texts))
        else:
            self._end(Settled(inquiry, "allow", by))

    def _end(self, settled: Settled) -> None:
        inquiry = settled.inquiry
        for call_id in list(inquiry.open):
            self._close(inquiry, call_id)
        self._deadlines.cancel(inquiry.deadline)
        inquiry.asker.inquiries.pop(inquiry.request_id, None)
        was_asked = inquiry.view is not None
        if was_asked or settled.decision != "allow":
            view = inquiry.view or Gate(
                id=self._mint.id("g"),
                session_id=inquiry.session.id,
                tool=inquiry.tool,
                state=settled.decision,
                providers=[settled.by] if settled.by else [],
                started_at=self._clock.timestamp(),
            )
            inquiry.view = replace(
                view,
                state=settled.decision,
                decided_by=settled.by,
                reason=settled.reason,
                rule=settled.rule,
                duration=self._took(inquiry) if was_asked else None,
            )
            self._out.emit(GateChecked(inquiry.session.id, inquiry.view))
            if was_asked:
                self._traces.gate_ended(inquiry)
        self._settled.append(settled)

    def _took(self, inquiry: Inquiry) -> float:
        return round((self._clock.now - inquiry.began) * 1000, 3)
