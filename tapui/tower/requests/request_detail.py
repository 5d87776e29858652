"""The sheet of a request: shown in full; a letter chooses, Enter decides, the next follows."""

from collections.abc import Container, Iterable
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import AwaitMount, Widget
from textual.widgets import Static

from tapui.projection import approvals
from tapui.projection.paragraphs import Paragraph
from tapui.projection.requests.kinds import kind_of
from tapui.projection.requests.known import known
from tapui.projection.requests.permissions import command_of
from tapui.projection.requests.request_kind import (
    Answer,
    AskedRequest,
    Option,
    RequestContext,
    detail_of,
)
from tapui.projection.state import is_unsettled, is_waiting
from tapui.times import date_and_time
from tapui.tower.app.tower import Tower
from tapui.tower.app.view import View
from tapui.tower.keys.bindings import bindings
from tapui.tower.requests.answer_fields import (
    FormAnswer,
    Letter,
    Letters,
    PairingPanel,
    RequestFields,
    RulePanel,
    Written,
    prompt_line,
)
from tapui.tower.requests.rule_proposal import RuleProposal, proposal, spared
from tapui.tower.requests.urgency import requests, standing
from tapui.tower.table.table import Table
from tapui.tower.textual.detail import DetailView
from tapui.tower.textual.dialogs import AnswerError, AnswerText
from tapui.tower.textual.inside import after_refresh
from tapui.tower.textual.reader import Reader, side_by_side
from tapui.tower.textual.widgets import plain
from tapui.tower.wording import marks
from tapui.tower.wording.words import quantity
from tapui.wire import subjects
from tapui.wire.errors import ErrorCode
from tapui.wire.message import Error
from tapui.wire.tower import ApprovalDecide, ApprovalReveal

_ALLOWING = ("allow", "keep", "make-rule")
_UNREAD = " below: scroll to the end first."
_LATE = "Your answer came too late."
_SETTLED = {"approve": "approved", "deny": "denied"}
_EDGES = 6
"""Lines that stand free around the answers, and what Enter does."""
_ANSWERS = 4
"""Lines that the answers take besides their own, with what became of the request before."""
_KEYS = 1
"""Lines of the keys below a sheet."""
_LOW = 12
"""Lines below which no blank ones stand around the answers."""
_LEAST_TEXT = 3
"""Lines of the text that stay in sight, see `Reader` in the style sheet."""
_MOST_COLUMNS = 4
"""In which the lines of a command stand side by side."""
DEAF_SECONDS = 0.5
"""A request takes no answer for so long after it came on screen."""


class Unsent(NamedTuple):
    """What the person did with a request and did not send: fields that were filled in, and what is
    to be told with a denial; None: no denial that tells something was chosen."""

    written: Written
    reason: str | None
    is_letter_lost: bool
    """Another letter was chosen: it is to be pressed again."""
    is_apart: bool
    is_unfolded: bool


class Around(Reader, can_focus=False):
    """What is known of a request, below its answers."""


class RequestDetail(DetailView):
    """Shows one request after the other, the most urgent one next.

    A decision is for `key`, the request on show, and those that are answered with it.
    `passed_over` do not follow by themselves: the person has left them waiting before.
    """

    SIGNS = marks.signs(*marks.APPROVAL.values())

    DEFAULT_CSS = Path(__file__).with_name("request_detail.tcss").read_text("utf-8")
    TOPICS = frozenset({"approvals", "sessions", "clock"})
    REVEALS = True
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("allow", "keep", "make-rule", "deny", "deny-and-tell", "one-by-one", "raw"),
        Binding("enter", "decide", "Decide", show=False),
        Binding("space", "pick", "Choose session", show=False),
    ]

    class TooLow(Message):
        """Not all of the request has room beside the lists; in a sheet it has."""

        def __init__(self, approval_id: str) -> None:
            super().__init__()
            self.approval_id = approval_id

    def __init__(
        self,
        approval_id: str,
        passed_over: Container[str] = (),
        unsent: Unsent | None = None,
    ) -> None:
        super().__init__(approval_id, self._waiting)
        self._seeks_room = False
        self._passed_over = passed_over
        self._answered: set[str] = set()
        """Requests that were answered here, with any outcome."""
        self._is_apart = False
        """The person wants those that could be answered together one by one."""
        self._begin(unsent)

    def _begin(self, unsent: Unsent | None = None) -> None:
        """Nothing is chosen and nothing was sent for the request on show."""
        self._shown_at = 0.0
        self._members: tuple[str, ...] = ()
        """The requests on show: `key`, and those that are answered with it."""
        self._is_partial: bool | None = None
        """Whether the rest of it is still read; None: it was not painted yet."""
        self._said: tuple[subjects.AppliedRule | None, subjects.Judged | None, str] | None = None
        """What rules say of it, and its command, as it was painted."""
        self._parts: list[Paragraph] = []
        self._known: list[Paragraph] = []
        self._spared = ""
        """That a rule would spare the next such request."""
        self._is_unfolded = False
        """Fields that have no words are on show, too."""
        self._was_open = False
        self._was_opened = False
        """A code was revealed, as was asked for here."""
        self._chosen: Answer | None = None
        self._proposal: RuleProposal | None = None
        self._is_sent = False
        self._decision: Literal["approve", "deny"] | None = None
        """What was sent, also where it came too late."""
        self._was_late = False
        """The gateway has said that what was sent came too late."""
        self._has_written_rule = False
        self._trouble = ""
        """Why the last key did not count."""
        self._note = ""
        """What became of the request before, or of a rule."""
        self._has_fields = False
        """Its fields are there, if it has any."""
        self._unsent = unsent
        """What was done with it beside the lists, until its fields are there."""

    @property
    def approval(self) -> subjects.Approval | None:
        """The present request; None once the tower forgot it."""
        return self.tower.view.state.approvals.get(self.key)

    def below(self) -> Iterable[Widget]:
        yield RequestFields()
        yield Letters()
        yield Static("", classes="prompt", markup=False)
        yield Around()

    def came_up(self) -> None:
        self._shown_at = self.tower.ticks()

    def on_mount(self) -> None:
        self._shown_at = self.tower.ticks()
        unsent = self._unsent
        self._fill()
        if unsent is None:
            return
        self._is_apart, self._is_unfolded = unsent.is_apart, unsent.is_unfolded
        if unsent.reason is not None:
            self._chosen = "deny-and-tell"
            self._fields.add_reason(unsent.reason)
        if unsent.is_letter_lost:
            self._trouble = "This is a sheet now: press the letter again."

    def moved(self) -> "RequestDetail":
        """Return one for a sheet of its own, with what was done here and not sent; here all begins
        anew. There the request has only just come up: what would allow it is not chosen."""
        line = self._fields.reason
        unsent = Unsent(
            self._fields.written(self.key),
            line.value if line is not None else None,
            self._chosen not in (None, "deny-and-tell"),
            self._is_apart,
            self._is_unfolded,
        )
        moved = RequestDetail(self.key, self._passed_over, unsent)
        self.go_to(self.key)
        return moved

    def focus_inside(self) -> None:
        """Give the keys to the first thing to fill in, else to the text."""
        self.screen.set_focus(self.reader)
        after_refresh(self, self._focus_field)

    def _take_focus(self) -> None:
        """Give the keys back to the text, where a field had them."""
        if self.has_keys:
            self.screen.set_focus(self.reader)

    # One request after the other

    def _waiting(self) -> list[str]:
        return [one.approval.id for one in requests(self.tower.view)]

    @property
    def may_turn(self) -> bool:
        return not self._is_sent

    def go_to(self, key: str) -> None:
        """Show another request: it takes no answer at first, and nothing is chosen."""
        self._begin()
        self._shown_at = self.tower.ticks()
        self._take_focus()
        self.key = key
        self._fill()
        super().go_to(key)

    def _settled(self, approval: subjects.Approval | None) -> None:
        """The request on show is settled: say how, and go on to the next one."""
        is_late = approval is not None and self._is_late(approval)
        is_own = (self._is_sent or self._was_opened or self._has_written_rule) and not is_late
        note = "It waits no longer."
        if approval is not None:
            mark = marks.APPROVAL[approval.state]
            what = approvals.request(approval)
            note = f"{mark.glyph} {approvals.outcome(approval)}: {approvals.verb(approval)} {what}"
            if len(self._members) > 1 and self._is_sent:
                note = f"{mark.glyph} {approvals.outcome(approval)}: {len(self._members)} emitters"
        if is_late:
            note = f"{_LATE} {note}"
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
            self.leave()
        else:
            note = note if is_late else self._note
            self._begin()
            self._note = note
            self._drop_fields()
            if approval is not None:
                self._show(self.tower.view, approval)

    def _is_late(self, approval: subjects.Approval) -> bool:
        """Return whether an answer was sent from here and the request has ended otherwise: it was
        answered elsewhere before."""
        if self._was_late:
            return True
        if self._decision is None or approval.state == "failed":
            return False
        if approval.state == "denied" and detail_of(approval).get("refusal"):
            return False  # a form whose answer says what is to change is a denial
        return approval.state != _SETTLED[self._decision]

    # What is shown

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint the present request; once it is settled, the next one."""
        approval = self.approval
        if approval is None or not is_unsettled(approval):
            if self._was_open and self.has_keys:
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
        self._look_for_rules(approval)
        if is_waiting(approval):
            name = self._headline(view, approval)
            self.set_frame(mark, name, standing(approval, view.now), "warning")
        else:
            self.set_frame(mark, self._headline(view, approval), mark.word)
        self.set_class(is_waiting(approval), "-waiting")
        is_partial = bodies.is_awaited(approval)
        if is_partial != self._is_partial:
            asked = self._asked(approval)
            context = RequestContext(view.state, date_and_time, is_whole=self._is_unfolded)
            parts = kind_of(approval).explained(context, asked)
            if is_partial:
                parts.append(Paragraph("Reading the rest of this request …", "warning"))
            elif whole.is_cut:
                parts.append(Paragraph("The rest of this request was not kept.", "warning"))
            self._parts, self._known = parts, known(view.state, asked)
            self._is_partial = is_partial
            can_write = not is_partial and self.tower.on_rule and self._option("make-rule")
            self._spared = spared(view, whole, self.tower.key_of("make-rule")) if can_write else ""
            if not self._has_fields:
                self._add_fields()
        self._lay_out()
        self._prompt()

    def _is_asked_about(self) -> bool:
        """Return whether the person is being asked if an answer to this request may come from
        where it came from (`core/trust/guard.py`)."""
        return any(
            one.kind in ("terminal", "command")
            and is_waiting(one)
            and detail_of(one).get("about") == self.key
            for one in self.tower.view.state.approvals.values()
        )

    def _lay_out(self) -> None:
        """Put what is known below the answers where all of it has room; else behind what is asked,
        with which it is scrolled. Of that only the folder is to be read before it is allowed."""
        around = self.query_one(Around)
        answers = len(self._options())
        about = [*self._known]
        if answers and self._spared:
            about.append(Paragraph(self._spared, "muted"))
        height = self.reader.lines_of(self._parts) + self.reader.lines_of(about)
        is_beside = (
            bool(answers and about)
            and not self._fields.children
            and height + answers + _EDGES <= self.size.height
        )
        around.display = is_beside
        if is_beside:
            self.reader.styles.height = self.reader.lines_of(self._parts)
            self.reader.set_asked(self._parts)
            around.set_parts(about)
        else:
            self.reader.styles.height = None
            between = [Paragraph("")] if about else []
            asked = [*self._parts, *between, *about[:1]]
            room, width = self.size.height - answers - _ANSWERS, self._text_width
            fitted = self._fitted(asked, room, width)
            self.reader.set_asked(fitted if answers else asked, about[1:])
            if self._seeks_room and answers and width and not self._is_partial:
                self._seeks_room = False
                is_low = self.reader.lines_of(fitted) > room
                if is_low and not self._fields.children and self._has_room_in_sheet(asked, answers):
                    self.post_message(self.TooLow(self.key))

    def seek_room(self) -> None:
        """Say once (`TooLow`) where all of the request has no room here, but in a sheet."""
        self._seeks_room = True
        if self._is_partial is not None:
            self.show_anew()

    def _has_room_in_sheet(self, asked: list[Paragraph], answers: int) -> bool:
        tower, screen, edges = self.tower, self.app.size, self.outer_size - self.size
        around = tower.lines_above + tower.lines_below + _KEYS
        room = screen.height - around - edges.height - answers - _ANSWERS
        width = screen.width - (self.outer_size.width - self._text_width)
        return self.reader.lines_of(self._fitted(asked, room, width), width) <= room

    @property
    def _text_width(self) -> int:
        return self.reader.scrollable_content_region.width

    def _fitted(self, asked: list[Paragraph], room: int, width: int) -> list[Paragraph]:
        """Return what is asked so that all of it is in sight, if that can be: with the lines of a
        command side by side where they are short."""
        if self.reader.lines_of(asked, width) <= room:
            return asked
        for columns in range(2, _MOST_COLUMNS + 1):
            placed = [
                (_is_command(one) and side_by_side(one, width, columns)) or one for one in asked
            ]
            if self.reader.lines_of(placed, width) <= room:
                return placed
        return asked

    @property
    def _folded(self) -> bool:
        """Whether the request has fields that are shown only where all of it is wanted."""
        asked = self._asked(self.approval) if self.approval is not None else []
        return any(kind_of(one).folded(one, detail) for one, detail in asked)

    def action_raw(self) -> None:
        """Show all fields of the request, or only those that have words."""
        self._is_unfolded = not self._is_unfolded
        self._is_partial = None
        self.show_anew()

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
                self._trouble = "Other emitters are asked about now: look again."
            if self._chosen in _ALLOWING:
                self._take_back()
            self._shown_at = self.tower.ticks()
        self._members, self._is_partial = members, None

    def _look_for_rules(self, approval: subjects.Approval) -> None:
        """Show what rules say of it by now, and the command that it is of. A choice to allow it is
        taken back, a denial holds."""
        before = self._said
        self._said = said = (
            approval.rule,
            approval.judged,
            command_of(self.tower.view.state, approval),
        )
        if before in (None, said) or self._is_sent or not is_waiting(approval):
            return
        if self._chosen in _ALLOWING:
            self._take_back()
            is_of_rules = before is not None and before[:2] != said[:2]
            what = "Rules say something else of it" if is_of_rules else "Its command is another"
            self._trouble = f"{what} now: look again."
        self._shown_at = self.tower.ticks()
        self._is_partial = None

    def _asked(self, approval: subjects.Approval) -> list[AskedRequest]:
        state, bodies = self.tower.view.state, self.tower.bodies
        members = [state.approvals.get(id_) for id_ in self._members]
        wholes = [bodies.whole(one) for one in members if one is not None] or [approval]
        return [AskedRequest(one, detail_of(one)) for one in wholes]

    def _headline(self, view: View, approval: subjects.Approval) -> str:
        return kind_of(approval).headline(view.state, self._asked(approval))

    def action_one_by_one(self) -> None:
        approval = self.approval
        if approval is None or not self.is_open or self._option("one-by-one") is None:
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

    def _fill(self) -> None:
        self._drop_fields()
        self._add_fields()

    def _add_fields(self) -> None:
        """Add the fields of the request on show, once all of it is here: the message of a denial
        may have been begun before."""
        approval = self.approval
        if approval is None or not is_unsettled(approval) or self.tower.is_replay:
            return
        whole = self.tower.bodies.whole(approval)
        if self.tower.bodies.is_awaited(approval):
            return
        written = self._unsent.written if self._unsent is not None else {}
        mounting = self._fields.fill(whole, detail_of(whole), written)
        self._has_fields, self._unsent = True, None
        self.call_next(self._focus_mounted, mounting)

    async def _focus_mounted(self, mounting: AwaitMount | None) -> None:
        if mounting is not None:
            await mounting
        self._focus_field()

    def _focus_field(self) -> None:
        """Give the keys to the field of the request on show, where the person is here."""
        approval = self.approval
        if not self.query(RequestFields):
            return  # another detail has its place by now
        reason = self._fields.reason
        if reason is not None and self.has_keys:
            reason.focus()
        for field in (*self._fields.panels(self.key), *self._fields.forms(self.key)):
            if self.has_keys and reason is None:
                field.focus_inside()
            if isinstance(field, PairingPanel) and approval is not None:
                field.show(self.tower.view, approval, self.TOPICS)
            self._prompt()

    def _drop_fields(self) -> None:
        self._take_focus()
        self._fields.empty()

    # Answering

    def refused(self, error: Error) -> bool:
        """The gateway did not take the decision."""
        if error.reply_to not in ("approval.decide", "approval.reveal"):
            return False
        is_late = error.code is ErrorCode.UNKNOWN_APPROVAL
        if is_late and not self._is_sent:
            # Of the request before. Its end does not tell where it was answered alike.
            if not self._note.startswith(_LATE):
                self._note = f"{_LATE} {self._note}".rstrip()
                self._prompt()
            return True
        self._is_sent, self._chosen, self._was_late = False, None, is_late
        if not is_late:
            self._decision = None  # it was not taken, and the request may yet end otherwise
        self._answered.clear()
        self._trouble = _LATE if is_late else error.message
        self._prompt()
        return True

    @property
    def is_open(self) -> bool:
        """Whether it waits for an answer, and none was sent."""
        approval = self.approval
        return approval is not None and is_waiting(approval) and not self._is_sent

    def _hears(self) -> bool:
        """Return whether a key that answers counts now; say why where it does not."""
        if not self.is_open:
            return False
        self._trouble = ""
        # A key that was read before is early, however late its turn comes.
        read_at = self.tower.typed.read_at
        now = self.tower.ticks() if read_at is None else read_at
        if now - self._shown_at < DEAF_SECONDS:
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
                self._fields.add_reason().focus()
            elif answer == "make-rule":
                self._propose()
        self._prompt()

    def _unread(self) -> str:
        """Return what is to be done before this may be allowed; "" once its end was on screen."""
        below = self._lines_below
        more = "1 more line" if below == 1 else f"{below:,} more lines"
        return f"{more}{_UNREAD}" if below else ""

    @property
    def _lines_below(self) -> int:
        """How many lines are to be read before this may be allowed."""
        approval = self.approval
        is_short = approval is not None and not kind_of(approval).must_be_read
        return 0 if is_short or self.reader.was_read else self.reader.lines_below

    def on_reader_scrolled(self, event: Reader.Scrolled) -> None:
        event.stop()
        if self._trouble.endswith(_UNREAD):
            self._trouble = self._unread()
        self._prompt()

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
            self._has_written_rule = True
            self._note = "The rule is written; requests that it allows are answered in a moment."

    def _send(
        self,
        decision: Literal["approve", "deny"],
        answer: object = None,
        reason: str | None = None,
        *,
        keep: bool = False,
    ) -> None:
        self._is_sent, self._decision = True, decision
        for id_ in self._members or (self.key,):
            self._answered.add(id_)
            self.tower.send(ApprovalDecide(id_, decision, answer, reason, keep=keep))

    def _take_back(self) -> None:
        self._chosen = None
        self._proposal = None
        if self._fields.reason is not None:
            self._take_focus()
        self._fields.drop_choice()

    def action_pick(self) -> None:
        if self.is_open:
            for panel in self._fields.panels(self.key):
                panel.toggle()

    def close_topmost(self) -> bool:
        """Take the choice back; without one, leave the field; return whether there was one."""
        if self._chosen is not None and not self._is_sent:
            self._take_back()
        elif self.is_open and self._fields.has_focus_in_form(self.key):
            self._take_focus()
        else:
            return False
        self._prompt()
        return True

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if not self.is_mounted or (action == "raw" and not self._folded):
            return False
        if action in ("choose", "one_by_one", "decide", "pick") and self.tower.is_replay:
            return False
        return super().check_action(action, parameters)

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

    def on_safe_area_submitted(self) -> None:
        if self._chosen is None:
            self.action_choose("allow")
        else:
            self.action_decide()

    on_done = on_safe_area_submitted

    def on_changed(self) -> None:
        if not self._is_sent:
            self._chosen = None
        for form in self.query(FormAnswer):
            form.mark()
        self._prompt()

    def on_text_area_changed(self, event: AnswerText.Changed) -> None:
        if event.text_area is not self._fields.reason and not self._is_sent:
            self._chosen = None
        self._prompt()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        if self.is_open:
            self._trouble = "A paste is not an answer."
            self._prompt()

    def on_descendant_focus(self, _event: events.DescendantFocus) -> None:
        self._prompt()

    # What the lower edge says

    def _options(self) -> list[Option]:
        """Return the answers that there are; none before the request itself stands there."""
        approval = self.approval
        if approval is None or self._is_partial is None or not is_waiting(approval):
            return []
        if self.tower.is_replay:
            return []
        others = len(_together(self.tower.view, approval))
        return kind_of(approval).answers(self._asked(approval), others)

    def _option(self, answer: Answer) -> Option | None:
        return next((one for one in self._options() if one.answer == answer), None)

    def _prompt(self) -> None:
        if not self.query(Letters):
            return  # it is being made, or put away
        key_of = self.tower.key_of
        below = self._lines_below
        letters = [
            Letter(
                one.answer, key_of(one.answer), one.does, bool(below) and one.answer in _ALLOWING
            )
            for one in self._options()
        ]
        if below and letters and letters[0].is_off:
            hidden = quantity(below, "line")
            told = f"{hidden} below: what is not shown cannot be allowed"
            letters[0] = Letter("", "↓", told)
        self.query_one(Letters).set_letters(letters, self._chosen)
        self.query_one(Letters).display = bool(letters)
        note = [plain(self._note, "$text-muted", limit=self.size.width - 6)] if self._note else []
        option = self._option(self._chosen) if self._chosen else None
        line = prompt_line(
            self.approval,
            chosen=option,
            trouble=self._trouble,
            is_sent=self._is_sent,
            is_asked_about=self._is_asked_about(),
            is_replay=self.tower.is_replay,
            is_in_form=self._fields.has_focus_in_form(self.key),
        )
        lines = [*note, line]
        self.query_one(".prompt", Static).update(Content("\n").join(lines))
        if not (height := self.size.height):
            return  # what is on screen counts as read: nothing is laid out for a size to come
        self.set_class(height < _LOW, "-low")
        room = height - _LEAST_TEXT - len(letters) - len(lines) - 2 * (height >= _LOW)
        self._fields.fit(max(min(room, height * 3 // 5), 2))


def request_parts(tower: Tower, approval: subjects.Approval) -> list[Paragraph]:
    """Return a request that is not answered here: what is asked, and the answers that there are."""
    asked = [AskedRequest(one := tower.bodies.whole(approval), detail_of(one))]
    kind = kind_of(approval)
    context = RequestContext(tower.view.state, date_and_time)
    letters = [
        Paragraph(f"{tower.key_of(one.answer):<3}{one.does}", "muted")
        for one in kind.answers(asked, len(_together(tower.view, approval)))
    ]
    answers = [Paragraph(f"{tower.key_of('answer')} answers it:", "warning"), *letters]
    return [
        Paragraph(kind.headline(tower.view.state, asked), "warning"),
        Paragraph(""),
        *kind.explained(context, asked),
        Paragraph(""),
        *([] if tower.is_replay else [*answers, Paragraph("")]),
        *known(tower.view.state, asked),
    ]


def _is_command(part: Paragraph) -> bool:
    return part.tone == "strong" and bool(part.margin) and part.diff is None


def _together(view: View, approval: subjects.Approval) -> list[subjects.Approval]:
    return kind_of(approval).together(view.state, view.waiting, approval)
