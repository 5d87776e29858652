"""Rules that providers declare for tools, and gates: providers are asked before a call goes ahead,
and silence is a no.

Provider Interface v2 "Hook rules", "Gate timeout behavior: fail closed"; `tapui/wire/README.md`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from msgspec import Raw
from msgspec.structs import replace

from tapui.core.context import CoreContext
from tapui.core.deadlines import Due
from tapui.core.hooks.matching import ActiveRule, Matcher, Subject, compiled, file_pattern, matches
from tapui.core.model import ConnectedProvider, Inquiry, OpenSession, RuleEntry, RuleIndex
from tapui.core.traces import Traces
from tapui.core.trust.grants import Capability, Grant, require
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import GateChecked
from tapui.wire.provider import GateCheck, GateResult, HookRule
from tapui.wire.subjects import AppliedRule, Gate


def _fits(rule: ActiveRule, subject: Subject, provider: str | None) -> bool | None:
    """Return whether a call matches; None when a pattern could not be tried to its end."""
    match = rule.rule.match
    if match.provider is not None and match.provider != provider:
        return False
    if rule.args is None and rule.file is None:
        return True
    if subject.is_too_long and rule.file is None:
        return None
    if not subject.is_readable:
        return None
    if rule.file is not None and not subject.names_file(rule.file):
        return False
    if rule.args is None:
        return True
    return None if subject.is_too_long else matches(rule.args, subject.text)


@dataclass(slots=True)
class GateVerdict:
    """What the rules of a session say about a call, before any provider was asked."""

    denied_by: str | None = None
    reason: str = ""
    contexts: list[tuple[int, str]] = field(default_factory=list)
    """Texts to add, each with the place of its rule in the order of registration."""
    gates: list[RuleEntry] = field(default_factory=list)
    rule: AppliedRule | None = None
    """The person's rule that forbids the call."""
    undecided: list[ConnectedProvider] = field(default_factory=list)
    """Providers of patterns that could not be tried to their end."""


SHELL = "shell"
"""The `match.tool` that means a session's shell tools under any name."""
SHELL_TOOLS = frozenset({"bash", "powershell"})
"""The shell tools of a session whose host does not name them."""
_WARNED_NAMES = 10


def _indexed(session: OpenSession) -> RuleIndex:
    """Return the rules of a session's providers, ready to be looked up."""
    index = RuleIndex()
    number = 0
    for provider in session.providers.values():
        hooks = provider.hooks.get(session.id)
        for rule in hooks.rules if hooks else ():
            number += 1
            tool = rule.rule.match.tool
            if tool is None:
                index.of_any.append((number, provider, rule))
                continue
            for name in {tool, *session.shell_tools} if tool == SHELL else {tool}:
                index.of_tool.setdefault(name, []).append((number, provider, rule))
    return index


def rule_warnings(provider: ConnectedProvider, sessions: Iterable[OpenSession]) -> list[str]:
    """Return what to tell a provider whose rules match nothing in some of the sessions.

    A gate for a tool that is not there is never asked, and its provider would not notice.
    """
    texts = []
    for session in sessions:
        matches = [one.rule.match for one in provider.hooks[session.id].rules]
        tools = {one.tool: None for one in matches if one.tool and not _has_tool(session, one.tool)}
        if tools:
            known = session.reserved_tools or ()
            shell = " and ".join(map(repr, sorted(session.shell_tools.intersection(known))))
            meaning = f", and 'shell' means {shell}" if shell else ""
            texts.append(
                f"onPreToolUse: session {session.id} has no tool {_named(tools)}, so these rules "
                f"match nothing now; match.tool is exact, capitals count{meaning}"
            )
        present = {one.name for one in session.providers.values()}
        absent = {one.provider: None for one in matches if one.provider not in (None, *present)}
        if absent:
            texts.append(
                f"onPreToolUse: no provider {_named(absent)} is in session {session.id}, so these "
                "rules match nothing now"
            )
    return texts


def _has_tool(session: OpenSession, name: str) -> bool:
    """Return whether a session has a tool, or may have it: not all hosts name their own."""
    if name in session.tools:
        return True
    if name == SHELL:
        return any(_has_tool(session, one) for one in session.shell_tools if one != SHELL)
    if session.reserved_tools is None:
        return not session.is_apart
    if name in session.reserved_tools:
        return True
    servers = session.own_mcp_servers
    return (
        any(name.startswith(f"{one}-") for one in servers) if servers is not None else "-" in name
    )


def _named(names: Iterable[str | None]) -> str:
    quoted = [repr(one) for one in names]
    more = len(quoted) - _WARNED_NAMES
    return ", ".join(quoted[:_WARNED_NAMES]) + (f" and {more} more" if more > 0 else "")


def judge(index: RuleIndex, tool: str, provider: str | None, args: Raw) -> GateVerdict:
    """Try all rules on a call; the first static deny settles it."""
    verdict = GateVerdict()
    entries = index.of_tool.get(tool)
    if entries is None:
        entries = index.of_any
    elif index.of_any:
        entries = sorted([*entries, *index.of_any], key=lambda entry: entry[0])
    if not entries:
        return verdict
    subject = Subject(args)
    for number, owner, rule in entries:
        fits = _fits(rule, subject, provider)
        if fits is None:
            verdict.undecided.append(owner)
        if fits is False or (fits is None and rule.rule.action == "context"):
            continue
        if rule.rule.action == "deny":
            verdict.denied_by = owner.label
            verdict.reason = rule.rule.reason or f"denied by provider '{owner.label}'"
            if fits is None:
                verdict.reason += " (its pattern could not be tried in time)"
            break
        if rule.rule.action == "context":
            verdict.contexts.append((number, rule.rule.content or ""))
        else:
            verdict.gates.append((number, owner, rule))
    return verdict


def forbids(index: RuleIndex | None) -> bool:
    """Return whether a rule of a provider may stop a call: one that denies, or a gate."""
    entries = () if index is None else chain(index.of_any, *index.of_tool.values())
    return any(rule.rule.action != "context" for _, _, rule in entries)


def require_rules(grant: Grant, rules: Sequence[object]) -> None:
    """Check what a token allows of rules. Raises `WireError` (`UNAUTHORIZED`)."""
    if rules:
        require(grant, Capability.HOOK_RULES)


def compile_rules(rules: list[HookRule], matcher: Matcher) -> list[ActiveRule]:
    """Check rules and compile their patterns.

    Raises `WireError`: `INVALID_JSON` naming the field, `PAYLOAD_TOO_LARGE` for too many.
    """
    if len(rules) > limits.MAX_HOOK_RULES:
        raise WireError(
            ErrorCode.PAYLOAD_TOO_LARGE,
            f"{len(rules)} hook rules; a provider may have at most {limits.MAX_HOOK_RULES}",
        )
    active = []
    for index, rule in enumerate(rules):
        path = f"onPreToolUse[{index}]"
        if rule.action == "gate" and not rule.gate_id:
            raise WireError(ErrorCode.INVALID_JSON, f"{path}.gateId: missing")
        if rule.action == "context" and not rule.content:
            raise WireError(ErrorCode.INVALID_JSON, f"{path}.content: missing")
        match = rule.match
        args = file = None
        if match.args is not None:
            args = compiled(matcher, match.args, f"{path}.match.args")
        if match.file is not None:
            file = file_pattern(match.file, f"{path}.match.file")
        active.append(ActiveRule(rule, args, file))
    return active


def reindex(session: OpenSession) -> None:
    """Bring a session's rules and subscribers up to date after a provider's changed."""
    providers = session.providers.values()
    has_rules = any(
        hooks.rules
        for provider in providers
        if (hooks := provider.hooks.get(session.id)) is not None
    )
    session.rules = _indexed(session) if has_rules else None
    session.subscribers = {}
    for provider in providers:
        for event in provider.subscribed:
            session.subscribers.setdefault(event, []).append(provider)


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
        self._ids = context.ids
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

    def begin(self, inquiry: Inquiry, verdict: GateVerdict, args: Raw) -> None:
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
            id=self._ids.id("g"),
            session_id=session.id,
            tool=inquiry.tool,
            state="waiting",
            providers=list(dict.fromkeys(provider.label for _, provider, _ in verdict.gates)),
            started_at=self._clock.timestamp(),
        )
        out.emit(GateChecked(session.id, inquiry.view))
        for number, provider, rule in verdict.gates:
            call_id = self._ids.id("gate")
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
        """Continue in `current` what is asked about `former`."""
        for inquiry in self._asked.values():
            if inquiry.session is former:
                inquiry.session = current

    def drop(self, inquiry: Inquiry, reason: str) -> None:
        """Forget an inquiry whose asker no longer waits."""
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
                id=self._ids.id("g"),
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
