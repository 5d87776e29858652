"""The ways to the workbench: from a provider, from a call, and from the list of tools."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from msgspec import Raw

from tapui.tower.app.view import View
from tapui.tower.table.columns import Cell, Column, Row
from tapui.tower.textual.dialogs import Choice, ChooseScreen, FilteredListScreen
from tapui.tower.textual.sheet import Sheet, ask
from tapui.tower.wording import marks
from tapui.tower.workbench.workbench import WorkbenchDetail
from tapui.wire import subjects
from tapui.wire.message import OfferedTool

if TYPE_CHECKING:
    from textual.app import App

    from tapui.tower.app.tower import Tower

_ABOUT = 300
"""Characters of a tool's description that are looked at."""


class ToolsScreen(FilteredListScreen[OfferedTool]):
    """The tools of a session. One tool alone needs no choice.

    The tools were asked for before. `provider` leaves those of one provider, `tool` the one of this
    name, as long as there are any.
    """

    TOPICS = frozenset({"calls"})
    COLUMNS = (
        Column("tool", 12, 40),
        Column("by", 8, 24, rank=1, is_common=True),
        Column("", 8, grows=True),
    )

    def __init__(self, session_id: str, provider: str | None, tool: str | None) -> None:
        super().__init__()
        self._session_id = session_id
        self._provider = provider
        self._tool = tool
        self._tools: dict[str, OfferedTool] | None = None

    def heading(self) -> str:
        return f"Call a tool in {self.tower.view.session_name(self._session_id)}"

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del view, dirty
        calls = self.tower.calls_made
        if self._tools is not None:
            return
        offered = calls.tools(self._session_id)
        if offered is None:
            refusal = calls.refusals.get(self._session_id)
            self.say(f"They cannot be read: {refusal}" if refusal else "Reading the tools …")
            return
        chosen = [one for one in offered if self._provider in (None, one.provider)]
        chosen = [one for one in chosen if one.name == self._tool] or chosen
        self._tools = {one.name: one for one in chosen}
        if len(chosen) == 1:
            self.dismiss(chosen[0])
        else:
            self.fill()

    def choose(self, key: str) -> None:
        if self._tools is not None:
            self.dismiss(self._tools[key])

    def fill(self) -> None:
        if self._tools is None:
            return
        count = self.set_rows([_row(one) for one in self._tools.values()])
        if self._tools:
            self.say(f"{count}{'' if ' ' in count else ' tools'}    Enter choose    Esc back")
        else:
            self.say("This session has no tool.    Esc back")


def _row(tool: OfferedTool) -> Row:
    about = " ".join(tool.description[:_ABOUT].split())
    return Row(tool.name, (Cell(tool.name, "strong"), Cell(tool.provider), Cell(about, "muted")))


def call_tool(
    tower: "Tower",
    sessions: Sequence[subjects.Session],
    *,
    provider: str | None = None,
    selected: str | None = None,
) -> None:
    """Let the person choose one of the sessions and a tool in it, and call that."""

    def call(session_id: str) -> None:
        call_in(tower, session_id, provider=provider)

    if len(sessions) == 1:
        call(sessions[0].id)
        return
    choices = [
        Choice(one.id, one.label or one.id, marks.SESSION[one.state].text) for one in sessions
    ]
    chooser = ChooseScreen("Call a tool in", choices, selected=selected)
    ask(cast("App[str]", tower), chooser, call)


def call_in(
    tower: "Tower",
    session_id: str,
    *,
    provider: str | None = None,
    tool: str | None = None,
    arguments: Raw | None = None,
) -> None:
    """Open the workbench for a tool of this session; where several are meant, one is chosen."""

    def open_workbench(chosen: OfferedTool) -> None:
        first = arguments if chosen.name == tool else None
        app.push_screen(Sheet(WorkbenchDetail(session_id, chosen, first)))

    app = cast("App[str]", tower)
    tower.calls_made.read_tools(session_id)
    ask(app, ToolsScreen(session_id, provider, tool), open_workbench)
