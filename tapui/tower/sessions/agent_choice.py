"""The custom agents that a session can be started with: a list to choose from, or a name."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from textual.widgets import Input

from tapui.tower.table.columns import Cell, Column, Row
from tapui.tower.textual.dialogs import FilteredListScreen
from tapui.tower.wording.words import quantity


class AgentChoice(NamedTuple):
    """An agent by its name; `whose`: where it is from, in words, as far as that is known."""

    name: str
    description: str
    whose: str = ""


OnAgents = Callable[[Sequence[AgentChoice]], None]
ReadAgents = Callable[[str, OnAgents], None]
"""Has the agents for a folder found; they come in parts."""


class AgentsScreen(FilteredListScreen[str]):
    """The result is a name: of a row, or what was typed where no row has it."""

    COLUMNS = (
        Column("agent", 12, 32, cuts_middle=True),
        Column("", 8, grows=True),
        Column("", 5, 13, rank=1),
    )

    def __init__(self, folder: str, read: ReadAgents) -> None:
        super().__init__()
        self._folder = folder
        self._read = read
        self._agents: dict[str, AgentChoice] = {}
        self._has_come = False

    def heading(self) -> str:
        return f"A custom agent for {self._folder or 'the session'}"

    def on_mount(self) -> None:
        self.fill()
        self._read(self._folder, self._came)

    def _came(self, agents: Sequence[AgentChoice]) -> None:
        if not self.is_attached:
            return  # it was closed meanwhile
        self._has_come = True
        for one in agents:
            known = self._agents.get(one.name, one)
            about, whose = known.description or one.description, known.whose or one.whose
            self._agents[one.name] = AgentChoice(one.name, about, whose)
        self.fill()

    def fill(self) -> None:
        agents = sorted(self._agents.values(), key=lambda one: one.name.casefold())
        count = self.set_rows([_row(one) for one in agents])
        if agents:
            named = count if " " in count else quantity(len(agents), "agent")
            self.say(f"{named}    Enter choose; a name that is not here is taken as typed")
        elif self._has_come:
            self.say("No custom agent is known here. Enter takes the name as typed    Esc back")
        else:
            self.say("Looking for agents …    Enter takes the name as typed    Esc back")

    def choose(self, key: str) -> None:
        self.dismiss(key)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take what was typed where no row is left to choose; else the list itself takes the row,
        whose handler is called, too."""
        typed = event.value.strip()
        if typed and not self.has_rows:
            self.dismiss(typed)


def _row(agent: AgentChoice) -> Row:
    about = " ".join(agent.description.split())
    return Row(
        agent.name, (Cell(agent.name, "strong"), Cell(about, "muted"), Cell(agent.whose, "muted"))
    )
