"""What a bound provider sends: results, pushes, changed tools, its goodbye (Core Profile)."""

from msgspec import Raw
from msgspec.structs import replace

from tapui.core.binding import Binding
from tapui.core.budgets import HeldInject
from tapui.core.calls import PendingCall
from tapui.core.connection import Connection, Standing
from tapui.core.providers import ConnectedProvider
from tapui.core.registers import Registers
from tapui.core.sessions import OpenSession
from tapui.core.streams import Outcome, full_name
from tapui.core.tools import (
    Claimant,
    check_conflicts,
    check_count,
    check_definitions,
)
from tapui.wire import limits
from tapui.wire.codec import optional_object
from tapui.wire.errors import CallError, ErrorCode, WireError
from tapui.wire.host import Sender, SessionLog
from tapui.wire.message import FileResult, Level, Tool, ToolProgress
from tapui.wire.provider import (
    Ack,
    Goodbye,
    Push,
    SessionReady,
    ShutdownReady,
    ToolResult,
    ToolsUpdate,
)


class ProviderSide:
    """Handlers of what providers send. Each raises `WireError` to refuse."""

    def __init__(self, registers: Registers, binding: Binding) -> None:
        self._r = registers
        self._binding = binding

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
        # A broadcast is taken by all its sessions, or by none.
        levels = [self._admit(session, provider, stream, message, text) for session in sessions]
        provider.last_active = r.out.now
        for session, level in zip(sessions, levels, strict=True):
            if level != "drop":
                self._push_into(session, provider, stream, level, message, text, metadata)

    def _admit(
        self,
        session: OpenSession,
        provider: ConnectedProvider,
        stream: str,
        message: Push,
        text: str,
    ) -> Outcome:
        """Return what becomes of a push in a session. Raises `WireError` where there is no room."""
        r = self._r
        if not r.budgets.may_push(provider.id, session.id):
            raise _limited(session, f"more than {limits.PUSHES_PER_SECOND} pushes a second")
        own: Level = "inject" if message.prompt else message.level
        name = full_name(stream, provider.name)
        level, is_undecided = r.streams.filtered(session.id, name, own, text)
        if is_undecided:
            r.providers.count_fault(provider)
        if level == "drop":
            return level
        if level == "inject" and not r.budgets.may_hold(session, provider):
            raise _limited(session, f"{limits.MAX_HELD_INJECTS} injects wait for the session")
        r.streams.require_room(session.id, stream, provider.name)
        return level

    def _push_into(  # noqa: PLR0917 - a push and where it goes
        self,
        session: OpenSession,
        provider: ConnectedProvider,
        stream: str,
        level: Level,
        message: Push,
        text: str,
        metadata: Raw | None,
    ) -> None:
        r, name = self._r, full_name(stream, provider.name)
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
