"""What tapui asks about goals: whether a text is so, what is to become of a goal, and whether those
of a folder's file may be opened."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from tapui.projection.paragraphs import (
    Paragraph,
    fact,
    list_of,
    origin,
    other_fields,
    readable,
    text_of,
    title,
    value,
)
from tapui.projection.requests.request_kind import (
    DENY,
    AskedRequest,
    Option,
    RequestContext,
    RequestKind,
    detail_of,
)
from tapui.projection.state import State
from tapui.text import revealed
from tapui.wire.subjects import Approval
from tapui.wire.turns import StepKind

YES, NO = "yes, it is so", "no, it is not so"
LEAVE = "leave it"
MORE = "three more"
ACHIEVED = "it is achieved"
DROP = "drop it"
_TOLD = frozenset(
    {"kind", "goalId", "goal", "question", "by", "missing", "choices", "allowFreeform"}
)


class GoalRequest(RequestKind):
    """A criterion that only the person can say, or a goal that was not reached in time."""

    word = verb_word = "goal"
    asks = "asks you about a goal"
    notice = "asks about a goal"
    fields = "answer"

    def line(self, approval: Approval, detail: Mapping[str, Any]) -> str:
        return str(detail.get("question") or detail.get("goal") or "a goal")

    def is_only_for_the_tower(self, approval: Approval) -> bool:
        return True

    def commands(self, approval: Approval) -> Sequence[tuple[str, str]]:
        detail = detail_of(approval)
        if detail.get("kind") != "unproven":
            return super().commands(approval)
        goal = shlex.quote(revealed(text_of(detail, "goalId")))
        done, drop = f"goal done {goal}", f"goal drop {goal}"
        return ((done, ACHIEVED), (drop, DROP), ("next", MORE), ("deny ID", LEAVE))

    def notice_of(self, approval: Approval) -> str:
        is_over = detail_of(approval).get("kind") == "unproven"
        return "was sent back as often as it may be" if is_over else self.notice

    def headline(self, state: State, asked: Sequence[AskedRequest]) -> str:
        approval = asked[0].approval
        name = self.asker(state, approval)
        if detail_of(approval).get("kind") == "unproven":
            return f"{name}: sent back, not proven"
        return f"{name}: is it so?"

    def remarks(self, context: RequestContext, approval: Approval) -> list[Paragraph]:
        detail = detail_of(approval)
        goal = " ".join(str(detail.get("goal", "")).split())
        found = [Paragraph(f"goal: {goal}", "muted")]
        if detail.get("by") == "agent":
            found.append(Paragraph("these are the agent's words"))
        missing = detail.get("missing")
        named = missing if isinstance(missing, list) else []
        return [*found, *(Paragraph(f"not proven: {' '.join(str(one).split())}") for one in named)]

    def answers(self, asked: Sequence[AskedRequest], others: int) -> list[Option]:
        return [
            Option("allow", "send this answer", "sends this answer"),
            Option("deny", "no answer: the goal stays open", "leaves it open"),
        ]

    def told(self, approval: Approval, detail: Mapping[str, Any]) -> frozenset[str]:
        return _TOLD


OPENED = (
    "It is opened in each session of this folder as a goal of yours: the agent can note and verify"
    " it, not change or close it. It runs nothing, and sends no agent back."
)


class FileGoalRequest(RequestKind):
    """A goal of a folder's file is to be opened."""

    word = verb_word = "goal"
    notice = "has a goal in its folder's file"
    is_copied = is_explained_alone = False

    def line(self, approval: Approval, detail: Mapping[str, Any]) -> str:
        """Return its title and its criteria, with all that they demand."""
        given = {key: text_of(detail, key) for key in ("agent", "deadline")}
        more = [f"{key}: {text}" for key, text in given.items() if text]
        criteria = [", ".join(criterion_lines(one)) for one in criteria_of(detail)]
        return f"{text_of(detail, 'name')}: {'; '.join([*criteria, *more])}"

    def about(self, state: State, approval: Approval, detail: Mapping[str, Any]) -> str:
        return text_of(detail, "name")

    def step(self, detail: Mapping[str, Any]) -> StepKind | None:
        return None  # a file asks, and not the agent

    def together(
        self, state: State, waiting: Sequence[Approval], approval: Approval
    ) -> list[Approval]:
        """Return those of the same file that wait; alone one that is not here whole."""
        if approval.is_cut:
            return [approval]
        folder = text_of(detail_of(approval), "folder")
        return [
            one
            for one in waiting
            if one.kind == approval.kind
            and not one.is_cut
            and text_of(detail_of(one), "folder") == folder
        ]

    def headline(self, state: State, asked: Sequence[AskedRequest]) -> str:
        who = self.asker(state, asked[0].approval)
        if len(asked) > 1:
            return f"{who}: its folder's file has {len(asked)} goals"
        name = " ".join(text_of(asked[0].detail, "name").split())
        return f"{who}: its folder's file has a goal: {name}"

    def answers(self, asked: Sequence[AskedRequest], others: int) -> list[Option]:
        count = len(asked)
        what = "exactly this" if count == 1 else f"these {count}"
        opened = "it is opened" if count == 1 else "they are opened"
        options = [Option("allow", f"allow {what}", f"allows {what}: {opened}")]
        if count == 1:
            options.append(DENY)
        else:
            options.append(Option("deny", f"deny {what}", f"denies {what}"))
            options.append(Option("one-by-one", "answer one by one", ""))
        if count == 1 and others > 1:
            options.append(Option("one-by-one", f"answer all {others} of this file together", ""))
        return options

    def explained(self, context: RequestContext, asked: Sequence[AskedRequest]) -> list[Paragraph]:
        parts = [Paragraph(OPENED, "strong")]
        for number, one in enumerate(asked, 1):
            parts.append(Paragraph(""))
            if len(asked) > 1:
                parts += [title(f"{number} of {len(asked)}"), Paragraph("")]
            parts += _goal_of_file(one.detail)
        return parts


_MAIN_KEYS = ("command", "tool", "path", "stream", "text")
"""What a check is about, by its kind."""


def criteria_of(detail: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in list_of(detail, "criteria") if isinstance(one, Mapping)]


def criterion_lines(criterion: Mapping[str, Any]) -> list[str]:
    """Return a criterion as its file has it: its text or what its check is about, then each thing
    that the check demands besides."""
    text, check = text_of(criterion, "text"), criterion.get("check")
    if not isinstance(check, Mapping):
        return [f"you say: {text}"]
    rest = dict(check)
    main = next((key for key in _MAIN_KEYS if key in rest), "")
    about = f"{rest.pop('kind', '')} {rest.pop(main, '')}"
    more = [f"{key}: {readable(found)}" for key, found in rest.items()]
    return [text, about, *more] if text else [about, *more]


def _goal_of_file(detail: Mapping[str, Any]) -> list[Paragraph]:
    rest = dict(detail)
    parts = [value(text_of(rest, "name"), "strong"), Paragraph("")]
    if changed := text_of(rest, "changed"):
        parts += [Paragraph("Changed since you allowed it:", "warning"), value(changed, "warning")]
        parts.append(Paragraph(""))
    for number, one in enumerate(criteria_of(rest), 1):
        first, *more = criterion_lines(one)
        parts.append(value(f"{number}. {first}"))
        parts += [value(f"   {line}", is_laid_out=True) for line in more]
    parts += fact("agent", text_of(rest, "agent")) + fact("deadline", text_of(rest, "deadline"))
    for key in ("name", "changed", "criteria", "agent", "deadline", "folder"):
        rest.pop(key, None)
    parts += origin(rest)
    return parts + other_fields(rest)
