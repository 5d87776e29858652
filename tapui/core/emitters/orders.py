"""What the person orders of emitters (`tapui/wire/README.md`), and how their file follows.

What an order to keep writes into a folder's file lets all that runs go on, and asks nothing again.
"""

from functools import partial

import msgspec
from msgspec.structs import replace

from tapui.core.context import CoreContext
from tapui.core.effects import SaveEmitter, TryFilter
from tapui.core.emitters.emitter import EmitterFolder, LiveEmitter
from tapui.core.emitters.folders import EmitterFolders
from tapui.core.emitters.plans import EmitterEntryRead, EmitterPlan, SavedEmitter, Schedule
from tapui.core.emitters.registry import Emitters
from tapui.core.hooks.matching import Matcher
from tapui.core.model import Connection
from tapui.core.runs.lines import SYSTEM
from tapui.core.runs.reports import RulesTried
from tapui.core.runs.runs import Runs
from tapui.core.streams.streams import Streams, compile_filter, full_name
from tapui.wire import limits
from tapui.wire.emitters import (
    EmitterFilter,
    EmitterKeep,
    EmitterKept,
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
        folders: EmitterFolders,
        runs: Runs,
        streams: Streams,
        matcher: Matcher,
    ) -> None:
        self._out, self._tickets = context.out, context.tickets
        self._emitters = emitters
        self._folders = folders
        self._runs = runs
        self._streams = streams
        self._matcher = matcher

    def start(self, tower: Connection, message: EmitterStart) -> None:  # noqa: ARG002
        emitter = self._emitters.find(message.emitter_id)
        if emitter.is_active:
            raise _refused(emitter, "is active already")
        emitter.folder.asked.clear()
        self._runs.start(emitter)

    def stop(self, tower: Connection, message: EmitterStop) -> None:  # noqa: ARG002
        """Stop an emitter; one that is at rest is left alone."""
        emitter = self._emitters.find(message.emitter_id)
        if emitter.is_active:
            self._runs.stop(emitter)

    def pause(self, tower: Connection, message: EmitterPause) -> None:  # noqa: ARG002
        emitter = self._emitters.find(message.emitter_id)
        if not emitter.is_active or emitter.state in ("asking", "stopping"):
            raise _refused(emitter, f"cannot be paused: it is {_IN_WORDS[emitter.state]}")
        if emitter.state != "paused":
            self._runs.pause(emitter)

    def resume(self, tower: Connection, message: EmitterResume) -> None:  # noqa: ARG002
        """Go on with an emitter that is paused, or pauses."""
        emitter = self._emitters.find(message.emitter_id)
        if emitter.state != "paused" and emitter.aim != "pause":
            raise _refused(emitter, "is not paused")
        self._runs.resume(emitter)

    def run(self, tower: Connection, message: EmitterRun) -> None:  # noqa: ARG002
        emitter = self._emitters.find(message.emitter_id)
        if not emitter.is_active:
            emitter.folder.asked.clear()
            self._runs.start(emitter, is_due=True)
        elif emitter.state in ("waiting", "paused"):
            self._runs.run_now(emitter)
        else:
            raise _refused(emitter, f"is {_IN_WORDS[emitter.state]}")

    def filter(self, tower: Connection, message: EmitterFilter) -> None:  # noqa: ARG002
        emitter = self._emitters.find(message.emitter_id)
        compile_filter(message.rules, self._matcher)
        if emitter.is_prompt:
            raise _refused(emitter, "sends a prompt: there is nothing to filter")
        self._runs.set_filter(emitter, tuple(message.rules))

    def try_filter(self, tower: Connection, message: EmitterTry) -> None:
        """Say what rules would make of the lines that an emitter's stream has."""
        emitter = self._emitters.find(message.emitter_id)
        compile_filter(message.rules, self._matcher)
        name = full_name(emitter.stream, BUILTIN_PROVIDER)
        lines = [
            line
            for line in self._streams.read(emitter.session.id, name, limits.STREAM_LINES)
            if _is_output(line, emitter)
        ]
        seqs, texts = tuple(line.seq for line in lines), tuple(line.event for line in lines)
        ticket = self._tickets.keep(partial(self._tried, tower, message.id, seqs))
        self._out.effects.append(TryFilter(ticket, tuple(message.rules), texts))

    def _tried(
        self, tower: Connection, request_id: str, seqs: tuple[int, ...], tried: RulesTried
    ) -> None:
        if not tower.is_open:
            return
        lines = [
            TriedSeq(seq, one.outcome, one.rule, one.is_undecided)
            for seq, one in zip(seqs, tried.lines, strict=False)
        ]
        self._out.send(tower.id, EmitterTried(request_id, lines, tried.error))

    # Keeping

    def keep(self, tower: Connection, message: EmitterKeep) -> None:
        """Have an emitter written into its folder's file. Raises `WireError`."""
        emitter = self._emitters.find(message.emitter_id)
        if emitter.is_provider:
            raise _refused(emitter, "is a provider, which is changed in its file")
        if message.rules:
            compile_filter(message.rules, self._matcher)
            if emitter.is_prompt:
                raise _refused(emitter, "sends a prompt: there is nothing to filter")
        if message.every is not None:
            self._check_interval(emitter, message.every)
        is_new = emitter.source == "tool"
        folder = emitter.folder if not is_new else self._folder_of(emitter)
        rules = emitter.rules if is_new or emitter.has_own_rules else None
        effect = SaveEmitter(
            ticket=self._tickets.keep(partial(self._saved, tower, message.id, emitter)),
            folder=folder.path,
            entry=emitter.entry,
            is_new=is_new,
            rules=tuple(message.rules) if message.rules is not None else rules,
            auto_start=message.auto_start,
            every=message.every,
            injector=message.injector,
            delivery=message.delivery,
        )
        self._out.effects.append(effect)

    def _check_interval(self, emitter: LiveEmitter, every: int) -> None:
        if emitter.plan.runs != "timed" or emitter.plan.cron:
            raise _refused(emitter, "does not run at intervals")
        if not 0 < every <= limits.MAX_INTERVAL:
            raise _refused(emitter, f"runs every 1 to {limits.MAX_INTERVAL:,} seconds")

    def _folder_of(self, emitter: LiveEmitter) -> EmitterFolder:
        """Return the folder whose file an emitter of the agent's goes into."""
        folder = self._folders.known(emitter.session)
        if folder is None:
            raise _refused(emitter, "belongs to a session without a folder")
        if emitter.name in folder.emitters:
            raise _refused(emitter, "has the name of one that is in the folder's file")
        return folder

    def _saved(
        self, asker: Connection, request_id: str, emitter: LiveEmitter, saved: SavedEmitter
    ) -> None:
        found = saved.found
        if found is not None:
            folder = self._folders.by_path(found.folder)
            if folder is not None:
                for entry in found.entries:
                    if entry.plan.name in saved.own and not entry.plan.is_provider:
                        self._adopt(folder, entry, emitter)
                self._folders.changed(found)
        if asker.is_open:
            answer = EmitterKept(request_id, saved.path, saved.fault, saved.note)
            self._out.send(asker.id, answer)

    def _adopt(self, folder: EmitterFolder, entry: EmitterEntryRead, kept: LiveEmitter) -> None:
        """Apply a saved entry to a running emitter without restarting it."""
        name = entry.plan.name
        if kept.name == name and kept.source == "tool" and name not in folder.emitters:
            self._take_over(folder, kept)
        emitter = folder.emitters.get(name)
        if emitter is None or _fixed(emitter.entry.plan) != _fixed(entry.plan):
            return  # it is another one by now
        if emitter.plan == emitter.entry.plan:
            emitter.plan = entry.plan
        emitter.entry = entry
        if emitter.rules != entry.plan.rules:
            self._runs.set_filter(emitter, entry.plan.rules)
        emitter.has_own_rules = False
        self._emitters.show(emitter)

    def _take_over(self, folder: EmitterFolder, emitter: LiveEmitter) -> None:
        """An emitter of the agent's is one of the file now, and belongs to whom these do."""
        if self._emitters.by_id.get(emitter.id) is not emitter or not folder.sessions:
            return  # its session has ended meanwhile, or left the folder
        emitter.source, emitter.folder = "file", folder
        folder.emitters[emitter.name] = emitter
        former, owner = emitter.session, folder.sessions[0]
        if former is not owner:
            stream = full_name(emitter.stream, BUILTIN_PROVIDER)
            self._streams.hand_over(former.id, owner.id, {stream})
            self._runs.moved(emitter, former, owner)


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


def _fixed(plan: EmitterPlan) -> EmitterPlan:
    """Return a plan without what can change while it runs. `cwd` is one folder in two spellings
    where the agent has named it."""
    schedule = plan.schedule and Schedule(plan.schedule.kind)
    return replace(
        plan,
        rules=(),
        auto_start=True,
        schedule=schedule,
        injector="unset",
        delivery="surface",
        cwd="",
    )
