"""The line at the bottom in which the person says something to sessions, or stops a turn."""

from collections.abc import Sequence
from typing import ClassVar, cast

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Static

from tapui.projection.state import is_open
from tapui.projection.words import WAYS, can_stop
from tapui.text import cut
from tapui.tower.app.tower import Tower
from tapui.tower.keys.bindings import bindings
from tapui.tower.textual.sheet import Sheet
from tapui.tower.textual.widgets import SafeArea, plain
from tapui.tower.wording.words import quantity
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
_SEVERAL = "\n"
"""The key of the draft for several sessions; no session has this id."""
_STOP_HINT = "Enter, or type what to do instead"


def untold_reason(session: Session) -> str:
    return session.cannot.get("tell") or "its host does not offer that"


def untold_words(session: Session) -> str:
    """Return why a session cannot be told anything."""
    return f"{session.label or session.id} cannot be told anything: {untold_reason(session)}"


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


class TellInput(SafeArea):
    """Where the text is typed."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("tell-send", "tell-way", "tell-keep")

    class OtherWay(Message):
        """The text is to be delivered in the next way."""

    class Kept(Message):
        """The text is to be kept as a draft."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "other_way":
            return isinstance(self.parent, TellLine) and self.parent.has_other_way
        return super().check_action(action, parameters)

    def action_other_way(self) -> None:
        self.post_message(self.OtherWay())

    def action_keep_draft(self) -> None:
        self.post_message(self.Kept())


class TellLine(Horizontal):
    """To whom and how, and the text. It is seen while `open`."""

    DEFAULT_CSS = """
    TellLine {
        display: none;
        height: auto;
        width: 1fr;
        background: $surface;
    }
    TellLine.-open {
        display: block;
    }
    TellLine .whom {
        width: auto;
        height: 1;
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
        """The key of the draft: a session's id, or `_SEVERAL`."""
        self._several: list[str] = []
        self._ways: list[Way] = []
        self._is_stop = False
        """Whether the turn is to be stopped: at once with no text, else before it is sent."""
        self._notes = 0
        """How many notes on changes are sent after the text."""

    @property
    def _tower(self) -> Tower:
        return cast("Tower", self.app)

    def compose(self) -> ComposeResult:
        yield Static("", classes="whom", markup=False)
        yield TellInput(max_length=MAX_TELL)

    def open(self, session: Session, notes: int = 0) -> None:
        """Begin to write to a session, with the draft that there is; or to send notes, with or
        without a text before them."""
        self._open(session.id, ways_of(session), notes=notes)

    def open_several(self, sessions: Sequence[Session]) -> None:
        """Begin to write to several sessions. Only the ways are offered that all of them have which
        can be told something."""
        ways = [found for session in sessions if (found := ways_of(session))]
        common = [way for way in WAYS if ways and all(way in found for found in ways)]
        self._open(_SEVERAL, common, [session.id for session in sessions])

    def open_stop(self, session: Session) -> None:
        """Ask whether the turn of a session is to be stopped. A draft for the session is left where
        it is: Enter alone must not send it."""
        self._open(session.id, [], is_stop=True)

    def _open(
        self,
        to: str,
        ways: list[Way],
        several: Sequence[str] = (),
        *,
        notes: int = 0,
        is_stop: bool = False,
    ) -> None:
        self._leave_draft()
        self._session_id, self._ways, self._is_stop = to, ways, is_stop
        self._several, self._notes = list(several), notes
        field = self.query_one(TellInput)
        field.value = "" if is_stop or notes else self._tower.orders.draft(to)
        self.add_class("-open")
        self._show()
        self.screen.set_focus(field)
        field.refresh_bindings()

    @property
    def _way(self) -> Way:
        way = self._tower.orders.ways.get(self._session_id, "after")
        return way if way in self._ways else "after"

    def _show(self) -> None:
        name = self._tower.view.session_name(self._session_id)
        if self._is_stop:
            whom = plain(f"{cut(name, NAME_WIDTH)}  ", "bold") + plain("stop?", "bold $warning")
            self.query_one(".whom", Static).update(whom)
            self.query_one(TellInput).placeholder = _STOP_HINT
            return
        several = f"to {len(self._several)} sessions" if self._several else ""
        parts = (
            plain(f"{several or 'tell ' + cut(name, NAME_WIDTH)}  ", "bold")
            + plain(f"{quantity(self._notes, 'note')}, " if self._notes else "", "bold")
            + plain(WAYS[self._way], "$accent")
            + plain(":")
        )
        self.query_one(".whom", Static).update(parts)
        hint = "Enter sends them; what you type goes before" if self._notes else _HINTS[self._way]
        self.query_one(TellInput).placeholder = hint

    @property
    def has_other_way(self) -> bool:
        return len(self._ways) > 1

    def on_tell_input_other_way(self) -> None:
        at = self._ways.index(self._way)
        self._tower.orders.ways[self._session_id] = self._ways[(at + 1) % len(self._ways)]
        self._show()

    def on_tell_input_kept(self) -> None:
        self._close()

    def on_safe_area_submitted(self, event: TellInput.Submitted) -> None:
        """Send the text; an empty one is left, or stops the turn."""
        event.stop()
        text, is_sent, several = event.value, True, self._several
        if self._is_stop:
            is_sent = self._stop(text)
        elif self._notes:
            self._tower.orders.tell_notes(self._session_id, text, self._way)
        elif several and text.strip():
            self._tower.orders.tell_several(text, self._way, self._refused())
            self._tower.view.unmark_sessions()
        elif text.strip():
            self._tower.orders.tell(self._session_id, text, self._way)
        if is_sent:
            self.query_one(TellInput).value = ""
        self._close()
        if several and text.strip():
            from tapui.tower.sessions.deliveries import DeliveriesDetail

            self.app.push_screen(Sheet(DeliveriesDetail()))

    def _refused(self) -> dict[str, str]:
        """Return the sessions to tell, each with why that is not possible now, "" where it is."""
        sessions = self._tower.view.state.sessions
        refused = {}
        for id_ in self._several:
            session = sessions.get(id_)
            if session is None or not is_open(session):
                refused[id_] = "the session has ended"
            else:
                refused[id_] = "" if self._way in ways_of(session) else untold_reason(session)
        return refused

    def _stop(self, text: str) -> bool:
        """Stop the turn and say what to do instead; return whether the text, if any, was sent."""
        tower = self._tower
        session = tower.view.state.sessions.get(self._session_id)
        if session is None or (not text.strip() and not can_stop(session)):
            name = tower.view.session_name(self._session_id)
            tower.notify(f"The turn of {name} has ended already.")
        elif not text.strip():
            tower.orders.stop(session.id)
        elif "stopFirst" in ways_of(session):
            # Also where the turn has ended meanwhile: then there is nothing to stop first.
            tower.orders.tell(session.id, text, "stopFirst", keeps_draft=True)
        else:
            tower.notify(untold_words(session), severity="warning")
            return False
        return session is not None

    def _leave_draft(self) -> None:
        if not self._session_id:
            return
        orders, text = self._tower.orders, self.query_one(TellInput).value
        if self._notes:
            return
        if self._is_stop:
            orders.give_back(self._session_id, text)
        else:
            orders.keep_draft(self._session_id, text)

    def _close(self) -> None:
        self._leave_draft()
        self._session_id, self._several, self._notes = "", [], 0
        self.remove_class("-open")
        self.post_message(self.Closed())
