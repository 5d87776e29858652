"""Tokens and what they grant (Provider Interface v2 "Trust levels")."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum

from tapui.secret import Secret
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.message import Trust


class Capability(Enum):
    """What not every provider may do."""

    HOOK_RULES = "register rules before tools"
    TRANSFORMS = "change sections of the system prompt other than by appending"
    CONTEXT = "set context"
    OTHERS_STREAMS = "read other providers' streams"
    ALL_EVENTS = "subscribe to events other than those of tools"


CAPABILITIES: dict[Trust, frozenset[Capability]] = {
    "internal": frozenset(Capability),
    "project": frozenset(Capability) - {Capability.OTHERS_STREAMS},
    "external": frozenset(),
}
"""Provider Interface v2 "Provider capabilities". Tools, pushes, appending and one's own streams are
everybody's."""


@dataclass(slots=True, eq=False)
class Grant:
    """What a connection may do. `sessions` None means any; `origin` must match exactly.

    `secret` is the token that earns it; an end in this process needs none.
    """

    trust: Trust
    secret: Secret | None = None
    sessions: set[str] | None = None
    origin: str | None = None
    is_budgeted: bool = True
    """Whether pushes a second, and injects in a row, are limited."""
    is_bridge: bool = False
    """Whether the bridge of an MCP server has it, whose connections have places of their own."""
    is_for_tools: bool = False
    """Whether it is good for a session of its own alone, in which tools are listed and called."""

    def covers(self, session_id: str) -> bool:
        """Return whether a session may be bound or addressed with this token."""
        if self.is_for_tools:
            return False
        return self.sessions is None or session_id in self.sessions

    def widened(self, sessions: set[str] | None) -> "Grant":
        """Return a grant for one connection: this token's, with more sessions (None: all).

        The token itself, and other connections with it, stay unchanged.
        """
        if self.sessions is None:
            return self
        return replace(self, sessions=None if sessions is None else self.sessions | sessions)

    def is_of_token(self, other: "Grant") -> bool:
        """Return whether two connections have shown the same token."""
        return self.secret is not None and self.secret is other.secret


def require(grant: Grant, capability: Capability) -> None:
    """Check that a token grants a capability. Raises `WireError` (`UNAUTHORIZED`)."""
    if capability not in CAPABILITIES[grant.trust]:
        raise WireError(
            ErrorCode.UNAUTHORIZED, f"{grant.trust} providers may not {capability.value}"
        )


@dataclass(slots=True)
class Trustees:
    """All tokens in force."""

    grants: list[Grant] = field(default_factory=list)

    def add(self, grant: Grant) -> None:
        """Put a token in force; of those for single sessions, the oldest go when there are many."""
        self.grants.append(grant)
        scoped = [one for one in self.grants if one.sessions is not None]
        if len(scoped) > limits.MAX_SESSION_TOKENS:
            self.grants.remove(scoped[0])

    def replace_tools(self, token: Secret | None) -> Grant | None:
        """Put the token for tools alone in force, or none; return the grant that is revoked."""
        former = next((one for one in self.grants if one.is_for_tools), None)
        if former is not None:
            if token is not None and former.secret is not None and former.secret.is_same(token):
                return None
            self.grants.remove(former)
        if token is not None:
            self.grants.append(Grant("external", token, is_for_tools=True))
        return former

    def revoke(self, secret: Secret) -> None:
        """Take a token out of force; who has shown it keeps what it earned."""
        self.grants = [grant for grant in self.grants if grant.secret is not secret]

    def find(self, token: str, origin: str | None) -> Grant | None:
        """Return the grant of a token shown from `origin` (None for a native client), or None.

        Every token is compared, so that the time taken does not tell which one was close.
        """
        match: Grant | None = None
        for grant in self.grants:
            if grant.secret is not None and grant.secret.matches(token):
                match = grant
        if match is None:
            return None
        if match.trust == "external":
            return match if match.origin == origin else None
        return match if origin is None else None

    def session_ended(self, session_id: str, held: Iterable[Grant]) -> None:
        """Take a session out of every grant; an external token dies with its last session.

        `held` are the grants of connections and of providers that may come back.
        """
        for grant in (*self.grants, *held):
            if grant.sessions is not None:
                grant.sessions.discard(session_id)
        self.grants = [grant for grant in self.grants if grant.sessions is None or grant.sessions]

    def session_replaced(self, former: str, current: str, held: Iterable[Grant]) -> None:
        """Replace `former` by `current` in tokens and in `held`."""
        for grant in (*self.grants, *held):
            if grant.sessions is not None and former in grant.sessions:
                grant.sessions.discard(former)
                grant.sessions.add(current)
