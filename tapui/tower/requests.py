"""Everything that an approval asks, for who decides."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tapui.projection.asking import SUBJECT
from tapui.tower.reader import Paragraph, title, value
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
_NAMES = {
    "fullCommandText": "command",
    "fileName": "file",
    "toolName": "tool",
    "serverName": "server",
}


def as_text(field: object) -> str:
    """Return a value of a detail: strings as they are, the rest as indented JSON."""
    if isinstance(field, str):
        return field
    return msgspec.json.format(msgspec.json.encode(field), indent=2).decode()


def explain(view: View, approval: ev.Approval, body: Mapping[str, Any]) -> list[Paragraph]:
    """Return everything that the person should know before they decide, nothing cut: `body` is the
    whole detail of the request."""
    detail = dict(body)
    parts: list[Paragraph] = []

    def tell(name: str, text: str, tone: str = "") -> None:
        parts.extend((title(name), value(text, tone), Paragraph("")))

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
            tone = "strong" if key in SUBJECT else ""
            tell(_NAMES.get(key, key), as_text(detail.pop(key)), tone)
    if approval.session_id is not None:
        tell("session", f"{view.session_name(approval.session_id)}  {approval.session_id}")
    if approval.provider is not None and approval.kind != "bindAll":
        tell("provider (as it calls itself)", approval.provider)
    if approval.reason:
        tell("reason", approval.reason)
    return parts
