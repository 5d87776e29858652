"""Membership: which provider is in which session, and how it enters and leaves one."""

from dataclasses import dataclass

from tapui.core.approvals.policies import Policies
from tapui.core.context import CorePart
from tapui.core.conversations.connections import Connections
from tapui.core.hooks.gates import Gates
from tapui.core.hooks.matching import HookSet
from tapui.core.hooks.prompts import Prompts
from tapui.core.model import ConnectedProvider, OpenSession
from tapui.core.providers.instances import instances_of
from tapui.core.providers.tools import ToolTable
from tapui.core.sessions.sessions import OpenSessions, no_session
from tapui.core.streams.injects import Injects
from tapui.core.streams.pushes import Budgets
from tapui.core.streams.streams import Streams
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.host import HostSessionClosed
from tapui.wire.message import Tool

READ_ONLY_BUILTINS = frozenset(
    {
        "tap_list_streams",
        "tap_stream_history",
        "tap_get_session_state",
        "tap_list_emitters",
        "tap_list_goals",
        "tap_verify_goal_output",
        "tap_audit_claims",
        "tap_query_records",
    }
)


@dataclass(eq=False, repr=False)
class Membership(CorePart):
    """Puts providers into sessions, with their tools and hooks, and takes them out."""

    connections: Connections
    sessions: OpenSessions
    tools: ToolTable
    gates: Gates
    prompts: Prompts
    streams: Streams
    budgets: Budgets
    injects: Injects
    policies: Policies

    def join(
        self,
        provider: ConnectedProvider,
        session: OpenSession,
        tools: list[Tool],
        hooks: HookSet | None = None,
    ) -> None:
        """Put a provider into a session with `tools`, already checked for conflicts.

        Its hooks there are those it declared, or those that it brings from another session. The
        built-in tools are not in one that is apart.
        """
        if session.is_apart and provider.connection.is_builtin:
            return
        former = provider.sessions.get(session.id)
        if former is not None:
            # A session with this id ended before, and the provider is still cleaning up there.
            self.leave(provider, former)
        read_only = READ_ONLY_BUILTINS if provider.connection.is_builtin else frozenset()
        provider.sessions[session.id] = session
        provider.tools[session.id] = tools
        provider.hooks[session.id] = hooks or provider.declared.copy()
        session.providers[provider.id] = provider
        self.streams.provider_joined(session.id, provider.name)
        self.policies.hooks_changed(session)
        self.tools.put(session, provider, tools, read_only)
        self.sessions.refresh_providers(session)

    def leave(self, provider: ConnectedProvider, session: OpenSession) -> None:
        """Take a provider out of a session, its tools with it."""
        provider.sessions.pop(session.id, None)
        provider.tools.pop(session.id, None)
        self.gates.provider_gone(provider, session.id)
        self.prompts.provider_gone(provider, session.id)
        provider.hooks.pop(session.id, None)
        session.providers.pop(provider.id, None)
        self.policies.hooks_changed(session)
        if session.is_open and not instances_of(session, provider.name):
            self.streams.provider_left(session.id, provider.name)
        self.tools.remove(session, provider)
        self.budgets.forget_provider(session, provider)
        self.injects.forget_provider(session, provider)
        self.sessions.refresh_providers(session)
        session.leaving.pop(provider, None)
        if not session.is_open and not session.leaving:
            self.finish(session)

    def finish(self, session: OpenSession) -> None:
        """An ended session has no provider left: forget it and tell its host."""
        if session.is_gone:
            return
        session.is_gone = True
        self._deadlines.cancel(session.shutdown)
        session.shutdown = None
        self.sessions.forget(session)
        if session.id not in self.sessions.open:
            self.streams.drop(session.id)
        host = self.connections.by_number.get(session.host)
        if host is not None and host.is_open:
            self._out.send(host.id, HostSessionClosed(session.id))

    def named(self, provider: ConnectedProvider, session_id: str) -> OpenSession | None:
        """Return the session of a provider's that an id in its message names, or None.

        The id of a session that it was moved from, or that was replaced, names the one it is in.
        """
        if session_id not in provider.sessions and session_id in provider.former_ids:
            return next(iter(provider.sessions.values()), None)
        return provider.sessions.get(session_id) or provider.sessions.get(
            self.sessions.aliases.get(session_id, "")
        )

    def session_of(
        self,
        provider: ConnectedProvider,
        session_id: str | None,
        what: str,
        *,
        may_be_ending: bool = False,
    ) -> OpenSession:
        """Return the open session that a provider's message is about, among its own.

        With `may_be_ending` also one that the provider cleans up after, unless another session has
        its id by now. Raises `WireError` (`INVALID_SESSION`).
        """
        if session_id is None:
            if provider.is_everywhere:
                raise WireError(
                    ErrorCode.INVALID_SESSION, f"a {what} of a provider of all sessions names one"
                )
            session = next(iter(provider.sessions.values()), None)
        else:
            session = self.named(provider, session_id)
        if session is None or not (
            session.is_open or (may_be_ending and session.id not in self.sessions.open)
        ):
            raise no_session(session_id or provider.view.session_id or "")
        return session

    def sessions_of(
        self, provider: ConnectedProvider, session_id: str | None, what: str
    ) -> list[OpenSession]:
        """Return the open sessions that an update is about: the one named, or all its own."""
        if provider.is_everywhere and session_id is None:
            return [session for session in provider.sessions.values() if session.is_open]
        return [self.session_of(provider, session_id, what)]
