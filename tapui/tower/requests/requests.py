"""A request in words: who asks for what, its facts and files, and the answers it can have."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from tapui.projection import asking
from tapui.text import revealed
from tapui.times import date_and_time
from tapui.tower.app.view import View
from tapui.tower.calls.changes import changes
from tapui.tower.requests.urgency import Request, asker
from tapui.tower.textual.reader import Paragraph, title, value
from tapui.tower.wording.words import quantity, readable
from tapui.wire import subjects

Answer = Literal["allow", "keep", "make-rule", "deny", "deny-and-tell", "one-by-one"]
"""What a letter stands for: the action of its key."""

_PERMISSIONS = {
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
_KINDS = {
    "pairing": "asks to be paired",
    "mode": "asks to switch the mode",
    "bindAll": "asks to join all sessions",
    "userInput": "asks a question",
    "elicitation": "asks you to fill in a form",
    "emitter": "has an emitter that is to start",
    "mcpServer": "has an MCP server that is to start",
    "terminal": "wants to answer for you",
    "command": "wants to answer for you",
}
_TITLES = {
    "diff": "changes",
    "args": "arguments",
    "toolArgs": "arguments",
    "newFileContents": "new contents",
    "hookMessage": "the hook says",
    "hasWriteFileRedirection": "writes to a file",
    "possiblePaths": "paths in it",
    "resolvedPath": "where it really is",
    "hardLinks": "has other names",
}
_BODIES = ("warning", "hookMessage", "args", "toolArgs", "diff", "newFileContents")
"""Fields that follow what is asked, in this order; all others come after them by name."""
_ALIGNED = 40
"""Characters of a part up to which what rules say of it stands in a column."""
_SAID = frozenset({"kind", "agentId", "toolCallId", "intention", "commandSegments", "commands"})
"""Fields that the title, the parts of the command or the reason say already."""


class Option(NamedTuple):
    """An answer that a request can have: what its letter does, what Enter then does."""

    answer: Answer
    does: str
    enter: str


def headline(view: View, approval: subjects.Approval) -> str:
    """Return who asks for what."""
    if approval.kind == "pairing":
        origin = asking.detail_of(approval).get("origin")
        who = "A web page" if origin else "A local program"
    elif approval.kind == "bindAll":
        who = asking.request(approval)
    elif approval.kind in ("terminal", "command"):
        who = f"A {approval.kind}"
    else:
        who = asker(view.state, Request(approval))
    if asking.is_budget(approval):
        return f"{who} has used up its budget"
    if approval.kind != "permission":
        return f"{who} {_KINDS[approval.kind]}"
    kind = str(asking.detail_of(approval).get("kind") or "do something")
    return f"{who} asks to {_PERMISSIONS.get(kind, kind)}"


def options(approval: subjects.Approval) -> list[Option]:
    """Return the answers that have an effect now."""
    if approval.state == "revealed":
        return [Option("deny", "deny: the code is of no use any more", "denies")]
    deny = Option("deny", "deny", "denies")
    match approval.kind:
        case "pairing":
            return [Option("allow", "show the pairing code", "shows the pairing code"), deny]
        case "userInput" if asking.is_budget(approval):
            no = Option("deny", "no: the prompt is not sent", "denies: the prompt is not sent")
            return [Option("allow", "send this answer", "sends this answer"), no]
        case "userInput":
            leave = Option("deny", "no answer from here: it is asked in Copilot", "leaves it")
            return [Option("allow", "send this answer", "sends this answer"), leave]
        case "elicitation":
            decline = Option("deny", "decline the form", "declines")
            return [Option("allow", "send this answer", "sends this answer"), decline]
        case "bindAll":
            return [Option("allow", "allow", "allows it"), deny]
        case "terminal":
            yours = "it is yours: let it in until it closes"
            return [Option("allow", yours, "lets the terminal in"), deny]
        case "command":
            return [Option("allow", "it is yours: let it through once", "lets it through"), deny]
    tell = Option("deny-and-tell", "deny, and tell the agent …", "denies and tells it this")
    if approval.kind == "mode":
        return [Option("allow", "allow the switch", "allows the switch"), deny, tell]
    once = Option("allow", "allow once", "allows it, this once")
    rule = Option("make-rule", "make a rule from it …", "writes the rule")
    if approval.judged is not None and approval.judged.unkeepable:
        return [once, rule, deny, tell]
    what = "command" if asking.detail_of(approval).get("kind") == "shell" else "request"
    keep = Option(
        "keep",
        f"allow exactly this {what} until the session ends",
        "allows exactly this, until the session ends",
    )
    return [once, keep, rule, deny, tell]


def subject(approval: subjects.Approval, detail: Mapping[str, Any]) -> str:
    """Return the thing itself that is asked, whole and with its line feeds; "" where only the
    fields of the request say it. `detail` is all of its detail."""
    match approval.kind:
        case "pairing":
            return str(detail.get("origin") or "local program")
        case "mode":
            return f"{_word(detail.get('from'))} → {_word(detail.get('to'))}"
        case "bindAll":
            return str(detail.get("name") or approval.provider or "a provider")
        case "terminal" | "command":
            return asking.request(approval)
    key = _subject_key(approval, detail)
    text = str(detail[key]) if key else ""
    server = detail.get("serverName")
    return f"{server}: {text}" if key == "toolName" and isinstance(server, str) else text


def explain(view: View, approval: subjects.Approval, detail: Mapping[str, Any]) -> list[Paragraph]:
    """Return everything that the person should know before they decide, nothing cut."""
    rest = {str(key): found for key, found in detail.items()}
    parts: list[Paragraph] = []
    main = subject(approval, detail)
    if main:
        lines = asking.changed_lines(approval)
        parts += [value(f"{main}{lines}", "strong"), Paragraph("")]
    for key in _told(approval, detail):
        rest.pop(key, None)
    if rest.get("hasWriteFileRedirection") is False:
        del rest["hasWriteFileRedirection"]
    said = judged_lines(view, approval) or _segments(detail)
    parts += [value(f"{number}  {one}", is_laid_out=True) for number, one in enumerate(said, 1)]
    if approval.judged is not None and approval.judged.why:
        parts.append(Paragraph(f"no rule may allow it: {approval.judged.why}", "muted"))
    parts += [Paragraph("")] * bool(said)
    parts += [*_around(view, approval), Paragraph("")]
    for key in (*_BODIES, *sorted(rest)):
        if key in rest:
            found = rest.pop(key)
            parts.append(title(_TITLES.get(key, key)))
            is_diff = key == "diff" and isinstance(found, str)
            parts += changes(str(found)) if is_diff else [value(readable(found))]
            parts.append(Paragraph(""))
    return parts[:-1]


def _around(view: View, approval: subjects.Approval) -> list[Paragraph]:
    """Return where it is asked and why, for what is not plain from the thing itself."""
    found: list[Paragraph] = []
    session = view.state.sessions.get(approval.session_id or "")
    if session is not None:
        found.append(Paragraph(f"in {' '.join(session.cwd.split())}", "muted"))
    who = asking.who(view.state, approval)
    if approval.kind == "mode":
        if who != asking.session_name(view.state, approval.session_id):
            found.append(Paragraph(f"asked by {' '.join(who.split())}", "muted"))
    elif approval.provider is not None and approval.kind != "bindAll":
        name = " ".join(approval.provider.split())
        found.append(Paragraph(f"provider, as it calls itself: {name}", "muted"))
    if approval.kind == "bindAll":
        found.append(Paragraph("It would see every session, later ones too.", "muted"))
    if approval.kind == "pairing":
        found.append(Paragraph("The code that you are shown is to be entered there.", "muted"))
    if approval.kind == "terminal":
        found += _about_terminal(asking.detail_of(approval))
    if approval.kind == "command":
        found += _about_command(asking.detail_of(approval))
    if reason := asking.reason(approval):
        found.append(Paragraph(f"the agent says: “{reason}”"))
    if approval.reason:
        found.append(Paragraph(f"reason: {' '.join(approval.reason.split())}"))
    return found


def _about_terminal(detail: Mapping[str, Any]) -> list[Paragraph]:
    """Return since when a terminal and its program are there, and what it wants first."""
    found = [f"{detail.get('device')}, opened {date_and_time(str(detail.get('since')))}"]
    if detail.get("holder"):
        since = date_and_time(str(detail.get("holderSince")))
        found.append(f"by {detail['holder']}, which runs since {since}")
    return [
        value(", ".join(found)),
        value(f"it wants to {asking.wanted_words(detail)}, with {detail.get('command')}"),
        Paragraph("An agent can open a terminal too: allow only one that you opened.", "muted"),
    ]


def _about_command(detail: Mapping[str, Any]) -> list[Paragraph]:
    """Return why a command is asked about, and its process with those above it."""
    line = detail.get("line")
    above = line[1:] if isinstance(line, list) else []
    return [
        value(str(detail.get("why"))),
        *(value(f"started by {one}", "muted") for one in above),
        Paragraph("An agent can start a command too: allow only one that you typed.", "muted"),
    ]


def _told(approval: subjects.Approval, detail: Mapping[str, Any]) -> frozenset[str]:
    """Return the fields that are shown in another way than by their names."""
    match approval.kind:
        case "pairing":
            return frozenset({"origin"})
        case "mode":
            return frozenset({"from", "to", "asker", "reason"})
        case "bindAll":
            return frozenset({"name"})
        case "terminal" | "command":
            return frozenset(detail)
        case "userInput" | "elicitation":
            said = {"question", "message", "choices", "allowFreeform", "requestedSchema"}
            return frozenset(said | ({"kind"} if asking.is_budget(approval) else set()))
    is_said = approval.judged is not None or _segments(detail) or _is_whole(detail)
    told = {key for key in _SAID if key not in ("commands", "commandSegments") or is_said}
    if not isinstance(detail.get("intention"), str):
        told.discard("intention")
    key = _subject_key(approval, detail)
    if detail.get("resolvedPath") == detail.get(key):
        told.add("resolvedPath")
    if detail.get("kind") == "shell":
        told.add("leads")
    return frozenset(told | {key} | ({"serverName"} if key == "toolName" else set()))


def _subject_key(approval: subjects.Approval, detail: Mapping[str, Any]) -> str:
    if approval.kind in ("userInput", "elicitation"):
        keys: tuple[str, ...] = ("question", "message")
    else:
        keys = tuple(key for key in asking.SUBJECT if key != "intention")
    return next((key for key in keys if isinstance(detail.get(key), str) and detail[key]), "")


def judged_lines(view: View, approval: subjects.Approval) -> list[str]:
    """Return each part of what is asked, with what rules say of it."""
    if approval.judged is None:
        return []
    texts = [revealed(" ".join(part.text.split())) for part in approval.judged.parts]
    width = max((len(text) for text in texts if len(text) <= _ALIGNED), default=0)
    return [
        f"{text:<{width}}    {_said_of(part)}{_before(view, part.rule)}"
        for text, part in zip(texts, approval.judged.parts, strict=True)
    ]


def _before(view: View, rule: subjects.AppliedRule | None) -> str:
    """Return how often a rule has allowed something, as far as the tower knows."""
    if rule is None or rule.effect != "allow":
        return ""
    times = sum(one.rule == rule and asking.by_rule(one) for one in view.state.approvals.values())
    return f" ({quantity(times, 'time')} before)" if times else ""


_EFFECTS = {"allow": "allowed by", "ask": "to be asked by", "deny": "denied by"}


def _said_of(part: subjects.RequestPart) -> str:
    if part.rule is not None:
        return f"{_EFFECTS[part.rule.effect]} {asking.rule_name(part.rule)}"
    return f"no rule may allow it: {part.why}" if part.why else "no rule"


def _segments(detail: Mapping[str, Any]) -> list[str]:
    """Return the parts of a command; nothing for one that has a single part."""
    found = detail.get("commandSegments")
    if not isinstance(found, list) or len(found) < 2:
        return []
    texts = [one.get("fullCommandText") for one in found if isinstance(one, dict)]
    parts = [revealed(" ".join(one.split())) for one in texts if isinstance(one, str)]
    return parts if len(parts) == len(found) else []


def _is_whole(detail: Mapping[str, Any]) -> bool:
    """Return whether the one part of a command is all of it."""
    match detail.get("commandSegments"):
        case [{"fullCommandText": str(text)}]:
            return text == detail.get("fullCommandText")
    return False


def _word(found: object) -> str:
    return found if isinstance(found, str) and found else "?"


_NAME_WIDTH = 13


def origin(rest: dict[str, Any]) -> list[Paragraph]:
    """Take out of a detail where it is written and what it says of itself; return that."""
    file, line = text_of(rest, "file"), rest.pop("line", None)
    rest.pop("file", None)
    place = f"{file}:{line}" if file and line is not None else file
    parts = fact("from", place)
    return parts + fact("calls itself", str(rest.pop("description", "") or ""))


def covered(rest: dict[str, Any]) -> list[Paragraph]:
    """Take out of a detail the files whose contents are allowed with it, and what is not seen;
    return that."""
    files, uncovered = list_of(rest, "files"), list_of(rest, "uncovered")
    doubts = list_of(rest, "doubts")
    for key in ("files", "uncovered", "doubts"):
        rest.pop(key, None)
    parts: list[Paragraph] = []
    if files:
        parts.append(Paragraph("files it names: you are asked again when one changes", "muted"))
        parts += [value(_fact_word(one)) for one in files]
    if uncovered:
        parts.append(Paragraph("not covered: a change there is not noticed", "warning"))
        parts += [value(_fact_word(one)) for one in uncovered]
    if doubts:
        parts.append(Paragraph("it may run more than its words name", "warning"))
        parts += [value(_fact_word(one)) for one in doubts]
    return parts


def fact(name: str, found: str, tone: str = "") -> list[Paragraph]:
    """Return a fact behind its name, on one line; nothing where there is none."""
    if not found:
        return []
    return [
        Paragraph(f"{name:<{_NAME_WIDTH}}{revealed(' '.join(found.splitlines()))}", tone or "muted")
    ]


def text_of(detail: Mapping[str, Any], key: str) -> str:
    """Return a text of a detail; "" where it has none."""
    found = detail.get(key)
    return found if isinstance(found, str) else ""


def list_of(detail: Mapping[str, Any], key: str) -> list[Any]:
    """Return a list of a detail; an empty one where it has none."""
    found = detail.get(key)
    return found if isinstance(found, list) else []


def _fact_word(found: object) -> str:
    if isinstance(found, Sequence) and not isinstance(found, str) and found:
        return str(found[0])
    return str(found)
