"""One of a few values, on one line: the arrows and letters go through them."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Click, Key
from textual.message import Message
from textual.widgets import Static

from tapui.text import safe_text
from tapui.tower.plain import plain

_UNSET = "not given"
_SHOWN = 200
"""Characters of a choice that are shown."""


class ChoiceLine(Static, can_focus=True):
    """`value` is one of `choices`, which are JSON, or "" for none of them. `names` are shown in
    their place where there are any."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", "Previous", show=False),
        Binding("right,space", "step(1)", "Next", show=False),
        Binding("enter", "submit", "Done", show=False),
    ]

    class Changed(Message):
        """Another value was chosen."""

    class Submitted(Message):
        """Enter: the value is as it should be."""

    def __init__(
        self,
        choices: Sequence[str],
        value: str = "",
        names: Sequence[str] = (),
        *,
        can_be_unset: bool = True,
    ) -> None:
        super().__init__("", markup=False)
        named = [
            name or _name(one)
            for one, name in zip(choices, names or [""] * len(choices), strict=True)
        ]
        self._choices = ("", *choices) if can_be_unset else tuple(choices)
        self._names = (_UNSET, *named) if can_be_unset else tuple(named)
        self._at = self._choices.index(value) if value in self._choices else 0

    @property
    def value(self) -> str:
        """What is chosen, as JSON."""
        return self._choices[self._at]

    def render(self) -> Content:
        """Return the line."""
        arrows = "bold $accent" if self.has_focus else "$text-muted"
        name = plain(self._names[self._at], "" if self.value else "$text-muted", limit=_SHOWN)
        among = [one for one in self._choices if one]
        said = f"  {among.index(self.value) + 1} of {len(among)}" if self.value else ""
        place = plain(said, "$text-muted")
        return plain("< ", arrows) + name + plain(" >", arrows) + place

    def on_key(self, event: Key) -> None:
        """A letter goes to the next value that begins with it."""
        if event.character is None or not event.is_printable or event.key == "space":
            return
        event.stop()
        event.prevent_default()
        count = len(self._names)
        for away in range(1, count + 1):
            at = (self._at + away) % count
            if self._names[at].casefold().startswith(event.character.casefold()):
                self._go(at)
                return

    def on_click(self, event: Click) -> None:
        """A click goes to the next value."""
        event.stop()
        self.focus()
        self.action_step(1)

    def action_step(self, step: int) -> None:
        """Go to the next or previous value, round the ends."""
        self._go((self._at + step) % len(self._choices))

    def action_submit(self) -> None:
        """Say that it is as it should be."""
        self.post_message(self.Submitted())

    def _go(self, at: int) -> None:
        if at != self._at:
            self._at = at
            self.refresh()
            self.post_message(self.Changed())


def _name(choice: str) -> str:
    value = msgspec.json.decode(choice)
    return value if isinstance(value, str) and safe_text(value) == value != "" else choice
