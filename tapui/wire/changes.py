"""What a session changed in the files of its folder, and what the person does with it.

`changes.read` is answered with `changes`, `diff.read` with `diff`. The person marks files as seen,
keeps notes on them, tells the notes to the agent, and puts files back. Paths are relative to the
root of their repository; one that is not UTF-8 begins with `//` and has its bytes as `\\xNN`.
"""

from typing import Annotated, Literal

from msgspec import Meta

from tapui.wire import limits
from tapui.wire.bounds import Id, Ids, Path
from tapui.wire.criteria import Disposal
from tapui.wire.message import Message, WireStruct
from tapui.wire.steering import Told, Way

Since = Literal["start", "turn", "commit"]
"""What the files are compared with: the folder as it was when the session was first looked at, as a
turn found it, or the newest commit."""
ChangeState = Literal["added", "modified", "removed", "renamed", "mode", "submodule"]
WriterKind = Literal["tool", "shell", "person", "session", "unknown"]
DiffSide = Literal["old", "new"]
StateId = Annotated[str, Meta(max_length=limits.MAX_STATE_ID)]
LineNumber = Annotated[int, Meta(ge=0, le=limits.MAX_SEQ)]
NoteBody = Annotated[str, Meta(max_length=limits.MAX_NOTE_BODY)]
NoteQuote = Annotated[str, Meta(max_length=limits.MAX_NOTE_QUOTE)]


class FileWriter(WireStruct):
    """Who changed a file. `what`: the command; of a `session` its name.

    `person`: a check that the person ran with tapui, or what they put back. `unknown`: neither a
    tool nor a command of this session, or of another one that tapui sees. `is_probable`: others
    were at work then, too.
    """

    kind: WriterKind
    at: str
    what: str = ""
    call_id: str | None = None
    turn: int | None = None
    is_probable: bool = False


class ChangedFile(WireStruct):
    """A file that is another one than before.

    `added` and `removed` are its lines; None where they were not counted. Modes are git's, in octal
    digits; "" where there was no file, or is none. `old_path`: where a renamed one was. `note` says
    what is not as it seems: that it was changed before already, that it was not read.
    """

    root: str
    path: str
    state: ChangeState
    added: int | None = None
    removed: int | None = None
    old_path: str = ""
    old_mode: str = ""
    mode: str = ""
    is_binary: bool = False
    note: str = ""
    by: list[FileWriter] = []
    """The newest first, at most `limits.FILE_WRITERS`."""
    is_after_check: bool | None = None
    """Whether it is another one than when the session's last check ran; None: not known, or no
    check ran."""
    state_id: str = ""
    """Names its present content and mode; "" where it was not read."""
    is_seen: bool = False
    """Whether the person has marked it as seen in this state."""
    old_state_id: str = ""
    """Names what it was before, as `state_id` does; "" where that was not read."""


HunkLine = Annotated[str, Meta(max_length=limits.MAX_DIFF_LINE + 2)]
"""With its mark, and `…` where it is cut."""
HunkLines = Annotated[list[HunkLine], Meta(max_length=limits.MAX_HUNK_LINES)]


class DiffHunk(WireStruct):
    """Lines that changed, with some around them. `old` and `new` are the numbers of the first line,
    from 1; 0 where there is none.

    Each line begins with a blank, `+` or `-`; one that begins with a backslash says that no end of
    a line follows the one before. What is not UTF-8 is replaced, long lines are cut.
    """

    old: LineNumber
    new: LineNumber
    lines: HunkLines


class SeenFile(WireStruct):
    """A file that the person has seen in the state `state_id`."""

    root: str
    path: str
    state_id: str


class LineRange(WireStruct):
    """Lines of a file, with the last one, from 1."""

    first: Annotated[int, Meta(ge=1, le=limits.MAX_SEQ)]
    last: Annotated[int, Meta(ge=1, le=limits.MAX_SEQ)]


NoteChange = Literal["", "changed", "gone"]


class ChangeNote(WireStruct):
    """A note of the person's on a changed file, on `lines` of it or on all of it.

    `quote` is the beginning of these lines, without their marks. `state_id` is the file's state
    that the note was made on. `told_at` and `order_id`: when it was told to the agent, and by which
    order; "" before. `change` of a told one: `changed` once its lines are others than quoted, or,
    on lines that were removed and on a whole file, the file is another one; of any: `gone` while
    the file is not there.
    """

    id: str
    root: str
    path: str
    at: str
    body: str
    lines: LineRange | None = None
    side: DiffSide = "new"
    quote: str = ""
    state_id: str = ""
    told_at: str = ""
    order_id: str = ""
    change: NoteChange = ""
    disposed: Disposal | None = None
    """What the person decided about it, as about a finding; None: it is open."""


class ChangeMarks(WireStruct):
    """What the person has marked in the changes of a session."""

    session_id: str
    seen: list[SeenFile] = []
    notes: list[ChangeNote] = []


# Tower → gateway


class ChangesRead(Message, tag="changes.read"):
    """Read which files changed. `turn` is the number of a turn; None: the newest.

    `known` is the `look` of a list: where no look since has found anything else, the answer has no
    files and is `same`.
    """

    id: Id
    session_id: Id
    since: Since = "start"
    turn: int | None = None
    known: int | None = None


class DiffRead(Message, tag="diff.read"):
    """Read the lines of one file that changed; `old_path` is that of its `changes`.

    `as_patch`: as a text for `git apply`, which has all of each line, and no hunks.
    """

    id: Id
    session_id: Id
    root: Path
    path: Path
    old_path: Path = ""
    since: Since = "start"
    turn: int | None = None
    as_patch: bool = False


class FileSee(Message, tag="file.see"):
    """Mark a file as seen in the state `state_id`; "": not seen any more."""

    id: Id
    session_id: Id
    root: Path
    path: Path
    state_id: StateId = ""


class FilePutBack(Message, tag="file.putBack"):
    """Put a file, or one hunk of it, back to what it was at `since`.

    `state_id` is the file's state as it was shown, `old_state_id` that of before, and `hunk` is
    exactly what was shown. Where the file is another one by now, or what it is compared with (a
    turn began, a commit was made), nothing is written.
    """

    id: Id
    session_id: Id
    root: Path
    path: Path
    state_id: StateId
    old_path: Path = ""
    since: Since = "start"
    turn: int | None = None
    hunk: DiffHunk | None = None
    old_state_id: StateId = ""


class NoteKeep(Message, tag="note.keep"):
    """Keep a note, or with `note_id` another body of one that was not told yet."""

    id: Id
    session_id: Id
    root: Path
    path: Path
    body: NoteBody
    note_id: Id | None = None
    lines: LineRange | None = None
    side: DiffSide = "new"
    quote: NoteQuote = ""
    state_id: StateId = ""


class NoteDrop(Message, tag="note.drop"):
    """Drop a note, told or not."""

    id: Id
    session_id: Id
    note_id: Id


class NotesTell(Message, tag="notes.tell"):
    """Tell notes to the agent as one prompt, which begins with `text`: `note_ids`, or all that were
    not told.

    The answer is `session.ordered`, as to `session.tell`.
    """

    id: Id
    session_id: Id
    text: Told = ""
    way: Way = "after"
    note_ids: Ids | None = None


# Gateway → tower


class ChangesDone(Message, tag="changes.done"):
    """A file was marked or put back, or a note kept (`note`) or dropped. `kept` is the file that
    has what was there before it was put back."""

    id: str
    session_id: str
    note: ChangeNote | None = None
    kept: str | None = None


class ChangesList(Message, tag="changes"):
    """The files that changed, by root and path, the first `limits.CHANGED_FILES` that fit.

    `more` is how many others changed. `notes` say what is not known. `began`: the time of what they
    are compared with; "" for a commit. `look`: the number of the look that found them, of those
    since the session's ledger was read that found something else than the one before. `same`: the
    files are those of the list that the reader knows, and are not repeated.
    """

    id: str
    session_id: str
    files: list[ChangedFile] = []
    more: int = 0
    notes: list[str] = []
    began: str = ""
    look: int = 0
    same: bool = False


class FileDiff(Message, tag="diff"):
    """The lines of one file. `notes` say what was left out."""

    id: str
    session_id: str
    file: ChangedFile
    hunks: list[DiffHunk] = []
    patch: str = ""
    notes: list[str] = []
