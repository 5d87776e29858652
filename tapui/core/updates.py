"""What a bound provider changes and asks: hooks, context, filters, streams, gates, transforms.

Provider Interface v2 "Update acknowledgments", "Stream access control".
"""

from tapui.core.connection import Connection
from tapui.core.hooks import (
    HookSet,
    check_context,
    check_transforms,
    compile_rules,
    reindex,
    require_hooks,
)
from tapui.core.providers import ConnectedProvider
from tapui.core.registers import Registers
from tapui.core.sessions import OpenSession
from tapui.core.streams import full_name, split_name
from tapui.core.trust import Capability, require
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.provider import (
    Ack,
    ContextUpdate,
    FilterSet,
    GateResult,
    HistoryLine,
    HooksUpdate,
    StreamHistory,
    StreamQuery,
    TransformResult,
)


class Updates:
    """Handlers. Each raises `WireError` to refuse; nothing is half applied."""

    def __init__(self, registers: Registers) -> None:
        self._r = registers

    def hooks_update(self, connection: Connection, message: HooksUpdate) -> None:
        """Replace the rules, change transforms."""
        provider = connection.bound_provider
        rules = None
        if message.on_pre_tool_use is not None:
            rules = compile_rules(message.on_pre_tool_use, self._r.matcher)
        check_transforms(message.transforms or {})
        require_hooks(provider.grant, rules or [], message.transforms or {})
        sessions = self._r.sessions_of(provider, message.session_id, "hooks.update")
        for hooks in _hooks_of(provider, sessions, message.session_id):
            if rules is not None:
                hooks.rules = rules
            for section, transform in (message.transforms or {}).items():
                hooks.transforms.pop(section, None)
                if transform is not None:
                    hooks.transforms[section] = transform
        for session in sessions:
            reindex(session)
        self._acknowledge(provider, sessions, message.request_id)

    def context_update(self, connection: Connection, message: ContextUpdate) -> None:
        """Replace the ambient context."""
        provider = connection.bound_provider
        check_context(message.context, "context")
        require(provider.grant, Capability.CONTEXT)
        sessions = self._r.sessions_of(provider, message.session_id, "context.update")
        for hooks in _hooks_of(provider, sessions, message.session_id):
            hooks.context = message.context or None
        self._acknowledge(provider, sessions, message.request_id)

    def filter_set(self, connection: Connection, message: FilterSet) -> None:
        """Filter one of the provider's own streams."""
        provider = connection.bound_provider
        name, _, owner = message.stream.partition("@")
        if not 1 <= len(name) <= limits.MAX_NAME:
            raise WireError(ErrorCode.INVALID_JSON, f"stream: 1 to {limits.MAX_NAME} characters")
        rules = self._r.streams.compile_filter(message.rules, self._r.matcher)
        if owner not in ("", provider.name):
            raise WireError(ErrorCode.UNAUTHORIZED, f"stream '{message.stream}' is another's")
        sessions = self._r.sessions_of(provider, message.session_id, "filter.set")
        for session in sessions:
            self._r.streams.set_filter(session.id, full_name(name, provider.name), rules)
        self._acknowledge(provider, sessions, message.request_id)

    def stream_query(self, connection: Connection, message: StreamQuery) -> None:
        """Read streams, newest line first."""
        provider = connection.bound_provider
        if not 1 <= message.last <= limits.MAX_HISTORY:
            raise WireError(ErrorCode.INVALID_JSON, f"last: 1 to {limits.MAX_HISTORY}")
        if len(message.streams) > limits.MAX_STREAMS:
            raise WireError(
                ErrorCode.PAYLOAD_TOO_LARGE, f"streams: at most {limits.MAX_STREAMS} at once"
            )
        names = [split_name(name, provider.name) for name in message.streams]
        if any(name.rpartition("@")[2] != provider.name for name in names):
            require(provider.grant, Capability.OTHERS_STREAMS)
        session = self._r.session_of(provider, message.session_id, "stream.query")
        found = {
            name: [
                HistoryLine(line.ts, line.event, line.level, line.metadata)
                for line in reversed(self._r.streams.read(session.id, name, message.last))
            ]
            for name in names
        }
        self._r.out.send(connection.id, StreamHistory(message.query_id, found))

    def gate_result(self, connection: Connection, message: GateResult) -> None:
        """A provider's word on a call."""
        self._r.gates.answered(connection.bound_provider, message)

    def transform_result(self, connection: Connection, message: TransformResult) -> None:
        """A provider rewrote a section."""
        self._r.prompts.answered(connection.bound_provider, message)

    def _acknowledge(
        self,
        provider: ConnectedProvider,
        sessions: list[OpenSession],
        request_id: str | None,
    ) -> None:
        """The update is in force: it has a revision for each session, and the tower shows it."""
        for session in sessions:
            revision = provider.revise(session.id)
            if request_id is not None:
                self._r.out.send(provider.connection.id, Ack(request_id, session.id, revision))
        self._r.providers.refresh(provider)


def _hooks_of(
    provider: ConnectedProvider, sessions: list[OpenSession], session_id: str | None
) -> list[HookSet]:
    """Return what an update changes: the sessions it is about, and what is brought elsewhere.

    What a provider of all sessions says about one of them stays there.
    """
    hooks = [provider.hooks[session.id] for session in sessions]
    if session_id is None or not provider.is_everywhere:
        hooks.append(provider.declared)
    return hooks
