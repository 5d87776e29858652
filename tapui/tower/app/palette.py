"""The palette: every action of the panes and of the app, by its words."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from tapui.text import safe_text
from tapui.tower.keys.table import TABLE

if TYPE_CHECKING:
    from tapui.tower.app.base_app import BaseApp

Command = tuple[str, str, Callable[[], object]]
"""Name, help, act."""


def commands(app: "BaseApp") -> Iterator[Command]:
    """Yield what can be done now: panes, the row under the cursor, every action, themes."""
    for kind in app.pane_kinds:
        go = partial(app.run_action, f"pane('{kind.id}')")
        yield f"Go to {kind.title}", f"key {kind.key}", go
    pane = app.main.current_pane
    for row in pane.row_actions():
        about = f"{pane.subject}, keys {app.key_of('actions')} {row.letter}"
        yield row.does[:1].upper() + row.does[1:], safe_text(about, limit=100), row.act
    for one in TABLE:
        run = _runner(app, one.action)
        if run is not None and one.id != "commands":
            yield one.does[:1].upper() + one.does[1:], f"key {app.keys_of(one.id)}", run
    yield "Next theme", "", app.themes.next
    for name in app.themes.names:
        yield f"Theme: {name}", "", partial(app.themes.choose, name)


def _runner(app: "BaseApp", action: str) -> Callable[[], object] | None:
    """Return what does an action where it can be done now: in the pane, on the screen, here."""
    name, _, arguments = action.partition("(")
    parameters = tuple(filter(None, [arguments.rstrip(")")]))
    for place in (app.main.current_pane, app.main, app):
        if hasattr(place, f"action_{name}") and place.check_action(name, parameters):
            return partial(app.run_action, action, place)
    return None


class TowerCommands(Provider):
    """What can be done, whether a key is bound to it or not."""

    def _commands(self) -> Iterator[Command]:
        return commands(cast("BaseApp", self.app))

    async def discover(self) -> Hits:
        for name, about, act in self._commands():
            yield DiscoveryHit(Content(name), act, text=name, help=about)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, about, act in self._commands():
            score = matcher.match(name)
            if score > 0:
                yield Hit(score, matcher.highlight(name), act, text=name, help=about)
