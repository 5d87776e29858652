"""What the person marks in the changes of a session: files that were seen, and notes.

The live state has the marks, and the session's ledger keeps them. A session that takes the place of
another one (`/clear`) has its marks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from tapui.core.context import CorePart
from tapui.core.model import Connection, OpenSession
from tapui.core.proof import facts as fact
from tapui.core.proof.watching import Proof, SessionProof
from tapui.core.sessions.orders import Orders
from tapui.core.sessions.sessions import OpenSessions
from tapui.projection.change_marks import LiveMarks
from tapui.projection.changed_files import notes_prompt
from tapui.wire import events as ev
from tapui.wire import limits
from tapui.wire.changes import (
    ChangedFile,
    ChangeNote,
    ChangesDone,
    FileSee,
    NoteChange,
    NoteDrop,
    NoteKeep,
    NotesTell,
)
from tapui.wire.criteria import Disposal
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.steering import SessionTell


@dataclass(eq=False, repr=False)
class PersonMarks(CorePart):
    """Handlers of `file.see`, `note.…` and `notes.tell`. Each raises `WireError` to refuse."""

    sessions: OpenSessions
    proof: Proof
    orders: Orders

    def __post_init__(self) -> None:
        super().__post_init__()
        self._out.watch(self._happened)
        self.proof.opened.append(self._restored)
        self.proof.begun_anew.append(self._keep_again)

    def of(self, session_id: str) -> LiveMarks:
        return self._out.state.marks.get(session_id) or LiveMarks()

    # Files that were seen

    def see(self, tower: Connection, message: FileSee) -> None:
        """Mark a file as seen in the state that the person was shown, or take the mark away."""
        watched = self._watched(message)
        root, path, state_id = message.root, message.path, message.state_id
        self._keep_seen(watched, root, path, state_id)
        self._out.emit(ev.FileMarked(watched.session_id, root, path, state_id))
        self._out.send(tower.id, ChangesDone(message.id, message.session_id))

    def is_seen(self, session_id: str, file: ChangedFile) -> bool:
        """Return whether a file is in the state in which the person has seen it."""
        return self.of(session_id).has_seen(file)

    # Notes

    def keep(self, tower: Connection, message: NoteKeep) -> None:
        """Keep a new note, or another text of one that was not told."""
        watched = self._watched(message)
        if not message.body.strip():
            raise WireError(ErrorCode.INVALID_JSON, "body: must not be empty", id=message.id)
        notes = self.of(watched.session_id).notes
        if message.note_id is not None:
            known = self._note(watched, message.note_id)
            if known.told_at:
                text = f"note {known.id} was told: keep another one"
                raise WireError(ErrorCode.NOT_FOUND, text, id=message.id)
            note = replace(known, body=message.body, at=self._clock.timestamp())
        else:
            if len(notes) >= limits.MAX_NOTES:
                text = f"a session has at most {limits.MAX_NOTES} notes: drop one"
                raise WireError(ErrorCode.RATE_LIMITED, text, id=message.id)
            if message.lines is not None and message.lines.last < message.lines.first:
                text = "lines: the last comes before the first"
                raise WireError(ErrorCode.INVALID_JSON, text, id=message.id)
            note = ChangeNote(
                self._ids.id("n"),
                message.root,
                message.path,
                self._clock.timestamp(),
                message.body,
                message.lines,
                message.side,
                message.quote if message.lines is not None else "",
                message.state_id,
            )
        self._put(watched, note)
        self._out.send(tower.id, ChangesDone(message.id, message.session_id, note))

    def drop(self, tower: Connection, message: NoteDrop) -> None:
        watched = self._watched(message)
        note = self._note(watched, message.note_id)
        told = fact.NoteLeft(at=self._clock.timestamp(), note_id=note.id)
        self.proof.add(watched, told)
        self._out.emit(ev.NoteDropped(watched.session_id, note.id))
        self._out.send(tower.id, ChangesDone(message.id, message.session_id))

    def dispose(
        self, session: OpenSession, note: ChangeNote, disposal: Disposal | None
    ) -> ChangeNote:
        """Keep what the person decided about a note; None: it is open again."""
        watched = self.proof.watched(session)
        if watched is None:
            raise WireError(ErrorCode.NOT_FOUND, f"no note {note.id} is there")
        decided = replace(note, disposed=disposal)
        self._put(watched, decided)
        return decided

    def tell(self, tower: Connection, message: NotesTell) -> None:
        """Tell notes to the agent as one prompt of the person's."""
        watched = self._watched(message)
        if message.note_ids is None:
            kept = self.of(watched.session_id).notes.values()
            notes = [note for note in kept if not note.told_at]
        else:
            notes = [self._note(watched, id_) for id_ in dict.fromkeys(message.note_ids)]
        if not notes:
            raise WireError(ErrorCode.NOT_FOUND, "all notes were told", id=message.id)
        text = notes_prompt(notes, watched.folder, message.text)
        if len(text) > limits.MAX_TELL:
            why = f"noteIds: {len(notes)} notes are {len(text):,} characters: tell fewer at a time"
            raise WireError(ErrorCode.PAYLOAD_TOO_LARGE, why, id=message.id)
        given = SessionTell(message.id, message.session_id, text, message.way)
        order_id = self.orders.give_text(tower, given)
        now = self._clock.timestamp()
        for note in notes:
            self._put(watched, replace(note, told_at=now, order_id=order_id, change=""))

    def stood(
        self, session_id: str, notes: Sequence[ChangeNote], found: Sequence[NoteChange]
    ) -> None:
        """Take what became of notes that the reader of folders was asked about."""
        watched = self.proof.of(session_id)
        known = self.of(session_id).notes
        for asked, change in zip(notes, found, strict=False):  # none, where it came to its end
            note = known.get(asked.id)
            if watched is None or note is None or note.told_at != asked.told_at:
                continue  # dropped, or told meanwhile
            if note.change not in (change, "changed"):
                self._put(watched, replace(note, change=change))

    def asked_about(self, session_id: str) -> list[ChangeNote]:
        """Return the notes of which something may become."""
        return [note for note in self.of(session_id).notes.values() if note.change != "changed"]

    def _watched(self, message: FileSee | NoteKeep | NoteDrop | NotesTell) -> SessionProof:
        session = self.sessions.required(message.session_id)
        watched = self.proof.watched(session)
        if watched is None:
            text = f"tapui does not see the commands of session {session.id}"
            raise WireError(ErrorCode.NOT_FOUND, text, id=message.id, session_id=message.session_id)
        return watched

    def _note(self, watched: SessionProof, note_id: str) -> ChangeNote:
        note = self.of(watched.session_id).notes.get(note_id)
        if note is None:
            raise WireError(ErrorCode.NOT_FOUND, f"no note {note_id} is there")
        return note

    def _put(self, watched: SessionProof, note: ChangeNote) -> None:
        self._keep_note(watched, note)
        self._out.emit(ev.NoteKept(watched.session_id, note))

    # The ledger

    def _keep_seen(self, watched: SessionProof, root: str, path: str, state_id: str) -> None:
        now = self._clock.timestamp()
        told = fact.SeenByPerson(at=now, root=root, path=path, state_id=state_id)
        self.proof.add(watched, told)

    def _keep_note(self, watched: SessionProof, note: ChangeNote) -> None:
        self.proof.add(watched, fact.NoteStood(at=self._clock.timestamp(), note=note))

    def _restored(self, watched: SessionProof) -> None:
        """The ledger of a session was read: its marks are there again, and those that the session
        has by now are kept."""
        id_ = watched.session_id
        known, now = watched.history.marks, self.of(id_)
        self._keep_all(watched, now)
        for (root, path), state_id in list(known.seen.items()):
            if (root, path) not in now.seen:
                self._out.emit(ev.FileMarked(id_, root, path, state_id))
        for note in list(known.notes.values()):
            if note.id not in now.notes:
                self._out.emit(ev.NoteKept(id_, note))

    def _keep_all(self, watched: SessionProof, marks: LiveMarks) -> None:
        """Keep the marks that the ledger does not have."""
        known = watched.history.marks
        for (root, path), state_id in marks.seen.items():
            if known.seen.get((root, path)) != state_id:
                self._keep_seen(watched, root, path, state_id)
        for note in marks.notes.values():
            if known.notes.get(note.id) != note:
                self._keep_note(watched, note)

    def _keep_again(self, watched: SessionProof) -> None:
        """The ledger of a session is empty again: its marks stay."""
        marks = self.of(watched.session_id)
        for (root, path), state_id in marks.seen.items():
            self._keep_seen(watched, root, path, state_id)
        for note in marks.notes.values():
            self._keep_note(watched, note)

    def _happened(self, event: ev.Event) -> None:
        match event:
            case ev.SessionReplaced(session=session):
                watched = self.proof.of(session.id)
                if watched is not None and watched.is_open:  # it was open already
                    self._keep_all(watched, self.of(session.id))
            case ev.OrderChanged(session_id=id_, order_id=order_id, state="failed"):
                self._not_told(id_, order_id)

    def _not_told(self, session_id: str, order_id: str) -> None:
        """An order has failed: the notes in it were not told."""
        watched = self.proof.of(session_id)
        notes = [one for one in self.of(session_id).notes.values() if one.order_id == order_id]
        for note in notes if watched is not None else ():
            assert watched is not None
            self._put(watched, replace(note, told_at="", order_id="", change=""))
