"""What the shell hands in about emitters and goals: a folder's file, and what the person has
allowed."""

from dataclasses import dataclass
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from tapui.wire.emitters import (
    Delivery,
    EmitterKind,
    FileProblem,
    Injector,
    Lifespan,
    Ownership,
    ScheduleKind,
)
from tapui.wire.goals import CriterionGiven
from tapui.wire.provider import FilterRule

FOLDER_TOOLS = "tools"
"""The name of the provider of a folder's `tools/`."""


def interval_text(seconds: float) -> str:
    """Return a stretch of time as a configuration spells intervals: `30s`, `5m`, `2h`."""
    whole = max(round(seconds), 1)
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if whole % size == 0:
            return f"{whole // size}{unit}"
    return f"{whole}s"


def cron_text(expression: str) -> str:
    """Return a cron expression in words, and itself: `at 09:00 every day (cron 0 9 * * *)`."""
    from cronsim.explain import explain  # with the first expression: most files have none

    try:
        words = explain(expression)
    except (ValueError, IndexError):  # kept on disk, and not right
        return f"by cron {expression}"
    return f"{words[0].lower()}{words[1:]} (cron {expression})"


class Schedule(Struct, frozen=True):
    """When an emitter runs. `seconds` are those from a run's end to the next of `timed`, and those
    until the run of `oneTime`. `timed` has `cron` instead where it runs at times of the calendar.

    `cron` is left out where it is not set: what the person allowed without it stays allowed.
    """

    kind: ScheduleKind
    seconds: int | None = None
    cron: str | UnsetType = UNSET

    def __str__(self) -> str:
        match self.kind:
            case "timed" if self.cron:
                return cron_text(self.cron)
            case "timed":
                return f"every {interval_text(self.seconds or 1)}"
            case "idle":
                return "when idle"
            case "oneTime":
                return f"once, in {interval_text(self.seconds)}" if self.seconds else "once"
            case "continuous":
                return "all the time"


class EmitterPlan(Struct, frozen=True, kw_only=True):
    """What is shown, allowed and started, and nothing else: the one shape of it from a folder's
    file through the consents on disk to the run.

    An emitter has a command or a prompt, a schedule and a stream. A provider has a command and its
    `args`, without a shell, and runs while its session is open.
    """

    kind: Literal["emitter", "provider"]
    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    prompt: str | None = None
    shell: str | None = None
    cwd: str
    """Where it runs, absolute and without links."""
    env: tuple[tuple[str, str], ...] = ()
    schedule: Schedule | None = None
    max_runs: int | None = None
    auto_start: bool = True
    include_stderr: bool = True
    stream: str | None = None
    injector: Injector = "unset"
    delivery: Delivery = "surface"
    rules: tuple[FilterRule, ...] = ()
    is_folder_tools: bool = False
    """Whether it is tapui's own provider of the folder's `tools/`: it loads what is allowed, and so
    runs on while changed files are asked about."""

    @property
    def is_provider(self) -> bool:
        return self.kind == "provider"

    @property
    def runs(self) -> EmitterKind:
        return "provider" if self.schedule is None else self.schedule.kind

    @property
    def every(self) -> int | None:
        return None if self.schedule is None else self.schedule.seconds

    @property
    def cron(self) -> str | None:
        return None if self.schedule is None else self.schedule.cron or None

    @property
    def stream_name(self) -> str:
        """The bare name of the stream that has its lines, and those about it."""
        return self.stream or self.name


class EmitterEntryRead(Struct, frozen=True, kw_only=True):
    """An emitter of a folder's file, or a provider. They may have the same name."""

    plan: EmitterPlan
    ownership: Ownership = "userOwned"
    filter_ownership: Ownership = "userOwned"
    lifespan: Lifespan = "persistent"
    description: str = ""
    line: int | None = None


class GoalPlan(Struct, frozen=True, kw_only=True):
    """A goal of a folder's file: what is shown, allowed and opened, and nothing else. Its name is
    its title."""

    kind: Literal["goal"] = "goal"
    name: str
    criteria: tuple[CriterionGiven, ...]
    agent: str | None = None
    deadline: str | None = None

    @property
    def cwd(self) -> None:
        """It runs nothing."""


class GoalEntryRead(Struct, frozen=True, kw_only=True):
    """A goal of a folder's file, and whether the person has allowed exactly that. `digest` is of
    the plan and the folder; `why` says what has changed since it was allowed."""

    plan: GoalPlan
    digest: str
    is_allowed: bool
    why: str = ""
    file: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class FolderEmitters:
    """What a folder's file says. `cwd` is the folder as it was asked for, `folder` the same without
    links.

    With `is_readable` False the file is there and cannot be read: what was known of it holds.
    """

    cwd: str
    folder: str
    entries: tuple[EmitterEntryRead, ...] = ()
    is_readable: bool = True
    problems: tuple[FileProblem, ...] = ()
    goals: tuple[GoalEntryRead, ...] = ()


@dataclass(frozen=True, slots=True)
class MayStart:
    """The person has allowed exactly this plan, and the files that it names are unchanged."""

    plan: EmitterPlan


@dataclass(frozen=True, slots=True)
class MustAsk:
    """It is not allowed, or not any more. `digest` names exactly what `detail` shows.

    `why` says in words what has changed since it was allowed; it is empty when it never was.
    """

    digest: str
    detail: dict[str, Any]
    why: str = ""


@dataclass(frozen=True, slots=True)
class CannotStart:
    """It cannot be started, for a reason in words."""

    why: str


EmitterStanding = MayStart | MustAsk | CannotStart


@dataclass(frozen=True, slots=True)
class SavedEmitter:
    """An emitter was written into its file, or, with `fault`, was not.

    `found` is what the file says then. The entries in `own` are as they were wanted, and as allowed
    as they were before: what runs goes on. `note` is what the person should know besides.
    """

    found: FolderEmitters | None = None
    path: str | None = None
    own: frozenset[str] = frozenset()
    fault: str | None = None
    note: str | None = None
