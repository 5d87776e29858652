"""What an agent asks for: permissions of any kind, and other modes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tapui.projection.paragraphs import Paragraph, value
from tapui.projection.requests.kind import (
    DENY,
    DENY_AND_TELL,
    AskedRequest,
    Option,
    RequestContext,
    RequestKind,
    changed_lines,
    detail_of,
    first_text,
    session_name,
)
from tapui.projection.state import State
from tapui.text import revealed
from tapui.wire.codec import encode
from tapui.wire.subjects import AppliedRule, Approval, RequestPart
from tapui.wire.turns import StepKind

SUBJECT = (
    "fullCommandText",
    "command",
    "fileName",
    "path",
    "url",
    "toolName",
    "fact",
    "wish",
    "intention",
)
"""Fields of a permission that say what it is about; the first that is there is shown."""
_VERBS = {
    "shell": "run",
    "write": "write",
    "read": "read",
    "path": "open",
    "url": "fetch",
    "mcp": "call",
    "custom-tool": "call",
    "hook": "hook",
    "memory": "remember",
    "extension-permission-access": "allow",
    "extension-env-access": "allow",
    "extension-management": "extension",
}
PERMISSIONS = {
    "shell": "run a command",
    "write": "write a file",
    "read": "read a file",
    "path": "open a path",
    "url": "fetch a URL",
    "mcp": "call an MCP tool",
    "custom-tool": "call a tool",
    "hook": "call a tool that a hook holds back",
    "memory": "remember something",
    "extension-permission-access": "let an extension have more rights",
    "extension-env-access": "let an extension read environment variables",
    "extension-management": "change its extensions",
    "workflow": "run or write a workflow",
}
_NOTICES = {
    "run": "asks to run a command",
    "write": "asks to write a file",
    "read": "asks to read a file",
    "open": "asks to open a path",
    "fetch": "asks to fetch a URL",
    "call": "asks to call a tool",
}
_CAPITAL = re.compile(r"(?<=[a-z])[A-Z]")
_ALIGNED = 40
"""Characters of a part up to which what rules say of it stands in a column."""
_SAID = frozenset({"kind", "agentId", "toolCallId", "intention", "commandSegments", "commands"})
"""Fields that the title, the parts of the command or the reason say already."""
_EFFECTS = {"allow": "allowed by", "ask": "to be asked by", "deny": "denied by"}


class PermissionRequest(RequestKind):
    """The host asks whether the agent may do something."""

    word = "permission"

    def verb(self, approval: Approval) -> str:
        kind = str(detail_of(approval).get("kind") or "allow")
        return _VERBS.get(kind, kind)

    def notice_of(self, approval: Approval) -> str:
        return _NOTICES.get(self.verb(approval), self.notice)

    def line(self, approval: Approval, detail: Mapping[str, Any]) -> str:
        field = first_text(detail, SUBJECT)
        if not field:
            return _named(detail)
        if field == "toolName":
            given = detail.get("args") or detail.get("toolArgs")
            return f"{detail[field]} {_arguments(detail)}" if given else str(detail[field])
        return f"{detail[field]}{changed_lines(approval)}"

    def about(self, state: State, approval: Approval, detail: Mapping[str, Any]) -> str:
        field = first_text(detail, SUBJECT)
        if field:
            return f"{detail.get('kind', '')} {detail[field]}".strip().replace("\n", " ⏎ ")
        return str(detail.get("kind") or "a permission")

    def headline(self, state: State, asked: Sequence[AskedRequest]) -> str:
        approval = asked[0].approval
        kind = str(detail_of(approval).get("kind") or "do something")
        return f"{self.asker(state, approval)} asks to {PERMISSIONS.get(kind, kind)}"

    def answers(self, asked: Sequence[AskedRequest], others: int) -> list[Option]:
        approval = asked[0].approval
        once = Option("allow", "allow once", "allows it, this once")
        rule = Option("make-rule", "make a rule from it …", "writes the rule")
        if approval.judged is not None and approval.judged.unkeepable:
            return [once, rule, DENY, DENY_AND_TELL]
        what = "command" if detail_of(approval).get("kind") == "shell" else "request"
        keep = Option(
            "keep",
            f"allow exactly this {what} until the session ends",
            "allows exactly this, until the session ends",
        )
        return [once, keep, rule, DENY, DENY_AND_TELL]

    def subject(self, approval: Approval, detail: Mapping[str, Any]) -> str:
        key = _subject_key(detail)
        text = str(detail[key]) if key else ""
        server = detail.get("serverName")
        return f"{server}: {text}" if key == "toolName" and isinstance(server, str) else text

    def told(self, approval: Approval, detail: Mapping[str, Any]) -> frozenset[str]:
        is_said = approval.judged is not None or _segments(detail) or _is_whole(detail)
        told = {key for key in _SAID if key not in ("commands", "commandSegments") or is_said}
        if not isinstance(detail.get("intention"), str):
            told.discard("intention")
        key = _subject_key(detail)
        if detail.get("resolvedPath") == detail.get(key):
            told.add("resolvedPath")
        if detail.get("kind") == "shell":
            told.add("leads")
        if detail.get("hasWriteFileRedirection") is False:
            told.add("hasWriteFileRedirection")
        return frozenset(told | {key} | ({"serverName"} if key == "toolName" else set()))

    def judged(
        self, state: State, approval: Approval, detail: Mapping[str, Any]
    ) -> list[Paragraph]:
        said = judged_lines(state, approval) or _segments(detail)
        parts = [value(f"{number}  {one}", is_laid_out=True) for number, one in enumerate(said, 1)]
        if approval.judged is not None and approval.judged.why:
            parts.append(Paragraph(f"no rule may allow it: {approval.judged.why}", "muted"))
        return parts + [Paragraph("")] * bool(said)


class ModeSwitchRequest(RequestKind):
    """A session's agent or a provider asks to switch the mode."""

    word = verb_word = "mode"
    asks = notice = "asks to switch the mode"

    def line(self, approval: Approval, detail: Mapping[str, Any]) -> str:
        return f"{_word(detail.get('from'))} → {_word(detail.get('to'))}"

    def about(self, state: State, approval: Approval, detail: Mapping[str, Any]) -> str:
        return f"{self.line(approval, detail)} in {session_name(state, approval.session_id)}"

    def who(self, state: State, approval: Approval) -> str:
        asker = detail_of(approval).get("asker")
        return str(asker or approval.provider or session_name(state, approval.session_id))

    def reason(self, detail: Mapping[str, Any]) -> object:
        return detail.get("reason")

    def step(self, detail: Mapping[str, Any]) -> StepKind | None:
        return "mode"

    def answers(self, asked: Sequence[AskedRequest], others: int) -> list[Option]:
        allow = Option("allow", "allow the switch", "allows the switch")
        return [allow, DENY, DENY_AND_TELL]

    def told(self, approval: Approval, detail: Mapping[str, Any]) -> frozenset[str]:
        return frozenset({"from", "to", "asker", "reason"})

    def remarks(self, context: RequestContext, approval: Approval) -> list[Paragraph]:
        who = self.who(context.state, approval)
        if who == session_name(context.state, approval.session_id):
            return []
        return [Paragraph(f"asked by {' '.join(who.split())}", "muted")]


def judged_lines(state: State, approval: Approval) -> list[str]:
    """Return each part of what is asked, with what rules say of it."""
    if approval.judged is None:
        return []
    texts = [revealed(" ".join(part.text.split())) for part in approval.judged.parts]
    width = max((len(text) for text in texts if len(text) <= _ALIGNED), default=0)
    return [
        f"{text:<{width}}    {_said_of(part)}{_before(state, part.rule)}"
        for text, part in zip(texts, approval.judged.parts, strict=True)
    ]


def by_rule(approval: Approval) -> bool:
    """Return whether a rule decided, in the person's place."""
    return approval.rule is not None and approval.decided_by == "rule"


def rule_name(rule: AppliedRule | None) -> str:
    """Return a rule by its pattern and place: `rule “npm ci” (config.toml:7)`."""
    if rule is None:
        return ""
    if rule.source == "session":
        return "what you allowed until the session ends"
    place = f" ({rule.place})" if rule.place else ""
    return f"rule “{rule.pattern}”{place}"


def _before(state: State, rule: AppliedRule | None) -> str:
    """Return how often a rule has allowed something, as far as the tower knows."""
    if rule is None or rule.effect != "allow":
        return ""
    count = sum(one.rule == rule and by_rule(one) for one in state.approvals.values())
    return f" ({count} time{'s' * (count != 1)} before)" if count else ""


def _said_of(part: RequestPart) -> str:
    if part.rule is not None:
        return f"{_EFFECTS[part.rule.effect]} {rule_name(part.rule)}"
    return f"no rule may allow it: {part.why}" if part.why else "no rule"


def _subject_key(detail: Mapping[str, Any]) -> str:
    return first_text(detail, (key for key in SUBJECT if key != "intention"))


def _segments(detail: Mapping[str, Any]) -> list[str]:
    """Return the parts of a command; nothing for one that has a single part."""
    found = detail.get("commandSegments")
    if not isinstance(found, list) or len(found) < 2:
        return []
    texts = [one.get("fullCommandText") for one in found if isinstance(one, dict)]
    parts = [revealed(" ".join(one.split())) for one in texts if isinstance(one, str)]
    return parts if len(parts) == len(found) else []


def _is_whole(detail: Mapping[str, Any]) -> bool:
    match detail.get("commandSegments"):
        case [{"fullCommandText": str(text)}]:
            return text == detail.get("fullCommandText")
    return False


def _word(found: object) -> str:
    return found if isinstance(found, str) and found else "?"


def _named(detail: Mapping[str, Any]) -> str:
    """Return the fields of a request of an unknown kind, each with its name in words."""
    return "; ".join(
        f"{_CAPITAL.sub(_lower, key)}: {_value(given)}"
        for key, given in detail.items()
        if key != "kind" and given is not None
    )


def _lower(found: "re.Match[str]") -> str:
    return f" {found[0].lower()}"


def _value(given: object) -> str:
    if isinstance(given, str):
        return given
    if isinstance(given, list) and not any(isinstance(one, dict | list) for one in given):
        return ", ".join(map(_value, given))
    return encode(given).decode("utf-8", "replace")


def _arguments(detail: Mapping[str, Any]) -> str:
    """Return the arguments of a call: of one that a hook asks about, the command if it runs one."""
    args = detail.get("args")
    if not args:
        args = detail.get("toolArgs")
        command = args.get("command") if isinstance(args, Mapping) else None
        if isinstance(command, str):
            return command
    return encode(args).decode("utf-8", "replace")
