"""Criteria: what must be so for a goal, a turn or a finding, and how it stands.

Goals, gates of stages, assertions of evals and findings of reviews use these shapes.
"""

from typing import Annotated, Literal

from msgspec import Meta

from tapui.wire import limits
from tapui.wire.bounds import Id, Note, Path
from tapui.wire.message import Level, OptionalRaw, WireStruct

CriterionText = Annotated[str, Meta(max_length=limits.MAX_CRITERION)]
Wanted = Annotated[str, Meta(max_length=limits.MAX_PATTERN)]
"""A text to be found, or a regular expression of the interface's (`limits.MATCH_TIMEOUT`)."""
Texts = Annotated[list[Wanted], Meta(max_length=limits.MAX_CRITERION_TEXTS)]
Count = Annotated[int, Meta(ge=0, le=limits.MAX_SEQ)]
Sha256 = Annotated[str, Meta(max_length=64, pattern=r"^[0-9a-f]{64}\Z")]

VerdictState = Literal["passed", "failed", "stale", "unknown"]
Provenance = Literal["recorded", "observed", "stated"]
"""`recorded`: tapui saw it happen; `observed`: tapui looked; `stated`: an agent, a provider or an
MCP server said it."""
Disposition = Literal["open", "accepted", "rejected", "deferred", "fixed"]
"""What the person decided about a finding. `accepted`: it is right and to be mended; `rejected`: it
is not, and stays so wherever the same is found again."""
VerdictCause = Literal["", "never", "outside", "surface"]
"""What a verdict is due to, as far as the end of a turn depends on it. `never`: nothing of it has
happened yet; `outside`: others changed what it is about; `surface`: what its check does was
changed, or is not known."""


class Demand(WireStruct, tag_field="kind", kw_only=True):
    """Base of what a criterion demands; the tag is its `kind`."""


class Ran(Demand, tag="ran"):
    """A command ran, and its exit code agrees.

    `command` is compared word by word after unwrapping; its tail is free only where it ends in
    ` *`. `after`: since when it counts: the last change below `globs`, the goal's opening, the
    turn's beginning, or a time (RFC 3339). Without `root` it is the session's folder.
    """

    command: CriterionText
    exit_code: int = 0
    root: Path | None = None
    globs: Texts = []
    after: Id = "change"
    min_tests: Count | None = None


class Called(Demand, tag="call"):
    """A recorded call of a tool ended so. `where` are arguments that it had, by name."""

    tool: Id
    ok: bool = True
    where: OptionalRaw = None
    after: Id = "goal"


class JsonValue(WireStruct):
    """A value in a JSON file, by its pointer (RFC 6901)."""

    pointer: Wanted
    equals: OptionalRaw = None
    contains: Wanted | None = None
    matches: Wanted | None = None
    exists: bool | None = None
    type: Literal["object", "array", "string", "number", "boolean", "null"] | None = None


class FileIs(Demand, tag="file"):
    """A file of the session's folder is so when it is looked at."""

    path: Path
    exists: bool = True
    min_bytes: Count | None = None
    max_bytes: Count | None = None
    sha256: Sha256 | None = None
    contains: Texts = []
    not_contains: Texts = []
    matches: Wanted | None = None
    not_matches: Wanted | None = None
    json: JsonValue | None = None
    modified_since: Id | None = None
    """`goal`, `turn`, or a time."""


class StreamHas(Demand, tag="stream"):
    """Lines of a stream are so: of providers, and of emitters that the person allowed."""

    stream: Id
    contains: Wanted | None = None
    not_contains: Wanted | None = None
    matches: Wanted | None = None
    level: Level | None = None
    since: Id | None = None
    """`goal`, `turn`, a time, or a line's number."""
    last: Annotated[int, Meta(ge=1, le=limits.MAX_STREAM_LOOK)] | None = None
    min_count: Count = 1
    max_count: Count | None = None


class PersonSays(Demand, tag="person"):
    """The person said yes to exactly this text."""

    text: Note


AnyDemand = Ran | Called | FileIs | StreamHas | PersonSays


class Criterion(WireStruct):
    """One thing that must be so. Without `check` only the person can say that it is."""

    id: Id
    text: CriterionText
    check: AnyDemand | None = None


class Pointer(WireStruct):
    """Where a fact stands: a file's path, `stream@provider#seq` or `records:KIND/RUN/SEQ`."""

    kind: Literal["command", "call", "file", "stream", "person"]
    uri: Path
    provenance: Provenance
    ts: str | None = None
    sha256: str | None = None
    size: int | None = None
    seq: int | None = None


class Verdict(WireStruct):
    """How a criterion stands, with one sentence of reason. `stale`: it passed, and then something
    that it is about was changed, which the reason names."""

    state: VerdictState
    reason: str = ""
    pointers: list[Pointer] = []
    cause: VerdictCause = ""


class CheckedRun(WireStruct):
    """A run that a line rests on. `tests`: how many passed, in words; "" where it is not known."""

    command: str
    at: str
    exit_code: int | None = None
    tests: str = ""
    by: Literal["agent", "person"] = "agent"
    call: str | None = None


class TurnProof(WireStruct):
    """What was recorded about a turn that changed files, as its end showed it."""

    state: Literal["checked", "failed", "unchecked"]
    text: str
    """`pytest, 212 tests, after the last change`."""
    pointers: list[Pointer] = []
    checked_in: int | None = None
    """The number of the later turn at whose end the same was checked."""
    runs: list[CheckedRun] = []


class SessionStanding(WireStruct):
    """How a session that changed files stands by its newest checks, whenever these ran."""

    proof: TurnProof
    after: str
    """When the newest turn began of which all is in it."""
    turns: int = 0
    """How many turns changed files, those that are kept no longer included."""
    unproven: int = 0
    """How many of them were checked neither at their end nor later."""


class Disposal(WireStruct):
    """What was decided, or proposed, about a finding or a note: by whom, when and why."""

    disposition: Disposition
    by: str
    at: str
    reason: str = ""
