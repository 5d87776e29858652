"""Emitters: commands and prompts that run beside a folder's sessions, and what the person orders.

The events tell the outcome of an order.
"""

from typing import Annotated, Literal

from msgspec import Struct

from tapui.wire.bounds import Id, checked
from tapui.wire.message import Message, WireStruct
from tapui.wire.provider import FilterRule
from tapui.wire.subjects import Cut

Ownership = Literal["userOwned", "modelOwned"]
Lifespan = Literal["persistent", "temporary"]
Injector = Literal["unset", "enabled", "disabled"]
"""`unset`: not set; what a filter injects goes through."""
Delivery = Literal["surface", "important", "all"]
"""`all`: every line that is kept is injected; else those that the filter injects."""
ScheduleKind = Literal["continuous", "timed", "oneTime", "idle"]
EmitterKind = ScheduleKind | Literal["provider"]
"""`provider`: a program of the project that connects as a provider; each session has its own."""
EmitterSource = Literal["file", "tool"]
EmitterState = Literal[
    "configured",
    "asking",
    "queued",
    "waiting",
    "running",
    "paused",
    "stopping",
    "stopped",
    "exited",
    "completed",
    "error",
]
"""`configured`: it was not started; `asking`: an approval waits; `queued`: it starts as soon as it
can; `waiting`: for its next run. The last four are ends: it can be started again."""
RunStatus = Literal["success", "failure", "stopped", "lost"]
"""`lost`: the runner was lost with it."""
Rules = Annotated[list[FilterRule], checked("MAX_HOOK_RULES")]


class EmitterCounts(WireStruct):
    """Lines of an emitter's runs: each is dropped, kept, surfaced, injected or held.

    `held`: the filter injects it, and the stream's injector is disabled. `truncated` ones were too
    long; `undecided` counts patterns that took too long for a line.
    """

    lines: int = 0
    dropped: int = 0
    kept: int = 0
    surfaced: int = 0
    injected: int = 0
    held: int = 0
    truncated: int = 0
    undecided: int = 0
    sent: int = 0
    """Injected lines that were sent to the agent; of the others `left_out` were too many."""
    left_out: int = 0


class FileProblem(WireStruct, kw_only=True):
    """What is wrong in the file of a folder, and where; `name` is that of the entry it is in.

    An error costs the entry, or the whole file where `key` is empty. All texts are safe to show.
    """

    file: str
    line: int
    text: str
    key: str = ""
    name: str = ""
    is_error: bool = True

    def __str__(self) -> str:
        name = f" “{self.name}”" if self.name else ""
        key = f" {self.key}{name}:" if self.key else ""
        return f"{self.file}:{self.line}:{key} {self.text}"


class FolderProblems(Struct, rename="camel", frozen=True):
    """What is wrong in the file of a folder in use."""

    folder: str
    problems: list[FileProblem]


class Emitter(WireStruct, kw_only=True):
    """An emitter. `session_id` is the session that it belongs to, and whose streams it posts to.

    It has a command or a prompt; a `provider` has a command and its `args`, and no shell. `stream`
    is the full name, `every` is seconds from the end of a run to the next (until the run, of one
    that runs once), `cron` what a `timed` one has instead: a cron expression in the time zone of
    the gateway. `line` is that in the folder's file. `why` says why it asks, waits or failed.
    """

    id: str
    name: str
    folder: str
    session_id: str
    kind: EmitterKind
    state: EmitterState
    stream: str
    cwd: str
    command: str | None = None
    args: list[str] = []
    prompt: str | None = None
    shell: str | None = None
    every: int | None = None
    cron: str | None = None
    ownership: Ownership = "userOwned"
    lifespan: Lifespan = "persistent"
    source: EmitterSource = "file"
    line: int | None = None
    auto_start: bool = True
    include_stderr: bool = True
    max_runs: int | None = None
    runs: int = 0
    rules: list[FilterRule] = []
    injector: Injector = "unset"
    delivery: Delivery = "surface"
    description: str = ""
    next_run_at: str | None = None
    last_run_at: str | None = None
    """When the last run began."""
    last_status: RunStatus | None = None
    exit_code: int | None = None
    signal: str | None = None
    failures: int = 0
    """How many runs have failed in a row."""
    error: str | None = None
    why: str | None = None
    approval_id: str | None = None
    """The approval that it waits for."""
    waiting: int = 0
    """How many of its lines wait to be sent into the session."""
    braked: bool = False
    """Whether the loop brake holds them."""
    counts: EmitterCounts = EmitterCounts()
    is_cut: bool = False
    """Whether something was cut to its head; `detail.read` gives all of it. Only in snapshots."""
    cuts: dict[str, Cut] = {}
    """Fields that were too large to record, by name (see `projection.cuts`)."""


# Tower → gateway


class EmitterStart(Message, tag="emitter.start"):
    """Start an emitter that is not active; the person is asked where it was not allowed yet."""

    emitter_id: Id


class EmitterStop(Message, tag="emitter.stop"):
    """Stop an emitter: what it runs is ended, and nothing of it starts by itself."""

    emitter_id: Id


class EmitterPause(Message, tag="emitter.pause"):
    """Start no further run until it is resumed. A run on a schedule goes on to its end; what runs
    all the time is ended."""

    emitter_id: Id


class EmitterResume(Message, tag="emitter.resume"):
    """Go on with an emitter that is paused: it runs at once."""

    emitter_id: Id


class EmitterRun(Message, tag="emitter.run"):
    """Begin its next run now; one that is not active is started."""

    emitter_id: Id


class EmitterFilter(Message, tag="emitter.filter"):
    """Filter the lines that follow by other rules, for as long as the emitter is there."""

    emitter_id: Id
    rules: Rules


class EmitterTry(Message, tag="emitter.try"):
    """Say what rules would make of the lines that its stream has; nothing is changed."""

    id: Id
    emitter_id: Id
    rules: Rules


class EmitterKeep(Message, tag="emitter.keep", kw_only=True):
    """Write an emitter into its folder's file, with the rules in force and what else is given.

    What was allowed stays allowed with it. One that the agent has started is the file's from then
    on. `injector` and `delivery` are those of its stream.
    """

    id: Id
    emitter_id: Id
    rules: Rules | None = None
    auto_start: bool | None = None
    every: int | None = None
    injector: Injector | None = None
    delivery: Delivery | None = None


# Gateway → tower


class EmitterKept(Message, tag="emitter.kept"):
    """The answer to `emitter.keep`: the file's `path`, or in `error` why it is as it was.

    `note` is what the person should know besides.
    """

    id: str
    path: str | None = None
    error: str | None = None
    note: str | None = None


class TriedSeq(WireStruct):
    """What rules make of the line `seq` of a stream; `rule` is the index of the one that decides.

    `undecided`: a pattern took too long for it.
    """

    seq: int
    outcome: Literal["drop", "keep", "surface", "inject"]
    rule: int | None = None
    undecided: bool = False


class EmitterTried(Message, tag="emitter.tried"):
    """The answer to `emitter.try`, oldest first; fewer lines when it took too long altogether."""

    id: str
    lines: list[TriedSeq]
    error: str | None = None
