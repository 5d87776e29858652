"""Hello: how a provider binds to its sessions, and becomes who it was before.

Core Profile; Provider Interface v2 "Identity", "Reconnect protocol", "Rebinding".
"""

from collections.abc import Callable

from msgspec.structs import replace

from tapui.core.approvals.approvals import Approvals
from tapui.core.calls.calls import Calls
from tapui.core.context import CoreContext
from tapui.core.conversations.connections import Connections
from tapui.core.conversations.legal import check_version
from tapui.core.conversations.wishes import Allowed, Wishes, check_capabilities
from tapui.core.effects import MakePersistDir, NoteAgent
from tapui.core.hooks.matching import Matcher
from tapui.core.hooks.rules import compile_rules, rule_warnings
from tapui.core.hooks.sections import check_context, section_warnings
from tapui.core.hooks.wanted import HookSet
from tapui.core.model import ConnectedProvider, Connection, OpenSession
from tapui.core.providers.binding import Binding
from tapui.core.providers.conflicts import Claimant, check_conflicts, check_twice
from tapui.core.providers.definitions import kept_definitions
from tapui.core.providers.departed import DepartedProvider
from tapui.core.providers.identity import ALL, Providers, check_name
from tapui.core.sessions.membership import Membership
from tapui.core.sessions.sessions import OpenSessions, no_session
from tapui.core.trust.grants import Grant
from tapui.wire import limits
from tapui.wire.codec import compact, decode_object, optional_object
from tapui.wire.errors import CallError, ErrorCode, WireError
from tapui.wire.events import ProviderConnected
from tapui.wire.host import SESSION_EVENTS
from tapui.wire.message import label_of
from tapui.wire.provider import Hello, HelloAck, Hooks
from tapui.wire.subjects import Provider

_SHOWN_EVENTS = 10
_KEEPS_BINDING = (ErrorCode.INVALID_JSON, ErrorCode.RATE_LIMITED, ErrorCode.PAYLOAD_TOO_LARGE)


class Hellos:
    """The handler of `hello`. It raises `WireError` to refuse."""

    def __init__(
        self,
        context: CoreContext,
        *,
        connections: Connections,
        sessions: OpenSessions,
        membership: Membership,
        providers: Providers,
        binding: Binding,
        calls: Calls,
        matcher: Matcher,
        approvals: Approvals,
        most_tools: int,
        persist_dir: Callable[[str], str],
    ) -> None:
        self._clock, self._out, self._mint = context.clock, context.out, context.mint
        self._connections = connections
        self._sessions = sessions
        self._membership = membership
        self._providers = providers
        self._binding = binding
        self._calls = calls
        self._matcher = matcher
        self._approvals = approvals
        self._most_tools = most_tools
        self._persist_dir = persist_dir

    def hello(self, connection: Connection, message: Hello) -> None:
        """Bind, or bind anew. A refusal with other than a form error unbinds."""
        try:
            self._hello(connection, message)
        except WireError as error:
            provider = connection.provider
            if provider is not None and error.code not in _KEEPS_BINDING:
                self._binding.unbind(provider, CallError.CANCELLED, "its hello was refused")
            raise

    def _hello(self, connection: Connection, message: Hello) -> None:
        if connection.provider is not None:
            self._count_rebind(connection)
        if not connection.is_builtin:
            check_name(message.name, message.instance)
        metadata = optional_object(message.metadata, "metadata")
        if metadata is not None:
            decode_object(metadata, "metadata")
        if message.tools is not None:
            message = replace(message, tools=kept_definitions(message.tools, self._most_tools))
        declared = self._declared(message)
        check_version(message.protocol_version)
        if connection.grant is not None and connection.grant.is_for_tools:
            raise WireError(ErrorCode.UNAUTHORIZED, "this token is for callers of tools alone")
        former = self._providers.returning(message.reconnect_token, message.name, message.instance)
        before = DepartedProvider.of(former) if isinstance(former, ConnectedProvider) else former
        allowed = Allowed.of(connection, message.name, before)
        grant = allowed.grant
        wanted = self._wanted(message, before, grant)
        wishes = Wishes.of(message, declared, before)
        check_capabilities(grant, message, wishes)
        if wanted == ALL and not (grant.trust == "internal" or allowed.is_all):
            self._ask_for_all(connection, message.name)
            raise WireError(
                ErrorCode.UNAUTHORIZED, "binding to all sessions waits for the person's approval"
            )
        sessions = self._sessions_wanted(wanted, grant)
        self._check_identity(connection, message, former, sessions)
        if connection.provider is not None:
            self._binding.unbind(connection.provider, CallError.CANCELLED, "the provider rebinds")
        self._check_conflicts(connection, message, former, sessions, wishes)
        connection.grant = allowed.own
        if allowed.is_all:
            connection.may_bind_all = message.name
        provider = self._take_identity(connection, message, former)
        provider.is_everywhere = wanted == ALL
        provider.had_no_choice = not any(one.is_main for one in self._sessions.open.values())
        provider.offered = wishes.offered
        provider.declared = wishes.declared
        provider.limit = wishes.limit
        provider.subscribed = wishes.subscribed
        provider.former_ids = wishes.former_ids if message.session is None else []
        kept = None if before is None else before.view.metadata
        provider.view = replace(
            provider.view, metadata=kept if metadata is None else compact(metadata)
        )
        provider.last_active = self._clock.now
        connection.name = provider.label
        is_new = provider.id not in self._providers.connected
        self._providers.connected[provider.id] = provider
        if is_new and not connection.is_builtin:
            self._out.emit(ProviderConnected(provider.view, None))
            name = f"provider '{provider.label}'"
            self._out.effects.append(NoteAgent(name, connection=connection.id))
        for session in sessions:
            self._membership.join(
                provider, session, wishes.tools_in(session.id), wishes.hooks_in(session.id)
            )
        self._binding.bound(provider)
        self._acknowledge(provider, wanted, sessions)

    def _wanted(self, message: Hello, before: DepartedProvider | None, grant: Grant) -> str:
        """Return the session to bind, or `"all"`; one that is not named may be the only choice."""
        if message.session is not None:
            return message.session
        if before is not None and (before.is_everywhere or before.sessions):
            return ALL if before.is_everywhere else before.sessions[0]
        if grant.sessions is not None and len(grant.sessions) == 1:
            return next(iter(grant.sessions))
        first = self._sessions.foreground() if grant.trust == "internal" else None
        if first is None:
            raise WireError(ErrorCode.INVALID_JSON, "session: missing")
        return first.id

    def _declared(self, message: Hello) -> HookSet:
        """Check and compile what a hello wants of hooks and context."""
        hooks = message.hooks or Hooks()
        rules = compile_rules(hooks.on_pre_tool_use or [], self._matcher)
        transforms = hooks.transforms or {}
        for section, one in transforms.items():
            if one is not None and one.action != "callback" and one.content is None:
                raise WireError(
                    ErrorCode.INVALID_JSON, f"hooks.transforms.{section}.content: missing"
                )
        check_context(message.context, "context")
        check_context(message.startup_context, "startup_context")
        limit = message.concurrency
        if limit is not None and limit.max is not None and limit.max < 1:
            raise WireError(ErrorCode.INVALID_JSON, "concurrency.max: at least 1")
        return HookSet(
            rules,
            {section: one for section, one in transforms.items() if one is not None},
            message.context or None,
            message.startup_context or None,
        )

    def _count_rebind(self, connection: Connection) -> None:
        now = self._clock.now
        connection.hellos = [when for when in connection.hellos if when > now - 60.0]
        if len(connection.hellos) >= limits.REBINDS_PER_MINUTE:
            raise WireError(
                ErrorCode.RATE_LIMITED, f"more than {limits.REBINDS_PER_MINUTE} hellos a minute"
            )
        connection.hellos.append(now)

    def _ask_for_all(self, connection: Connection, name: str) -> None:
        """Ask the person whether a connection may bind to all sessions under a name."""
        approvals = self._approvals
        asked = [one for one in approvals.of_kind("bindAll") if one.asker is connection]
        for waiting in asked:
            if waiting.subject != name:
                approvals.withdraw(waiting, reason="it asked under another name")
        if not any(waiting.subject == name for waiting in asked):
            approvals.request(
                "bindAll",
                connection,
                name,
                {"name": name, "origin": connection.origin},
                limits.BIND_ALL_TIMEOUT,
                provider=name,
            )

    def _sessions_wanted(self, wanted: str, grant: Grant) -> list[OpenSession]:
        sessions = self._sessions
        if wanted == ALL:
            return [session for session in sessions.in_order() if grant.covers(session.id)]
        session = sessions.get(wanted)
        if session is None or not grant.covers(session.id):
            raise no_session(wanted)
        return [session]

    def _check_identity(
        self,
        connection: Connection,
        message: Hello,
        former: ConnectedProvider | DepartedProvider | None,
        sessions: list[OpenSession],
    ) -> None:
        own = (former, connection.provider)
        holder = self._providers.holder(sessions, message.name, message.instance, own)
        if holder is None:
            return
        label = label_of(message.name, message.instance)
        where = next(session.id for session in sessions if holder.is_in(session))
        raise WireError(
            ErrorCode.DUPLICATE_INSTANCE,
            f"another connection is '{label}' in session {where}; choose another "
            "instance or show its reconnectToken",
        )

    def _check_conflicts(
        self,
        connection: Connection,
        message: Hello,
        former: ConnectedProvider | DepartedProvider | None,
        sessions: list[OpenSession],
        wishes: Wishes,
    ) -> None:
        own = former if isinstance(former, ConnectedProvider) else connection.provider
        claimant = Claimant(message.name, message.instance, own)
        for session in sessions:
            check_conflicts(session, claimant, wishes.tools_in(session.id))
        check_twice(wishes.offered)

    def _take_identity(
        self,
        connection: Connection,
        message: Hello,
        former: ConnectedProvider | DepartedProvider | None,
    ) -> ConnectedProvider:
        known, grant = connection.provider, connection.grant
        assert grant is not None
        if former is not None and former is not known:
            view = replace(former.view, trust=grant.trust, origin=connection.origin)
            revisions = former.revisions
            if isinstance(former, DepartedProvider):
                self._providers.forget(former)
            else:
                # What the former connection was asked will not be answered.
                for call in list(former.calls.values()):
                    self._calls.fail(call, CallError.DISCONNECTED, "the provider connected anew")
                self._binding.unbind(former, CallError.DISCONNECTED, "it connected anew")
                former.reconnect = None
                former.connection.provider = None
                self._providers.connected.pop(former.id, None)
                self._connections.close(former.connection, 1000, "connected anew")
        elif known is not None and (known.name, known.view.instance) == (
            message.name,
            message.instance,
        ):
            return known
        else:
            view, revisions = (
                Provider(
                    id=self._mint.id("p"),
                    name=message.name,
                    trust=grant.trust,
                    state="unbound",
                    tools=[],
                    connected_at=self._clock.timestamp(),
                    instance=message.instance,
                    origin=connection.origin,
                ),
                {},
            )
        if known is not None:
            known.reconnect = None
            self._binding.disconnected(known, "it took another name")
        provider = ConnectedProvider(view, connection, revisions=revisions)
        connection.provider = provider
        return provider

    def _acknowledge(
        self, provider: ConnectedProvider, wanted: str, sessions: list[OpenSession]
    ) -> None:
        connection = provider.connection
        folder = None
        if connection.origin is None and not connection.is_builtin:
            # Authors append a file's name to it, as the interface shows it.
            folder = f"{self._persist_dir(provider.name).rstrip('/')}/"
            self._out.effects.append(MakePersistDir(provider.name))
        self._out.send(
            connection.id,
            HelloAck(
                protocol_version=limits.PROTOCOL_VERSION,
                provider_id=provider.id,
                session_id=ALL if wanted == ALL else sessions[0].id,
                reconnect_token=self._providers.renew(provider),
                persist_dir=folder,
                warnings=[
                    *section_warnings(provider, sessions),
                    *rule_warnings(provider, sessions),
                    *_event_warnings(provider),
                ]
                or None,
            ),
        )
        for session in sessions:
            self._binding.greet(provider, session)


def _event_warnings(provider: ConnectedProvider) -> list[str]:
    """Return what to tell a provider that waits for events which no known host sends."""
    unknown = sorted(provider.subscribed - SESSION_EVENTS)
    if not unknown:
        return []
    shown = ", ".join(repr(name) for name in unknown[:_SHOWN_EVENTS])
    more = f" and {len(unknown) - _SHOWN_EVENTS} more" if len(unknown) > _SHOWN_EVENTS else ""
    return [f"subscribe: sessions are not known to send {shown}{more}; names are exact"]
