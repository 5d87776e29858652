"""Turns and steps as the live state holds them: changed in place, copied when they are read."""

import re
from calendar import timegm
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from tapui.projection.summary import last_line, one_line, summary_of
from tapui.projection.turns.usage import added
from tapui.wire import limits
from tapui.wire.criteria import SessionStanding, TurnProof
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
_MOST_POINTERS = 20
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d{1,9})?Z\Z", re.ASCII)
_, *_SHARED, _ = Step.__struct_fields__
"""The fields that a `LiveStep` has as a `Step` has them: all between `id` and `steps`."""
COUNTED: dict[StepState, str] = {
    "failed": "failed",
    "denied": "denied",
    "cancelled": "cancelled",
    "stopped": "stopped",
    "timedOut": "timed_out",
}
"""How a step ended other than well, and the field of a turn that counts such steps."""
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
    says: str = ""
    proof: TurnProof | None = None
    sent_back: int = 0
    tries: int = 0
    again: Usage = Usage()
    undone: bool = False
    denied: int = 0
    cancelled: int = 0
    stopped: int = 0
    timed_out: int = 0
    waited: float = 0.0
    waits_since: str | None = None
    is_whole: bool = True
    steps: list[LiveStep] = []

    def count(self, state: StepState, by: int = 1) -> None:
        """Count steps that ended so, if that is not well."""
        name = COUNTED.get(state)
        if name is not None:
            setattr(self, name, getattr(self, name) + by)

    def counted(self) -> "dict[StepState, int]":
        """Return how many steps ended other than well, by how they did; none that is 0."""
        counts = {state: getattr(self, name) for state, name in COUNTED.items()}
        return {state: count for state, count in counts.items() if count}

    def failures_left(self) -> int | None:
        """Return how many of its steps failed and did not pass later, when the same was done again;
        None where that is not known: they are not here any more."""
        if not self.failed:
            return 0
        passed: set[tuple[str, ...]] = set()
        left = failed = 0
        for step in reversed(list(self.all_steps())):
            if step.state not in ("done", "failed"):
                continue
            step.condense()
            # What failed outside of any tool, such as a request to the model, is over once the
            # turn goes on.
            same = (step.kind,) if step.kind == "error" else (step.kind, step.tool, step.summary)
            if step.state == "done":
                passed |= {same, ("error",)}
            else:
                failed += 1
                left += same not in passed
        is_listed = self.is_whole and self.made <= sum(step.size for step in self.steps)
        return None if not left and failed < self.failed and not is_listed else left

    def end(self, state: TurnState, at: str) -> None:
        """It is over. Calls between turns are over whenever none is under way."""
        if self.ended_at is None and not self.is_outside:
            self.state, self.ended_at = state, at
            self.count_wait(at, is_waiting=False)

    def count_wait(self, at: str, *, is_waiting: bool) -> None:
        """It waits for the person from `at` on, or no longer."""
        if is_waiting:
            self.waits_since = self.waits_since or at
        elif self.waits_since is not None:
            self.waited = bounded(round(self.waited + _milliseconds(self.waits_since, at), 3))
            self.waits_since = None

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
        if self.sent_back:
            self.again = added(self.again, usage)

    def told_state(self) -> tuple[TurnState, str | None]:
        """Return how it stands, and when it ended."""
        if self.ended_at is not None or self.state != "running":
            return self.state, self.ended_at
        is_open = False
        for step in self.steps:  # one plain loop: this is asked for many times a frame
            if step.state == "waiting":
                return "waiting", None
            is_open = is_open or step.state == "running"
            for inner in step.steps or ():
                if inner.state == "waiting":
                    return "waiting", None
        if self.is_outside and not is_open:
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
            says=self.says,
            proof=self.proof,
            sent_back=self.sent_back,
            tries=self.tries,
            again=self.again,
            undone=self.undone,
            denied=self.denied,
            cancelled=self.cancelled,
            stopped=self.stopped,
            timed_out=self.timed_out,
            waited=self.waited,
            waits_since=self.waits_since,
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
            says=last_line(head.says),
            proof=None if head.proof is None else proof_head(head.proof),
            sent_back=head.sent_back,
            tries=head.tries,
            again=head.again,
            undone=head.undone,
            denied=head.denied,
            cancelled=head.cancelled,
            stopped=head.stopped,
            timed_out=head.timed_out,
            waited=head.waited,
            waits_since=head.waits_since,
            is_whole=False,
        )

    @classmethod
    def of(cls, turn: Turn) -> "LiveTurn":
        made = cls.of_head(turn.head)
        made.is_whole = True
        made.steps = [LiveStep.of(one) for one in turn.steps]
        return made


def _milliseconds(since: str, until: str) -> float:
    """Return the time between two moments as events have them; 0 where one is malformed, or they
    are turned round."""
    begin, end = _TIME.match(since), _TIME.match(until)
    if begin is None or end is None:
        return 0.0
    try:
        seconds = [timegm(tuple(map(int, one.groups()[:6]))) for one in (begin, end)]
    except ValueError:
        return 0.0  # a month that there is not
    parts = float(end[7] or 0) - float(begin[7] or 0)
    return max(seconds[1] - seconds[0] + parts, 0.0) * 1000


def proof_head(proof: TurnProof) -> TurnProof:
    """Return a proof as far as the state keeps it: records that it may come from are anyone's."""
    return replace(
        proof,
        text=one_line(proof.text),
        pointers=proof.pointers[:_MOST_POINTERS],
        runs=[
            replace(one, command=one_line(one.command), tests=one_line(one.tests))
            for one in proof.runs[:_MOST_POINTERS]
        ],
    )


def standing_head(standing: SessionStanding | None) -> SessionStanding | None:
    """Return how a session stands as far as the state keeps it."""
    if standing is None:
        return None
    return replace(standing, proof=proof_head(standing.proof), after=one_line(standing.after))


def files_of(turns: Sequence["LiveTurn"]) -> tuple[dict[str, FileChange], int]:
    """Return the files that turns changed, the newest last, and how many there are with those that
    the state does not keep."""
    files: dict[str, FileChange] = {}
    for turn in turns:
        for one in turn.files.values():
            files[one.path] = together(one.path, files.pop(one.path, None), one)
    return files, len(files) + sum(turn.more_files.files for turn in turns)


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
