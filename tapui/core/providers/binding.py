"""Binding: providers become bound, unbound, move to another session, or disconnect."""

from dataclasses import dataclass

from msgspec.structs import replace

from tapui.core.calls.calls import Calls
from tapui.core.context import CorePart
from tapui.core.conversations.connections import Connections
from tapui.core.model import ConnectedProvider, OpenSession, Standing
from tapui.core.providers.identity import ALL, Providers
from tapui.core.providers.tools import Claimant, check_conflicts
from tapui.core.sessions.membership import Membership
from tapui.core.sessions.sessions import OpenSessions
from tapui.wire.errors import CallError, WireError
from tapui.wire.events import ProviderBound, ProviderDisconnected, ProviderMoved, ProviderUnbound
from tapui.wire.provider import SessionLifecycle


@dataclass(eq=False, repr=False)
class Binding(CorePart):
    """Binds providers to sessions."""

    connections: Connections
    sessions: OpenSessions
    membership: Membership
    providers: Providers
    calls: Calls

    def bound(self, provider: ConnectedProvider) -> None:
        """Say that a provider is bound, with the sessions that it has joined."""
        session_id = ALL if provider.is_everywhere else next(iter(provider.sessions), None)
        provider.connection.standing = (
            Standing.BUILTIN if provider.connection.is_builtin else Standing.BOUND
        )
        provider.view = replace(
            provider.described(), state="bound", session_id=session_id, reason=None
        )
        if not provider.connection.is_builtin:
            self._out.emit(ProviderBound(provider.view, session_id))

    def greet(self, provider: ConnectedProvider, session: OpenSession) -> None:
        """Tell a provider that a session is there, and that it is idle if it is."""
        out = self._out
        out.send(provider.connection.id, SessionLifecycle(session.id, "started"))
        if not session.is_busy:
            out.send(provider.connection.id, SessionLifecycle(session.id, "idle"))

    def unbind(self, provider: ConnectedProvider, code: CallError, reason: str) -> None:
        """Take a provider out of all its sessions; it stays connected."""
        former = provider.view.session_id
        for call in list(provider.calls.values()):
            self.calls.cancel(call, code, reason, "unbound")
        for session in list(provider.sessions.values()):
            self.membership.leave(provider, session)
        provider.is_everywhere = False
        provider.former_ids = []
        if provider.view.state != "bound":
            return
        if provider.connection.is_open:
            provider.connection.standing = Standing.UNBOUND
        provider.view = replace(
            provider.view, state="unbound", session_id=None, tools=[], reason=reason
        )
        self._out.emit(ProviderUnbound(provider.view, None if former == ALL else former))

    def disconnected(self, provider: ConnectedProvider, reason: str) -> None:
        """A provider's connection is gone: its calls fail, its tools go, its name is free."""
        former = provider.view.session_id
        self.providers.depart(provider)
        text = f"provider '{provider.label}' disconnected"
        for call in list(provider.calls.values()):
            self.calls.fail(call, CallError.DISCONNECTED, text)
        for session in list(provider.sessions.values()):
            self.membership.leave(provider, session)
        self.providers.connected.pop(provider.id, None)
        provider.view = replace(
            provider.view, state="disconnected", session_id=None, tools=[], reason=reason
        )
        self._out.emit(ProviderDisconnected(provider.view, None if former == ALL else former))

    def move(
        self, provider: ConnectedProvider, target: OpenSession, reason: str, *, cancel: bool
    ) -> None:
        """Move a provider bound to one session to another: no shutdown, the same id.

        Raises `WireError` (`TOOL_CONFLICT`) and moves nothing when a name is taken there.
        """
        source = next(iter(provider.sessions.values()))
        tools = provider.tools[source.id]
        check_conflicts(target, Claimant.of(provider), tools)
        if cancel:
            for call in list(provider.calls.values()):
                self.calls.cancel(
                    call, CallError.CANCELLED, "the provider moved to another session", "moved"
                )
        hooks = provider.hooks[source.id]
        self.membership.leave(provider, source)
        self.membership.join(provider, target, tools, hooks.copy())
        provider.moved(source.id, target.id)
        provider.view = replace(provider.described(), session_id=target.id)
        self._out.emit(ProviderMoved(provider.view, target.id, source.id, reason))

    def gather(self, session: OpenSession) -> None:
        """Move to the first real session those on `local` that had no other choice.

        Who may not be there, or would clash with a tool of it, stays where it is.
        """
        others = self.sessions.open.values()
        if any(other is not session and other.is_main for other in others):
            return
        for provider in list(self.providers.connected.values()):
            if not provider.had_no_choice or provider.is_everywhere:
                continue
            source = next(iter(provider.sessions.values()), None)
            if source is None or not source.is_local or not provider.grant.covers(session.id):
                continue
            provider.had_no_choice = False
            try:
                self.move(provider, session, "the first session opened", cancel=False)
            except WireError as error:
                self.connections.refuse(provider.connection, error)
