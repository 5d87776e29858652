"""What is known of emitters, as data: folders, emitters, runs. The rules are beside this file."""

from collections import deque
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal

from msgspec import Raw

from tapui.core.approvals.approvals import WaitingApproval
from tapui.core.deadlines import Deadline, SlidingWindow
from tapui.core.emitters.plans import EmitterEntryRead, EmitterPlan, GoalEntryRead
from tapui.core.model import HeldInject, OpenSession
from tapui.secret import Secret
from tapui.wire import limits
from tapui.wire.emitters import EmitterCounts, EmitterSource, EmitterState, FileProblem, RunStatus
from tapui.wire.provider import FilterRule

Aim = Literal["go on", "pause", "stop", "restart"]
"""What follows the end of the run under way."""
ENDS: frozenset[EmitterState] = frozenset(("stopped", "exited", "completed", "error"))
_AT_REST = ENDS | {"configured"}
_FOLDER_DIGITS = 12


@dataclass(slots=True)
class LineTally:
    """What became of the lines that were let through."""

    kept: int = 0
    surfaced: int = 0
    injected: int = 0
    held: int = 0

    @property
    def total(self) -> int:
        return self.kept + self.surfaced + self.injected + self.held


@dataclass(slots=True)
class LineBatch:
    """Lines of a run that were taken one after another, until a span tells of them: the numbers of
    the first and the last in their stream, and what became of them."""

    first: int
    last: int
    began: float
    began_at: str
    ended: float
    before: LineTally
    """What had become of the run's lines before."""


@dataclass(slots=True, eq=False)
class LiveRun:
    """A run under way. `id` is the runner's; a prompt's run has it, too, and no process."""

    id: str
    is_prompt: bool
    number: int
    began: float
    began_at: str
    trace_id: str
    span_id: str
    is_started: bool = False
    """Its process is there, or its prompt was sent."""
    is_stopping: bool = False
    counts: EmitterCounts = field(default_factory=EmitterCounts)
    """As the runner counted until now."""
    tally: LineTally = field(default_factory=LineTally)
    batch: LineBatch | None = None
    """Its newest lines, of which no span tells."""
    routed: int = 0
    """Of how many of its lines spans have told, dropped ones too."""
    metadata: dict[str, Raw] = field(default_factory=dict)
    """That of its lines in the stream, by their source."""


@dataclass(slots=True, eq=False)
class LiveEmitter:
    """An emitter that is there.

    `session` is the one that it belongs to, in whose streams its lines are. `plan` is what the
    person allowed, or is to allow; `rules` are in force, which the person may have changed.
    """

    id: str
    entry: EmitterEntryRead
    plan: EmitterPlan
    rules: tuple[FilterRule, ...]
    session: OpenSession
    folder: "EmitterFolder"
    source: EmitterSource
    state: EmitterState = "configured"
    aim: Aim = "go on"
    run: LiveRun | None = None
    parent: tuple[str, str] | None = None
    """The trace and the span of its last run."""
    runs: int = 0
    is_due: bool = False
    """Whether the time of its cron expression has come, or the person runs it now."""
    failures: int = 0
    ends_soon: int = 0
    """How many runs in a row have ended soon after they began."""
    token: Secret | None = None
    """What a provider earns its session with."""
    has_own_rules: bool = False
    """Whether the person changed the filter since it was read."""
    filter_version: int = 0
    counts: EmitterCounts = field(default_factory=EmitterCounts)
    """Of all runs that have ended."""
    deadline: Deadline | None = None
    next_run_at: str | None = None
    check: int | None = None
    """The ticket of the last question to the shell about its consent; answers to earlier ones do
    not count."""
    approval: WaitingApproval | None = None
    refused: str = ""
    """The digest of what the person did not allow last."""
    held: HeldInject | None = None
    """Its lines that wait for the session."""
    is_braked: bool = False
    last_run_at: str | None = None
    last_status: RunStatus | None = None
    exit_code: int | None = None
    signal: str | None = None
    error: str | None = None
    why: str | None = None
    counted_at: float = 0.0
    """When its counts were told last."""
    counts_due: Deadline | None = None
    """When they are shown next, where they have changed since."""
    shown: SlidingWindow = field(
        default_factory=lambda: SlidingWindow(limits.SURFACED_PER_SECOND, 1.0)
    )
    unshown: int = 0
    """Lines that were surfaced and too many to be shown in the timeline."""

    @property
    def name(self) -> str:
        """Its name, which is the only one of its folder's file, or of its session."""
        return self.plan.name

    @property
    def label(self) -> str:
        return self.plan.name

    @property
    def stream(self) -> str:
        """The bare name of the stream that has its lines, and those about it."""
        return self.plan.stream or self.plan.name

    @property
    def is_provider(self) -> bool:
        """Whether it is a provider of the project: one of its session's own."""
        return self.plan.is_provider

    @property
    def stable_id(self) -> str:
        """An id that it has in every run of the gateway."""
        if self.is_provider or self.source == "tool":
            return f"{self.session.id}/{self.name}"
        folder = sha256(self.folder.path.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{folder[:_FOLDER_DIGITS]}/{self.name}"

    @property
    def place(self) -> tuple[str, str]:
        """What it has in common with one that was there before it, and no other."""
        return self.session.id if self.is_provider else self.folder.path, self.name

    @property
    def entry_key(self) -> tuple[str, str, bool]:
        return self.folder.path, self.name, self.is_provider

    @property
    def is_prompt(self) -> bool:
        return self.plan.prompt is not None

    @property
    def is_active(self) -> bool:
        """Whether it was started, and has not come to an end."""
        return self.state not in _AT_REST

    def counted(self) -> EmitterCounts:
        """Return the counts of all of its runs, the one under way too."""
        return added(self.counts, self.run) if self.run is not None else self.counts


@dataclass(slots=True, eq=False)
class FileGoal:
    """A goal of a folder's file."""

    entry: GoalEntryRead
    approval: WaitingApproval | None = None
    refused: str = ""
    """The digest of what the person did not allow."""


@dataclass(slots=True, eq=False)
class EmitterFolder:
    """A folder whose file is in use. Its emitters belong to the first of its sessions."""

    path: str
    sessions: list[OpenSession] = field(default_factory=list)
    apart: list[OpenSession] = field(default_factory=list)
    """Sessions of tool hosts: they have its providers, and nothing else of it."""
    emitters: dict[str, LiveEmitter] = field(default_factory=dict)
    """By name."""
    providers: dict[str, EmitterEntryRead] = field(default_factory=dict)
    """What its file says of providers, by name: each session has its own."""
    goals: dict[str, FileGoal] | None = None
    """By name, until its file could be read None: each session has its own."""
    problems: list[FileProblem] = field(default_factory=list)
    """What is wrong in its file."""
    asked: deque[float] = field(default_factory=deque)
    """When the person was asked about its entries, until they start one themselves."""

    @property
    def entries(self) -> int:
        """How many its file has, those of providers in each session."""
        of_sessions = len(self.providers) * len(self.with_providers)
        return len(self.emitters) + of_sessions + len(self.goals or ())

    @property
    def with_providers(self) -> list[OpenSession]:
        """All sessions in it, those of tool hosts last."""
        return [*self.sessions, *self.apart]

    def like(self, session: OpenSession) -> list[OpenSession]:
        """Return the list that has, or is to have, a session."""
        return self.apart if session.is_apart else self.sessions

    def may_ask(self, now: float) -> bool:
        """Count a question; return whether the person may be asked it. A file can be written over
        and over, until the person answers by mistake."""
        while self.asked and self.asked[0] <= now - limits.ASKED_AGAIN_SECONDS:
            self.asked.popleft()
        if len(self.asked) >= limits.ASKED_AGAIN + 3 * self.entries:
            return False
        self.asked.append(now)
        return True


def added(counts: EmitterCounts, run: LiveRun) -> EmitterCounts:
    """Return counts with those of a run: each line is counted once.

    What was posted is known here; the runner's counts come later, or never when it was lost.
    """
    tally, told = run.tally, run.counts
    return EmitterCounts(
        lines=counts.lines + max(told.lines, told.dropped + tally.total),
        dropped=counts.dropped + told.dropped,
        kept=counts.kept + tally.kept,
        surfaced=counts.surfaced + tally.surfaced,
        injected=counts.injected + tally.injected,
        held=counts.held + tally.held,
        truncated=counts.truncated + told.truncated,
        undecided=counts.undecided + told.undecided,
        sent=counts.sent,
        left_out=counts.left_out,
    )
