"""The shell's side of proof: ledgers in memory, and folders with files that a test changes."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import structs

from tapui.core.effects import (
    CloseLedger,
    CompareFolder,
    FactsKept,
    FileIsBack,
    FilePlace,
    FileSeen,
    FilesSeen,
    FolderCompared,
    KeepFacts,
    LedgerOpened,
    LinesRead,
    LinesWanted,
    LookAtFiles,
    LookAtFolder,
    OpenLedger,
    ProofEffect,
    PutFileBack,
    SurfaceRead,
)
from tapui.core.proof import ledger
from tapui.core.proof.folder_states import DELETED, FolderState, StatePair, state_id
from tapui.wire.changes import ChangedFile, ChangeNote, ChangeState, NoteChange
from tapui.wire.criteria import FileIs

if TYPE_CHECKING:
    from tests.core.harness import Conversation


def _is_in(pattern: str, text: str) -> bool:
    return re.search(pattern, text) is not None


def _old_state_id(pair: StatePair, path: str) -> str:
    return state_id(pair.before.get(path, "as in the newest commit"))


class ProofShell:
    """Answers at once, or what a test holds back later."""

    def __init__(self, talk: "Conversation") -> None:
        self._talk = talk
        self.ledgers: dict[str, bytes] = {}
        self.open: dict[int, str] = {}
        self.files: dict[str, str] = {}
        """The contents of dirty files, by path: of every folder."""
        self.packages: tuple[str, ...] = ()
        self.is_whole = True
        self.why_partial = "it has too many files"
        self.is_changed = False
        """Whether something else has changed the next ledger that is written to."""
        self.fault = ""
        """Why nothing can be written."""
        self.holds: tuple[type[ProofEffect], ...] = ()
        self.held: list[ProofEffect] = []
        self.looks: list[LookAtFolder] = []
        self.surface = SurfaceRead("a" * 64, {"package.json": "test"})
        """What every check does."""
        self.matches: Callable[[str, str], bool] | None = _is_in
        """Tries a pattern; None: each takes too long."""

    def begin(self) -> None:
        self._talk.tell(self._talk.gateway.proof.begin)
        self._talk.turn()

    def carry_out(self, effect: ProofEffect) -> None:
        if isinstance(effect, self.holds):
            self.held.append(effect)
            return
        match effect:
            case OpenLedger(ticket, session_id):
                self.open[ticket] = session_id
                found = ledger.read(session_id, self.ledgers.setdefault(session_id, b""))
                self._answer(ticket, LedgerOpened(found.facts, found.last, found.fault))
            case KeepFacts(ticket, number, lines):
                self._answer(ticket, self._kept(self.open[number], lines))
            case CloseLedger(number):
                del self.open[number]
            case LookAtFiles(ticket, _, demands, surfaces, texts, lines):
                self._answer(
                    ticket,
                    FilesSeen(
                        tuple(self._file(one) for one in demands),
                        tuple(self.surface for _ in surfaces),
                        tuple(
                            tuple(
                                self.matches and self.matches(one.pattern, text)
                                for text in one.texts
                            )
                            for one in texts
                        ),
                        tuple(map(self._lines, lines)),
                    ),
                )
            case CompareFolder(ticket, pairs, file, notes):
                found = self._compared(pairs, file)
                changes = tuple(map(self._note_change, notes))
                self._answer(ticket, structs.replace(found, note_changes=changes))
            case PutFileBack(ticket, pair, file, shown):
                self._answer(ticket, self._put_back(pair, file, shown))
            case LookAtFolder(ticket, folder):
                self.looks.append(effect)
                why = "" if self.is_whole else self.why_partial
                files = dict(self.files)
                state = FolderState(folder, "tree", files, self.is_whole, why, self.packages)
                self._answer(ticket, (state,))

    def _lines(self, wanted: LinesWanted) -> LinesRead:
        """Return lines of a file with all others."""
        if wanted.path not in self.files:
            return LinesRead(fault="No such file or directory")
        lines = self.files[wanted.path].split("\n")
        return LinesRead(
            "\n".join(lines[wanted.first - 1 : wanted.last]), tuple(lines), wanted.first
        )

    def _compared(self, pairs: tuple[StatePair, ...], file: FilePlace | None) -> FolderCompared:
        """Answer with the files whose contents differ, without their lines."""
        found = []
        for pair in pairs:
            for path in sorted({*pair.before, *pair.now}):
                if file is None or (file.root, file.path) == (pair.root, path):
                    state: ChangeState = "modified" if path in pair.now else "removed"
                    id_ = state_id(pair.now.get(path, DELETED))
                    old_id = _old_state_id(pair, path)
                    found.append(
                        ChangedFile(pair.root, path, state, state_id=id_, old_state_id=old_id)
                    )
        return FolderCompared(tuple(found), fault="" if found or not file else "it is not changed")

    def _note_change(self, note: ChangeNote) -> NoteChange:
        """Return what became of a note; its quote is what the file was."""
        if note.path not in self.files:
            return "gone"
        return "changed" if note.told_at and self.files[note.path] != note.quote else ""

    def _put_back(self, pair: StatePair, file: FilePlace, shown: str) -> FileIsBack:
        """Remove what was not dirty before, if it is still what was shown."""
        is_same = pair.head == pair.now_head and file.path not in {*pair.before, *pair.now}
        if pair.head and is_same:
            return FileIsBack(fault="it is not changed")
        if file.old_state_id not in ("", _old_state_id(pair, file.path)):
            fault = "what it would become is another one than shown: look again"
            return FileIsBack(fault=fault)
        if state_id(pair.now.get(file.path, DELETED)) != shown:
            return FileIsBack(fault="the file is another one than shown: look again")
        if file.path in pair.before:
            self.files[file.path] = pair.before[file.path]
        else:
            self.files.pop(file.path, None)
        return FileIsBack((file.path,))

    def _file(self, demand: FileIs) -> FileSeen:
        is_there = demand.path in self.files
        return FileSeen("pass" if is_there == demand.exists else "fail", "")

    def _kept(self, session_id: str, lines: bytes) -> FactsKept:
        if self.fault:
            return FactsKept(self.fault)
        if self.is_changed:
            self.is_changed = False
            self.ledgers[session_id] = b""
            return FactsKept(was_changed=True)
        self.ledgers[session_id] += lines
        return FactsKept()

    def release(self) -> None:
        """Do what was held back."""
        held, self.held, self.holds = self.held, [], ()
        for effect in held:
            self.carry_out(effect)
        self._talk.turn()

    def _answer(self, ticket: int, answer: object) -> None:
        self._talk.tell(self._talk.gateway.answered, ticket, answer)
