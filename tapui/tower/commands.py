"""The palette: every action of the panes and of the app, by its words."""

from collections.abc import Callable, Iterator
from typing import Protocol, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

Command = tuple[str, str, Callable[[], object]]
"""Name, help, act."""


class HasCommands(Protocol):
    """The app, as the palette knows it."""

    def commands(self) -> Iterator[Command]:
        """Yield what can be done now."""


class TowerCommands(Provider):
    """What can be done, whether a key is bound to it or not."""

    def _commands(self) -> Iterator[Command]:
        return cast("HasCommands", self.app).commands()

    async def discover(self) -> Hits:
        """Offer everything."""
        for name, about, act in self._commands():
            yield DiscoveryHit(Content(name), act, text=name, help=about)

    async def search(self, query: str) -> Hits:
        """Offer what matches."""
        matcher = self.matcher(query)
        for name, about, act in self._commands():
            score = matcher.match(name)
            if score > 0:
                yield Hit(score, matcher.highlight(name), act, text=name, help=about)
