"""The part of an approval that is a form: the fields of its schema, or its answer as JSON."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from tapui.tower.plain import plain
from tapui.tower.screens.answer import AnswerError
from tapui.tower.workbench.arguments_view import FormView, JsonView
from tapui.tower.workbench.fields import NoForm, form_of
from tapui.wire import subjects
from tapui.wire.codec import raw


class FormAnswer(Vertical):
    """A form to fill in. Where its schema makes none, the answer is written as JSON."""

    def __init__(self, approval: subjects.Approval, detail: Mapping[str, Any]) -> None:
        super().__init__()
        self.approval_id = approval.id
        self._why_json = ""
        self._fields: FormView | JsonView
        try:
            form = form_of(raw(detail.get("requestedSchema") or detail.get("schema") or {}))
        except NoForm as reason:
            self._why_json = str(reason)
            self._fields = JsonView(Raw(b"{}"))
        else:
            self._fields = FormView(form, form.defaults)

    def compose(self) -> ComposeResult:
        """The fields; above JSON, why it is no form."""
        if self._why_json:
            said = f"The answer is written as JSON: {self._why_json}."
            yield Static(plain(said, "$text-muted", limit=300), markup=False)
        yield self._fields

    def focus_inside(self) -> None:
        """Go to the first field."""
        self._fields.focus_inside()

    @property
    def has_focus_inside(self) -> bool:
        """Whether the person is at a field."""
        return self.has_pseudo_class("focus-within")

    def mark(self) -> None:
        """Say at each field what is wrong with it."""
        if isinstance(self._fields, FormView):
            self._fields.mark(self._fields.read()[1])

    def answer(self) -> object:
        """Return the answer, an object. Raises `AnswerError`."""
        written, wrong = self._fields.read()
        for key, said in wrong.items():
            between = " " if said == "is required" else ": "
            raise AnswerError(f"{key}{between}{said}" if key else said)
        return msgspec.json.decode(written)
