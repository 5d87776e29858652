"""Tokens and what they grant (Provider Interface v2 "Trust levels")."""

from dataclasses import dataclass, field
from enum import Enum

from tapui.secret import Secret
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

    def covers(self, session_id: str) -> bool:
        """Return whether a session may be bound or addressed with this token."""
        return self.sessions is None or session_id in self.sessions


def require(grant: Grant, capability: Capability) -> None:
    """Check that a token grants a capability. Raises `WireError` (`UNAUTHORIZED`)."""
    if capability not in CAPABILITIES[grant.trust]:
        raise WireError(
            ErrorCode.UNAUTHORIZED, f"{grant.trust} providers may not {capability.value}"
        )


@dataclass(slots=True)
class Trustees:
    """All tokens in force, and the grants of ends in this process that are for some sessions."""

    grants: list[Grant] = field(default_factory=list)

    def add(self, grant: Grant) -> None:
        """Put a grant in force: it follows its sessions when they end or are replaced."""
        self.grants.append(grant)

    def remove(self, grant: Grant) -> None:
        """Take a grant out of force; one that has died with its sessions is not there any more."""
        if grant in self.grants:
            self.grants.remove(grant)

    def find(self, token: str, origin: str | None) -> Grant | None:
        """Return the grant of a token shown from `origin` (None for a native client), or None.

        Every token is compared, so that the time taken does not tell which one was close.
        """
        found: Grant | None = None
        for grant in self.grants:
            if grant.secret is not None and grant.secret.matches(token):
                found = grant
        if found is None:
            return None
        if found.trust == "external":
            return found if found.origin == origin else None
        return found if origin is None else None

    def session_ended(self, session_id: str) -> None:
        """Take a session out of every grant; an external token dies with its last session."""
        for grant in self.grants:
            if grant.sessions is not None:
                grant.sessions.discard(session_id)
        self.grants = [grant for grant in self.grants if grant.sessions is None or grant.sessions]

    def session_replaced(self, former: str, current: str) -> None:
        """Let `current` stand where `former` was granted."""
        for grant in self.grants:
            if grant.sessions is not None and former in grant.sessions:
                grant.sessions.discard(former)
                grant.sessions.add(current)
