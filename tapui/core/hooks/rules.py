"""Rules: what providers want before tools run, and what they say about a call.

Provider Interface v2 "Hook rules"; `tapui/wire/README.md`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from msgspec import Raw

from tapui.core.hooks.matching import Matcher, Subject, compiled, file_pattern, matches
from tapui.core.hooks.wanted import ActiveRule
from tapui.core.model import ConnectedProvider, OpenSession, RuleEntry, RuleIndex
from tapui.core.trust.grants import Capability, Grant, require
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.provider import HookRule
from tapui.wire.subjects import AppliedRule


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
class Verdict:
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


def judge(index: RuleIndex, tool: str, provider: str | None, args: Raw) -> Verdict:
    """Try all rules on a call; the first static deny settles it."""
    verdict = Verdict()
    found = index.of_tool.get(tool)
    if found is None:
        found = index.of_any
    elif index.of_any:
        found = sorted([*found, *index.of_any], key=lambda entry: entry[0])
    if not found:
        return verdict
    subject = Subject(args)
    for number, owner, rule in found:
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
