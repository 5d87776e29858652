"""Pushes: the one path of a line into a session. It is filtered, kept, and surfaced or injected.

Providers (over a socket or in this process) and the built-in tools take it. How many pushes a
second a provider may make in a session is in Provider Interface v2 "Push loop prevention".
"""

from contextlib import suppress
from dataclasses import dataclass

from msgspec import Raw

from tapui.core.context import CorePart
from tapui.core.deadlines import Deadline, Due, SlidingWindow
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


@dataclass(slots=True, eq=False)
class DroppedLines:
    """Lines of a stream that came too fast, and of which the stream does not tell yet. `most` is
    how many a second may come."""

    session: OpenSession
    provider: ConnectedProvider
    stream: str
    most: int
    count: int = 0
    deadline: Deadline | None = None


class _Windows:
    """The pushes of one provider into one session: all, and those that are surfaced or injected."""

    __slots__ = ("all", "reaching")

    def __init__(self) -> None:
        self.all = SlidingWindow(limits.KEPT_PER_SECOND, 1.0)
        self.reaching = SlidingWindow(limits.PUSHES_PER_SECOND, 1.0)


@dataclass(eq=False, repr=False)
class Budgets(CorePart):
    """Counts pushes, by provider and session, and has their streams say how many were dropped."""

    streams: Streams

    def __post_init__(self) -> None:
        super().__post_init__()
        self._pushes: dict[tuple[str, str], _Windows] = {}
        self._dropped: dict[tuple[str, str, str], DroppedLines] = {}
        """By session, provider and stream, until the stream tells."""

    def exceeded(
        self, provider: ConnectedProvider, session: OpenSession, level: Outcome | None = None
    ) -> int | None:
        """Count a push, and then again with its level, if it is surfaced or injected. Return how
        many a second may come where this is one too many, else None."""
        if not provider.grant.is_budgeted or level in ("keep", "drop"):
            return None
        key = (provider.id, session.id)
        windows = self._pushes.get(key)
        if windows is None:
            windows = self._pushes[key] = _Windows()
        if level is None:
            return None if windows.all.take(self._clock.now) else limits.KEPT_PER_SECOND
        return None if windows.reaching.take(self._clock.now) else limits.PUSHES_PER_SECOND

    def dropped(
        self,
        provider: ConnectedProvider,
        session: OpenSession,
        stream: str,
        most: int,
        count: int = 1,
    ) -> None:
        """Have a stream say soon that lines of it were dropped, together with those that follow."""
        key = (session.id, provider.name, stream)
        known = self._dropped.get(key)
        if known is None and len(self._dropped) >= limits.RECENT_STREAMS:
            return  # of names that a provider makes up
        if known is None:
            known = self._dropped[key] = DroppedLines(session, provider, stream, most)
            when = self._clock.now + limits.DROPPED_INTERVAL
            known.deadline = self._deadlines.add(when, Due.DROPPED, known)
        known.most = min(known.most, most)
        known.count = min(known.count + count, limits.MAX_SEQ)

    def due(self, lost: DroppedLines) -> None:
        """A stream says how many lines were dropped since it said so last."""
        provider, session = lost.provider, lost.session
        self._dropped.pop((session.id, provider.name, lost.stream), None)
        if session.is_gone:
            return
        with suppress(WireError):  # one stream too many: the provider was told
            self.streams.post(
                session.id,
                lost.stream,
                provider.name,
                level="keep",
                event=f"{lost.count:,} dropped, faster than {lost.most} a second",
                metadata=None,
                provider_id=None if provider.connection.is_builtin else provider.id,
                dropped=lost.count,
            )

    def replace_session(self, former: OpenSession, current: OpenSession) -> None:
        """Let what was counted in `former` count in `current`."""
        for provider_id in former.providers:
            if (provider_id, former.id) in self._pushes:
                self._pushes[provider_id, current.id] = self._pushes.pop((provider_id, former.id))
        for key in [key for key in self._dropped if key[0] == former.id]:
            lost = self._dropped.pop(key)
            lost.session = current
            known = self._dropped.setdefault((current.id, *key[1:]), lost)
            if known is not lost:
                known.count += lost.count
                self._deadlines.cancel(lost.deadline)

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
    dropped: int = 0
    """How many lines of the stream before it the poster has dropped."""
    waited: int = 0
    """How many milliseconds it waited at the poster."""

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
        for session in sessions if post.dropped else ():
            self.budgets.dropped(
                provider, session, post.stream, limits.PUSHES_PER_SECOND, post.dropped
            )
        levels = [self._admit(session, provider, post) for session in sessions]
        provider.last_active = self._clock.now
        return [
            self._take(session, provider, level, post)
            for session, level in zip(sessions, levels, strict=True)
            if level != "drop"
        ]

    def _admit(self, session: OpenSession, provider: ConnectedProvider, post: Post) -> Outcome:
        """Return the outcome of a post in a session. Raises `WireError` where there is no room."""
        self._require_budget(session, provider, post)
        rules = provider.hooks[session.id].filters.get(post.stream, [])
        level, is_undecided = filtered(rules, post.level, post.event)
        if is_undecided:
            self.providers.count_fault(provider)
        if level == "drop":
            return level
        self._require_budget(session, provider, post, level)
        if level == "inject" and session.is_apart:
            level = "keep"  # it takes no prompt; other sessions of the same push do
        if level == "inject" and not session.is_open:
            raise no_session(session.id)
        if level == "inject":
            self.injects.check_room(session, provider, post.prompt or post.event)
        self.streams.require_room(session.id, post.stream, provider.name)
        return level

    def _require_budget(
        self,
        session: OpenSession,
        provider: ConnectedProvider,
        post: Post,
        level: Outcome | None = None,
    ) -> None:
        most = self.budgets.exceeded(provider, session, level)
        if most is not None:
            self.budgets.dropped(provider, session, post.stream, most)
            what = "pushes" if level is None else "pushes that are surfaced or injected"
            text = f"more than {most} {what} a second"
            raise WireError(ErrorCode.RATE_LIMITED, text, session_id=session.id)

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
            waited=post.waited,
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
