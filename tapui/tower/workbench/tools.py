"""The ways to the workbench: from a provider, from a call, and from the list of tools."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from msgspec import Raw
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from tapui.tower.app.view import View
from tapui.tower.table.columns import Cell, Column, Row
from tapui.tower.table.filter import Filter, FilterError, Undecided, parse
from tapui.tower.table.table import Table
from tapui.tower.textual.dialogs import AnswerInput, Choice, ChooseScreen
from tapui.tower.textual.sheet import DIALOG_CSS, LiveScreen
from tapui.tower.textual.widgets import plain
from tapui.tower.wording import marks
from tapui.tower.workbench.workbench_screen import WorkbenchScreen
from tapui.wire import subjects
from tapui.wire.message import OfferedTool

if TYPE_CHECKING:
    from textual.app import App

    from tapui.tower.app.tower import Tower

_ABOUT = 300
"""Characters of a tool's description that are looked at."""


class ToolsScreen(LiveScreen[OfferedTool]):
    """What is typed filters the list, Enter chooses. One tool alone needs no choice.

    The tools were asked for before. `provider` leaves those of one provider, `tool` the one of this
    name, as long as there are any.
    """

    CSS_PATH = DIALOG_CSS
    TOPICS = frozenset({"calls"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "step(1)", "Next", show=False),
        Binding("up", "step(-1)", "Previous", show=False),
    ]

    def __init__(self, session_id: str, provider: str | None, tool: str | None) -> None:
        super().__init__()
        self._session_id = session_id
        self._provider = provider
        self._tool = tool
        self._tools: dict[str, OfferedTool] | None = None

    def compose(self) -> ComposeResult:
        session = self.tower.view.session_name(self._session_id)
        with Vertical(classes="dialog"):
            title = f"Call a tool in {session}"
            yield Static(plain(title, "bold", limit=200), markup=False)
            yield AnswerInput(placeholder="type to filter", compact=True, max_length=200)
            yield Table(
                (
                    Column("tool", 12, 40),
                    Column("by", 8, 24, rank=1, is_common=True),
                    Column("", 8, grows=True),
                )
            )
            yield Static("", classes="keys", markup=False)

    def on_mount(self) -> None:
        self.query_one(Table).styles.height = "1fr"
        self.query_one(AnswerInput).focus()

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del view, dirty
        calls = self.tower.calls_made
        if self._tools is not None:
            return
        found = calls.tools(self._session_id)
        if found is None:
            refusal = calls.refusals.get(self._session_id)
            self._say(f"They cannot be read: {refusal}" if refusal else "Reading the tools …")
            return
        chosen = [one for one in found if self._provider in (None, one.provider)]
        chosen = [one for one in chosen if one.name == self._tool] or chosen
        self._tools = {one.name: one for one in chosen}
        if len(chosen) == 1:
            self.dismiss(chosen[0])
        else:
            self._fill(None)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        try:
            self._fill(parse(event.value))
        except FilterError as error:
            self._say(str(error))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._choose(self.query_one(Table).selected)

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        self._choose(event.key)

    def action_step(self, step: int) -> None:
        self.query_one(Table).action_move(step)

    def _choose(self, name: str | None) -> None:
        if name is not None and self._tools is not None:
            self.dismiss(self._tools[name])

    def _fill(self, sought: Filter | None) -> None:
        if self._tools is None:
            return
        rows = [_row(one) for one in self._tools.values()]
        left = [row for row in rows if sought is None or _finds(sought, row)]
        self.query_one(Table).set_rows(left)
        count = f"{len(left)} of {len(rows)}" if sought is not None else f"{len(rows)} tools"
        hint = "Enter choose    Esc back" if rows else "This session has no tool.    Esc back"
        self._say(f"{count}    {hint}" if rows else hint)

    def _say(self, text: str) -> None:
        self.query_one(".keys", Static).update(plain(text, "$text-muted", limit=300))


def _row(tool: OfferedTool) -> Row:
    about = " ".join(tool.description[:_ABOUT].split())
    return Row(tool.name, (Cell(tool.name, "strong"), Cell(tool.provider), Cell(about, "muted")))


def _finds(sought: Filter, row: Row) -> bool:
    try:
        return sought.finds("  ".join(cell.text for cell in row.cells))
    except Undecided:
        return False


def call_tool(
    tower: "Tower",
    sessions: Sequence[subjects.Session],
    *,
    provider: str | None = None,
    selected: str | None = None,
) -> None:
    """Let the person choose one of the sessions and a tool in it, and call that."""

    def chosen(session_id: str | None) -> None:
        if session_id is not None:
            call_in(tower, session_id, provider=provider)

    if len(sessions) == 1:
        chosen(sessions[0].id)
        return
    choices = [
        Choice(one.id, one.label or one.id, marks.SESSION[one.state].text) for one in sessions
    ]
    cast("App[str]", tower).push_screen(
        ChooseScreen("Call a tool in", choices, selected=selected), chosen
    )


def call_in(
    tower: "Tower",
    session_id: str,
    *,
    provider: str | None = None,
    tool: str | None = None,
    arguments: Raw | None = None,
) -> None:
    """Open the workbench for a tool of this session; where several are meant, one is chosen."""

    def chosen(found: OfferedTool | None) -> None:
        if found is not None:
            given = arguments if found.name == tool else None
            app.push_screen(WorkbenchScreen(session_id, found, given))

    app = cast("App[str]", tower)
    tower.calls_made.read_tools(session_id)
    app.push_screen(ToolsScreen(session_id, provider, tool), chosen)
