"""What the person has marked in a session's changes: the fold of its events, and of its facts."""

from dataclasses import dataclass, field

from tapui.wire import limits
from tapui.wire.changes import ChangedFile, ChangeMarks, ChangeNote, SeenFile


@dataclass(slots=True)
class LiveMarks:
    """Files that were seen, by root and path, with their states then; and notes by id, oldest
    first."""

    seen: dict[tuple[str, str], str] = field(default_factory=dict)
    notes: dict[str, ChangeNote] = field(default_factory=dict)

    def see(self, root: str, path: str, state_id: str) -> None:
        """Mark a file as seen in a state; "": not seen any more."""
        self.seen.pop((root, path), None)
        if state_id:
            self.seen[root, path] = state_id
        if len(self.seen) > limits.MAX_SEEN_FILES:
            del self.seen[next(iter(self.seen))]

    def has_seen(self, file: ChangedFile) -> bool:
        """Return whether a file is in the state in which it was seen."""
        return bool(file.state_id) and self.seen.get((file.root, file.path)) == file.state_id

    def notes_on(self, root: str, path: str) -> list[ChangeNote]:
        return [note for note in self.notes.values() if (note.root, note.path) == (root, path)]

    def keep(self, note: ChangeNote) -> None:
        self.notes[note.id] = note
        if len(self.notes) > limits.MAX_NOTES:  # of records that are not whole
            del self.notes[next(iter(self.notes))]

    def drop(self, note_id: str) -> None:
        self.notes.pop(note_id, None)

    @property
    def untold(self) -> list[ChangeNote]:
        """The notes that were not told to the agent."""
        return [note for note in self.notes.values() if not note.told_at]

    def told(self, session_id: str) -> ChangeMarks:
        """Return all of it as a snapshot has it."""
        seen = [SeenFile(root, path, id_) for (root, path), id_ in self.seen.items()]
        return ChangeMarks(session_id, seen, list(self.notes.values()))

    @classmethod
    def of(cls, told: ChangeMarks) -> "LiveMarks":
        return cls(
            {(one.root, one.path): one.state_id for one in told.seen},
            {note.id: note for note in told.notes},
        )
