"""What the person has written into a folder's file: changes of its emitters, and emitters that the
agent has started. What runs goes on, and nothing is asked again."""

from dataclasses import dataclass

from msgspec.structs import replace

from tapui.core.context import CoreContext
from tapui.core.effects import SaveEmitter
from tapui.core.emitters.folders import EmitterFolders
from tapui.core.emitters.given import EmitterEntryRead, EmitterPlan, SavedEmitter
from tapui.core.emitters.live import EmitterFolder, LiveEmitter
from tapui.core.emitters.registry import Emitters
from tapui.core.emitters.running import Running
from tapui.core.hooks.matching import Matcher
from tapui.core.model import Connection
from tapui.core.streams.streams import Streams, compile_filter, full_name
from tapui.wire import limits
from tapui.wire.emitters import EmitterKeep, EmitterKept
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.message import BUILTIN_PROVIDER


@dataclass(frozen=True, slots=True)
class KeepWanted:
    """A tower waits until an emitter is in its file."""

    asker: Connection
    request_id: str
    emitter: LiveEmitter


class Keeping:
    """The order `emitter.keep`, and what becomes of it."""

    def __init__(
        self,
        context: CoreContext,
        *,
        emitters: Emitters,
        folders: EmitterFolders,
        running: Running,
        streams: Streams,
        matcher: Matcher,
    ) -> None:
        self._out, self._tickets = context.out, context.tickets
        self._emitters = emitters
        self._folders = folders
        self._running = running
        self._streams = streams
        self._matcher = matcher

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
            ticket=0,
            folder=folder.path,
            entry=emitter.entry,
            is_new=is_new,
            rules=tuple(message.rules) if message.rules is not None else rules,
            auto_start=message.auto_start,
            every=message.every,
            injector=message.injector,
            delivery=message.delivery,
        )
        self._tickets.save_emitter(effect, KeepWanted(tower, message.id, emitter))

    def _check_interval(self, emitter: LiveEmitter, every: int) -> None:
        if emitter.plan.kind != "timed":
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

    def saved(self, wanted: KeepWanted, saved: SavedEmitter) -> None:
        """An emitter was written, or was not."""
        found = saved.found
        if found is not None:
            folder = self._folders.by_path(found.folder)
            if folder is not None:
                for entry in found.entries:
                    if entry.plan.name in saved.own and entry.plan.kind != "provider":
                        self._adopt(folder, entry, wanted.emitter)
                self._folders.changed(found)
        if wanted.asker.is_open:
            answer = EmitterKept(wanted.request_id, saved.path, saved.fault, saved.note)
            self._out.send(wanted.asker.id, answer)

    def _adopt(self, folder: EmitterFolder, entry: EmitterEntryRead, kept: LiveEmitter) -> None:
        """Let an entry of the file hold for an emitter that is there, and goes on."""
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
            self._running.set_filter(emitter, entry.plan.rules)
        emitter.has_own_rules = False
        self._emitters.show(emitter)

    def _take_over(self, folder: EmitterFolder, emitter: LiveEmitter) -> None:
        """An emitter of the agent's is one of the file now, and belongs to whom these do."""
        if self._emitters.by_id.get(emitter.id) is not emitter:
            return  # its session has ended meanwhile
        emitter.source, emitter.folder = "file", folder
        folder.emitters[emitter.name] = emitter
        former, owner = emitter.session, folder.sessions[0]
        if former is not owner:
            stream = full_name(emitter.plan.stream, BUILTIN_PROVIDER)
            self._streams.hand_over(former.id, owner.id, {stream})
            self._running.moved(emitter, former, owner)


def _fixed(plan: EmitterPlan) -> EmitterPlan:
    """Return a plan without what can change while it runs. `cwd` is one folder in two spellings
    where the agent has named it."""
    return replace(
        plan, rules=(), auto_start=True, every=None, injector="unset", delivery="surface", cwd=""
    )


def _refused(emitter: LiveEmitter, why: str) -> WireError:
    text = f"emitter '{emitter.name}' {why}"
    return WireError(ErrorCode.INVALID_JSON, text, session_id=emitter.session.id)
