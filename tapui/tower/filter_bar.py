"""The line in which a filter is typed."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from tapui.tower.filter import FilterError
from tapui.tower.plain import plain
from tapui.tower.safe_input import SafeInput
from tapui.wire.limits import MAX_PATTERN


class FilterInput(SafeInput):
    """Where a filter is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "as it was", key_display="Esc")
    ]

    class Cancelled(Message):
        """The filter is to be what it was."""

    def action_cancel(self) -> None:
        """Leave without a change."""
        self.post_message(self.Cancelled())


class FilterBar(Horizontal):
    """The input, and why what is in it is no filter. It is seen while `open`."""

    DEFAULT_CSS = """
    FilterBar {
        display: none;
        height: 1;
    }
    FilterBar.-open {
        display: block;
    }
    FilterBar .mark {
        width: 3;
        padding: 0 1;
        color: $accent;
        text-style: bold;
    }
    FilterBar FilterInput {
        width: 1fr;
    }
    FilterBar .refusal {
        width: auto;
        max-width: 60%;
        padding: 0 1;
    }
    """

    class Typed(Message):
        """The text of the filter changed; `is_done`: and the person is done with it."""

        def __init__(self, text: str, *, is_done: bool) -> None:
            super().__init__()
            self.text = text
            self.is_done = is_done

    def __init__(self) -> None:
        super().__init__(classes="filter")
        self._before = ""

    @property
    def is_open(self) -> bool:
        """Whether a filter is being typed."""
        return self.has_class("-open")

    def compose(self) -> ComposeResult:
        """A mark, the input, a refusal."""
        yield Static("/", classes="mark", markup=False)
        yield FilterInput(placeholder="text, or re:pattern", max_length=MAX_PATTERN, compact=True)
        yield Static("", classes="refusal", markup=False)

    def open(self, text: str) -> None:
        """Begin to type, with the filter that there is."""
        self._before = text
        self.add_class("-open")
        field = self.query_one(FilterInput)
        field.value = text
        self.screen.set_focus(field)

    def close(self) -> None:
        """Be seen no longer."""
        self.refuse(None)
        self.remove_class("-open")

    def refuse(self, error: FilterError | None) -> None:
        """Say why the text is no filter; None takes that back."""
        said = plain(f"✗ {error}", "$error") if error is not None else plain("")
        self.query_one(".refusal", Static).update(said)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter by what is typed so far."""
        event.stop()
        if self.is_open:
            self.post_message(self.Typed(event.value, is_done=False))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """It is meant."""
        event.stop()
        self.post_message(self.Typed(event.value, is_done=True))

    def on_filter_input_cancelled(self) -> None:
        """Go back to the filter there was."""
        self.post_message(self.Typed(self._before, is_done=True))
