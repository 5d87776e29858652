"""Turns: what a session was asked to do, and the steps that it took.

A turn begins with a prompt and ends when the session is idle again. Times are RFC 3339 in UTC with
microseconds; durations are milliseconds. Text is kept as heads (`limits.MAX_SUMMARY` characters).
"""

from typing import Literal

from tapui.wire.bounds import Path
from tapui.wire.criteria import SessionStanding, TurnProof
from tapui.wire.message import WireStruct

SourceKind = Literal["person", "provider", "autopilot", "agent", "schedule", "host", "unknown"]
"""`host`: the session's own program, such as when a command in the background has ended."""
StepKind = Literal[
    "call", "message", "prompt", "mode", "model", "compaction", "error", "gate", "subagent", "event"
]
StepState = Literal[
    "running",
    "waiting",
    "done",
    "failed",
    "denied",
    "cancelled",
    "unknown",
    "stopped",
    "timedOut",
]
TurnState = Literal["running", "waiting", "done", "failed", "stopped", "unknown"]


class TurnSource(WireStruct):
    """Who asked. `name` is the provider's (`ci-watch`), or what the host says of an agent."""

    kind: SourceKind
    name: str = ""


class FileChange(WireStruct):
    """A file that was changed, with its lines; None where they were not told.

    `is_probable`: a command seems to have changed it; its host did not report it.
    """

    path: Path
    added: int | None = None
    removed: int | None = None
    is_probable: bool = False


class Usage(WireStruct):
    """What models used: tokens in and out, and of those from a cache and into it.

    `cost`, premium `requests` and `credits` are as the host tells them; None: it does not.
    """

    input: int = 0
    output: int = 0
    cost: float | None = None
    requests: float | None = None
    cache_read: int = 0
    cache_write: int = 0
    credits: float | None = None
    calls: int = 0
    """How many answers of models this was."""


class ModelUsage(WireStruct):
    """What one model used. Without a name: several models together, or one that was not named."""

    model: str
    usage: Usage


class Step(WireStruct):
    """One thing that happened in a turn.

    `failed`: the tool failed, or its shell exited non-zero (1 of `grep`, `diff`, `test` and the
    like is an answer: `done`). `denied`: a rule, a provider or the person refused it. `stopped`:
    the person stopped its turn, or its subagent. `waiting`: for the person, or for a provider's
    gate.
    """

    id: str
    """Unique in its session: the turn's number and the step's, `14.3`."""
    kind: StepKind
    state: StepState
    at: str
    duration: float | None = None
    queued: float | None = None
    """How long a call waited for a place with its provider; part of the duration."""
    gated: float | None = None
    """How long providers were asked before it."""
    asked: float | None = None
    """How long it waited for the person; part of the duration of a session's own call."""
    tool: str = ""
    provider: str = ""
    summary: str = ""
    """A call's as `projection.summary` makes it; else the head of the text, or from → to."""
    exit_code: int | None = None
    added: int | None = None
    removed: int | None = None
    error: str = ""
    call_id: str | None = None
    approval_id: str | None = None
    decided_by: str | None = None
    rule: str = ""
    """The person's rule that decided, by its pattern and place."""
    agent: str | None = None
    """The subagent's id, of a step that is a subagent."""
    usage: Usage | None = None
    """A subagent's."""
    calls: int = 0
    """How many calls a subagent made."""
    steps: list["Step"] = []
    """A subagent's own, the newest `limits.SUBAGENT_STEPS`."""


class MoreFiles(WireStruct):
    """Files that a turn changed before those that it lists, and their lines. One of them that is
    changed again is listed, and stays counted here."""

    files: int = 0
    added: int = 0
    removed: int = 0


class TurnHead(WireStruct):
    """A turn without its steps. `usage` and `files` are those of its subagents, too."""

    number: int
    """1, 2, … in its session."""
    session_id: str
    started_at: str
    state: TurnState
    source: TurnSource
    prompt: str = ""
    ended_at: str | None = None
    steps: int = 0
    """How many steps it had, those of subagents included."""
    failed: int = 0
    """How many of them failed."""
    usage: Usage = Usage()
    files: list[FileChange] = []
    """Those that were changed last, at most `limits.TURN_FILES`."""
    more_files: MoreFiles = MoreFiles()
    is_outside: bool = False
    """Calls while the session was idle, such as the person's own: no turn of the agent."""
    is_history: bool = False
    """It happened before this run of the gateway, and was read back."""
    says: str = ""
    """The end of the agent's last message, on one line."""
    proof: TurnProof | None = None
    """What was recorded, of a turn that changed files where a check is known."""
    sent_back: int = 0
    """How often the agent wanted to end it, and was sent back."""
    tries: int = 0
    """How often it may be, once it was."""
    again: Usage = Usage()
    """What it used after it was sent back first; part of `usage`."""
    undone: bool = False
    """The session's program took it back: its agent knows it no longer."""
    denied: int = 0
    """How many of its steps were denied; a call that a gate denied counts once."""
    cancelled: int = 0
    stopped: int = 0
    timed_out: int = 0
    waited: float = 0.0
    """How long it waited for the person, in milliseconds; what waits at once counts once."""
    waits_since: str | None = None
    """Since when it waits for the person, who has not answered yet; not in `waited`."""


class Turn(WireStruct):
    """A turn with its steps, oldest first. `dropped` are the steps that are not listed."""

    head: TurnHead
    steps: list[Step] = []
    dropped: int = 0


class SessionTurns(WireStruct):
    """A session's turns in a snapshot: the newest whole, of the others the heads, oldest first."""

    session_id: str
    heads: list[TurnHead] = []
    current: Turn | None = None
    intent: str = ""
    """What the agent last said that it is doing."""
    intent_at: str | None = None
    models: list[ModelUsage] = []
    """What the session used, by model: since its beginning where its host tells that, else since
    this run began."""
    standing: SessionStanding | None = None
    has_changed: bool = False
    """Whether it changed files that count for a check, as its host's shells showed."""
