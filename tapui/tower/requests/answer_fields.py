"""The parts of a request's sheet that the person fills in, and its letters and last line."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, cast

import msgspec
from msgspec import Raw
from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import AwaitMount
from textual.widgets import Digits, Static

from tapui.projection import approvals
from tapui.projection.requests.kinds import kind_of
from tapui.projection.requests.questions import form_asked
from tapui.projection.requests.request_kind import Option
from tapui.projection.state import is_waiting
from tapui.schemas.fields import NoForm
from tapui.text import safe_text
from tapui.tower.app.services import MOST, EarlierFault, EarlierRequests, matched
from tapui.tower.app.tower import Tower
from tapui.tower.app.view import View
from tapui.tower.requests.rule_proposal import RuleProposal
from tapui.tower.table.columns import Cell, Column, Row
from tapui.tower.table.table import Table
from tapui.tower.textual.dialogs import AnswerError, AnswerForm, AnswerText
from tapui.tower.textual.widgets import plain
from tapui.tower.wording import marks
from tapui.tower.workbench.arguments_view import MOST_ROWS, ChoiceList, FormView, JsonView
from tapui.wire import subjects
from tapui.wire.limits import MAX_TELL

Written = Mapping[str, str]
"""What was filled in: the text of each field, the sessions that were chosen."""
_ALL = ""
"""The field that stands for all of them."""


class FormAnswer(Vertical):
    """A form to fill in. Where its schema makes none, the answer is written as JSON."""

    def __init__(
        self, approval: subjects.Approval, detail: Mapping[str, Any], written: Written
    ) -> None:
        super().__init__()
        self.approval_id = approval.id
        self._why_json = ""
        self._fields: FormView | JsonView
        try:
            form = form_asked(detail)
        except NoForm as reason:
            self._why_json = str(reason)
            self._fields = JsonView(Raw(b"{}"), written.get(_ALL))
        else:
            typed = {**form.defaults, **written}
            self._fields = FormView(form, typed, is_begun=bool(written), as_lists=True)

    @property
    def written(self) -> Written:
        if isinstance(self._fields, JsonView):
            return {_ALL: self._fields.text}
        return {line.field.key: line.entry.value for line in self._fields.lines}

    def compose(self) -> ComposeResult:
        """The fields; above JSON, why it is no form."""
        if self._why_json:
            note = f"The answer is written as JSON: {self._why_json}."
            yield Static(plain(note, "$text-muted", limit=300), markup=False)
        yield self._fields

    def focus_inside(self) -> None:
        self._fields.focus_inside()

    def mark(self, *, is_asked: bool = False) -> None:
        """Say what is wrong at its field; that it is required only once it `is_asked` for."""
        if isinstance(self._fields, FormView):
            self._fields.mark(self._fields.read()[1], is_asked=is_asked)

    def answer(self) -> object:
        """Return the answer, an object. Raises `AnswerError`."""
        written, wrong = self._fields.read()
        self.mark(is_asked=True)
        for key, fault in wrong.items():
            between = " " if fault == "is required" else ": "
            raise AnswerError(f"{key}{between}{fault}" if key else fault)
        return msgspec.json.decode(written)


class PairingPanel(Vertical):
    """Sessions to let the provider into; once opened, the code in large digits."""

    def __init__(self, approval: subjects.Approval, written: Written) -> None:
        super().__init__()
        self.approval_id = approval.id
        self._chosen: set[str] | None = set(written) - {_ALL} if written else None

    def compose(self) -> ComposeResult:
        """The choice and the code; one of them is shown."""
        yield Static("sessions that it may join", classes="label", markup=False)
        yield Table((Column("", 3), Column("", 12, 64), Column("", 9)))
        yield Digits("")
        yield Static("", classes="elsewhere", markup=False)

    @property
    def chosen(self) -> list[str]:
        return sorted(self._chosen or ())

    @property
    def written(self) -> Written:
        return dict.fromkeys((_ALL, *self.chosen), "")

    def focus_inside(self) -> None:
        self.query_one(Table).focus()

    def toggle(self) -> None:
        """Choose or drop the session under the cursor."""
        key = self.query_one(Table).selected
        if key is not None and self._chosen is not None:
            self._chosen ^= {key}
            self._fill(cast("Tower", self.app).view)

    def show(self, view: View, approval: subjects.Approval, dirty: frozenset[str]) -> None:
        is_revealed = approval.state == "revealed"
        self.set_class(is_revealed, "-revealed")
        if not is_revealed:
            if dirty & {"sessions", "approvals"} or self._chosen is None:
                self._fill(view)
            return
        code = view.codes.get(approval.id)
        digits = safe_text(code.code, limit=12) if code else ""
        self.query_one(Digits).update(f"{digits[:3]} {digits[3:]}" if digits else "")
        where = "" if code else "The code is shown in the tower that opened this request."
        self.query_one(".elsewhere", Static).update(plain(where, "$text-muted"))

    def _fill(self, view: View) -> None:
        sessions = view.open_sessions
        if self._chosen is None:
            self._chosen = {one.id for one in sessions[:1]}
        table = self.query_one(Table)
        table.styles.height = min(max(len(sessions), 1), 6) + 1
        rows = []
        for one in sessions:
            box = Cell("[x]" if one.id in self._chosen else "[ ]", "primary")
            mark = marks.SESSION[one.state]
            name = Cell(one.label or one.id, "strong")
            rows.append(Row(one.id, (box, name, Cell(mark.text, mark.tone))))
        table.set_rows(rows)


class RulePanel(Static):
    """Rules that would allow a request. Where there are records, it looks them through meanwhile.

    `earlier` reads what was asked in the rules' folder; it is called on a thread.
    """

    def __init__(self, proposal: RuleProposal, earlier: EarlierRequests | None) -> None:
        looks = "In the records: looking …" if earlier is not None else ""
        super().__init__(_lines(proposal.lines(looks)))
        self._proposal = proposal
        self._earlier = earlier

    def on_mount(self) -> None:
        if self._earlier is not None:
            self._look_back(self._earlier)

    @work(group="proposal")
    async def _look_back(self, earlier: EarlierRequests) -> None:
        recorded = await asyncio.to_thread(_recorded, earlier, self._proposal)
        self.update(_lines(self._proposal.lines(recorded)))


def _lines(texts: Sequence[str]) -> Content:
    return Content("\n").join([plain(one, limit=300) for one in texts])


def _recorded(earlier: EarlierRequests, proposal: RuleProposal) -> str:
    """Return what rules would have allowed of what was recorded. Blocks for as long as it takes."""
    try:
        outcome = matched(earlier(proposal.folder, MOST), proposal.policy_rules, proposal.folder)
    except EarlierFault as fault:
        return str(fault)
    return outcome.words("In the records of this folder")


Field = PairingPanel | AnswerForm | FormAnswer
"""The fields of a request, by its kind."""


class RequestFields(Vertical):
    """The fields of one request at a time. Those of another may be leaving still: the methods that
    look for fields take the id of the request on show. Fields that leave have no `display`, and may
    be empty: Textual mounts nothing in a widget that is being removed.

    Tab stays among them: beside the lists it else went to the next pane, where letters act.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "next_field(1)", show=False),
        Binding("shift+tab", "next_field(-1)", show=False),
    ]

    def action_next_field(self, step: int) -> None:
        move = self.screen.focus_next if step > 0 else self.screen.focus_previous
        move("RequestFields *")

    def fill(
        self, approval: subjects.Approval, detail: Mapping[str, Any], written: Written
    ) -> AwaitMount | None:
        """Add the fields of a request, filled in so, and return what waits until they can take the
        keys; None for a request without any."""
        field: Field
        match kind_of(approval).fields:
            case "sessions":
                field = PairingPanel(approval, written)
            case "answer":
                field = AnswerForm(approval, detail, written)
            case "form":
                field = FormAnswer(approval, detail, written)
            case None:
                return None
        return self.mount(field, before=0 if self.children else None)

    def fit(self, lines: int) -> None:
        """Take so many lines at most: a list of choices leaves one to the line below it."""
        self.styles.max_height = lines
        for table in self.query(Table):
            table.styles.max_height = max(lines - 1, 2)
        for choices in self.query(ChoiceList):
            choices.rows = max(min(lines - 1, MOST_ROWS), 1)

    def written(self, approval_id: str) -> Written:
        """Return what is filled in."""
        for field in (*self.panels(approval_id), *self.forms(approval_id)):
            return field.written
        return {}

    def empty(self) -> None:
        for child in self.children:
            child.remove()

    def panels(self, approval_id: str) -> list[PairingPanel]:
        panels = [one for one in self.query(PairingPanel) if one.is_mounted and one.display]
        return [one for one in panels if one.approval_id == approval_id]

    def forms(self, approval_id: str) -> list[AnswerForm | FormAnswer]:
        forms: list[AnswerForm | FormAnswer] = [*self.query(AnswerForm), *self.query(FormAnswer)]
        return [one for one in forms if one.display and one.approval_id == approval_id]

    def has_focus_in_form(self, approval_id: str) -> bool:
        return any(form.has_pseudo_class("focus-within") for form in self.forms(approval_id))

    # What belongs to the chosen answer

    def add_reason(self, text: str = "") -> AnswerText:
        """Add and return the line with the reason for the agent of a denial."""
        hint = "message to the agent"
        line = AnswerText(text, max_length=MAX_TELL, placeholder=hint, id="tell")
        self.mount(line)
        return line

    @property
    def reason(self) -> AnswerText | None:
        return next(iter(self.query("#tell").results(AnswerText)), None)

    def drop_choice(self) -> None:
        for shown in self.query(RulePanel):
            shown.remove()
        if (line := self.reason) is not None:
            line.remove()


class Letter(NamedTuple):
    """A letter: the answer it chooses, the key as the person reads it, what it does. `is_off`: not
    now."""

    answer: str
    key: str
    does: str
    is_off: bool = False


class Letters(Static):
    """One line each; a click chooses like the key."""

    class Clicked(Message):
        """An answer was clicked."""

        def __init__(self, answer: str) -> None:
            super().__init__()
            self.answer = answer

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self._shown: tuple[Letter, ...] = ()
        self._chosen: str | None = None

    def set_letters(self, letters: Sequence[Letter], chosen: str | None) -> None:
        shown = (tuple(letters), chosen)
        if shown != (self._shown, self._chosen):
            self._shown, self._chosen = shown
            self.update(Content("\n").join([self._line(one) for one in self._shown]))

    def on_click(self, event: events.Click) -> None:
        if 0 <= event.y < len(self._shown):
            self.post_message(self.Clicked(self._shown[event.y].answer))

    def _line(self, letter: Letter) -> Content:
        is_chosen = letter.answer == self._chosen
        mark = plain("▌", "$warning") if is_chosen else plain(" ")
        style = "$text-muted" if letter.is_off else ""
        does = plain(letter.does, "bold" if is_chosen else style)
        return mark + plain(f"{letter.key:<3}", style or "bold $accent") + does


def prompt_line(
    approval: subjects.Approval | None,
    *,
    chosen: Option | None,
    trouble: str,
    is_sent: bool,
    is_asked_about: bool,
    is_replay: bool,
    is_in_form: bool,
) -> Content:
    """Return what Enter does, or what to press before.

    `trouble` is why the last key did not count, `is_asked_about` whether the person is being asked
    if the answer may come from here, `is_in_form` whether they are at a field of a question or a
    form.
    """
    if approval is None:
        return plain("It waits no longer.", "$text-muted")
    if not is_waiting(approval):
        return plain(approvals.outcome(approval), "$text-muted", limit=200)
    if is_replay:
        return plain("This is a replay: nothing is answered here.", "$text-muted")
    if is_sent and is_asked_about:
        text = "sent; it counts once you allow this shell, in the tower that was there before"
        return plain(text, "$warning")
    if is_sent:
        return plain("sent, waiting for the gateway …", "$text-muted")
    before = plain(f"{trouble}  " if trouble else "", "bold $error", limit=300)
    if chosen is not None:
        return before + _then(chosen)
    if approval.state == "revealed":
        return before + plain("Enter this code on the page that asks for it.")
    if is_in_form:
        is_form = kind_of(approval).fields == "form"
        enter = "goes on, in the last field to your answer." if is_form else "takes this answer."
        return before + plain(f"Enter {enter}    Esc back", "$text-muted")
    choose = "  Space chooses sessions." if kind_of(approval).fields == "sessions" else ""
    return before + plain(f"A letter, then Enter.{choose}", "$text-muted")


def _then(option: Option) -> Content:
    allows = option.answer in ("allow", "keep", "make-rule")
    tone = "bold $success" if allows else "bold $error"
    rest = plain("    Esc back", "$text-muted")
    return plain(f"Enter {option.enter}", tone) + rest
