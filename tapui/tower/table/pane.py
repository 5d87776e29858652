"""What all panes share: a frame with a title, the topics they show, and when they are painted."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, cast

from rich.cells import cell_len
from textual import events, on
from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget

from tapui.tower.app.tower import RowAction, Tower
from tapui.tower.app.view import View
from tapui.tower.keys.bindings import bindings
from tapui.tower.textual.detail import DetailView
from tapui.tower.textual.sheet import Sheet
from tapui.tower.textual.widgets import plain
from tapui.tower.wording.marks import Signs

LEAST_TITLE = 20
"""Cells of a frame's title that are not given up for where its list is."""
_BREVITIES = (
    (None, True, 3),
    (None, True, 1),
    (None, False, 1),
    (4, True, 3),
    (4, True, 1),
    (4, False, 1),
    (3, False, 1),
    (0, True, 3),
)
"""How tabs in a frame give up room: the letters of a title, whether signs of what is well stay, the
blanks between two."""


@dataclass(frozen=True, slots=True)
class PaneKind:
    """A pane as the tower lists it: what is known before it is made.

    `load` imports its class: a pane that is not seen costs nothing. `sign` is what its tab says
    beside its title until the pane is made, a sign and a count. Its place is in `app.layouts`; one
    with `has_rows` has none until that has said yes once.
    """

    id: str
    key: str
    title: str
    load: "Callable[[], type[Pane]]"
    sign: Callable[[View], str] = lambda _view: ""
    has_rows: Callable[[View], bool] | None = None


_CALM = "✓○●"
"""Signs of what is well, which give way to names."""


def is_calm(sign: str) -> bool:
    """Return whether a tab's sign says nothing that the person has to look at."""
    return sign[:1] in _CALM


def sign_style(sign: str) -> str:
    """Return the style of a tab's sign: amber for what asks the person, red for what failed."""
    return {"!": "bold $warning", "✗": "bold $error"}.get(sign[:1], "")


class FrameNote(NamedTuple):
    """A text at the right of a frame's upper edge. `act` is Textual's action for a click on it;
    `end` is the cell at which it ends, counted from the frame's left edge (0: beside the next). One
    that `is_spare` goes before other panes lose their names in the frame."""

    text: str
    style: str = ""
    act: str = ""
    end: int = 0
    is_spare: bool = False


def _width_of(notes: Iterable[FrameNote]) -> int:
    """Return the cells that notes take in a frame, with the blanks around them."""
    return sum(cell_len(note.text) + 2 for note in notes)


class ListPlace(NamedTuple):
    """Where a list that grows is. `newer` rows are out of sight at the end where the list grows,
    which is above or below what is shown; `noun` is what they are called."""

    is_following: bool = False
    newer: int = 0
    is_above: bool = True
    is_paused: bool = False
    is_part: bool = False
    """Whether `newer` counts some that the filter may not let through."""
    noun: str = "newer"

    @property
    def note(self) -> FrameNote:
        """Return `● following`, `‖ paused, 34 newer` or `↑ 2 newer`."""
        newer = f"{'up to ' if self.is_part else ''}{self.newer:,} {self.noun}"
        if self.is_paused:
            return FrameNote(f"‖ paused, {newer}", "$warning")
        if self.is_following:
            return FrameNote("● following", "$success")
        if self.newer:
            return FrameNote(f"{'↑' if self.is_above else '↓'} {newer}", "$accent")
        return FrameNote("○ not following")


class Pane(Widget):
    """A framed part of the screen.

    The app calls `show` with the topics that changed, as often as frames are painted and only while
    the pane is visible, and once with all topics when it becomes visible. A pane is not focusable
    itself: `focus_inside` focuses its main widget. Its title and key are in the registry.
    """

    TOPICS: ClassVar[frozenset[str]] = frozenset()
    BINDINGS: ClassVar[list[BindingType]] = bindings("actions")
    SIGNS: ClassVar[Signs] = ()
    """The signs that its rows begin with, and what each says: the legend in the help."""
    kind: PaneKind
    slot: tuple[PaneKind, ...] = ()
    """The panes that take turns in its place, where its frame names them."""
    sign_of: Callable[[PaneKind, View], str] = staticmethod(lambda kind, view: kind.sign(view))
    """Returns the sign of any pane, for its tab in the frame."""
    _is_painting = False
    _frame: tuple[object, ...] = ()
    _notes: tuple[tuple[int, int, str], ...] = ()

    @property
    def tower(self) -> Tower:
        return cast("Tower", self.app)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint what changed. `dirty` holds at least one of `TOPICS`."""
        raise NotImplementedError

    def paint(self, view: View, dirty: frozenset[str]) -> None:
        """Show what changed, and then the frame, once."""
        self._is_painting = True
        try:
            self.show(view, dirty)
        finally:
            self._is_painting = False
        self.show_frame()

    def set_empty(self, is_empty: bool) -> None:
        """Show the first steps instead of the content, or the content again.

        Content that hides gives its focus up first: Textual would hand it to another pane.
        """
        if is_empty and self.has_pseudo_class("focus-within"):
            self.screen.set_focus(None)
        self.set_class(is_empty, "-empty")

    def main_widget(self) -> Widget | None:
        """Return the widget that takes the keys: by default the first that can."""
        return next((widget for widget in self.query("*") if widget.focusable), None)

    def focus_inside(self) -> None:
        """Give this pane the keys, at once; an empty pane takes none."""
        widget = None if self.has_class("-empty") else self.main_widget()
        self.screen.set_focus(widget, scroll_visible=False)

    @property
    def place_id(self) -> str:
        return self.kind.id

    def set_covered(self, lines: int) -> None:
        """So many of its last lines are under the band."""

    # What is under the cursor

    def shown(self) -> DetailView | None:
        """Make the detail of what is under the cursor; None for nothing."""
        return None

    @property
    def cursor_key(self) -> str | None:
        """What tells whether the cursor has moved; None where that is not known."""
        return None

    def open_shown(self) -> None:
        """Open it as a sheet."""
        detail = self.shown()
        if detail is not None:
            self.app.push_screen(Sheet(detail))

    # What can be done

    @property
    def subject(self) -> str:
        return ""

    def row_actions(self) -> list[RowAction]:
        return []

    @property
    def has_actions(self) -> bool:
        """Whether there are any; asked in each frame."""
        return bool(self.row_actions())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What cannot be done now is not offered."""
        if action == "actions":
            return self.has_actions
        return super().check_action(action, parameters)

    def action_actions(self) -> None:
        from tapui.tower.textual.dialogs import ActionsScreen

        self.app.push_screen(ActionsScreen(self.subject, self.row_actions()))

    def close_topmost(self) -> bool:
        """Close what is open within the pane, such as a filter; return whether something was."""
        return False

    # The frame

    def title(self) -> str:
        return self.kind.title

    def sign(self, view: View) -> str:
        """Return what the tab says beside the title: a sign and a count such as `!1` or `+3`, ""
        for nothing. A bare number says nothing."""
        return self.kind.sign(view)

    def title_style(self, *, is_current: bool) -> str:
        return "bold $primary" if is_current else ""

    def frame_notes(self) -> list[FrameNote]:
        """Return what stands at the right of the frame's upper edge."""
        return []

    def place_notes(self) -> list[FrameNote]:
        """Return where its list is, and what is out of sight that the person must know of."""
        return []

    @on(events.Resize)
    def fit_frame(self) -> None:
        self.show_frame()

    def show_frame(self) -> None:
        """Paint the upper edge of the frame anew, if it changed."""
        if self._is_painting:
            return
        width = self.outer_size.width - 6  # less corners, a line and a blank at both ends
        is_current = self.has_class("-current")
        title, frame_notes, place_notes = self.title(), self.frame_notes(), self.place_notes()
        notes = [
            *(note for note in frame_notes if not note.end),
            *place_notes,
            *(note for note in frame_notes if note.end),
        ]
        tabs, gap = self._tabs(width - _width_of(notes))
        if any(words == kind.key for kind, words, _ in tabs):
            fewer = [note for note in notes if not note.is_spare]
            named = self._tabs(width - _width_of(fewer))
            if not any(words == kind.key for kind, words, _ in named[0]):
                notes, (tabs, gap) = fewer, named
        shown = (title, tuple(notes), width, is_current, *tabs)
        if shown == self._frame or width < 1:
            return
        self._frame = shown
        line = "$primary" if is_current else "$border-blurred"
        style = self.title_style(is_current=is_current)
        spans = []
        parts = [plain("")]
        used = 0
        room = max(width - _width_of(place_notes), LEAST_TITLE)
        for kind, words, sign in tabs:
            is_own = kind is self.kind
            text = f"{self.kind.key} {title}".strip() if is_own else words
            own_style = style if is_own else "$text-muted"
            part = plain(f"{' ' * gap if used else ''}{text}", own_style, limit=120)
            if sign and not is_own:
                part += plain(f" {sign}", sign_style(sign) or own_style)
            part = part.truncate(max(min(room, width) - used, 0), ellipsis=True)
            if not is_own:
                spans.append((used + 3, used + 3 + part.cell_length, f"app.pane('{kind.id}')"))
            parts.append(part)
            used += part.cell_length
        while notes and used + 2 + sum(cell_len(note.text) + 1 for note in notes) > width:
            notes.pop(0)
        at = used
        rest = [cell_len(note.text) + 2 for note in notes]
        for number, note in enumerate(notes):
            length = cell_len(note.text)
            end = note.end - 3 if note.end else width - sum(rest[number + 1 :])
            start = max(end - length, at + 2)
            if start + length > width:
                break
            parts += [plain(" "), plain("─" * (start - at - 2), line), plain(" ")]
            parts.append(plain(note.text, note.style or "$text-muted"))
            spans.append((start + 3, start + 3 + length, note.act))
            at = start + length
        if at > used and at < width:
            parts += [plain(" "), plain("─" * (width - at - 1), line)]
        self._notes = tuple(spans)
        self.border_title = Content("").join(parts)

    def _tabs(self, room: int) -> tuple[list[tuple[PaneKind, str, str]], int]:
        """Return the panes of this place with what their tabs say, a word each and a sign, and the
        blanks between tabs. Where room is short blanks go first, then signs of what is well, then
        the ends of the words; without room for three letters each, the keys stand alone."""
        slot = self.slot if len(self.slot) > 1 else (self.kind,)
        view = self.tower.view
        signs = [(kind, self.sign_of(kind, view)) for kind in slot]
        for letters, has_calm, gap in _BREVITIES:
            tabs = []
            for kind, sign in signs:
                is_whole = kind is self.kind and letters != 0
                words = kind.title if is_whole else kind.title[:letters]
                shown = sign if has_calm or not is_calm(sign) else ""
                tabs.append((kind, f"{kind.key} {words}".rstrip(), shown))
            signed = (sign for kind, _, sign in tabs if sign and kind is not self.kind)
            used = sum(len(words) for _, words, _ in tabs) + sum(len(sign) + 1 for sign in signed)
            if used + gap * (len(tabs) - 1) < room:
                break
        return tabs, gap

    def on_click(self, event: events.Click) -> None:
        if event.widget is self and event.y == 0:
            for start, end, act in self._notes:
                if act and start <= event.x < end:
                    self.call_later(self.run_action, act)
