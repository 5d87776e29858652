"""Questions of tapui's own that the person answers in the CLI's window: may the mode be switched?

The CLI shows a form of its own and tells each client of it, this host too. The form stands until it
is answered, also when the client that asked has left: so one that is not wanted is closed.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from tapui.hosts.copilot.connection import AttachError, CliSession, text_of
from tapui.hosts.copilot.uplink import SessionUplink
from tapui.text import cut, safe_text
from tapui.wire.host import ApprovalAsk, ApprovalAskResult
from tapui.wire.subjects import ModeAsker

_LONGEST = 24 * 3600.0
"""Seconds that a form may stand; the gateway closes it long before."""
_REASON = 400
"""Characters of the asker's words that the form shows."""
_ANSWER = 1_000
"""Characters that are passed on of an answer in the person's own words."""
_ASKERS: dict[ModeAsker, str] = {
    "agent": "The agent",
    "subagent": "A subagent",
    "provider": "A provider",
    "commandLine": "A command",
}
_TELLING = 0.5
"""Seconds that the CLI may take to tell of a form that was asked for as the session is left."""
_GONE = "the connection to the CLI is lost"


def unaskable(session: CliSession, *, is_headless: bool) -> str | None:
    """Return why no question can be put to the person in the CLI's window, or None."""
    if is_headless:
        return "the session has no window of its own"
    if session.ui.get("elicitation") is not True:
        return "this Copilot CLI shows no forms of other programs"
    return None


@dataclass(slots=True, eq=False)
class _Form:
    """A question on show; `request_id` is the CLI's, once it has told of the form."""

    question: ApprovalAsk
    request_id: str | None = None
    is_closed: bool = False
    told: asyncio.Event = field(default_factory=asyncio.Event)
    """Set with `request_id`."""


class OwnQuestions:
    """Those of one session."""

    def __init__(self, uplink: SessionUplink, *, is_headless: bool) -> None:
        self._uplink = uplink
        self._is_headless = is_headless
        self._forms: dict[str, _Form] = {}
        """By the gateway's id."""
        self._left: list[str] = []
        """The CLI's ids of forms that may still stand, though the connection to them is lost."""

    def ask(self, question: ApprovalAsk) -> None:
        """Show a question; `ApprovalAskResult` goes to the gateway."""
        self._uplink.spawn(self._ask(question))

    async def _ask(self, question: ApprovalAsk) -> None:
        session = self._uplink.session
        why = _GONE if session is None else unaskable(session, is_headless=self._is_headless)
        if session is None or why is not None:
            self._say(question, "impossible", why)
            return
        form = self._forms[question.id] = _Form(question)
        try:
            result = await _show(question, session)
        except AttachError as error:
            if form.request_id is not None:
                self._left.append(form.request_id)
            if not form.is_closed:
                self._say(question, "impossible", str(error))
            return
        finally:
            self._forms.pop(question.id, None)
        if form.is_closed:
            return
        given = text_of(result.get("content"), question.id)
        if result.get("action") != "accept":
            given = None
        _, yes = _choices(question)
        if given == yes:
            self._say(question, "approve")
        else:
            own_words = given if given not in _choices(question) else None
            self._say(question, "deny", None if own_words is None else cut(own_words, _ANSWER))

    def _say(self, question: ApprovalAsk, outcome: Any, reason: str | None = None) -> None:
        by = None if outcome == "impossible" else "cli"
        self._uplink.send(ApprovalAskResult(question.id, outcome, reason, by))

    def is_own(self, request_id: str, data: dict[str, Any]) -> bool:
        """Return whether the form of which the CLI tells is one of these.

        Not one of the agent's, or of a server: those name a call or their source.
        """
        if data.get("toolCallId") is not None or data.get("elicitationSource") is not None:
            return False
        names = list((data.get("requestedSchema") or {}).get("properties") or ())
        form = self._forms.get(names[0]) if len(names) == 1 else None
        if form is None or form.request_id is not None:
            return False
        form.request_id = request_id
        form.told.set()
        if form.is_closed:
            self._close(request_id)
        return True

    def cancel(self, question_id: str) -> None:
        """Close a question that is answered elsewhere, or over."""
        form = self._forms.get(question_id)
        if form is not None and not form.is_closed:
            form.is_closed = True
            if form.request_id is not None:
                self._close(form.request_id)

    def _close(self, request_id: str) -> None:
        session = self._uplink.session
        if session is not None:
            self._uplink.spawn(_close(session, request_id, self._uplink))

    def reconnected(self) -> None:
        left, self._left = self._left, []
        for request_id in left:
            self._close(request_id)

    async def leave(self) -> None:
        """Close the forms that stand, before the session is left."""
        session = self._uplink.session
        for form in list(self._forms.values()):
            form.is_closed = True
            try:
                async with asyncio.timeout(_TELLING):
                    await form.told.wait()
            except TimeoutError:
                continue  # without its id it cannot be closed, and the leave must not hang
            if session is not None and form.request_id is not None:
                await _close(session, form.request_id, self._uplink)


def _choices(question: ApprovalAsk) -> tuple[str, str]:
    """Return "no" and "yes". The first one is chosen when the form opens, perhaps below the keys of
    a person who types a prompt."""
    no = f"No, stay in {question.source}" if question.source else "No, leave the mode"
    return no, f"Yes, switch to {question.to}"


async def _show(question: ApprovalAsk, session: CliSession) -> dict[str, Any]:
    no, yes = _choices(question)
    message = f"tapui: {_ASKERS[question.asker]} asks for the mode {question.to}."
    if question.reason and (reason := " ".join(safe_text(question.reason).split())):
        message += f" Its reason, in its own words: “{cut(reason, _REASON)}”"
    field = {"type": "string", "title": "Switch the mode?", "enum": [no, yes], "default": no}
    schema = {"type": "object", "properties": {question.id: field}, "required": [question.id]}
    return await session.ask(
        "ask in the CLI",
        "session.ui.elicitation",
        within=_LONGEST,
        message=message,
        requestedSchema=schema,
    )


async def _close(session: CliSession, request_id: str, uplink: SessionUplink) -> None:
    method = "session.ui.handlePendingElicitation"
    try:
        await session.ask(
            "close the form", method, requestId=request_id, result={"action": "cancel"}
        )
    except AttachError as error:
        uplink.report(f"{error}; press Esc in the CLI", "warning")
