"""One record that was found, in full."""

import shlex
from collections.abc import Callable

from tapui import invocation, times
from tapui.tower.finding import FoundRecord, RecordText
from tapui.tower.marks import Mark
from tapui.tower.reader import Paragraph, Reader, title, value
from tapui.tower.screens.sheet import Keys, Sheet, fact
from tapui.tower.view import View

_ERROR = Mark("✗", "error", "error")


class RecordScreen(Sheet):
    """A record with its session, turn and file. `found` knows the rows, `read` asks for a record;
    it comes by `set_record`."""

    def __init__(
        self,
        key: str,
        keys: Keys,
        found: Callable[[str], FoundRecord | None],
        read: Callable[[FoundRecord], None],
    ) -> None:
        super().__init__(key, keys)
        self._found = found
        self._read = read
        self._shown = found(key)
        self._record: RecordText | None = None
        self._is_gone = False
        if self._shown is not None:
            read(self._shown)

    def go_to(self, key: str) -> None:
        """Show another record."""
        self._shown = self._found(key)
        self._record, self._is_gone = None, False
        if self._shown is not None:
            self._read(self._shown)
        super().go_to(key)

    def set_record(self, key: str, record: RecordText | None) -> None:
        """The record was read; None if it is no longer there."""
        if key == self.key:
            self._record, self._is_gone = record, record is None
            if self.query(Reader):  # else it is still being made, and will show it by itself
                self.show(self.tower.view, self.TOPICS)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint what is there of it."""
        del view, dirty
        found = self._shown
        if found is None:
            return
        mark = _ERROR if found.kind == "error" else Mark("·", found.kind, "muted")
        self.set_frame(mark, found.title, f"{found.kind}, {times.date_and_time(found.ts)}")
        self.reader.set_parts(self._parts(found))

    def _parts(self, found: FoundRecord) -> list[Paragraph]:
        record = self._record
        session = found.session_id
        masked = record.masked if record is not None else 0
        parts = [
            *fact("session", f"{found.session} ({session})" if session else None),
            *fact("turn", None if found.turn is None else str(found.turn)),
            *fact("replay", _replay(session) if session else None),
            *fact("file", record.path if record is not None else None),
            *fact("masked", f"{masked} of what looked like secrets" if masked else None),
            *fact("cut", "the record has only the beginning" if found.is_cut else None),
            Paragraph(""),
            title("record"),
        ]
        if self._is_gone:
            return [*parts, value("It was deleted since it was found.")]
        return [*parts, value(record.text if record is not None else "reading …")]


def _replay(session_id: str) -> str:
    return invocation.command(f"replay {shlex.quote(session_id)}")
