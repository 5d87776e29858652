"""The files that the selected session changed: how much, by whom, and whether a check ran since."""

from collections import Counter
from functools import partial
from typing import ClassVar

from textual import events, on
from textual.binding import BindingType

from tapui import invocation, times
from tapui.projection.change_marks import LiveMarks
from tapui.projection.changed_files import (
    AFTER_CHECK,
    file_name,
    file_notes,
    line_counts,
    writer_words,
    writers_words,
)
from tapui.projection.state import is_local, is_open
from tapui.tower.app.tower import RowAction
from tapui.tower.app.view import View
from tapui.tower.changes.changes_detail import ChangesDetail
from tapui.tower.changes.editor import open_in_editor
from tapui.tower.changes.folder_changes import ComparedWith, FileKey, FolderRead
from tapui.tower.changes.notes import FileMarking
from tapui.tower.changes.patches import PatchWriting
from tapui.tower.changes.putting_back import PuttingBack
from tapui.tower.keys.bindings import bindings
from tapui.tower.table.columns import Cell, Column, Row
from tapui.tower.table.pane import FrameNote
from tapui.tower.table.table import Table
from tapui.tower.table.table_pane import TablePane
from tapui.tower.textual.detail import DetailView
from tapui.tower.textual.dialogs import Choice, ChooseScreen
from tapui.tower.textual.sheet import ask
from tapui.tower.turns import steps
from tapui.tower.wording import marks
from tapui.tower.wording.words import quantity, rate
from tapui.wire.changes import ChangedFile, ChangesList

_ROOMY = 100
"""Cells of a pane with room for all that its frame can say."""
_COUNT = len("+999")
_DAY = len("11-25")
_TURNS_TO_CHOOSE = 50
"""Turns that a folder can be compared with by choosing, the newest."""


def base_words(read: FolderRead, now: float) -> str:
    """Return what a folder is compared with: `since its start, 19:12`."""
    since, turn = read.base
    if since == "commit":
        return "since the newest commit"
    what = "its start" if since == "start" else "the newest turn"
    what = f"turn {turn}" if turn is not None else what
    began = read.found.began if read.found is not None else ""
    return f"since {what}, {times.when(began, now)}" if began else f"since {what}"


class ChangesPane(TablePane):
    """The gateway looks at the folder when the person comes to the pane or back to the terminal,
    when a turn begins, and after calls, turns and checks, at most once a second; while the pane is
    on the screen also every few seconds, for what other programs wrote."""

    TOPICS = frozenset({"changes", "sessions", "life", "clock"})
    HELP = """\
The files that the session selected in Sessions changed, since its start, a turn, or the newest
commit (`i`): + and − are lines, *by* are the tools and commands that changed it while tapui looked.
○: it was changed after the last check. `space` marks a file as seen, until it is another one; the
tab counts those not seen. `t` keeps a note on a file, or in the detail on the hunk or line under
the cursor; `m`, `t` on the title above the lines, or a click on them in the frame, sends all to the
agent. `.` `u` puts a file back, and in the detail a hunk. Enter, or the detail beside the lists,
shows the lines; Enter on a line there opens the turn that wrote it, `o` your editor at it. What git
ignores is left out. Only files of the folder's repository, and of those in it, are compared.
"""
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "changes-since", "changes-editor", "changes-seen", "changes-note", "changes-tell"
    )
    COLUMNS = (
        Column("file", 22, grows=True, cuts_middle=True, is_fixed=True, stays=True),
        Column("+", 5, right=True, is_fixed=True),
        Column("−", 5, right=True, is_fixed=True),
        Column("by", 10, rank=1, cuts_middle=True, is_fixed=True),
        Column("seen", 8, rank=2, is_fixed=True),
        Column("when", 5, rank=3, right=True, is_fixed=True),
    )
    """Their places depend on the width alone: the list is read again while one reads it."""

    def __init__(self) -> None:
        super().__init__()
        self._read: FolderRead | None = None
        self._hands_keys_on = False
        """The keys go from the pane to its first rows: the person was here before."""
        self._made: tuple[ChangesList, str, list[tuple[int, bool]]] | None = None
        self._rows: list[Row] = []
        """Of the list and the marks in `_made`: they are made into rows once."""

    # What is shown

    def show(self, view: View, dirty: frozenset[str]) -> None:
        session_id = view.shown_session
        session = view.state.sessions.get(session_id)
        is_shown = session is not None and not is_local(session) and not self.tower.is_replay
        self._read = self.tower.changes.look(session_id) if is_shown else None
        super().show(view, dirty)
        self.refresh_bindings()

    @on(events.Focus)
    @on(events.DescendantFocus)
    def come(self) -> None:
        if self._hands_keys_on:
            self._hands_keys_on = False
            return
        self.tower.changes.doubt()
        self.tower.wake()

    def rows(self, view: View) -> list[Row]:
        read = self._read
        if read is None or read.found is None:
            return []
        files = read.found.files
        marks = view.state.marks.get(read.session_id) or LiveMarks()
        notes = Counter((note.root, note.path) for note in marks.notes.values())
        marked = [(notes[one.root, one.path], marks.has_seen(one)) for one in files]
        made = (read.found, times.date(view.now), marked)
        if self._made != made:
            folder = view.folder_of(read.session_id)
            self._rows = [
                _row(one, read.session_id, folder, view.now, count, is_seen=is_seen)
                for one, (count, is_seen) in zip(files, marked, strict=True)
            ]
            self._made = made
        return self._rows

    def first_steps(self) -> list[tuple[str, str]]:
        view, read = self.tower.view, self._read
        if self.tower.is_replay:
            return [
                ("A replay has no folder that could be compared.", ""),
                ("", ""),
                ("What each step changed is in Turns, with its lines.", ""),
            ]
        if read is None:
            return [("The files that a session changes are listed here.", "")]
        name = view.session_name(read.session_id)
        since = base_words(read, view.now)
        if read.fault:
            said = f"What {name} changed {since} is not known: {read.fault}."
        elif read.found is not None:
            said = f"{name} has changed no file {since}."
        elif self.tower.changes.can_ask(read.session_id):
            said = f"The folder of {name} is being looked at …"
        else:
            said = f"What {name} changed is not known: it has ended, or the gateway is gone."
        notes = read.found.notes if read.found is not None else []
        return [
            (said, ""),
            *((f"{note}.", "$text-muted") for note in notes),
            ("", ""),
            (f"{self.tower.key_of('changes-since')} compares with something else.", ""),
            ("", ""),
            ("The same as a table, as JSON or as a patch:", ""),
            (f"  {invocation.command('changes')}", "bold $primary"),
        ]

    def title(self) -> str:
        """Return the name of the session, too, where that leaves room for the notes."""
        is_short = len(self.slot) > 1 or (self.size.width < _ROOMY and bool(self._gaps()))
        if self._read is None or is_short:
            return self.kind.title
        return f"{self.kind.title}: {self.tower.view.session_name(self._read.session_id)}"

    def frame_notes(self) -> list[FrameNote]:
        read = self._read
        if read is None:
            return []
        notes = [FrameNote(", ".join(gaps), "$warning", "gaps")] if (gaps := self._gaps()) else []
        since = base_words(read, self.tower.view.now)
        if len(self.slot) > 1:
            since = since.partition(",")[0]
        marks = self.tower.view.state.marks.get(read.session_id)
        untold = len(marks.untold) if marks is not None else 0
        if untold:
            notes.append(FrameNote(quantity(untold, "note"), "$accent", "tell_notes"))
        return [*notes, *super().frame_notes(), FrameNote(since, "", "since", is_spare=True)]

    def _gaps(self) -> list[str]:
        found = self._read.found if self._read is not None else None
        if found is None:
            return []
        more = [f"{found.more:,} more"] if found.more else []
        return [*more, *(["not all is known"] if found.notes else [])]

    def set_empty(self, is_empty: bool) -> None:
        """Without rows the pane itself has the keys: what it is compared with can be changed."""
        super().set_empty(is_empty)
        self.can_focus = is_empty
        if not is_empty and self.has_focus:
            self._hands_keys_on = True
            self.screen.set_focus(None)  # the table gets it with the next frame

    def focus_inside(self) -> None:
        if self.has_class("-empty"):
            self.screen.set_focus(self, scroll_visible=False)
        else:
            super().focus_inside()

    # What can be done

    @property
    def _file(self) -> ChangedFile | None:
        return self._read.file(FileKey.of(self.selected)) if self._read is not None else None

    @property
    def subject(self) -> str:
        file, read = self._file, self._read
        if file is None or read is None:
            return ""
        return file_name(file, self.tower.view.folder_of(read.session_id))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "since":
            return self._read is not None
        if action in ("seen", "note"):
            return self._file is not None and self._is_here
        if action == "tell_notes":
            return self._marking is not None and self._is_here and bool(self._marking.marks.untold)
        if action == "edit":
            file = self._file
            return file is not None and file.state not in ("removed", "submodule")
        return super().check_action(action, parameters)

    def row_actions(self) -> list[RowAction]:
        read, file = self._read, self._file
        if read is None or read.found is None or file is None:
            return []
        writing = PatchWriting(self.tower, read.session_id)
        files = read.found.files
        every = f"write a patch of all {quantity(len(files), 'file')}"
        actions = [
            RowAction("w", every, partial(writing.ask, files)),
            RowAction("p", "write a patch of this file", partial(writing.ask, [file])),
            RowAction("y", "copy the patch of this file", partial(writing.copy, [file])),
        ]
        if self._is_here:
            back = partial(PuttingBack(self.tower, read.session_id).ask_file, file)
            actions.append(RowAction("u", "put it back (shown first)", back))
            actions += FileMarking(self.tower, read.session_id, file).actions()
        if self.check_action("edit", ()):
            actions.insert(0, RowAction("o", "open it in your editor", self.action_edit))
        return actions

    def action_copy(self) -> None:
        file = self._file
        if file is not None:
            self.tower.copy(f"{file.root.rstrip('/')}/{file.path}", "The path")

    def action_edit(self) -> None:
        file = self._file
        if file is not None:
            open_in_editor(self.tower, file.root, file.path, None)

    def action_seen(self) -> None:
        if self._marking is not None:
            self._marking.see()

    def action_note(self) -> None:
        if self._marking is not None:
            self._marking.ask(None)

    def action_tell_notes(self) -> None:
        if self._read is not None:
            self.tower.tell_notes(self._read.session_id)

    @property
    def _marking(self) -> FileMarking | None:
        read, file = self._read, self._file
        if read is None or file is None:
            return None
        return FileMarking(self.tower, read.session_id, file)

    @property
    def _is_here(self) -> bool:
        """Whether the session whose files these are is open: only there they can be marked."""
        read = self._read
        session = self.tower.view.state.sessions.get(read.session_id) if read is not None else None
        return session is not None and is_open(session)

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        self.open_shown()

    def shown(self) -> DetailView | None:
        return ChangesDetail(self.selected, self.shown_keys) if self.selected else None

    def action_since(self) -> None:
        read, view = self._read, self.tower.view
        if read is None:
            return
        session_id = read.session_id
        turns = [turn for _key, turn in steps.keyed_turns(view, session_id) if not turn.is_history]
        choices = [
            Choice("start", "its start", "when tapui first looked at the folder"),
            Choice("commit", "the newest commit"),
            Choice("turn", "the newest turn"),
            *(
                Choice(
                    f"turn {turn.number}",
                    f"turn {turn.number}  {steps.prompt_words(view, turn)}",
                    times.when(turn.started_at, view.now),
                )
                for turn in turns[:_TURNS_TO_CHOOSE]
            ),
        ]
        since, number = read.base
        selected = since if number is None else f"turn {number}"

        def chosen(key: str) -> None:
            kind, _, number = key.partition(" ")
            bases: dict[str, ComparedWith] = {
                "start": ComparedWith("start"),
                "commit": ComparedWith("commit"),
                "turn": ComparedWith("turn", int(number) if number else None),
            }
            self.tower.changes.compare_with(session_id, bases[kind])
            self.tower.wake()

        name = view.session_name(session_id)
        title = f"What {name} changed since"
        ask(self.app, ChooseScreen(title, choices, selected=selected), chosen)

    def action_gaps(self) -> None:
        """Say what is not known of the list."""
        found = self._read.found if self._read is not None else None
        if found is not None:
            more = [f"{quantity(found.more, 'more file')} changed"] if found.more else []
            self.app.notify("; ".join([*more, *found.notes]), severity="warning", markup=False)


def _row(
    file: ChangedFile, session_id: str, folder: str, now: float, notes: int, *, is_seen: bool
) -> Row:
    added, removed = (_short(one) for one in line_counts(file))
    said_of = file_notes(file)
    is_after = bool(file.is_after_check)
    kept = quantity(notes, "note") if notes else ""
    seen = "seen" if is_seen else "not seen"
    state = {"modified": "", "mode": "", "added": "new"}.get(file.state, file.state)
    said = ", ".join(filter(None, (state, kept, *(one for one in said_of if one != AFTER_CHECK))))
    mark = marks.PROOF["unchecked"]
    newest = file.by[0].at if file.by else ""
    by = writer_words(file.by[0]) if file.by else writers_words(file)
    more = len(file.by) - 1
    name = file_name(file, folder)
    return Row(
        FileKey(session_id, file.root, file.path).text,
        (
            Cell(
                name,
                "strong",
                mark.glyph if is_after else " ",
                mark.tone,
                rest=((f"  {said}", "muted"),) if said else (),
            ),
            Cell(added, "success"),
            Cell(removed, "error"),
            Cell(by, "muted", rest=((f" and {more} more", "muted"),) if more > 0 else ()),
            Cell(seen, "muted" if is_seen else "accent"),
            Cell(_short_time(newest, now) if newest else "", "muted"),
        ),
        values={
            0: name,
            1: -(file.added or 0),
            2: -(file.removed or 0),
            3: by,
            4: seen,
            5: -(times.epoch(newest) or 0.0),
        },
    )


def _short(count: str) -> str:
    """Return a count in four characters: `+999`, `+1.2k`, `+12k`."""
    return count if len(count) <= _COUNT else f"{count[0]}{rate(int(count[1:].replace(',', '')))}"


def _short_time(ts: str, now: float) -> str:
    """Return the time of day, `20:05`; of another day its month and day, `11-25`."""
    day, _, hour = times.when(ts, now).rpartition(" ")
    return day[-_DAY:] if day else hour
