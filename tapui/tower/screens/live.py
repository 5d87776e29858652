"""What all screens over the panes share: their place, their keys, being painted while on top."""

from typing import ClassVar, TypeVar, cast

from textual import events
from textual.binding import BindingType

from tapui.tower.app_protocol import Tower
from tapui.tower.footer import FooterLine
from tapui.tower.keys.bindings import bindings
from tapui.tower.reader import Reader
from tapui.tower.textual_inside import OverScreen, PlainApp
from tapui.tower.view import View
from tapui.wire.message import Error, Message

Result = TypeVar("Result")


class LiveScreen(OverScreen[Result]):
    """A screen over the panes, and over all of them: the header and what waits stay in sight.

    The app calls `show` as for panes; Escape or `q` closes it.
    """

    TOPICS: ClassVar[frozenset[str]] = frozenset()
    BINDINGS: ClassVar[list[BindingType]] = bindings("close-sheet", "copy")

    @property
    def tower(self) -> Tower:
        """The app, as screens know it."""
        return cast("Tower", self.app)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint what changed."""

    def send(self, message: Message) -> None:
        """Send a message to the gateway."""
        self.tower.send(message)

    async def on_event(self, event: events.Event) -> None:
        """Begin nothing while the app leaves: a screen that comes then has no children."""
        if isinstance(event, events.Mount) and cast("PlainApp", self.app).has_left:
            return
        await super().on_event(event)

    def on_mount(self) -> None:
        """Paint for the first time."""
        if not self.query(FooterLine):
            self.mount(FooterLine())
        self._cover_panes()
        self.show(self.tower.view, self.TOPICS)

    def on_resize(self) -> None:
        """Cover the panes of another terminal."""
        self._cover_panes()

    def _cover_panes(self) -> None:
        # Padding of the screen itself would be painted over what stands above the panes.
        for frame in self.query_children(".sheet, .dialog"):
            frame.styles.margin = (self.tower.lines_above, 0, 0, 0)

    def action_close(self) -> None:
        """Close it without a result."""
        self.dismiss(None)

    def copied(self) -> str:
        """Return what the key for copying takes: the text of the sheet."""
        return "\n".join(reader.plain_text for reader in self.query(Reader))

    def action_copy(self) -> None:
        """Copy the text of the sheet, or what is selected."""
        self.tower.copy(self.copied(), "The text", keeps_lines=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A sheet without a text has nothing to copy."""
        if action == "copy":
            return bool(self.copied())
        return super().check_action(action, parameters)

    def refused(self, error: Error) -> bool:
        """The gateway refused something; return whether the screen says so itself."""
        del error
        return False
