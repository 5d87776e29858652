"""The line above the keys: what waits for the person; while nothing does, the last answer."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tapui import times
from tapui.projection import approvals
from tapui.projection.requests.kinds import kind_of
from tapui.projection.requests.known import tries_of
from tapui.projection.requests.permissions import by_rule, command_of
from tapui.projection.requests.request_kind import Answer, agent_name, session_name
from tapui.projection.summary import one_line, within
from tapui.text import cut, revealed
from tapui.tower.app.view import View
from tapui.tower.keys.bindings import bindings
from tapui.tower.requests.urgency import Request, requests, standing
from tapui.tower.table.columns import Cell, Column, Row, first_key, heading, held
from tapui.tower.table.pane import Pane, PaneKind
from tapui.tower.table.table import Table
from tapui.tower.textual.detail import DetailView
from tapui.tower.textual.widgets import plain, show_in
from tapui.tower.wording import marks
from tapui.wire import subjects

KIND = PaneKind("waiting", "", "Waiting", lambda: WaitingBand)

COLUMNS = (
    Column("", 14, 64, cuts_middle=True, is_fixed=True),
    Column("", 5, 9, is_fixed=True),
    Column("", 10, grows=True, half=True, is_fixed=True),
    Column("", 13, 13, right=True, is_fixed=True),
)
"""Who, what is asked, of what with a note, and since when (`waits 10h 05m`). Their places depend on
the width alone, and none is narrower where the band is wider: no subagent's name moves them."""
_NAME = 32
"""Characters of the name of a session that asks in its own terminal."""
SHARE = 4
"""Of the panes' height a request's rows take this part at most."""


class WaitingBand(Pane):
    """It has a line always; more requests lie over the last rows of the panes above it.

    A click, or Enter on a row, opens the request; a letter answers it in the detail.
    """

    DEFAULT_CLASSES: ClassVar[str] = "-quiet"
    TOPICS: ClassVar[frozenset[str]] = frozenset({"approvals", "sessions", "clock", "link"})
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "allow", "keep", "make-rule", "deny", "deny-and-tell", "one-by-one"
    )
    kind = KIND

    class Grown(Message):
        """It needs another number of lines."""

    class Answering(Message):
        """A letter was pressed; it belongs into the detail."""

        def __init__(self, answer: Answer | None) -> None:
            super().__init__()
            self.answer = answer

    def __init__(self) -> None:
        super().__init__()
        self._requests: list[Request] = []
        self.room = 1
        """How many lines it may have."""
        self._is_covered = False
        """Only its last line is in sight, below a sheet."""

    def compose(self) -> ComposeResult:
        yield Table(COLUMNS, has_titles=False, opens_on_click=True, hides_cursor=True)
        yield Static("", classes="more", markup=False)

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return max(min(len(self._requests), self.room), 1)

    @property
    def table(self) -> Table:
        return self.query_one(Table)

    @property
    def has_requests(self) -> bool:
        return bool(self._requests)

    def on_resize(self) -> None:
        show_in(self.query_one(".more", Static), self._more(self.tower.view))

    def set_covered(self, lines: int) -> None:
        """Below a sheet so many of its lines stay in sight: what is most urgent goes there."""
        self._is_covered = lines > 0
        if self.query(Table):  # none while the app leaves
            self.show(self.tower.view, self.TOPICS)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del dirty
        before = self.lines
        self._requests = requests(view)
        rows = [self._asked_row(view, one) for one in self._requests]
        self.set_class(not rows, "-quiet")
        at = None
        if self._is_covered and rows:
            first, *others = rows
            # Below a sheet nothing is laid out anew: it may still be as high as more requests were.
            above = max(self.lines, self.size.height) - 1
            blank = [heading("")] * max(above - len(others), 0)
            rows = [*blank, *others[:above], first, *others[above:]]
        elif self.has_class("-current"):
            rows = held(rows, self.table.selected, self.table.cursor)
        else:
            at = first_key(rows)  # the most urgent one, while the person has gone to no other
        self.table.set_rows(rows, at=at)
        show_in(self.query_one(".more", Static), self._more(view))
        if self.lines != before:
            self.post_message(self.Grown())

    def show_frame(self) -> None:
        """It has none."""

    def main_widget(self) -> Table:
        return self.table

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        self.open_shown()

    def shown(self) -> DetailView | None:
        key = self.table.selected
        if key is None:
            return None
        from tapui.tower.requests.request_detail import RequestDetail

        return RequestDetail(key)

    def action_choose(self, answer: Answer) -> None:
        self.post_message(self.Answering(answer))

    def action_one_by_one(self) -> None:
        self.post_message(self.Answering(None))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("choose", "one_by_one"):
            return bool(self._requests) and not self.tower.is_replay
        return super().check_action(action, parameters)

    def _asked_row(self, view: View, request: Request) -> Row:
        approval = request.approval
        agent = agent_name(view.state, approval)
        words = _request_words(view, approval)
        command = command_of(view.state, approval)
        if command:
            words += f"   command: {revealed(one_line(command))}"
        reason = approvals.reason(approval)
        tries = tries_of(view.state, approval).words
        said = f"   “{reason}”" if reason and not tries else ""
        is_first = request is self._requests[0]
        seen = 1 if self._is_covered else self.lines
        hidden = len(self._requests) - seen
        is_last = hidden > 0 and request is self._requests[seen - 1]
        is_free = not self._is_covered and not self.tower.is_replay
        has_key = is_first and not is_last and is_free
        # Where there is no room for all, the first of these goes first.
        notes = [
            (f"{self.tower.key_of('answer')} answers" if has_key else "", "muted"),
            (tries, "warning"),
            (f"{hidden} more" if is_last else "", "muted"),
        ]
        rest = [(f"   {text}", tone) for text, tone in notes if text]
        return Row(
            approval.id,
            (
                Cell(_asker(view, request), "" if agent else "strong", "!", "warning"),
                Cell(approvals.verb(approval)),
                Cell(f"{words}{said}", "warning", rest=tuple(rest)),
                Cell(standing(approval, view.now), "warning"),
            ),
            indent=2 if request.is_below and agent else 0,
        )

    def _more(self, view: View) -> Content:
        """Return what is said while nothing is to be answered here: what a session asks in its own
        terminal, else the last answer."""
        there = [one for one in view.open_sessions if one.asks_there]
        if there:
            name = cut(view.session_name(there[0].id), _NAME)
            question = f": {one_line(there[0].asks_there)}" if len(there) == 1 else ""
            more = f"   {len(there) - 1} more" if len(there) > 1 else ""
            line = plain(
                f" ! {name} asks in its own terminal{question}{more}", "$warning", limit=400
            )
            return line.truncate(max(self.size.width - 1, 1), ellipsis=True)
        words = " Nothing waits"
        last = next(iter(view.decided), None)
        if last is None:
            return plain(words, "$text-muted")
        at = view.decided_at.get(last.id)
        when = times.hour_and_minute(times.epoch(at) or 0.0) if at else ""
        name = session_name(view.state, last.session_id)
        told = (when, _outcome(last), name, approvals.verb(last), _request_words(view, last))
        line = plain(f"{words}   {'  '.join(filter(None, told))}", "$text-muted", limit=400)
        count = view.state.rules_allowed
        rules = plain(f"  ({count:,} by rules)" if count else "", "$text-muted")
        room = max(self.size.width - 1 - rules.cell_length, 10)
        return line.truncate(room, ellipsis=True) + rules


def answered_row(view: View, approval: subjects.Approval) -> Row:
    """Return the row of an answer that was given: when, how, in which session, to what."""
    mark = marks.APPROVAL[approval.state]
    return Row(
        approval.id,
        (
            Cell(times.moment(at) if (at := view.decided_at.get(approval.id)) else "", "muted"),
            Cell(_outcome(approval), mark.tone, mark.glyph, mark.tone),
            Cell(session_name(view.state, approval.session_id), "muted"),
            Cell(f"{approvals.verb(approval)}  {_request_words(view, approval)}", "muted"),
        ),
    )


def _request_words(view: View, approval: subjects.Approval) -> str:
    """Return what is asked; a path in the session's folder without it."""
    return within(revealed(approvals.request(approval)), view.folder_of(approval.session_id or ""))


def _outcome(approval: subjects.Approval) -> str:
    """Return how it ended; what a rule answered begins with the rule."""
    rule = approval.rule
    if rule is None or not by_rule(approval):
        return approvals.outcome(approval)
    state = "allowed" if approval.state == "approved" else approval.state
    if rule.source == "session":
        return f"{state} by you until the session ends"
    return f"rule “{rule.pattern}”  {state}"


def _asker(view: View, request: Request) -> str:
    approval = request.approval
    return kind_of(approval).asker(view.state, approval, is_below=request.is_below)
