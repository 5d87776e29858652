"""The person's orders for one session: carried out in the CLI, each with what became of it.

A text goes to the CLI as a prompt; the CLI never runs one as a command, also if it begins with `/`.
A turn that is stopped takes along what waited for its end: the CLI drops it.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from tapui.hosts.copilot.asks.own_questions import unaskable
from tapui.hosts.copilot.connection import (
    AttachError,
    CliSession,
    UnknownMethodError,
    objects_of,
    text_of,
)
from tapui.hosts.copilot.session.activity import is_processing
from tapui.hosts.copilot.session.prompts import send
from tapui.hosts.copilot.session.translator import Translator
from tapui.hosts.copilot.uplink import SessionUplink
from tapui.projection.summary import one_line
from tapui.wire import limits
from tapui.wire.host import ModeResult, ModeSet, SessionUpdate
from tapui.wire.message import Mode
from tapui.wire.steering import (
    EFFORTS,
    Ability,
    ModelChoice,
    ModelsList,
    ModelsRead,
    OrderResult,
    SessionCompact,
    SessionSet,
    SessionStop,
    SessionTell,
)

_REST_INTERVAL = 0.1
_REMEMBERED = 200
_GONE = "the connection to the CLI is lost"
_STOPPED = "the turn was stopped, and the CLI dropped what waited for its end"
_REMOVED = "it was taken out of the CLI's queue"
_UNKNOWN = "the connection to the CLI was lost meanwhile; look there whether it came"

Wanted = SessionTell | SessionStop | SessionCompact | SessionSet


class Steering:
    """Carries out orders for one session."""

    def __init__(
        self,
        uplink: SessionUplink,
        translator: Translator,
        *,
        is_headless: bool = False,
    ) -> None:
        self.abilities = Abilities(is_headless=is_headless)
        self._uplink = uplink
        self._translator = translator
        self._sending = asyncio.Lock()
        self._waiting: OrderedDict[str, tuple[SessionTell, list[str]]] = OrderedDict()
        """Texts that the CLI took and no prompt has told of, by the CLI's message id; each with
        what a stop before it has dropped."""
        self._prompts: deque[str] = deque(maxlen=_REMEMBERED)
        """The ids of messages that became prompts."""
        self._model: SessionSet | None = None
        """The order for a model that the CLI has not taken yet: it waits for the turn's end."""

    def reconnected(self) -> None:
        if self._waiting:
            self._uplink.spawn(self._look_after(_UNKNOWN))

    # What the session says

    def prompted(self, message_id: str | None) -> None:
        if message_id is not None:
            self._prompts.append(message_id)
            waiting = self._waiting.pop(message_id, None)
            if waiting is not None:
                self._uplink.spawn(self._delivered(*waiting))

    def rested(self, *, is_aborted: bool) -> None:
        """A turn is over: what waited for its end has become a prompt, or never will."""
        if self._waiting:
            self._uplink.spawn(self._look_after(_STOPPED if is_aborted else _REMOVED))

    def capabilities_changed(self) -> None:
        if self._uplink.session is not None and self.abilities.look(self._uplink.session):
            self._tell_abilities()

    def model_changed(self, model: str | None) -> None:
        if self._model is not None and self._model.value == model:
            order, self._model = self._model, None
            self._say(order, "done")

    # Orders

    def begin(self, order: Wanted) -> None:
        """Carry out an order; `OrderResult` goes to the gateway."""
        self._uplink.spawn(self._carry_out(order))

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
                    await compact(self._bound)
                    self._say(order, "done")
                case SessionSet(what="model"):
                    await self._set_model(order)
                case SessionSet(what="effort"):
                    await set_effort(self._bound, order.value)
                    self._say(order, "done")
                case SessionSet():
                    await rename(self._bound, order.value)
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
        self.abilities.refused(ability)
        self._tell_abilities()

    def _tell_abilities(self) -> None:
        can, cannot = list(self.abilities.can), dict(self.abilities.cannot)
        self._uplink.send(SessionUpdate(self._uplink.id, can=can, cannot=cannot))

    @property
    def _bound(self) -> CliSession:
        if self._uplink.session is None:
            raise AttachError(_GONE)
        return self._uplink.session

    # Texts

    async def _tell(self, order: SessionTell) -> None:
        if self._sending.locked():
            self._say(order, "queued")
        async with self._sending:
            is_busy = await is_processing(self._bound)
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
            attachments = await asyncio.to_thread(_attached, order.attachments)
            more = {"attachments": attachments} if attachments else {}
            self._translator.sent.by_person(order.text, order.sender or "")
            try:
                id_ = await send(
                    session,
                    "send the text",
                    order.text,
                    mode=mode,
                    traceparent=order.traceparent,
                    **more,
                )
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
        return text in (await _queue(self._bound))[1]

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
            await asyncio.sleep(self._uplink.timing.lost)
            queued = await self._queued()
        except AttachError:
            return  # the connection is lost: it is looked again when it is back
        for id_ in gone.intersection(self._waiting) - queued:  # another look may have taken some
            order, dropped = self._waiting.pop(id_)
            self._translator.sent.withdraw(order.text)
            self._say(order, "failed", reason, dropped=dropped)

    async def _queued(self) -> set[str]:
        items, steering = await _queue(self._bound)
        queued = {id_ for item in items if (id_ := text_of(item, "messageId")) is not None}
        waiting = self._waiting.items()
        return queued | {id_ for id_, (order, _) in waiting if order.text in steering}

    # Turns

    async def _stop(self) -> tuple[list[str], list[str]]:
        """Stop the turn; return the commands that go on, and texts of others that were dropped."""
        session = self._bound
        own = {one.text for one, _ in self._waiting.values()}
        dropped: list[str] = []
        try:
            items, steering = await _queue(session)
            dropped = [text_of(item, "displayText") or "" for item in items] + steering
        except AttachError as error:
            self._uplink.report(str(error), "warning")  # the turn is stopped all the same
        await session.ask("stop the turn", "session.abort")
        try:
            async with asyncio.timeout(self._uplink.timing.rest):
                while await is_processing(self._bound):  # noqa: ASYNC110 - the CLI tells it when asked
                    await asyncio.sleep(_REST_INTERVAL)
        except TimeoutError:
            text = f"stop the turn: the session does not rest after {self._uplink.timing.rest:g} s"
            raise AttachError(f"{text}; press Esc in the CLI") from None
        left = _heads(one for one in dropped if one not in own)
        return await self._running(), left

    async def _running(self) -> list[str]:
        """Return the commands that keep running in the background."""
        listed = await self._bound.ask("ask for commands", "session.tasks.list")
        return _heads(
            text_of(task, "command") or ""
            for task in objects_of(listed, "tasks")
            if task.get("type") == "shell" and task.get("status") == "running"
        )

    # Modes and models

    async def _set_model(self, order: SessionSet) -> None:
        self._model = order
        try:
            is_deferred = await switch_model(self._bound, order.value)
        except AttachError:
            self._model = None
            raise
        if self._model is order:
            if is_deferred:
                self._say(order, "queued")
            else:
                self._model = None
                self._say(order, "done")

    def set_mode(self, order: ModeSet) -> None:
        self._uplink.spawn(self._set_mode(order))

    async def _set_mode(self, order: ModeSet) -> None:
        try:
            await set_mode(self._bound, order.mode)
        except AttachError as error:
            self._uplink.send(ModeResult(order.id, ok=False, error=str(error)))
        else:
            self._uplink.send(ModeResult(order.id, ok=True))

    def list_models(self, asked: ModelsRead) -> None:
        self._uplink.spawn(self._list_models(asked))

    async def _list_models(self, asked: ModelsRead) -> None:
        try:
            answer = ModelsList(asked.id, await models(self._bound))
        except AttachError as error:
            answer = ModelsList(asked.id, error=str(error))
        self._uplink.send(answer)


async def _queue(session: CliSession) -> tuple[list[dict[str, Any]], list[str]]:
    """Return what waits for the turn's end, and the texts that wait to go into it."""
    queue = await session.ask("ask for the queue", "session.queue.pendingItems")
    steering = queue.get("steeringMessages")
    texts = steering if isinstance(steering, list) else []
    return objects_of(queue, "items"), [text for text in texts if isinstance(text, str)]


def _attached(paths: Sequence[str]) -> list[dict[str, str]]:
    """Return files and folders in the CLI's words. Raises `AttachError` for what is not there."""
    found = []
    for path in paths:
        name = Path(path).name or path
        if Path(path).is_dir():
            found.append({"type": "directory", "path": path, "displayName": name})
        elif Path(path).is_file():
            found.append({"type": "file", "path": path, "displayName": name})
        else:
            raise AttachError(f"{path} is no file and no folder, so the text was not sent")
    return found


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


_OLD_CLI = "this Copilot CLI does not know the request; update it: copilot update"


class Abilities:
    """What can be ordered of one session, as far as is known."""

    def __init__(self, *, is_headless: bool = False) -> None:
        self.can: list[str] = []
        self.cannot: dict[str, str] = {}
        self._is_headless = is_headless

    def look(self, session: CliSession) -> bool:
        """Find out what there is; return whether that is news."""
        former = (self.can, dict(self.cannot))
        self.can = []
        self.cannot.pop("ask", None)  # what the CLI shows may change
        for ability in get_args(Ability):
            if ability == "close":
                continue  # of sessions that are started here
            if ability == "ask" and (why := unaskable(session, is_headless=self._is_headless)):
                self.cannot[ability] = why
            elif ability not in self.cannot:
                self.can.append(ability)
        if self._is_headless:
            self.can.append("close")
        return (self.can, self.cannot) != former

    def refused(self, ability: Ability) -> None:
        """The CLI does not know the request behind an order."""
        if ability in self.can:
            self.can.remove(ability)
        self.cannot[ability] = _OLD_CLI


COMPACT_TIME = 570.0
"""Seconds that a compaction may take: a model writes a summary. The gateway waits longer."""


async def set_mode(session: CliSession, mode: Mode) -> None:
    result = await session.ask("switch the mode", "session.mode.set", mode=mode)
    if result.get("confirmation") is not None or result.get("modeApplied") is False:
        raise AttachError(
            f"the CLI did not switch to {mode} ({result.get('message') or result.get('status')}): "
            "switch it there (Shift+Tab)"
        )


async def compact(session: CliSession) -> None:
    what = "compact the context"
    result = await session.ask(what, "session.history.compact", within=COMPACT_TIME)
    if result.get("success") is not True:
        raise AttachError(f"{what}: the CLI could not")


async def switch_model(session: CliSession, model: str) -> bool:
    """Switch to a model; return whether that waits for the turn's end."""
    known = [choice.id for choice in await models(session)]
    if known and model not in known:
        raise AttachError(f"there is no model {model}; there are: {', '.join(known)}")
    result = await session.ask("switch the model", "session.model.switchTo", modelId=model)
    if result.get("confirmation") is not None:
        raise AttachError("the context is too large for it: choose it in the CLI (/model)")
    return result.get("deferred") is True


async def set_effort(session: CliSession, effort: str) -> None:
    """Set the reasoning effort, which must be one that the model knows."""
    current = await session.ask("ask for the model", "session.model.getCurrent")
    listed = await models(session)
    model = text_of(current, "modelId")
    of_model = next((choice.efforts for choice in listed if choice.id == model), None)
    known = of_model or EFFORTS  # the CLI itself takes any word
    if effort not in known:
        raise AttachError(f"there is no effort {effort}; there are: {', '.join(known)}")
    method = "session.model.setReasoningEffort"
    await session.ask("set the reasoning effort", method, reasoningEffort=effort)


async def rename(session: CliSession, name: str) -> None:
    await session.ask("rename the session", "session.name.set", name=name)


async def models(session: CliSession) -> list[ModelChoice]:
    """Return the models that the session can be switched to; none where the CLI names none. What is
    not as it should be is left out."""
    choices = []
    for about in objects_of(await session.ask("ask for the models", "session.model.list"), "list"):
        id_, name = text_of(about, "id"), text_of(about, "name")
        if id_ is None or len(id_) > limits.MAX_ID:
            continue
        efforts = about.get("supportedReasoningEfforts")
        known = [str(effort) for effort in efforts] if isinstance(efforts, list) else None
        shown = None if name is None else name[: limits.MAX_ID]
        choices.append(ModelChoice(id_, shown, known[: limits.MAX_ABILITIES] if known else None))
    return choices[: limits.MAX_MODELS]
