"""Which lines or rows to show, by a text or a regular expression, and the line to type it in.

An expression cannot hang the screen: its search has a time limit."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from tapui.match_time import found
from tapui.tower.textual.widgets import SafeInput, plain
from tapui.wire.limits import MATCH_TIMEOUT, MAX_PATTERN, MAX_SUBJECT
from tapui.wire.message import Line

if TYPE_CHECKING:
    import regex

REGEX_PREFIX = "re:"


class FilterError(ValueError):
    """A filter that cannot be used; the text says why and, in a pattern, where."""


class Undecided(Exception):  # noqa: N818 - not an error: the line is counted and not shown
    """The text is too long for a regular expression, or `is_slow`: matching it took too long."""

    def __init__(self, *, is_slow: bool) -> None:
        super().__init__("the line took too long to match" if is_slow else "the line is too long")
        self.is_slow = is_slow


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter as the person typed it; `needle` or `pattern` is what it looks for."""

    text: str
    needle: str = ""
    pattern: "regex.Pattern[str] | None" = field(default=None, repr=False, compare=False)

    def matches(self, line: Line) -> bool:
        """Return whether the line is shown. Raises Undecided where a pattern cannot tell."""
        return self.finds(line.event)

    def finds(self, text: str) -> bool:
        """Return whether it is in a text. Raises Undecided where a pattern cannot tell."""
        if self.pattern is None:
            return self.needle in text.casefold()
        if len(text) > MAX_SUBJECT:
            raise Undecided(is_slow=False)
        is_found = found(self.pattern, text, MATCH_TIMEOUT)
        if is_found is None:
            raise Undecided(is_slow=True)
        return is_found

    def is_in(self, text: str) -> bool:
        """Return whether it is in a text; False also where a pattern cannot tell."""
        try:
            return self.finds(text)
        except Undecided:
            return False


def exactly(first: str) -> Filter:
    """Return a filter for rows whose first cell is this text, and no longer one."""
    import regex

    return Filter(first, pattern=regex.compile(f"^{regex.escape(first)}(  |$)"))


def parse(text: str) -> Filter | None:
    """Return the filter that `text` asks for, None for none.

    `re:…` is a regular expression; other text is looked for literally, in upper or lower case.
    Raises FilterError for a pattern that is wrong or too long.
    """
    if len(text) > MAX_PATTERN:
        raise FilterError(f"longer than {MAX_PATTERN} characters: shorten it")
    if not text.startswith(REGEX_PREFIX):
        return Filter(text, needle=text.casefold()) if text else None
    source = text.removeprefix(REGEX_PREFIX)
    if not source:
        return None
    import regex  # the tower's first frame does not wait for it

    try:
        return Filter(text, pattern=regex.compile(source))
    except regex.error as error:
        where = "" if error.pos is None else f" at character {error.pos + 1}"
        raise FilterError(f"{error.msg}{where}") from error
    except (RecursionError, OverflowError, MemoryError) as error:
        raise FilterError("too complicated: simplify it") from error


class FilterBar(Horizontal):
    """The input, and why what is in it is no filter. It is seen while `open`, above the rows: what
    waits for the person may lie over the last ones."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "as it was", key_display="Esc")
    ]

    DEFAULT_CSS = """
    FilterBar {
        display: none;
        dock: top;
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
    FilterBar SafeInput {
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
        return self.has_class("-open")

    def compose(self) -> ComposeResult:
        yield Static("/", classes="mark", markup=False)
        yield SafeInput(placeholder="text, or re:pattern", max_length=MAX_PATTERN, compact=True)
        yield Static("", classes="refusal", markup=False)

    def open(self, text: str) -> None:
        """Begin to type, with the filter that there is."""
        self._before = text
        self.add_class("-open")
        field = self.query_one(SafeInput)
        field.value = text
        self.screen.set_focus(field)

    def close(self) -> None:
        self.refuse(None)
        self.remove_class("-open")

    def refuse(self, error: FilterError | None) -> None:
        """Say why the text is no filter; None takes that back."""
        words = plain(f"✗ {error}", "$error") if error is not None else plain("")
        self.query_one(".refusal", Static).update(words)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.is_open:
            self.post_message(self.Typed(event.value, is_done=False))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Typed(event.value, is_done=True))

    def action_cancel(self) -> None:
        self.post_message(self.Typed(self._before, is_done=True))
