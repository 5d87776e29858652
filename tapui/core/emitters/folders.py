"""Whose emitters are they: those of a folder's file belong to the first of its open sessions.

When that ends the next one has them, with their streams; with the last one they stop. The session
of a tool host has its own process of each provider, `tools/` too, and no emitter and no goal: its
agent is neither prompted nor asked, and its turns are not seen.
"""

from collections.abc import Sequence
from functools import partial

from tapui.core.context import CoreContext
from tapui.core.conversations.connections import Connections
from tapui.core.effects import LeaveEmitters, ReadEmitters
from tapui.core.emitters.emitter import EmitterFolder, LiveEmitter
from tapui.core.emitters.plans import EmitterEntryRead, FolderEmitters
from tapui.core.emitters.registry import Emitters
from tapui.core.emitters.start_requests import NOT_ASKED_HERE
from tapui.core.goals.file_goals import FileGoals
from tapui.core.model import OpenSession, Standing
from tapui.core.runs.runs import Runs
from tapui.core.sessions.sessions import OpenSessions
from tapui.core.streams.streams import Streams, full_name
from tapui.core.trust.grants import Grant, Trustees
from tapui.secret import Secret
from tapui.wire import limits
from tapui.wire.events import FolderProblemsChanged
from tapui.wire.host import SessionLog
from tapui.wire.message import BUILTIN_PROVIDER, UPDATE_MARK
from tapui.wire.tower import Notice

_TOLD = 5
"""Problems of a file that are named in a timeline."""
_LAST_ENDED = "the last session of its folder ended"


class ProjectProviders:
    """Keeps what runs like what the files say."""

    def __init__(
        self, context: CoreContext, *, emitters: Emitters, runs: Runs, trustees: Trustees
    ) -> None:
        self._ids = context.ids
        self._emitters = emitters
        self._runs = runs
        self._trustees = trustees

    def joined(self, folder: EmitterFolder, session: OpenSession) -> None:
        """A session is in a folder from now on: it gets what the file names."""
        there = {one.name for one in self._of(session)}
        for name, entry in folder.providers.items():
            if name not in there:
                self._add(folder, entry, session)

    def left(self, session: OpenSession, reason: str) -> None:
        for provider in self._of(session):
            self._drop(provider, reason)

    def replaced(self, former: OpenSession, current: OpenSession) -> None:
        """A session took another's place, and has its providers, unless it has its own."""
        there = {one.name for one in self._of(current)}
        for provider in self._of(former):
            if provider.name in there:
                self._drop(provider, "the session was replaced")
            else:
                self._runs.replaced(provider, current)

    def take(self, folder: EmitterFolder, wanted: dict[str, EmitterEntryRead]) -> int:
        """Let what a file says hold; return how many are left out, as there are too many."""
        before, folder.providers = folder.providers, wanted
        for session in folder.with_providers:
            for provider in self._of(session):
                entry = wanted.get(provider.name)
                if entry is None:
                    reason = "its folder's file does not have it any more"
                    self._drop(provider, reason)
                elif entry != before.get(provider.name):
                    self._change(provider, entry)
            self.joined(folder, session)
        sessions = folder.with_providers
        return len(wanted) * len(sessions) - sum(len(self._of(one)) for one in sessions)

    def check_again(self, folder: EmitterFolder) -> None:
        """Files that their commands name may have changed."""
        for session in folder.with_providers:
            for provider in self._of(session):
                self._runs.check_again(provider)

    def _of(self, session: OpenSession) -> list[LiveEmitter]:
        return [
            one
            for one in self._emitters.by_id.values()
            if one.is_provider and one.session is session
        ]

    def _add(self, folder: EmitterFolder, entry: EmitterEntryRead, session: OpenSession) -> None:
        if not self._emitters.has_room_for_file(folder):
            return
        provider = self._emitters.add(entry, folder, session, "file")
        provider.token = Secret(self._ids.token("ptk-"))
        self._trustees.add(Grant("project", provider.token, {session.id}))
        if entry.plan.auto_start:
            self._runs.start(provider)

    def _change(self, provider: LiveEmitter, entry: EmitterEntryRead) -> None:
        is_same, provider.entry = provider.plan == entry.plan, entry
        if is_same:
            self._emitters.show(provider)
        elif provider.is_active or (entry.plan.auto_start and provider.state != "stopped"):
            self._runs.restart(provider)
        else:
            provider.plan = entry.plan
            self._emitters.show(provider)

    def _drop(self, provider: LiveEmitter, reason: str) -> None:
        if provider.token is not None:
            self._trustees.revoke(provider.token)
        self._runs.drop(provider, reason)


class EmitterFolders:
    """The folders in use. Nothing is asked of the shell until it can run emitters (`begin`)."""

    def __init__(
        self,
        context: CoreContext,
        *,
        connections: Connections,
        sessions: OpenSessions,
        emitters: Emitters,
        runs: Runs,
        project_providers: ProjectProviders,
        file_goals: FileGoals,
        streams: Streams,
    ) -> None:
        self._out, self._tickets = context.out, context.tickets
        self._connections = connections
        self._sessions = sessions
        self._emitters = emitters
        self._runs = runs
        self._providers = project_providers
        self._goals = file_goals
        self._streams = streams
        self._folders: dict[str, EmitterFolder] = {}
        self._of: dict[str, EmitterFolder] = {}
        """By session id."""
        self.is_on = False
        """Whether the shell can run emitters."""

    def begin(self) -> None:
        if not self.is_on:
            self.is_on = True
            for session in self._sessions.in_order():
                self.wants(session)

    def stop(self) -> None:
        """The gateway ends: everything stops, and nothing starts."""
        self.is_on = False
        for folder in list(self._folders.values()):
            self._close(folder, "the gateway stops", folder.with_providers[0])

    # Sessions

    def wants(self, session: OpenSession) -> None:
        """A session works in a folder from now on: ask what that one's file says."""
        if self.is_on and not session.is_local:
            cwd = session.view.cwd
            ticket = self._tickets.keep(partial(self._read, session, cwd))
            self._out.effects.append(ReadEmitters(ticket, cwd))

    def _read(self, session: OpenSession, cwd: str, found: FolderEmitters) -> None:
        """The file of a session's folder was read, or there is none."""
        if not (self.is_on and session.is_open and session.view.cwd == cwd):
            if found.folder not in self._folders:
                self._out.effects.append(LeaveEmitters(found.folder))
            return
        former = self._of.get(session.id)
        if former is not None and former.path != found.folder:
            self._leave(former, session)
        folder = self._folders.get(found.folder)
        if folder is None:
            folder = self._folders[found.folder] = EmitterFolder(found.folder)
        if session not in folder.like(session):
            folder.like(session).append(session)
            self._of[session.id] = folder
            if folder.problems == list(found.problems):
                self._tell_problems(folder, [session])
        self._take(folder, found)
        if not session.view.unattended:
            for emitter in list(folder.emitters.values()):
                if emitter.why == NOT_ASKED_HERE and not emitter.is_active:
                    self._runs.start(emitter)  # the person can be asked now

    def changed(self, found: FolderEmitters) -> None:
        folder = self._folders.get(found.folder)
        if folder is not None:
            self._take(folder, found)

    def files_changed(self, path: str) -> None:
        folder = self._folders.get(path)
        if folder is None:
            return
        for emitter in list(folder.emitters.values()):
            self._runs.check_again(emitter)
        self._providers.check_again(folder)

    def session_ended(self, session: OpenSession) -> None:
        """A session is not open any more: the next one has its emitters."""
        for emitter in self._emitters.of_agent(session):
            self._runs.drop(emitter, "its session ended")
        folder = self._of.get(session.id)
        if folder is not None:
            self._leave(folder, session)

    def session_replaced(self, former: OpenSession, current: OpenSession) -> None:
        """A session took another's place, and has its emitters, streams and injects."""
        current.prompt_runs += former.prompt_runs
        current.agent_denials = former.agent_denials
        for emitter in self._emitters.of_agent(former):
            self._runs.replaced(emitter, current)
        folder = self._of.pop(former.id, None)
        if folder is None:
            return
        place = folder.sessions.index(former)  # one of a tool host has no successor
        folder.sessions[place] = current
        other = self._of.get(current.id)
        if other is folder:  # it was open beside the former
            at = [index for index, one in enumerate(folder.sessions) if one is current]
            del folder.sessions[at[1]]
        elif other is not None:
            self._leave(other, current)
        self._of[current.id] = folder
        self._providers.replaced(former, current)
        self._providers.joined(folder, current)
        self._goals.replaced(folder, former, current)
        for emitter in folder.emitters.values():
            if emitter.session is former:
                self._runs.replaced(emitter, current)

    def folder_of(self, session: OpenSession) -> EmitterFolder:
        """Return a session's folder; one of its own while that is not known."""
        folder = session.folder or session.view.cwd
        return self._of.get(session.id) or EmitterFolder(folder, [session])

    def known(self, session: OpenSession) -> EmitterFolder | None:
        """Return the folder of a session whose file is in use."""
        return self._of.get(session.id)

    def by_path(self, path: str) -> EmitterFolder | None:
        """Return a folder in use, by its path without links."""
        return self._folders.get(path)

    def owner_of(self, session: OpenSession, stream: str) -> OpenSession:
        """Return the session that has a stream of a session's folder (its full name): itself, or
        the one that the folder's emitters belong to."""
        folder = self._of.get(session.id)
        if folder is None or session.is_apart or stream in self._streams.of(session.id):
            return session
        return folder.sessions[0] if stream in _streams_of(folder) else session

    def streams_of(self, session: OpenSession) -> dict[str, OpenSession]:
        """Return the streams that emitters of its folder have in another session, with that."""
        folder = self._of.get(session.id)
        if folder is None or session.is_apart or folder.sessions[0] is session:
            return {}
        owner = folder.sessions[0]
        return dict.fromkeys(_streams_of(folder) & self._streams.of(owner.id).keys(), owner)

    def _leave(self, folder: EmitterFolder, session: OpenSession) -> None:
        self._providers.left(session, "its session left the folder")
        self._of.pop(session.id, None)
        was_owner = folder.sessions[:1] == [session]
        folder.like(session).remove(session)
        self._goals.left(folder, session)
        if not folder.with_providers:
            self._close(folder, _LAST_ENDED, session)
        elif was_owner and not folder.sessions:
            self._drop_emitters(folder, _LAST_ENDED)
        elif was_owner:
            owner = folder.sessions[0]
            self._streams.hand_over(session.id, owner.id, _streams_of(folder))
            for emitter in list(folder.emitters.values()):
                self._runs.moved(emitter, session, owner)

    def _drop_emitters(self, folder: EmitterFolder, reason: str) -> None:
        for emitter in list(folder.emitters.values()):
            self._runs.drop(emitter, reason)
        folder.emitters.clear()

    def _close(self, folder: EmitterFolder, reason: str, last: OpenSession) -> None:
        """A folder is not in use any more. `last` was a session of it."""
        self._drop_emitters(folder, reason)
        sessions = folder.with_providers
        folder.sessions, folder.apart = [], []
        for session in sessions:
            self._providers.left(session, reason)
            self._of.pop(session.id, None)
            self._goals.left(folder, session)
        if folder.problems:
            self._out.emit(FolderProblemsChanged(last.id, folder.path))
        del self._folders[folder.path]
        self._out.effects.append(LeaveEmitters(folder.path))

    # Files

    def _take(self, folder: EmitterFolder, found: FolderEmitters) -> None:
        """Take over a file's entries: those that are missing end, new ones start."""
        self._goals.take(folder, found)
        if folder.problems != list(found.problems):
            folder.problems = list(found.problems)
            owner = folder.with_providers[0]
            self._out.emit(FolderProblemsChanged(owner.id, folder.path, folder.problems))
            self._tell_problems(folder, folder.with_providers)
        if not found.is_readable:
            for session in folder.with_providers:
                self._providers.joined(folder, session)
            return
        wanted: dict[str, EmitterEntryRead] = {}
        providers: dict[str, EmitterEntryRead] = {}
        for entry in found.entries:
            of_kind = providers if entry.plan.is_provider else wanted
            of_kind.setdefault(entry.plan.name, entry)
        if not folder.sessions:
            wanted.clear()  # they wait for a session that can have them
        for name, emitter in list(folder.emitters.items()):
            if name not in wanted:
                del folder.emitters[name]
                self._runs.drop(emitter, "its folder's file does not have it any more")
        too_many = 0
        for name, entry in wanted.items():
            known = folder.emitters.get(name)
            if known is not None:
                self._change(known, entry)
            elif not self._emitters.has_room_for_file(folder):
                too_many += 1
            else:
                added = self._emitters.add(entry, folder, folder.sessions[0], "file")
                folder.emitters[name] = added
                if entry.plan.auto_start:
                    self._runs.start(added)
        too_many += self._providers.take(folder, providers)
        if too_many:
            self._tell_too_many(folder, too_many)

    def _change(self, emitter: LiveEmitter, entry: EmitterEntryRead) -> None:
        """An entry was read again: one that says something else starts anew, if it is active."""
        before, emitter.entry = emitter.entry, entry
        if entry.plan == before.plan:
            self._emitters.show(emitter)
            return
        emitter.has_own_rules = False
        if emitter.is_active or (entry.plan.auto_start and emitter.state != "stopped"):
            self._runs.restart(emitter)
        else:
            emitter.plan, emitter.rules = entry.plan, entry.plan.rules
            self._emitters.show(emitter)

    def _tell_problems(self, folder: EmitterFolder, sessions: Sequence[OpenSession]) -> None:
        """Name what is wrong in a folder's file in the timelines of sessions."""
        lines = [f"{UPDATE_MARK}: {one}" for one in folder.problems[:_TOLD]]
        if (more := len(folder.problems) - _TOLD) > 0:
            lines.append(f"{UPDATE_MARK}: {more:,} more problems in the file of {folder.path}")
        for session in sessions:
            for line in lines:
                self._out.send(session.host, SessionLog(session.id, line, "warning"))

    def _tell_too_many(self, folder: EmitterFolder, count: int) -> None:
        most = f"one folder has at most {limits.MAX_FOLDER_EMITTERS}"
        if self._emitters.room <= 0:
            most = f"a gateway has at most {limits.MAX_EMITTERS}"
        text = f"{count} emitters of {folder.path} are left out: {most}"
        for tower in self._connections.of_standing(Standing.TOWER):
            self._out.send(tower.id, Notice(text, "warning"))


def _streams_of(folder: EmitterFolder) -> set[str]:
    return {full_name(one.stream, BUILTIN_PROVIDER) for one in folder.emitters.values()}
