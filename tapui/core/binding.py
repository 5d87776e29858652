"""Binding providers to sessions: hello, leaving, moves, and what ends a session."""

from msgspec.structs import replace

from tapui.core.builtin_side import answer_mode
from tapui.core.connection import Standing
from tapui.core.deadlines import Due
from tapui.core.hooks import HookSet, reindex
from tapui.core.instances import instances_of
from tapui.core.providers import ALL, ConnectedProvider
from tapui.core.registers import Registers
from tapui.core.sessions import OpenSession
from tapui.core.tools import Claimant, check_conflicts
from tapui.wire import limits
from tapui.wire.errors import CallError, WireError
from tapui.wire.events import (
    CallFinished,
    ProviderBound,
    ProviderDisconnected,
    ProviderMoved,
    ProviderUnbound,
    SessionClosed,
)
from tapui.wire.host import SessionClosed as HostSessionClosed
from tapui.wire.message import Tool
from tapui.wire.provider import SessionLifecycle

READ_ONLY_BUILTINS = frozenset({"tap_list_streams", "tap_stream_history", "tap_get_session_state"})


class Binding:
    """Who is in which session."""

    def __init__(self, registers: Registers) -> None:
        self._r = registers

    def join(
        self,
        provider: ConnectedProvider,
        session: OpenSession,
        tools: list[Tool],
        hooks: HookSet | None = None,
    ) -> None:
        """Put a provider into a session with `tools`, already checked for conflicts.

        Its hooks there are those it declared, or those that it brings from another session.
        """
        former = provider.sessions.get(session.id)
        if former is not None:
            # One of the same id has ended: who enters the new one is done with it.
            self.leave(provider, former)
        read_only = READ_ONLY_BUILTINS if provider.connection.is_builtin else frozenset()
        provider.sessions[session.id] = session
        provider.tools[session.id] = tools
        provider.hooks[session.id] = hooks or provider.declared.copy()
        session.providers[provider.id] = provider
        reindex(session)
        self._r.tools.put(session, provider, tools, read_only)
        self._r.sessions.refresh_providers(session)

    def leave(self, provider: ConnectedProvider, session: OpenSession) -> None:
        """Take a provider out of a session, its tools with it."""
        provider.sessions.pop(session.id, None)
        provider.tools.pop(session.id, None)
        self._r.gates.provider_gone(provider, session.id)
        self._r.prompts.provider_gone(provider, session.id)
        provider.hooks.pop(session.id, None)
        session.providers.pop(provider.id, None)
        reindex(session)
        if not instances_of(session, provider.name):
            self._r.streams.drop_filters(session.id, provider.name)
        self._r.tools.remove(session, provider)
        self._r.budgets.forget_provider(session, provider)
        self._r.sessions.refresh_providers(session)
        session.leaving.discard(provider)
        if not session.is_open and not session.leaving:
            self._session_gone(session)

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
            self._r.out.emit(ProviderBound(provider.view, session_id))

    def greet(self, provider: ConnectedProvider, session: OpenSession) -> None:
        """Tell a provider that a session is there, and that it is idle if it is."""
        out = self._r.out
        out.send(provider.connection.id, SessionLifecycle(session.id, "started"))
        if not session.is_busy:
            out.send(provider.connection.id, SessionLifecycle(session.id, "idle"))

    def unbind(self, provider: ConnectedProvider, code: CallError, reason: str) -> None:
        """Take a provider out of all its sessions; it stays connected."""
        former = provider.view.session_id
        for call in list(provider.calls.values()):
            self._r.calls.cancel(call, code, reason, "unbound")
        for session in list(provider.sessions.values()):
            self.leave(provider, session)
        provider.is_everywhere = False
        if provider.view.state != "bound":
            return
        if provider.connection.is_open:
            provider.connection.standing = Standing.UNBOUND
        provider.view = replace(
            provider.view, state="unbound", session_id=None, tools=[], reason=reason
        )
        self._r.out.emit(ProviderUnbound(provider.view, None if former == ALL else former))

    def disconnected(self, provider: ConnectedProvider, reason: str) -> None:
        """A provider's connection is gone: its calls fail, its tools go, its name is free."""
        former = provider.view.session_id
        self._r.providers.depart(provider)
        text = f"provider '{provider.label}' disconnected"
        for call in list(provider.calls.values()):
            self._r.calls.fail(call, CallError.DISCONNECTED, text)
        for session in list(provider.sessions.values()):
            self.leave(provider, session)
        self._r.providers.connected.pop(provider.id, None)
        provider.view = replace(
            provider.view, state="disconnected", session_id=None, tools=[], reason=reason
        )
        self._r.out.emit(ProviderDisconnected(provider.view, None if former == ALL else former))

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
                self._r.calls.cancel(
                    call, CallError.CANCELLED, "the provider moved to another session", "moved"
                )
        hooks = provider.hooks[source.id]
        self.leave(provider, source)
        self.join(provider, target, tools, hooks)
        provider.view = replace(provider.view, session_id=target.id)
        self._r.out.emit(ProviderMoved(provider.view, target.id, source.id, reason))

    def gather(self, session: OpenSession) -> None:
        """Move to the first real session those who sit on `local` for want of another.

        Who may not be there, or would clash with a tool of it, stays where it is.
        """
        others = self._r.sessions.open.values()
        if any(other is not session and not other.is_local for other in others):
            return
        for provider in list(self._r.providers.connected.values()):
            if not provider.had_no_choice or provider.is_everywhere:
                continue
            source = next(iter(provider.sessions.values()), None)
            if source is None or not source.is_local or not provider.grant.covers(session.id):
                continue
            provider.had_no_choice = False
            try:
                self.move(provider, session, "the first session opened", cancel=False)
            except WireError as error:
                self._r.refuse(provider.connection, error)

    # The end of a session

    def close_session(self, session: OpenSession, reason: str) -> None:
        """Close a session: it is gone at once, its providers have 10 s to clean up."""
        r = self._r
        if not session.is_open:
            return
        session.is_open = False
        r.sessions.remove(session)
        r.tools.settle(session)
        for call in [call for call in r.calls.pending.values() if call.session is session]:
            r.calls.cancel(
                call, CallError.DISCONNECTED, f"the session ended: {reason}", "session ended"
            )
        self._end_own_calls(session, reason)
        self._withdraw_approvals(session, "the session ended")
        r.modes.session_ended(session)
        r.trustees.session_ended(session.id)
        session.injects.clear()
        session.view = replace(
            session.view,
            state="ended",
            foreground=False,
            providers=[],
            ended_at=r.out.timestamp(),
            reason=reason,
        )
        r.out.emit(SessionClosed(session.id, session.view))
        r.streams.drop(session.id)
        r.announce_sessions()
        self._ask_to_leave(session)

    def _end_own_calls(self, session: OpenSession, reason: str) -> None:
        """The session's own tools cannot report any more."""
        out = self._r.out
        for call_id, started in session.own_calls.values():
            known = out.state.calls.get(call_id)
            if known is not None:
                ended = replace(
                    known,
                    state="failed",
                    args=None,
                    args_cut=None,
                    error=f"the session ended: {reason}",
                    error_code=CallError.DISCONNECTED,
                    duration=round((out.now - started) * 1000, 3),
                )
                out.emit(CallFinished(session.id, ended))
        session.own_calls.clear()

    def _withdraw_approvals(self, session: OpenSession, reason: str) -> None:
        for waiting in list(self._r.approvals.waiting.values()):
            if waiting.view.session_id == session.id:
                self._r.approvals.withdraw(waiting, reason=reason)
                if waiting.view.kind == "mode":
                    waiting.subject.by = "nobody"
                    answer_mode(waiting.asker, self._r, waiting.subject, reason)
                else:
                    waiting.asker.requests.pop(waiting.subject, None)

    def _ask_to_leave(self, session: OpenSession) -> None:
        session.leaving = {
            provider
            for provider in session.providers.values()
            if not provider.connection.is_builtin
        }
        for provider in list(session.providers.values()):
            if provider not in session.leaving:
                self.leave(provider, session)
                continue
            self._r.out.send(
                provider.connection.id,
                SessionLifecycle(session.id, "shutdown.pending", limits.SHUTDOWN_MS),
            )
        if session.leaving:
            session.shutdown = self._r.deadlines.add(
                self._r.out.now + limits.SHUTDOWN_MS / 1000, Due.SHUTDOWN, session
            )
        else:
            self._session_gone(session)

    def left(self, provider: ConnectedProvider, session: OpenSession) -> None:
        """A provider has cleaned up after an ended session, or its time is over."""
        if provider.is_everywhere:
            self.leave(provider, session)
            self._r.providers.refresh(provider)
        else:
            self.unbind(provider, CallError.DISCONNECTED, "the session ended")

    def shutdown_over(self, session: OpenSession) -> None:
        """The 10 s are over: who has not answered is unbound."""
        for provider in list(session.leaving):
            self.left(provider, session)

    def _session_gone(self, session: OpenSession) -> None:
        if session.is_gone:
            return
        session.is_gone = True
        self._r.deadlines.cancel(session.shutdown)
        session.shutdown = None
        self._r.sessions.forget(session)
        host = self._r.connections.get(session.host)
        if host is not None and host.is_open:
            self._r.out.send(host.id, HostSessionClosed(session.id))

    def replace_session(self, former: OpenSession, current: OpenSession) -> None:
        """Let `current` take the place of `former`: its providers, streams and grants go along."""
        r = self._r
        former.is_open = False
        former.is_gone = True
        r.tools.settle(former)
        r.sessions.replace(former, current)
        r.trustees.session_replaced(former.id, current.id)
        r.providers.session_replaced(former.id, current.id)
        r.streams.replace(former.id, current.id)
        r.budgets.replace_session(former, current)
        r.gates.replace_session(former, current)
        r.prompts.replace_session(former, current)
        for call in r.calls.pending.values():
            if call.session is former:
                call.session = current
        self._end_own_calls(former, "replaced")
        self._withdraw_approvals(former, "the session was replaced")
        r.modes.session_ended(former)
        for provider in list(former.providers.values()):
            self._carry_over(provider, former, current)
        r.streams.keep_filters(current.id, {one.name for one in current.providers.values()})

    def _carry_over(
        self, provider: ConnectedProvider, former: OpenSession, current: OpenSession
    ) -> None:
        tools = provider.tools.get(former.id, [])
        try:
            check_conflicts(current, Claimant.of(provider), tools)
        except WireError as error:
            self._r.refuse(provider.connection, error)
            self._r.budgets.forget_provider(current, provider)
            self._r.gates.provider_gone(provider, current.id)
            self._r.prompts.provider_gone(provider, current.id)
            self.left(provider, former)
            return
        provider.sessions.pop(former.id)
        provider.tools.pop(former.id)
        hooks = provider.hooks.pop(former.id, None)
        former.providers.pop(provider.id)
        self.join(provider, current, tools, hooks)
        if not provider.is_everywhere:
            provider.view = replace(provider.view, session_id=current.id)
            self._r.out.emit(
                ProviderMoved(provider.view, current.id, former.id, "the session was replaced")
            )
