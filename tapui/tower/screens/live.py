"""What all screens over the panes share: a frame, and being painted while they are on top."""

from typing import ClassVar, TypeVar, cast

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tapui.tower.panes.pane import Tower
from tapui.tower.view import View
from tapui.wire.message import Error, Message

Result = TypeVar("Result")


class LiveScreen(ModalScreen[Result]):
    """A screen over the panes: the app calls `show` as for panes; Escape or `q` closes it."""

    TOPICS: ClassVar[frozenset[str]] = frozenset()
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "close", "Close")]

    @property
    def tower(self) -> Tower:
        """The app, as screens know it."""
        return cast("Tower", self.app)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint what changed."""

    def send(self, message: Message) -> None:
        """Send a message to the gateway."""
        self.tower.send(message)

    def on_mount(self) -> None:
        """Paint for the first time."""
        self.show(self.tower.view, self.TOPICS)

    def action_close(self) -> None:
        """Close it without a result."""
        self.dismiss(None)

    def refused(self, error: Error) -> None:
        """The gateway refused something; a screen that sent it may say so itself."""
