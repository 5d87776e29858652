"""What the person fills in before a request is answered, and what belongs to the chosen answer."""

from collections.abc import Mapping
from typing import Any

from textual.containers import Vertical

from tapui.tower.screens.answer import AnswerForm, AnswerInput
from tapui.tower.screens.form_answer import FormAnswer
from tapui.tower.screens.pairing import PairingPanel
from tapui.tower.screens.rule_panel import RulePanel
from tapui.wire import subjects

Field = PairingPanel | AnswerForm | FormAnswer
"""The fields of a request, by its kind."""


class RequestFields(Vertical):
    """The fields of one request at a time. Those of another may be leaving still: the methods that
    look for fields take the id of the request on show."""

    def fill(self, approval: subjects.Approval, detail: Mapping[str, Any]) -> Field | None:
        """Add the fields of a request and return them; None for a request without any."""
        field: Field
        if approval.kind == "pairing":
            field = PairingPanel(approval)
        elif approval.kind == "userInput":
            field = AnswerForm(approval, detail)
        elif approval.kind == "elicitation":
            field = FormAnswer(approval, detail)
        else:
            return None
        self.mount(field)
        return field

    def empty(self) -> None:
        """Remove all fields."""
        for found in self.children:
            found.remove()

    def panels(self, approval_id: str) -> list[PairingPanel]:
        """Return the choice of sessions, where the request is a pairing."""
        found = [one for one in self.query(PairingPanel) if one.is_mounted]
        return [one for one in found if one.approval_id == approval_id]

    def forms(self, approval_id: str) -> list[AnswerForm | FormAnswer]:
        """Return what an answer is written in, where the request is a question or a form."""
        found: list[AnswerForm | FormAnswer] = [*self.query(AnswerForm), *self.query(FormAnswer)]
        return [one for one in found if one.approval_id == approval_id]

    def has_focus_in_form(self, approval_id: str) -> bool:
        """Return whether the person is at a field of a question or a form."""
        return any(form.has_focus_inside for form in self.forms(approval_id))

    # What belongs to the chosen answer

    def add_reason(self) -> AnswerInput:
        """Add and return the line with what the agent is told about a denial."""
        line = AnswerInput(placeholder="what the agent is told", id="tell")
        self.mount(line)
        return line

    @property
    def reason(self) -> AnswerInput | None:
        """The line with what the agent is told."""
        return next(iter(self.query("#tell").results(AnswerInput)), None)

    def drop_choice(self) -> None:
        """Remove what belongs to the chosen answer."""
        for shown in self.query(RulePanel):
            shown.remove()
        if (line := self.reason) is not None:
            line.remove()
