"""What waits for the person, and what was decided."""

from textual.content import Content

from tapui import times
from tapui.projection import asking
from tapui.projection.state import is_waiting
from tapui.tower import marks
from tapui.tower.panes.table_pane import TablePane
from tapui.tower.plain import facts, headline, plain
from tapui.tower.table import Cell, Column, Row, Table, heading
from tapui.tower.view import View
from tapui.tower.words import time_left
from tapui.wire import events as ev


class ApprovalsPane(TablePane):
    """Waiting approvals, oldest first; then the settled ones, newest first."""

    TOPICS = frozenset({"approvals", "sessions", "clock"})
    HELP = """\
Enter opens a request in full. There, `a` and then Enter approves it; `d` and then Enter denies it.
A request ignores keys in its first half second on screen.
"""
    COLUMNS = (
        Column("asks for", 14, 60),
        Column("kind", 10, 20, rank=2),
        Column("state", 11),
        Column("who", 7, 20, rank=3),
        Column("left", 5, rank=1, right=True),
        Column("age", 4, right=True),
    )

    def on_table_opened(self, event: Table.Opened) -> None:
        """Show a request in full."""
        event.stop()
        from tapui.tower.screens.approval import ApprovalScreen

        self.app.push_screen(ApprovalScreen(event.key))

    def rows(self, view: View) -> list[Row]:
        """What waits, then the history."""
        waiting, decided = view.waiting, view.decided
        rows = [_row(view, approval) for approval in waiting]
        if decided:
            rows.append(heading("decided"))
            rows.extend(_row(view, approval) for approval in decided)
        return rows

    def about(self, view: View, key: str) -> list[Content]:
        """Return a request in short."""
        approval = view.state.approvals.get(key)
        if approval is None:
            return []
        age = times.age(times.since(approval.created_at, view.now))
        rest = time_left(approval, view.now)
        left = f", {rest} left" if rest else ""
        return [
            headline(
                marks.APPROVAL[approval.state], marks.KINDS[approval.kind], f"{age} ago{left}"
            ),
            plain(asking.subject(view.state, approval), limit=400),
            facts(
                [
                    f"from {asking.who(view.state, approval)}",
                    f"decided by {approval.decided_by}" if approval.decided_by else None,
                    approval.reason,
                    "Enter opens it" if is_waiting(approval) else None,
                ]
            ),
        ]

    def first_steps(self) -> list[tuple[str, str]]:
        """What will come here."""
        return [
            ("Nothing waits for you.", ""),
            ("", ""),
            ("Pairings, mode switches, permissions and questions of your sessions", ""),
            ("appear here; the terminal's bell and title tell you of a new one.", ""),
        ]


def _row(view: View, approval: ev.Approval) -> Row:
    mark = marks.APPROVAL[approval.state]
    return Row(
        approval.id,
        (
            Cell(
                asking.subject(view.state, approval), "strong" if is_waiting(approval) else "muted"
            ),
            Cell(marks.KINDS[approval.kind], "" if is_waiting(approval) else "muted"),
            Cell(mark.text, mark.tone),
            Cell(asking.who(view.state, approval), "muted"),
            Cell(time_left(approval, view.now), "warning"),
            Cell(times.age(times.since(approval.created_at, view.now)), "muted"),
        ),
    )
