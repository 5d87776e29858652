"""One line of a stream with all that is known about it."""

from typing import ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Footer

from tapui import times
from tapui.tower.clipboard import copy_line
from tapui.tower.levels import LEVEL
from tapui.tower.reader import Part, Reader, title, value
from tapui.wire.message import Line

SHOWN_CHARS = 256 * 1024
"""Characters of the text, and of the metadata, that are shown."""


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

    def _parts(self) -> list[Part]:
        line = self.line
        mark = LEVEL[line.level]
        parts = [
            Part(mark.text, mark.tone),
            Part(f"number {line.seq} of {self._stream} in {self._session}", "muted"),
            Part(f"{times.moment(line.ts)}  {line.ts}", "muted"),
            Part(""),
            title("Text"),
            value(shortened(line.event)),
        ]
        if line.metadata is not None:
            parts += [Part(""), title("Metadata"), value(shortened(pretty(line.metadata)))]
        return parts


def pretty(raw: msgspec.Raw) -> str:
    """Return JSON indented; what is not JSON, as it is."""
    data = bytes(raw)
    try:
        return msgspec.json.format(data, indent=2).decode("utf-8", "replace")
    except (msgspec.DecodeError, RecursionError):
        return data.decode("utf-8", "replace")


def shortened(text: str) -> str:
    """Return at most `SHOWN_CHARS` of the text, and how much was left out."""
    if len(text) <= SHOWN_CHARS:
        return text
    return f"{text[:SHOWN_CHARS]}\n… {len(text) - SHOWN_CHARS:,} more characters"
