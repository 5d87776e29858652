"""A turn as the live state holds it: changed in place, made a `Turn` when it is read."""

from collections.abc import Iterator
from typing import TypeVar

from msgspec import Struct

from tapui.projection.summary import one_line
from tapui.projection.turns.step import LiveStep
from tapui.projection.turns.usage import added
from tapui.wire import limits
from tapui.wire.turns import (
    FileChange,
    MoreFiles,
    Turn,
    TurnHead,
    TurnSource,
    TurnState,
    Usage,
)

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
        """Return the turn without its steps."""
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
