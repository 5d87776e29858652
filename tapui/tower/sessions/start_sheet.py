"""A session that is to be started: where, with which prompt, model, agent and mode."""

from pathlib import Path
from typing import ClassVar, get_args

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key
from textual.message import Message
from textual.widgets import Input, Static

from tapui.text import json_text, safe_text
from tapui.tower.sessions.agent_choice import AgentsScreen, ReadAgents
from tapui.tower.sessions.sent_orders import StartDraft
from tapui.tower.textual.sheet import DIALOG_CSS, LiveScreen, ask
from tapui.tower.textual.widgets import SafeArea, SafeInput, plain
from tapui.tower.workbench.arguments_view import ChoiceLine
from tapui.wire.limits import MAX_ID, MAX_PATH, MAX_TELL
from tapui.wire.message import Mode

MAX_BRANCH = 200
_MODES: tuple[Mode, ...] = get_args(Mode)
_FIELDS = (
    ("folder", "Folder", "an absolute path, or one that begins with ~/", MAX_PATH),
    (
        "branch",
        "New worktree",
        "empty: in the folder; else the name of its branch",
        MAX_BRANCH,
    ),
    ("prompt", "Prompt", "what it is to do; empty: it waits for you", MAX_TELL),
    ("model", "Model", "empty: the usual one", MAX_ID),
    (
        "agent",
        "Agent",
        "empty: Copilot itself; Space: choose a custom agent, or its name",
        MAX_ID,
    ),
)


class AgentInput(SafeInput):
    """The line of the agent's name: Space while it is empty asks for the list."""

    class Wanted(Message):
        """The list of agents is wanted."""

    def on_key(self, event: Key) -> None:
        if event.key == "space" and not self.value:
            event.stop()
            event.prevent_default()  # it is no text of the line
            self.post_message(self.Wanted())


class StartScreen(LiveScreen[StartDraft]):
    """Some lines and the mode; Enter goes on. The result is what was written. Space in the empty
    line of the agent opens a list of those that there are: no name begins with it."""

    CSS_PATH = DIALOG_CSS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "app.focus_next", "next line", show=False),
        Binding("up", "app.focus_previous", "line before", show=False),
    ]

    def __init__(self, draft: StartDraft, read_agents: ReadAgents) -> None:
        super().__init__()
        self._draft = draft
        self._read_agents = read_agents

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(plain("Start a session without a screen", "bold"), markup=False)
            for name, title, hint, most in _FIELDS:
                yield Static(plain(title, "$text-muted"), markup=False)
                text = str(getattr(self._draft, name) or "")
                if name == "prompt":
                    yield SafeArea(text, placeholder=hint, max_length=most, id=name)
                    continue
                yield (AgentInput if name == "agent" else SafeInput)(
                    safe_text(text),
                    placeholder=hint,
                    max_length=most,
                    select_on_focus=False,
                    compact=True,
                    id=name,
                )
            yield Static(plain("Mode", "$text-muted"), markup=False)
            mode = json_text(self._draft.mode or _MODES[0])
            yield ChoiceLine([json_text(one) for one in _MODES], mode, can_be_unset=False)
            yield Static("", classes="trouble", markup=False)
            hint = "Enter starts it    Tab next line    Esc back"
            yield Static(plain(hint, "$text-muted"), classes="keys", markup=False)

    def on_mount(self) -> None:
        self.query_one("#prompt" if self._draft.folder else "#folder").focus()

    @on(AgentInput.Wanted)
    def _choose_agent(self, event: AgentInput.Wanted) -> None:
        event.stop()
        line = self.query_one("#agent", AgentInput)

        def chosen(name: str) -> None:
            line.value = safe_text(name)
            line.cursor_position = len(line.value)

        folder = _folder(self.query_one("#folder", SafeInput).value.strip())
        ask(self.app, AgentsScreen(folder, self._read_agents), chosen)

    @on(Input.Submitted)
    @on(SafeArea.Submitted)
    @on(ChoiceLine.Submitted)
    def _start(self, event: Message) -> None:
        event.stop()
        fields = {name: self.query_one(f"#{name}") for name, *_ in _FIELDS}
        typed = {
            name: field.value.strip()
            for name, field in fields.items()
            if isinstance(field, SafeInput | SafeArea)
        }
        folder = _folder(typed["folder"])
        if not folder.startswith("/"):
            fault = "The folder must be an absolute path, or begin with ~/."
            self.query_one(".trouble", Static).update(plain(fault, "$warning"))
            return
        chosen = self.query_one(ChoiceLine).value
        mode = next(one for one in _MODES if json_text(one) == chosen)
        self.dismiss(StartDraft(**{**typed, "folder": folder}, mode=mode))


def _folder(written: str) -> str:
    """Return a folder with one's home for `~/`."""
    rest = written.removeprefix("~/")
    return written if rest == written else str(Path.home() / rest)
