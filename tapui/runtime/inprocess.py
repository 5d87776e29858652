"""Conversations inside this process: the same messages, without bytes."""

import os
from collections.abc import Callable
from typing import Protocol

from tapui.core.effects import ConnectionId
from tapui.home.local_socket import Peer
from tapui.wire.codec import encodable
from tapui.wire.errors import WireError
from tapui.wire.events import Entry
from tapui.wire.message import Message


class Inputs(Protocol):
    """What an in-process end hands its messages to: the turn."""

    def given(self, connection: ConnectionId, message: Message) -> None:
        """Take a message."""

    def unfit(self, connection: ConnectionId, error: WireError) -> None:
        """A message could not be JSON; the end is told so with the next turn."""

    def snapshot_wanted(self, connection: ConnectionId) -> None:
        """A tower wants a new snapshot."""

    def left(self, connection: ConnectionId) -> None:
        """The end was closed from its own side."""


class InProcessPort:
    """The gateway's side: hands messages and batches of events to functions. Implements `Port`.

    `receive` gets each message of the gateway, `closed` is told once when the gateway ends the
    connection, `watch` gets batches of events and their bytes as JSON (towers only). They are
    called while effects are carried out, never from within `InProcessEnd.send`. One that raises
    loses its connection.
    """

    is_in_process = True
    client_end = None
    outbox_bytes = 0
    sent_bytes = 0

    def __init__(
        self,
        receive: Callable[[Message], None],
        closed: Callable[[], None],
        watch: Callable[[list[Entry], int], None] | None = None,
    ) -> None:
        self._receive = receive
        self._closed = closed
        self._watch = watch
        self.peer = Peer(os.getpid(), os.geteuid())
        self.number: ConnectionId = 0
        self.is_open = True

    def deliver(self, message: Message) -> None:
        if self.is_open:
            self._receive(message)

    def deliver_events(self, entries: list[Entry], size: int) -> None:
        """Hand over a batch of events, of `size` bytes as JSON; the list is the receiver's."""
        if self.is_open and self._watch is not None:
            self._watch(entries, size)

    def close(self, code: int, reason: str) -> None:  # noqa: ARG002 - nobody here reads them
        if self.is_open:
            self.is_open = False
            self._closed()

    def authenticated(self) -> None:
        """Messages of this process have no frame limit."""

    def pause_reading(self) -> None:
        """Nothing is read here: messages are handed over by their sender."""

    def resume_reading(self) -> None:
        """See `pause_reading`."""


class InProcessEnd:
    """The other side: a host, a tower or the built-in tools, inside the gateway's own process."""

    def __init__(self, inputs: Inputs, port: InProcessPort) -> None:
        self._inputs = inputs
        self._port = port

    def send(self, message: Message) -> None:
        """Send a message to the gateway; what it causes comes with the next turn.

        Text that no JSON can carry is mended first (see `tapui.wire.surrogates`); a message that
        cannot be JSON at all is answered with `INVALID_JSON`, like one from a socket.
        """
        port = self._port
        if not port.is_open:
            return
        try:
            message = encodable(message)
        except WireError as error:
            self._inputs.unfit(port.number, error)
        else:
            self._inputs.given(port.number, message)

    def ask_for_snapshot(self) -> None:
        """Start from a new snapshot: for a tower that let go of events."""
        if self._port.is_open:
            self._inputs.snapshot_wanted(self._port.number)

    def close(self) -> None:
        if self._port.is_open:
            self._port.is_open = False
            self._inputs.left(self._port.number)
