"""Budgets: how many pushes a second a provider may make in a session.

Provider Interface v2 "Push loop prevention"; `tapui/wire/README.md`.
"""

from tapui.core.context import CoreContext
from tapui.core.model import ConnectedProvider, OpenSession
from tapui.core.window import SlidingWindow
from tapui.wire import limits


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
