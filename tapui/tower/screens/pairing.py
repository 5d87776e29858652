"""The part of an approval that is a pairing: which sessions, and the code."""

from typing import cast

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Digits, Static

from tapui.text import safe_text
from tapui.tower import marks
from tapui.tower.app_protocol import Tower
from tapui.tower.columns import Cell, Column, Row
from tapui.tower.plain import plain
from tapui.tower.table import Table
from tapui.tower.view import View
from tapui.wire import subjects


class PairingPanel(Vertical):
    """Sessions to let the provider into; once opened, the code in large digits."""

    def __init__(self, approval: subjects.Approval) -> None:
        super().__init__()
        self.approval_id = approval.id
        self._chosen: set[str] | None = None

    def compose(self) -> ComposeResult:
        """The choice and the code; one of them is shown."""
        yield Static("sessions that it may join", classes="label", markup=False)
        yield Table((Column("", 3), Column("", 12, 64), Column("", 9)))
        yield Digits("")
        yield Static("", classes="elsewhere", markup=False)

    @property
    def chosen(self) -> list[str]:
        """The sessions that the person chose."""
        return sorted(self._chosen or ())

    def focus_inside(self) -> None:
        """Focus the list."""
        self.query_one(Table).focus()

    def toggle(self) -> None:
        """Choose or drop the session under the cursor."""
        key = self.query_one(Table).selected
        if key is not None and self._chosen is not None:
            self._chosen ^= {key}
            self._fill(cast("Tower", self.app).view)

    def show(self, view: View, approval: subjects.Approval, dirty: frozenset[str]) -> None:
        """Paint the choice, or the code."""
        is_revealed = approval.state == "revealed"
        self.set_class(is_revealed, "-revealed")
        if not is_revealed:
            if dirty & {"sessions", "approvals"} or self._chosen is None:
                self._fill(view)
            return
        code = view.codes.get(approval.id)
        digits = safe_text(code.code, limit=12) if code else ""
        self.query_one(Digits).update(f"{digits[:3]} {digits[3:]}" if digits else "")
        self.query_one(".elsewhere", Static).update(
            plain(
                "" if code else "The code is shown in the tower that opened this request.",
                "$text-muted",
            )
        )

    def _fill(self, view: View) -> None:
        sessions = view.open_sessions
        if self._chosen is None:
            self._chosen = {one.id for one in sessions[:1]}
        table = self.query_one(Table)
        table.styles.height = min(max(len(sessions), 1), 6) + 1
        table.set_rows(
            [
                Row(
                    one.id,
                    (
                        Cell("[x]" if one.id in self._chosen else "[ ]", "primary"),
                        Cell(one.label or one.id, "strong"),
                        Cell(marks.SESSION[one.state].text, marks.SESSION[one.state].tone),
                    ),
                )
                for one in sessions
            ]
        )
