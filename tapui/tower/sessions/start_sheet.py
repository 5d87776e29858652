"""A session that is to be started: in which folder, with which prompt, model and mode."""

from pathlib import Path
from typing import ClassVar, get_args

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, Static

from tapui.text import safe_text
from tapui.tower.sessions.sent_orders import StartDraft
from tapui.tower.textual.sheet import DIALOG_CSS, LiveScreen
from tapui.tower.textual.widgets import SafeInput, plain
from tapui.tower.workbench.arguments_view import ChoiceLine
from tapui.tower.workbench.shell_line import json_text
from tapui.wire.limits import MAX_ID, MAX_PATH, MAX_TELL
from tapui.wire.message import Mode

_MODES: tuple[Mode, ...] = get_args(Mode)
_FIELDS = (
    ("folder", "Folder", "an absolute path, or one that begins with ~/", MAX_PATH),
    ("prompt", "Prompt", "what it is to do; empty: it waits for you", MAX_TELL),
    ("model", "Model", "empty: the usual one", MAX_ID),
)


class StartScreen(LiveScreen[StartDraft]):
    """Three lines and the mode; Enter goes on. The result is what was written."""

    CSS_PATH = DIALOG_CSS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "app.focus_next", "next line", show=False),
        Binding("up", "app.focus_previous", "line before", show=False),
    ]

    def __init__(self, draft: StartDraft) -> None:
        super().__init__()
        self._draft = draft

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(plain("Start a session without a screen", "bold"), markup=False)
            for name, title, hint, most in _FIELDS:
                yield Static(plain(title, "$text-muted"), markup=False)
                yield SafeInput(
                    safe_text(str(getattr(self._draft, name) or "")),
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
        self.query_one("#prompt" if self._draft.folder else "#folder", SafeInput).focus()

    @on(Input.Submitted)
    @on(ChoiceLine.Submitted)
    def _start(self, event: Message) -> None:
        event.stop()
        typed = {one[0]: self.query_one(f"#{one[0]}", SafeInput).value.strip() for one in _FIELDS}
        folder = _folder(typed["folder"])
        if not folder.startswith("/"):
            fault = "The folder must be an absolute path, or begin with ~/."
            self.query_one(".trouble", Static).update(plain(fault, "$warning"))
            return
        chosen = self.query_one(ChoiceLine).value
        mode = next(one for one in _MODES if json_text(one) == chosen)
        self.dismiss(StartDraft(folder, typed["prompt"], typed["model"], mode))


def _folder(written: str) -> str:
    """Return a folder with one's home for `~/`."""
    rest = written.removeprefix("~/")
    return written if rest == written else str(Path.home() / rest)
