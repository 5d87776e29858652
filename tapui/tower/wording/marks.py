"""How states and levels look: a glyph and a word, and a tone where there is colour."""

import re
from typing import NamedTuple

from tapui.projection.turns.programs import has_failed
from tapui.wire import subjects
from tapui.wire.emitters import Emitter
from tapui.wire.message import BUILTIN_PROVIDER, Level, Line


class Mark(NamedTuple):
    """A state as the person sees it."""

    glyph: str
    word: str
    tone: str

    @property
    def text(self) -> str:
        return f"{self.glyph} {self.word}"


SESSION: dict[str, Mark] = {
    "idle": Mark("○", "idle", "muted"),
    "busy": Mark("●", "busy", "accent"),
    "ended": Mark("·", "ended", "muted"),
}
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
    "denied": Mark("⊘", "denied", "muted"),
    "cancelled": Mark("⊘", "cancelled", "muted"),
    "unknown": Mark("?", "unknown", "muted"),
}
TURN: dict[str, Mark] = {
    **STEP,
    "stopped": Mark("⊘", "stopped", "muted"),
}
GATE: dict[str, Mark] = {
    "waiting": Mark("?", "gate", "primary"),
    "allow": Mark("✓", "allowed", "success"),
    "context": Mark("✓", "allowed", "success"),
    "deny": Mark("✗", "refused", "error"),
}
APPROVAL: dict[str, Mark] = {
    "waiting": Mark("!", "waiting", "warning"),
    "deciding": Mark("◌", "recording", "muted"),
    "revealed": Mark("!", "code shown", "warning"),
    "approved": Mark("✓", "approved", "success"),
    "denied": Mark("✗", "denied", "error"),
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


def of_call(call: subjects.Call) -> Mark:
    """Return a call's mark; a timeout and a lost provider have marks other than failures.

    A shell that exited non-zero says how; where that is an answer (1 of `grep`), it is no failure.
    """
    if call.state == "failed" and call.error_code in ("TIMEOUT", "DISCONNECTED"):
        return Mark("✗", {"TIMEOUT": "timed out", "DISCONNECTED": "lost"}[call.error_code], "error")
    if call.state == "done" and call.exit_code:
        is_failure = has_failed(call)
        tone = "error" if is_failure else "muted"
        return Mark("✗" if is_failure else "✓", f"exit {call.exit_code}", tone)
    return CALL[call.state]


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


LEVEL: dict[str, Mark] = {
    "keep": Mark("·", "keep", "muted"),
    "surface": Mark("▲", "surface", "strong"),
    "inject": Mark("◆", "inject", "accent"),
}
"""Glyph, word and tone of each level."""

SHOWN_LEVELS: tuple[tuple[str, frozenset[Level]], ...] = (
    ("all levels", frozenset(("keep", "surface", "inject"))),
    ("surface and inject", frozenset(("surface", "inject"))),
    ("inject", frozenset(("inject",))),
)
"""What one key goes through, with its words."""

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


def stands_out(line: Line) -> bool:
    """Return whether a line was sent to the agent or tells of a failure."""
    return line.level == "inject" or tells_failure(line)
