"""Turns and steps as the live state holds them: changed in place, copied when they are read."""

from collections.abc import Iterator
from operator import attrgetter
from typing import Any, TypeVar

from msgspec import Struct

from tapui.projection.summary import one_line, summary_of
from tapui.projection.turns.usage import added
from tapui.wire import limits
from tapui.wire.subjects import Call
from tapui.wire.turns import (
    FileChange,
    MoreFiles,
    Step,
    StepKind,
    StepState,
    Turn,
    TurnHead,
    TurnSource,
    TurnState,
    Usage,
)

_MOST_EDITS = 2**53
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
        return self.state in ("running", "waiting")

    @property
    def is_asked_only(self) -> bool:
        """Whether it is a call that was asked for and, as far as is known, has not begun."""
        return self.kind == "call" and self.call is None and not self.tool

    @property
    def size(self) -> int:
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
                self.added = min((self.added or 0) + change.added, _MOST_EDITS)
            if change.removed is not None:
                self.removed = min((self.removed or 0) + change.removed, _MOST_EDITS)

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


N = TypeVar("N", int, float)
_MOST = 2**53


class LiveTurn(Struct, eq=False, gc=False):
    """One turn. `made` counts its steps; without `is_whole` only its head is known here."""

    number: int
    session_id: str
    started_at: str
    source: TurnSource
    prompt: str = ""
    state: TurnState = "running"
    ended_at: str | None = None
    touched_at: str | None = None
    """When a call of a turn outside of the agent's ended last."""
    made: int = 0
    failed: int = 0
    usage: Usage = Usage()
    files: dict[str, FileChange] = {}
    more_files: MoreFiles = MoreFiles()
    is_outside: bool = False
    is_history: bool = False
    is_whole: bool = True
    steps: list[LiveStep] = []

    def end(self, state: TurnState, at: str) -> None:
        """It is over. Calls between turns are over whenever none is under way."""
        if self.ended_at is None and not self.is_outside:
            self.state, self.ended_at = state, at

    def superseded(self, at: str) -> None:
        if self.is_outside and self.ended_at is None:
            is_resting = not any(step.is_open for step in self.steps)
            self.state = "done"
            self.ended_at = (self.touched_at if is_resting else None) or at
        self.end("done", at)

    def all_steps(self) -> Iterator[LiveStep]:
        """Yield its steps, each before those within it."""
        for step in self.steps:
            yield step
            yield from step.steps or ()

    def changed(self, changes: list[FileChange]) -> None:
        """Add changes of files, the newest last."""
        for change in changes:
            path = change.path[: limits.MAX_SUMMARY]
            known = self.files.pop(path, None)
            self.files[path] = together(path, known, change)
        while len(self.files) > limits.TURN_FILES:
            gone = self.files.pop(next(iter(self.files)))
            self.changed_before(MoreFiles(1, gone.added or 0, gone.removed or 0))

    def changed_before(self, more: MoreFiles) -> None:
        """Count files that are not listed."""
        known = self.more_files
        self.more_files = MoreFiles(
            min(known.files + more.files, _MOST),
            bounded(known.added + more.added),
            bounded(known.removed + more.removed),
        )

    def used(self, usage: Usage) -> None:
        self.usage = added(self.usage, usage)

    def told_state(self) -> tuple[TurnState, str | None]:
        """Return how it stands, and when it ended."""
        if self.ended_at is not None or self.state != "running":
            return self.state, self.ended_at
        if any(step.state == "waiting" for step in self.all_steps()):
            return "waiting", None
        if self.is_outside and not any(step.is_open for step in self.steps):
            return "done", self.touched_at
        return "running", None

    def head(self) -> TurnHead:
        state, ended_at = self.told_state()
        return TurnHead(
            number=self.number,
            session_id=self.session_id,
            started_at=self.started_at,
            state=state,
            source=self.source,
            prompt=self.prompt,
            ended_at=ended_at,
            steps=self.made,
            failed=self.failed,
            usage=self.usage,
            files=list(self.files.values()),
            more_files=self.more_files,
            is_outside=self.is_outside,
            is_history=self.is_history,
        )

    def told(self) -> Turn:
        listed = sum(step.size for step in self.steps)
        return Turn(self.head(), [step.told() for step in self.steps], max(self.made - listed, 0))

    def condense(self) -> None:
        """Let go of what only a turn under way needs."""
        for step in self.all_steps():
            step.condense()

    @classmethod
    def of_head(cls, head: TurnHead) -> "LiveTurn":
        is_live = head.is_outside or head.state in ("running", "waiting")
        return cls(
            number=head.number,
            session_id=head.session_id,
            started_at=head.started_at,
            source=head.source,
            prompt=one_line(head.prompt),
            state="running" if is_live else head.state,
            ended_at=None if is_live else head.ended_at,
            touched_at=head.ended_at,
            made=head.steps,
            failed=head.failed,
            usage=head.usage,
            files={one.path: one for one in head.files},
            more_files=head.more_files,
            is_outside=head.is_outside,
            is_history=head.is_history,
            is_whole=False,
        )

    @classmethod
    def of(cls, turn: Turn) -> "LiveTurn":
        made = cls.of_head(turn.head)
        made.is_whole = True
        made.steps = [LiveStep.of(one) for one in turn.steps]
        return made


def together(path: str, known: FileChange | None, change: FileChange) -> FileChange:
    """Return what is known of a file, and what was changed in it since, as one change."""
    if known is None:
        return FileChange(path, change.added, change.removed, change.is_probable)
    return FileChange(
        path,
        _sum(known.added, change.added),
        _sum(known.removed, change.removed),
        known.is_probable and change.is_probable,
    )


def _sum(one: N | None, other: N | None) -> N | None:
    if one is None or other is None:
        return other if one is None else one
    return bounded(one + other)


def bounded(number: N) -> N:
    """Return a number that JSON's readers keep exactly."""
    return max(min(number, _MOST), -_MOST)
