"""The ways to the workbench: from a provider, from a call, and from anywhere."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from msgspec import Raw

from tapui.tower import marks
from tapui.tower.screens.choose import Choice, ChooseScreen
from tapui.tower.screens.tools import ToolsScreen
from tapui.tower.screens.workbench import WorkbenchScreen
from tapui.wire import subjects
from tapui.wire.message import OfferedTool

if TYPE_CHECKING:
    from textual.app import App

    from tapui.tower.app_protocol import Tower


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
