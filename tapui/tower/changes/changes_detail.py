"""One changed file in full: its lines, and what can be done at the line under the cursor."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from tapui import times
from tapui.projection.changed_files import (
    AFTER_CHECK,
    NOT_WATCHED,
    file_name,
    file_notes,
    line_counts,
    writer_words,
)
from tapui.projection.changes import hunk_parts
from tapui.projection.paragraphs import Paragraph
from tapui.projection.state import is_open
from tapui.tower.app.tower import RowAction
from tapui.tower.app.view import View
from tapui.tower.changes.diff_reader import DiffReader
from tapui.tower.changes.editor import open_in_editor
from tapui.tower.changes.folder_changes import FileKey, FolderRead
from tapui.tower.changes.line_writer import LineWriterSearch
from tapui.tower.changes.notes import (
    FileMarking,
    NotedLines,
    noted_hunk,
    noted_line,
    noted_parts,
)
from tapui.tower.changes.patches import PatchWriting
from tapui.tower.changes.putting_back import PuttingBack
from tapui.tower.keys.bindings import bindings
from tapui.tower.textual.detail import DetailView, Keys, alone
from tapui.tower.textual.dialogs import ActionsScreen
from tapui.tower.textual.widgets import plain, show_in, tone_style
from tapui.tower.wording import marks
from tapui.tower.wording.marks import Mark
from tapui.tower.wording.words import quantity
from tapui.wire.changes import ChangedFile, ChangeNote, ChangesList, FileDiff, FileWriter
from tapui.wire.message import Error

_MARKS = {
    "added": Mark("+", "added", "success"),
    "removed": Mark("-", "removed", "error"),
    "renamed": Mark("→", "renamed", "accent"),
    "submodule": Mark("·", "submodule", "muted"),
}
_MODIFIED = Mark("±", "modified", "accent")
COMING = "Its lines are being read …"
GONE = "It is no longer changed: this is how it was."
_WRITERS = 3


class DiffPlace(NamedTuple):
    """A line of a file's diff. `line` and `old_line` are its numbers now and before, 0 where it has
    none; `sign` is "+", "-", " ", or "@" for where a hunk begins; `quote` is its text.

    `hunk` is the index of its hunk in the `FileDiff`.
    """

    root: str
    path: str
    old_path: str
    hunk: int
    line: int
    old_line: int
    sign: str
    quote: str


class ChangesDetail(DetailView):
    """`key` is the text of a `FileKey`. Enter opens the turn that wrote the line under the cursor.

    The diff is asked for again when the list of files was read again; one question at a time, so
    that a cursor which goes over many files asks for few of them.
    """

    TOPICS = frozenset({"changes", "sessions", "life", "clock"})
    DEFAULT_CSS = """
ChangesDetail .about {
    height: 1;
    text-wrap: nowrap;
    text-overflow: ellipsis;
    &.-cursor { background: $primary 30%; }
}
"""
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "changes-editor", "changes-seen", "changes-note", "changes-tell", "actions"
    )

    def __init__(self, key: str, keys: Keys = alone) -> None:
        super().__init__(key, keys)
        self._begin()

    def _begin(self) -> None:
        self.file: ChangedFile | None = None
        """As it was told last."""
        self.diff: FileDiff | None = None
        """Its lines, as they were read last."""
        self._fault = ""
        self._asked_for: ChangesList | None = None
        """The list of files after which the diff was asked for."""
        self._is_gone = False
        self._made: tuple[object, ...] = ()
        """What the text that is shown was made of: that of a large diff takes a tenth of a second,
        and the clock alone changes nothing in it."""

    _is_asking = False

    def compose(self) -> ComposeResult:
        yield Static("", classes="about", markup=False)
        yield DiffReader()

    @property
    def reader(self) -> DiffReader:
        return self.query_one(DiffReader)

    @property
    def file_key(self) -> FileKey:
        return FileKey.of(self.key)

    @property
    def place(self) -> DiffPlace | None:
        """The line under the cursor; None on the title, and where the diff has no lines."""
        line, file = self.reader.line, self.file
        if self.reader.is_on_title or line is None or line.diff is None or file is None:
            return None
        mark = line.diff
        quote = line.text if mark.sign == "@" else line.text[1:]
        return DiffPlace(
            root=file.root,
            path=file.path,
            old_path=file.old_path,
            hunk=mark.hunk,
            line=mark.new,
            old_line=mark.old,
            sign=mark.sign,
            quote=quote,
        )

    def go_to(self, key: str) -> None:
        self._begin()
        self.reader.begin()
        super().go_to(key)

    # What is shown

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del dirty
        session_id = self.file_key.session_id
        read = self.tower.changes.look(session_id)
        now = read.file(self.file_key)
        self._is_gone = now is None and read.found is not None
        if now is not None:
            self.file = now
            self._ask(read, now)
        file = self.file
        if file is None:
            return
        folder = view.folder_of(session_id)
        mark = _MARKS.get(file.state, _MODIFIED)
        self.set_frame(mark, file_name(file, folder), " ".join(filter(None, line_counts(file))))
        marks = view.state.marks.get(session_id)
        about = list(_about(file, view.now))
        if self.reader.is_on_title:
            about.insert(0, plain(self._title_words(), "bold"))
        title = self.query_one(".about", Static)
        title.set_class(self.reader.is_on_title, "-cursor")
        show_in(title, Content("  ").join(about))
        notes = marks.notes_on(file.root, file.path) if marks is not None else []
        rest = (self._fault, self._is_gone, read.fault, notes)
        if not self._made or self._made[0] is not self.diff or self._made[1:] != rest:
            self._made = (self.diff, *rest)
            self.reader.set_parts(self._parts(read, notes))
        self.refresh_bindings()

    def _ask(self, read: FolderRead, file: ChangedFile) -> None:
        if self._is_asking or read.found is self._asked_for:
            return
        self._is_asking, self._asked_for = True, read.found
        self.tower.changes.ask_diff(self.file_key.session_id, file, partial(self._came, self.key))

    def _came(self, key: str, answer: FileDiff | str) -> None:
        """Keep an answer; the frame that follows it shows it."""
        self._is_asking = False
        if key != self.key:
            return
        if isinstance(answer, str):
            self.diff, self._fault = None, answer
        else:
            self.diff, self._fault = answer, ""

    def _parts(self, read: FolderRead, notes: Sequence[ChangeNote]) -> list[Paragraph]:
        diff = self.diff
        parts = [Paragraph(GONE, "warning")] if self._is_gone else []
        if self._fault:
            return [*parts, Paragraph(f"Its lines cannot be told: {self._fault}.", "warning")]
        if diff is None:
            said = f"Its lines cannot be told: {read.fault}." if read.fault else COMING
            return [*parts, Paragraph(said, "muted")]
        parts += [Paragraph(f"{note}.", "warning") for note in diff.notes]
        lines = hunk_parts(diff.hunks, diff.file.path)
        if not lines and not diff.notes:
            parts.append(Paragraph(_no_lines(diff.file), "muted"))
        return [*parts, *noted_parts(lines, notes, self.tower.view.now)]

    def refused(self, error: Error) -> bool:
        return error.reply_to in ("changes.read", "diff.read")

    # What can be done

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "edit":
            return self.file is not None and self.file.state not in ("removed", "submodule")
        if action in ("seen", "note"):
            return self._marking is not None
        if action == "tell_notes":
            return self._marking is not None and bool(self._marking.marks.untold)
        if action == "actions":
            return self.file is not None
        return super().check_action(action, parameters)

    def action_edit(self) -> None:
        file, place = self.file, self.place
        if file is not None:
            line = place.line or 1 if place is not None else None
            open_in_editor(self.tower, file.root, file.path, line)

    def row_actions(self) -> list[RowAction]:
        file = self.file
        if file is None:
            return []
        session_id = self.file_key.session_id
        writing = PatchWriting(self.tower, session_id)
        actions = [
            RowAction("w", "write a patch of this file", partial(writing.ask, [file])),
            RowAction("y", "copy the patch of this file", partial(writing.copy, [file])),
        ]
        marking, diff, place = self._marking, self.diff, self.place
        if marking is not None and not self._is_gone:
            back = PuttingBack(self.tower, session_id)
            actions.append(
                RowAction("f", "put the file back (shown first)", partial(back.ask_file, file))
            )
            if diff is not None and place is not None and place.hunk < len(diff.hunks):
                hunk = partial(back.ask_hunk, diff.file, diff.hunks[place.hunk])
                actions.append(RowAction("u", "put this hunk back (shown first)", hunk))
            actions += marking.actions(self._noted_lines)
        if self.check_action("edit", ()):
            actions.insert(0, RowAction("o", "open it in your editor", self.action_edit))
        return actions

    # Marks and notes

    @property
    def _marking(self) -> FileMarking | None:
        """What marks the file that is shown; None where its session is not open."""
        file = self.diff.file if self.diff is not None else self.file
        session_id = self.file_key.session_id
        session = self.tower.view.state.sessions.get(session_id)
        if file is None or session is None or not is_open(session) or self.tower.is_replay:
            return None
        return FileMarking(self.tower, session_id, file)

    @property
    def _noted_lines(self) -> NotedLines | None:
        """What a note would be on: the line or the hunk under the cursor; None: the file."""
        place, diff = self.place, self.diff
        if place is None or diff is None:
            return None
        if place.sign == "@":
            return noted_hunk(diff.hunks[place.hunk])
        return noted_line(place.sign, place.old_line, place.line, place.quote)

    def action_seen(self) -> None:
        if self._marking is not None:
            self._marking.see()

    def action_note(self) -> None:
        """Keep a note on what is under the cursor; on the title, send all that were kept."""
        marking = self._marking
        if marking is not None and self.reader.is_on_title and marking.marks.untold:
            self.tower.tell_notes(self.file_key.session_id)
        elif marking is not None:
            marking.ask(self._noted_lines)

    def _title_words(self) -> str:
        """Return what the key of notes does on the title."""
        marking = self._marking
        if marking is None:
            return ""
        untold = len(marking.marks.untold)
        does = f"sends {quantity(untold, 'note')}" if untold else "keeps a note on the file"
        return f"{self.tower.key_of('changes-note')} {does}"

    def on_diff_reader_title_reached(self, event: DiffReader.TitleReached) -> None:
        event.stop()
        self.show(self.tower.view, frozenset())

    def action_tell_notes(self) -> None:
        self.tower.tell_notes(self.file_key.session_id)

    def action_actions(self) -> None:
        file = self.file
        if file is not None:
            name = file_name(file, self.tower.view.folder_of(self.file_key.session_id))
            self.app.push_screen(ActionsScreen(name, self.row_actions()))

    def on_diff_reader_opened(self, event: DiffReader.Opened) -> None:
        event.stop()
        place, file = self.place, self.file
        if place is not None and file is not None:
            search = LineWriterSearch(self.tower, self.file_key.session_id, file)
            search.begin(place.line if place.sign in "+ " else None, place.quote)


def _no_lines(file: ChangedFile) -> str:
    if file.is_binary:
        return "It is binary: its lines are not shown."
    if file.state == "submodule":
        return "It is a submodule: its own files are not compared here."
    if file.old_mode != file.mode:
        return "Its lines are as before; its mode changed."
    return "Its lines are as before."


def _about(file: ChangedFile, now: float) -> Iterator[Content]:
    """Yield by whom a file was changed, and what is to be said of it besides, on one line."""
    notes = file_notes(file)
    if AFTER_CHECK in notes:
        mark = marks.PROOF["unchecked"]
        yield plain(f"{mark.glyph} {AFTER_CHECK}", tone_style(mark.tone))
    by = ", ".join(_writer(one, now) for one in file.by[:_WRITERS])
    more = len(file.by) - _WRITERS
    by = f"by {by}{f' and {more} more' if more > 0 else ''}" if by else f"by whom: {NOT_WATCHED}"
    yield plain(by, "$text-muted")
    for note in notes:
        if note != AFTER_CHECK:
            yield plain(note, "$text-muted")


def _writer(writer: FileWriter, now: float) -> str:
    turn = f" in turn {writer.turn}" if writer.turn is not None else ""
    return f"{writer_words(writer)} at {times.when(writer.at, now)}{turn}"
