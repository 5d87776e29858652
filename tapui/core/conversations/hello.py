"""Auth and hello: a token is shown, or pairing is asked for; then a provider binds to its sessions,
and becomes again what its reconnect token restores.

Core Profile; Provider Interface v2 "Identity", "Reconnect protocol", "Rebinding".
"""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from tapui.core.approvals.approvals import Approvals, Decided
from tapui.core.calls.calls import Calls
from tapui.core.context import CorePart
from tapui.core.conversations.connections import Connections
from tapui.core.conversations.legal import check_version
from tapui.core.effects import Authenticated, MakePersistDir, NoteAgent
from tapui.core.hooks.gates import compile_rules, require_rules, rule_warnings
from tapui.core.hooks.matching import HookSet, Matcher
from tapui.core.hooks.prompts import (
    check_context,
    check_transforms,
    require_transforms,
    section_warnings,
)
from tapui.core.model import ConnectedProvider, Connection, OpenSession, Standing
from tapui.core.providers.binding import Binding
from tapui.core.providers.identity import ALL, DepartedProvider, Providers, check_name
from tapui.core.providers.tools import Claimant, check_conflicts, check_twice, kept_definitions
from tapui.core.sessions.membership import Membership
from tapui.core.sessions.sessions import Announcements, OpenSessions, no_session
from tapui.core.trust.grants import Capability, Grant, Trustees, require
from tapui.core.trust.pairing import Pairings
from tapui.core.trust.places import Places
from tapui.wire import limits
from tapui.wire.codec import compact, decode_object, optional_object
from tapui.wire.errors import CallError, ErrorCode, WireError
from tapui.wire.events import ProviderConnected
from tapui.wire.host import SESSION_EVENTS
from tapui.wire.message import Tool, label_of
from tapui.wire.provider import Auth, Concurrency, Hello, HelloAck, Hooks, Sessions
from tapui.wire.subjects import Provider


@dataclass(eq=False, repr=False)
class Admission(CorePart):
    """The handler of `auth`, and how a connection is admitted. Raises `WireError` to refuse."""

    sessions: OpenSessions
    trustees: Trustees
    pairings: Pairings
    places: Places

    def auth(self, connection: Connection, message: Auth) -> None:
        """Admit a connection whose token is known, or begin to pair."""
        if message.mode == "pair" and message.token is None:
            self.pairings.ask(connection)
            return
        if message.token is None:
            raise WireError(ErrorCode.INVALID_JSON, "token: missing")
        grant = self.trustees.find(message.token, connection.origin)
        if grant is None:
            raise WireError(ErrorCode.AUTH_FAILED, "unknown token")
        why = self.places.objection(grant)
        if why is None:
            self.admit(connection, grant)
        else:
            self.places.refuse(connection, grant, why)

    def admit(self, connection: Connection, grant: Grant) -> None:
        """Let a connection say hello; it gets the sessions that it may bind."""
        self._deadlines.cancel(connection.deadline)
        connection.grant = grant
        connection.standing = Standing.AWAIT_HELLO
        self._out.effects.append(Authenticated(connection.id))
        self._out.send(connection.id, Sessions(self.sessions.visible(grant)))


@dataclass(slots=True, frozen=True)
class HelloRequest:
    """What a hello wants: its own fields and, where they are absent, what `before` had.

    `before` is what its reconnect token restores, or None.
    """

    message: Hello
    declared: HookSet
    offered: list[Tool]
    limit: Concurrency | None
    subscribed: frozenset[str]
    before: DepartedProvider | None

    @classmethod
    def of(
        cls, message: Hello, declared: HookSet, before: DepartedProvider | None
    ) -> "HelloRequest":
        """Return what a hello wants; `declared` are its hooks, compiled."""
        if before is None:
            subscribed = frozenset(message.subscribe or ())
            return cls(
                message, declared, message.tools or [], message.concurrency, subscribed, None
            )
        return cls(
            message,
            _restored(declared, message, before.declared),
            before.offered if message.tools is None else message.tools,
            message.concurrency or before.limit,
            before.subscribed if message.subscribe is None else frozenset(message.subscribe),
            before,
        )

    @property
    def former_ids(self) -> list[str]:
        """Former ids of the session that is restored."""
        return [] if self.before is None else self.before.former_ids

    def tools_in(self, session_id: str) -> list[Tool]:
        """Return the tools for a session: those that it had there, unless the hello lists some."""
        if self.before is None or self.message.tools is not None:
            return self.offered
        return self.before.tools.get(session_id, self.offered)

    def hooks_in(self, session_id: str) -> HookSet:
        """Return the hooks for a session, likewise."""
        had = None if self.before is None else self.before.hooks.get(session_id)
        if had is None:
            return self.declared.copy()
        return _restored(self.declared, self.message, had)

    def all_hooks(self) -> list[HookSet]:
        """Return the hooks for any session."""
        had = () if self.before is None else self.before.hooks
        return [self.declared, *(self.hooks_in(session_id) for session_id in had)]


@dataclass(slots=True, frozen=True)
class Allowed:
    """What a connection may bind: by its `own` grant, or (`is_all`) all sessions, if the person
    granted that to this connection under this name.

    The next connection that shows the same token and continues it keeps what was granted.
    """

    own: Grant
    is_all: bool

    @classmethod
    def of(cls, connection: Connection, name: str, before: DepartedProvider | None) -> "Allowed":
        """Return what it may bind as the provider `name`, which continues `before`."""
        own = connection.grant
        assert own is not None, "who says hello has shown a token"
        is_all = connection.may_bind_all == name
        if before is None or not before.grant.is_of_token(own):
            return cls(own, is_all)
        return cls(own.widened(before.grant.sessions), is_all or before.may_bind_all)

    @property
    def grant(self) -> Grant:
        """All of it."""
        return self.own.widened(None) if self.is_all else self.own


def check_capabilities(grant: Grant, message: Hello, request: HelloRequest) -> None:
    """Check what is wanted, restored or not, against the token that is shown now."""
    check_transforms((message.hooks or Hooks()).transforms or {})
    for wanted in request.all_hooks():
        require_rules(grant, wanted.rules)
        require_transforms(grant, wanted.transforms)
        if wanted.context or wanted.startup:
            require(grant, Capability.CONTEXT)
    if any(not name.startswith("tool.") for name in request.subscribed):
        require(grant, Capability.ALL_EVENTS)


def _restored(declared: HookSet, message: Hello, before: HookSet) -> HookSet:
    """Fill what a hello leaves out with what the provider had before it dropped."""
    hooks = message.hooks or Hooks()
    is_told = before.is_startup_told and message.startup_context is None
    return HookSet(
        before.rules if hooks.on_pre_tool_use is None else declared.rules,
        dict(before.transforms if hooks.transforms is None else declared.transforms),
        before.context if message.context is None else declared.context,
        before.startup if message.startup_context is None else declared.startup,
        dict(before.filters),
        is_told,
    )


_SHOWN_EVENTS = 10
_KEEPS_BINDING = (ErrorCode.INVALID_JSON, ErrorCode.RATE_LIMITED, ErrorCode.PAYLOAD_TOO_LARGE)


@dataclass(eq=False, repr=False)
class Hellos(CorePart):
    """The handler of `hello`. It raises `WireError` to refuse."""

    connections: Connections
    sessions: OpenSessions
    membership: Membership
    providers: Providers
    binding: Binding
    calls: Calls
    matcher: Matcher
    approvals: Approvals
    announcements: Announcements
    most_tools: int
    persist_dir: Callable[[str], str]

    def hello(self, connection: Connection, message: Hello) -> None:
        """Bind, or bind anew. A refusal with other than a form error unbinds."""
        try:
            self._hello(connection, message)
        except WireError as error:
            provider = connection.provider
            if provider is not None and error.code not in _KEEPS_BINDING:
                self.binding.unbind(provider, CallError.CANCELLED, "its hello was refused")
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
            message = replace(message, tools=kept_definitions(message.tools, self.most_tools))
        declared = self._declared(message)
        check_version(message.protocol_version)
        if connection.grant is not None and connection.grant.is_for_tools:
            raise WireError(ErrorCode.UNAUTHORIZED, "this token is for callers of tools alone")
        former = self.providers.returning(message.reconnect_token, message.name, message.instance)
        before = DepartedProvider.of(former) if isinstance(former, ConnectedProvider) else former
        allowed = Allowed.of(connection, message.name, before)
        grant = allowed.grant
        wanted = self._wanted(message, before, grant)
        request = HelloRequest.of(message, declared, before)
        check_capabilities(grant, message, request)
        if wanted == ALL and not (grant.trust == "internal" or allowed.is_all):
            self._ask_for_all(connection, message.name)
            raise WireError(
                ErrorCode.UNAUTHORIZED, "binding to all sessions waits for the person's approval"
            )
        sessions = self._sessions_wanted(wanted, grant)
        self._check_identity(connection, message, former, sessions)
        if connection.provider is not None:
            self.binding.unbind(connection.provider, CallError.CANCELLED, "the provider rebinds")
        self._check_conflicts(connection, message, former, sessions, request)
        connection.grant = allowed.own
        if allowed.is_all:
            connection.may_bind_all = message.name
        provider = self._take_identity(connection, message, former)
        provider.is_everywhere = wanted == ALL
        provider.had_no_choice = not any(one.is_main for one in self.sessions.open.values())
        provider.offered = request.offered
        provider.declared = request.declared
        provider.limit = request.limit
        provider.subscribed = request.subscribed
        provider.former_ids = request.former_ids if message.session is None else []
        kept = None if before is None else before.view.metadata
        provider.view = replace(
            provider.view, metadata=kept if metadata is None else compact(metadata)
        )
        provider.last_active = self._clock.now
        connection.name = provider.label
        is_new = provider.id not in self.providers.connected
        self.providers.connected[provider.id] = provider
        if is_new and not connection.is_builtin:
            self._out.emit(ProviderConnected(provider.view, None))
            name = f"provider '{provider.label}'"
            self._out.effects.append(NoteAgent(name, connection=connection.id))
        for session in sessions:
            self.membership.join(
                provider, session, request.tools_in(session.id), request.hooks_in(session.id)
            )
        self.binding.bound(provider)
        self._acknowledge(provider, wanted, sessions)

    def _wanted(self, message: Hello, before: DepartedProvider | None, grant: Grant) -> str:
        """Return the session to bind, or `"all"`; one that is not named may be the only choice."""
        if message.session is not None:
            return message.session
        if before is not None and (before.is_everywhere or before.sessions):
            return ALL if before.is_everywhere else before.sessions[0]
        if grant.sessions is not None and len(grant.sessions) == 1:
            return next(iter(grant.sessions))
        first = self.sessions.foreground() if grant.trust == "internal" else None
        if first is None:
            raise WireError(ErrorCode.INVALID_JSON, "session: missing")
        return first.id

    def _declared(self, message: Hello) -> HookSet:
        """Check and compile what a hello wants of hooks and context."""
        hooks = message.hooks or Hooks()
        rules = compile_rules(hooks.on_pre_tool_use or [], self.matcher)
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
        approvals = self.approvals
        requests = [one for one in approvals.of_kind("bindAll") if one.asker is connection]
        for waiting in requests:
            if waiting.subject != name:
                approvals.withdraw(waiting, reason="it asked under another name")
        if not any(waiting.subject == name for waiting in requests):
            approvals.request(
                "bindAll",
                connection,
                name,
                {"name": name, "origin": connection.origin},
                limits.BIND_ALL_TIMEOUT,
                on_decided=self._decided_for_all,
                on_expired=lambda _: None,  # it stays bound to what it may
                provider=name,
            )

    def _decided_for_all(self, decided: Decided) -> None:
        """Let one connection bind to all sessions under a name; it gets the list of them."""
        connection = decided.waiting.asker
        if decided.verdict == "approve" and connection.is_open and connection.grant is not None:
            connection.may_bind_all = decided.waiting.subject
            self.announcements.send_to(connection)

    def _sessions_wanted(self, wanted: str, grant: Grant) -> list[OpenSession]:
        sessions = self.sessions
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
        holder = self.providers.holder(sessions, message.name, message.instance, own)
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
        request: HelloRequest,
    ) -> None:
        own = former if isinstance(former, ConnectedProvider) else connection.provider
        claimant = Claimant(message.name, message.instance, own)
        for session in sessions:
            check_conflicts(session, claimant, request.tools_in(session.id))
        check_twice(request.offered)

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
                self.providers.forget(former)
            else:
                # What the former connection was asked will not be answered.
                for call in list(former.calls.values()):
                    self.calls.fail(call, CallError.DISCONNECTED, "the provider connected anew")
                self.binding.unbind(former, CallError.DISCONNECTED, "it connected anew")
                former.reconnect = None
                former.connection.provider = None
                self.providers.connected.pop(former.id, None)
                self.connections.close(former.connection, 1000, "connected anew")
        elif known is not None and (known.name, known.view.instance) == (
            message.name,
            message.instance,
        ):
            return known
        else:
            view, revisions = (
                Provider(
                    id=self._ids.id("p"),
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
            self.binding.disconnected(known, "it took another name")
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
            folder = f"{self.persist_dir(provider.name).rstrip('/')}/"
            self._out.effects.append(MakePersistDir(provider.name))
        self._out.send(
            connection.id,
            HelloAck(
                protocol_version=limits.PROTOCOL_VERSION,
                provider_id=provider.id,
                session_id=ALL if wanted == ALL else sessions[0].id,
                reconnect_token=self.providers.renew(provider),
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
            self.binding.greet(provider, session)


def _event_warnings(provider: ConnectedProvider) -> list[str]:
    """Return what to tell a provider that waits for events which no known host sends."""
    unknown = sorted(provider.subscribed - SESSION_EVENTS)
    if not unknown:
        return []
    shown = ", ".join(repr(name) for name in unknown[:_SHOWN_EVENTS])
    more = f" and {len(unknown) - _SHOWN_EVENTS} more" if len(unknown) > _SHOWN_EVENTS else ""
    return [f"subscribe: sessions are not known to send {shown}{more}; names are exact"]
