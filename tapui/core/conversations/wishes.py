"""What a hello wants and may have, with what its reconnect token restores."""

from dataclasses import dataclass

from tapui.core.hooks.rules import require_rules
from tapui.core.hooks.sections import check_transforms, require_transforms
from tapui.core.hooks.wanted import HookSet
from tapui.core.model import Connection
from tapui.core.providers.departed import DepartedProvider
from tapui.core.trust.grants import Capability, Grant, require
from tapui.wire.message import Tool
from tapui.wire.provider import Concurrency, Hello, Hooks


@dataclass(slots=True, frozen=True)
class Wishes:
    """What a hello wants: its own fields and, where they are absent, what `before` had.

    `before` is what its reconnect token restores, or None.
    """

    message: Hello
    declared: HookSet
    offered: list[Tool]
    limit: Concurrency | None
    subscribed: frozenset[str]
    before: DepartedProvider | None

    @classmethod
    def of(cls, message: Hello, declared: HookSet, before: DepartedProvider | None) -> "Wishes":
        """Return what a hello wants; `declared` are its hooks, compiled."""
        if before is None:
            subscribed = frozenset(message.subscribe or ())
            return cls(
                message, declared, message.tools or [], message.concurrency, subscribed, None
            )
        return cls(
            message,
            _restored(declared, message, before.declared),
            before.offered if message.tools is None else message.tools,
            message.concurrency or before.limit,
            before.subscribed if message.subscribe is None else frozenset(message.subscribe),
            before,
        )

    @property
    def former_ids(self) -> list[str]:
        """Former ids of the session that is restored."""
        return [] if self.before is None else self.before.former_ids

    def tools_in(self, session_id: str) -> list[Tool]:
        """Return the tools for a session: those that it had there, unless the hello lists some."""
        if self.before is None or self.message.tools is not None:
            return self.offered
        return self.before.tools.get(session_id, self.offered)

    def hooks_in(self, session_id: str) -> HookSet:
        """Return the hooks for a session, likewise."""
        had = None if self.before is None else self.before.hooks.get(session_id)
        if had is None:
            return self.declared.copy()
        return _restored(self.declared, self.message, had)

    def all_hooks(self) -> list[HookSet]:
        """Return the hooks for any session."""
        had = () if self.before is None else self.before.hooks
        return [self.declared, *(self.hooks_in(session_id) for session_id in had)]


@dataclass(slots=True, frozen=True)
class Allowed:
    """What a connection may bind: by its `own` grant, and all sessions if the person allowed it
    that under the name it gives.

    What the person allowed one connection goes on to the next that shows the same token and
    continues it.
    """

    own: Grant
    is_all: bool

    @classmethod
    def of(cls, connection: Connection, name: str, before: DepartedProvider | None) -> "Allowed":
        """Return what it may bind as the provider `name`, which continues `before`."""
        own = connection.grant
        assert own is not None, "who says hello has shown a token"
        is_all = connection.may_bind_all == name
        if before is None or not before.grant.is_of_token(own):
            return cls(own, is_all)
        return cls(own.widened(before.grant.sessions), is_all or before.may_bind_all)

    @property
    def grant(self) -> Grant:
        """All of it."""
        return self.own.widened(None) if self.is_all else self.own


def check_capabilities(grant: Grant, message: Hello, wishes: Wishes) -> None:
    """Check what is wanted, restored or not, against the token that is shown now."""
    check_transforms((message.hooks or Hooks()).transforms or {})
    for wanted in wishes.all_hooks():
        require_rules(grant, wanted.rules)
        require_transforms(grant, wanted.transforms)
        if wanted.context or wanted.startup:
            require(grant, Capability.CONTEXT)
    if any(not name.startswith("tool.") for name in wishes.subscribed):
        require(grant, Capability.ALL_EVENTS)


def _restored(declared: HookSet, message: Hello, before: HookSet) -> HookSet:
    """Fill what a hello leaves out with what the provider had before it dropped."""
    hooks = message.hooks or Hooks()
    is_told = before.is_startup_told and message.startup_context is None
    return HookSet(
        before.rules if hooks.on_pre_tool_use is None else declared.rules,
        dict(before.transforms if hooks.transforms is None else declared.transforms),
        before.context if message.context is None else declared.context,
        before.startup if message.startup_context is None else declared.startup,
        dict(before.filters),
        is_told,
    )
