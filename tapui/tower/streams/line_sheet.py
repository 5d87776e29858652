"""One line of a stream with all that is known about it."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from tapui import times
from tapui.projection.paragraphs import Paragraph, title, value
from tapui.tower.app.view import View
from tapui.tower.calls.bodies import body_of, shortened
from tapui.tower.textual.sheet import Sheet, fact
from tapui.tower.wording.marks import LEVEL
from tapui.wire.message import Line

Lines = Callable[[], Sequence[Line]]
"""Returns the lines of the tail that its filter passes."""


class LineScreen(Sheet):
    """A line's text, whole, and its metadata. `stream` and `session` say where it is from."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "close", "close", show=False)]

    def __init__(self, line: Line, *, stream: str, session: str, lines: Lines = tuple) -> None:
        super().__init__(str(line.seq), lambda: [str(one.seq) for one in lines()])
        self.line = line
        self._lines = lines
        self._stream = stream
        self._session = session

    def go_to(self, key: str) -> None:
        self.line = next((one for one in self._lines() if str(one.seq) == key), self.line)
        super().go_to(str(self.line.seq))

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del view, dirty
        mark = LEVEL[self.line.level]
        note = f"{mark.word}, {times.moment(self.line.ts)}"
        self.set_frame(mark, f"{self._stream} in {self._session}", note)
        self.reader.set_parts(self._parts())

    def copied(self) -> str:
        return self.line.event

    def _parts(self) -> list[Paragraph]:
        line = self.line
        parts = [
            *fact("number", f"{line.seq} of {self._stream}"),
            *fact("session", self._session),
            *fact("time", f"{times.date_and_time(line.ts)}  {line.ts}"),
            Paragraph(""),
            title("text"),
            value(shortened(line.event)),
        ]
        if line.metadata is not None:
            parts += [Paragraph(""), title("metadata"), value(body_of(line.metadata))]
        return parts
