"""What panes and sheets may ask of the app they are in, and what a row offers."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from tapui.projection.state import StreamKey
from tapui.tower.app.services import EarlierRequests, FoundRecord, SessionStore
from tapui.tower.app.view import View
from tapui.tower.calls.bodies import Bodies
from tapui.tower.keys.bindings import KeyQueue
from tapui.tower.sessions.sent_orders import OrdersGiven
from tapui.tower.workbench.calls_made import CallsMade
from tapui.wire.message import Message
from tapui.wire.subjects import Session

OnRule = Callable[[str], str | None]
"""Writes rules that come as TOML; returns why that failed, or None."""


class Tower(Protocol):
    """What a pane may ask of the app it is in."""

    @property
    def view(self) -> View:
        """The model."""

    @property
    def bodies(self) -> Bodies:
        """Where sheets get long values."""

    @property
    def calls_made(self) -> CallsMade:
        """The calls that the person makes here."""

    @property
    def orders(self) -> OrdersGiven:
        """The orders that the person gives here."""

    @property
    def store(self) -> SessionStore | None:
        """The stored sessions; None where there are none."""

    @property
    def can_call(self) -> bool:
        """Whether the person can call tools now."""

    @property
    def clock(self) -> Callable[[], float]:
        """Seconds since the epoch."""

    @property
    def ticks(self) -> Callable[[], float]:
        """Seconds that only go forward."""

    @property
    def address(self) -> str:
        """The gateway's URL."""

    @property
    def token_file(self) -> str:
        """Where providers find their token."""

    @property
    def is_demo(self) -> bool:
        """Whether this is the demonstration already."""

    @property
    def is_replay(self) -> bool:
        """Whether this is the tower over records."""

    @property
    def lines_above(self) -> int:
        """How many lines of the screen stand above the panes."""

    @property
    def can_show_demo(self) -> bool:
        """Whether a key shows the demonstration."""

    @property
    def was_touched(self) -> bool:
        """Whether the person has pressed a key or the mouse here."""

    @property
    def typed(self) -> KeyQueue:
        """The keys that come."""

    @property
    def earlier_requests(self) -> EarlierRequests | None:
        """What was asked earlier; None where nothing is recorded."""

    @property
    def on_rule(self) -> OnRule | None:
        """What writes rules into the person's configuration."""

    def send(self, message: Message) -> None:
        """Send a message to the gateway."""

    def end_session(self, session: Session) -> None:
        """Ask whether a session that was started here is to end; end it on *yes*."""

    def hand_over(self, session: Session) -> None:
        """Ask whether such a session is to go on in a terminal; close it first on *yes*."""

    def move(self, provider_id: str, session_id: str) -> None:
        """Move a provider to another session, as the person wants it."""

    async def show_pane(self, pane_id: str) -> None:
        """Make a pane the current one, painted and with the keys."""

    async def show_stream(self, key: StreamKey) -> None:
        """Show a stream, alone, in Streams."""

    def way_to(self, found: FoundRecord) -> Callable[[], object] | None:
        """Return what goes to where a record was written, None where this tower does not have
        it."""

    def give_way(self) -> None:
        """A piece of longer work is done: others may go first."""

    def wake(self) -> None:
        """Something changed that the next frame shows, such as the selected row."""

    def copy(self, text: str, what: str, *, keeps_lines: bool = False) -> None:
        """Copy a text, which is called `what` in the notice about it; as one line or unchanged."""

    def key_of(self, action_id: str) -> str:
        """Return the key of an action as the person reads it."""


class RowAction(NamedTuple):
    """Something that can be done to what is under the cursor: its letter, its words."""

    letter: str
    does: str
    act: Callable[[], None]
