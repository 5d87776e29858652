"""A step as the live state holds it: changed in place, told as a `Step` when somebody reads."""

from msgspec import Struct

from tapui.projection.summary import summary_of
from tapui.wire import limits
from tapui.wire.subjects import Call
from tapui.wire.turns import FileChange, Step, StepKind, StepState, Usage

_MOST = 2**53


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
    tool: str = ""
    provider: str = ""
    summary: str = ""
    exit_code: int | None = None
    added: int | None = None
    removed: int | None = None
    error: str = ""
    approval_id: str | None = None
    decided_by: str | None = None
    agent: str | None = None
    usage: Usage | None = None
    calls: int = 0
    steps: "list[LiveStep] | None" = None

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return self.state in ("running", "waiting")

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
        self.provider = call.provider[: limits.MAX_NAME]
        if self.kind != "subagent":
            self.tool = call.tool[: limits.MAX_NAME]
            self.summary = summary_of(call) or self.summary

    def changed(self, changes: list[FileChange]) -> None:
        """Add the lines of changed files."""
        for change in changes:
            if change.added is not None:
                self.added = min((self.added or 0) + change.added, _MOST)
            if change.removed is not None:
                self.removed = min((self.removed or 0) + change.removed, _MOST)

    def told(self) -> Step:
        """Return the step as others see it."""
        self.condense()
        return Step(
            id=f"{self.turn}.{self.number}",
            kind=self.kind,
            state=self.state,
            at=self.at,
            duration=self.duration,
            tool=self.tool,
            provider=self.provider,
            summary=self.summary,
            exit_code=self.exit_code,
            added=self.added,
            removed=self.removed,
            error=self.error,
            call_id=self.call_id,
            approval_id=self.approval_id,
            decided_by=self.decided_by,
            agent=self.agent,
            usage=self.usage,
            calls=self.calls,
            steps=[one.told() for one in self.steps] if self.steps else [],
        )

    @classmethod
    def of(cls, step: Step) -> "LiveStep":
        """Return a step that was told."""
        turn, _, number = step.id.partition(".")
        return cls(
            turn=_number(turn),
            number=_number(number),
            kind=step.kind,
            state=step.state,
            at=step.at,
            duration=step.duration,
            tool=step.tool,
            provider=step.provider,
            summary=step.summary,
            exit_code=step.exit_code,
            added=step.added,
            removed=step.removed,
            error=step.error,
            call_id=step.call_id,
            approval_id=step.approval_id,
            decided_by=step.decided_by,
            agent=step.agent,
            usage=step.usage,
            calls=step.calls,
            steps=[cls.of(one) for one in step.steps] if step.steps else None,
        )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0
