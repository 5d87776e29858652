"""One approval in full, and the two keystrokes that decide it."""

from collections.abc import Iterable
from pathlib import PurePath
from typing import ClassVar, Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tapui import times
from tapui.projection.state import is_unsettled, is_waiting
from tapui.tower import marks, requests
from tapui.tower.plain import headline, plain
from tapui.tower.reader import Paragraph, Reader
from tapui.tower.screens.answer import AnswerError, AnswerForm
from tapui.tower.screens.live import LiveScreen
from tapui.tower.screens.pairing import PairingPanel
from tapui.tower.table import Table
from tapui.tower.view import View
from tapui.tower.words import time_left
from tapui.wire import events as ev
from tapui.wire.message import Error
from tapui.wire.tower import ApprovalDecide, ApprovalReveal

DEAF_SECONDS = 0.5
"""A request takes no keys for so long after it came on screen."""

Decision = Literal["approve", "deny"]


class ApprovalScreen(LiveScreen[None]):
    """Shows what is asked, all of it. `a` or `d` takes aim, Enter decides, Escape goes back."""

    CSS_PATH: ClassVar[list[str | PurePath]] = ["reading.tcss", "approval.tcss"]
    TOPICS = frozenset({"approvals", "sessions", "clock"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "aim('approve')", "Approve"),
        Binding("d", "aim('deny')", "Deny"),
        Binding("enter,y", "decide", "Confirm", show=False),
        Binding("space", "pick", "Choose session", show=False),
        Binding("n", "close", "Back", show=False),
    ]

    def __init__(self, approval_id: str) -> None:
        super().__init__()
        self._approval_id = approval_id
        self._aim: Decision | None = None
        self._sent: Decision | None = None
        self._was_opened = False
        self._trouble = ""
        self._shown_at = 0.0
        self._is_partial: bool | None = None

    @property
    def approval(self) -> ev.Approval | None:
        """The approval as it is now; None once the tower forgot it."""
        return self.tower.view.state.approvals.get(self._approval_id)

    def compose(self) -> ComposeResult:
        """Headline, request, what is to be chosen or answered, and the keys."""
        with Vertical(classes="sheet"):
            yield Static("", classes="headline", markup=False)
            yield Reader()
            yield from self._extra()
            yield Static("", classes="prompt", markup=False)

    def _extra(self) -> Iterable[Vertical]:
        approval = self.approval
        if approval is None or not is_unsettled(approval):
            return
        if approval.kind == "pairing":
            yield PairingPanel(approval)
        elif approval.kind in ("userInput", "elicitation"):
            yield AnswerForm(approval, self.tower.bodies.detail(approval))

    def on_screen_resume(self) -> None:
        """From here on the person can see it."""
        self._shown_at = self.tower.ticks()

    def on_mount(self) -> None:
        """Show the request and focus what takes the keys."""
        super().on_mount()
        for panel in self.query(PairingPanel):
            panel.focus_inside()
            return
        for form in self.query(AnswerForm):
            form.focus_inside()
            return
        self.query_one(Reader).focus()

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint the countdown and the state; close once what was decided here is settled."""
        approval = self.approval
        if approval is None:
            return
        if self._sent is not None and approval.state == "revealed":
            self._was_opened, self._sent, self._aim = True, None, None
        if (self._sent or self._was_opened) and approval.state in (
            "approved",
            "denied",
            "failed",
        ):
            self.dismiss(None)
            return
        self._show_request(view, approval)
        mark = marks.APPROVAL[approval.state]
        left = time_left(approval, view.now)
        age = times.age(times.since(approval.created_at, view.now))
        rest = f"{left} left" if left else f"{age} ago"
        self.query_one(".headline", Static).update(headline(mark, marks.KINDS[approval.kind], rest))
        for panel in self.query(PairingPanel):
            panel.show(view, approval, dirty)
        self._prompt()

    def _show_request(self, view: View, approval: ev.Approval) -> None:
        """Show what is asked; again when the rest of it has come."""
        bodies = self.tower.bodies
        whole = bodies.whole(approval)
        is_partial = bodies.is_awaited(approval)
        if is_partial == self._is_partial:
            return
        parts = requests.explain(view, whole, bodies.detail(whole))
        if is_partial:
            parts.append(Paragraph("Reading the rest of this request …", "warning"))
        elif whole.is_cut:
            parts.append(Paragraph("The rest of this request was not kept.", "warning"))
        self.query_one(Reader).set_parts(parts)
        if self._is_partial:
            for form in self.query(AnswerForm):
                self.mount(AnswerForm(whole, bodies.detail(whole)), after=form)
                form.remove()
        self._is_partial = is_partial

    def refused(self, error: Error) -> None:
        """The gateway did not take the decision."""
        if error.reply_to in ("approval.decide", "approval.reveal"):
            self._sent, self._aim = None, None
            self._trouble = error.message
            self._prompt()

    @property
    def _is_deaf(self) -> bool:
        return self.tower.ticks() - self._shown_at < DEAF_SECONDS

    @property
    def _is_open(self) -> bool:
        approval = self.approval
        return approval is not None and is_waiting(approval) and self._sent is None

    def action_aim(self, decision: Decision) -> None:
        """Get ready to approve or deny: nothing is decided yet."""
        if self._is_deaf or not self._is_open:
            return
        if decision == "approve" and self._is_revealed:
            return  # the code decides now
        if decision == "approve" and self._is_partial:
            self._trouble = "Not all of it is here yet: wait, or deny."
            self._prompt()
            return
        self._trouble = ""
        self._aim = decision
        self._prompt()

    def action_decide(self) -> None:
        """Send the decision that was aimed at."""
        if self._is_deaf or not self._is_open or self._aim is None:
            return
        if self._aim == "deny":
            self._send_decision("deny", None)
        elif self.query(PairingPanel):
            panel = self.query_one(PairingPanel)
            self._sent = "approve"
            self.send(ApprovalReveal(approval_id=self._approval_id, sessions=panel.chosen or None))
        elif self.query(AnswerForm):
            try:
                answer = self.query_one(AnswerForm).answer()
            except AnswerError as error:
                self._aim, self._trouble = None, str(error)
            else:
                self._send_decision("approve", answer)
        else:
            self._send_decision("approve", None)
        self._prompt()

    def _send_decision(self, decision: Decision, answer: object) -> None:
        self._sent = decision
        self.send(ApprovalDecide(approval_id=self._approval_id, decision=decision, answer=answer))

    def action_pick(self) -> None:
        """Choose or drop the session under the cursor (pairing)."""
        if not self._is_deaf and self._is_open:
            for panel in self.query(PairingPanel):
                panel.toggle()

    def action_close(self) -> None:
        """Take the aim back; without one, leave the field; else close."""
        if self._aim is not None and self._sent is None:
            self._aim = None
            self._prompt()
        elif self._is_open and any(form.has_focus_inside for form in self.query(AnswerForm)):
            self.query_one(Reader).focus()
            self._prompt()
        else:
            self.dismiss(None)

    def on_table_opened(self, event: Table.Opened) -> None:
        """Enter in a list is Enter."""
        event.stop()
        if self._aim is None and self.query(AnswerForm):
            self.action_aim("approve")
        else:
            self.action_decide()

    def on_input_submitted(self) -> None:
        """Enter in a field aims first and decides the second time."""
        if self._aim is None:
            self.action_aim("approve")
        else:
            self.action_decide()

    def on_input_changed(self) -> None:
        """Another answer is another decision."""
        if self._sent is None:
            self._aim = None
            self._prompt()

    def on_descendant_focus(self, _event: events.DescendantFocus) -> None:
        """The keys that work depend on the focus."""
        self._prompt()

    @property
    def _is_revealed(self) -> bool:
        approval = self.approval
        return approval is not None and approval.state == "revealed"

    def _prompt(self) -> None:
        self.query_one(".prompt", Static).update(self._prompt_text())
        self.set_class(self._aim is not None, "-aimed")

    def _prompt_text(self) -> Content:
        approval = self.approval
        if approval is None or not is_waiting(approval):
            by = f", decided by {approval.decided_by}" if approval and approval.decided_by else ""
            word = marks.APPROVAL[approval.state].text if approval else "gone"
            return plain(f"{word}{by}    Esc back", "$text-muted", limit=200)
        if self._is_revealed and self._aim is None:
            return plain("Enter this code on the web page.    d deny    Esc back")
        if self._sent is not None:
            return plain("sent, waiting for the gateway …", "$text-muted")
        trouble = plain(f"{self._trouble}    " if self._trouble else "", "$error", limit=300)
        if self._aim is None:
            return trouble + self._keys(approval)
        verb = "denies" if self._aim == "deny" else self._verb(approval)
        below = self.query_one(Reader).lines_below
        unseen = f"    {below} more lines below" if below and self._aim == "approve" else ""
        tone = "bold $error" if self._aim == "deny" else "bold $success"
        return plain(f"Enter {verb}", tone) + plain(f"    Esc cancels{unseen}", "$text-muted")

    @staticmethod
    def _verb(approval: ev.Approval) -> str:
        if approval.kind == "pairing":
            return "shows the pairing code"
        if approval.kind in ("userInput", "elicitation"):
            return "sends this answer"
        return "approves, this once" if approval.kind == "permission" else "approves"

    def _keys(self, approval: ev.Approval) -> Content:
        if any(form.has_focus_inside for form in self.query(AnswerForm)):
            return plain("Enter answer    Esc leave the field, then d to deny", "$text-muted")
        words = {
            "pairing": "Space choose sessions    a show the code    d deny    Esc back",
            "userInput": "Tab answer    a send it    d deny    Esc back",
            "elicitation": "Tab fill in    a send it    d deny    Esc back",
        }
        return plain(words.get(approval.kind, "a approve    d deny    Esc back"), "$text-muted")
