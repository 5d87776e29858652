"""What asks for an answer: questions, forms, and a prompt over the budget."""

from collections.abc import Mapping, Sequence
from typing import Any

from tapui.projection.requests.request_kind import (
    AskedRequest,
    Option,
    RequestKind,
    detail_of,
    first_text,
)
from tapui.projection.state import State
from tapui.schemas.fields import Form, NoForm, form_of
from tapui.wire.codec import raw
from tapui.wire.limits import MAX_NAME
from tapui.wire.subjects import Approval

_ANSWER = Option("allow", "send this answer", "sends this answer")
_TOLD = frozenset(
    {"question", "message", "choices", "allowFreeform", "requestedSchema", "refusal", "toolCallId"}
)


class _AsksForAnAnswer(RequestKind):
    must_be_read = False  # what is asked is not run: it can be answered at once

    def line(self, approval: Approval, detail: Mapping[str, Any]) -> str:
        return str(detail.get("question") or detail.get("message") or "asks for an answer")

    def is_only_for_the_tower(self, approval: Approval) -> bool:
        return True

    def approved(self, approval: Approval) -> str:
        return "approved" if is_budget(approval) else "answered"

    def subject(self, approval: Approval, detail: Mapping[str, Any]) -> str:
        key = first_text(detail, ("question", "message"))
        return str(detail[key]) if key else ""

    def told(self, approval: Approval, detail: Mapping[str, Any]) -> frozenset[str]:
        return _TOLD


class QuestionRequest(_AsksForAnAnswer):
    """The agent asks the person a question, or the gateway does for a prompt over the budget."""

    word = "question"
    verb_word = "question"
    asks = notice = "asks a question"
    fields = "answer"

    def verb(self, approval: Approval) -> str:
        return "budget" if is_budget(approval) else self.verb_word

    def notice_of(self, approval: Approval) -> str:
        return "has used up its budget" if is_budget(approval) else self.notice

    def is_only_for_the_tower(self, approval: Approval) -> bool:
        return not is_budget(approval)

    def headline(self, state: State, asked: Sequence[AskedRequest]) -> str:
        approval = asked[0].approval
        if is_budget(approval):
            return f"{self.asker(state, approval)} has used up its budget"
        return super().headline(state, asked)

    def answers(self, asked: Sequence[AskedRequest], others: int) -> list[Option]:
        if is_budget(asked[0].approval):
            no = Option("deny", "no: the prompt is not sent", "denies: the prompt is not sent")
            return [_ANSWER, no]
        leave = Option("deny", "no answer from here: it is asked in Copilot", "leaves it")
        return [_ANSWER, leave]

    def told(self, approval: Approval, detail: Mapping[str, Any]) -> frozenset[str]:
        return _TOLD | {"kind"} if is_budget(approval) else _TOLD

    def unfit(self, approval: Approval, answer: object) -> str:
        choices, is_free = choices_of(detail_of(approval))
        is_fit = is_free or answer in choices or (answer is None and is_budget(approval))
        return "" if is_fit else "answer: choose one"


class FormRequest(_AsksForAnAnswer):
    """The agent asks for values by a schema."""

    word = verb_word = "form"
    asks = "asks you to fill in a form"
    notice = "asks to have a form filled in"
    fields = "form"

    def answers(self, asked: Sequence[AskedRequest], others: int) -> list[Option]:
        return [_ANSWER, Option("deny", "decline the form", "declines")]

    def unfit(self, approval: Approval, answer: object) -> str:
        try:
            form = form_asked(detail_of(approval))
            if not isinstance(answer, dict | None):
                return "answer: takes an object"
            wrong = form.faults(answer or {})
        except (NoForm, RecursionError):
            return ""  # a schema that makes no form bounds nothing
        return next((f"answer.{key[:MAX_NAME]}: {fault}" for key, fault in wrong.items()), "")


class PlanRequest(FormRequest):
    """The agent has a plan, which may be run or sent back; a form on the wire."""

    word = verb_word = "plan"
    asks = notice = "has a plan ready"

    def denied(self, approval: Approval) -> str:
        return "sent back with changes" if approval.reason else "sent back"

    def answers(self, asked: Sequence[AskedRequest], others: int) -> list[Option]:
        run = "run it as chosen, or send it back with what you wrote"
        back = Option("deny", "send it back without a word", "sends it back")
        return [Option("allow", run, "sends this answer"), back]


def choices_of(detail: Mapping[str, Any]) -> tuple[tuple[str, ...], bool]:
    """Return the choices of a question, and whether another answer is taken, too."""
    given = detail.get("choices")
    choices = tuple(one for one in given if isinstance(one, str)) if isinstance(given, list) else ()
    return choices, detail.get("allowFreeform") is not False or not choices


def form_asked(detail: Mapping[str, Any]) -> Form:
    """Return a request's form, with other answers where it takes them. Raises `NoForm`."""
    form = form_of(raw(detail.get("requestedSchema") or detail.get("schema") or {}))
    return form.with_other_answers() if detail.get("allowFreeform") is True else form


def is_budget(approval: Approval) -> bool:
    """Return whether the gateway asks because a session's budget is used up."""
    return approval.kind == "userInput" and detail_of(approval).get("kind") == "budget"
