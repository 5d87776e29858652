"""One thing in full: a frame with a text to read, beside the lists or alone in a sheet."""

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, cast

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget

from tapui.projection.paragraphs import Paragraph
from tapui.tower.app.tower import Tower
from tapui.tower.app.view import View
from tapui.tower.textual.inside import after_refresh
from tapui.tower.textual.reader import Reader
from tapui.tower.textual.widgets import plain, tone_style, upper_edge
from tapui.tower.wording.marks import Mark, Signs
from tapui.wire.message import Error

Keys = Callable[[], Sequence[str]]
"""Returns the keys of all items of the list that a detail was opened from, in its order."""

_NAME_WIDTH = 11


def alone() -> Sequence[str]:
    return ()


class DetailView(Vertical):
    """One item of a list, in full.

    `key` is the item on show, `keys` are all of the list. Subclasses paint it in `show`, which is
    called as for panes.
    """

    TOPICS: ClassVar[frozenset[str]] = frozenset()
    HELP: ClassVar[str] = ""
    """What the help says of it."""
    SIGNS: ClassVar[Signs] = ()
    """The signs in it, and what each says."""
    REVEALS = False
    """Whether what is shown is to be decided on."""

    class Left(Message):
        """The person is done with it."""

    def __init__(self, key: str, keys: Keys = alone) -> None:
        super().__init__()
        self.key = key
        self.keys = keys
        self.is_alone = False
        """Whether it stands in a sheet of its own."""
        self._frame: tuple[Mark, str, str, str] | None = None

    def compose(self) -> ComposeResult:
        yield Reader(reveals=self.REVEALS)
        yield from self.below()

    def below(self) -> Iterable[Widget]:
        return ()

    @property
    def tower(self) -> Tower:
        return cast("Tower", self.app)

    @property
    def reader(self) -> Reader:
        return self.query_one(Reader)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint what changed."""
        raise NotImplementedError

    def show_anew(self) -> None:
        """Paint all of it."""
        self.show(self.tower.view, self.TOPICS)

    @property
    def step_key(self) -> tuple[str, str] | None:
        """The session and the key (`FailedEvent`) of the step that stands here; None for none."""
        return None

    @property
    def session_id(self) -> str:
        """The session that it is, or of what happened in it; "" for others."""
        return self.step_key[0] if self.step_key is not None else ""

    def came_up(self) -> None:
        """It has come on the screen, or what was over it is gone."""

    def focus_inside(self) -> None:
        """Give it the keys."""
        self.screen.set_focus(self.reader)

    @property
    def has_keys(self) -> bool:
        """Whether the person is in it."""
        return self.is_alone or self.has_pseudo_class("focus-within")

    def leave(self) -> None:
        self.post_message(self.Left())

    def close_topmost(self) -> bool:
        """Close what is open within, such as a field; return whether something was."""
        return False

    def on_mount(self) -> None:
        after_refresh(self, self._show_first)

    def _show_first(self) -> None:
        """Paint what has its place and was not painted yet: Textual posts no `Resize` to a new
        widget whose place was asked for before the layout gave it one."""
        if self._frame is None and self.size and self.is_attached:
            self.show_anew()

    def on_resize(self) -> None:
        self._show_frame()
        if self.is_mounted and self.query(Reader):
            self.show_anew()

    # The frame

    def set_frame(self, mark: Mark, name: str, note: str, tone: str = "muted") -> None:
        """Show state and name in the upper edge and a note at its right."""
        frame = (mark, name, note, tone)
        if frame != self._frame:
            self._frame = frame
            self._show_frame()

    def _show_frame(self) -> None:
        if self._frame is not None:
            mark, name, note, tone = self._frame
            left = plain(f"{mark.glyph} ", tone_style(mark.tone)) + plain(name, "bold", limit=400)
            width = self.outer_size.width or self.app.size.width
            line = "$primary" if self.has_keys else "$border-blurred"
            self.border_title = upper_edge(left, note, tone, width, line=line)

    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    def keys_moved(self) -> None:
        """Its edge has the colour of the focus only while it has the keys."""
        self._show_frame()

    # Other items

    def may_become(self, other: "DetailView") -> bool:
        """Return whether this one can show what the other one would."""
        return type(self) is type(other)

    def is_same(self, other: "DetailView") -> bool:
        return self.key == other.key

    def become(self, other: "DetailView") -> None:
        """Show what the other one, which was never on the screen, would show."""
        self.keys = other.keys
        self.go_to(other.key)

    def neighbour(self, step: int) -> str | None:
        """Return the key of the item so many places away; None where there is none."""
        keys = list(self.keys())
        if self.key in keys:
            there = keys.index(self.key) + step
        else:
            there = 0 if step > 0 else len(keys) - 1
        return keys[there] if 0 <= there < len(keys) else None

    @property
    def may_turn(self) -> bool:
        """Whether another item may be shown now."""
        return True

    def go_to(self, key: str) -> None:
        """Show another item, from its beginning."""
        self.key = key
        self.reader.scroll_to(y=0, animate=False)
        self.show_anew()
        self.refresh_bindings()

    # What the person does

    def refused(self, error: Error) -> bool:
        """The gateway refused something; return whether that is shown here."""
        del error
        return False

    def copied(self) -> str:
        """Return what the key for copying takes: the text."""
        return "\n".join(reader.plain_text for reader in self.query(Reader))


def fact(name: str, text: str | None, tone: str = "muted") -> list[Paragraph]:
    """Return a line with the name of a fact and what it is; nothing for none."""
    if not text:
        return []
    text = f"{name:<{_NAME_WIDTH}}{' '.join(text.splitlines())}"
    return [Paragraph(text, tone, hang=_NAME_WIDTH)]
