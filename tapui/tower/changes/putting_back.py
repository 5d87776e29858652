"""A changed file, or one hunk of it, put back: shown as a patch and asked about first."""

from collections.abc import Iterable, Sequence
from functools import partial

from textual.widget import Widget

from tapui.projection.changed_files import file_name
from tapui.projection.changes import hunk_parts, reversed_hunk
from tapui.projection.paragraphs import Paragraph
from tapui.tower.app.tower import Tower
from tapui.tower.textual.reader import Reader
from tapui.tower.textual.sheet import ConfirmScreen
from tapui.wire.changes import ChangedFile, ChangesDone, DiffHunk, FileDiff, FilePutBack

_MOST_CHARACTERS = 500_000
"""Of a hunk that is sent back to be compared; what is larger is put back with its file."""

_KEPT = "What is there now is kept as a copy; a notice names it."
_KEPT_SECONDS = 20


class PutBackScreen(ConfirmScreen):
    """Asks as `ConfirmScreen` does, with a patch to scroll through."""

    DEFAULT_CSS = """
PutBackScreen Reader { height: 1fr; margin-top: 1; }
"""

    def __init__(
        self, question: str, lines: Sequence[str], parts: Sequence[Paragraph], verb: str
    ) -> None:
        super().__init__(question, lines, verb)
        self._parts = parts

    def body(self) -> Iterable[Widget]:
        yield Reader()

    def on_mount(self) -> None:
        reader = self.query_one(Reader)
        reader.set_parts(self._parts)
        reader.focus()


class PuttingBack:
    """Puts a file of a session back to what the list of its changes is compared with."""

    def __init__(self, tower: Tower, session_id: str) -> None:
        self._tower = tower
        self._session_id = session_id

    def ask_file(self, file: ChangedFile) -> None:
        """Read the lines of a file, and ask whether all of it is to be put back."""
        self._tower.changes.ask_diff(self._session_id, file, partial(self._came, file))

    def _came(self, file: ChangedFile, answer: FileDiff | str) -> None:
        if isinstance(answer, str):
            self._tower.notify(f"{file.path} was not put back: {answer}", severity="error")
            return
        name = self._title_of(answer.file)
        lines = [_what_happens(answer.file), *(f"{note}." for note in answer.notes)]
        parts = hunk_parts([reversed_hunk(one) for one in answer.hunks], file.path)
        is_new = answer.file.state == "added"
        question = f"Remove {name}, which is new?" if is_new else f"Put {name} back?"
        self._ask(question, lines, parts, answer.file, None)

    def ask_hunk(self, file: ChangedFile, hunk: DiffHunk) -> None:
        """Ask whether one hunk of what is shown is to be put back."""
        name = self._title_of(file)
        if sum(map(len, hunk.lines)) > _MOST_CHARACTERS:
            why = "its hunk is too large: put the whole file back"
            self._tower.notify(f"{name} was not put back: {why}", severity="warning")
            return
        parts = hunk_parts([reversed_hunk(hunk)], file.path)
        self._ask(f"Put this hunk of {name} back?", [_what_happens(None)], parts, file, hunk)

    def _title_of(self, file: ChangedFile) -> str:
        return file_name(file, self._tower.view.folder_of(self._session_id))

    def _ask(
        self,
        question: str,
        lines: Sequence[str],
        parts: Sequence[Paragraph],
        file: ChangedFile,
        hunk: DiffHunk | None,
    ) -> None:
        base = self._tower.changes.read_of(self._session_id).base

        def make(id_: str) -> FilePutBack:
            return FilePutBack(
                id_,
                self._session_id,
                file.root,
                file.path,
                file.state_id,
                file.old_path,
                base.since,
                base.turn,
                hunk,
                file.old_state_id,
            )

        def answered(is_sure: bool | None) -> None:
            if is_sure:
                self._tower.changes.order(make, partial(self._done, file))

        verb = "remove it" if file.state == "added" else "put it back"
        self._tower.push_screen(PutBackScreen(question, lines, parts, verb), answered)

    def _done(self, file: ChangedFile, answer: ChangesDone | str) -> None:
        name = self._title_of(file)
        if isinstance(answer, str):
            self._tower.notify(f"{name} was not put back: {answer}", severity="error")
            return
        done = "Removed" if file.state == "added" else "Put back"
        if answer.kept is None:
            self._tower.notify(f"{done}: {name}")
        else:
            text = f"{done}: {name}. What was there is kept: {answer.kept}"
            self._tower.notify(text, timeout=_KEPT_SECONDS)


def _what_happens(file: ChangedFile | None) -> str:
    """Return what is done on the disk, in a sentence; None: only some lines of a file change."""
    if file is None:
        return f"It is written as your change, where nothing else was changed since. {_KEPT}"
    return {
        "added": f"The file is removed. {_KEPT}",
        "removed": "The file is made again.",
        "renamed": f"It gets its former name, and its former content. {_KEPT}",
        "mode": "Only the right to run it changes.",
    }.get(file.state, f"Its content of before is written, as your change. {_KEPT}")
