"""What an agent asks for: permissions of any kind, and other modes."""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, get_args

import msgspec

from tapui.projection.paragraphs import Paragraph, title, value
from tapui.projection.requests.request_kind import (
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
from tapui.projection.summary import FIELDS, head_strings
from tapui.text import revealed
from tapui.wire import limits
from tapui.wire.codec import encode
from tapui.wire.message import Mode
from tapui.wire.subjects import (
    AppliedRule,
    Approval,
    FileWritten,
    Judged,
    ModeAsker,
    ModePolicy,
    RequestPart,
    switch_setting,
)
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
_BELOW = "  └ "
"""Before what is said of a line above: no line of a command begins so."""
_JOINS = " \t\n;&|\\"
"""What stands between the parts of a command."""
_HERE_DOCUMENT = re.compile(r"<<-?\s*(['\"]?)([^\s'\"<>&|;]+)\1")
_SAID = frozenset({"kind", "agentId", "toolCallId", "intention", "commandSegments", "commands"})
"""Fields that the title, the parts of the command or the reason say already."""
_JUDGED = {
    "approve": "would allow it",
    "requireApproval": "would have you asked",
    "excluded": "judges nothing of this kind",
    "error": "has not answered",
}
"""What the CLI's judge makes of a request, by its own names."""
_OF_COMMANDS = ("url", "path", "read", "write")
"""Kinds of permission that a command can need: they are about the URL or the path, and the command
stands below it."""
_THINGS = ("fileName", "path", "url")
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
        field = first_text(detail, _fields_of(detail))
        if not field or not _is_known(approval):
            return ""
        if field == "toolName":
            given = detail.get("args") or detail.get("toolArgs")
            return f"{detail[field]} {_arguments(detail)}" if given else str(detail[field])
        return f"{detail[field]}{changed_lines(approval)}"

    def about(self, state: State, approval: Approval, detail: Mapping[str, Any]) -> str:
        field = first_text(detail, _fields_of(detail))
        if not field:
            return str(detail.get("kind") or "a permission")
        kind, name, server = detail.get("kind", ""), str(detail[field]), detail.get("serverName")
        if kind == "custom-tool":  # what a rule takes, such as `tool greet`, `mcp github/get_issue`
            kind = "tool"
        elif kind == "mcp" and field == "toolName" and isinstance(server, str):
            name = f"{server}/{name.removeprefix(f'{server}-')}"
        return f"{kind} {name}".strip().replace("\n", " ⏎ ")

    def headline(self, state: State, asked: Sequence[AskedRequest]) -> str:
        approval = asked[0].approval
        kind = str(detail_of(approval).get("kind") or approval.kind)
        does = PERMISSIONS.get(kind)
        asks = f"asks to {does}" if does else f"asks for {kind} (unknown)"
        return f"{self.asker(state, approval)} {asks}"

    def answers(self, asked: Sequence[AskedRequest], others: int) -> list[Option]:
        approval = asked[0].approval
        once = Option("allow", "allow once", "allows it, this once")
        if not _is_known(approval):
            return [once, DENY, DENY_AND_TELL]
        judged = approval.judged or Judged()
        rule = [Option("make-rule", "make a rule from it …", "writes the rule")]
        if judged.why:
            rule = []  # the request says itself that no rule may allow it
        if judged.unkeepable:
            return [once, *rule, DENY, DENY_AND_TELL]
        what = "command" if detail_of(approval).get("kind") == "shell" else "request"
        keep = Option(
            "keep",
            f"allow exactly this {what} until the session or tapui ends",
            "allows exactly this, until the session or tapui ends",
        )
        return [once, keep, *rule, DENY, DENY_AND_TELL]

    def subject(self, approval: Approval, detail: Mapping[str, Any]) -> str:
        if not _is_known(approval):
            return ""
        key = _subject_key(detail)
        text = str(detail[key]) if key else ""
        server = detail.get("serverName")
        return f"{server}: {text}" if key == "toolName" and isinstance(server, str) else text

    def told(self, approval: Approval, detail: Mapping[str, Any]) -> frozenset[str]:
        if not _is_known(approval):
            return frozenset({"kind", "agentId", "toolCallId"})
        is_said = approval.judged is not None or _segments(detail) or _is_whole(detail)
        told = {key for key in _SAID if key not in ("commands", "commandSegments") or is_said}
        if not isinstance(detail.get("intention"), str):
            told.discard("intention")
        key = _subject_key(detail)
        if detail.get("resolvedPath") == detail.get(key):
            told.add("resolvedPath")
        if detail.get("kind") == "shell":
            told |= {"leads", "hasWriteFileRedirection"}
        if detail.get("kind") in _OF_COMMANDS:
            told |= {"fullCommandText", "commandSegments"}
        if detail.get("shellType") == "bash":
            told.add("shellType")
        if _judge_words(detail):
            told.add("assistedApproval")
        return frozenset(told | {key} | ({"serverName"} if key == "toolName" else set()))

    def remarks(self, context: RequestContext, approval: Approval) -> list[Paragraph]:
        words = _judge_words(detail_of(approval)) if _is_known(approval) else ""
        return [*super().remarks(context, approval), *[Paragraph(words, "muted")] * bool(words)]

    def shown(
        self, state: State, approval: Approval, detail: Mapping[str, Any], subject: str
    ) -> list[Paragraph]:
        segments = [] if detail.get("kind") in _OF_COMMANDS else _segments(detail)
        ending = changed_lines(approval)
        text = judged_text(state, approval, subject, ending=ending, segments=segments)
        apart = text.apart
        if approval.judged is not None and approval.judged.why:
            why = Paragraph(f"no rule may allow it: {approval.judged.why}", "muted")
            apart = [*apart, why]
        told = [*text.shown, *[Paragraph("")] * bool(apart), *apart]
        if command := command_of(state, approval):
            told += [Paragraph(""), title("command"), value(command)]
        return told


MODE_ASKERS: dict[ModeAsker, str] = {
    "agent": "the session's agent",
    "subagent": "a subagent",
    "provider": "a provider",
    "commandLine": "a command",
}


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
        return frozenset({"from", "to", "asker", "reason", "askedBy", "policy"})

    def remarks(self, context: RequestContext, approval: Approval) -> list[Paragraph]:
        who = self.who(context.state, approval)
        found = []
        if who != session_name(context.state, approval.session_id):
            found.append(Paragraph(f"asked by {' '.join(who.split())}", "muted"))
        detail = detail_of(approval)
        to: Any = detail.get("to")
        asker, policy = str(detail.get("askedBy")), detail.get("policy")
        if asker in MODE_ASKERS and to in get_args(Mode) and policy in get_args(ModePolicy):
            text = f"{MODE_ASKERS[asker]} wants it: {switch_setting(asker, to)} is {policy}"
            found.append(Paragraph(text, "muted"))
        return found


def command_of(state: State, approval: Approval) -> str:
    """Return the command that needs a URL or a path, as the request or its call has it; "" for
    none."""
    detail = detail_of(approval)
    call_id = detail.get("toolCallId")
    if not _is_known(approval) or detail.get("kind") not in _OF_COMMANDS or not call_id:
        return ""
    if command := first_text(detail, ("fullCommandText",)):
        return str(detail[command])
    calls = (call for call in state.calls.values() if call_id in (call.id, call.tool_call_id))
    call = next((call for call in calls if call.session_id == approval.session_id), None)
    if call is None or call.tool == "str_replace_editor":  # its command is a verb
        return ""
    if call.args is None:
        given = head_strings(call.args_cut.head) if call.args_cut is not None else {}
        command = given.get(first_text(given, FIELDS[0]), "")
        return f"{command}…" if command else ""
    try:
        args = msgspec.json.decode(call.args)
    except (msgspec.DecodeError, RecursionError):
        return ""
    if not isinstance(args, dict):
        return ""
    return str(args.get(first_text(args, FIELDS[0]), ""))


class JudgedText(NamedTuple):
    """What is asked, and of its parts what it does not show by itself.

    `shown` is the text, whole and once: below a line stands what is known of its parts, such as the
    files that they write. `apart` are parts that are not in it.
    """

    shown: list[Paragraph]
    apart: list[Paragraph]


def judged_text(
    state: State, approval: Approval, text: str, *, ending: str = "", segments: Sequence[str] = ()
) -> JudgedText:
    """Return what is asked with what rules say of its parts, and the files that these write.

    `ending` stands behind its last line. `segments` are its parts as its host sees them: they are
    shown where there are no rules, and the text has them in other words.
    """
    places = _Places(text)
    lines, parts = places.lines, approval.judged.parts if approval.judged is not None else []
    notes: dict[int, list[Paragraph]] = {}
    apart: list[Paragraph] = []
    whys = {part.why if part.rule is None else "" for part in parts}
    of_all = whys.pop() if len(parts) > 1 and len(whys) == 1 else ""
    for part in parts:
        said = _said_of(state, part, of_all)
        place = places.of(part)
        if place is None:
            apart += _listed(part, said, "│ ")
        elif said:
            first, last = place
            is_alone = _words(" ".join(lines[first : last + 1])) == _words(_written_as(part))
            told = [Paragraph(one, "", _BELOW) for one in said]
            notes.setdefault(last, []).extend(told if is_alone else _listed(part, said, _BELOW))
    if of_all:
        why = Paragraph(f"no rule allows any of its parts: {of_all}", "", _BELOW)
        notes.setdefault(len(lines) - 1, []).append(why)
    if len(parts) >= limits.MAX_REQUEST_PARTS and _words(text[places.at :]):
        told_of = f"only its first {len(parts)} parts were looked at, for rules and files"
        apart.append(Paragraph(told_of, "muted"))
    if approval.judged is None:
        flat = " ".join(text.split())
        flats = [" ".join(one.split()) for one in segments]
        apart += [value(one) for one in flats if one not in flat]
    lines[-1] += ending
    shown: list[Paragraph] = []
    begin = 0
    for last in sorted({*notes, len(lines) - 1}) if text else ():
        shown += [value("\n".join(lines[begin : last + 1]), "strong"), *notes.get(last, ())]
        begin = last + 1
    return JudgedText(shown, apart)


class _Places:
    """Finds the parts of a command in its text, one after the other."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.lines = text.split("\n")
        self.at = 0
        """Where the newest one ends."""
        self._starts = list(accumulate((len(line) + 1 for line in self.lines), initial=0))
        self._passed = {at for at, line in enumerate(self.lines) if line.lstrip().startswith("#")}
        """Lines in which no part begins: comments, and the contents of here-documents."""

    def of(self, part: RequestPart) -> tuple[int, int] | None:
        """Return the first and the last line of the next part; None where it is not found."""
        text = part.text
        if text.endswith("…") and text not in self._text:
            text = text[:-1]  # the gateway has cut it
        found = self._text.find(text, self.at)
        while found >= 0 and self._line_at(found) in self._passed:
            found = self._text.find(text, self._starts[self._line_at(found) + 1])
        if found < 0:
            return None
        self.at = found + len(text)
        last = self._line_at(max(self.at - 1, found))
        for one in _HERE_DOCUMENT.finditer(part.redirections):
            ends = (
                at for at, line in enumerate(self.lines) if at > last and line.strip() == one[2]
            )
            self._passed.update(range(last + 1, next(ends, last) + 1))
        return self._line_at(found), last

    def _line_at(self, place: int) -> int:
        return bisect_right(self._starts, place) - 1


def _written_as(part: RequestPart) -> str:
    return f"{part.text} {part.redirections}"


def _words(text: str) -> list[str]:
    """Return the words of a part, without what joins it to others."""
    return text.strip(_JOINS).split()


def _listed(part: RequestPart, said: Sequence[str], margin: str) -> list[Paragraph]:
    """Return a part by itself, with what is said of it."""
    first, *others = said or [""]
    own = revealed(" ".join(_written_as(part).split()))
    text = f"{own}    {revealed(first)}" if first else own
    return [
        Paragraph(text, "", margin, is_laid_out=True),
        *(Paragraph(one, "", f"{margin}  ") for one in others),
    ]


def _written_words(written: FileWritten) -> str:
    """Return `writes build/out.txt: new, outside of the folder`."""
    said = {True: ["there already"], False: ["new"], None: []}[written.existing]
    said = said + ["outside of the folder"] * bool(written.outside)
    return f"writes {revealed(written.path)}{': ' * bool(said)}{', '.join(said)}"


def _is_known(approval: Approval) -> bool:
    """Return whether this tapui knows what kind of thing is asked: an answer may last then."""
    return approval.kind == "permission" and detail_of(approval).get("kind") in PERMISSIONS


def _judge_words(detail: Mapping[str, Any]) -> str:
    """Return what the CLI's judge says of a request, "" where that is nothing known."""
    said = detail.get("assistedApproval")
    if not isinstance(said, Mapping) or str(said.get("recommendation")) not in _JUDGED:
        return ""
    texts = [said.get(name) for name in ("model", "reason", "failureReason")]
    model, *reasons = [
        "" if not isinstance(text, str) else " ".join(text.split()) for text in texts
    ]
    name = f"Copilot's judge{f' ({model})' * bool(model)}"
    return ": ".join([f"{name} {_JUDGED[said['recommendation']]}", *filter(None, reasons)])


def by_rule(approval: Approval) -> bool:
    """Return whether a rule decided, in the person's place."""
    return approval.rule is not None and approval.decided_by == "rule"


def by_written_rule(approval: Approval) -> bool:
    """Return whether a rule of a file decided, not what the person had allowed in the session."""
    rule = approval.rule
    return by_rule(approval) and rule is not None and rule.source != "session"


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


def _said_of(state: State, part: RequestPart, of_all: str) -> list[str]:
    """Return what is known of a part besides its text, and besides why no rule allows any part;
    nothing where no rule fits it and it writes no file."""
    said = []
    if part.rule is not None:
        named = f"{_EFFECTS[part.rule.effect]} {rule_name(part.rule)}"
        said.append(f"{named}{_before(state, part.rule)}")
    elif part.why != of_all:  # of the rules that there are: one that names more may
        said.append(f"no rule allows it: {part.why}")
    return [*said, *map(_written_words, part.writes)]


def _subject_key(detail: Mapping[str, Any]) -> str:
    return first_text(detail, (key for key in _fields_of(detail) if key != "intention"))


def _fields_of(detail: Mapping[str, Any]) -> Sequence[str]:
    return (*_THINGS, *SUBJECT) if detail.get("kind") in _OF_COMMANDS else SUBJECT


def _segments(detail: Mapping[str, Any]) -> list[str]:
    """Return the parts of a command as its host sees them; nothing for a single one."""
    found = detail.get("commandSegments")
    if not isinstance(found, list) or len(found) < 2:
        return []
    texts = [one.get("fullCommandText") for one in found if isinstance(one, dict)]
    parts = [one for one in texts if isinstance(one, str)]
    return parts if len(parts) == len(found) else []


def _is_whole(detail: Mapping[str, Any]) -> bool:
    match detail.get("commandSegments"):
        case [{"fullCommandText": str(text)}]:
            return text == detail.get("fullCommandText")
    return False


def _word(found: object) -> str:
    return found if isinstance(found, str) and found else "?"


def _arguments(detail: Mapping[str, Any]) -> str:
    """Return the arguments of a call: of one that a hook asks about, the command if it runs one."""
    args = detail.get("args")
    if not args:
        args = detail.get("toolArgs")
        command = args.get("command") if isinstance(args, Mapping) else None
        if isinstance(command, str):
            return command
    return encode(args).decode("utf-8", "replace")
