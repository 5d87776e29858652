"""Tickets: what waits until the shell has made an event durable, has copied a file, has read
records, or knows a process."""

from dataclasses import dataclass

from msgspec.structs import replace

from tapui.core.effects import (
    CheckEmitter,
    ConnectionId,
    CopyFile,
    EarlierTurns,
    Identify,
    KeepConsent,
    LinesAfter,
    LinesBefore,
    MakeDurable,
    ReadEmitters,
    ReadRecords,
    ReadRules,
    RecordsAbout,
    SaveEmitter,
    TryFilter,
)
from tapui.core.model import OpenSession, PendingCall
from tapui.core.output import Output
from tapui.wire.message import FileResult
from tapui.wire.provider import FilterRule


@dataclass(frozen=True, slots=True)
class FolderWanted:
    """The rules of a session's folder are awaited."""

    session: OpenSession


class Tickets:
    """Asks the shell; each answer names the ticket, which gives back what waited for it."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._count = 0
        self._waiting: dict[int, object] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def make_durable(self, seq: int, subject: object) -> None:
        """Ask that event `seq` be made durable; `subject` waits for it."""
        self._out.effects.append(MakeDurable(self._keep(subject), seq))

    def copy_file(self, call: PendingCall, file: FileResult, folder: str) -> None:
        """Ask for a copy of a result's file; the pair of call and file waits for it."""
        ticket, ttl = self._keep((call, file)), file.ttl
        self._out.effects.append(
            CopyFile(ticket, file.path, folder, call.session.id, call.view.id, ttl)
        )

    def identify(self, connection: ConnectionId, subject: object) -> None:
        """Ask which process is behind a connection; `subject` waits for it."""
        self._out.effects.append(Identify(self._keep(subject), connection))

    def read_records(
        self,
        session_id: str | None,
        wanted: LinesBefore | LinesAfter | RecordsAbout | EarlierTurns,
        subject: object,
    ) -> None:
        """Ask for events that memory no longer has; `subject` waits for them."""
        self._out.effects.append(ReadRecords(self._keep(subject), session_id, wanted))

    def read_rules(self, session: OpenSession) -> None:
        """Ask which rules the files of a session's folder add; the session waits for them."""
        ticket = self._keep(FolderWanted(session))
        self._out.effects.append(ReadRules(ticket, session.view.cwd))

    def read_emitters(self, cwd: str, subject: object) -> None:
        """Ask for the emitters of a folder's file; `subject` waits for them."""
        self._out.effects.append(ReadEmitters(self._keep(subject), cwd))

    def check_emitter(self, folder: str, name: str, subject: object, *, is_provider: bool) -> None:
        """Ask whether an emitter, or a provider, may start; `subject` waits for it."""
        self._out.effects.append(CheckEmitter(self._keep(subject), folder, name, is_provider))

    def keep_consent(
        self,
        folder: str,
        name: str,
        digest: str,
        subject: object,
        *,
        later_versions: bool,
        is_provider: bool,
    ) -> None:
        """Ask that a consent be kept; `subject` waits for that."""
        effect = KeepConsent(self._keep(subject), folder, name, digest, later_versions, is_provider)
        self._out.effects.append(effect)

    def save_emitter(self, effect: SaveEmitter, subject: object) -> None:
        """Ask that an emitter be written into its file, by an effect without its ticket; `subject`
        waits for that."""
        self._out.effects.append(replace(effect, ticket=self._keep(subject)))

    def try_filter(
        self, rules: tuple[FilterRule, ...], lines: tuple[str, ...], subject: object
    ) -> None:
        """Ask what rules make of lines; `subject` waits for it."""
        self._out.effects.append(TryFilter(self._keep(subject), rules, lines))

    def _keep(self, subject: object) -> int:
        self._count += 1
        self._waiting[self._count] = subject
        return self._count

    def take(self, ticket: int) -> object | None:
        """Return what waited for a ticket, once."""
        return self._waiting.pop(ticket, None)
