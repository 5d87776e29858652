"""A session as a provider sees it: what it is, and what can be pushed into it and asked of it."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from msgspec import Raw

from tapui.provider.errors import DeclarationError
from tapui.wire import codec
from tapui.wire.errors import WireError
from tapui.wire.limits import MAX_HISTORY, MAX_MESSAGE_BYTES, MAX_NAME
from tapui.wire.message import ActiveSession, Level, Message
from tapui.wire.provider import ContextUpdate, HistoryLine, Push, StreamQuery

M = TypeVar("M", bound=Message)


class Outlet(Protocol):
    """Where a session's messages go. Safe to use from any thread."""

    def post(self, message: Message) -> None:
        """Send a message as soon as the provider is bound; never waits."""

    async def history(self, query: StreamQuery) -> dict[str, list[HistoryLine]]:
        """Ask for lines of streams. Raises `GatewayRefusal` and `LinkLost`."""


class Session:
    """A session that the provider is bound to.

    Everything but `query` returns at once, from coroutines and from plain functions alike; what
    cannot be sent is refused here, with a `DeclarationError`.
    """

    def __init__(self, active: ActiveSession, outlet: Outlet, persist_dir: str | None) -> None:
        self._active = active
        self._outlet = outlet
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
        """Take over what the gateway says of it now."""
        self._active = active

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
        text = prompt if event is None else event
        if text is None or not text.strip() or not (prompt or text).strip():
            raise DeclarationError("push: an event or a prompt is needed, and neither is blank")
        if stream is not None and (not 1 <= len(stream) <= MAX_NAME or "@" in stream):
            text = f"push: a stream of your own, its name has 1 to {MAX_NAME} characters without @"
            raise DeclarationError(text)
        about = None if metadata is None else _object(metadata)
        self._outlet.post(
            sendable(
                Push(level, event, prompt, stream, self.id, metadata=about),
            )
        )

    def prompt(self, text: str) -> None:
        """Have the agent work on `text`, as a turn of its own."""
        self.push(prompt=text, level="inject")

    def log(self, text: str) -> None:
        """Show a line to the person, in the session's timeline."""
        self.push(text, level="surface")

    def set_context(self, text: str | None) -> None:
        """Have `text` told to the agent with every prompt from now on; None takes it away."""
        self._outlet.post(sendable(ContextUpdate(text, self.id)))

    async def query(self, *streams: str, last: int = MAX_HISTORY) -> dict[str, list[HistoryLine]]:
        """Return the last lines of the provider's own streams, the newest first.

        They are under `stream@provider`. Raises `GatewayRefusal`, and `LinkLost` when the gateway
        goes away meanwhile.
        """
        if not 1 <= last <= MAX_HISTORY:
            raise DeclarationError(f"query: last is 1 to {MAX_HISTORY}")
        return await self._outlet.history(sendable(StreamQuery("", list(streams), self.id, last)))


def sendable(message: M) -> M:
    """Return a message as it can be sent, its text mended. Raises `DeclarationError`."""
    try:
        message = codec.encodable(message)
    except WireError as error:
        raise DeclarationError(error.text) from None
    if len(codec.encode(message)) > MAX_MESSAGE_BYTES:
        tag = message.__struct_config__.tag
        raise DeclarationError(f"{tag}: larger than {MAX_MESSAGE_BYTES // 2**20} MiB")
    return message


def _object(value: Mapping[str, Any]) -> Raw:
    try:
        return codec.raw(dict(value))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise DeclarationError(f"metadata: JSON cannot hold it: {error}") from None
