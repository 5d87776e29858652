"""What the runner reports of runs, on the channel from its helper process and to the core alike."""

from typing import Literal

from msgspec import Struct, field

from tapui.wire.emitters import EmitterCounts
from tapui.wire.message import Level

Outcome = Level | Literal["drop"]
Source = Literal["stdout", "stderr"]


class RunnerMessage(Struct, tag_field="type", rename="camel", omit_defaults=True, frozen=True):
    """A message between the gateway and the helper."""


class RunLine(Struct, array_like=True, frozen=True):
    """A line that is kept, surfaced or injected; `rule` is the rule's index, None for no match."""

    text: str
    outcome: Level
    source: Source = "stdout"
    rule: int | None = None


class RunStarted(RunnerMessage, tag="run.started", frozen=True):
    """A command runs. `pid` leads its session; `started` tells it from later owners of the id
    (clock ticks since the boot, None where the system does not tell)."""

    run: str
    pid: int
    started: int | None = None


class RunLines(RunnerMessage, tag="run.lines", frozen=True):
    """Lines that the filter let through, in order."""

    run: str
    lines: list[RunLine]


class RunCounted(RunnerMessage, tag="run.counts", frozen=True):
    """How far a run is; at most twice a second, and only when it changed."""

    run: str
    counts: EmitterCounts


class RunFiltered(RunnerMessage, tag="run.filtered", frozen=True):
    """Lines are filtered by this version from here on; with `error` (the pattern and its fault),
    by the version before."""

    run: str
    version: int
    error: str | None = None


class RunEnded(RunnerMessage, tag="run.ended", frozen=True):
    """The end of a run, after all of its lines: an exit `code`, a `signal` (its name), or an
    `error`: it could not be started, or `is_lost` with the helper.

    `last_words` are its last lines, filtered or not; `last_error` is the last one on stderr. `left`
    names processes that it left running (program and id): they gave themselves a session, and the
    run was not stopped. `is_held`: a process that is not the run's any more kept its output open.
    """

    run: str
    counts: EmitterCounts = field(default_factory=EmitterCounts)
    """Of the whole run."""
    code: int | None = None
    signal: str | None = None
    error: str | None = None
    last_words: list[str] = []
    last_error: str = ""
    left: list[str] = []
    is_held: bool = False
    is_lost: bool = False


RunReport = RunStarted | RunLines | RunCounted | RunFiltered | RunEnded


class TriedLine(Struct, array_like=True, frozen=True):
    """The outcome of a line, by which rule, and whether a pattern took too long for it."""

    outcome: Outcome
    rule: int | None
    is_undecided: bool


class RulesTried(RunnerMessage, tag="rules.tried", frozen=True):
    """What rules make of lines, in their order; fewer when it took too long altogether, or with
    `error`."""

    id: int
    lines: list[TriedLine] = []
    error: str | None = None
