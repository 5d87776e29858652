"""A step as the live state holds it: changed in place, made a `Step` when it is read."""

from operator import attrgetter
from typing import Any

from msgspec import Struct

from tapui.projection.summary import summary_of
from tapui.wire import limits
from tapui.wire.subjects import Call
from tapui.wire.turns import FileChange, Step, StepKind, StepState, Usage

_MOST = 2**53
_, *_SHARED, _ = Step.__struct_fields__
"""The fields that a `LiveStep` has as a `Step` has them: all between `id` and `steps`."""
UNNAMED = "unnamed"
"""A call's tool where its host named none. A step without a tool is one that was only asked for."""
_shared = attrgetter(*_SHARED)


class LiveStep(Struct, eq=False, gc=False):
    """One step. `turn` and `number` make its id; `call` is read for its text only when needed."""

    turn: int
    number: int
    kind: StepKind
    state: StepState
    at: str
    call: Call | None = None
    call_id: str | None = None
    duration: float | None = None
    queued: float | None = None
    gated: float | None = None
    asked: float | None = None
    tool: str = ""
    provider: str = ""
    summary: str = ""
    exit_code: int | None = None
    added: int | None = None
    removed: int | None = None
    error: str = ""
    approval_id: str | None = None
    decided_by: str | None = None
    rule: str = ""
    agent: str | None = None
    usage: Usage | None = None
    calls: int = 0
    steps: "list[LiveStep] | None" = None

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return self.state in ("running", "waiting")

    @property
    def is_asked_only(self) -> bool:
        """Whether it is a call that was asked for and, as far as is known, has not begun."""
        return self.kind == "call" and self.call is None and not self.tool

    @property
    def size(self) -> int:
        """How many steps it is, with a subagent's own."""
        return 1 + len(self.steps) if self.steps else 1

    def condense(self) -> None:
        """Keep of the call what a step tells, and let its arguments go."""
        call = self.call
        if call is None:
            return
        self.call = None
        self.call_id = call.id
        self.gated = call.gated
        self.provider = call.provider[: limits.MAX_NAME]
        if self.kind != "subagent":
            self.tool = call.tool[: limits.MAX_NAME] or UNNAMED
            self.summary = summary_of(call) or self.summary

    def changed(self, changes: list[FileChange]) -> None:
        for change in changes:
            if change.added is not None:
                self.added = min((self.added or 0) + change.added, _MOST)
            if change.removed is not None:
                self.removed = min((self.removed or 0) + change.removed, _MOST)

    def told(self) -> Step:
        self.condense()
        steps = [one.told() for one in self.steps] if self.steps else []
        values: tuple[Any, ...] = (f"{self.turn}.{self.number}", *_shared(self), steps)
        return Step(*values)

    @classmethod
    def of(cls, step: Step) -> "LiveStep":
        turn, _, number = step.id.partition(".")
        return cls(
            turn=_number(turn),
            number=_number(number),
            steps=[cls.of(one) for one in step.steps] if step.steps else None,
            **dict(zip(_SHARED, _shared(step), strict=True)),
        )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0
