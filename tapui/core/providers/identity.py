"""Providers that are or were connected: their identity, and the sessions they are in."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from msgspec.structs import replace

from tapui.core.context import CoreContext
from tapui.core.deadlines import Deadline, Due
from tapui.core.hooks.matching import HookSet
from tapui.core.model import ConnectedProvider, OpenSession
from tapui.core.trust.grants import Grant
from tapui.secret import Secret
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import ProviderUpdated
from tapui.wire.message import BUILTIN_PROVIDER, Tool
from tapui.wire.provider import Concurrency
from tapui.wire.subjects import YOU, Provider


@dataclass(slots=True, eq=False)
class DepartedProvider:
    """What a provider may come back to. `tools` and `hooks` are by session id."""

    view: Provider
    token: Secret
    grant: Grant
    may_bind_all: bool
    """Whether the person allowed it all sessions."""
    sessions: list[str]
    is_everywhere: bool
    former_ids: list[str]
    tools: dict[str, list[Tool]]
    offered: list[Tool]
    hooks: dict[str, HookSet]
    declared: HookSet
    limit: Concurrency | None
    subscribed: frozenset[str]
    revisions: dict[str, int]
    deadline: Deadline | None = None

    @classmethod
    def of(cls, provider: ConnectedProvider) -> "DepartedProvider":
        """Return what a provider with a reconnect token may come back to if it left now."""
        connection = provider.connection
        assert provider.reconnect is not None, "a provider comes back with a token alone"
        assert connection.grant is not None, "providers have shown a token"
        return cls(
            view=provider.view,
            token=provider.reconnect,
            grant=connection.grant,
            may_bind_all=connection.may_bind_all == provider.name,
            sessions=list(provider.sessions),
            is_everywhere=provider.is_everywhere,
            former_ids=provider.former_ids,
            tools=dict(provider.tools),
            offered=provider.offered,
            hooks=dict(provider.hooks),
            declared=provider.declared,
            limit=provider.limit,
            subscribed=provider.subscribed,
            revisions=provider.revisions,
        )

    def session_replaced(self, former: str, current: str) -> None:
        """Let it come back to the session that took the place of its own."""
        named = [current if id_ == former else id_ for id_ in self.sessions]
        self.sessions = list(dict.fromkeys(named))
        if former in self.tools:
            self.tools.setdefault(current, self.tools.pop(former))
            self.hooks.setdefault(current, self.hooks.pop(former).copy())

    def session_ended(self, session_id: str) -> None:
        """Forget what it had in a session that ended: one of the same id is another."""
        self.tools.pop(session_id, None)
        self.hooks.pop(session_id, None)


ALL = "all"

Known = TypeVar("Known", ConnectedProvider, DepartedProvider)


class Providers:
    """The registry of providers."""

    def __init__(self, context: CoreContext) -> None:
        self._clock, self._out, self._deadlines = context.clock, context.out, context.deadlines
        self._ids = context.ids
        self.connected: dict[str, ConnectedProvider] = {}
        self._departed: list[DepartedProvider] = []

    def holder(
        self,
        sessions: Iterable[OpenSession],
        name: str,
        instance: str | None,
        but: Sequence[ConnectedProvider | DepartedProvider | None] = (),
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
    ) -> ConnectedProvider | DepartedProvider | None:
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
        token = self._ids.token("tok-")
        provider.reconnect = Secret(token)
        return token

    def depart(self, provider: ConnectedProvider) -> None:
        """Remember a provider whose connection dropped, for 30 s."""
        if provider.reconnect is None:
            return
        departed = DepartedProvider.of(provider)
        departed.deadline = self._deadlines.add(
            self._clock.now + limits.RECONNECT_TTL, Due.IDENTITY, departed
        )
        self._departed.append(departed)
        if len(self._departed) > limits.MAX_DEPARTED:
            self.forget(self._departed[0])

    def forget(self, departed: DepartedProvider) -> None:
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
                counted[current] = max(counted.pop(former), counted.get(current, 0))
        for departed in self._departed:
            departed.session_replaced(former, current)

    def session_opened(self, session_id: str) -> None:
        """A session with this id opened: it is no longer the former id of another session."""
        known: list[ConnectedProvider | DepartedProvider]
        known = [*self.connected.values(), *self._departed]
        for one in known:
            if session_id in one.former_ids:
                one.former_ids = [id_ for id_ in one.former_ids if id_ != session_id]

    def session_ended(self, session_id: str) -> None:
        """Those who left a session that ended since have nothing to come back to there."""
        for departed in self._departed:
            departed.session_ended(session_id)

    def departed_grants(self) -> list[Grant]:
        """Return what those may bind who may come back."""
        return [departed.grant for departed in self._departed]

    def count_fault(self, provider: ConnectedProvider) -> None:
        """One of the provider's patterns could not be tried to its end."""
        view = provider.view
        provider.view = replace(view, pattern_faults=view.pattern_faults + 1)
        self._out.emit(ProviderUpdated(provider.view, view.session_id))

    def refresh(self, provider: ConnectedProvider) -> None:
        """Bring the provider's view up to date and say so; the built-in one is not shown."""
        view = provider.described()
        if view != provider.view:
            provider.view = view
            if provider.connection.is_builtin:
                return
            self._out.emit(ProviderUpdated(view, view.session_id))


def _if_same(known: Known, name: str, instance: str | None) -> Known | None:
    is_same = known.view.name == name and known.view.instance == instance
    return known if is_same else None


def is_reserved(name: str) -> bool:
    """Return whether a name is one by which the person or tapui is recorded."""
    folded = name.casefold().strip()
    return folded == YOU or folded.startswith("tapui")


def check_unreserved(name: str) -> None:
    """Check that a provider or a host does not take such a name. Raises `WireError`."""
    if is_reserved(name):
        text = f"name: '{name}' stands for the person or for tapui; choose another"
        raise WireError(ErrorCode.INVALID_JSON, text)


def check_name(name: str, instance: str | None) -> None:
    """Check a provider's name and instance. Raises `WireError` (`INVALID_JSON`)."""
    if not 1 <= len(name) <= limits.MAX_NAME:
        raise WireError(ErrorCode.INVALID_JSON, f"name: 1 to {limits.MAX_NAME} characters")
    if "@" in name:
        raise WireError(ErrorCode.INVALID_JSON, "name: must not contain '@'")
    if name == BUILTIN_PROVIDER:
        raise WireError(ErrorCode.INVALID_JSON, f"name: '{BUILTIN_PROVIDER}' is tapui's own")
    check_unreserved(name)
    if instance is not None and not 1 <= len(instance) <= limits.MAX_NAME:
        raise WireError(ErrorCode.INVALID_JSON, f"instance: 1 to {limits.MAX_NAME} characters")
