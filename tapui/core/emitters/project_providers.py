"""Providers of a project: programs that its file names, one process in each session of the folder.

Each gets a token of its own, which is good for that session and dies with it.
"""

from tapui.core.context import CoreContext
from tapui.core.emitters.given import EmitterEntryRead
from tapui.core.emitters.live import EmitterFolder, LiveEmitter
from tapui.core.emitters.registry import Emitters
from tapui.core.emitters.running import Running
from tapui.core.model import OpenSession
from tapui.core.trust.grants import Grant, Trustees
from tapui.secret import Secret


class ProjectProviders:
    """Keeps what runs like what the files say."""

    def __init__(
        self, context: CoreContext, *, emitters: Emitters, running: Running, trustees: Trustees
    ) -> None:
        self._mint = context.mint
        self._emitters = emitters
        self._running = running
        self._trustees = trustees

    def joined(self, folder: EmitterFolder, session: OpenSession) -> None:
        """A session is in a folder from now on: it gets what the file names."""
        there = {one.name for one in self._of(session)}
        for name, entry in folder.providers.items():
            if name not in there:
                self._add(folder, entry, session)

    def left(self, session: OpenSession, reason: str) -> None:
        """A session is in its folder no longer."""
        for provider in self._of(session):
            self._drop(provider, reason)

    def replaced(self, former: OpenSession, current: OpenSession) -> None:
        """A session took another's place, and has its providers, unless it has its own."""
        there = {one.name for one in self._of(current)}
        for provider in self._of(former):
            if provider.name in there:
                self._drop(provider, "the session was replaced")
            else:
                self._running.replaced(provider, current)

    def take(self, folder: EmitterFolder, wanted: dict[str, EmitterEntryRead]) -> int:
        """Let what a file says hold; return how many are left out, as there are too many."""
        before, folder.providers = folder.providers, wanted
        for session in folder.sessions:
            for provider in self._of(session):
                entry = wanted.get(provider.name)
                if entry is None:
                    reason = "its folder's file does not have it any more"
                    self._drop(provider, reason)
                elif entry != before.get(provider.name):
                    self._change(provider, entry)
            self.joined(folder, session)
        there = sum(len(self._of(session)) for session in folder.sessions)
        return len(wanted) * len(folder.sessions) - there

    def check_again(self, folder: EmitterFolder) -> None:
        """Files that their commands name may have changed."""
        for session in folder.sessions:
            for provider in self._of(session):
                self._running.check_again(provider)

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
        provider.token = Secret(self._mint.token("ptk-"))
        self._trustees.add(Grant("project", provider.token, {session.id}))
        if entry.plan.auto_start:
            self._running.start(provider)

    def _change(self, provider: LiveEmitter, entry: EmitterEntryRead) -> None:
        is_same, provider.entry = provider.plan == entry.plan, entry
        if is_same:
            self._emitters.show(provider)
        elif provider.is_active or (entry.plan.auto_start and provider.state != "stopped"):
            self._running.restart(provider)
        else:
            provider.plan = entry.plan
            self._emitters.show(provider)

    def _drop(self, provider: LiveEmitter, reason: str) -> None:
        if provider.token is not None:
            self._trustees.revoke(provider.token)
        self._running.drop(provider, reason)
