"""The part of an approval that is a question: fields for the person's answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from tapui.tower.columns import Cell, Column, Row
from tapui.tower.plain import plain
from tapui.tower.safe_input import SafeInput
from tapui.tower.table import Table
from tapui.wire import subjects

_MAX_FIELDS = 20


class AnswerError(ValueError):
    """What was typed is not an answer; the text says what is."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form: its key, what is said of it, its JSON type and its choices."""

    key: str
    about: str
    type: str = "string"
    choices: tuple[str, ...] = ()
    is_required: bool = True

    def read(self, text: str) -> object:
        """Return what was typed as the field's type; raises AnswerError."""
        if self.choices and text not in self.choices:
            raise AnswerError(f"{self.key}: write one of {', '.join(self.choices)}")
        try:
            if self.type == "integer":
                return int(text)
            if self.type == "number":
                return float(text)
        except ValueError as error:
            raise AnswerError(f"{self.key}: write a number") from error
        if self.type == "boolean":
            if text.lower() not in ("yes", "no", "true", "false"):
                raise AnswerError(f"{self.key}: write yes or no")
            return text.lower() in ("yes", "true")
        return text


class AnswerInput(SafeInput):
    """A line to type in."""


class AnswerForm(Vertical):
    """A question's choices and a line to type in, or a form of several lines."""

    def __init__(self, approval: subjects.Approval, detail: Mapping[str, Any]) -> None:
        super().__init__()
        self.approval_id = approval.id
        self._is_form = approval.kind == "elicitation"
        self._choices = () if self._is_form else _texts(detail.get("choices"))
        is_free = detail.get("allowFreeform") is not False or not self._choices
        self._fields = _fields(detail) if self._is_form else [Field("answer", "")] * is_free

    def compose(self) -> ComposeResult:
        """Choices, then fields."""
        if self._choices:
            yield Table((Column("", 12, 300),))
        for index, field in enumerate(self._fields):
            if self._is_form:
                yield Static(plain(field.about, limit=200), classes="label", markup=False)
            hint = "or type your own answer" if self._choices else "type here"
            yield AnswerInput(placeholder=hint, id=f"field-{index}")

    def on_mount(self) -> None:
        """Fill in the choices."""
        for table in self.query(Table):
            table.styles.height = min(len(self._choices), 6) + 1
            table.set_rows([Row(str(at), (Cell(text),)) for at, text in enumerate(self._choices)])

    def focus_inside(self) -> None:
        """Focus the first thing to fill in."""
        for widget in self.query("Table, Input"):
            widget.focus()
            return

    @property
    def has_focus_inside(self) -> bool:
        """Whether the person is at a field."""
        return self.has_pseudo_class("focus-within")

    def answer(self) -> object:
        """Return the answer: a string, or an object for a form. Raises AnswerError."""
        typed = [one.value for one in self.query(Input)]
        if not self._is_form:
            if typed and typed[0]:
                return typed[0]
            if self._choices:
                return self._choices[int(self.query_one(Table).selected or 0)]
            raise AnswerError("type an answer first")
        answer: dict[str, object] = {}
        for field, text in zip(self._fields, typed, strict=True):
            if text:
                answer[field.key] = field.read(text)
            elif field.is_required:
                raise AnswerError(f"{field.key} is required")
        return answer


def _texts(found: object) -> tuple[str, ...]:
    return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()


def _fields(detail: Mapping[str, Any]) -> list[Field]:
    schema = detail.get("requestedSchema") or detail.get("schema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return []
    assert isinstance(schema, dict)
    required = _texts(schema.get("required"))
    return [
        _field(key, about if isinstance(about, dict) else {}, key in required)
        for key, about in list(properties.items())[:_MAX_FIELDS]
    ]


def _field(key: str, schema: Mapping[str, Any], is_required: bool) -> Field:
    kind = schema.get("type")
    choices = _texts(schema.get("enum"))
    words = [str(schema.get("title") or key), str(schema.get("description") or "")]
    if kind == "boolean":
        words.append("(yes or no)")
    elif choices:
        words.append(f"({', '.join(choices)})")
    if not is_required:
        words.append("(optional)")
    return Field(
        key,
        " ".join(word for word in words if word),
        kind if isinstance(kind, str) else "string",
        choices,
        is_required,
    )
