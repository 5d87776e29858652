"""A provider that has left and may come back to what it had."""

from dataclasses import dataclass

from tapui.core.deadlines import Deadline
from tapui.core.hooks.wanted import HookSet
from tapui.core.model import ConnectedProvider
from tapui.core.trust.grants import Grant
from tapui.secret import Secret
from tapui.wire.message import Tool
from tapui.wire.provider import Concurrency
from tapui.wire.subjects import Provider


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
        assert provider.reconnect is not None, "without a token nobody comes back"
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
