"""What the gateway and the runner's helper process say to each other."""

from tapui.core.runs.reports import RulesTried, RunnerMessage, RunReport
from tapui.runtime.children.lines import LineCodec
from tapui.wire.provider import FilterRule

# Gateway → helper


class RunStart(RunnerMessage, tag="run.start", frozen=True):
    """Start a command. `env` is its whole environment; without `shell` it is run by bash, or sh.
    With `args` it is a program, which gets them, and no shell runs it.

    `run` is an id that was never used before. Lines of stderr are only last words without
    `include_stderr`. With `keeps_layout` blank lines and indents are kept. The answer is
    `run.started`, or `run.ended` with an `error`.
    """

    run: str
    command: str
    cwd: str
    env: dict[str, str]
    shell: str | None = None
    args: list[str] | None = None
    include_stderr: bool = True
    rules: tuple[FilterRule, ...] = ()
    version: int = 0
    keeps_layout: bool = False


class RunStop(RunnerMessage, tag="run.stop", frozen=True):
    """End a run: TERM to all of its processes, KILL to what is left after `grace` seconds."""

    run: str
    grace: float


class RunFilter(RunnerMessage, tag="run.filter", frozen=True):
    """Filter the lines that follow by other rules. The answer is `run.filtered`."""

    run: str
    version: int
    rules: tuple[FilterRule, ...]


class RunTaken(RunnerMessage, tag="run.taken", frozen=True):
    """So many lines of a run, of so many characters, were taken: as many more may be sent."""

    run: str
    lines: int
    characters: int


class TryRules(RunnerMessage, tag="rules.try", frozen=True):
    """Say what rules make of lines. The answer is `rules.tried`."""

    id: int
    rules: tuple[FilterRule, ...]
    lines: list[str]


class RunnerPing(RunnerMessage, tag="ping", frozen=True):
    """Answer with `pong`."""


# Helper → gateway


class RunnerReady(RunnerMessage, tag="ready", frozen=True):
    """The helper runs. `mark` begins the variable that its commands bear; with `is_reaper`, it
    finds processes that left their session."""

    pid: int
    mark: str
    is_reaper: bool


class RunnerPong(RunnerMessage, tag="pong", frozen=True):
    """The helper answers."""


ToHelper = RunStart | RunStop | RunFilter | RunTaken | TryRules | RunnerPing
FromHelper = RunnerReady | RunReport | RulesTried | RunnerPong

AT_HELPER: LineCodec[ToHelper] = LineCodec(ToHelper)
AT_GATEWAY: LineCodec[FromHelper] = LineCodec(FromHelper)
"""The lines as each of them reads them."""
