"""What all panes share: a title, the topics they show, and when they are painted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol, cast

from textual.binding import Binding
from textual.widget import Widget

from tapui.tower.bodies import Bodies
from tapui.tower.view import View
from tapui.wire.message import Message


class Tower(Protocol):
    """What a pane may ask of the app it is in."""

    @property
    def view(self) -> View:
        """The model."""

    @property
    def bodies(self) -> Bodies:
        """Where sheets get long values."""

    @property
    def clock(self) -> Callable[[], float]:
        """Seconds since the epoch."""

    @property
    def ticks(self) -> Callable[[], float]:
        """Seconds that only go forward."""

    @property
    def token_file(self) -> str:
        """Where providers find their token."""

    @property
    def is_demo(self) -> bool:
        """Whether this is the demonstration already."""

    def send(self, message: Message) -> None:
        """Send a message to the gateway."""

    def move(self, provider_id: str, session_id: str) -> None:
        """Move a provider to another session, as the person wants it."""

    async def show_pane(self, pane_id: str) -> None:
        """Make a pane the current one, painted and with the keys."""

    def give_way(self) -> None:
        """A piece of longer work is done: others may go first."""

    def wake(self) -> None:
        """Something changed that the next frame shows, such as the selected row."""


COLUMNS = 3
"""Columns of the widest layout. The first is always seen where there are two; the others take
turns there."""


@dataclass(frozen=True, slots=True)
class PaneKind:
    """A pane as the tower lists it: what is known before it is made.

    `load` imports its class: a pane that is not seen costs nothing. `column` (0 to 2, from the
    left) and `share` (of the column's height) say where it is when several panes are seen.
    `note` is told beside its title, such as how many calls run; `alert` says whether it waits for
    the person.
    """

    id: str
    key: str
    title: str
    load: "Callable[[], type[Pane]]"
    column: int
    share: int = 1
    note: Callable[[View], str] = lambda _view: ""
    alert: Callable[[View], bool] = lambda _view: False


class Pane(Widget):
    """A framed part of the screen.

    The app calls `show` with the topics that changed, at most twelve times a second and only while
    the pane is visible, and once with all topics when it becomes visible. A pane is not focusable
    itself: `focus_inside` focuses its main widget. Its title, key and place are in the registry.
    """

    TOPICS: ClassVar[frozenset[str]] = frozenset()
    kind: PaneKind

    @property
    def tower(self) -> Tower:
        """The app, as panes know it."""
        return cast("Tower", self.app)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint what changed. `dirty` holds at least one of `TOPICS`."""
        raise NotImplementedError

    def send(self, message: Message) -> None:
        """Send a message to the gateway."""
        self.tower.send(message)

    def set_empty(self, is_empty: bool) -> None:
        """Show the first steps instead of the content, or the content again.

        Content that hides gives its focus up first: Textual would hand it to another pane.
        """
        if is_empty and self.has_pseudo_class("focus-within"):
            self.screen.set_focus(None)
        self.set_class(is_empty, "-empty")

    def main_widget(self) -> Widget | None:
        """Return the widget that takes the keys: by default the first that can."""
        return next((widget for widget in self.query("*") if widget.focusable), None)

    def focus_inside(self) -> None:
        """Give this pane the keys, at once; an empty pane takes none."""
        widget = None if self.has_class("-empty") else self.main_widget()
        self.screen.set_focus(widget, scroll_visible=False)

    @classmethod
    def own_bindings(cls) -> list[Binding]:
        """Return what can be done in this kind of pane, each action once, with all its keys."""
        found: dict[str, Binding] = {}
        for kind in cls.__mro__:
            if issubclass(kind, Pane):
                for binding in kind.__dict__.get("BINDINGS", ()):
                    if isinstance(binding, Binding) and binding.description:
                        found.setdefault(binding.action, binding)
        return list(found.values())
