"""Tickets: what waits until the shell has made an event durable, has
looked at a file, or has read records."""

from tapui.core.effects import (
    CheckFile,
    LinesBefore,
    MakeDurable,
    ReadRecords,
    RecordsAbout,
)
from tapui.core.output import Output
from tapui.wire.message import FileResult


class Tickets:
    """Asks the shell; each answer names the ticket, which gives back what waited for it."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._count = 0
        self._waiting: dict[int, object] = {}

    def make_durable(self, seq: int, subject: object) -> None:
        """Ask that event `seq` be made durable; `subject` waits for it."""
        self._out.effects.append(MakeDurable(self._keep(subject), seq))

    def check_file(self, call: object, file: FileResult, folder: str) -> None:
        """Ask where a file really is; the pair of call and file waits for it."""
        self._out.effects.append(CheckFile(self._keep((call, file)), file.path, folder))

    def read_records(
        self, session_id: str | None, wanted: LinesBefore | RecordsAbout, subject: object
    ) -> None:
        """Ask for events that memory no longer has; `subject` waits for them."""
        self._out.effects.append(ReadRecords(self._keep(subject), session_id, wanted))

    def _keep(self, subject: object) -> int:
        self._count += 1
        self._waiting[self._count] = subject
        return self._count

    def take(self, ticket: int) -> object | None:
        """Return what waited for a ticket, once."""
        return self._waiting.pop(ticket, None)
