"""Pushes: the one path of a line into a session. It is filtered, kept, and surfaced or injected.

Providers (over a socket or in this process) and the built-in tools take it. How many pushes a
second a provider may make in a session is in Provider Interface v2 "Push loop prevention".
"""

from dataclasses import dataclass

from msgspec import Raw

from tapui.core.context import CoreContext, CorePart
from tapui.core.deadlines import SlidingWindow
from tapui.core.hooks.matching import Outcome
from tapui.core.model import ConnectedProvider, HeldInject, OpenSession
from tapui.core.providers.identity import Providers
from tapui.core.sessions.sessions import no_session
from tapui.core.streams.injects import Injects
from tapui.core.streams.streams import Streams, filtered, full_name
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.host import Sender, SessionLog
from tapui.wire.message import Level, Line


class Budgets:
    """Counts pushes, by provider and session."""

    def __init__(self, context: CoreContext) -> None:
        self._clock = context.clock
        self._pushes: dict[tuple[str, str], SlidingWindow] = {}

    def may_push(self, provider: ConnectedProvider, session: OpenSession) -> bool:
        """Count a push; return whether it is within the budget, if the provider has one."""
        if not provider.grant.is_budgeted:
            return True
        key = (provider.id, session.id)
        window = self._pushes.get(key)
        if window is None:
            window = self._pushes[key] = SlidingWindow(limits.PUSHES_PER_SECOND, 1.0)
        return window.take(self._clock.now)

    def replace_session(self, former: OpenSession, current: OpenSession) -> None:
        """Let what was counted in `former` count in `current`."""
        for provider_id in former.providers:
            if (provider_id, former.id) in self._pushes:
                self._pushes[provider_id, current.id] = self._pushes.pop((provider_id, former.id))

    def forget_provider(self, session: OpenSession, provider: ConnectedProvider) -> None:
        """Forget what a provider pushed in a session that it left."""
        self._pushes.pop((provider.id, session.id), None)


@dataclass(slots=True, frozen=True)
class Post:
    """What is posted to one of the poster's own streams; `prompt` is injected in `event`'s place.

    `metadata` is a JSON object. Raises `WireError` (`INVALID_JSON`) for an empty text and for what
    is no name of a stream.
    """

    stream: str
    level: Level
    event: str
    prompt: str | None = None
    metadata: Raw | None = None

    def __post_init__(self) -> None:
        if not self.event.strip() or not (self.prompt or self.event).strip():
            raise WireError(ErrorCode.INVALID_JSON, "event: must not be empty")
        if "@" in self.stream or not 1 <= len(self.stream) <= limits.MAX_NAME:
            raise WireError(
                ErrorCode.INVALID_JSON, f"stream: 1 to {limits.MAX_NAME} characters, no '@'"
            )


@dataclass(eq=False, repr=False)
class Pushes(CorePart):
    """Takes what is posted."""

    providers: Providers
    streams: Streams
    budgets: Budgets
    injects: Injects

    def push(
        self, provider: ConnectedProvider, sessions: list[OpenSession], post: Post
    ) -> list[Line]:
        """Post to the same stream of each session; return the lines that no filter dropped.

        All sessions take it, or none. Raises `WireError` (`RATE_LIMITED`, or `PAYLOAD_TOO_LARGE`
        for one stream too many) with the session that has no room.
        """
        levels = [self._admit(session, provider, post) for session in sessions]
        provider.last_active = self._clock.now
        return [
            self._take(session, provider, level, post)
            for session, level in zip(sessions, levels, strict=True)
            if level != "drop"
        ]

    def _admit(self, session: OpenSession, provider: ConnectedProvider, post: Post) -> Outcome:
        """Return the outcome of a post in a session. Raises `WireError` where there is no room."""
        if not self.budgets.may_push(provider, session):
            text = f"more than {limits.PUSHES_PER_SECOND} pushes a second"
            raise WireError(ErrorCode.RATE_LIMITED, text, session_id=session.id)
        rules = provider.hooks[session.id].filters.get(post.stream, [])
        level, is_undecided = filtered(rules, post.level, post.event)
        if is_undecided:
            self.providers.count_fault(provider)
        if level == "drop":
            return level
        if level == "inject" and session.is_apart:
            level = "keep"  # it takes no prompt; other sessions of the same push do
        if level == "inject" and not session.is_open:
            raise no_session(session.id)
        if level == "inject":
            self.injects.check_room(session, provider, post.prompt or post.event)
        self.streams.require_room(session.id, post.stream, provider.name)
        return level

    def _take(
        self, session: OpenSession, provider: ConnectedProvider, level: Level, post: Post
    ) -> Line:
        line = self.streams.post(
            session.id,
            post.stream,
            provider.name,
            level=level,
            event=post.event,
            metadata=post.metadata,
            provider_id=None if provider.connection.is_builtin else provider.id,
        )
        if level == "surface":
            text = f"{full_name(post.stream, provider.name)}: {post.event}"
            self._out.send(session.host, SessionLog(session.id, text, "info"))
        elif level == "inject":
            sender = Sender(provider.name, post.stream)
            prompt = post.prompt or post.event
            is_braked = provider.grant.is_budgeted
            self.injects.inject(session, HeldInject(sender, prompt, provider, is_braked))
        return line
