"""The line at the bottom in which the person says something to a session."""

from typing import ClassVar, cast

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from tapui.projection.words import WAYS
from tapui.text import cut
from tapui.tower.app.tower import Tower
from tapui.tower.keys.bindings import bindings
from tapui.tower.textual.widgets import SafeInput, plain
from tapui.wire.limits import MAX_TELL
from tapui.wire.steering import Way
from tapui.wire.subjects import Session

NAME_WIDTH = 24
"""Characters of the session's name; less where the line is short."""
_HINTS: dict[Way, str] = {
    "after": "delivered once the session rests",
    "now": "into the turn; a running command goes on in the background",
    "stopFirst": "the turn is stopped, then it is sent",
}


def ways_of(session: Session) -> list[Way]:
    """Return the ways in which a text can be delivered to a session, the mildest first."""
    if "tell" not in session.can:
        return []
    ways: list[Way] = ["after"]
    if "now" in session.can:
        ways.append("now")
    if "stop" in session.can:
        ways.append("stopFirst")
    return ways


class TellInput(SafeInput):
    """Where the text is typed."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("tell-send", "tell-way", "tell-keep")

    class OtherWay(Message):
        """The text is to be delivered in the next way."""

    class Kept(Message):
        """The text is to be kept as a draft."""

    def action_other_way(self) -> None:
        self.post_message(self.OtherWay())

    def action_keep_draft(self) -> None:
        self.post_message(self.Kept())


class TellLine(Horizontal):
    """To whom and how, and the text. It is seen while `open`."""

    DEFAULT_CSS = """
    TellLine {
        display: none;
        height: 1;
        width: 1fr;
        background: $surface;
    }
    TellLine.-open {
        display: block;
    }
    TellLine .whom {
        width: auto;
        max-width: 60%;
        padding: 0 1;
        text-wrap: nowrap;
    }
    TellLine TellInput {
        width: 1fr;
    }
    """

    class Closed(Message):
        """The line is no longer seen."""

    def __init__(self) -> None:
        super().__init__()
        self._session_id = ""
        self._ways: list[Way] = []

    @property
    def _tower(self) -> Tower:
        return cast("Tower", self.app)

    def compose(self) -> ComposeResult:
        yield Static("", classes="whom", markup=False)
        yield TellInput(max_length=MAX_TELL, compact=True, select_on_focus=False)

    def open(self, session: Session) -> None:
        """Begin to write to a session, with the draft that there is."""
        self._leave_draft()
        self._session_id, self._ways = session.id, ways_of(session)
        field = self.query_one(TellInput)
        field.value = self._tower.orders.draft(session.id)
        field.cursor_position = len(field.value)
        self.add_class("-open")
        self._show(session.label or session.id)
        self.screen.set_focus(field)

    @property
    def _way(self) -> Way:
        way = self._tower.orders.ways.get(self._session_id, "after")
        return way if way in self._ways else "after"

    def _show(self, name: str) -> None:
        parts = (
            plain(f"tell {cut(name, NAME_WIDTH)}  ", "bold")
            + plain(WAYS[self._way], "$accent")
            + plain(":")
        )
        self.query_one(".whom", Static).update(parts)
        self.query_one(TellInput).placeholder = _HINTS[self._way]

    def on_tell_input_other_way(self) -> None:
        at = self._ways.index(self._way)
        self._tower.orders.ways[self._session_id] = self._ways[(at + 1) % len(self._ways)]
        self._show(self._tower.view.session_name(self._session_id))

    def on_tell_input_kept(self) -> None:
        self._close()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Send the text; an empty one is left."""
        event.stop()
        if event.value.strip():
            self._tower.orders.tell(self._session_id, event.value, self._way)
            self.query_one(TellInput).value = ""
        self._close()

    def _leave_draft(self) -> None:
        if self._session_id:
            self._tower.orders.keep_draft(self._session_id, self.query_one(TellInput).value)

    def _close(self) -> None:
        self._leave_draft()
        self._session_id = ""
        self.remove_class("-open")
        self.post_message(self.Closed())
