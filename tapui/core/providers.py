"""Providers that are or were connected: their identity, and the sessions they are in.

Provider Interface v2 "Reconnect protocol" and "Identity protection"; design section 5,
"Identity, tools, updates".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from tapui.core.connection import Connection
from tapui.core.deadlines import Deadline, Deadlines, Due
from tapui.core.hooks import HookSet
from tapui.core.mint import Mint
from tapui.core.output import Output
from tapui.core.sessions import OpenSession
from tapui.core.trust import Grant
from tapui.secret import Secret
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import Provider, ProviderUpdated
from tapui.wire.message import Tool
from tapui.wire.provider import Concurrency

if TYPE_CHECKING:
    from tapui.core.calls import PendingCall

ALL = "all"


@dataclass(slots=True, eq=False)
class ConnectedProvider:
    """A provider behind a connection. `tools` are its definitions by session id."""

    view: Provider
    connection: Connection
    grant: Grant
    sessions: dict[str, OpenSession] = field(default_factory=dict)
    is_everywhere: bool = False
    tools: dict[str, list[Tool]] = field(default_factory=dict)
    calls: "dict[str, PendingCall]" = field(default_factory=dict)
    """Calls that it has not answered, by id; those being cancelled too."""
    running: int = 0
    """How many of them are not yet settled."""
    reconnect: Secret | None = None
    revisions: dict[str, int] = field(default_factory=dict)
    hooks: dict[str, HookSet] = field(default_factory=dict)
    """What it wants before tools and of prompts, by session id."""
    declared: HookSet = field(default_factory=HookSet)
    """What it wants in sessions that it has yet to enter."""
    gates: set[str] = field(default_factory=set)
    """Questions about calls that it has not answered."""
    transforming: set[str] = field(default_factory=set)
    """Questions about sections that it has not answered."""
    last_active: float = 0.0
    """When it was last called, answered or pushed."""
    limit: Concurrency | None = None
    subscribed: frozenset[str] = frozenset()
    had_no_choice: bool = False
    """It sits on the local session because there was no other when it came."""
    offered: list[Tool] = field(default_factory=list)
    """The tools with which it enters a further session, or comes back."""

    @property
    def id(self) -> str:
        """The provider id of `hello.ack`."""
        return self.view.id

    @property
    def name(self) -> str:
        """The name it gave itself."""
        return self.view.name

    @property
    def label(self) -> str:
        """Name and instance, for people."""
        return f"{self.name}/{self.view.instance}" if self.view.instance else self.name

    def described(self) -> Provider:
        """Return the view, with what it offers and wants now."""
        hooks = next(iter(self.hooks.values()), self.declared)
        return replace(
            self.view,
            tools=self.tool_names(),
            rules=len(hooks.rules),
            sections={name: one.action for name, one in hooks.transforms.items()},
            context=hooks.context,
            revision=max(self.revisions.values(), default=0),
        )

    def revise(self, session_id: str) -> int:
        """Count a change in one session; return its revision there."""
        revision = self.revisions[session_id] = self.revisions.get(session_id, 0) + 1
        return revision

    def is_in(self, session: OpenSession) -> bool:
        """Return whether it is in this session, not in an ended one of the same id."""
        return self.sessions.get(session.id) is session

    def tool_names(self) -> list[str]:
        """Return the names of its tools in any session, each once."""
        return list(dict.fromkeys(tool.name for tools in self.tools.values() for tool in tools))


@dataclass(slots=True, eq=False)
class Departed:
    """What a provider that dropped may come back to."""

    view: Provider
    token: Secret
    sessions: list[str]
    is_everywhere: bool
    offered: list[Tool]
    declared: HookSet
    limit: Concurrency | None
    subscribed: frozenset[str]
    revisions: dict[str, int]
    deadline: Deadline


Known = TypeVar("Known", ConnectedProvider, Departed)


class Providers:
    """The registry of providers."""

    def __init__(self, out: Output, deadlines: Deadlines, mint: Mint) -> None:
        self._out = out
        self._deadlines = deadlines
        self._mint = mint
        self.connected: dict[str, ConnectedProvider] = {}
        self._departed: list[Departed] = []

    def holder(
        self,
        sessions: Iterable[OpenSession],
        name: str,
        instance: str | None,
        but: "Sequence[ConnectedProvider | Departed | None]" = (),
    ) -> ConnectedProvider | None:
        """Return who has an identity in one of the sessions, other than those in `but`, or None."""
        for session in sessions:
            for provider in session.providers.values():
                if provider in but:
                    continue
                if provider.name == name and provider.view.instance == instance:
                    return provider
        return None

    def returning(
        self, token: str | None, name: str, instance: str | None
    ) -> ConnectedProvider | Departed | None:
        """Return what a reconnect token stands for, if it fits the identity; else None."""
        if token is None:
            return None
        for provider in self.connected.values():
            if provider.reconnect is not None and provider.reconnect.matches(token):
                return _if_same(provider, name, instance)
        for departed in self._departed:
            if departed.token.matches(token):
                return _if_same(departed, name, instance)
        return None

    def renew(self, provider: ConnectedProvider) -> str:
        """Give the provider a fresh reconnect token; the former one is spent."""
        token = self._mint.token("tok-")
        provider.reconnect = Secret(token)
        return token

    def depart(self, provider: ConnectedProvider) -> None:
        """Remember a provider whose connection dropped, for 30 s."""
        if provider.reconnect is None:
            return
        departed = Departed(
            view=provider.view,
            token=provider.reconnect,
            sessions=list(provider.sessions),
            is_everywhere=provider.is_everywhere,
            offered=provider.offered,
            declared=provider.declared,
            limit=provider.limit,
            subscribed=provider.subscribed,
            revisions=provider.revisions,
            deadline=None,  # type: ignore[arg-type]  # set below: it refers back
        )
        departed.deadline = self._deadlines.add(
            self._out.now + limits.RECONNECT_TTL, Due.IDENTITY, departed
        )
        self._departed.append(departed)

    def forget(self, departed: Departed) -> None:
        """Drop a departed provider: it came back, or 30 s are over."""
        self._deadlines.cancel(departed.deadline)
        if departed in self._departed:
            self._departed.remove(departed)

    def session_replaced(self, former: str, current: str) -> None:
        """Let those who left a session come back to the one that took its place.

        Revisions go on counting there.
        """
        revisions = [one.revisions for one in self.connected.values()]
        revisions += [one.revisions for one in self._departed]
        for counted in revisions:
            if former in counted:
                counted[current] = counted.pop(former)
        for departed in self._departed:
            departed.sessions = [current if id_ == former else id_ for id_ in departed.sessions]

    def count_fault(self, provider: ConnectedProvider) -> None:
        """One of the provider's patterns could not be tried to its end."""
        view = provider.view
        provider.view = replace(view, pattern_faults=view.pattern_faults + 1)
        self._out.emit(ProviderUpdated(provider.view, view.session_id))

    def refresh(self, provider: ConnectedProvider) -> None:
        """Bring the provider's view up to date and say so."""
        view = provider.described()
        if view != provider.view:
            provider.view = view
            self._out.emit(ProviderUpdated(view, view.session_id))


def _if_same(known: Known, name: str, instance: str | None) -> Known | None:
    is_same = known.view.name == name and known.view.instance == instance
    return known if is_same else None


def check_name(name: str, instance: str | None) -> None:
    """Check a provider's name and instance. Raises `WireError` (`INVALID_JSON`)."""
    if not 1 <= len(name) <= limits.MAX_NAME:
        raise WireError(ErrorCode.INVALID_JSON, f"name: 1 to {limits.MAX_NAME} characters")
    if "@" in name:
        raise WireError(ErrorCode.INVALID_JSON, "name: must not contain '@'")
    if name == "tap":
        raise WireError(ErrorCode.INVALID_JSON, "name: 'tap' is tapui's own")
    if instance is not None and not 1 <= len(instance) <= limits.MAX_NAME:
        raise WireError(ErrorCode.INVALID_JSON, f"instance: 1 to {limits.MAX_NAME} characters")
