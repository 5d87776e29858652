"""The arguments as the person writes them: fields of a form, or one text of JSON."""

from collections.abc import Mapping

import msgspec
from msgspec import Raw
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import Input, Static, TextArea
from textual.widgets.text_area import Edit, EditResult

from tapui.tower.plain import plain
from tapui.tower.screens.answer import AnswerInput
from tapui.tower.workbench.choice_line import ChoiceLine
from tapui.tower.workbench.fields import Argument, FieldError, Form, check_json
from tapui.tower.workbench.json_text import escaped, json_text

MAX_JSON = 1024 * 1024
"""Characters of a text of JSON that can be written here."""


class Changed(Message):
    """Something else is written."""


class Done(Message):
    """Enter in the last field."""


class FieldLine(Vertical):
    """A field with its name, and below it what is said of it, or what is wrong with it."""

    def __init__(self, field: Argument, text: str) -> None:
        super().__init__()
        self.field = field
        self.entry: AnswerInput | ChoiceLine
        if field.kind == "choice":
            self.entry = ChoiceLine(field.choices, text, field.names)
        else:
            self.entry = AnswerInput(
                text, placeholder=field.takes, password=field.is_secret, compact=True
            )
        self._wrong = ""

    def compose(self) -> ComposeResult:
        """The name, the place to write, the words."""
        field = self.field
        with Horizontal(classes="entry"):
            name = plain(field.key, "bold", limit=64)
            mark = plain(" *" if field.is_required else "", "bold $accent")
            yield Static(name + mark, classes="name", markup=False)
            yield self.entry
        yield Static("", classes="about", markup=False)

    def on_mount(self) -> None:
        """Say what it is."""
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
        words = ". ".join(one for one in (field.title, field.about) if one)
        about.update(plain(words, "$text-muted", limit=600))
        about.display = bool(words)


class FormView(VerticalScroll, can_focus=False):
    """The fields of a form."""

    def __init__(self, form: Form, typed: Mapping[str, str]) -> None:
        super().__init__()
        self.form = form
        self._typed = typed

    def compose(self) -> ComposeResult:
        """The fields; a word where there are none."""
        if not self.form.fields:
            yield Static(plain("It takes no arguments.", "$text-muted"), markup=False)
        for field in self.form.fields:
            yield FieldLine(field, self._typed.get(field.key, ""))

    @property
    def lines(self) -> list[FieldLine]:
        """The fields."""
        return list(self.query(FieldLine))

    def read(self) -> tuple[Raw, dict[str, str]]:
        """Return the arguments, and what is wrong by the field's key."""
        return self.form.read({line.field.key: line.entry.value for line in self.lines})

    def mark(self, wrong: Mapping[str, str]) -> None:
        """Say at each field what is wrong with it."""
        for line in self.lines:
            said = wrong.get(line.field.key, "")
            is_untouched = not line.entry.value and said == "is required"
            line.mark_wrong("" if is_untouched else said)

    def focus_inside(self) -> bool:
        """Go to the first field; return whether there is one."""
        for line in self.lines:
            line.entry.focus()
            return True
        return False

    def on_input_changed(self, event: Input.Changed) -> None:
        """Something was typed."""
        event.stop()
        self.post_message(Changed())

    def on_choice_line_changed(self, event: ChoiceLine.Changed) -> None:
        """Something was chosen."""
        event.stop()
        self.post_message(Changed())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go on to the next field."""
        event.stop()
        self._after_this()

    def on_choice_line_submitted(self, event: ChoiceLine.Submitted) -> None:
        """Go on to the next field."""
        event.stop()
        self._after_this()

    def _after_this(self) -> None:
        entries = [line.entry for line in self.lines]
        at = next((at for at, one in enumerate(entries) if one.has_focus), len(entries))
        if at + 1 < len(entries):
            entries[at + 1].focus()
        else:
            self.post_message(Done())


class JsonView(TextArea):
    """All arguments as one text of JSON. What is typed or pasted is made safe for the screen."""

    def __init__(self, arguments: Raw) -> None:
        super().__init__(
            json_text(msgspec.json.decode(arguments), indent=2), soft_wrap=True, compact=True
        )

    def edit(self, edit: Edit) -> EditResult:
        """Change the text: keys and pastes alike come this way."""
        room = MAX_JSON - len(self.text)
        edit.text = escaped(edit.text)[: max(room, 0)]
        return super().edit(edit)

    def focus_inside(self) -> bool:
        """Go to the text."""
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
        """Something was typed."""
        event.stop()
        self.post_message(Changed())
