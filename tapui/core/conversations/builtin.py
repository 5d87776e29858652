"""What the built-in tools may ask beyond a provider: its streams, its mode."""

import re
from dataclasses import dataclass
from functools import partial

from tapui.core.approvals.modes import Modes
from tapui.core.context import CorePart
from tapui.core.effects import AskRecords, RecordsFound
from tapui.core.model import Connection, OpenSession
from tapui.core.reviews import marked_text
from tapui.core.reviews.reviews import Reviews
from tapui.core.sessions.sessions import OpenSessions
from tapui.core.streams.pushes import Post, Pushes
from tapui.core.streams.streams import Streams, full_name
from tapui.wire import limits
from tapui.wire.builtin import (
    ModeRequest,
    ModeRequestCancel,
    RecordsAnswer,
    RecordsAsked,
    StreamPost,
    StreamPostDone,
)
from tapui.wire.codec import decode_object, optional_object
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.goals import GOALS_STREAM
from tapui.wire.message import Error
from tapui.wire.reviews import REVIEWS_STREAM, Review

_REVIEWING = re.compile(r"-reviews?\Z")
"""How the stream of an emitter that reviews another one ends."""


@dataclass(eq=False, repr=False)
class BuiltinConversation(CorePart):
    """Handlers of the built-in provider's own messages."""

    sessions: OpenSessions
    streams: Streams
    pushes: Pushes
    modes: Modes
    reviews: Reviews

    def stream_post(self, connection: Connection, message: StreamPost) -> None:
        session = self.sessions.required(message.session_id)
        post = Post(
            stream=message.stream,
            level=message.level,
            event=message.event,
            metadata=optional_object(message.metadata, "metadata"),
        )
        provider = connection.bound_provider
        name = full_name(message.stream, provider.name)
        if self._is_review(connection, session, message, name):
            return
        if name == GOALS_STREAM:
            raise WireError(ErrorCode.UNAUTHORIZED, f"stream: {name} has lines of goals alone")
        (line,) = self.pushes.push(provider, [session], post)
        self.streams.of(session.id)[name].by_agent.append(line.seq)
        self._out.send(connection.id, StreamPostDone(message.id, name, line.seq))

    def _is_review(
        self, connection: Connection, session: OpenSession, message: StreamPost, name: str
    ) -> bool:
        """Record a posted text that is meant as a review; return whether its line is that of the
        review. In another stream than that of reviews the line stays where it was posted."""
        is_ours = name == REVIEWS_STREAM
        if not (marked_text.is_record(message.event) and (is_ours or _is_former(message.event))):
            return False
        monitor = _named_monitor(message) or ("" if is_ours else _REVIEWING.sub("", message.stream))
        try:
            given = marked_text.read(message.event, monitor)
            self.reviews.record(
                session,
                given,
                message.id,
                lambda review: self._review_posted(connection, message, review, is_ours=is_ours),
                is_text=True,
            )
        except WireError:
            if is_ours:
                raise
            return False  # it is a line like others
        return is_ours

    def _review_posted(
        self, connection: Connection, message: StreamPost, review: Review, *, is_ours: bool
    ) -> None:
        if is_ours and connection.is_open:
            done = StreamPostDone(message.id, REVIEWS_STREAM, review.seq)
            self._out.send(connection.id, done)

    def records_asked(self, connection: Connection, message: RecordsAsked) -> None:
        """Ask the records of a session."""
        session = self.sessions.required(message.session_id)
        ticket = self._tickets.keep(partial(self._records_found, connection, message.id), session)
        self._out.effects.append(AskRecords(ticket, session.id, message.query))

    def _records_found(self, connection: Connection, id_: str, found: RecordsFound) -> None:
        if not connection.is_open:
            return
        if found.fault is not None:
            error = Error(ErrorCode.INTERNAL, found.fault, "records.query", id=id_)
            self._out.send(connection.id, error)
        else:
            self._out.send(connection.id, RecordsAnswer(id_, found.found))

    def mode_request(self, connection: Connection, message: ModeRequest) -> None:
        """Switch a session's mode, ask the person, or refuse it, as the settings have it."""
        self.modes.request(connection, message, self.sessions.required(message.session_id))

    def mode_request_cancel(self, connection: Connection, message: ModeRequestCancel) -> None:
        self.modes.give_up(connection, message.id)


def _is_former(text: str) -> bool:
    return text.lstrip().startswith(marked_text.BEGIN)


def _named_monitor(message: StreamPost) -> str:
    """Return the monitor that a line's metadata names."""
    told = optional_object(message.metadata, "metadata")
    fields = {} if told is None else decode_object(told, "metadata")
    found = fields.get("monitor") or fields.get("source")
    return found[: limits.MAX_ID] if isinstance(found, str) else ""
