"""What an approval asks, in words: one line for lists, everything for who decides."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tapui.tower.reader import Part, title, value
from tapui.tower.view import View
from tapui.wire import events as ev

_FIRST = (
    "toolName",
    "fullCommandText",
    "command",
    "fileName",
    "path",
    "url",
    "server",
    "serverName",
    "args",
    "intention",
    "warning",
    "diff",
)
"""Fields of a permission that matter most, in order; the rest follow by name."""
_SUBJECT = ("fullCommandText", "command", "fileName", "path", "url", "toolName", "intention")
_NAMES = {
    "fullCommandText": "command",
    "fileName": "file",
    "toolName": "tool",
    "serverName": "server",
}


def detail_of(approval: ev.Approval) -> Mapping[str, Any]:
    """Return the approval's detail as a mapping, whatever was sent."""
    detail = approval.detail
    return detail if isinstance(detail, dict) else {"detail": detail}


def as_text(field: object) -> str:
    """Return a value of a detail: strings as they are, the rest as indented JSON."""
    if isinstance(field, str):
        return field
    return msgspec.json.format(msgspec.json.encode(field), indent=2).decode()


def subject(view: View, approval: ev.Approval) -> str:
    """Return what is asked, on one line (not made safe)."""
    detail = detail_of(approval)
    if approval.kind == "pairing":
        return str(detail.get("origin") or "local program")
    if approval.kind == "mode":
        target = f"{detail.get('from') or '?'} → {detail.get('to') or '?'}"
        return f"{target} in {view.session_name(approval.session_id)}"
    if approval.kind == "bindAll":
        return str(detail.get("name") or approval.provider or "a provider")
    if approval.kind in ("userInput", "elicitation"):
        return str(detail.get("question") or detail.get("message") or "asks for an answer")
    for key in _SUBJECT:
        if isinstance(detail.get(key), str) and detail[key]:
            return f"{detail.get('kind', '')} {detail[key]}".strip().replace("\n", " ⏎ ")
    return str(detail.get("kind") or "a permission")


def who(view: View, approval: ev.Approval) -> str:
    """Return who asks, on one line (not made safe)."""
    if approval.kind == "mode":
        asker = detail_of(approval).get("asker")
        return str(asker or approval.provider or view.session_name(approval.session_id))
    if approval.session_id is not None:
        return view.session_name(approval.session_id)
    return approval.provider or "-"


def explain(view: View, approval: ev.Approval, body: Mapping[str, Any]) -> list[Part]:
    """Return everything that the person should know before they decide, nothing cut: `body` is the
    whole detail of the request."""
    detail = dict(body)
    parts: list[Part] = []

    def tell(name: str, text: str, tone: str = "") -> None:
        parts.extend((title(name), value(text, tone), Part("")))

    if approval.kind == "pairing":
        origin = detail.pop("origin", None)
        tell("origin", str(origin) if origin else "local program", "strong")
    elif approval.kind == "mode":
        source, target = detail.pop("from", None), detail.pop("to", None)
        tell("switch", f"{as_text(source)} → {as_text(target)}", "strong")
        tell("asked by", as_text(detail.pop("asker", None) or approval.provider or "?"))
        if reason := detail.pop("reason", None):
            tell("reason given", as_text(reason))
    elif approval.kind == "bindAll":
        tell("provider", as_text(detail.pop("name", approval.provider or "?")), "strong")
        tell("asks for", "access to every session, later ones too")
    for key in (*_FIRST, *sorted(map(str, detail))):
        if key in detail:
            tone = "strong" if key in _SUBJECT else ""
            tell(_NAMES.get(key, key), as_text(detail.pop(key)), tone)
    if approval.session_id is not None:
        tell("session", f"{view.session_name(approval.session_id)}  {approval.session_id}")
    if approval.provider is not None and approval.kind != "bindAll":
        tell("provider (as it calls itself)", approval.provider)
    if approval.reason:
        tell("reason", approval.reason)
    return parts
