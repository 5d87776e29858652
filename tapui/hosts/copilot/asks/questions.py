"""Questions, forms and plans that a session puts to the person, answered here or in the CLI.

The CLI tells of them as it does of permissions: who is attached hears of each, the CLI's own dialog
stands meanwhile, and the first answer closes it.
"""

import contextlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec.structs import replace

from tapui.hosts.copilot.connection import (
    AttachError,
    CliEvent,
    CliSession,
    objects_of,
    text_of,
)
from tapui.hosts.copilot.uplink import SessionUplink
from tapui.wire.codec import raw
from tapui.wire.host import ApprovalAnswer, ApprovalRequest, ApprovalWithdraw

_PLAN = "exit_plan_mode.requested"
Kind = Literal["userInput", "elicitation"]
_KINDS: dict[str, Kind] = {
    "user_input.requested": "userInput",
    "elicitation.requested": "elicitation",
    _PLAN: "elicitation",
}
_ANSWERED = {
    "permission.completed",
    "user_input.completed",
    "elicitation.completed",
    "exit_plan_mode.completed",
}
_ENDS = {"abort", "session.idle"}
"""Events of a session's own agent after which nothing of its turn is asked any more."""
_LOGGED = sorted({*_KINDS, "permission.requested", *_ANSWERED, *_ENDS})
_PAGE, _MOST_PAGES = 1_000, 20
_MOST_RECOVERED = 20
"""Questions that are taken out of the log, the newest: what the agent wrote there takes no room
from other requests."""
_LEFT_OUT = frozenset({"requestId"})
_REASON = 4_000
"""Characters of what the person said with a denial."""
_THEN = {
    "interactive": "interactive: run the plan",
    "autopilot": "autopilot: run the plan, and go on without prompts",
    "autopilot_fleet": "autopilot: run the plan with several agents",
    "exit_only": "leave plan mode, do not run the plan",
}
"""What the CLI's words for what follows a plan mean. Permissions are asked about as before."""


async def asked_before(session: CliSession) -> dict[str, CliEvent]:
    """Return what the CLI has asked the person and has no answer to, by the request's id.

    It is read in the CLI's event log, which has questions for a while only; a CLI that does not
    tell it has asked nothing. The agent may have written in the log: of a permission the time
    alone is to be taken.
    """
    asked: dict[str, CliEvent] = {}
    page: dict[str, Any] = {"types": _LOGGED, "max": _PAGE}
    with contextlib.suppress(AttachError):  # an older CLI: what it asked is then not known
        for _ in range(_MOST_PAGES):
            read = await session.ask("read what it asks", "session.eventLog.read", **page)
            for told in objects_of(read, "events"):
                with contextlib.suppress(KeyError, TypeError, ValueError):  # no event
                    _take(asked, CliEvent.read(told))
            page["cursor"] = text_of(read, "cursor")
            if read.get("hasMore") is not True or page["cursor"] is None:
                return asked
    return {}  # what is in the rest may have been answered there


def _take(asked: dict[str, CliEvent], event: CliEvent) -> None:
    request_id = text_of(event.data, "requestId")
    if event.name in _ENDS and event.agent_id is None:
        asked.clear()
    elif event.name in _ANSWERED:
        asked.pop(request_id or "", None)
    elif event.name in _LOGGED and request_id is not None:
        asked.setdefault(request_id, event)  # what comes later may be forged


def waited(at: datetime | None) -> float | None:
    """Return for how many milliseconds something waits that was asked at a time."""
    return None if at is None else max((datetime.now(UTC) - at).total_seconds() * 1000, 0.0)


def plan_form(detail: dict[str, Any]) -> dict[str, Any]:
    """Return a plan that waits for approval as a form: the plan whole, and what may follow."""
    actions = [str(one) for one in detail.get("actions") or ()]
    next_one = str(detail.get("recommendedAction") or "") or (actions[0] if actions else "")
    then: dict[str, Any] = {"type": "string", "enum": actions, "title": "What follows"}
    then["enumNames"] = [_THEN.get(one, one) for one in actions]
    if next_one in actions:
        then["default"] = next_one
    changes = {"type": "string", "title": "… or what is to change in the plan"}
    plan = detail.get("planContent")
    return {
        "message": f"The plan is ready: {detail.get('summary') or ''}".strip(),
        **({"plan": plan} if plan else {}),
        "refusal": "changes",
        "requestedSchema": {
            "type": "object",
            "properties": {"then": then, "changes": changes},
            "required": [],
        },
    }


def _other_answers(detail: dict[str, Any]) -> dict[str, Any]:
    """Return a form of the agent's own with the mark that the CLI takes other answers than those
    of a choice, as its dialog does. What a server's form takes is the server's to say."""
    if "elicitationSource" in detail or detail.get("mode") == "url":
        return detail
    return {**detail, "allowFreeform": True}


def _answer_of(
    event: str, data: Mapping[str, Any]
) -> tuple[Literal["approve", "deny"] | None, str | None]:
    """Return how a question was answered in the CLI, and what was said with a denial."""
    match event:
        case "exit_plan_mode.completed":
            said = data.get("feedback")
            reason = said[:_REASON] if isinstance(said, str) else None
            if data.get("approved") is True:
                return "approve", None
            return ("deny", reason) if data.get("approved") is False else (None, None)
        case "elicitation.completed" if data.get("action") is not None:
            return "approve" if data["action"] == "accept" else "deny", None
        case "user_input.completed" if data.get("answer") is not None:
            return "approve", None
    return None, None


class Questions:
    """The questions of one session that wait for the person."""

    def __init__(
        self,
        uplink: SessionUplink,
    ) -> None:
        self._uplink = uplink
        self._shown: dict[str, tuple[str, dict[str, Any], str]] = {}
        """Those on show: the event that asked, its detail, and the id that the gateway has for it,
        by the request's id."""

    def recover(self, asked: Mapping[str, CliEvent]) -> None:
        """Take up the questions that waited before this host came, of `asked_before`.

        A form that names neither a call nor its source is another program's, which may be gone.
        """
        for request_id, event in list(asked.items())[-_MOST_RECOVERED:]:
            data = dict(event.data)
            if event.name not in _KINDS or (
                event.name == "elicitation.requested"
                and data.get("toolCallId") is None
                and data.get("elicitationSource") is None
            ):
                continue
            # One that cannot be read is left to the CLI's own dialog.
            with contextlib.suppress(AttributeError, LookupError, TypeError, ValueError):
                self.asked(event.name, request_id, data, event.agent_id, event.at)

    def asked(
        self,
        event: str,
        request_id: str,
        data: dict[str, Any],
        agent_id: str | None = None,
        at: datetime | None = None,
    ) -> None:
        """Take a question of the CLI, or of its subagent `agent_id`, by the name and data of its
        event; `at` is when that was, of one that waited before."""
        if request_id in self._shown:
            return
        detail = {key: value for key, value in data.items() if key not in _LEFT_OUT}
        shown = plan_form(detail) if event == _PLAN else detail
        if (call_id := text_of(detail, "toolCallId")) is not None:
            shown = {**shown, "toolCallId": call_id}
        if event == "elicitation.requested":
            shown = _other_answers(detail)
        # What is read in the log may have the id of another request, such as a permission's.
        told_as = request_id if at is None else self._uplink.new_id()
        self._shown[request_id] = event, detail, told_as
        if agent_id is not None:
            shown = {**shown, "agentId": agent_id}
        self._uplink.send(
            ApprovalRequest(
                id=told_as,
                session_id=self._uplink.id,
                kind=_KINDS[event],
                detail=raw(shown),
                waited=waited(at),
            )
        )

    def completed(self, event: str, request_id: str, data: Mapping[str, Any]) -> None:
        """Take note that the CLI has its answer, as the data of its event tells."""
        if (shown := self._shown.pop(request_id, None)) is not None:
            decision, reason = _answer_of(event, data)
            self._uplink.send(ApprovalWithdraw(shown[2], "cli", decision, reason))

    def answered(self, answer: ApprovalAnswer) -> bool:
        """Pass the person's answer on to the CLI; return whether the question is this session's.

        One that expired is left to the CLI's own dialog, and so is a question without a form that
        was denied: that has no word for "no".
        """
        request_id = next((id_ for id_, one in self._shown.items() if one[2] == answer.id), None)
        if request_id is None:
            return False
        event, detail, _ = self._shown.pop(request_id)
        session = self._uplink.session
        if session is not None and answer.decision != "expired":
            answer = replace(answer, id=request_id)
            self._uplink.spawn(self._tell(answer, event, detail, session))
        return True

    async def _tell(
        self, answer: ApprovalAnswer, event: str, detail: dict[str, Any], session: CliSession
    ) -> None:
        method, member, answered = _ANSWERS[event]
        try:
            given: dict[str, Any] = {member: answered(answer, detail)}
            told = await session.ask("answer the question", method, requestId=answer.id, **given)
        except AttachError as error:
            self._uplink.report(f"{error}; answer it in the CLI", "error")
            return
        if told.get("success") is False:
            self._uplink.report("the question was answered in the CLI already", "info")

    def close(self) -> None:
        for _, _, told_as in self._shown.values():
            self._uplink.send(ApprovalWithdraw(id=told_as))
        self._shown.clear()


def _form_answer(answer: ApprovalAnswer, detail: dict[str, Any]) -> dict[str, Any]:
    if answer.decision == "approve":
        return {"action": "accept", "content": answer.answer or {}}
    # A server's form: MCP has this word. To the model's own question, "decline" would mean: go on
    # as you think best.
    return {"action": "decline" if "elicitationSource" in detail else "cancel"}


def _reply(answer: ApprovalAnswer, detail: dict[str, Any]) -> dict[str, Any]:
    if answer.decision == "deny":
        raise AttachError("answer the question: a question cannot be denied, only answered")
    choices = detail.get("choices")
    is_free = not isinstance(choices, list) or answer.answer not in choices
    return {"answer": str(answer.answer), "wasFreeform": is_free}


def _plan_decision(answer: ApprovalAnswer, detail: dict[str, Any]) -> dict[str, Any]:
    given = answer.answer if isinstance(answer.answer, dict) else {}
    changes = str(given.get("changes") or answer.reason or "").strip()
    if answer.decision == "approve" and not changes:
        then = given.get("then") or detail.get("recommendedAction")
        return {"approved": True, **({"selectedAction": then} if then else {})}
    return {"approved": False, **({"feedback": changes} if changes else {})}


_ANSWERS = {
    "user_input.requested": ("session.ui.handlePendingUserInput", "response", _reply),
    "elicitation.requested": ("session.ui.handlePendingElicitation", "result", _form_answer),
    _PLAN: ("session.ui.handlePendingExitPlanMode", "response", _plan_decision),
}
"""By the event that asked: the method that answers, the member for the answer, what makes it."""
