"""What the gateway and the runner's helper process say to each other, and how it is framed.

A frame is its length (4 bytes, big-endian) and a message as JSON. Times are seconds; `at` is Unix
time. The helper sends `run.ended` last of a run, after all of its lines.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import Struct

from tapui.wire.message import Level

MAX_FRAME_BYTES = 16 * 1024 * 1024
_LENGTH_BYTES = 4

Outcome = Level | Literal["drop"]
Source = Literal["stdout", "stderr"]


class LineRule(Struct, array_like=True, frozen=True):
    """What becomes of a line in which the pattern `match` is found."""

    match: str
    outcome: Outcome


class RunnerMessage(Struct, tag_field="type", rename="camel", omit_defaults=True, frozen=True):
    """A message between the gateway and the helper."""


# Gateway → helper


class RunStart(RunnerMessage, tag="run.start", frozen=True):
    """Start a command. `env` is its whole environment; without `shell` it is run by bash, or sh.
    With `args` it is a program, which gets them, and no shell runs it.

    `run` is an id that was never used before. Lines of stderr are only last words without
    `include_stderr`. The answer is `run.started`, or `run.ended` with an `error`.
    """

    run: str
    command: str
    cwd: str
    env: dict[str, str]
    shell: str | None = None
    args: list[str] | None = None
    include_stderr: bool = True
    rules: list[LineRule] = []
    version: int = 0


class RunStop(RunnerMessage, tag="run.stop", frozen=True):
    """End a run: TERM to all of its processes, KILL to what is left after `grace` seconds."""

    run: str
    grace: float


class RunFilter(RunnerMessage, tag="run.filter", frozen=True):
    """Filter the lines that follow by other rules. The answer is `run.filtered`."""

    run: str
    version: int
    rules: list[LineRule]


class RunTaken(RunnerMessage, tag="run.taken", frozen=True):
    """So many lines of a run, of so many characters, were taken: as many more may be sent."""

    run: str
    lines: int
    characters: int


class TryRules(RunnerMessage, tag="rules.try", frozen=True):
    """Say what rules make of lines. The answer is `rules.tried`."""

    id: int
    rules: list[LineRule]
    lines: list[str]


class RunnerPing(RunnerMessage, tag="ping", frozen=True):
    """Answer with `pong`."""


# Helper → gateway


class RunLine(Struct, array_like=True, frozen=True):
    """A line that is kept, surfaced or injected; `rule` is the rule's index, None for no match."""

    text: str
    outcome: Level
    source: Source
    rule: int | None
    at: float


class RunCounts(Struct, rename="camel", omit_defaults=True):
    """What a run has put out so far. Blank lines are in `bytes` alone.

    `timed_out` counts patterns that took too long for a line (they match nothing then),
    `slow_rules` has the indices of those of the filter in force.
    """

    lines: int = 0
    kept: int = 0
    surfaced: int = 0
    injected: int = 0
    dropped: int = 0
    truncated: int = 0
    bytes: int = 0
    timed_out: int = 0
    slow_rules: list[int] = []


class RunnerReady(RunnerMessage, tag="ready", frozen=True):
    """The helper runs. `mark` begins the variable that its commands bear; with `is_reaper`, it
    finds processes that left their session."""

    pid: int
    mark: str
    is_reaper: bool


class RunStarted(RunnerMessage, tag="run.started", frozen=True):
    """A command runs. `pid` leads its session; `started` tells it from later owners of the id
    (clock ticks since the boot, None where the system does not tell)."""

    run: str
    pid: int
    started: int | None
    at: float


class RunLines(RunnerMessage, tag="run.lines", frozen=True):
    """Lines that the filter let through, in order."""

    run: str
    lines: list[RunLine]


class RunCounted(RunnerMessage, tag="run.counts", frozen=True):
    """How far a run is; at most twice a second, and only when it changed."""

    run: str
    counts: RunCounts


class RunFiltered(RunnerMessage, tag="run.filtered", frozen=True):
    """Lines are filtered by this version from here on; with `error` (the pattern and its fault),
    by the version before."""

    run: str
    version: int
    error: str | None = None


class RunEnded(RunnerMessage, tag="run.ended", frozen=True):
    """A run is over: with an exit `code`, by a `signal` (its name), or with an `error`: it could
    not be started, or `is_lost` with the helper, or for want of one (the gateway's end says that).

    `last_words` are its last lines, filtered or not. `left` names processes that it left running
    (program and id): they gave themselves a session, and the run was not stopped. `is_held`: a
    process that is not the run's any more kept its output open.
    """

    run: str
    counts: RunCounts
    code: int | None = None
    signal: str | None = None
    error: str | None = None
    seconds: float = 0.0
    last_words: list[str] = []
    left: list[str] = []
    is_held: bool = False
    is_lost: bool = False


class TriedLine(Struct, array_like=True, frozen=True):
    """What becomes of a line, by which rule, and whether a pattern took too long for it."""

    outcome: Outcome
    rule: int | None
    is_undecided: bool


class RulesTried(RunnerMessage, tag="rules.tried", frozen=True):
    """What rules make of the lines, in their order; fewer when it took too long altogether."""

    id: int
    lines: list[TriedLine]
    error: str | None = None


class RunnerPong(RunnerMessage, tag="pong", frozen=True):
    """The helper answers."""


ToHelper = RunStart | RunStop | RunFilter | RunTaken | TryRules | RunnerPing
FromHelper = (
    RunnerReady
    | RunStarted
    | RunLines
    | RunCounted
    | RunFiltered
    | RunEnded
    | RulesTried
    | RunnerPong
)

_encoder = msgspec.json.Encoder()
read_by_helper = msgspec.json.Decoder(ToHelper).decode
read_by_gateway = msgspec.json.Decoder(FromHelper).decode


class FrameError(Exception):
    """A frame that is too long, or no message."""


def frame(message: RunnerMessage) -> bytes:
    """Return a message's frame. Raises `FrameError` for one that is too long or no UTF-8."""
    try:
        text = _encoder.encode(message)
    except UnicodeEncodeError as error:
        raise FrameError(f"text that cannot be encoded: {error.reason}") from None
    if len(text) > MAX_FRAME_BYTES:
        raise FrameError(f"a message of {len(text)} bytes")
    return len(text).to_bytes(_LENGTH_BYTES, "big") + text


class FrameReader:
    """Bytes to the texts of messages."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the messages that are whole by now. Raises `FrameError`."""
        self._bytes += data
        while len(self._bytes) >= _LENGTH_BYTES:
            length = int.from_bytes(self._bytes[:_LENGTH_BYTES], "big")
            if length > MAX_FRAME_BYTES:
                raise FrameError(f"a message of {length} bytes")
            end = _LENGTH_BYTES + length
            if len(self._bytes) < end:
                return
            message = bytes(self._bytes[_LENGTH_BYTES:end])
            del self._bytes[:end]
            yield message
