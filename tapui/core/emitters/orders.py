"""What the person orders of emitters (`tapui/wire/README.md`)."""

from dataclasses import dataclass

import msgspec

from tapui.core.context import CoreContext
from tapui.core.emitters.given import TriedRules
from tapui.core.emitters.lines import SYSTEM
from tapui.core.emitters.live import LiveEmitter
from tapui.core.emitters.registry import Emitters
from tapui.core.emitters.running import Running
from tapui.core.hooks.matching import Matcher
from tapui.core.model import Connection
from tapui.core.streams.streams import Streams, compile_filter, full_name
from tapui.wire import limits
from tapui.wire.emitters import (
    EmitterFilter,
    EmitterPause,
    EmitterResume,
    EmitterRun,
    EmitterStart,
    EmitterStop,
    EmitterTried,
    EmitterTry,
    TriedSeq,
)
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.message import BUILTIN_PROVIDER, Line


@dataclass(frozen=True, slots=True)
class TrialWanted:
    """A tower waits for what rules make of lines with these numbers."""

    asker: Connection
    request_id: str
    seqs: tuple[int, ...]


class _LineOf(msgspec.Struct):
    """Whose a line is, as its metadata says."""

    emitter: str = ""
    source: str = ""


class EmitterOrders:
    """Handlers of what towers order. Each raises `WireError` to refuse."""

    def __init__(
        self,
        context: CoreContext,
        *,
        emitters: Emitters,
        running: Running,
        streams: Streams,
        matcher: Matcher,
    ) -> None:
        self._out, self._tickets = context.out, context.tickets
        self._emitters = emitters
        self._running = running
        self._streams = streams
        self._matcher = matcher

    def start(self, tower: Connection, message: EmitterStart) -> None:  # noqa: ARG002
        """Start an emitter."""
        emitter = self._emitters.find(message.emitter_id)
        if emitter.is_active:
            raise _refused(emitter, "is active already")
        emitter.folder.asked.clear()
        self._running.start(emitter)

    def stop(self, tower: Connection, message: EmitterStop) -> None:  # noqa: ARG002
        """Stop an emitter; one that is at rest stays as it is."""
        emitter = self._emitters.find(message.emitter_id)
        if emitter.is_active:
            self._running.stop(emitter)

    def pause(self, tower: Connection, message: EmitterPause) -> None:  # noqa: ARG002
        """Pause an emitter."""
        emitter = self._emitters.find(message.emitter_id)
        if not emitter.is_active or emitter.state in ("asking", "stopping"):
            raise _refused(emitter, f"cannot be paused: it is {_IN_WORDS[emitter.state]}")
        if emitter.state != "paused":
            self._running.pause(emitter)

    def resume(self, tower: Connection, message: EmitterResume) -> None:  # noqa: ARG002
        """Go on with an emitter that is paused, or pauses."""
        emitter = self._emitters.find(message.emitter_id)
        if emitter.state != "paused" and emitter.aim != "pause":
            raise _refused(emitter, "is not paused")
        self._running.resume(emitter)

    def run(self, tower: Connection, message: EmitterRun) -> None:  # noqa: ARG002
        """Begin the next run now."""
        emitter = self._emitters.find(message.emitter_id)
        if not emitter.is_active:
            emitter.folder.asked.clear()
            self._running.start(emitter)
        elif emitter.state in ("waiting", "paused"):
            self._running.run_now(emitter)
        else:
            raise _refused(emitter, f"is {_IN_WORDS[emitter.state]}")

    def filter(self, tower: Connection, message: EmitterFilter) -> None:  # noqa: ARG002
        """Filter the lines that follow by other rules."""
        emitter = self._emitters.find(message.emitter_id)
        compile_filter(message.rules, self._matcher)
        if emitter.is_prompt:
            raise _refused(emitter, "sends a prompt: there is nothing to filter")
        self._running.set_filter(emitter, tuple(message.rules))

    def try_filter(self, tower: Connection, message: EmitterTry) -> None:
        """Say what rules would make of the lines that an emitter's stream has."""
        emitter = self._emitters.find(message.emitter_id)
        compile_filter(message.rules, self._matcher)
        name = full_name(emitter.plan.stream, BUILTIN_PROVIDER)
        lines = [
            line
            for line in self._streams.read(emitter.session.id, name, limits.STREAM_LINES)
            if _is_output(line, emitter)
        ]
        wanted = TrialWanted(tower, message.id, tuple(line.seq for line in lines))
        rules, texts = tuple(message.rules), tuple(line.event for line in lines)
        self._tickets.try_filter(rules, texts, wanted)

    def tried(self, wanted: TrialWanted, tried: TriedRules) -> None:
        """The runner has tried rules."""
        if not wanted.asker.is_open:
            return
        lines = [
            TriedSeq(seq, outcome, rule, is_undecided)
            for seq, (outcome, rule, is_undecided) in zip(wanted.seqs, tried.lines, strict=False)
        ]
        self._out.send(wanted.asker.id, EmitterTried(wanted.request_id, lines, tried.error))


_IN_WORDS = {
    "asking": "waiting for your answer",
    "queued": "about to run",
    "running": "running",
    "stopping": "stopping",
    "configured": "not started",
    "stopped": "stopped",
    "exited": "over",
    "completed": "over",
    "error": "over",
}


def _refused(emitter: LiveEmitter, why: str) -> WireError:
    text = f"emitter '{emitter.name}' {why}"
    return WireError(ErrorCode.INVALID_JSON, text, session_id=emitter.session.id)


def _is_output(line: Line, emitter: LiveEmitter) -> bool:
    """Return whether a line is output of an emitter, which its filter saw."""
    if line.metadata is None:
        return False
    try:
        whose = msgspec.json.decode(line.metadata, type=_LineOf)
    except msgspec.MsgspecError:
        return False  # another's line in the same stream
    return whose.emitter == emitter.name and whose.source != SYSTEM
