"""What a session changed, for towers: the folder is looked at, and compared away from the loop.
What the person puts back is written there, too.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from tapui.core.context import CorePart
from tapui.core.conversations.person_marks import PersonMarks
from tapui.core.effects import CompareFolder, FileIsBack, FilePlace, FolderCompared, PutFileBack
from tapui.core.model import Connection
from tapui.core.proof.checks import check, may_check
from tapui.core.proof.folder_states import (
    FolderState,
    StatePair,
    is_output,
    pair_of,
)
from tapui.core.proof.history import FactHistory, FolderBase, RecordedCommand
from tapui.core.proof.watching import Proof, SessionProof
from tapui.core.sessions.sessions import OpenSessions
from tapui.wire import events as ev
from tapui.wire import limits
from tapui.wire.changes import (
    ChangedFile,
    ChangesDone,
    ChangesList,
    ChangesRead,
    DiffRead,
    FileDiff,
    FilePutBack,
    FileWriter,
)
from tapui.wire.codec import encode
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.message import Error

MOST_UNDER_WAY = 20
"""Comparisons of all towers that are not answered."""
LATE = "files may have been changed in that turn before the folder was looked at"
LATE_START = "files may have been changed before the folder was first looked at"
PUT_BACK = "put back"
"""The tool by which the person changed a file."""
NOT_THEN = "it was not looked at then: compared with its newest commit"

_Reading = ChangesRead | DiffRead | FilePutBack


@dataclass(eq=False, repr=False)
class Comparisons(CorePart):
    """Handlers of `changes.read`, `diff.read` and `file.putBack`. Each raises `WireError` to
    refuse."""

    sessions: OpenSessions
    proof: Proof
    person_marks: PersonMarks

    def __post_init__(self) -> None:
        super().__post_init__()
        self._under_way = 0

    def read(self, tower: Connection, message: ChangesRead) -> None:
        """List what changed, once the folder was looked at; where it is as the tower knows it, say
        that alone."""
        watched = self._watched(message)

        def then() -> None:
            if tower.is_open and not watched.is_left and watched.history.news == message.known:
                same = ChangesList(message.id, message.session_id, look=message.known, same=True)
                self._out.send(tower.id, same)
            else:
                self._compare(tower, message, watched, self._listed)

        if message.known is None:
            self.proof.look_now(watched, then)
        else:
            self.proof.look_for_news(watched, then)

    def diff(self, tower: Connection, message: DiffRead) -> None:
        """Read the lines of one file, by the newest look."""
        watched = self._watched(message)

        def then() -> None:
            self._compare(tower, message, watched, self._told)

        if watched.history.states is None:
            self.proof.look_now(watched, then)
        else:
            then()

    def put_back(self, tower: Connection, message: FilePutBack) -> None:
        """Put a file or a hunk back, once the folder was looked at."""
        watched = self._watched(message)

        def then() -> None:
            asked = self._asked(tower, message, watched)
            if asked is None:
                return
            pair = next((one for one in asked.pairs if one.root == message.root), None)
            if pair is None:
                self._refuse(tower, message, "it is in no repository of the session")
                return
            file = FilePlace(
                message.root,
                message.path,
                message.old_path,
                old_state_id=message.old_state_id,
            )

            def put(found: FileIsBack) -> None:
                self._under_way -= 1
                self._is_back(tower, message, watched, found)

            self._under_way += 1
            ticket = self._tickets.keep(put)
            self._out.effects.append(
                PutFileBack(ticket, pair, file, message.state_id, message.hunk)
            )

        self.proof.look_now(watched, then)

    def _is_back(
        self,
        tower: Connection,
        message: FilePutBack,
        watched: SessionProof,
        found: FileIsBack,
    ) -> None:
        if found.paths and not watched.is_left:
            self.proof.person_wrote(watched, message.root, found.paths, PUT_BACK)
        if found.paths:
            self._out.emit(
                ev.FileRestored(
                    watched.session_id,
                    message.root,
                    message.path,
                    tower.by,
                    message.since,
                    message.old_path,
                    message.hunk.new if message.hunk is not None else None,
                )
            )
        if found.fault:
            self._refuse(tower, message, found.fault)
        elif tower.is_open:
            done = ChangesDone(message.id, message.session_id, kept=found.kept or None)
            self._out.send(tower.id, done)

    def _watched(self, message: _Reading) -> SessionProof:
        session = self.sessions.required(message.session_id)
        watched = self.proof.watched(session)
        if watched is None:
            text = f"tapui does not see the commands of session {session.id}"
            raise WireError(ErrorCode.NOT_FOUND, text, id=message.id, session_id=message.session_id)
        return watched

    def _compare(
        self,
        tower: Connection,
        message: ChangesRead | DiffRead,
        watched: SessionProof,
        tell: "Callable[[Connection, _Asked, FolderCompared], None]",
    ) -> None:
        asked = self._asked(tower, message, watched)
        if asked is None:
            return
        file, notes = None, self.person_marks.asked_about(watched.session_id)
        if isinstance(message, DiffRead):
            file = FilePlace(message.root, message.path, message.old_path, message.as_patch)
            notes = [one for one in notes if (one.root, one.path) == (file.root, file.path)]

        def compared(found: FolderCompared) -> None:
            self._under_way -= 1
            self.person_marks.stood(watched.session_id, notes, found.note_changes)
            if not tower.is_open:
                return
            if found.fault:
                self._refuse(tower, message, found.fault)
            else:
                tell(tower, asked, found)

        self._under_way += 1
        ticket = self._tickets.keep(compared)
        self._out.effects.append(CompareFolder(ticket, asked.pairs, file, tuple(notes)))

    def _asked(
        self, tower: Connection, message: _Reading, watched: SessionProof
    ) -> "_Asked | None":
        """Return what is to be compared; None where that was refused, or the tower is gone."""
        if not tower.is_open:
            return None
        if watched.is_left:
            self._refuse(tower, message, "the session has ended")
            return None
        if self._under_way >= MOST_UNDER_WAY:
            text = f"{MOST_UNDER_WAY} comparisons are under way"
            self._refuse(tower, message, text, ErrorCode.RATE_LIMITED)
            return None
        states = watched.history.states or ()
        if not states or not states[0].head:
            fault = states[0].why if states else ""
            self._refuse(tower, message, fault or "the folder was not looked at")
            return None
        base: FolderBase | None = None
        if message.since != "commit":
            base = self._base(watched, message)
            if base is None:
                turn = "that turn" if message.turn is None else f"turn {message.turn}"
                what = "the session's beginning" if message.since == "start" else turn
                self._refuse(tower, message, f"how {what} found the folder is not known")
                return None
        return _Asked(message, watched, base, states, watched.history.news)

    def _base(self, watched: SessionProof, message: _Reading) -> FolderBase | None:
        history = watched.history
        if message.since == "start":
            return history.began
        if message.turn is None:
            return history.newest_turn
        turns = self._out.state.turns.get(watched.session_id)
        for turn in reversed(turns.turns) if turns is not None else ():
            if turn.number == message.turn:
                return history.turns.get(turn.started_at)
        return None

    def _listed(self, tower: Connection, asked: "_Asked", found: FolderCompared) -> None:
        files: list[ChangedFile] = []
        room = limits.MAX_CHANGES_BYTES
        tell = self._teller(asked)
        for one in found.files:
            told = tell(one)
            room -= len(encode(told))
            if room < 0:
                break
            files.append(told)
        message = asked.message
        more = found.more + len(found.files) - len(files)
        began = asked.base.at if asked.base is not None else ""
        notes = list(dict.fromkeys([*asked.notes(), *found.notes]))
        answer = ChangesList(message.id, message.session_id, files, more, notes, began, asked.look)
        self._out.send(tower.id, answer)

    def _told(self, tower: Connection, asked: "_Asked", found: FolderCompared) -> None:
        message = asked.message
        file = self._teller(asked)(found.files[0])
        self._out.send(
            tower.id,
            FileDiff(
                message.id,
                message.session_id,
                file,
                list(found.hunks),
                found.patch,
                list(found.notes),
            ),
        )

    def _teller(self, asked: "_Asked") -> Callable[[ChangedFile], ChangedFile]:
        """Return what adds to a file by whom it was changed, and whether after the last check."""
        history = asked.watched.history
        last = last_check(history)
        since = asked.base.number if asked.base is not None else 0
        now = {state.root: state for state in asked.states}

        def tell(file: ChangedFile) -> ChangedFile:
            by = [
                self._other(asked.watched, file, writer) if writer.kind == "unknown" else writer
                for writer in history.writers.of(file.root, file.path, since)
            ]
            state = now.get(file.root)
            after = None if last is None or state is None else is_after(last, state, file.path)
            is_seen = self.person_marks.is_seen(asked.watched.session_id, file)
            return replace(file, by=by, is_after_check=after, is_seen=is_seen)

        return tell

    def _other(self, watched: SessionProof, file: ChangedFile, writer: FileWriter) -> FileWriter:
        """Return the other session that has written a file, where one is known."""
        for other in self.proof.others(watched.session_id):
            for one in other.history.writers.of(file.root, file.path):
                if one.kind in ("tool", "shell"):
                    session = self.sessions.open.get(other.session_id)
                    name = session.view.label if session is not None else None
                    return FileWriter("session", one.at, name or other.session_id)
        return writer

    def _refuse(
        self,
        tower: Connection,
        message: _Reading,
        text: str,
        code: ErrorCode = ErrorCode.NOT_FOUND,
    ) -> None:
        tag = str(message.__struct_config__.tag)
        error = Error(code, text, reply_to=tag, id=message.id, session_id=message.session_id)
        self._out.send(tower.id, error)


@dataclass(slots=True, frozen=True)
class _Asked:
    """A message, and what the folder was when it was taken. Without `base`: the newest commit."""

    message: _Reading
    watched: SessionProof
    base: FolderBase | None
    states: tuple[FolderState, ...]
    look: int
    """The number of the look that found it (`FactHistory.news`)."""

    @property
    def pairs(self) -> tuple[StatePair, ...]:
        known = (state for state in self.states if state.head)
        return tuple(pair_of(self._before(state.root), state) for state in known)

    def _before(self, root: str) -> FolderState | None:
        states: Sequence[FolderState] = self.base.states if self.base is not None else ()
        return next((state for state in states if state.root == root and state.head), None)

    def notes(self) -> Iterator[str]:
        """Yield what is not known of this comparison."""
        for state in self.states:
            before = self._before(state.root)
            if not state.is_whole:
                yield f"{state.root}: {state.why}"
            if before is not None and not before.is_whole:
                yield f"{state.root}, at the beginning: {before.why}"
            if self.base is not None and before is None:
                yield f"{state.root}: {NOT_THEN}"
        if self.base is not None and self.base.is_late:
            if self.message.since == "turn":
                yield LATE
            elif all(state.is_whole for state in self.base.states):
                yield LATE_START
        unseen = self.watched.history.unseen
        if unseen:
            yield f"what {unseen} has changed may be missing"


def last_check(history: FactHistory) -> RecordedCommand | None:
    """Return the newest check that ran to its end; None for none."""
    for command in history.newest():
        has_run = command.ended is not None and not command.unrun
        parts = command.reading.parts if has_run and may_check(command.text) else ()
        if any(check(part.words) is not None for part in parts):
            return command
    return None


def is_after(last: RecordedCommand, now: FolderState, path: str) -> bool | None:
    """Return whether a file has another content than when a check began; one that the check made,
    such as a snapshot, is not meant. None: not known."""

    def then(states: Sequence[FolderState] | None) -> FolderState | None:
        found = next((state for state in states or () if state.root == now.root), None)
        return found if found is not None and found.head == now.head else None

    before, after = then(last.before), then(last.after)
    known = before or after
    if known is None:
        return None
    content = now.files.get(path)
    is_made = is_output(path) and after is not None and after.files.get(path) == content
    return known.files.get(path) != content and not is_made
