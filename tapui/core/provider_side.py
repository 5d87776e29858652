"""The provider's conversation: hello, results, pushes, updates, goodbye.

Core Profile; Provider Interface v2 "Identity", "Reconnect protocol", "Rebinding".
"""

from msgspec import Raw
from msgspec.structs import replace

from tapui.core.binding import Binding
from tapui.core.budgets import HeldInject
from tapui.core.calls import PendingCall
from tapui.core.connection import Connection, Standing
from tapui.core.output import MakePersistDir
from tapui.core.providers import ALL, ConnectedProvider, Departed, check_name
from tapui.core.registers import Registers
from tapui.core.sessions import OpenSession
from tapui.core.tools import check_conflicts, check_count, check_definitions, check_twice
from tapui.core.trust import Grant
from tapui.wire import limits
from tapui.wire.codec import optional_object
from tapui.wire.errors import CallError, ErrorCode, WireError
from tapui.wire.events import Provider, ProviderConnected
from tapui.wire.host import Sender, SessionLog
from tapui.wire.message import Tool, ToolProgress
from tapui.wire.provider import (
    Ack,
    Goodbye,
    Hello,
    HelloAck,
    Push,
    SessionReady,
    ShutdownReady,
    ToolResult,
    ToolsUpdate,
)

_KEEPS_BINDING = (ErrorCode.INVALID_JSON, ErrorCode.RATE_LIMITED, ErrorCode.PAYLOAD_TOO_LARGE)


class ProviderSide:
    """Handlers of what providers send. Each raises `WireError` to refuse."""

    def __init__(self, registers: Registers, binding: Binding) -> None:
        self._r = registers
        self._binding = binding

    # hello

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
        r = self._r
        if connection.provider is not None:
            self._count_rebind(connection)
        if not connection.is_builtin:
            check_name(message.name, message.instance)
        optional_object(message.metadata, "metadata")
        if message.tools is not None:
            check_definitions(message.tools)
        if message.protocol_version != limits.PROTOCOL_VERSION:
            raise WireError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"protocolVersion {message.protocol_version:g} is not supported; "
                f"this gateway speaks {limits.PROTOCOL_VERSION}",
            )
        former = r.providers.returning(message.reconnect_token, message.name, message.instance)
        wanted = message.session
        if wanted is None:
            wanted = _former_session(former)
        if wanted is None:
            raise WireError(ErrorCode.INVALID_JSON, "session: missing")
        grant = connection.grant
        assert grant is not None
        if (
            wanted == ALL
            and grant.trust != "internal"
            and not self._may_bind_all(connection, message.name, former)
        ):
            raise WireError(
                ErrorCode.UNAUTHORIZED, "binding to all sessions waits for the person's approval"
            )
        sessions = self._sessions_wanted(wanted, grant)
        self._check_identity(connection, message, former, sessions)
        if connection.provider is not None:
            self._binding.unbind(connection.provider, CallError.CANCELLED, "the provider rebinds")
        tools = message.tools
        if tools is None:
            tools = former.offered if former is not None else []
        self._check_conflicts(connection, former, sessions, tools)
        provider = self._take_identity(connection, message, grant, former)
        provider.is_everywhere = wanted == ALL
        provider.had_no_choice = all(one.is_local for one in r.sessions.open.values())
        provider.offered = tools
        connection.name = provider.label
        is_new = provider.id not in r.providers.connected
        r.providers.connected[provider.id] = provider
        if is_new and not connection.is_builtin:
            r.out.emit(ProviderConnected(provider.view, None))
        for session in sessions:
            self._binding.join(provider, session, tools)
        self._binding.bound(provider)
        self._acknowledge(provider, wanted, sessions)

    def _count_rebind(self, connection: Connection) -> None:
        now = self._r.out.now
        connection.hellos = [when for when in connection.hellos if when > now - 60.0]
        if len(connection.hellos) >= limits.REBINDS_PER_MINUTE:
            raise WireError(
                ErrorCode.RATE_LIMITED, f"more than {limits.REBINDS_PER_MINUTE} hellos a minute"
            )
        connection.hellos.append(now)

    def _may_bind_all(
        self, connection: Connection, name: str, former: "ConnectedProvider | Departed | None"
    ) -> bool:
        if connection.may_bind_all == name or (former is not None and former.is_everywhere):
            return True
        approvals = self._r.approvals
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
        return False

    def _sessions_wanted(self, wanted: str, grant: Grant) -> list[OpenSession]:
        sessions = self._r.sessions
        if wanted == ALL:
            return [session for session in sessions.in_order() if grant.covers(session.id)]
        session = sessions.get(wanted)
        if session is None or not grant.covers(session.id):
            raise WireError(
                ErrorCode.INVALID_SESSION, f"Session {wanted} does not exist", session_id=wanted
            )
        return [session]

    def _check_identity(
        self,
        connection: Connection,
        message: Hello,
        former: "ConnectedProvider | Departed | None",
        sessions: list[OpenSession],
    ) -> None:
        holder = self._r.providers.holder(sessions, message.name, message.instance)
        if holder is None or holder is former or holder is connection.provider:
            return
        label = f"{message.name}/{message.instance}" if message.instance else message.name
        raise WireError(
            ErrorCode.DUPLICATE_INSTANCE,
            f"another connection is '{label}' in session {sessions[0].id}; choose another "
            "instance or show its reconnectToken",
        )

    def _check_conflicts(
        self,
        connection: Connection,
        former: "ConnectedProvider | Departed | None",
        sessions: list[OpenSession],
        tools: list[Tool],
    ) -> None:
        own = former if isinstance(former, ConnectedProvider) else connection.provider
        for session in sessions:
            check_conflicts(session, own, tools)
        check_twice(tools)

    def _take_identity(
        self,
        connection: Connection,
        message: Hello,
        grant: Grant,
        former: "ConnectedProvider | Departed | None",
    ) -> ConnectedProvider:
        r = self._r
        known = connection.provider
        if former is not None and former is not known:
            view = replace(former.view, trust=grant.trust, origin=connection.origin)
            revisions = former.revisions
            if isinstance(former, Departed):
                r.providers.forget(former)
            else:
                self._binding.unbind(former, CallError.DISCONNECTED, "it connected anew")
                former.reconnect = None
                former.connection.provider = None
                r.providers.connected.pop(former.id, None)
                r.close(former.connection, 1000, "connected anew")
        elif known is not None and (known.name, known.view.instance) == (
            message.name,
            message.instance,
        ):
            return known
        else:
            view, revisions = (
                Provider(
                    id=r.mint.id("p"),
                    name=message.name,
                    trust=grant.trust,
                    state="unbound",
                    tools=[],
                    connected_at=r.out.timestamp(),
                    instance=message.instance,
                    origin=connection.origin,
                ),
                {},
            )
        if known is not None:
            known.reconnect = None
            self._binding.disconnected(known, "it took another name")
        provider = ConnectedProvider(view, connection, grant, revisions=revisions)
        connection.provider = provider
        return provider

    def _acknowledge(
        self, provider: ConnectedProvider, wanted: str, sessions: list[OpenSession]
    ) -> None:
        r, connection = self._r, provider.connection
        folder = None
        if connection.origin is None and not connection.is_builtin:
            folder = r.persist_dir(provider.name)
            r.out.effects.append(MakePersistDir(provider.name))
        r.out.send(
            connection.id,
            HelloAck(
                protocol_version=limits.PROTOCOL_VERSION,
                provider_id=provider.id,
                session_id=ALL if wanted == ALL else sessions[0].id,
                reconnect_token=r.providers.renew(provider),
                persist_dir=folder,
            ),
        )
        for session in sessions:
            self._binding.greet(provider, session)

    # While bound

    def tool_result(self, connection: Connection, message: ToolResult) -> None:
        """Settle a call; results for calls that are not this provider's are ignored."""
        provider = _provider(connection)
        call = provider.calls.get(message.id)
        if call is None:
            return
        given = (
            isinstance(message.data, Raw),
            message.error is not None or message.error_code is not None,
            message.file is not None,
        )
        if sum(given) != 1 or (message.error == "" and message.error_code is None):
            text = "a tool.result has exactly one of data, error and file"
            self._r.calls.fail(call, CallError.INTERNAL, text)
            raise WireError(ErrorCode.INVALID_JSON, text, session_id=call.view.session_id)
        if message.file is not None and not self._may_leave_files(provider):
            self._r.calls.fail(call, CallError.INTERNAL, "this provider may not answer with a file")
            return
        self._r.calls.result(call, message)

    def _may_leave_files(self, provider: ConnectedProvider) -> bool:
        return provider.connection.is_builtin

    def tool_progress(self, connection: Connection, message: ToolProgress) -> None:
        """Pass progress on; of calls that are over it is ignored."""
        call: PendingCall | None = _provider(connection).calls.get(message.id)
        if call is not None and not call.is_settled:
            self._r.calls.progress(call, message.message)

    def push(self, connection: Connection, message: Push) -> None:
        """Store an event; surface or inject it as its level says."""
        r, provider = self._r, _provider(connection)
        if not message.event.strip():
            raise WireError(ErrorCode.INVALID_JSON, "event: must not be empty")
        metadata = optional_object(message.metadata, "metadata")
        stream = message.stream or provider.name
        if "@" in stream or len(stream) > limits.MAX_NAME:
            raise WireError(
                ErrorCode.INVALID_JSON, f"stream: up to {limits.MAX_NAME} characters, no '@'"
            )
        session = self._session_of(provider, message.session_id, "push")
        if not r.budgets.may_push(provider.id, session.id):
            raise _limited(session, f"more than {limits.PUSHES_PER_SECOND} pushes a second")
        if message.level == "inject" and not r.budgets.may_hold(session, provider):
            raise _limited(session, f"{limits.MAX_HELD_INJECTS} injects wait for the session")
        r.streams.post(
            session.id,
            stream,
            provider.name,
            level=message.level,
            event=message.event,
            metadata=metadata,
            provider_id=provider.id,
        )
        if message.level == "surface":
            r.out.send(
                session.host,
                SessionLog(session.id, f"{stream}@{provider.name}: {message.event}", "info"),
            )
        elif message.level == "inject":
            r.budgets.inject(
                session, HeldInject(Sender(provider.name, stream), message.event, provider)
            )

    def tools_update(self, connection: Connection, message: ToolsUpdate) -> None:
        """Replace the tools, or change some of them; all or nothing."""
        r, provider = self._r, _provider(connection)
        if message.tools is None and message.remove is None:
            raise WireError(ErrorCode.INVALID_JSON, "tools: missing")
        check_definitions(message.tools or [])
        if provider.is_everywhere and message.session_id is None:
            sessions = [session for session in provider.sessions.values() if session.is_open]
        else:
            sessions = [self._session_of(provider, message.session_id, "tools.update")]
        is_whole = message.session_id is None or not provider.is_everywhere
        offered = _updated(provider.offered, message) if is_whole else provider.offered
        check_count(offered)
        changed: list[tuple[OpenSession, list[Tool]]] = []
        for session in sessions:
            tools = _updated(provider.tools.get(session.id, []), message)
            check_count(tools)
            check_conflicts(session, provider, tools)
            changed.append((session, tools))
        provider.offered = offered
        for session, tools in changed:
            provider.tools[session.id] = tools
            r.tools.put(session, provider, tools)
            revision = provider.revisions[session.id] = provider.revisions.get(session.id, 0) + 1
            if message.request_id is not None:
                r.out.send(connection.id, Ack(message.request_id, session.id, revision))
        r.providers.refresh(provider)

    def session_ready(self, connection: Connection, message: SessionReady) -> None:
        """An `"all"` provider enters a session that began after its hello."""
        provider = _provider(connection)
        session = self._r.sessions.get(message.session_id)
        if not provider.is_everywhere or session is None or not provider.grant.covers(session.id):
            raise _no_session(message.session_id)
        if provider.is_in(session):
            return
        tools = provider.offered
        if self._r.providers.holder([session], provider.name, provider.view.instance):
            raise WireError(
                ErrorCode.DUPLICATE_INSTANCE,
                f"another connection is '{provider.label}' in session {session.id}",
                session_id=session.id,
            )
        check_conflicts(session, provider, tools)
        self._binding.join(provider, session, tools)
        self._r.providers.refresh(provider)
        self._binding.greet(provider, session)

    def shutdown_ready(self, connection: Connection, message: ShutdownReady) -> None:
        """Clean-up after an ended session is done."""
        provider = _provider(connection)
        id_ = message.session_id
        session = provider.sessions.get(self._r.sessions.aliases.get(id_, id_))
        if session is None:
            raise _no_session(id_)
        if provider in session.leaving:
            self._binding.left(provider, session)

    def goodbye(self, connection: Connection, message: Goodbye) -> None:
        """The provider leaves in order."""
        if connection.provider is not None:
            connection.provider.reconnect = None
            connection.provider.view = replace(
                connection.provider.view, reason=message.reason or "goodbye"
            )
        self._r.close(connection, 1000, "goodbye")

    def _session_of(
        self, provider: ConnectedProvider, session_id: str | None, what: str
    ) -> OpenSession:
        """Return the open session that a message is about, among the provider's own."""
        if session_id is None:
            if provider.is_everywhere:
                raise WireError(
                    ErrorCode.INVALID_SESSION, f"a {what} of a provider of all sessions names one"
                )
            session = next(iter(provider.sessions.values()), None)
        else:
            session = self._r.sessions.get(session_id)
        if session is None or not session.is_open or not provider.is_in(session):
            raise _no_session(session_id or provider.view.session_id or "")
        return session


def _provider(connection: Connection) -> ConnectedProvider:
    provider = connection.provider
    assert provider is not None, "bound connections have a provider"
    assert connection.standing is not Standing.CLOSED
    return provider


def _no_session(session_id: str) -> WireError:
    return WireError(
        ErrorCode.INVALID_SESSION, f"Session {session_id} does not exist", session_id=session_id
    )


def _limited(session: OpenSession, text: str) -> WireError:
    return WireError(ErrorCode.RATE_LIMITED, text, session_id=session.id)


def _former_session(former: ConnectedProvider | Departed | None) -> str | None:
    if former is None:
        return None
    if former.is_everywhere:
        return ALL
    return next(iter(former.sessions), None)


def _updated(tools: list[Tool], message: ToolsUpdate) -> list[Tool]:
    """Return the list after an update: replaced without `remove`, else changed by name."""
    if message.remove is None:
        return message.tools or []
    changed = {tool.name: tool for tool in message.tools or []}
    if len(changed) != len(message.tools or []):
        raise WireError(ErrorCode.TOOL_CONFLICT, "a tool stands twice in the list")
    gone = set(message.remove)
    kept = {tool.name: tool for tool in tools if tool.name not in gone}
    return list((kept | changed).values())
