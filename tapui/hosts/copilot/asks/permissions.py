"""The CLI's permission requests, answered here or there, whichever comes first."""

import asyncio
import contextlib
import os
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from tapui.hosts.copilot.asks.questions import waited
from tapui.hosts.copilot.connection import (
    AttachError,
    CliEvent,
    CliSession,
    LostError,
    NoAnswerError,
    objects_of,
    text_of,
)
from tapui.hosts.copilot.uplink import SessionUplink
from tapui.hosts.word_leads import has_other_names, word_leads
from tapui.wire.codec import raw
from tapui.wire.host import ApprovalAnswer, ApprovalRequest, ApprovalWithdraw, SessionEvent

SETTLE_TIME = 0.15
"""Seconds after which a request that the CLI has not answered by its own rules is shown."""
_LEADS_TIME = 2.0
"""Seconds within which it is found out where the words of a command lead."""
ALLOW_ALL = "allow-all"
"""The CLI's word for asking about nothing."""
ASSISTED = "assisted"
"""The CLI's word for a model that judges requests before the person is asked."""
_JUDGE = "assisted_approval"
_BY_SOURCE = {
    "human_response": "cli",
    _JUDGE: "cli-judge",
    "host_policy": "cli-policy",
    "unattended_fallback": "cli-unattended",
}
_BY_RESULT = {
    "denied-by-rules": "cli-rule",
    "denied-by-permission-request-hook": "cli-hook",
    "denied-by-content-exclusion-policy": "cli-policy",
}
"""Results that say who decided: their source is `host_policy` then."""
_UNNAMED = "cli-unnamed"
"""Who decided where the CLI does not say: it asks that this is not taken for the person."""
_CANCELLED = "cancelled"
"""The CLI's word for a request whose turn was stopped."""
_REASON = 4_000
"""Characters of what the person or the CLI's judge said."""
_KINDS = {"commands": "shell"}
"""The CLI has two words for some kinds of request."""
_EXTENSION_ACCESS = "extension-permission-access"
_OWN_EXTENSION = "user:tapui"
"""The CLI's name of the extension that `tapui install extension` has put in place."""
_FILES = {"write": "fileName", "read": "path"}
"""Where requests of these kinds name their file."""
_LEFT_OUT = frozenset(
    {
        "canOfferSessionApproval",
        "commandIdentifiers",
        "commands",
        "fileEdits",
        "newFileContents",
        "possiblePaths",
        "possibleUrls",
        "resolvedPaths",
    }
)
"""What the CLI derived from the request, or says again: the command, diff or path is shown whole.
"""
_OURS = frozenset({"agentId", "hardLinks", "leads", "resolvedPath", "shell", "wish"})
"""What is this host's to say of a request."""
_WISHED = frozenset({"capabilities", "environmentVariables", "extensionName", "name", "operation"})
"""Fields that the text of `wish` contains."""


async def permission_mode(session: CliSession) -> str | None:
    """Return how the CLI asks for permissions; None where it does not know the question. Raises
    `NoAnswerError` and `LostError`."""
    try:
        told = await session.ask("ask for its permissions", "session.permissions.getMode")
    except (NoAnswerError, LostError):
        raise
    except AttachError:
        return None  # an older CLI; what it allows is then told as not known
    return text_of(told, "mode")


async def asks_about_extension(session: CliSession) -> bool:
    """Return whether the CLI asks what tapui's extension may do; raises `AttachError`."""
    return any(
        request.get("kind") == _EXTENSION_ACCESS and request.get("extensionName") == _OWN_EXTENSION
        for _, request in await _pending(session, "list what it asks")
    )


async def _pending(session: CliSession, what: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the requests that wait, with their ids. Raises `AttachError`."""
    listed = objects_of(await session.ask(what, "session.permissions.pendingRequests"), "items")
    asked = [(item.get("requestId"), item.get("request")) for item in listed]
    return [(id_, told) for id_, told in asked if isinstance(id_, str) and isinstance(told, dict)]


def describe(request: dict[str, Any]) -> dict[str, Any]:
    """Return what the person is shown of a request, which is the CLI's own JSON.

    `kind` is one of shell, write, read, url, mcp, custom-tool, memory, path, hook … and with it
    come `fullCommandText`, `fileName` and `diff`, `path`, `url`, `toolName` and `args` …, whole;
    `wish` is the text of a request of any other kind.
    `resolvedPath` is where a file really is, as this host finds it, and `hardLinks` that it has
    other names: rules go by that.
    """
    left_out = _LEFT_OUT if request.get("diff") else _LEFT_OUT - {"newFileContents"}
    shown = {key: value for key, value in request.items() if key not in left_out | _OURS}
    kind = str(request.get("kind", "permission"))
    shown["kind"] = _KINDS.get(kind, kind)
    name = _FILES.get(shown["kind"])
    path = request.get(name) if name is not None else None
    if isinstance(path, str) and path.startswith("/") and "\0" not in path:
        shown["resolvedPath"] = real = os.path.realpath(path)
        if has_other_names(real):
            shown["hardLinks"] = True
    if isinstance(paths := request.get("paths"), list) and "path" not in request:
        shown["path"] = "\n".join(map(str, paths))
    if (wish := _wish(request)) is not None:
        shown = {key: value for key, value in shown.items() if key not in _WISHED}
        shown["wish"] = wish
    return shown


def _wish(request: dict[str, Any]) -> str | None:
    """Return in words what a request wants that names no command, file, address or tool."""
    match request:
        case {"kind": "extension-permission-access", "capabilities": [*rights]}:
            return f"{_extension(request)}: {', '.join(map(str, rights))}"
        case {"kind": "extension-env-access", "environmentVariables": [*names]}:
            return f"{_extension(request)}: read the variables {', '.join(map(str, names))}"
        case {"kind": "extension-management", "operation": operation}:
            return f"{operation} {_extension(request)}"
        case {"kind": "workflow", "name": name, "operation": operation}:
            return f"{operation} the workflow {name}"
    return None


def _extension(request: dict[str, Any]) -> str:
    name = request.get("extensionName")
    if name is None:
        return "extensions"
    return f"tapui's own extension, {name}" if name == _OWN_EXTENSION else f"extension {name}"


def _answer_of(
    result: Mapping[str, Any],
) -> tuple[Literal["approve", "deny"] | None, str | None]:
    """Return whether the CLI's result allows, and what was said with it; None where it does not
    tell."""
    kind = str(result.get("kind") or "")
    if kind.startswith("approved"):
        return "approve", None
    if not kind.startswith("denied"):
        return None, None
    said = result.get("feedback") or result.get("message")
    return "deny", said[:_REASON] if isinstance(said, str) else None


def _decider(result: Mapping[str, Any], source: str | None) -> str | None:
    """Return who decided, None where the turn was stopped before anybody did."""
    kind = result.get("kind")
    if kind == _CANCELLED:
        return None
    return _BY_RESULT.get(str(kind)) or _BY_SOURCE.get(source or "", _UNNAMED)


def judged(detail: dict[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request with what the CLI's event says of its risk, and what its judge does."""
    prompt = data.get("promptRequest")
    said = {
        "assistedApproval": prompt.get("assistedApproval") if isinstance(prompt, dict) else None,
        "riskAssessment": data.get("riskAssessment"),
    }
    return detail | {name: value for name, value in said.items() if value is not None}


class Permissions:
    """The requests of one session that wait for the person."""

    def __init__(
        self,
        uplink: SessionUplink,
    ) -> None:
        self._uplink = uplink
        self.folder: str | None = None
        """Where the session works, once it is known."""
        self._settling: dict[str, asyncio.TimerHandle] = {}
        self._shown: set[str] = set()
        self._answered: set[str] = set()
        """Requests answered from here, until the CLI confirms it."""
        self._reasons: dict[str, str] = {}
        """Why the CLI's judge would allow a request, or not, until it has its answer."""
        self._asked_at: dict[str, datetime] = {}
        """When a request was made that waited before this host came, until it is shown."""

    def requested(
        self,
        request_id: str,
        request: dict[str, Any],
        agent_id: str | None = None,
        shell: str | None = None,
    ) -> None:
        """Take a request of the CLI, or of its subagent `agent_id`, about a command of `shell`; it
        is shown unless the CLI answers it at once."""
        if request_id in self._shown or request_id in self._settling:
            return
        detail = describe(request)
        match request:
            case {"assistedApproval": {"reason": str(reason)}}:
                self._reasons[request_id] = reason[:_REASON]
        told = {"agentId": agent_id, "shell": shell}
        detail |= {name: value for name, value in told.items() if value is not None}
        self._settling[request_id] = asyncio.get_running_loop().call_later(
            SETTLE_TIME, self._show, request_id, detail
        )

    def _show(self, request_id: str, detail: dict[str, Any]) -> None:
        del self._settling[request_id]
        self._shown.add(request_id)
        text, folder = detail.get("fullCommandText"), self.folder
        if detail["kind"] == "shell" and isinstance(text, str) and folder is not None:
            self._uplink.spawn(self._show_leads(request_id, detail, text, folder))
        else:
            self._send(request_id, detail)

    async def _show_leads(
        self, request_id: str, detail: dict[str, Any], text: str, folder: str
    ) -> None:
        """Show a command with where its words lead, as far as that is soon known."""
        leads = None
        with contextlib.suppress(TimeoutError):  # a folder does not answer: rules know nothing
            leads = await asyncio.wait_for(asyncio.to_thread(word_leads, text, folder), _LEADS_TIME)
        if leads is not None:
            detail["leads"] = leads.as_detail()
        if request_id in self._shown:
            self._send(request_id, detail)

    def _send(self, request_id: str, detail: dict[str, Any]) -> None:
        self._uplink.send(
            ApprovalRequest(
                id=request_id,
                session_id=self._uplink.id,
                kind="permission",
                detail=raw(detail),
                waited=waited(self._asked_at.pop(request_id, None)),
            )
        )

    def completed(
        self,
        request_id: str,
        call_id: str | None = None,
        source: str | None = None,
        result: Mapping[str, Any] | None = None,
    ) -> None:
        """Take note that the CLI has its answer; `source` is the CLI's name for who gave it,
        `result` its JSON of what it is."""
        by = _decider(result or {}, source)
        decision, reason = _answer_of(result or {})
        judge_reason = self._reasons.pop(request_id, None)
        if source == _JUDGE:
            reason = reason or judge_reason
        if request_id in self._answered:
            self._answered.remove(request_id)
            return
        timer = self._settling.pop(request_id, None)
        if timer is not None:
            timer.cancel()
            if call_id is not None and by is not None:
                told = {"toolCallId": call_id, "by": by}
                if decision == "deny":
                    told["decision"] = decision
                if reason is not None:
                    told["reason"] = reason
                self._uplink.send(
                    SessionEvent(
                        session_id=self._uplink.id, event="permission.completed", data=raw(told)
                    )
                )
        if request_id in self._shown:
            self._shown.remove(request_id)
            self._uplink.send(ApprovalWithdraw(request_id, by, decision, reason))

    def answered(self, answer: ApprovalAnswer) -> bool:
        """Pass the person's answer on to the CLI; return whether the request is this session's.

        One that expired is left to the CLI's own prompt.
        """
        if answer.id not in self._shown:
            return False
        self._shown.remove(answer.id)
        session = self._uplink.session
        if session is not None and answer.decision != "expired":
            self._answered.add(answer.id)
            self._uplink.spawn(self._tell(answer, session))
        return True

    async def _tell(self, answer: ApprovalAnswer, session: CliSession) -> None:
        decision = {"kind": "approve-once" if answer.decision == "approve" else "reject"}
        if answer.decision != "approve" and answer.reason is not None:
            decision["feedback"] = answer.reason
        try:
            await session.ask(
                "answer the permission request",
                "session.permissions.handlePendingPermissionRequest",
                requestId=answer.id,
                result=decision,
            )
        except AttachError as error:
            self._uplink.report(f"{error}; answer it in the CLI", "error")

    async def recover(self, session: CliSession, asked: Mapping[str, CliEvent]) -> None:
        """Take up the requests that waited before this host came; `asked` says since when.

        Raises `AttachError`.
        """
        for request_id, request in await _pending(session, "list the waiting permissions"):
            event = asked.get(request_id)
            if event is not None and event.name == "permission.requested":
                self._asked_at[request_id] = event.at
            self.requested(request_id, request)

    def close(self) -> None:
        for timer in self._settling.values():
            timer.cancel()
        self._settling.clear()
        self._answered.clear()
        self._reasons.clear()
        self._asked_at.clear()
        for request_id in self._shown:
            self._uplink.send(ApprovalWithdraw(id=request_id))
        self._shown.clear()
