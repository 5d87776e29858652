"""What the person marks in changed files: files that were seen, and notes for the agent."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from tapui import times
from tapui.projection.change_marks import LiveMarks
from tapui.projection.changed_files import file_name, note_place
from tapui.projection.paragraphs import DiffMark, Paragraph
from tapui.tower.app.tower import RowAction, Tower
from tapui.tower.textual.dialogs import AskLineScreen
from tapui.tower.textual.sheet import ask
from tapui.tower.wording.words import quantity
from tapui.wire import limits
from tapui.wire.changes import (
    ChangedFile,
    ChangeNote,
    ChangesDone,
    DiffHunk,
    DiffSide,
    FileSee,
    LineRange,
    NoteDrop,
    NoteKeep,
)
from tapui.wire.message import Message

_SHOWN_QUOTE = 60


class NotedLines(NamedTuple):
    """What a note in a file is on: some lines of one side, and how they begin."""

    lines: LineRange
    side: DiffSide
    quote: str


def noted_line(sign: str, old: int, new: int, quote: str) -> NotedLines | None:
    """Return one line of a diff as what a note is on; None where its number is not known."""
    side: DiffSide = "old" if sign == "-" else "new"
    number = old if sign == "-" else new
    if not number:
        return None
    return NotedLines(LineRange(number, number), side, _quoted([quote]))


def noted_hunk(hunk: DiffHunk) -> NotedLines | None:
    """Return what a note on a hunk is on: its new lines from the first that changed to the last;
    where lines only went, those."""
    side: DiffSide = "new" if any(line.startswith("+") for line in hunk.lines) else "old"
    sign, number = ("+", hunk.new) if side == "new" else ("-", hunk.old)
    kept = [line for line in hunk.lines if line[:1] in (sign, " ")]
    changed = [at for at, line in enumerate(kept) if line.startswith(sign)]
    if not changed or not number:
        return None
    first, last = changed[0], changed[-1]
    quote = _quoted([line[1:] for line in kept[first : last + 1]])
    return NotedLines(LineRange(number + first, number + last), side, quote)


def _quoted(lines: Iterable[str]) -> str:
    return "\n".join(line.removesuffix("\r") for line in lines)[: limits.MAX_NOTE_QUOTE]


class FileMarking:
    """Marks one changed file, and keeps notes on it."""

    def __init__(self, tower: Tower, session_id: str, file: ChangedFile) -> None:
        self._tower = tower
        self._session_id = session_id
        self._file = file

    @property
    def marks(self) -> LiveMarks:
        return self._tower.view.state.marks.get(self._session_id) or LiveMarks()

    def see(self) -> None:
        """Mark the file as seen in its present state, or as not seen any more."""
        file = self._file
        if not file.state_id:
            self._tower.notify(f"{file.path} was not read: {file.note}", severity="warning")
            return
        state_id = "" if self.marks.has_seen(file) else file.state_id
        self._order(
            lambda id_: FileSee(id_, self._session_id, file.root, file.path, state_id),
        )

    def ask(self, on: NotedLines | None) -> None:
        """Ask for a note on some lines, or on all of the file; one that is there is changed, or
        dropped where nothing is left of it."""
        known = self._untold(on)
        folder = self._tower.view.folder_of(self._session_id)
        where = file_name(self._file, folder)
        if on is not None:
            note = self._note(on, "")
            where = f"{note_place(note, folder)}  {on.quote[:_SHOWN_QUOTE].strip()}"
        hint = "Nothing drops it." if known is not None else ""
        screen = AskLineScreen(
            f"Note on {where}",
            known.body if known is not None else "",
            hint,
            most=limits.MAX_NOTE_BODY,
            takes_nothing=known is not None,
        )
        ask(self._tower, screen, partial(self._written, on, known))

    def _untold(self, on: NotedLines | None) -> ChangeNote | None:
        lines, side = (on.lines, on.side) if on is not None else (None, "new")
        here = (note for note in self._notes if not note.told_at)
        return next((note for note in here if (note.lines, note.side) == (lines, side)), None)

    @property
    def _notes(self) -> list[ChangeNote]:
        return self.marks.notes_on(self._file.root, self._file.path)

    def _note(self, on: NotedLines, body: str) -> ChangeNote:
        file = self._file
        return ChangeNote("", file.root, file.path, "", body, on.lines, on.side, on.quote)

    def _written(self, on: NotedLines | None, known: ChangeNote | None, body: str) -> None:
        if known is not None and not body:
            self.drop(known)
        elif known is None or known.body != body:
            file, note_id = self._file, known.id if known is not None else None
            self._order(
                lambda id_: NoteKeep(
                    id_,
                    self._session_id,
                    file.root,
                    file.path,
                    body,
                    note_id,
                    on.lines if on is not None else None,
                    on.side if on is not None else "new",
                    on.quote if on is not None else "",
                    file.state_id,
                )
            )

    def drop(self, note: ChangeNote) -> None:
        self._order(lambda id_: NoteDrop(id_, self._session_id, note.id))

    def actions(self, on: NotedLines | None = None) -> list[RowAction]:
        """Return what can be done with notes: those of this file, and all that were not told."""
        found = []
        here = [
            note
            for note in self._notes
            if on is None or (note.lines, note.side) == (on.lines, on.side)
        ]
        if here:
            words = " ".join(here[-1].body.split())[:_SHOWN_QUOTE]
            found.append(RowAction("x", f"drop the note “{words}”", partial(self.drop, here[-1])))
        if untold := self.marks.untold:
            send = partial(self._tower.tell_notes, self._session_id)
            found.append(RowAction("t", f"send {quantity(len(untold), 'note')}", send))
        return found

    def _order(self, make: Callable[[str], Message]) -> None:
        def done(answer: ChangesDone | str) -> None:
            if isinstance(answer, str):
                self._tower.notify(answer, severity="error")

        self._tower.changes.order(make, done)


def noted_parts(
    parts: Sequence[Paragraph], notes: Sequence[ChangeNote], now: float
) -> list[Paragraph]:
    """Return the lines of a file's diff with its notes, each under the line that it is on.

    A note whose line is not among them stands above all, with the number of that line.
    """
    at: dict[int, list[ChangeNote]] = {}
    above: list[ChangeNote] = []
    for note in notes:
        index = _line_of(parts, note)
        if index is None:
            above.append(note)
        else:
            at.setdefault(index, []).append(note)
    shown = [Paragraph(_words(note, now, named=True), _tone(note)) for note in above]
    for index, part in enumerate(parts):
        shown.append(part)
        margin = f"{'':{max(len(part.margin) - 2, 0)}}{part.margin[-2:]}"
        shown += [Paragraph(_words(one, now), _tone(one), margin) for one in at.get(index, ())]
    return shown


def _line_of(parts: Sequence[Paragraph], note: ChangeNote) -> int | None:
    """Return which line of a diff a note is on: the last one of its lines, which may have moved."""
    if note.lines is None:
        return None
    quoted = note.quote.split("\n")
    is_whole = len(quoted) == note.lines.last - note.lines.first + 1
    wanted = quoted[-1] if is_whole else None
    found = []
    for index, mark, text in _lines(parts, note.side):
        number = mark.old if note.side == "old" else mark.new
        is_same = wanted is not None and text.startswith(wanted)
        away = abs(number - note.lines.last)
        if is_same or not away:
            found.append((not is_same, away, index))
    return min(found)[2] if found else None


def _lines(parts: Sequence[Paragraph], side: DiffSide) -> Iterator[tuple[int, DiffMark, str]]:
    signs = "-" if side == "old" else "+ "
    for index, part in enumerate(parts):
        mark = part.diff
        if mark is not None and mark.sign in signs:
            yield index, mark, part.text[1:]


def _words(note: ChangeNote, now: float, *, named: bool = False) -> str:
    """Return a note with how it stands: `note: …`, `✓ told 20:05, changed since: …`."""
    told = f"told {times.when(note.told_at, now)}" if note.told_at else "note"
    change = {"changed": "changed since", "gone": "the file is gone", "": ""}[note.change]
    sign = "✓ " if note.change == "changed" else ""
    line = f"line {note.lines.last}" if named and note.lines is not None else ""
    decided = note.disposed.disposition if note.disposed is not None else ""
    said = ", ".join(filter(None, (told, line, change, decided)))
    return f"{sign}{said}: {' '.join(note.body.split())}"


def _tone(note: ChangeNote) -> str:
    if note.change == "changed":
        return "success"
    return "warning" if note.change == "gone" else "accent"
