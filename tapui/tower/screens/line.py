"""One line of a stream with all that is known about it."""

from typing import ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Footer

from tapui import times
from tapui.tower.clipboard import copy_line
from tapui.tower.levels import LEVEL
from tapui.tower.panes.pane import Tower
from tapui.tower.reader import Paragraph, Reader, title, value
from tapui.wire.message import Line


class LineScreen(ModalScreen[None]):
    """A line's text, whole, and its metadata. `stream` and `session` say where it is from."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,i,q", "dismiss", "Close"),
        Binding("c,y", "copy", "Copy", key_display="c"),
    ]

    def __init__(self, line: Line, *, stream: str, session: str) -> None:
        super().__init__()
        self.line = line
        self._stream = stream
        self._session = session

    def compose(self) -> ComposeResult:
        """The reader in a frame."""
        frame = Vertical(Reader(), classes="frame")
        frame.border_title = "Line"
        yield frame
        yield Footer()

    def on_mount(self) -> None:
        """Show the line."""
        reader = self.query_one(Reader)
        reader.set_parts(self._parts())
        reader.focus()

    def action_copy(self) -> None:
        """Copy the line's text."""
        copy_line(self, self.line)

    def _parts(self) -> list[Paragraph]:
        line = self.line
        bodies = cast("Tower", self.app).bodies
        mark = LEVEL[line.level]
        parts = [
            Paragraph(mark.text, mark.tone),
            Paragraph(f"number {line.seq} of {self._stream} in {self._session}", "muted"),
            Paragraph(f"{times.moment(line.ts)}  {line.ts}", "muted"),
            Paragraph(""),
            title("Text"),
            value(bodies.line(line).text),
        ]
        metadata = bodies.metadata(line)
        if metadata is not None:
            parts += [Paragraph(""), title("Metadata"), value(metadata.text)]
        return parts
