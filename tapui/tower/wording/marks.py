"""How states and levels look: a glyph and a word, and a tone where there is colour."""

import re
from collections.abc import Container, Sequence
from typing import NamedTuple

from tapui.projection.goal_words import SIGNS as CRITERION_SIGNS
from tapui.projection.goal_words import STATUS_WORDS, CriterionMark
from tapui.projection.proof import SIGNS, WORDS, ProofMark, SessionRecord
from tapui.projection.stream_words import LEVEL_WORDS
from tapui.projection.turns.programs import has_failed, outcome
from tapui.projection.words import CONTEXT_FULL, CONTEXT_HIGH, ENDED
from tapui.wire import subjects
from tapui.wire.emitters import Emitter
from tapui.wire.errors import CallError
from tapui.wire.goals import GoalStatus
from tapui.wire.message import BUILTIN_PROVIDER, Level, Line


def context_tone(share: float | None) -> str:
    """Return the tone of how full a context is."""
    if share is None or share < CONTEXT_HIGH:
        return "muted"
    return "error" if share >= CONTEXT_FULL else "warning"


class Mark(NamedTuple):
    """A state as the person sees it."""

    glyph: str
    word: str
    tone: str

    @property
    def text(self) -> str:
        return f"{self.glyph} {self.word}"


Signs = Sequence[tuple[str, str]]
"""Signs with what each says: a legend."""


def signs(*marks: Mark) -> Signs:
    """Return the legend of these marks: a sign that says several things has them all."""
    words: dict[str, list[str]] = {}
    for mark in marks:
        known = words.setdefault(mark.glyph, [])
        if mark.word and mark.word not in known:
            known.append(mark.word)
    return tuple((glyph, ", ".join(known)) for glyph, known in words.items() if known)


SESSION: dict[str, Mark] = {
    "idle": Mark("○", "idle", "muted"),
    "busy": Mark("●", "busy", "accent"),
    "ended": Mark("·", "ended", "muted"),
}
SHELL_RUNS = Mark("◌", "shell runs", "accent")
"""Of a session that waits for a command in the background."""
NO_EVENT = Mark("!", "no event", "warning")
"""Of a turn in which nothing happens any more."""
PROVIDER: dict[str, Mark] = {
    "bound": Mark("●", "bound", "success"),
    "unbound": Mark("○", "no session", "muted"),
    "disconnected": Mark("·", "gone", "muted"),
}
CALL: dict[str, Mark] = {
    "queued": Mark("◌", "queued", "muted"),
    "running": Mark("●", "running", "primary"),
    "cancelling": Mark("◌", "cancelling", "muted"),
    "done": Mark("✓", "done", "success"),
    "failed": Mark("✗", "failed", "error"),
    "cancelled": Mark("⊘", "cancelled", "muted"),
}
STEP: dict[str, Mark] = {
    "running": Mark("●", "running", "accent"),
    "waiting": Mark("!", "asks you", "warning"),
    "done": Mark("✓", "done", "success"),
    "failed": Mark("✗", "failed", "error"),
    "denied": Mark("⊘", ENDED["denied"], "muted"),
    "cancelled": Mark("⊘", ENDED["cancelled"], "muted"),
    "unknown": Mark("?", "unknown", "muted"),
    "stopped": Mark("⊘", ENDED["stopped"], "muted"),
    "timedOut": Mark("⊘", ENDED["timedOut"], "strong"),
}
TURN: dict[str, Mark] = {
    **STEP,
}
_PROOF_TONES: dict[ProofMark, str] = {
    "checked": "success",
    "failed": "error",
    "unchecked": "strong",
    "unknown": "muted",
}
PROOF: dict[ProofMark, Mark] = {
    mark: Mark(SIGNS[mark] or "·", WORDS[mark], tone) for mark, tone in _PROOF_TONES.items()
}
"""Of a turn that changed files: what was recorded at its end, or later."""
_GOAL_GLYPHS: dict[GoalStatus, tuple[str, str]] = {
    "active": ("○", ""),
    "paused": ("‖", "strong"),
    "blocked": ("?", "strong"),
    "achieved": ("✓", "success"),
    "failed": ("✗", "error"),
    "abandoned": ("⊘", "muted"),
}
GOAL: dict[GoalStatus, Mark] = {
    status: Mark(glyph, STATUS_WORDS[status], tone)
    for status, (glyph, tone) in _GOAL_GLYPHS.items()
}
_CRITERION_TONES: dict[CriterionMark, str] = {
    "passed": "success",
    "failed": "error",
    "stale": "strong",
    "unknown": "muted",
    "open": "muted",
}
CRITERION: dict[CriterionMark, Mark] = {
    mark: Mark(CRITERION_SIGNS[mark], "not judged" if mark == "open" else mark, tone)
    for mark, tone in _CRITERION_TONES.items()
}
GATE: dict[str, Mark] = {
    "waiting": Mark("?", "gate", "primary"),
    "allow": Mark("✓", "allowed", "success"),
    "context": Mark("✓", "allowed", "success"),
    "deny": STEP["denied"],
}
APPROVAL: dict[str, Mark] = {
    "waiting": Mark("!", "waiting", "warning"),
    "deciding": Mark("◌", "recording", "muted"),
    "revealed": Mark("!", "code shown", "warning"),
    "approved": Mark("✓", "approved", "success"),
    "denied": STEP["denied"],
    "expired": Mark("-", "timed out", "muted"),
    "withdrawn": Mark("-", "withdrawn", "muted"),
    "failed": Mark("✗", "failed", "error"),
}
EMITTER: dict[str, Mark] = {
    "configured": Mark("○", "not started", "muted"),
    "asking": Mark("!", "asks you", "warning"),
    "queued": Mark("◌", "queued", "muted"),
    "waiting": Mark("○", "waiting", ""),
    "running": Mark("●", "running", "accent"),
    "paused": Mark("‖", "paused", "strong"),
    "stopping": Mark("◌", "stopping", "muted"),
    "stopped": Mark("⊘", "stopped", "muted"),
    "exited": Mark("✓", "exited", "muted"),
    "completed": Mark("✓", "completed", "success"),
    "error": Mark("✗", "failed", "error"),
}
RUN: dict[str, Mark] = {
    "success": Mark("✓", "done", "success"),
    "failure": Mark("✗", "failed", "error"),
    "stopped": Mark("⊘", "stopped", "muted"),
    "lost": Mark("✗", "lost", "error"),
}
"""How runs of emitters ended."""
TRUST_TONE: dict[str, str] = {"internal": "muted", "project": "", "external": "strong"}


def of_call(call: subjects.Call, asked: Container[str] = ()) -> Mark:
    """Return a call's mark; what was denied, stopped or late has marks other than failures. `asked`
    are the calls that wait for the person.

    A shell that exited non-zero says how; where that is an answer (1 of `grep`), it is no failure.
    """
    if call.state == "running" and call.id in asked:
        return STEP["waiting"]
    is_lost = call.state == "failed" and call.error_code == CallError.DISCONNECTED
    if is_lost and call.provider_id is not None:
        return Mark("✗", "lost", "error")
    if call.state in ("failed", "cancelled"):
        return STEP[outcome(call)]
    if call.state == "done" and call.exit_code:
        is_failure = has_failed(call)
        tone = "error" if is_failure else "muted"
        return Mark("✗" if is_failure else "✓", f"exit {call.exit_code}", tone)
    return CALL[call.state]


def of_record(record: SessionRecord) -> Mark:
    """Return the mark of a session that rests and has changed files: `done ✓`."""
    return PROOF[record.mark]._replace(word=record.word)


def of_emitter(emitter: Emitter) -> Mark:
    """Return an emitter's mark; one that failed shows that, also while it goes on."""
    mark = EMITTER[emitter.state]
    if emitter.state == "exited" and emitter.last_status == "failure":
        return Mark("✗", "exited", "error")
    if emitter.state == "waiting" and emitter.failures:
        return Mark("↻", "retries", "error")
    return mark


def is_own_tool(call: subjects.Call) -> bool:
    """Return whether the session's host ran the call by itself, without a provider of ours."""
    return call.provider_id is None and call.provider != BUILTIN_PROVIDER


_LEVEL_LOOKS = {"keep": ("·", "muted"), "surface": ("▲", "strong"), "inject": ("→", "accent")}
LEVEL: dict[str, Mark] = {
    level: Mark(glyph, LEVEL_WORDS[level], tone) for level, (glyph, tone) in _LEVEL_LOOKS.items()
}
"""Glyph, words and tone of each level."""

SHOWN_LEVELS: tuple[frozenset[Level], ...] = (
    frozenset(("keep", "surface", "inject")),
    frozenset(("surface", "inject")),
    frozenset(("inject",)),
)
"""What one key goes through."""

LOOKED_AT = 2000
"""Characters of a line that are looked at for a failure."""
_FAILURE = re.compile(
    r"\b(?:failed|failure|fatal|panic(?:ked)?|traceback|exception|errors?|crashed)\b", re.IGNORECASE
)
_NO_FAILURE = re.compile(
    r"\b(?:0|no|without|zero)\s+(?:\w+\s+)?(?:failed|failures?|errors?|exceptions?)\b"
    r"|\b(?:failed|failures?|errors?)\s*[:=]\s*0\b",
    re.IGNORECASE,
)


def tells_failure(line: Line) -> bool:
    """Return whether a line's text says that something failed.

    A line has no field for it: words such as *failed*, *error* or *fatal* decide, unless they are
    counted with zero (`0 failed`, `no errors`, `errors: 0`).
    """
    text = line.event[:LOOKED_AT]
    lower = text.lower()
    # Most lines have none of the words, which the expression takes far longer to find out.
    if not (
        "fail" in lower
        or "error" in lower
        or "exception" in lower
        or "fatal" in lower
        or "panic" in lower
        or "traceback" in lower
        or "crashed" in lower
    ):
        return False
    if _FAILURE.search(text) is None:
        return False
    return _FAILURE.search(_NO_FAILURE.sub("", text)) is not None


def sign_of(line: Line) -> Mark:
    """Return what stands before a line: that it tells of a failure, unless it was sent to the
    agent, which counts for more and has the tone of a failure then; else its level."""
    mark = LEVEL[line.level]
    if not tells_failure(line):
        return mark
    return mark._replace(tone="error") if line.level == "inject" else CALL["failed"]


def stands_out(line: Line) -> bool:
    """Return whether a line was sent to the agent or tells of a failure."""
    return line.level == "inject" or tells_failure(line)
