"""What the built-in tools may ask beyond a provider: streams, a session's state, its mode."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from tapui.core.approvals.approvals import Approvals, Decided
from tapui.core.approvals.modes import ModeOrder, Modes
from tapui.core.approvals.policies import BY_NOBODY, UNATTENDED
from tapui.core.calls.calls import Calls
from tapui.core.context import CorePart
from tapui.core.conversations.connections import Connections
from tapui.core.emitters.folders import EmitterFolders
from tapui.core.emitters.registry import Emitters
from tapui.core.model import ConnectedProvider, Connection, OpenSession
from tapui.core.providers.instances import shown_metadata
from tapui.core.sessions.sessions import OpenSessions
from tapui.core.streams.pushes import Post, Pushes
from tapui.core.streams.streams import StreamLog, Streams, full_name
from tapui.wire.builtin import (
    ModeAnswer,
    ModeRequest,
    ModeRequestCancel,
    StateAnswer,
    StateRead,
    StreamPost,
    StreamPostDone,
    StreamSummary,
)
from tapui.wire.codec import optional_object
from tapui.wire.message import BUILTIN_PROVIDER


@dataclass(eq=False, repr=False)
class BuiltinConversation(CorePart):
    """Handlers of the built-in provider's own messages."""

    connections: Connections
    sessions: OpenSessions
    streams: Streams
    pushes: Pushes
    approvals: Approvals
    modes: Modes
    calls: Calls
    emitters: Emitters
    emitter_folders: EmitterFolders
    mode_approval: float

    def stream_post(self, connection: Connection, message: StreamPost) -> None:
        session = self.sessions.required(message.session_id)
        post = Post(
            stream=message.stream,
            level=message.level,
            event=message.event,
            metadata=optional_object(message.metadata, "metadata"),
        )
        provider = connection.bound_provider
        (line,) = self.pushes.push(provider, [session], post)
        name = full_name(message.stream, provider.name)
        self._out.send(connection.id, StreamPostDone(message.id, name, line.seq))

    def state_read(self, connection: Connection, message: StateRead) -> None:
        session = self.sessions.required(message.session_id)
        host = self.connections.by_number.get(session.host)
        state: dict[str, Any] = {
            "sessionId": session.id,
            "label": session.view.label,
            "mode": session.view.mode,
            "model": session.view.model,
            "state": session.view.state,
            "tools": [
                {"name": name, "provider": entry.owner} for name, entry in session.tools.items()
            ],
            "providers": [
                _described(provider)
                for provider in session.providers.values()
                if not provider.connection.is_builtin
            ],
            "emitters": [
                {"name": one.name, "state": one.state, "stream": one.stream}
                for one in self.emitters.by_id.values()
                if one.session is session
                or (session in one.folder.sessions and not one.is_provider)
            ],
            "approvalsWaiting": len(
                [
                    waiting
                    for waiting in self.approvals.waiting.values()
                    if waiting.view.session_id in (None, session.id)
                ]
            ),
            "host": {
                "name": session.view.host,
                "kind": host.host_kind if host else None,
                "hooks": bool(host and host.host_asks_hooks),
                "modes": session.view.mode is not None,
            },
        }
        streams = [
            self._summary(session, name, log) for name, log in self.streams.of(session.id).items()
        ]
        for name, owner in self.emitter_folders.streams_of(session).items():
            streams.append(self._summary(owner, name, self.streams.of(owner.id)[name]))
        self._out.send(connection.id, StateAnswer(message.id, state, streams))

    def _summary(self, owner: OpenSession, name: str, log: StreamLog) -> StreamSummary:
        """Describe a stream of the session `owner`, with the emitters that post to it."""
        last = log.lines[-1] if log.lines else None
        posting = [
            one
            for one in self.emitters.by_id.values()
            if one.session is owner and full_name(one.stream, BUILTIN_PROVIDER) == name
        ]
        if not posting:
            return StreamSummary(name, log.count, last)
        plan = posting[0].plan
        return StreamSummary(
            name,
            log.count,
            last,
            emitters=[one.name for one in posting],
            session_injector="off" if plan.injector == "disabled" else "on",
            delivery=plan.delivery,
        )

    def mode_request(self, connection: Connection, message: ModeRequest) -> None:
        """Ask the person to switch a session's mode."""
        session = self.sessions.required(message.session_id)
        if session.view.mode == message.mode:
            self._out.send(connection.id, ModeAnswer(message.id, "unchanged"))
            return
        detail = {
            "from": session.view.mode,
            "to": message.mode,
            "asker": self.calls.tower_of(message.id) or message.asker,
            "reason": message.reason,
        }
        order = ModeOrder(session, message.mode, "", connection, message.id)
        waiting = self.approvals.request(
            "mode",
            connection,
            order,
            detail,
            self.mode_approval,
            on_decided=self.modes.decided,
            on_expired=partial(self.modes.refuse, text="nobody decided in time"),
            on_withdrawn=self.modes.refuse,
            session_id=session.id,
        )
        connection.modes[message.id] = waiting.view.id
        if session.view.unattended:
            self.approvals.decide(Decided(waiting, "deny", BY_NOBODY, reason=UNATTENDED))

    def mode_request_cancel(self, connection: Connection, message: ModeRequestCancel) -> None:
        waiting = self.approvals.waiting.get(connection.modes.pop(message.id, ""))
        if waiting is not None:
            self.approvals.withdraw(waiting, reason="the caller gave up")


def _described(provider: ConnectedProvider) -> dict[str, Any]:
    metadata = shown_metadata(provider)
    described: dict[str, Any] = {"name": provider.label, "trust": provider.view.trust}
    return described if metadata is None else {**described, "metadata": metadata}
