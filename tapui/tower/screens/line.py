"""One line of a stream with all that is known about it."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from tapui import times
from tapui.tower.levels import LEVEL
from tapui.tower.plain import headline
from tapui.tower.reader import Paragraph, Reader, title, value
from tapui.tower.screens.live import LiveScreen
from tapui.wire.message import Line


class LineScreen(LiveScreen[None]):
    """A line's text, whole, and its metadata. `stream` and `session` say where it is from."""

    CSS_PATH = "reading.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "close", "close", show=False)]

    def __init__(self, line: Line, *, stream: str, session: str) -> None:
        super().__init__()
        self.line = line
        self._stream = stream
        self._session = session

    def compose(self) -> ComposeResult:
        """The reader in a frame."""
        with Vertical(classes="sheet"):
            yield Static("", classes="headline", markup=False)
            yield Reader()

    def on_mount(self) -> None:
        """Show the line."""
        mark = LEVEL[self.line.level]
        said = f"{times.moment(self.line.ts)}  {self._stream}  {self._session}"
        self.query_one(".headline", Static).update(headline(mark, "line", said))
        reader = self.query_one(Reader)
        reader.set_parts(self._parts())
        reader.focus()

    def copied(self) -> str:
        """Return the line's text."""
        return self.line.event

    def _parts(self) -> list[Paragraph]:
        line = self.line
        bodies = self.tower.bodies
        parts = [
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
