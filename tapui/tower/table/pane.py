"""What all panes share: a frame with a title, the topics they show, and when they are painted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, cast

from textual import events, on
from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget

from tapui.tower.app.tower import RowAction, Tower
from tapui.tower.app.view import View
from tapui.tower.keys.bindings import bindings
from tapui.tower.textual.widgets import plain


@dataclass(frozen=True, slots=True)
class PaneKind:
    """A pane as the tower lists it: what is known before it is made.

    `load` imports its class: a pane that is not seen costs nothing. `note` is shown beside its
    title, such as what failed. Its place is in `app.layouts`; one with `has_rows` has none until
    that has said yes once.
    """

    id: str
    key: str
    title: str
    load: "Callable[[], type[Pane]]"
    note: Callable[[View], str] = lambda _view: ""
    has_rows: Callable[[View], bool] | None = None


class FrameNote(NamedTuple):
    """A text at the right of a frame's upper edge. `act` is Textual's action for a click on it;
    `end` is the cell at which it ends, counted from the frame's left edge (0: beside the next)."""

    text: str
    style: str = ""
    act: str = ""
    end: int = 0


class Pane(Widget):
    """A framed part of the screen.

    The app calls `show` with the topics that changed, as often as frames are painted and only while
    the pane is visible, and once with all topics when it becomes visible. A pane is not focusable
    itself: `focus_inside` focuses its main widget. Its title and key are in the registry.
    """

    TOPICS: ClassVar[frozenset[str]] = frozenset()
    BINDINGS: ClassVar[list[BindingType]] = bindings("actions")
    kind: PaneKind
    _frame: tuple[object, ...] = ()
    _notes: tuple[tuple[int, int, str], ...] = ()

    @property
    def tower(self) -> Tower:
        return cast("Tower", self.app)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint what changed. `dirty` holds at least one of `TOPICS`."""
        raise NotImplementedError

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

    # What can be done

    @property
    def subject(self) -> str:
        return ""

    def row_actions(self) -> list[RowAction]:
        return []

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What cannot be done now is not offered."""
        if action == "actions":
            return bool(self.row_actions())
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

    def title_style(self, *, is_current: bool) -> str:
        return "bold $primary" if is_current else ""

    def frame_notes(self) -> list[FrameNote]:
        """Return what stands at the right of the frame's upper edge."""
        return []

    @on(events.Resize)
    def fit_frame(self) -> None:
        self.show_frame()

    def show_frame(self) -> None:
        """Paint the upper edge of the frame anew, if it changed."""
        width = self.outer_size.width - 6  # less corners, a line and a blank at both ends
        is_current = self.has_class("-current")
        shown = (self.title(), tuple(self.frame_notes()), width, is_current)
        if shown == self._frame or width < 1:
            return
        self._frame = shown
        line = "$primary" if is_current else "$border-blurred"
        style = self.title_style(is_current=is_current)
        left = plain(f"{self.kind.key} {shown[0]}".strip(), style, limit=120)
        parts = [left.truncate(width, ellipsis=True)]
        used = parts[0].cell_length
        notes = list(shown[1])
        while notes and used + 2 + sum(len(note.text) + 1 for note in notes) > width:
            notes.pop(0)
        at, spans = used, []
        rest = [len(note.text) + 2 for note in notes]
        for number, note in enumerate(notes):
            length = len(note.text)
            end = note.end - 3 if note.end else width - sum(rest[number + 1 :])
            start = max(end - length, at + 2)
            if start + length > width:
                break
            parts += [plain(" "), plain("─" * (start - at - 2), line), plain(" ")]
            parts.append(plain(note.text, note.style or "$text-muted"))
            spans.append((start + 3, start + 3 + length, note.act))
            at = start + length
        if spans and at < width:
            parts += [plain(" "), plain("─" * (width - at - 1), line)]
        self._notes = tuple(spans)
        self.border_title = Content("").join(parts)

    def on_click(self, event: events.Click) -> None:
        if event.widget is self and event.y == 0:
            for start, end, act in self._notes:
                if act and start <= event.x < end:
                    self.call_later(self.run_action, act)
