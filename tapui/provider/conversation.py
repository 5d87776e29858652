"""One link's conversation: authentication, hello, and what a bound provider is asked."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from msgspec import Raw

from tapui.provider.calls import CallsUnderWay
from tapui.provider.declarations import Declared
from tapui.provider.errors import GatewayRefusal
from tapui.provider.functions import Functions
from tapui.provider.link import Link, LinkLost
from tapui.provider.members import ALL, Members, NoSuchSession, choose
from tapui.provider.outbox import Outbox, Updates
from tapui.provider.results import ResultFolder
from tapui.provider.session import Session
from tapui.secret import Secret
from tapui.wire.errors import ErrorCode
from tapui.wire.message import ActiveSession, Error, Message, SessionEvent, Tool
from tapui.wire.provider import (
    Ack,
    Auth,
    AuthPairing,
    ContextUpdate,
    FilterSet,
    GateCheck,
    Goodbye,
    HelloAck,
    HistoryLine,
    SessionLifecycle,
    SessionReady,
    Sessions,
    SessionsUpdated,
    ShutdownReady,
    StreamHistory,
    StreamQuery,
    ToolCall,
    ToolCancel,
    ToolsUpdate,
    TransformRequest,
    TransformResult,
)


class Listener:
    """Hears the status of a provider, in words for the person. All of it may be overridden."""

    def waiting(self, why: str) -> None:
        """It is not bound, and tries again by itself."""

    def bound(self, sessions: list[ActiveSession], front: str | None) -> None:
        """It is in these sessions now; `front` is the id of the one in front."""

    def noticed(self, text: str) -> None:
        """The gateway has refused something, or does not do a part of it."""


log = logging.getLogger("tapui.provider")

RECHECK_SECONDS = 20.0
"""Between two looks whether the name of a tool that is left out is free."""
RETRY_SECONDS = 2.0
"""Between two hellos while the name, or a tool's, is another provider's."""
SHARE_OF_DEADLINE = 0.8
"""Of the time that a session's end gives, the handlers of it have this."""
_TOOLS = str(ToolsUpdate.__struct_config__.tag)
_PREFIX = "--prefix TEXT"
_FATAL = (
    ErrorCode.AUTH_FAILED,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.INVALID_JSON,
    ErrorCode.PAYLOAD_TOO_LARGE,
)
"""Refusals of a hello that the same hello would get again."""


class SharedOfLinks(Protocol):
    """What conversations of one provider have in common."""

    provider: Declared
    members: Members
    functions: Functions
    listener: Listener
    session: str | None
    folder: str | None
    reconnect_token: str | None
    sleep: Callable[[float], Awaitable[None]]

    def release(self) -> None:
        """Send what was held until the provider is bound."""


class LinkConversation:
    """What is said over one link. `run` ends with it."""

    def __init__(self, serving: SharedOfLinks, link: Link, token: Secret | None) -> None:
        self._serving = serving
        self._provider = serving.provider
        self._link = link
        self._token = token
        self.outbox = Outbox()
        self.calls = CallsUnderWay(serving.functions.threads, self.outbox.put)
        self.updates = Updates(self.outbox)
        self.is_bound = False
        self.was_bound = False
        self._active: dict[str, ActiveSession] = {}
        self._is_everywhere = False
        self._may_say_hello = False
        self._again: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._queries: dict[str, asyncio.Future[dict[str, list[HistoryLine]]]] = {}
        self._asked = 0
        self._offered: list[Tool] = []
        """What the gateway was told last and has not refused."""
        self._context: str | None = None
        """What the last hello told with every prompt."""
        self._left_out: set[str] = set()
        """Tools whose names are taken; the others are offered."""
        self._rechecking: asyncio.Task[None] | None = None
        self._tries_all = False
        """Whether an update with those, too, is under way."""
        self._persist_dir: str | None = None
        self._handlers: dict[type[Message], Callable[[Any], None]] = {
            AuthPairing: self._pairing,
            Sessions: self._sessions,
            SessionsUpdated: self._sessions,
            HelloAck: self._bound,
            Ack: self._acknowledged,
            ToolCall: self._called,
            ToolCancel: self._cancelled,
            GateCheck: self._gate,
            TransformRequest: self._transform,
            StreamHistory: self._history,
            SessionEvent: self._event,
            SessionLifecycle: self._lifecycle,
            Error: self._error,
        }

    async def run(self) -> None:
        """Speak until the link is lost (`LinkLost`) or the gateway refuses the provider
        (`GatewayRefusal`). Cancelled, it says goodbye."""
        if self._token is not None:
            self.outbox.put(Auth(token=self._token.reveal()))
        carrying = asyncio.create_task(self._carry())
        try:
            receive, handlers = self._link.receive, self._handlers
            while True:
                message = await receive()
                handler = handlers.get(type(message))
                if handler is not None:
                    handler(message)
        except asyncio.CancelledError:
            await self._leave(carrying)
            raise
        finally:
            await self._end(carrying)

    async def _carry(self) -> None:
        """Send what is said; when that fails for a fault of this side, the link is given up."""
        try:
            await self.outbox.carry(self._link)
        except LinkLost:
            raise
        except Exception:
            log.exception("a message could not be sent")
            await self._link.close()

    async def _leave(self, carrying: "asyncio.Task[None]") -> None:
        """Answer what is under way, and say goodbye."""
        carrying.cancel()
        self.calls.cancel_all("the provider leaves")
        await self.calls.answered()
        if self.was_bound:
            self.outbox.put(Goodbye("the provider leaves"))
        try:
            await self.outbox.flush(self._link)
        except LinkLost as error:
            log.debug("gone before its goodbye: %s", error.reason)

    async def _end(self, carrying: "asyncio.Task[None]") -> None:
        self.is_bound = False
        carrying.cancel()
        self.calls.cancel_all("the gateway is gone")
        for task in (*self._tasks, *filter(None, [self._again, self._rechecking])):
            task.cancel()
        for query in self._queries.values():
            if not query.done():
                query.set_exception(LinkLost("the gateway is gone"))
        await asyncio.wait([carrying])
        if not carrying.cancelled() and (error := carrying.exception()) is not None:
            log.debug("nothing more could be sent: %s", error)
        await self._link.close()

    # Sessions

    def _pairing(self, message: AuthPairing) -> None:  # noqa: ARG002 - it never asks to pair
        raise GatewayRefusal(ErrorCode.AUTH_FAILED, "the gateway asks for a pairing code")

    def _sessions(self, message: Sessions | SessionsUpdated) -> None:
        self._active = {one.id: one for one in message.active}
        self._serving.members.listed(self._active)
        if not self.was_bound and isinstance(message, Sessions):
            self._may_say_hello = True
        if self._may_say_hello:
            self._say_hello()
        elif self.is_bound and self._is_everywhere:
            for session_id in self._active:
                if session_id not in self._serving.members:
                    self.outbox.put(SessionReady(session_id))

    def _say_hello(self) -> None:
        try:
            serving = self._serving
            wanted = choose(list(self._active.values()), serving.session, serving.folder)
        except NoSuchSession as error:
            self._serving.listener.waiting(str(error))
            return
        if self._again is not None:
            self._again.cancel()
            self._again = None
        self._may_say_hello = False
        self._is_everywhere = wanted == ALL
        self._offered, self._context = self._free_tools(), self._provider.context
        hello = self._provider.hello(wanted, self._serving.reconnect_token, self._left_out)
        self.outbox.put(hello)

    def _say_hello_later(self) -> None:
        self._may_say_hello = True

        async def again() -> None:
            await self._serving.sleep(RETRY_SECONDS)
            self._again = None
            self._say_hello()

        if self._again is None:
            self._again = asyncio.create_task(again())

    def _bound(self, message: HelloAck) -> None:
        serving = self._serving
        self.is_bound = self.was_bound = True
        self._is_everywhere = serving.members.is_everywhere = message.session_id == ALL
        self._persist_dir = message.persist_dir
        self.calls.folder = ResultFolder(message.persist_dir)
        serving.reconnect_token = message.reconnect_token
        is_in = list(self._active) if self._is_everywhere else [message.session_id]
        serving.members.only(set(is_in))
        for session_id in is_in:
            self._join(session_id)
        # What was declared between the hello and its answer is not in the hello.
        if self._free_tools() != self._offered:
            self.tools_changed()
        if self._provider.context != self._context:
            self.context_changed()
        for update in serving.members.contexts:
            self.updates.want(update)
        for stream, rules in self._provider.filters.items():
            self.updates.want(FilterSet(stream, rules))
        for text in message.warnings or ():
            serving.listener.noticed(text)
        sessions = [self._active[session_id] for session_id in is_in if session_id in self._active]
        serving.listener.bound(sessions, next(iter(self._active), None))
        if self._left_out:
            self._recheck_later()
        serving.release()

    def _join(self, session_id: str) -> None:
        active = self._active.get(session_id) or ActiveSession(
            session_id, session_id, foreground=False, state="idle"
        )
        self._serving.members.join(active, self._persist_dir)

    def _lifecycle(self, message: SessionLifecycle) -> None:
        members = self._serving.members
        if message.state == "started":
            self._join(message.session_id)
            self._tell(message.session_id, "session.started")
        elif message.state == "idle":
            self._tell(message.session_id, "session.idle")
        elif (session := members.ending(message.session_id)) is not None:
            # Now, not after the clean-up: meanwhile another session may open under this id.
            self._active.pop(message.session_id, None)
            self._start(self._clean_up(session, message.deadline))

    async def _clean_up(self, session: Session, deadline: int | None) -> None:
        """A session ends: its handlers are heard, then the gateway may continue."""
        serving, members, session_id = self._serving, self._serving.members, session.id
        self.calls.cancel_all("the session ends", session_id)

        async def clean() -> None:
            await asyncio.gather(
                members.end(session_id),
                serving.functions.tell(self._provider, session, "session.ending", Raw(b"{}")),
            )

        work = asyncio.create_task(clean())
        limit = asyncio.ensure_future(serving.sleep(SHARE_OF_DEADLINE * (deadline or 0) / 1000))
        both: tuple[asyncio.Future[object], ...] = (work, limit)  # type: ignore[assignment]  # results are not read
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        limit.cancel()
        if not work.done():
            work.cancel()
            log.warning("the handlers of session.ending took too long")
        self.outbox.put(ShutdownReady(session_id))
        members.ended(session_id)
        if not self._is_everywhere:
            self.is_bound = False
            self._may_say_hello = True
            serving.reconnect_token = None
            self._say_hello()

    # What a bound provider is asked

    def _called(self, message: ToolCall) -> None:
        session = self._serving.members.of(message.session_id)
        self.calls.start(message, self._provider.function_of(message.tool), session)

    def _cancelled(self, message: ToolCancel) -> None:
        self.calls.cancel(message.id, message.reason)

    def _gate(self, message: GateCheck) -> None:
        session = self._serving.members.of(message.session_id)
        gate = self._provider.gate_of(message.gate_id)
        if gate is not None:
            self._answer_with(self._serving.functions.judge(gate, message, session))

    def _transform(self, message: TransformRequest) -> None:
        async def answer() -> TransformResult:
            content = await self._serving.functions.rewrite(
                self._provider.rewriter_of(message.section), message.section, message.current
            )
            return TransformResult(message.call_id, content)

        self._answer_with(answer())

    def _event(self, message: SessionEvent) -> None:
        self._tell(message.session_id, message.event, message.data)

    def _tell(self, session_id: str, event: str, data: Raw = Raw(b"{}")) -> None:  # noqa: B008 - it cannot be changed
        if self._provider.handlers_of(event):
            session = self._serving.members.of(session_id)
            functions = self._serving.functions
            self._start(functions.tell(self._provider, session, event, data))

    def _answer_with(self, work: Awaitable[Message]) -> None:
        async def answer() -> None:
            self.outbox.put(await work)

        self._start(answer())

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Answers to what it asked

    async def history(self, query: StreamQuery) -> dict[str, list[HistoryLine]]:
        """Ask for lines of streams. Raises `GatewayRefusal` and `LinkLost`."""
        self._asked += 1
        id_ = f"q{self._asked}"
        found: asyncio.Future[dict[str, list[HistoryLine]]]
        found = self._queries[id_] = asyncio.get_running_loop().create_future()
        self.outbox.put(StreamQuery(id_, query.streams, query.session_id, query.last))
        try:
            return await found
        finally:
            del self._queries[id_]

    def _history(self, message: StreamHistory) -> None:
        found = self._queries.get(message.query_id)
        if found is not None and not found.done():
            found.set_result(message.streams)

    def _acknowledged(self, message: Ack) -> None:
        for text in message.warnings or ():
            self._serving.listener.noticed(text)
        kind = self.updates.settled(message.request_id)
        if kind == _TOOLS and self._tries_all:
            self._tries_all = False
            self._left_out.clear()
            self._offered = list(self._provider.tools)

    def say(self, message: Message) -> None:
        if isinstance(message, ContextUpdate):
            self.updates.want(message)
        else:
            self.outbox.put(message)

    def tools_changed(self) -> None:
        if self.is_bound:
            self._tries_all = True
            self.updates.want(ToolsUpdate(list(self._provider.tools)))
        elif self._again is not None:
            self._left_out.clear()
            self._say_hello()  # a name may be free that was taken

    def context_changed(self) -> None:
        if self.is_bound:
            self.updates.want(ContextUpdate(self._provider.context))

    def _error(self, message: Error) -> None:
        if message.query_id in self._queries:
            found = self._queries[message.query_id]
            if not found.done():
                found.set_exception(GatewayRefusal(message.code, message.message))
            return
        if message.code in (ErrorCode.AUTH_FAILED, ErrorCode.UNSUPPORTED_VERSION):
            raise GatewayRefusal(message.code, message.message)
        if message.reply_to == "hello":
            self._hello_refused(message)
            return
        if message.request_id is not None:
            kind = self.updates.settled(message.request_id)
            if kind == _TOOLS and self._leaves_out(message):
                return
        self._serving.listener.noticed(
            f"{message.reply_to or 'the gateway'}: {message.code}: {message.message}"
        )

    def _hello_refused(self, message: Error) -> None:
        is_for_all = self._is_everywhere and message.code is ErrorCode.UNAUTHORIZED
        if message.code in _FATAL or (message.code is ErrorCode.UNAUTHORIZED and not is_for_all):
            raise GatewayRefusal(message.code, message.message)
        if message.tools and not self._left_out.issuperset(message.tools):
            if self._leaves_out(message):
                return
            self._left_out.clear()
            first = f"{message.message}; {_PREFIX} offers all under other names"
            self._serving.listener.waiting(first)
        else:
            self._serving.listener.waiting(message.message)
        if is_for_all or message.code is ErrorCode.INVALID_SESSION:
            self._may_say_hello = True  # once the list of sessions changes
        else:
            self._say_hello_later()

    # Names that are taken

    def _leaves_out(self, message: Error) -> bool:
        """Offer the tools whose names are free; return whether there are any."""
        own = {tool.name for tool in self._provider.tools}
        taken = (set(message.tools or ()) | (set() if self.is_bound else self._left_out)) & own
        self._tries_all = False
        if not taken or taken == own:
            return False
        is_news, self._left_out = taken != self._left_out, taken
        if is_news:
            names = ", ".join(sorted(taken))
            self._serving.listener.noticed(
                f"left out: {names} ({message.message}); {_PREFIX} offers all under other names"
            )
        if not self.is_bound:
            self._say_hello()
            return True
        free = self._free_tools()
        if free != self._offered:
            self._offered = free
            self.updates.want(ToolsUpdate(free))
        self._recheck_later()
        return True

    def _free_tools(self) -> list[Tool]:
        return [tool for tool in self._provider.tools if tool.name not in self._left_out]

    def _recheck_later(self) -> None:
        """Offer all tools again after a while: a name may be free by then."""

        async def recheck() -> None:
            await self._serving.sleep(RECHECK_SECONDS)
            self._rechecking = None
            if self.is_bound and self._left_out:
                self.tools_changed()

        if self._rechecking is None:
            self._rechecking = asyncio.create_task(recheck())
