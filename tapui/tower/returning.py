"""The person comes back after a while: the first key shows what happened meanwhile."""

from typing import TYPE_CHECKING

from tapui.tower.digest import AWAY, UsedBefore, digest, used_now

if TYPE_CHECKING:
    from tapui.tower.base_app import BaseApp
    from tapui.tower.screens.digest import DigestScreen

_STILL_NEW = 60.0
"""Seconds. After a click, a key shows the digest only this long."""


class Returning:
    """Takes the keys that show and close the digest."""

    def __init__(self, app: "BaseApp") -> None:
        self._app = app
        self._away: tuple[float, float, UsedBefore] | None = None
        self._used: UsedBefore = {}
        self._shown: DigestScreen | None = None

    def looked(self, before: float, now: float) -> None:
        """The person pressed something at `now`, and before that at `before`."""
        if now - before >= AWAY:
            self._away = (before, now, self._used)
        self._used = used_now(self._app.view.state)

    def takes_key(self) -> bool:
        """Show or close the digest with a key; return whether that was all the key is for."""
        app = self._app
        if self._shown is not None and app.screen is self._shown:
            self._shown.dismiss(None)
            return True
        away, self._away = self._away, None
        if away is None or app.clock() - away[1] > _STILL_NEW:
            return False
        found = digest(app.view.state, app.view.decided_at, *away)
        if found.is_empty:
            return False
        from tapui.tower.screens.digest import DigestScreen

        self._shown = DigestScreen(found)
        app.push_screen(self._shown)
        return True
