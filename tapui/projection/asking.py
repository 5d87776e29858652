"""What an approval asks and who asks it, on one line each (nothing here is made safe yet)."""

from collections.abc import Mapping
from typing import Any

from tapui.projection.state import State
from tapui.wire.events import Approval

SUBJECT = ("fullCommandText", "command", "fileName", "path", "url", "toolName", "intention")
"""Fields of a permission that say what it is about; the first that is there is shown."""


def detail_of(approval: Approval) -> Mapping[str, Any]:
    """Return the approval's detail as a mapping, whatever was sent."""
    detail = approval.detail
    return detail if isinstance(detail, dict) else {"detail": detail}


def session_name(state: State, session_id: str | None) -> str:
    """Return a session's label, or its id where it has none; "" for no session."""
    if session_id is None:
        return ""
    session = state.sessions.get(session_id)
    return session.label or session_id if session else session_id


def subject(state: State, approval: Approval) -> str:
    """Return what is asked."""
    detail = detail_of(approval)
    if approval.kind == "pairing":
        return str(detail.get("origin") or "local program")
    if approval.kind == "mode":
        target = f"{detail.get('from') or '?'} → {detail.get('to') or '?'}"
        return f"{target} in {session_name(state, approval.session_id)}"
    if approval.kind == "bindAll":
        return str(detail.get("name") or approval.provider or "a provider")
    if approval.kind in ("userInput", "elicitation"):
        return str(detail.get("question") or detail.get("message") or "asks for an answer")
    for key in SUBJECT:
        if isinstance(detail.get(key), str) and detail[key]:
            return f"{detail.get('kind', '')} {detail[key]}".strip().replace("\n", " ⏎ ")
    return str(detail.get("kind") or "a permission")


def who(state: State, approval: Approval) -> str:
    """Return who asks."""
    if approval.kind == "mode":
        asker = detail_of(approval).get("asker")
        return str(asker or approval.provider or session_name(state, approval.session_id))
    if approval.session_id is not None:
        return session_name(state, approval.session_id)
    return approval.provider or "-"
