"""What all panes share: a title, the topics they show, and when they are painted."""

from collections.abc import Callable
from typing import ClassVar, Protocol, cast

from textual.binding import Binding
from textual.widget import Widget

from tapui.tower.view import View
from tapui.wire.message import Message


class Tower(Protocol):
    """What a pane may ask of the app it is in."""

    @property
    def view(self) -> View:
        """The model."""

    @property
    def clock(self) -> Callable[[], float]:
        """Seconds since the epoch."""

    @property
    def ticks(self) -> Callable[[], float]:
        """Seconds that only go forward."""

    def send(self, message: Message) -> None:
        """Send a message to the gateway."""

    def move(self, provider_id: str, session_id: str) -> None:
        """Move a provider to another session, as the person wants it."""


class Pane(Widget):
    """A framed part of the screen.

    The app calls `show` with the topics that changed, at most twelve times a second and only while
    the pane is visible, and once with all topics when it becomes visible. A pane is not focusable
    itself: `focus_inside` focuses its main widget.
    """

    TITLE: ClassVar[str] = ""
    TOPICS: ClassVar[frozenset[str]] = frozenset()

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

    def focus_inside(self) -> None:
        """Focus the widget of this pane that takes the keys: by default the first that can."""
        for widget in self.query("*"):
            if widget.focusable:
                widget.focus()
                return

    @classmethod
    def own_bindings(cls) -> list[Binding]:
        """Return what can be done in this kind of pane, each action once."""
        found: dict[str, Binding] = {}
        for kind in cls.__mro__:
            if issubclass(kind, Pane):
                for binding in Binding.make_bindings(kind.__dict__.get("BINDINGS", ())):
                    if binding.description:
                        found.setdefault(binding.action, binding)
        return list(found.values())
