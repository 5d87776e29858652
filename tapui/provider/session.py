"""A session as a provider sees it: what it is, and what can be pushed into it and asked of it."""

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Raw

from tapui.provider.checks import json_object, sendable, short_context
from tapui.provider.errors import DeclarationError
from tapui.wire.limits import MAX_HISTORY, MAX_NAME, MAX_STREAMS
from tapui.wire.message import ActiveSession, Level, Message, ToolProgress
from tapui.wire.provider import ContextUpdate, HistoryLine, Push, StreamQuery

T = TypeVar("T")


class Outlet(Protocol):
    """Where messages of sessions and calls go. Safe to use from any thread."""

    def post(self, message: Message) -> None:
        """Send a message as soon as the provider is bound; never waits."""

    def progress(self, told: ToolProgress) -> None:
        """Tell a call's caller how far it is."""

    async def history(self, query: StreamQuery) -> dict[str, list[HistoryLine]]:
        """Ask for lines of streams. Raises `GatewayRefusal` and `LinkLost`."""

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the provider's loop and wait for it, in a thread."""


class Speech(ABC):
    """What can be put into a session and asked of it: in a `Session`, and in a call of it.

    Everything but `query` returns at once, from coroutines and from plain functions alike; what
    cannot be sent is refused here, with a `DeclarationError`.
    """

    outlet: Outlet

    @abstractmethod
    def _session_id(self) -> str:
        """Return the session's id: the provider may have been moved since."""

    def push(
        self,
        event: str | None = None,
        *,
        level: Level = "keep",
        stream: str | None = None,
        prompt: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Put a line into a stream of the provider's own (by default the one of its name).

        `level` says what becomes of it: it is kept; also shown to the person (`surface`); or sent
        to the agent, which wakes it (`inject`). With `prompt`, that text is a turn of its own.
        """
        texts = [text for text in (event, prompt) if text is not None]
        if not texts or not all(text.strip() for text in texts):
            raise DeclarationError("push: an event or a prompt is needed that is not blank")
        if stream is not None and ("@" in stream or not 1 <= len(stream) <= MAX_NAME):
            raise DeclarationError(f"push: a stream's name has 1 to {MAX_NAME} characters, no '@'")
        about = None if metadata is None else json_object("metadata", metadata)
        line = Push(level, event, prompt, stream, self._session_id(), metadata=about)
        self.outlet.post(sendable(line))

    def prompt(self, text: str) -> None:
        """Have the agent work on `text`, as a turn of its own."""
        self.push(prompt=text, level="inject")

    def log(self, text: str) -> None:
        """Show a line to the person, in the session's timeline."""
        self.push(text, level="surface")

    async def query(self, *streams: str, last: int = MAX_HISTORY) -> dict[str, list[HistoryLine]]:
        """Return the last lines of the provider's own streams, the newest first.

        They are under `stream@provider`. A plain function says
        `context.wait_for(context.query(…))`. Raises `GatewayRefusal`, and `LinkLost` when the
        gateway goes away meanwhile.
        """
        if not 1 <= last <= MAX_HISTORY:
            raise DeclarationError(f"query: last is 1 to {MAX_HISTORY}")
        if not 1 <= len(streams) <= MAX_STREAMS:
            raise DeclarationError(f"query: 1 to {MAX_STREAMS} streams at once")
        asked = StreamQuery("", list(streams), self._session_id(), last)
        return await self.outlet.history(sendable(asked))


class Session(Speech):
    """A session that the provider is bound to."""

    def __init__(self, active: ActiveSession, outlet: Outlet, persist_dir: str | None) -> None:
        self._active = active
        self.outlet = outlet
        self.persist_dir = persist_dir
        """A folder of the provider's own that stays; None without a gateway."""

    def __repr__(self) -> str:
        return f"Session({self.id!r})"

    @property
    def id(self) -> str:
        """Its id."""
        return self._active.id

    @property
    def label(self) -> str:
        """What the person calls it."""
        return self._active.label

    @property
    def folder(self) -> str | None:
        """The folder in which its agent works."""
        return self._active.cwd

    @property
    def mode(self) -> str | None:
        """`interactive`, `plan` or `autopilot`, where it is known."""
        return self._active.mode

    @property
    def model(self) -> str | None:
        """The agent's model, where it is known."""
        return self._active.model

    @property
    def is_idle(self) -> bool:
        """Whether its agent rests."""
        return self._active.state == "idle"

    def changed(self, active: ActiveSession) -> None:
        self._active = active

    def _session_id(self) -> str:
        return self.id

    def set_context(self, text: str | None) -> None:
        """Have `text` told to the agent with every prompt from now on; None takes it away."""
        self.outlet.post(sendable(ContextUpdate(short_context("context", text), self.id)))


class SessionNews:
    """Something that happened in a session: the event's `name`, and its `data` (a dict)."""

    def __init__(self, session: Session, name: str, data: Raw) -> None:
        self.session = session
        self.name = name
        self._data = data

    @property
    def data(self) -> dict[str, Any]:
        """What the event says; see "What a host tells" in `tapui/wire/README.md`."""
        found: dict[str, Any] = msgspec.json.decode(self._data, type=dict[str, Any])
        return found

    def __repr__(self) -> str:
        return f"SessionNews({self.name!r})"
