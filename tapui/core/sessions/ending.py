"""How sessions end: closed by their host, replaced (`/clear`), or left by their last provider."""

from dataclasses import dataclass

from msgspec.structs import replace

from tapui.core.approvals.approvals import Approvals
from tapui.core.approvals.modes import Modes
from tapui.core.calls.calls import Calls
from tapui.core.calls.native import NativeCalls
from tapui.core.context import CorePart
from tapui.core.conversations.connections import Connections
from tapui.core.deadlines import Due
from tapui.core.emitters.folders import EmitterFolders
from tapui.core.goals.goals import Goals
from tapui.core.hooks.gates import Gates
from tapui.core.hooks.prompts import Prompts
from tapui.core.mcp_servers import McpServers
from tapui.core.model import ConnectedProvider, OpenSession
from tapui.core.proof.person_checks import PersonChecks
from tapui.core.providers.binding import Binding
from tapui.core.providers.identity import Providers
from tapui.core.providers.switches import ToolSwitches
from tapui.core.providers.tools import Claimant, ToolTable, check_conflicts
from tapui.core.sessions.membership import Membership
from tapui.core.sessions.orders import Orders
from tapui.core.sessions.sessions import Announcements, OpenSessions, all_ended
from tapui.core.streams.injects import Injects
from tapui.core.streams.pushes import Budgets
from tapui.core.streams.streams import Streams
from tapui.core.traces import Traces
from tapui.core.trust.grants import Grant, Trustees
from tapui.wire import limits
from tapui.wire.errors import CallError, ErrorCode, WireError
from tapui.wire.events import ProviderMoved, SessionClosed, SessionReplaced
from tapui.wire.provider import SessionLifecycle


@dataclass(eq=False, repr=False)
class Endings(CorePart):
    """Ends sessions."""

    connections: Connections
    sessions: OpenSessions
    announcements: Announcements
    membership: Membership
    providers: Providers
    tools: ToolTable
    binding: Binding
    calls: Calls
    native: NativeCalls
    gates: Gates
    prompts: Prompts
    streams: Streams
    budgets: Budgets
    injects: Injects
    approvals: Approvals
    modes: Modes
    orders: Orders
    trustees: Trustees
    traces: Traces
    emitter_folders: EmitterFolders
    mcp_servers: McpServers
    person_checks: PersonChecks
    tool_switches: ToolSwitches
    goals: Goals

    def close(self, session: OpenSession, reason: str, *, by_itself: bool = False) -> None:
        """Close a session: it is gone at once, its providers have 10 s to clean up."""
        if not session.is_open:
            return
        self.goals.session_ended(session)
        session.is_open = False
        self.sessions.remove(session)
        self.tools.settle(session)
        self.emitter_folders.session_ended(session)
        self.person_checks.session_ended(session)
        self.mcp_servers.sessions_changed()
        for call in [call for call in self.calls.pending.values() if call.session is session]:
            self.calls.cancel(
                call, CallError.DISCONNECTED, f"the session ended: {reason}", "session ended"
            )
        self.native.session_ended(session, reason)
        self.approvals.session_ended(session, "the session ended")
        self.modes.session_ended(session)
        self.orders.session_ended(session, "the session ended")
        self.trustees.session_ended(session.id, self._held_grants())
        self.providers.session_ended(session.id)
        self.injects.session_ended(session)
        session.view = replace(
            session.view,
            state="ended",
            subagents=all_ended(session.view.subagents, "failed"),
            foreground=False,
            providers=[],
            ended_at=self._clock.timestamp(),
            reason=reason,
            by_itself=by_itself,
        )
        self._out.emit(SessionClosed(session.id, session.view))
        self.traces.session_ended(session)
        self.announcements.send()
        self._ask_to_leave(session)

    def _ask_to_leave(self, session: OpenSession) -> None:
        session.leaving = {
            provider: None
            for provider in session.providers.values()
            if not provider.connection.is_builtin
        }
        for provider in list(session.providers.values()):
            if provider not in session.leaving:
                self.membership.leave(provider, session)
                continue
            self._out.send(
                provider.connection.id,
                SessionLifecycle(session.id, "shutdown.pending", limits.SHUTDOWN_MS),
            )
        if session.leaving:
            session.shutdown = self._deadlines.add(
                self._clock.now + limits.SHUTDOWN_MS / 1000, Due.SHUTDOWN, session
            )
        else:
            self.membership.finish(session)

    def left(self, provider: ConnectedProvider, session: OpenSession) -> None:
        """A provider has cleaned up after an ended session, or its time is over."""
        if provider.is_everywhere:
            self.membership.leave(provider, session)
            self.providers.refresh(provider)
        else:
            self.binding.unbind(provider, CallError.DISCONNECTED, "the session ended")

    def shutdown_over(self, session: OpenSession) -> None:
        """The 10 s are over: who has not answered is unbound."""
        for provider in list(session.leaving):
            self.left(provider, session)

    def replace_late(self, former: OpenSession, current: OpenSession) -> None:
        """Let `current`, which has been open beside `former`, take its place.

        The calls of `former` end with it. Providers that are in both stay in `current`.
        """
        for call in [call for call in self.calls.pending.values() if call.session is former]:
            self.calls.cancel(
                call, CallError.DISCONNECTED, "the session was replaced", "session ended"
            )
        for provider in list(former.providers.values()):
            if provider.is_in(current):
                self.membership.leave(provider, former)
                self.streams.provider_joined(former.id, provider.name)  # its lines go along
                self.providers.refresh(provider)
        self._out.emit(SessionReplaced(current.id, current.view, former.id))
        self.sessions.remove(former)
        self.replace(former, current)

    def replace(self, former: OpenSession, current: OpenSession) -> None:
        """Let `current` take the place of `former`: its providers, streams and grants go along."""
        former.is_open = False
        former.is_gone = True
        self.traces.session_ended(former)
        self.tools.settle(former)
        self.sessions.replace(former, current)
        self.trustees.session_replaced(former.id, current.id, self._held_grants())
        self.providers.session_replaced(former.id, current.id)
        self.streams.replace(former.id, current.id)
        current.former_ids = (former.id, *former.former_ids)[: limits.MAX_FORMER_IDS]
        self.budgets.replace_session(former, current)
        self.emitter_folders.session_replaced(former, current)
        self.person_checks.session_ended(former)
        self.tool_switches.replace_session(former, current)
        self.mcp_servers.sessions_changed()
        self.injects.replace_session(former, current)  # what was sent ends in the current one
        self.gates.replace_session(former, current)
        self.prompts.replace_session(former, current)
        self.calls.replace_session(former, current)
        self.native.session_ended(former, "replaced")
        self.approvals.session_ended(former, "the session was replaced")
        self.approvals.session_replaced(former.id, current.id)
        self.modes.session_ended(former)
        self.orders.session_ended(former, "the session was replaced")
        for provider in list(former.providers.values()):
            self._carry_over(provider, former, current)

    def _held_grants(self) -> list[Grant]:
        """Return what connections may bind, and those who may come back."""
        connections = self.connections.by_number.values()
        held = [one.grant for one in connections if one.grant is not None]
        return held + self.providers.departed_grants()

    def _carry_over(
        self, provider: ConnectedProvider, former: OpenSession, current: OpenSession
    ) -> None:
        tools = provider.tools.get(former.id, [])
        try:
            if self.providers.holder([current], provider.name, provider.view.instance):
                raise WireError(
                    ErrorCode.DUPLICATE_INSTANCE,
                    f"another connection is '{provider.label}' in session {current.id}",
                    session_id=current.id,
                )
            check_conflicts(current, Claimant.of(provider), tools)
        except WireError as error:
            self.connections.refuse(provider.connection, error)
            self.budgets.forget_provider(current, provider)
            self.injects.forget_provider(current, provider)
            self.gates.provider_gone(provider, current.id)
            self.prompts.provider_gone(provider, current.id)
            self.left(provider, former)
            return
        provider.sessions.pop(former.id)
        provider.tools.pop(former.id)
        hooks = provider.hooks.pop(former.id, None)
        former.providers.pop(provider.id)
        self.membership.join(provider, current, tools, hooks.copy() if hooks else None)
        if not provider.is_everywhere:
            provider.moved(former.id, current.id)
            provider.view = replace(provider.described(), session_id=current.id)
            self._out.emit(
                ProviderMoved(provider.view, current.id, former.id, "the session was replaced")
            )
