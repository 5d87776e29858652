"""The band across the top: what waits for the person; while nothing does, the last answers."""

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from tapui import times
from tapui.projection import approvals
from tapui.projection.requests.kind import agent_name, changed_lines, session_name
from tapui.projection.requests.kinds import kind_of
from tapui.projection.requests.permissions import by_rule
from tapui.projection.summary import within
from tapui.text import revealed
from tapui.tower.app.view import View
from tapui.tower.requests.urgency import Request, requests, standing
from tapui.tower.table.columns import Cell, Column, Row, first_key, held
from tapui.tower.table.pane import FrameNote, Pane, PaneKind
from tapui.tower.table.table import Table
from tapui.tower.textual.widgets import plain, show_in
from tapui.tower.wording import marks
from tapui.wire import subjects

KIND = PaneKind("waiting", "", "Waiting", lambda: WaitingBand)

_ASKS = (
    Column("", 12, 40, cuts_middle=True),
    Column("", 5, 9),
    Column("", 10, grows=True, half=True),
    Column("", 6, 18, right=True),
)
_ANSWERS = (
    Column("", 8, 8),
    Column("", 9, 32),
    Column("", 10, 32, rank=1, cuts_middle=True),
    Column("", 10, grows=True, half=True),
)


class WaitingBand(Pane):
    """It keeps its height. A click, or Enter on a row, opens the request."""

    DEFAULT_CLASSES: ClassVar[str] = "-quiet"
    TOPICS: ClassVar[frozenset[str]] = frozenset({"approvals", "sessions", "clock", "link"})
    kind = KIND

    def __init__(self) -> None:
        super().__init__()
        self._requests: list[Request] = []
        self._lines = 0

    def compose(self) -> ComposeResult:
        yield Table(_ASKS, has_titles=False, opens_on_click=True)
        yield Static("", classes="more", markup=False)

    def set_lines(self, lines: int) -> None:
        """Take so many lines: from four on with a frame, with two or one without."""
        self._lines = lines
        self.styles.height = max(lines, 1)
        self.display = lines > 0
        self.set_class(lines < 4, "-bare")
        self.set_class(lines == 1, "-single")

    def on_resize(self) -> None:
        show_in(self.query_one(".more", Static), self._more(self.tower.view))

    @property
    def table(self) -> Table:
        return self.query_one(Table)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del dirty
        self._requests = requests(view)
        if self._requests:
            self.table.set_columns(_ASKS)
            rows = [_asked_row(view, one) for one in self._requests]
        else:
            self.table.set_columns(_ANSWERS)
            rows = [_answered_row(view, one) for one in view.decided]
        self.set_class(bool(self._requests), "-waiting")
        self.set_class(not rows, "-quiet")
        at = None
        if self.has_class("-current"):
            rows = held(rows, self.table.selected, self.table.cursor)
        else:
            at = first_key(rows)  # the most urgent one, while the person has gone to no other
        self.table.set_rows(rows, at=at)
        show_in(self.query_one(".more", Static), self._more(view))
        self.show_frame()

    def title(self) -> str:
        return f"! Waiting for you: {len(self._requests)}" if self._requests else "Nothing waits"

    def title_style(self, *, is_current: bool) -> str:
        """Return the style of the title: it waits for you."""
        return "bold $warning" if self._requests else super().title_style(is_current=is_current)

    def frame_notes(self) -> list[FrameNote]:
        """Return how to answer, or what the rows are."""
        if not self._requests:
            return [FrameNote("last answers")] if self.table.rows else []
        unseen = len(self._requests) - (self._lines - 2)
        more = [FrameNote(f"{unseen} more below")] if unseen > 0 else []
        return [
            *more,
            FrameNote(f"{self.tower.key_of('answer')} answers the first", "", "app.answer"),
        ]

    def main_widget(self) -> Table:
        return self.table

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        from tapui.tower.requests.approval_sheet import ApprovalScreen

        self.app.push_screen(ApprovalScreen(event.key))

    def on_click(self, event: events.Click) -> None:
        super().on_click(event)
        if event.widget is self.query_one(".more", Static) and len(self._requests) > 1:
            self.table.post_message(Table.Opened(self._requests[1].approval.id))

    def _more(self, view: View) -> Content:
        if self._lines >= 4:
            return plain("")
        if not self._requests:
            return plain("" if self.table.rows else " Nothing waits.", "$text-muted")
        width = max(self.size.width, 20)
        key = f"{self.tower.key_of('answer')} answers "
        others = [_in_short(view, one) for one in self._requests[1:]]
        line = f" {len(others)} more: {', '.join(others)}" if others else ""
        left = plain(line, limit=400).truncate(width - len(key) - 1, ellipsis=True)
        gap = " " * (width - left.cell_length - len(key))
        return left + plain(gap + key, "$text-muted")


def _asked_row(view: View, request: Request) -> Row:
    approval = request.approval
    agent = agent_name(view.state, approval)
    words = _request_words(view, approval)
    reason = approvals.reason(approval)
    return Row(
        approval.id,
        (
            Cell(_asker(view, request), "" if agent else "strong"),
            Cell(approvals.verb(approval)),
            Cell(f"{words}   “{reason}”" if reason else words, "warning"),
            Cell(standing(approval, view.now), "warning"),
        ),
        indent=2 if request.is_below and agent else 0,
    )


def _answered_row(view: View, approval: subjects.Approval) -> Row:
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
    name = f"rule “{rule.pattern}”" if rule.pattern else "as before"
    return f"{name}  {'allowed' if approval.state == 'approved' else approval.state}"


def _in_short(view: View, request: Request) -> str:
    """Return a request in a few words: who, and what it is about."""
    approval = request.approval
    who = agent_name(view.state, approval) or _asker(view, request)
    lines = changed_lines(approval).strip()
    return f"{who} ({approvals.verb(approval)}{' ' + lines if lines else ''})"


def _asker(view: View, request: Request) -> str:
    approval = request.approval
    return kind_of(approval).asker(view.state, approval, is_below=request.is_below)
