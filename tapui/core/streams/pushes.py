"""Pushes: a line is filtered, kept, and surfaced or injected as its level says."""

from msgspec import Raw

from tapui.core.clock import Clock
from tapui.core.model import ConnectedProvider, HeldInject, OpenSession
from tapui.core.output import Output
from tapui.core.providers.identity import Providers
from tapui.core.sessions.membership import Membership
from tapui.core.streams.budgets import Budgets
from tapui.core.streams.streams import Outcome, Streams, full_name
from tapui.wire import limits
from tapui.wire.codec import optional_object
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.host import Sender, SessionLog
from tapui.wire.message import Level
from tapui.wire.provider import Push


class Pushes:
    """Takes what providers push."""

    def __init__(
        self,
        *,
        clock: Clock,
        out: Output,
        membership: Membership,
        providers: Providers,
        streams: Streams,
        budgets: Budgets,
    ) -> None:
        self._clock = clock
        self._out = out
        self._membership = membership
        self._providers = providers
        self._streams = streams
        self._budgets = budgets

    def push(self, provider: ConnectedProvider, message: Push) -> None:
        """Store an event; surface or inject it as its level, or the stream's filter, says."""
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
            sessions = [self._membership.session_of(provider, message.session_id, "push")]
        # A broadcast is taken by all its sessions, or by none.
        levels = [self._admit(session, provider, stream, message, text) for session in sessions]
        provider.last_active = self._clock.now
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
        if not self._budgets.may_push(provider.id, session.id):
            raise _limited(session, f"more than {limits.PUSHES_PER_SECOND} pushes a second")
        own: Level = "inject" if message.prompt else message.level
        name = full_name(stream, provider.name)
        level, is_undecided = self._streams.filtered(session.id, name, own, text)
        if is_undecided:
            self._providers.count_fault(provider)
        if level == "drop":
            return level
        if level == "inject" and not self._budgets.may_hold(session, provider):
            raise _limited(session, f"{limits.MAX_HELD_INJECTS} injects wait for the session")
        self._streams.require_room(session.id, stream, provider.name)
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
        name = full_name(stream, provider.name)
        self._streams.post(
            session.id,
            stream,
            provider.name,
            level=level,
            event=text,
            metadata=metadata,
            provider_id=provider.id,
        )
        if level == "surface":
            self._out.send(session.host, SessionLog(session.id, f"{name}: {text}", "info"))
        elif level == "inject":
            sender = Sender(provider.name, stream)
            self._budgets.inject(session, HeldInject(sender, message.prompt or text, provider))


def _limited(session: OpenSession, text: str) -> WireError:
    return WireError(ErrorCode.RATE_LIMITED, text, session_id=session.id)
