"""One line of text that is asked for."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from tapui.text import safe_text
from tapui.tower.plain import plain
from tapui.tower.safe_input import SafeInput
from tapui.tower.screens.live import LiveScreen
from tapui.wire.limits import MAX_ID


class AskLineScreen(LiveScreen[str | None]):
    """Asks for a line; the result is the text, None where the person left or wrote nothing."""

    CSS_PATH = "dialog.tcss"

    def __init__(self, question: str, value: str = "", hint: str = "") -> None:
        super().__init__()
        self._question = question
        self._first = safe_text(value)
        self._hint = hint

    def compose(self) -> ComposeResult:
        """The question, its field, what there is to know."""
        with Vertical(classes="dialog"):
            yield Static(plain(self._question, "bold", limit=200), markup=False)
            yield SafeInput(self._first, max_length=MAX_ID, select_on_focus=False)
            hint = "  ".join(filter(None, (self._hint, "Enter takes it, Esc goes back.")))
            yield Static(plain(hint, "$text-muted", limit=200), classes="keys", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close with what was written."""
        self.dismiss(event.value.strip() or None)
