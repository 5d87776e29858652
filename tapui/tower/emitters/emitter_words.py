"""Emitters in words: when they run, how the last run went, whose they are. Nothing is made safe."""

import shlex
from pathlib import PurePath

from tapui import times
from tapui.tower.app.view import View
from tapui.tower.wording.marks import Mark
from tapui.wire.emitters import Emitter
from tapui.wire.subjects import Span

_STAYS = frozenset({"configured", "stopped", "exited", "completed", "error"})


def is_active(emitter: Emitter) -> bool:
    """Return whether it was started, and has not come to an end."""
    return emitter.state not in _STAYS


def text_of(emitter: Emitter) -> str:
    """Return the command, of a provider with its arguments, or the prompt."""
    if emitter.kind == "provider":
        return shlex.join((emitter.command or "", *emitter.args))
    return emitter.command if emitter.command is not None else emitter.prompt or ""


def schedule_of(emitter: Emitter) -> str:
    """Return when it runs: `every 5m`, `cron 0 9 * * *`, `continuous`, `when idle`, `once`,
    `in 10m`; a `provider` runs with its session."""
    match emitter.kind:
        case "timed" if emitter.cron:
            return f"cron {emitter.cron}"
        case "timed":
            return f"every {interval(emitter.every or 1)}"
        case "idle":
            return "when idle"
        case "oneTime":
            return f"in {interval(emitter.every)}" if emitter.every else "once"
        case "continuous" | "provider":
            return emitter.kind


def interval(seconds: int) -> str:
    """Return an interval in the notation of the file: `30s`, `5m`, `2h`."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def next_of(emitter: Emitter, now: float) -> str:
    """Return what is left until the next run; "" where none is due."""
    due = times.epoch(emitter.next_run_at)
    if due is None or emitter.state != "waiting":
        return ""
    return times.lasting(max(due - now, 0.0) + 0.999)


def how_it_ended(emitter: Emitter) -> str:
    """Return how the last run ended; "" for success and while there was none."""
    match emitter.last_status:
        case "failure" if emitter.signal:
            return emitter.signal
        case "failure" if emitter.exit_code:
            return f"exit {emitter.exit_code}"
        case "failure":
            return "failed"
        case None | "success":
            return ""
        case status:
            return status


def last_of(view: View, emitter: Emitter) -> str:
    """Return when the last run was, how it ended and how long it took."""
    ago = times.lasting(times.since(emitter.last_run_at, view.now))
    if not ago:
        return ""
    if emitter.state in ("running", "stopping"):
        return f"for {ago}"
    run = view.emitter_log.last(emitter.id)
    took = f"took {times.span(run.duration / 1000)}" if run is not None else ""
    failed = f"{emitter.failures} times" if emitter.failures > 1 else ""
    parts = (how_it_ended(emitter), failed, f"{ago} ago", took)
    return ", ".join(part for part in parts if part)


RUN_MARKS = {
    "ok": Mark("✓", "ended", "muted"),
    "error": Mark("✗", "failed", "error"),
    "denied": Mark("⊘", "stopped", "muted"),
    "cancelled": Mark("⊘", "stopped", "muted"),
}
"""How runs ended, by the status of their spans."""


def run_words(span: Span) -> str:
    """Return when a run began, how it ended and how long it took: `19:41:07, exit 1, took 3s`."""
    code = span.code.replace("_", " ").lower() if span.code else ""
    took = f"took {times.span(span.duration / 1000)}"
    return ", ".join(filter(None, (times.moment(span.started_at), code, took)))


def whose(view: View, emitter: Emitter) -> str:
    """Return whose it is: the folder of the file, or the session whose agent started it."""
    if emitter.source == "tool":
        return f"agent of {view.session_name(emitter.session_id)}"
    folder = PurePath(emitter.folder).name or emitter.folder
    return f"{folder}, the model's" if emitter.ownership == "modelOwned" else folder


def is_prompt(emitter: Emitter) -> bool:
    """Return whether it sends a prompt: it has no lines."""
    return emitter.prompt is not None


def stream_key(emitter: Emitter) -> tuple[str, str]:
    return emitter.session_id, emitter.stream
