"""The arguments as the person writes them: fields of a form, one of a few values, or JSON."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec
from msgspec import Raw
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.events import Click, Key
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Input, Static, TextArea
from textual.widgets.text_area import Edit, EditResult

from tapui.schemas.fields import Argument, FieldError, Form, check_json
from tapui.text import escaped, json_text, safe_text
from tapui.tower.textual.dialogs import AnswerInput, AnswerText
from tapui.tower.textual.widgets import plain
from tapui.wire.limits import MAX_TELL

_UNSET = "not given"
_SHOWN = 200
"""Characters of a choice that are shown."""
_SHOWN_IN_LIST = 600


class ChoiceLine(Static, can_focus=True):
    """`value` is one of `choices`, which are JSON, or "" for none of them. `names` are shown in
    their place where there are any; behind equal ones stands the choice itself."""

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
        count = Counter(named)
        named = [
            f"{name} ({one})" if count[name] > 1 else name
            for one, name in zip(choices, named, strict=True)
        ]
        self._choices = ("", *choices) if can_be_unset else tuple(choices)
        self._names = (_UNSET, *named) if can_be_unset else tuple(named)
        self._at = self._choices.index(value) if value in self._choices else 0

    @property
    def value(self) -> str:
        return self._choices[self._at]

    def render(self) -> Content:
        arrows = "bold $accent" if self.has_focus else "$text-muted"
        name = plain(self._names[self._at], "" if self.value else "$text-muted", limit=_SHOWN)
        among = [one for one in self._choices if one]
        number = f"  {among.index(self.value) + 1} of {len(among)}" if self.value else ""
        place = plain(number, "$text-muted")
        return plain("< ", arrows) + name + plain(" >", arrows) + place

    def on_key(self, event: Key) -> None:
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
        event.stop()
        self.focus()
        self.action_step(1)

    def action_step(self, step: int) -> None:
        self._go((self._at + step) % len(self._choices))

    def action_submit(self) -> None:
        self.post_message(self.Submitted())

    def _go(self, at: int) -> None:
        if at != self._at:
            self._at = at
            self.refresh()
            self.post_message(self.Changed())


_NAME = 18
"""Cells of a field's name."""
MOST_ROWS = 6
"""Choices of a list that are in sight."""


class ChoiceList(ChoiceLine, inherit_bindings=False):
    """Choices below each other: of one that stands out, or of `several`, which Space chooses and
    takes back. `value` is the choice, or a list of them, as JSON; "" for none, unless that
    `is_given`. So many `rows` are in sight at once."""

    rows = reactive(MOST_ROWS, layout=True)

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step(-1)", "Previous", show=False),
        Binding("down", "step(1)", "Next", show=False),
        Binding("space", "choose", "Choose", show=False),
        Binding("enter", "submit", "Done", show=False),
    ]

    def __init__(
        self,
        choices: Sequence[str],
        chosen: Sequence[str] = (),
        names: Sequence[str] = (),
        *,
        is_several: bool = False,
        is_given: bool = False,
    ) -> None:
        first = next((choice for choice in choices if choice in chosen), "")
        super().__init__(choices, first, names, can_be_unset=False)
        self._is_several, self._is_given, self._is_aimed = is_several, is_given, False
        self._chosen = [choice for choice in self._choices if choice in chosen]

    @property
    def value(self) -> str:
        if self._is_several:
            return f"[{', '.join(self._chosen)}]" if self._chosen or self._is_given else ""
        return self._chosen[0] if self._chosen else ""

    @property
    def _first(self) -> int:
        """The choice in the first row."""
        return min(max(self._at - self.rows // 2, 0), max(len(self._choices) - self.rows, 0))

    @property
    def _in_sight(self) -> range:
        return range(self._first, min(self._first + self.rows, len(self._choices)))

    def _line(self, at: int) -> Content:
        """Return a choice with all of its name: it is wrapped, for the end may be what counts."""
        is_chosen = self._choices[at] in self._chosen
        boxes = ("[x] " if is_chosen else "[ ] ") if self._is_several else ""
        sign = boxes or ("● " if is_chosen else "○ ")
        here = "bold reverse" if self.has_focus and at == self._at else ""
        name = plain(self._names[at], here or ("bold" if is_chosen else ""), limit=_SHOWN_IN_LIST)
        return plain(sign, "$accent" if is_chosen else "$text-muted") + name

    def render(self) -> Content:
        lines = [self._line(at) for at in self._in_sight]
        if len(self._choices) > self.rows:
            lines.append(plain(f"{self._at + 1} of {len(self._choices)}", "$text-muted"))
        return Content("\n").join(lines)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Beyond its ends the keys are those of what is around it."""
        if action == "step":
            return 0 <= self._at + int(str(parameters[0])) < len(self._choices)
        return super().check_action(action, parameters)

    def action_step(self, step: int) -> None:
        self._at, self._is_aimed = self._at + step, True
        self.refresh(layout=len(self._choices) > self.rows)

    def action_choose(self) -> None:
        choice = self._choices[self._at]
        wanted = {*self._chosen} if self._is_several else set()
        wanted ^= {choice} if self._is_several or choice not in self._chosen else set()
        self._chosen = [choice for choice in self._choices if choice in wanted]
        self._is_given, self._is_aimed = True, False
        self.refresh()
        self.post_message(self.Changed())

    def action_submit(self) -> None:
        if not self._is_several and self._is_aimed and self._choices[self._at] not in self._chosen:
            self.action_choose()
        super().action_submit()

    def on_key(self, event: Key) -> None:
        if event.key in ("left", "right"):  # these would leave the request
            event.stop()
            event.prevent_default()

    def on_click(self, event: Click) -> None:
        event.stop()
        event.prevent_default()
        self.focus()
        below = 0
        for at in self._in_sight:
            below += self._line(at).get_height({}, self.content_size.width)
            if event.y < below:
                self._at = at
                self.action_choose()
                return

    def _go(self, at: int) -> None:
        """A letter goes to the next choice that begins with it, and takes it if it is the one."""
        self._at = at
        self.refresh(layout=len(self._choices) > self.rows)
        if not self._is_several and self._choices[at] not in self._chosen:
            self.action_choose()


def _name(choice: str) -> str:
    value = msgspec.json.decode(choice)
    return value if isinstance(value, str) and safe_text(value) == value != "" else choice


MAX_JSON = 1024 * 1024
"""Characters of a text of JSON that can be written here."""


class Changed(Message):
    """Something else is written."""


class Done(Message):
    """Enter in the last field."""


class FieldLine(Vertical):
    """A field with its name, and below it what is said of it, or what is wrong with it.

    The first key in a text takes its place, unless the person has begun it (`is_begun`).
    """

    DEFAULT_CSS = """
    FieldLine { height: auto; }
    FieldLine .entry { height: auto; }
    FieldLine .name { width: 18; height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    FieldLine .about { padding-left: 18; height: auto; max-height: 2; width: 1fr; }
    FieldLine Input, FieldLine ChoiceLine { width: 1fr; height: 1; background: $panel; }
    FieldLine AnswerText, FieldLine ChoiceList { width: 1fr; height: auto; background: $panel; }
    """

    def __init__(
        self, field: Argument, text: str, *, is_begun: bool = False, as_lists: bool = False
    ) -> None:
        super().__init__()
        self.field, self._as_lists = field, as_lists
        self.entry: AnswerInput | AnswerText | ChoiceLine | ChoiceList
        if field.kind == "several":
            chosen = [json_text(one) for one in msgspec.json.decode(text)] if text else []
            self.entry = ChoiceList(
                field.choices, chosen, field.names, is_several=True, is_given=bool(text)
            )
        elif field.kind == "choice" and as_lists and len(field.choices) > 1:
            self.entry = ChoiceList(field.choices, [text], field.names)
        elif field.kind == "choice":
            self.entry = ChoiceLine(field.choices, text, field.names)
        elif field.kind == "text" and not field.is_secret:
            hint, selects = field.takes, not is_begun
            self.entry = AnswerText(
                text, max_length=MAX_TELL, placeholder=hint, select_on_focus=selects
            )
        else:
            self.entry = AnswerInput(
                text,
                placeholder=field.takes,
                password=field.is_secret,
                compact=True,
                select_on_focus=not is_begun,
            )
        self._wrong = ""

    def compose(self) -> ComposeResult:
        field = self.field
        with Horizontal(classes="entry"):
            name = plain(field.title if self._is_titled else field.key, "bold", limit=64)
            mark = plain(" *" if field.is_required else "", "bold $accent")
            yield Static(name + mark, classes="name", markup=False)
            yield self.entry
        yield Static("", classes="about", markup=False)

    @property
    def _is_titled(self) -> bool:
        """Whether its title is short enough to stand in place of its key."""
        room = _NAME - 2 * self.field.is_required
        return self._as_lists and 0 < plain(self.field.title).cell_length <= room

    def on_mount(self) -> None:
        self._tell()

    def mark_wrong(self, wrong: str) -> None:
        """Say what is wrong with it, "" for nothing."""
        if wrong != self._wrong:
            self._wrong = wrong
            self._tell()

    def _tell(self) -> None:
        field, about = self.field, self.query_one(".about", Static)
        if self._wrong:
            about.update(plain(self._wrong, "$error", limit=300))
            about.display = True
            return
        title = "" if self._is_titled else field.title
        words = ". ".join(one for one in (title, field.about) if one)
        about.update(plain(words, "$text-muted", limit=600))
        about.display = bool(words)


class FormView(VerticalScroll, can_focus=False):
    """The fields of a form. With `as_lists` its choices are below each other, and a field is called
    by its title, as Copilot shows its own forms."""

    DEFAULT_CSS = """
    FormView { height: auto; max-height: 100%; scrollbar-size-vertical: 1; }
    """

    def __init__(
        self,
        form: Form,
        typed: Mapping[str, str],
        *,
        is_begun: bool = False,
        as_lists: bool = False,
    ) -> None:
        super().__init__()
        self.form, self._as_lists = form, as_lists
        self._typed = typed
        self._is_begun = is_begun

    def compose(self) -> ComposeResult:
        if not self.form.fields:
            yield Static(plain("It takes no arguments.", "$text-muted"), markup=False)
        for field in self.form.fields:
            typed = self._typed.get(field.key, "")
            begun, lists = self._is_begun, self._as_lists
            yield FieldLine(field, typed, is_begun=begun, as_lists=lists)

    @property
    def lines(self) -> list[FieldLine]:
        return list(self.query(FieldLine))

    def read(self) -> tuple[Raw, dict[str, str]]:
        typed = {line.field.key: line.entry.value for line in self.lines}
        return self.form.read(typed, is_bounded=self._as_lists)

    def mark(self, wrong: Mapping[str, str], *, is_asked: bool = False) -> None:
        for line in self.lines:
            fault = wrong.get(line.field.key, "")
            is_untouched = not (is_asked or line.entry.value) and fault == "is required"
            line.mark_wrong("" if is_untouched else fault)

    def focus_inside(self) -> bool:
        """Go to the first field; return whether there is one."""
        for line in self.lines:
            line.entry.focus()
            return True
        return False

    @on(Input.Changed)
    @on(TextArea.Changed)
    @on(ChoiceLine.Changed)
    def _tell_change(self, event: Message) -> None:
        event.stop()
        self.post_message(Changed())

    @on(Input.Submitted)
    @on(AnswerText.Submitted)
    @on(ChoiceLine.Submitted)
    def _go_on(self, event: Message) -> None:
        event.stop()
        entries = [line.entry for line in self.lines]
        at = next((at for at, one in enumerate(entries) if one.has_focus), len(entries))
        if at + 1 < len(entries):
            entries[at + 1].focus()
        else:
            self.post_message(Done())


class JsonView(TextArea):
    """All arguments as one text of JSON. What is typed or pasted is made safe for the screen.

    `written` is the text where it was begun already, which may be no JSON yet.
    """

    DEFAULT_CSS = """
    JsonView { height: auto; min-height: 3; max-height: 100%; scrollbar-size-vertical: 1; }
    """

    def __init__(self, arguments: Raw, written: str | None = None) -> None:
        if written is None:
            written = json_text(msgspec.json.decode(arguments), indent=2)
        super().__init__(written, soft_wrap=True, compact=True)
        # Nothing on the screen moves by itself, and pictures do not depend on the clock.
        self.set_reactive(TextArea.cursor_blink, False)

    def edit(self, edit: Edit) -> EditResult:
        """Change the text: keys and pastes alike come this way."""
        room = MAX_JSON - len(self.text)
        edit.text = escaped(edit.text)[: max(room, 0)]
        return super().edit(edit)

    def focus_inside(self) -> bool:
        self.focus()
        return True

    def read(self) -> tuple[Raw, dict[str, str]]:
        """Return the arguments, and what is wrong (under "")."""
        text = self.text.strip() or "{}"
        try:
            value = check_json(text)
        except FieldError as error:
            return Raw(b"{}"), {"": str(error)}
        if not isinstance(value, dict):
            return Raw(b"{}"), {"": 'write an object, such as {"name": "Ada"}'}
        return Raw(text.encode()), {}

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.post_message(Changed())
