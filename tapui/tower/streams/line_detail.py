"""One line of a stream with all that is known about it."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from tapui import times
from tapui.projection.paragraphs import Paragraph, title, value
from tapui.tower.app.view import View
from tapui.tower.calls.bodies import body_of, shortened
from tapui.tower.textual.detail import DetailView, fact
from tapui.tower.wording import marks
from tapui.tower.wording.marks import LEVEL
from tapui.wire.message import Line

Lines = Callable[[], Sequence[Line]]
"""Returns the lines of the tail that its filter passes."""


class LineDetail(DetailView):
    """A line's text, whole, and its metadata. `stream` and `session` say where it is from."""

    SIGNS = marks.signs(*marks.LEVEL.values())

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "leave", "close", show=False)]

    def __init__(self, line: Line, *, stream: str, session: str, lines: Lines = tuple) -> None:
        super().__init__(str(line.seq), lambda: [str(one.seq) for one in lines()])
        self.line = line
        self.lines = lines
        self.stream = stream
        self.session = session

    def is_same(self, other: DetailView) -> bool:
        return isinstance(other, LineDetail) and other.line is self.line

    def become(self, other: DetailView) -> None:
        if isinstance(other, LineDetail):
            self.line, self.lines = other.line, other.lines
            self.stream, self.session = other.stream, other.session
        super().become(other)

    def action_leave(self) -> None:
        self.leave()

    def go_to(self, key: str) -> None:
        if key != str(self.line.seq):
            self.line = next((one for one in self.lines() if str(one.seq) == key), self.line)
        super().go_to(str(self.line.seq))

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del view, dirty
        mark = LEVEL[self.line.level]
        note = f"{mark.word}, {times.moment(self.line.ts)}"
        self.set_frame(mark, f"{self.stream} in {self.session}", note)
        self.reader.set_parts(self._parts())

    def copied(self) -> str:
        return self.line.event

    def _parts(self) -> list[Paragraph]:
        line = self.line
        parts = [
            *fact("number", f"{line.seq} of {self.stream}"),
            *fact("session", self.session),
            *fact("time", f"{times.date_and_time(line.ts)}  {line.ts}"),
            Paragraph(""),
            title("text"),
            value(shortened(line.event)),
        ]
        if line.metadata is not None:
            parts += [Paragraph(""), title("metadata"), value(body_of(line.metadata))]
        return parts
