"""The person's orders for one session: carried out in the CLI, each with what became of it.

A text goes to the CLI as a prompt; the CLI never runs one as a command, also if it begins with `/`.
A turn that is stopped takes along what waited for its end: the CLI drops it.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Literal

from tapui.hosts.copilot import sdk
from tapui.hosts.copilot.errors import AttachError, UnknownMethodError
from tapui.hosts.copilot.gateway_host import Uplink
from tapui.hosts.copilot.session import settings
from tapui.hosts.copilot.session.abilities import Abilities
from tapui.hosts.copilot.session.translator import Translator
from tapui.projection.summary import one_line
from tapui.wire import limits
from tapui.wire.host import SessionUpdate
from tapui.wire.steering import (
    Ability,
    ModelsList,
    ModelsRead,
    OrderResult,
    SessionCompact,
    SessionSet,
    SessionStop,
    SessionTell,
)

if TYPE_CHECKING:
    from copilot import CopilotSession

REST_TIME = 30.0
"""Seconds for which a stopped session's rest is waited for."""
_REST_INTERVAL = 0.1
LOST_TIME = 1.0
"""Seconds for which a text may be neither in the CLI's queue nor told as a prompt: between the two
it is in neither."""
_REMEMBERED = 200
_GONE = "the connection to the CLI is lost"
_STOPPED = "the turn was stopped, and the CLI dropped what waited for its end"
_REMOVED = "it was taken out of the CLI's queue"
_UNKNOWN = "the connection to the CLI was lost meanwhile; look there whether it came"

Wanted = SessionTell | SessionStop | SessionCompact | SessionSet


class Steering:
    """Carries out orders. `spawn` runs a coroutine to its end, as long as the session lives."""

    def __init__(
        self,
        session_id: str,
        uplink: Uplink,
        spawn: Callable[[Coroutine[Any, Any, None]], object],
        translator: Translator,
    ) -> None:
        self.abilities = Abilities()
        self._session_id = session_id
        self._uplink = uplink
        self._spawn = spawn
        self._translator = translator
        self._session: CopilotSession | None = None
        self._sending = asyncio.Lock()
        self._waiting: OrderedDict[str, tuple[SessionTell, list[str]]] = OrderedDict()
        """Texts that the CLI took and no prompt has told of, by the CLI's message id; each with
        what a stop before it has dropped."""
        self._prompts: deque[str] = deque(maxlen=_REMEMBERED)
        """The ids of messages that became prompts."""
        self._model: SessionSet | None = None
        """The order for a model that the CLI has not taken yet: it waits for the turn's end."""

    def bind(self, session: "CopilotSession") -> None:
        """Carry out what comes from now on in this session."""
        self._session = session
        if self._waiting:
            self._spawn(self._look_after(_UNKNOWN))

    def unbind(self) -> None:
        """The connection is gone; what waits in the CLI may still come."""
        self._session = None

    # What the session says

    def prompted(self, message_id: str | None) -> None:
        """A message has become a prompt."""
        if message_id is not None:
            self._prompts.append(message_id)
            waiting = self._waiting.pop(message_id, None)
            if waiting is not None:
                self._spawn(self._delivered(*waiting))

    def rested(self, *, is_aborted: bool) -> None:
        """A turn is over: what waited for its end has become a prompt, or never will."""
        if self._waiting:
            self._spawn(self._look_after(_STOPPED if is_aborted else _REMOVED))

    def model_changed(self, model: str) -> None:
        """The session has another model."""
        if self._model is not None and self._model.value == model:
            order, self._model = self._model, None
            self._say(order, "done")

    # Orders

    def begin(self, order: Wanted) -> None:
        """Carry out an order; the gateway is told what became of it."""
        self._spawn(self._carry_out(order))

    async def _carry_out(self, order: Wanted) -> None:
        try:
            match order:
                case SessionTell():
                    await self._tell(order)
                case SessionStop():
                    self._say(order, "stopping")
                    running, dropped = await self._stop()
                    self._say(order, "done", running=running, dropped=dropped)
                case SessionCompact():
                    self._say(order, "working")
                    await settings.compact(self._bound)
                    self._say(order, "done")
                case SessionSet(what="model"):
                    await self._set_model(order)
                case SessionSet(what="effort"):
                    await settings.set_effort(self._bound, order.value)
                    self._say(order, "done")
                case SessionSet():
                    await settings.rename(self._bound, order.value)
                    self._say(order, "done")
        except UnknownMethodError as error:
            self._say(order, "failed", str(error))
            self._lacks(_ability(order))
        except AttachError as error:
            self._say(order, "failed", str(error))

    def _say(
        self,
        order: Wanted,
        state: Literal["queued", "stopping", "working", "done", "failed"],
        error: str | None = None,
        *,
        running: list[str] | None = None,
        dropped: list[str] | None = None,
    ) -> None:
        self._uplink.send(OrderResult(order.id, state, error, running or None, dropped or None))

    def _lacks(self, ability: Ability) -> None:
        """Tell that something cannot be ordered here."""
        self.abilities.refused(ability)
        can, cannot = list(self.abilities.can), dict(self.abilities.cannot)
        self._uplink.send(SessionUpdate(self._session_id, can=can, cannot=cannot))

    @property
    def _bound(self) -> "CopilotSession":
        if self._session is None:
            raise AttachError(_GONE)
        return self._session

    async def _is_processing(self) -> bool:
        asking = self._bound.rpc.metadata.is_processing()
        return bool((await sdk.call("ask whether a turn is under way", asking)).processing)

    # Texts

    async def _tell(self, order: SessionTell) -> None:
        if self._sending.locked():
            self._say(order, "queued")
        async with self._sending:
            is_busy = await self._is_processing()
            dropped: list[str] = []
            if order.way == "stopFirst":
                self._say(order, "stopping")
                _, dropped = await self._stop()
            elif order.way == "now" or not is_busy:
                self._say(order, "working")
            mode: Literal["immediate", "enqueue"] = (
                "immediate" if order.way == "now" and is_busy else "enqueue"
            )
            session = self._bound
            self._translator.sent.by_person(order.text, order.sender or "")
            try:
                id_ = await sdk.call("send the text", session.send(order.text, mode=mode))
            except AttachError:
                self._translator.sent.withdraw(order.text)
                raise
        if id_ in self._prompts:
            await self._delivered(order, dropped)
            return
        self._waiting[id_] = order, dropped
        if order.way == "after" and is_busy:
            self._say(order, "queued")  # only now: a stop that is ordered next drops it
        if mode == "immediate" and await self._waits_to_steer(order.text):
            self._say(order, "queued")

    async def _waits_to_steer(self, text: str) -> bool:
        """Return whether a text waits until the turn can take it: until a permission is answered,
        say."""
        items = await sdk.call("ask for the queue", self._bound.rpc.queue.pending_items())
        return text in items.steering_messages

    async def _delivered(self, order: SessionTell, dropped: list[str]) -> None:
        running: list[str] = []
        if order.way != "after":
            try:
                running = await self._running()
            except AttachError as error:
                self._uplink.report(str(error), "warning")
        self._say(order, "done", running=running, dropped=dropped)

    async def _look_after(self, reason: str) -> None:
        """Tell of texts that the CLI has no longer and that have not become prompts."""
        try:
            gone = set(self._waiting) - await self._queued()
            if not gone:
                return
            await asyncio.sleep(LOST_TIME)
            gone = gone.intersection(self._waiting) - await self._queued()
        except AttachError:
            return  # the connection is lost: it is looked again when it is back
        for id_ in gone:
            order, dropped = self._waiting.pop(id_)
            self._translator.sent.withdraw(order.text)
            self._say(order, "failed", reason, dropped=dropped)

    async def _queued(self) -> set[str]:
        items = await sdk.call("ask for the queue", self._bound.rpc.queue.pending_items())
        queued = {one.message_id for one in items.items if one.message_id is not None}
        steering = set(items.steering_messages)
        return queued | {id_ for id_, (one, _) in self._waiting.items() if one.text in steering}

    # Turns

    async def _stop(self) -> tuple[list[str], list[str]]:
        """Stop the turn; return the commands that go on, and texts of others that were dropped."""
        session = self._bound
        own = {one.text for one, _ in self._waiting.values()}
        dropped: list[str] = []
        try:
            items = await sdk.call("ask for the queue", session.rpc.queue.pending_items())
            dropped = [one.display_text for one in items.items] + list(items.steering_messages)
        except AttachError as error:
            self._uplink.report(str(error), "warning")  # the turn is stopped all the same
        await sdk.call("stop the turn", session.abort())
        try:
            async with asyncio.timeout(REST_TIME):
                while await self._is_processing():  # noqa: ASYNC110 - the CLI tells it when asked
                    await asyncio.sleep(_REST_INTERVAL)
        except TimeoutError:
            text = f"stop the turn: the session does not rest after {REST_TIME:g} s"
            raise AttachError(f"{text}; press Esc in the CLI") from None
        left = _heads(one for one in dropped if one not in own)
        return await self._running(), left

    async def _running(self) -> list[str]:
        """Return the commands that go on in the background."""
        from copilot.rpc import TaskShellInfo, TaskStatus

        listed = await sdk.call("ask for commands", self._bound.rpc.tasks.list())
        return _heads(
            task.command
            for task in listed.tasks
            if isinstance(task, TaskShellInfo) and task.status is TaskStatus.RUNNING
        )

    # Models

    async def _set_model(self, order: SessionSet) -> None:
        self._model = order
        try:
            is_deferred = await settings.switch_model(self._bound, order.value)
        except AttachError:
            self._model = None
            raise
        if self._model is order:
            if is_deferred:
                self._say(order, "queued")
            else:
                self._model = None
                self._say(order, "done")

    def list_models(self, asked: ModelsRead) -> None:
        """Tell which models there are."""
        self._spawn(self._list_models(asked))

    async def _list_models(self, asked: ModelsRead) -> None:
        try:
            answer = ModelsList(asked.id, await settings.models(self._bound))
        except AttachError as error:
            answer = ModelsList(asked.id, error=str(error))
        self._uplink.send(answer)


def _ability(order: Wanted) -> Ability:
    match order:
        case SessionTell(way="now"):
            return "now"
        case SessionTell():
            return "tell"
        case SessionStop():
            return "stop"
        case SessionCompact():
            return "compact"
        case SessionSet():
            return order.what


def _heads(texts: Any) -> list[str]:
    return [one_line(text) for text in texts][: limits.MAX_RUNNING]
