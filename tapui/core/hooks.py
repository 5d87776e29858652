"""Hooks: what providers want done before tools run and to the system prompt.

Provider Interface v2 "Hook rules", "Protected prompt sections"; design section 5, "Hooks".
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import Raw

from tapui.core.matching import Matcher, Pattern, Subject, compiled, file_pattern, matches
from tapui.core.trust import Capability, Grant, require
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.provider import HookRule, Transform

if TYPE_CHECKING:
    from tapui.core.providers import ConnectedProvider
    from tapui.core.sessions import OpenSession

PROTECTED_SECTIONS = frozenset({"safety", "identity"})


@dataclass(slots=True, eq=False)
class ActiveRule:
    """A rule with its patterns compiled."""

    rule: HookRule
    args: Pattern | None
    file: re.Pattern[str] | None

    def fits(self, subject: Subject, provider: str | None) -> bool | None:
        """Return whether a call matches; None when a pattern could not be tried to its end."""
        match = self.rule.match
        if match.provider is not None and match.provider != provider:
            return False
        if self.args is None and self.file is None:
            return True
        if subject.is_too_long and self.file is None:
            return None
        if not subject.is_readable:
            return None
        if self.file is not None and not subject.names_file(self.file):
            return False
        if self.args is None:
            return True
        return None if subject.is_too_long else matches(self.args, subject.text)


@dataclass(slots=True)
class HookSet:
    """What one provider wants in one session."""

    rules: list[ActiveRule] = field(default_factory=list)
    transforms: dict[str, Transform] = field(default_factory=dict)
    context: str | None = None
    startup: str | None = None

    def copy(self) -> "HookSet":
        """Return the same for another session, where it may change on its own."""
        return HookSet(self.rules, dict(self.transforms), self.context, self.startup)


@dataclass(slots=True)
class Verdict:
    """What the rules of a session say about a call, before any provider was asked."""

    denied_by: str | None = None
    reason: str = ""
    contexts: list[tuple[int, str]] = field(default_factory=list)
    """Texts to add, each with the place of its rule in the order of registration."""
    gates: "list[tuple[int, ConnectedProvider, ActiveRule]]" = field(default_factory=list)
    undecided: "list[ConnectedProvider]" = field(default_factory=list)
    """Providers of patterns that could not be tried to their end."""


class RuleIndex:
    """The rules of a session by tool, in order of registration: a call looks up, never scans."""

    def __init__(self, providers: "Iterable[ConnectedProvider]", session_id: str) -> None:
        self._of_tool: dict[str, list[tuple[int, ConnectedProvider, ActiveRule]]] = {}
        self._of_any: list[tuple[int, ConnectedProvider, ActiveRule]] = []
        number = 0
        for provider in providers:
            hooks = provider.hooks.get(session_id)
            for rule in hooks.rules if hooks else ():
                number += 1
                tool = rule.rule.match.tool
                if tool is None:
                    self._of_any.append((number, provider, rule))
                else:
                    self._of_tool.setdefault(tool, []).append((number, provider, rule))

    def judge(self, tool: str, provider: str | None, args: Raw) -> Verdict:
        """Try all rules on a call; the first static deny settles it."""
        verdict = Verdict()
        found = self._of_tool.get(tool)
        if found is None:
            found = self._of_any
        elif self._of_any:
            found = sorted([*found, *self._of_any], key=lambda entry: entry[0])
        if not found:
            return verdict
        subject = Subject(args)
        for number, owner, rule in found:
            fits = rule.fits(subject, provider)
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


def check_transforms(transforms: dict[str, Transform | None]) -> None:
    """Check transforms by themselves.

    Raises `WireError`: `INVALID_JSON` for one without content, `UNAUTHORIZED` for a protected
    section that is not only appended to.
    """
    for section, transform in transforms.items():
        if transform is None:
            continue
        if transform.action != "callback" and transform.content is None:
            raise WireError(ErrorCode.INVALID_JSON, f"transforms.{section}.content: missing")
    for section, transform in transforms.items():
        if transform and section in PROTECTED_SECTIONS and transform.action != "append":
            raise WireError(ErrorCode.UNAUTHORIZED, f"section '{section}' can only be appended to")


def require_hooks(
    grant: Grant, rules: Sequence[object], transforms: dict[str, Transform | None]
) -> None:
    """Check what a token allows of hooks. Raises `WireError` (`UNAUTHORIZED`)."""
    if rules:
        require(grant, Capability.HOOK_RULES)
    if any(one is not None and one.action != "append" for one in transforms.values()):
        require(grant, Capability.TRANSFORMS)


def check_context(text: str | None, field_name: str) -> None:
    """Check the length of a context. Raises `WireError` (`PAYLOAD_TOO_LARGE`)."""
    if text is not None and len(text) > limits.MAX_CONTEXT:
        raise WireError(
            ErrorCode.PAYLOAD_TOO_LARGE,
            f"{field_name}: at most {limits.MAX_CONTEXT} characters",
        )


def reindex(session: "OpenSession") -> None:
    """Bring a session's rules and subscribers up to date after a provider's changed."""
    providers = session.providers.values()
    has_rules = any(
        hooks.rules
        for provider in providers
        if (hooks := provider.hooks.get(session.id)) is not None
    )
    session.rules = RuleIndex(providers, session.id) if has_rules else None
    session.subscribers = {}
    for provider in providers:
        for event in provider.subscribed:
            session.subscribers.setdefault(event, []).append(provider)
