"""What a command runs, and what its exit code means."""

import re

from tapui.projection.summary import summary_of
from tapui.wire.errors import CallError
from tapui.wire.subjects import Call
from tapui.wire.turns import StepState

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SEPARATORS = re.compile(r"&&|\|\||[;|\n⏎]")
_WRAPPERS = frozenset({"sudo", "time", "env", "nohup", "exec", "command", "timeout", "xargs"})
_NUMBER = re.compile(r"[\d.]+[smhd]?\Z")
_ANSWERS = frozenset({"grep", "egrep", "fgrep", "rg", "diff", "cmp", "test", "[", "[[", "pgrep"})
_ANSWERING_SUBCOMMANDS = frozenset({"git diff", "git grep"})
_SETTING_UP = frozenset({"cd", "export", "set", "source", "."})
_WORD = re.compile(r"[A-Za-z][\w:.-]*\Z")
_NO_FAILURES: dict[str, StepState] = {
    CallError.DENIED: "denied",
    CallError.CANCELLED: "cancelled",
    CallError.STOPPED: "stopped",
    CallError.TIMEOUT: "timedOut",
}
"""How a call ended that did not fail by itself, by its error code."""


def is_answer(command: str, exit_code: int) -> bool:
    """Return whether the exit code is an answer of the command's last program, no failure."""
    if exit_code != 1:
        return False
    words = _words(_SEPARATORS.split(command)[-1])
    return bool(words) and (
        _name(words[0]) in _ANSWERS or " ".join(words[:2]) in _ANSWERING_SUBCOMMANDS
    )


def outcome(call: Call, command: str | None = None) -> StepState:
    """Return how a call that is over ended. A shell that exited non-zero has failed, unless that is
    an answer. `command` is what it ran, where the call no longer has its arguments."""
    if call.error_code == CallError.DISCONNECTED and call.provider_id is None:
        return "unknown"  # the session's own: it may go on without us
    if call.state != "done":
        rest: StepState = "cancelled" if call.state == "cancelled" else "failed"
        return _NO_FAILURES.get(call.error_code or "", rest)
    if not call.exit_code:
        return "done"
    text = summary_of(call) if command is None else command
    return "done" if is_answer(text, call.exit_code) else "failed"


def has_failed(call: Call) -> bool:
    """Return whether a call has ended, and failed by itself (`outcome`)."""
    if call.state == "done" and not call.exit_code:
        return False  # most are so, and each frame of the tower asks for all
    is_over = call.state in ("done", "failed", "cancelled")
    return is_over and outcome(call) == "failed"


def program(command: str) -> str:
    """Return the first program of a command that does the work, with its subcommand.

    `cd a && CI=1 pnpm test --filter b` is `pnpm test`. Options and paths are no subcommands.
    """
    for part in _SEPARATORS.split(command):
        words = _words(part)
        if words and words[0] not in _SETTING_UP:
            name = _name(words[0])
            if len(words) > 1 and _WORD.match(words[1]) and "." not in words[1]:
                return f"{name} {words[1]}"
            return name
    return ""


def _words(part: str) -> list[str]:
    """Return a simple command's words, without assignments and what runs another command."""
    words = part.split()
    while words and (_ASSIGNMENT.match(words[0]) or words[0] in _WRAPPERS):
        is_timeout = words.pop(0) == "timeout"
        while words and (words[0].startswith("-") or (is_timeout and _NUMBER.match(words[0]))):
            words.pop(0)
    return words


def _name(word: str) -> str:
    return word.rpartition("/")[2].strip("\"'()") or word
