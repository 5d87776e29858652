"""What a bound provider sends: results, pushes, updates, queries, answers, its goodbye.

Core Profile; Provider Interface v2 "Update acknowledgments", "Stream access control".
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from msgspec import Raw
from msgspec.structs import replace

from tapui.core.approvals.policies import Policies
from tapui.core.calls.calls import Calls
from tapui.core.context import CorePart
from tapui.core.conversations.connections import Connections
from tapui.core.effects import CopyFile
from tapui.core.hooks.gates import Gates, compile_rules, require_rules, rule_warnings
from tapui.core.hooks.matching import HookSet, Matcher
from tapui.core.hooks.prompts import (
    Prompts,
    check_context,
    check_room,
    check_transforms,
    require_transforms,
    section_warnings,
)
from tapui.core.model import ConnectedProvider, Connection, OpenSession, PendingCall, Standing
from tapui.core.providers.binding import Binding
from tapui.core.providers.identity import ALL, Providers
from tapui.core.providers.tools import (
    Claimant,
    ToolTable,
    check_conflicts,
    check_size,
    kept_definitions,
)
from tapui.core.sessions.ending import Endings
from tapui.core.sessions.membership import Membership
from tapui.core.sessions.sessions import OpenSessions, no_session
from tapui.core.streams.pushes import Post, Pushes
from tapui.core.streams.streams import Streams, compile_filter, split_name
from tapui.core.trust.grants import Capability, require
from tapui.wire import limits
from tapui.wire.codec import is_null, optional_object
from tapui.wire.errors import CallError, ErrorCode, WireError
from tapui.wire.message import FileResult, Tool, ToolProgress
from tapui.wire.provider import (
    Ack,
    ContextUpdate,
    FilterSet,
    GateResult,
    Goodbye,
    HistoryLine,
    HooksUpdate,
    Push,
    SessionReady,
    ShutdownReady,
    StreamHistory,
    StreamQuery,
    ToolResult,
    ToolsUpdate,
    TransformResult,
)


@dataclass(eq=False, repr=False)
class ProviderConversation(CorePart):
    """Handlers of what providers send. Each raises `WireError` to refuse."""

    connections: Connections
    sessions: OpenSessions
    membership: Membership
    endings: Endings
    providers: Providers
    tools: ToolTable
    binding: Binding
    calls: Calls
    gates: Gates
    prompts: Prompts
    matcher: Matcher
    streams: Streams
    pushes: Pushes
    policies: Policies
    most_tools: int
    persist_dir: Callable[[str], str]

    def tool_result(self, connection: Connection, message: ToolResult) -> None:
        """Settle a call; results for calls that are not this provider's are ignored."""
        provider = connection.bound_provider
        call = provider.calls.get(message.id)
        if call is None or call.awaits_file or call.is_queued:
            return
        if connection.standing is Standing.UNBOUND:
            self.calls.result(call, message)  # it was cancelled when the provider was unbound
            return
        is_error = message.error is not None or message.error_code is not None
        is_file = message.file is not None
        is_data = isinstance(message.data, Raw) and not (
            (is_error or is_file) and is_null(message.data)  # as some languages leave fields out
        )
        is_empty = message.error == "" and message.error_code is None
        if is_error + is_file + is_data != 1 or is_empty:
            text = "a tool.result has exactly one of data, error and file"
            self.calls.fail(call, CallError.INTERNAL, text)
            raise WireError(ErrorCode.INVALID_JSON, text, session_id=call.view.session_id)
        provider.last_active = self._clock.now
        if message.file is not None and not call.is_settled:
            self._copy_file(provider, call, message.file)
            return
        self.calls.result(call, message)

    def _copy_file(self, provider: ConnectedProvider, call: PendingCall, file: FileResult) -> None:
        """A result in a file holds once it was copied: the provider may delete its own."""
        if provider.connection.origin is not None:
            self.calls.fail(
                call, CallError.INTERNAL, "a provider with an Origin cannot answer with a file"
            )
            raise WireError(
                ErrorCode.UNAUTHORIZED, "file: providers with an Origin have no folder for files"
            )
        call.awaits_file = True
        ticket = self._tickets.keep(partial(self.calls.file_copied, call, file))
        folder, session_id = self.persist_dir(provider.name), call.session.id
        copy = CopyFile(ticket, file.path, folder, session_id, call.view.id, file.ttl)
        self._out.effects.append(copy)

    def tool_progress(self, connection: Connection, message: ToolProgress) -> None:
        """Pass progress on; of calls that are over it is ignored."""
        call: PendingCall | None = connection.bound_provider.calls.get(message.id)
        if call is not None and not call.is_settled and not call.is_queued:
            self.calls.progress(call, message)

    def push(self, connection: Connection, message: Push) -> None:
        """Post an event to a stream, in one session or (`broadcast`) in all of the provider's."""
        provider = connection.bound_provider
        text = message.event if message.event is not None else message.prompt
        if text is None:
            raise WireError(ErrorCode.INVALID_JSON, "event: missing")
        post = Post(
            stream=message.stream or provider.name,
            level="inject" if message.prompt else message.level,
            event=text,
            prompt=message.prompt,
            metadata=optional_object(message.metadata, "metadata"),
            dropped=message.dropped,
            waited=message.waited,
        )
        if message.broadcast and message.session_id is None:
            sessions = [one for one in provider.sessions.values() if one.is_open]
        else:
            sessions = [
                self.membership.session_of(provider, message.session_id, "push", may_be_ending=True)
            ]
        self.pushes.push(provider, sessions, post)

    def tools_update(self, connection: Connection, message: ToolsUpdate) -> None:
        """Replace the tools, or change some of them; all or nothing."""
        provider = connection.bound_provider
        if message.tools is None and message.remove is None:
            raise WireError(ErrorCode.INVALID_JSON, "tools: missing")
        most = self.most_tools
        message = replace(message, tools=kept_definitions(message.tools or [], most))
        if provider.is_everywhere and message.session_id is None:
            sessions = [session for session in provider.sessions.values() if session.is_open]
        else:
            sessions = [self.membership.session_of(provider, message.session_id, "tools.update")]
        is_whole = message.session_id is None or not provider.is_everywhere
        offered = _updated(provider.offered, message) if is_whole else provider.offered
        check_size(offered, most)
        changed: list[tuple[OpenSession, list[Tool]]] = []
        for session in sessions:
            tools = _updated(provider.tools.get(session.id, []), message)
            check_size(tools, most)
            check_conflicts(session, Claimant.of(provider), tools)
            changed.append((session, tools))
        provider.offered = offered
        for session, tools in changed:
            provider.tools[session.id] = tools
            self.tools.put(session, provider, tools)
        self._acknowledge(provider, sessions, message.request_id)

    def hooks_update(self, connection: Connection, message: HooksUpdate) -> None:
        provider = connection.bound_provider
        rules = None
        if message.on_pre_tool_use is not None:
            rules = compile_rules(message.on_pre_tool_use, self.matcher)
        check_transforms(message.transforms or {})
        require_rules(provider.grant, rules or [])
        require_transforms(provider.grant, message.transforms or {})
        sessions = self.membership.sessions_of(provider, message.session_id, "hooks.update")
        changed = _hooks_of(provider, sessions, message.session_id)
        for hooks in changed:
            check_room(hooks, message.transforms or {})
        for hooks in changed:
            if rules is not None:
                hooks.rules = rules
            for section, transform in (message.transforms or {}).items():
                hooks.transforms.pop(section, None)
                if transform is not None:
                    hooks.transforms[section] = transform
        for session in sessions:
            self.policies.hooks_changed(session)
        self._acknowledge(
            provider,
            sessions,
            message.request_id,
            changes_sections=bool(message.transforms),
            changes_rules=bool(rules),
        )

    def context_update(self, connection: Connection, message: ContextUpdate) -> None:
        provider = connection.bound_provider
        check_context(message.context, "context")
        require(provider.grant, Capability.CONTEXT)
        sessions = self.membership.sessions_of(provider, message.session_id, "context.update")
        for hooks in _hooks_of(provider, sessions, message.session_id):
            hooks.context = message.context or None
        self._acknowledge(provider, sessions, message.request_id)

    def filter_set(self, connection: Connection, message: FilterSet) -> None:
        """Filter one of the provider's own streams."""
        provider = connection.bound_provider
        name, _, owner = message.stream.partition("@")
        if not 1 <= len(name) <= limits.MAX_NAME:
            raise WireError(ErrorCode.INVALID_JSON, f"stream: 1 to {limits.MAX_NAME} characters")
        rules = compile_filter(message.rules, self.matcher)
        if owner not in ("", provider.name):
            raise WireError(ErrorCode.UNAUTHORIZED, f"stream '{message.stream}' is another's")
        sessions = self.membership.sessions_of(provider, message.session_id, "filter.set")
        changed = _hooks_of(provider, sessions, message.session_id)
        if rules and any(len({*hooks.filters, name}) > limits.MAX_STREAMS for hooks in changed):
            raise WireError(
                ErrorCode.PAYLOAD_TOO_LARGE, f"filters: at most {limits.MAX_STREAMS} streams"
            )
        for hooks in changed:
            hooks.filters.pop(name, None)
            if rules:
                hooks.filters[name] = rules
        self._acknowledge(provider, sessions, message.request_id)

    def stream_query(self, connection: Connection, message: StreamQuery) -> None:
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
        session = self.membership.session_of(
            provider, message.session_id, "stream.query", may_be_ending=True
        )
        found = {
            name: [
                HistoryLine(line.ts, line.event, line.level, line.metadata)
                for line in reversed(self.streams.read(session.id, name, message.last))
            ]
            for name in names
        }
        self._out.send(connection.id, StreamHistory(message.query_id, found))

    def gate_result(self, connection: Connection, message: GateResult) -> None:
        """A provider decides on a call."""
        self.gates.answered(connection.bound_provider, message)

    def transform_result(self, connection: Connection, message: TransformResult) -> None:
        self.prompts.answered(connection.bound_provider, message)

    def _acknowledge(
        self,
        provider: ConnectedProvider,
        sessions: list[OpenSession],
        request_id: str | None,
        *,
        changes_sections: bool = False,
        changes_rules: bool = False,
    ) -> None:
        """The update is in force: it has a revision for each session, and the tower shows it.

        A provider of all sessions that is in none of them has a revision of its own, for `"all"`.
        """
        for session_id in [session.id for session in sessions] or [ALL]:
            revision = provider.revise(session_id)
            if request_id is not None:
                session = provider.sessions.get(session_id)
                those = [session] if session else []
                told = [
                    *(section_warnings(provider, those) if changes_sections else ()),
                    *(rule_warnings(provider, those) if changes_rules else ()),
                ]
                ack = Ack(request_id, session_id, revision, told or None)
                self._out.send(provider.connection.id, ack)
        self.providers.refresh(provider)

    def session_ready(self, connection: Connection, message: SessionReady) -> None:
        """An `"all"` provider enters a session that began after its hello."""
        provider = connection.bound_provider
        session = self.sessions.get(message.session_id)
        if not provider.is_everywhere or session is None or not provider.grant.covers(session.id):
            raise no_session(message.session_id)
        if provider.is_in(session):
            return
        tools = provider.offered
        if self.providers.holder([session], provider.name, provider.view.instance):
            raise WireError(
                ErrorCode.DUPLICATE_INSTANCE,
                f"another connection is '{provider.label}' in session {session.id}",
                session_id=session.id,
            )
        check_conflicts(session, Claimant.of(provider), tools)
        self.membership.join(provider, session, tools)
        self.providers.refresh(provider)
        self.binding.greet(provider, session)

    def shutdown_ready(self, connection: Connection, message: ShutdownReady) -> None:
        """Clean-up after an ended session is done."""
        provider = connection.bound_provider
        session = self.membership.named(provider, message.session_id)
        if session is None:
            raise no_session(message.session_id)
        if provider in session.leaving:
            self.endings.left(provider, session)

    def goodbye(self, connection: Connection, message: Goodbye) -> None:
        if connection.provider is not None:
            connection.provider.reconnect = None
            connection.provider.view = replace(
                connection.provider.view, reason=message.reason or "goodbye"
            )
        self.connections.close(connection, 1000, "goodbye")


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
