"""The sheet of a request: shown in full; a letter chooses, Enter decides, the next follows."""

from collections.abc import Container, Iterable
from pathlib import PurePath
from typing import ClassVar, Literal

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tapui.projection import approvals
from tapui.projection.paragraphs import Paragraph
from tapui.projection.requests.kind import Answer, AskedRequest, Option, RequestContext, detail_of
from tapui.projection.requests.kinds import kind_of
from tapui.projection.state import is_unsettled, is_waiting
from tapui.times import date_and_time
from tapui.tower.app.view import View
from tapui.tower.keys.bindings import bindings
from tapui.tower.requests.answer_fields import (
    Field,
    FormAnswer,
    Letter,
    Letters,
    PairingPanel,
    RequestFields,
    RulePanel,
    prompt_line,
)
from tapui.tower.requests.rule_proposal import RuleProposal, proposal
from tapui.tower.requests.urgency import requests, standing
from tapui.tower.table.table import Table
from tapui.tower.textual.dialogs import AnswerError, AnswerInput
from tapui.tower.textual.sheet import SHEET_CSS, Sheet
from tapui.tower.textual.widgets import plain
from tapui.tower.wording import marks
from tapui.wire import subjects
from tapui.wire.message import Error
from tapui.wire.tower import ApprovalDecide, ApprovalReveal

_ALLOWING = ("allow", "keep", "make-rule")
DEAF_SECONDS = 0.5
"""A request takes no answer for so long after it came on screen."""


class ApprovalScreen(Sheet):
    """Shows one request after the other, the most urgent one next.

    A decision is for `key`, the request on show, and those that are answered with it.
    `passed_over` do not follow by themselves: the person has left them waiting before.
    """

    CSS_PATH: ClassVar[list[str | PurePath]] = [
        SHEET_CSS,
        "approval_sheet.tcss",
        "../workbench/arguments.tcss",
    ]
    TOPICS = frozenset({"approvals", "sessions", "clock"})
    CLOSES = "leaves it waiting"
    REVEALS = True
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("allow", "keep", "make-rule", "deny", "deny-and-tell", "one-by-one"),
        Binding("enter", "decide", "Decide", show=False),
        Binding("space", "pick", "Choose session", show=False),
    ]

    def __init__(self, approval_id: str, passed_over: Container[str] = ()) -> None:
        super().__init__(approval_id, self._waiting)
        self._passed_over = passed_over
        self._answered: set[str] = set()
        """Requests that were answered here, with any outcome."""
        self._is_apart = False
        """The person wants those that could be answered together one by one."""
        self._begin()

    def _begin(self) -> None:
        """Nothing is chosen and nothing was sent for the request on show."""
        self._shown_at = 0.0
        self._members: tuple[str, ...] = ()
        """The requests on show: `key`, and those that are answered with it."""
        self._is_partial: bool | None = None
        """Whether the rest of it is still read; None: it was not painted yet."""
        self._was_open = False
        self._was_opened = False
        """A code was revealed, as was asked for here."""
        self._chosen: Answer | None = None
        self._proposal: RuleProposal | None = None
        self._is_sent = False
        self._trouble = ""
        """Why the last key did not count."""
        self._note = ""
        """What became of the request before, or of a rule."""

    @property
    def approval(self) -> subjects.Approval | None:
        """The present request; None once the tower forgot it."""
        return self.tower.view.state.approvals.get(self.key)

    def below(self) -> Iterable[Widget]:
        yield RequestFields()
        yield Letters()
        yield Static("", classes="prompt", markup=False)

    def on_screen_resume(self) -> None:
        self._shown_at = self.tower.ticks()

    def on_mount(self) -> None:
        self._fill()
        super().on_mount()

    # One request after the other

    def _waiting(self) -> list[str]:
        return [one.approval.id for one in requests(self.tower.view)]

    def action_turn(self, step: int) -> None:
        """Show the previous or next request; this one goes on waiting."""
        if not self._is_sent:
            super().action_turn(step)

    def go_to(self, key: str) -> None:
        """Show another request: it takes no answer at first, and nothing is chosen."""
        self._begin()
        self._shown_at = self.tower.ticks()
        self.set_focus(self.reader)
        self.key = key
        self._fill()
        super().go_to(key)

    def _settled(self, approval: subjects.Approval | None) -> None:
        """The request on show is settled: say how, and go on to the next one."""
        is_own = self._is_sent or self._was_opened
        note = "It waits no longer."
        if approval is not None:
            mark = marks.APPROVAL[approval.state]
            what = approvals.request(approval)
            note = f"{mark.glyph} {approvals.outcome(approval)}: {approvals.verb(approval)} {what}"
            if len(self._members) > 1 and self._is_sent:
                note = f"{mark.glyph} {approvals.outcome(approval)}: {len(self._members)} emitters"
        following = (
            one.approval.id
            for one in requests(self.tower.view)
            if one.approval.state == "waiting" and one.approval.id not in self._passed_over
        )
        there = next((id_ for id_ in following if id_ not in {self.key, *self._answered}), None)
        if there is not None:
            self.go_to(there)
            self._note = note
            self._prompt()
        elif is_own and approval is not None and approval.state in ("approved", "denied"):
            self.dismiss(None)
        else:
            note = self._note
            self._begin()
            self._note = note
            self._drop_fields()
            if approval is not None:
                self._show(self.tower.view, approval)

    # What is shown

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint the present request; once it is settled, the next one."""
        approval = self.approval
        if approval is None or not is_unsettled(approval):
            if self._was_open:
                self._settled(approval)
                return
        else:
            self._was_open = True
        if approval is None:
            return
        if approval.state == "revealed" and not self._was_opened:
            self._was_opened, self._is_sent, self._chosen = self._is_sent, False, None
        self._show(view, approval)
        for panel in self._fields.panels(self.key):
            panel.show(view, approval, dirty)

    def _show(self, view: View, approval: subjects.Approval) -> None:
        bodies = self.tower.bodies
        whole = bodies.whole(approval)
        mark = marks.APPROVAL[approval.state]
        self._look_for_members(view, approval)
        if is_waiting(approval):
            name = self._headline(view, approval)
            self.set_frame(mark, name, standing(approval, view.now), "warning")
        else:
            self.set_frame(mark, self._headline(view, approval), mark.word)
        self.query_one(".sheet").set_class(is_waiting(approval), "-waiting")
        is_partial = bodies.is_awaited(approval)
        if is_partial != self._is_partial:
            context = RequestContext(view.state, date_and_time)
            parts = kind_of(approval).explained(context, self._asked(approval))
            if is_partial:
                parts.append(Paragraph("Reading the rest of this request …", "warning"))
            elif whole.is_cut:
                parts.append(Paragraph("The rest of this request was not kept.", "warning"))
            self.reader.set_parts(parts)
            if self._is_partial:
                self._fill(whole)
            self._is_partial = is_partial
        self._prompt()

    # Requests that are answered together

    def _look_for_members(self, view: View, approval: subjects.Approval) -> None:
        """Show the requests that are answered together; others than before take no answer yet."""
        if self._is_sent:
            return
        together = [approval] if self._is_apart else _together(view, approval)
        members = tuple(one.id for one in together) if approval in together else (approval.id,)
        if members == self._members:
            return
        if self._members:
            if self._chosen is not None:
                self._take_back()
                self._trouble = "Other emitters are asked about now: look again."
            self._shown_at = self.tower.ticks()
        self._members, self._is_partial = members, None

    def _asked(self, approval: subjects.Approval) -> list[AskedRequest]:
        state, bodies = self.tower.view.state, self.tower.bodies
        members = [state.approvals.get(id_) for id_ in self._members]
        wholes = [bodies.whole(one) for one in members if one is not None] or [approval]
        return [AskedRequest(one, detail_of(one)) for one in wholes]

    def _headline(self, view: View, approval: subjects.Approval) -> str:
        return kind_of(approval).headline(view.state, self._asked(approval))

    def action_one_by_one(self) -> None:
        approval = self.approval
        if approval is None or not self._is_open or self._option("one-by-one") is None:
            return
        self._take_back()
        self._is_apart = not self._is_apart
        self.reader.scroll_to(y=0, animate=False)
        self._show(self.tower.view, approval)

    def copied(self) -> str:
        approval = self.approval
        if approval is None or not kind_of(approval).is_copied:
            return super().copied()
        whole = self.tower.bodies.whole(approval)
        subject = kind_of(approval).subject(whole, detail_of(whole))
        return subject or super().copied()

    # Fields to fill in

    @property
    def _fields(self) -> RequestFields:
        return self.query_one(RequestFields)

    def _fill(self, approval: subjects.Approval | None = None) -> None:
        self._drop_fields()
        approval = approval or self.approval
        if approval is None or not is_unsettled(approval):
            return
        field = self._fields.fill(approval, detail_of(approval))
        if field is not None:
            self.call_after_refresh(self._focus_field, field)

    def _focus_field(self, field: Field) -> None:
        if field.is_attached and field.approval_id == self.key:
            field.focus_inside()
            approval = self.approval
            if isinstance(field, PairingPanel) and approval is not None:
                field.show(self.tower.view, approval, self.TOPICS)
            self._prompt()

    def _drop_fields(self) -> None:
        if self.focused not in (None, self.reader):
            self.set_focus(self.reader)
        self._fields.empty()

    # Answering

    def refused(self, error: Error) -> bool:
        """The gateway did not take the decision."""
        if error.reply_to not in ("approval.decide", "approval.reveal"):
            return False
        self._is_sent, self._chosen = False, None
        self._answered.clear()
        self._trouble = error.message
        self._prompt()
        return True

    @property
    def _is_open(self) -> bool:
        approval = self.approval
        return approval is not None and is_waiting(approval) and not self._is_sent

    def _hears(self) -> bool:
        """Return whether a key that answers counts now; say why where it does not."""
        if not self._is_open:
            return False
        self._trouble = ""
        if self.tower.ticks() - self._shown_at < DEAF_SECONDS:
            self._trouble = "Too early: this request has only just come up. Press it again."
        elif not self.tower.typed.is_alone:
            self._trouble = "Pressed with other keys, so it does not count."
        self._prompt()
        return not self._trouble

    def action_choose(self, answer: Answer) -> None:
        """Choose an answer: nothing is decided yet."""
        if not self._hears() or self._option(answer) is None:
            return
        if answer in _ALLOWING and self._is_partial:
            self._trouble = "Not all of it is here yet: wait, or deny."
        elif answer in _ALLOWING and (unread := self._unread()):
            self._trouble = unread
        elif answer != self._chosen:
            self._take_back()
            self._chosen = answer
            if answer == "deny-and-tell":
                self.call_after_refresh(self._fields.add_reason().focus)
            elif answer == "make-rule":
                self._propose()
        self._prompt()

    def _unread(self) -> str:
        """Return what is to be done before this may be allowed; "" once its end was on screen."""
        approval = self.approval
        is_short = approval is not None and not kind_of(approval).must_be_read
        if is_short or self.reader.was_read:
            return ""
        count = self.reader.lines_below
        more = "1 more line" if count == 1 else f"{count:,} more lines"
        return f"{more} below: scroll to the end first."

    def action_decide(self) -> None:
        """Do what is chosen."""
        if not self._hears():
            return
        if self._chosen in _ALLOWING and (unread := self._unread()):
            self._trouble = unread
        else:
            self._decide()
        self._prompt()

    def _decide(self) -> None:
        approval = self.approval
        match self._chosen:
            case "allow":
                self._allow()
            case "keep":
                kept_as = kind_of(approval).kept_as if approval is not None else None
                self._send("approve", kept_as, keep=kept_as is None)
            case "make-rule":
                self._write_rule()
            case "deny":
                self._send("deny")
            case "deny-and-tell":
                line = self._fields.reason
                if line is None or not line.value.strip():
                    self._trouble = "Write a message to the agent first."
                else:
                    self._send("deny", reason=line.value.strip())
            case _:
                self._trouble = "Choose by a letter first."

    def _allow(self) -> None:
        for panel in self._fields.panels(self.key):
            self._is_sent = True
            self.tower.send(ApprovalReveal(approval_id=self.key, sessions=panel.chosen or None))
            return
        for form in self._fields.forms(self.key):
            try:
                answer = form.answer()
            except AnswerError as error:
                self._chosen, self._trouble = None, str(error)
            else:
                self._send("approve", answer)
            return
        approval = self.approval
        if approval is not None and kind_of(approval).fields is None:
            self._send("approve")

    def _propose(self) -> None:
        """Show the rules that would allow this, and what else they would have allowed here."""
        approval = self.approval
        if approval is None:
            return
        made = proposal(self.tower.view, self.tower.bodies.whole(approval))
        if made.fault or self.tower.on_rule is None:
            self._chosen = None
            where = "in the demonstration" if self.tower.is_demo else "from here"
            self._trouble = made.fault or f"Rules cannot be written {where}."
            return
        self._proposal = made
        self._fields.mount(RulePanel(made, self.tower.earlier_requests))

    def _write_rule(self) -> None:
        """Write the rules that are shown; the gateway reads them, and answers by them."""
        made, write = self._proposal, self.tower.on_rule
        if made is None or write is None:
            return
        fault = write(made.toml)
        self._take_back()
        if fault is not None:
            self._trouble = fault
        else:
            self._note = "The rule is written; requests that it allows are answered in a moment."

    def _send(
        self,
        decision: Literal["approve", "deny"],
        answer: object = None,
        reason: str | None = None,
        *,
        keep: bool = False,
    ) -> None:
        self._is_sent = True
        for id_ in self._members or (self.key,):
            self._answered.add(id_)
            self.tower.send(ApprovalDecide(id_, decision, answer, reason, keep=keep))

    def _take_back(self) -> None:
        self._chosen = None
        self._proposal = None
        if self._fields.reason is not None:
            self.set_focus(self.reader)
        self._fields.drop_choice()

    def action_pick(self) -> None:
        if self._is_open:
            for panel in self._fields.panels(self.key):
                panel.toggle()

    def action_close(self) -> None:
        """Take the choice back; without one, leave the field; else close."""
        if self._chosen is not None and not self._is_sent:
            self._take_back()
            self._prompt()
        elif self._is_open and self._fields.has_focus_in_form(self.key):
            self.set_focus(self.reader)
            self._prompt()
        else:
            self.dismiss(None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.is_mounted and super().check_action(action, parameters)

    def on_letters_clicked(self, event: Letters.Clicked) -> None:
        event.stop()
        for one in self._options():
            if one.answer == "one-by-one" == event.answer:
                self.action_one_by_one()
            elif one.answer == event.answer:
                self.action_choose(one.answer)

    def on_table_opened(self, event: Table.Opened) -> None:
        """Enter in a list is Enter; in one of choices it chooses first."""
        event.stop()
        if self._chosen is None and self._fields.forms(self.key):
            self.action_choose("allow")
        else:
            self.action_decide()

    def on_input_submitted(self) -> None:
        if self._chosen is None:
            self.action_choose("allow")
        else:
            self.action_decide()

    on_done = on_input_submitted

    def on_changed(self) -> None:
        if not self._is_sent:
            self._chosen = None
        for form in self.query(FormAnswer):
            form.mark()
        self._prompt()

    def on_input_changed(self, event: AnswerInput.Changed) -> None:
        if event.input is not self._fields.reason and not self._is_sent:
            self._chosen = None
        self._prompt()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        if self._is_open:
            self._trouble = "A paste is not an answer."
            self._prompt()

    def on_descendant_focus(self, _event: events.DescendantFocus) -> None:
        self._prompt()

    # What the lower edge says

    def _options(self) -> list[Option]:
        approval = self.approval
        if approval is None or not is_waiting(approval):
            return []
        others = len(_together(self.tower.view, approval))
        return kind_of(approval).answers(self._asked(approval), others)

    def _option(self, answer: Answer) -> Option | None:
        return next((one for one in self._options() if one.answer == answer), None)

    def _prompt(self) -> None:
        if not self.is_mounted:
            return
        key_of = self.tower.key_of
        letters = [Letter(one.answer, key_of(one.answer), one.does) for one in self._options()]
        self.query_one(Letters).set_letters(letters, self._chosen)
        self.query_one(Letters).display = bool(letters)
        note = [plain(self._note, "$text-muted", limit=self.size.width - 6)] if self._note else []
        option = self._option(self._chosen) if self._chosen else None
        line = prompt_line(
            self.approval,
            chosen=option,
            trouble=self._trouble,
            is_sent=self._is_sent,
            is_in_form=self._fields.has_focus_in_form(self.key),
        )
        lines = [*note, line]
        self.query_one(".prompt", Static).update(Content("\n").join(lines))


def _together(view: View, approval: subjects.Approval) -> list[subjects.Approval]:
    return kind_of(approval).together(view.state, view.waiting, approval)
