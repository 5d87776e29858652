"""The part of an approval that is a question: its choices, and a line for the person's answer."""

from collections.abc import Mapping
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from tapui.tower.columns import Cell, Column, Row
from tapui.tower.safe_input import SafeInput
from tapui.tower.table import Table
from tapui.wire import subjects


class AnswerError(ValueError):
    """What was typed is not an answer; the text says what is."""


class AnswerInput(SafeInput):
    """A line to type in."""


class AnswerForm(Vertical):
    """A question's choices, and a line to type in where that is allowed."""

    def __init__(self, approval: subjects.Approval, detail: Mapping[str, Any]) -> None:
        super().__init__()
        self.approval_id = approval.id
        self._choices = _texts(detail.get("choices"))
        self._is_free = detail.get("allowFreeform") is not False or not self._choices

    def compose(self) -> ComposeResult:
        """Choices, then the line."""
        if self._choices:
            yield Table((Column("", 12, 300),))
        if self._is_free:
            hint = "or type your own answer" if self._choices else "type here"
            yield AnswerInput(placeholder=hint)

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
        """Return the answer as text. Raises AnswerError."""
        for line in self.query(Input):
            if line.value:
                return line.value
        if self._choices:
            return self._choices[int(self.query_one(Table).selected or 0)]
        raise AnswerError("type an answer first")


def _texts(found: object) -> tuple[str, ...]:
    return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()
