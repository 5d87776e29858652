"""The provider's conversation: hello, results, pushes, updates, goodbye.

Core Profile; Provider Interface v2 "Identity", "Reconnect protocol", "Rebinding".
"""

from msgspec import Raw
from msgspec.structs import replace

from tapui.core.binding import Binding
from tapui.core.budgets import HeldInject
from tapui.core.calls import PendingCall
from tapui.core.connection import Connection, Standing
from tapui.core.hooks import (
    HookSet,
    check_context,
    check_transforms,
    compile_rules,
    require_hooks,
)
from tapui.core.output import MakePersistDir
from tapui.core.providers import ALL, ConnectedProvider, Departed, check_name
from tapui.core.registers import Registers
from tapui.core.sessions import OpenSession
from tapui.core.streams import full_name
from tapui.core.tools import (
    Claimant,
    check_conflicts,
    check_count,
    check_definitions,
    check_twice,
)
from tapui.core.trust import Capability, Grant, require
from tapui.wire import limits
from tapui.wire.codec import compact, optional_object
from tapui.wire.errors import CallError, ErrorCode, WireError
from tapui.wire.events import Provider, ProviderConnected
from tapui.wire.host import Sender, SessionLog
from tapui.wire.message import FileResult, Level, Tool, ToolProgress
from tapui.wire.provider import (
    Ack,
    Goodbye,
    Hello,
    HelloAck,
    Hooks,
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
        metadata = optional_object(message.metadata, "metadata")
        if message.tools is not None:
            check_definitions(message.tools)
        declared = self._declared(message)
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
        self._check_capabilities(grant, message)
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
        self._check_conflicts(connection, message, former, sessions, tools)
        provider = self._take_identity(connection, message, grant, former)
        provider.is_everywhere = wanted == ALL
        provider.had_no_choice = all(one.is_local for one in r.sessions.open.values())
        provider.offered = tools
        provider.declared = _restored(declared, message, former)
        if message.concurrency is not None or former is None:
            provider.limit = message.concurrency
        if message.subscribe is not None or former is None:
            provider.subscribed = frozenset(message.subscribe or ())
        if metadata is not None:
            provider.view = replace(provider.view, metadata=compact(metadata))
        provider.last_active = r.out.now
        connection.name = provider.label
        is_new = provider.id not in r.providers.connected
        r.providers.connected[provider.id] = provider
        if is_new and not connection.is_builtin:
            r.out.emit(ProviderConnected(provider.view, None))
        for session in sessions:
            self._binding.join(provider, session, tools)
        self._binding.bound(provider)
        self._acknowledge(provider, wanted, sessions)

    def _declared(self, message: Hello) -> HookSet:
        """Check and compile what a hello wants of hooks and context."""
        hooks = message.hooks or Hooks()
        rules = compile_rules(hooks.on_pre_tool_use or [], self._r.matcher)
        transforms = hooks.transforms or {}
        for section, one in transforms.items():
            if one is not None and one.action != "callback" and one.content is None:
                raise WireError(
                    ErrorCode.INVALID_JSON, f"hooks.transforms.{section}.content: missing"
                )
        check_context(message.context, "context")
        check_context(message.startup_context, "startup_context")
        if message.concurrency is not None and message.concurrency.max < 1:
            raise WireError(ErrorCode.INVALID_JSON, "concurrency.max: at least 1")
        return HookSet(
            rules,
            {section: one for section, one in transforms.items() if one is not None},
            message.context or None,
            message.startup_context or None,
        )

    def _check_capabilities(self, grant: Grant, message: Hello) -> None:
        hooks = message.hooks or Hooks()
        check_transforms(hooks.transforms or {})
        require_hooks(grant, hooks.on_pre_tool_use or [], hooks.transforms or {})
        if message.context or message.startup_context:
            require(grant, Capability.CONTEXT)
        if any(not name.startswith("tool.") for name in message.subscribe or ()):
            require(grant, Capability.ALL_EVENTS)

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
        message: Hello,
        former: "ConnectedProvider | Departed | None",
        sessions: list[OpenSession],
        tools: list[Tool],
    ) -> None:
        own = former if isinstance(former, ConnectedProvider) else connection.provider
        claimant = Claimant(message.name, message.instance, own)
        for session in sessions:
            check_conflicts(session, claimant, tools)
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
        if call is None or call.awaits_file or call.is_queued:
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
        provider.last_active = self._r.out.now
        if message.file is not None and not call.is_settled:
            self._check_file(provider, call, message.file)
            return
        self._r.calls.result(call, message)

    def _check_file(self, provider: ConnectedProvider, call: PendingCall, file: FileResult) -> None:
        """A result in a file holds once the file was found to be where it may be."""
        if provider.connection.origin is not None:
            self._r.calls.fail(
                call, CallError.INTERNAL, "a provider with an Origin cannot answer with a file"
            )
            raise WireError(
                ErrorCode.UNAUTHORIZED, "file: providers with an Origin have no folder for files"
            )
        call.awaits_file = True
        self._r.out.check_file(call, file, self._r.persist_dir(provider.name))

    def tool_progress(self, connection: Connection, message: ToolProgress) -> None:
        """Pass progress on; of calls that are over it is ignored."""
        call: PendingCall | None = _provider(connection).calls.get(message.id)
        if call is not None and not call.is_settled and not call.is_queued:
            self._r.calls.progress(call, message.message)

    def push(self, connection: Connection, message: Push) -> None:
        """Store an event; surface or inject it as its level, or the stream's filter, says."""
        r, provider = self._r, _provider(connection)
        text = message.event if message.event is not None else message.prompt
        if text is None:
            raise WireError(ErrorCode.INVALID_JSON, "event: missing")
        if not text.strip() or not (message.prompt or text).strip():
            raise WireError(ErrorCode.INVALID_JSON, "event: must not be empty")
        metadata = optional_object(message.metadata, "metadata")
        stream = message.stream or provider.name
        if "@" in stream or len(stream) > limits.MAX_NAME:
            raise WireError(
                ErrorCode.INVALID_JSON, f"stream: up to {limits.MAX_NAME} characters, no '@'"
            )
        if message.broadcast and message.session_id is None:
            sessions = [one for one in provider.sessions.values() if one.is_open]
        else:
            sessions = [r.session_of(provider, message.session_id, "push")]
        provider.last_active = r.out.now
        for session in sessions:
            self._push_into(session, provider, stream, message, text, metadata)

    def _push_into(  # noqa: PLR0917 - a push and where it goes
        self,
        session: OpenSession,
        provider: ConnectedProvider,
        stream: str,
        message: Push,
        text: str,
        metadata: Raw | None,
    ) -> None:
        r = self._r
        if not r.budgets.may_push(provider.id, session.id):
            raise _limited(session, f"more than {limits.PUSHES_PER_SECOND} pushes a second")
        own: Level = "inject" if message.prompt else message.level
        name = full_name(stream, provider.name)
        level, is_undecided = r.streams.filtered(session.id, name, own, text)
        if is_undecided:
            r.providers.count_fault(provider)
        if level == "drop":
            return
        if level == "inject" and not r.budgets.may_hold(session, provider):
            raise _limited(session, f"{limits.MAX_HELD_INJECTS} injects wait for the session")
        r.streams.post(
            session.id,
            stream,
            provider.name,
            level=level,
            event=text,
            metadata=metadata,
            provider_id=provider.id,
        )
        if level == "surface":
            r.out.send(session.host, SessionLog(session.id, f"{name}: {text}", "info"))
        elif level == "inject":
            sender = Sender(provider.name, stream)
            r.budgets.inject(session, HeldInject(sender, message.prompt or text, provider))

    def tools_update(self, connection: Connection, message: ToolsUpdate) -> None:
        """Replace the tools, or change some of them; all or nothing."""
        r, provider = self._r, _provider(connection)
        if message.tools is None and message.remove is None:
            raise WireError(ErrorCode.INVALID_JSON, "tools: missing")
        check_definitions(message.tools or [])
        if provider.is_everywhere and message.session_id is None:
            sessions = [session for session in provider.sessions.values() if session.is_open]
        else:
            sessions = [self._r.session_of(provider, message.session_id, "tools.update")]
        is_whole = message.session_id is None or not provider.is_everywhere
        offered = _updated(provider.offered, message) if is_whole else provider.offered
        check_count(offered)
        changed: list[tuple[OpenSession, list[Tool]]] = []
        for session in sessions:
            tools = _updated(provider.tools.get(session.id, []), message)
            check_count(tools)
            check_conflicts(session, Claimant.of(provider), tools)
            changed.append((session, tools))
        provider.offered = offered
        for session, tools in changed:
            provider.tools[session.id] = tools
            r.tools.put(session, provider, tools)
            revision = provider.revise(session.id)
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
        check_conflicts(session, Claimant.of(provider), tools)
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


def _restored(
    declared: HookSet, message: Hello, former: ConnectedProvider | Departed | None
) -> HookSet:
    """Fill what a hello leaves out with what the provider had before it dropped."""
    if former is None:
        return declared
    hooks, before = message.hooks or Hooks(), former.declared
    return HookSet(
        before.rules if hooks.on_pre_tool_use is None else declared.rules,
        dict(before.transforms) if hooks.transforms is None else declared.transforms,
        before.context if message.context is None else declared.context,
        before.startup if message.startup_context is None else declared.startup,
    )
