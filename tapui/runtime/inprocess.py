"""Ends of conversations in this process: the same messages, without bytes."""

from collections.abc import Callable
from typing import Protocol

from tapui.core.effects import ConnectionId
from tapui.wire.events import Entry
from tapui.wire.message import Message


class Inputs(Protocol):
    """What an in-process port hands its messages to: the turn."""

    def given(self, connection: ConnectionId, message: Message) -> None:
        """Take a message."""

    def snapshot_wanted(self, connection: ConnectionId) -> None:
        """A tower wants a new snapshot."""

    def left(self, connection: ConnectionId) -> None:
        """The end was closed from this side."""


class InProcessPort:
    """A host, a tower or the built-in tools, inside the gateway's own process.

    `receive` gets each message of the gateway, `closed` is told once when the gateway ends the
    connection, `watch` gets batches of events and their bytes as JSON (towers only). They are
    called while effects are carried out, never from within `send`.
    """

    def __init__(
        self,
        inputs: Inputs,
        receive: Callable[[Message], None],
        closed: Callable[[], None],
        watch: Callable[[list[Entry], int], None] | None = None,
    ) -> None:
        self._inputs = inputs
        self._receive = receive
        self._closed = closed
        self._watch = watch
        self.connection: ConnectionId = 0
        self._is_open = True

    def send(self, message: Message) -> None:
        """Send a message to the gateway; what it causes comes with the next turn."""
        if self._is_open:
            self._inputs.given(self.connection, message)

    def ask_for_snapshot(self) -> None:
        """Start from a new snapshot: for a tower that let go of events."""
        if self._is_open:
            self._inputs.snapshot_wanted(self.connection)

    def close(self) -> None:
        """Leave."""
        if self._is_open:
            self._is_open = False
            self._inputs.left(self.connection)

    def deliver(self, message: Message) -> None:
        """Hand over a message of the gateway's."""
        if self._is_open:
            self._receive(message)

    def deliver_events(self, entries: list[Entry], size: int) -> None:
        """Hand over a batch of events, of `size` bytes as JSON; the list is the receiver's."""
        if self._is_open and self._watch is not None:
            self._watch(entries, size)

    def ended(self) -> None:
        """The gateway closed the connection."""
        if self._is_open:
            self._is_open = False
            self._closed()
