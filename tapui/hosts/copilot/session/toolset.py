"""The gateway's tools in a Copilot session: offered to it, called by it, answered."""

import asyncio
import base64
import math
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from tapui.hosts.copilot.asks.permissions import asks_about_extension
from tapui.hosts.copilot.connection import (
    CALL_TIME,
    PROBE,
    AttachError,
    CliEvent,
    CliSession,
    LostError,
    NoAnswerError,
    text_of,
)
from tapui.hosts.copilot.session.ledger import WORDS, Ledger, answer, fail, failure
from tapui.hosts.copilot.uplink import SessionUplink
from tapui.hosts.for_models import IMAGES, description_for_model, media_of, text_for_model
from tapui.runtime.tasks import in_thread
from tapui.wire.builtin import CHANGING_TOOLS
from tapui.wire.codec import raw
from tapui.wire.host import SessionUpdate
from tapui.wire.limits import MAX_ID
from tapui.wire.message import (
    BUILTIN_PROVIDER,
    Error,
    OfferedTool,
    ToolAbort,
    ToolInvoke,
    ToolOutcome,
    ToolProgress,
)

PROGRESS_INTERVAL = 1.0
"""Seconds between two lines of progress of one call in the timeline; the tower shows them all."""
RETIRED_TIME = 120.0
"""Seconds in which a request to the model that is under way may still bring a call of a tool that
was taken back."""
_NAMES = 10_000
"""Names of tools that are known as this host's: calls of these are the gateway's to show."""
_ABANDONED = 100
_NO_ARGUMENTS = {"type": "object", "properties": {}}
GONE = "the tool is no longer offered"
_DENIED = "was denied permission access"
"""What the CLI says when the person does not want tapui's extension to do anything."""
_STAYS_OUT = (
    "Copilot was told not to let its extension tapui do anything, so tapui only watches this "
    "session: end it and resume it to be asked again"
)
CONSENT_TIME = 24 * 3600.0
"""Seconds that the person may take to say whether tapui's extension may have what it needs."""
ASKED_TIME = 2.0
"""Seconds after which tools that are not taken yet may wait for the person: the CLI is asked."""


def needs_no_prompt(tool: OfferedTool) -> bool:
    """Return whether the CLI need not ask before `tool` runs.

    Only for tapui's own tools: those that read, and those that change something, for which the
    gateway asks the person itself, each time, where that is due: an approval of the tool would be a
    second question, and would allow nothing. What any provider says of its tools does not count.
    """
    is_own = tool.provider == BUILTIN_PROVIDER
    return is_own and (tool.read_only is True or tool.name in CHANGING_TOOLS)


@dataclass(slots=True)
class _Call:
    """A call of the model that waits for its outcome."""

    tool: str
    request_id: str
    outcome: "asyncio.Future[ToolOutcome]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    told_at: float = -math.inf
    """When its progress was put into the timeline, by the loop's clock."""


class Toolset:
    """The tools of one session.

    `log` puts a line into the session's timeline. `on_consent` is called with True when the
    CLI asks the person before it takes the tools, and with False when it asks no longer; without
    it, it is expected to take them at once.
    """

    def __init__(
        self,
        uplink: SessionUplink,
        *,
        ledger: Ledger,
        log: Callable[[str], None],
        on_consent: Callable[[bool], None] | None = None,
    ) -> None:
        self._on_consent = on_consent
        self._uplink = uplink
        self._ledger = ledger
        self._log = log
        self._session: CliSession | None = None
        """Bound once what a former tapui left unanswered is settled; then tools are offered."""
        self._offered: Sequence[OfferedTool] = ()
        self._revision = 0
        """The gateway's number of what is offered."""
        self._names: OrderedDict[str, None] = OrderedDict()
        """Names that were ever offered; of very many the newest."""
        self._held: set[str] = set()
        self._retired: dict[str, float] = {}
        self._changed = False
        self._setting = False
        self._refused: set[str] = set()
        """Tools that the person was told of that they cannot be offered."""
        self._retry: asyncio.TimerHandle | None = None
        self._calls: dict[str, _Call] = {}
        self.abandoned: deque[str] = deque(maxlen=_ABANDONED)
        """Calls that ended without an answer from here. The CLI gave them up, or the connection was
        lost: then it still waits for them."""
        self._answering: dict[str, asyncio.Task[None]] = {}
        """Calls without an answer yet, by the CLI's request."""

    def is_ours(self, name: str) -> bool:
        return name in self._names

    def offer(self, tools: Sequence[OfferedTool], revision: int) -> None:
        """Replace the tools; `SessionUpdate` goes to the gateway when the session has taken them.

        The agent then has them from its next request to the model.
        """
        self._offered = tools
        self._revision = revision
        for tool in tools:
            self._names[tool.name] = None
            self._names.move_to_end(tool.name)
        while len(self._names) > max(_NAMES, len(tools)):
            self._names.popitem(last=False)
        self._changed = True
        self._begin_setting()

    def bind(self, session: CliSession) -> None:
        """Offer the tools to this session (again, after a reconnect)."""
        self._session = session
        self._changed = bool(self._offered)
        if not self._changed:
            self._tell_taken()  # it was joined without any
        self._begin_setting()

    def _begin_setting(self) -> None:
        if self._changed and self._session is not None and not self._setting:
            self._setting = True
            if self._retry is not None:
                self._retry.cancel()
            self._uplink.spawn(self._set())

    async def _set(self) -> None:
        """Bring the session's tools up to date; only the newest list counts."""
        try:
            while self._changed and self._session is not None:
                self._changed = False
                await self._set_once(self._session, self._offered)
        finally:
            self._setting = False

    async def _set_once(self, session: CliSession, offered: Sequence[OfferedTool]) -> None:
        try:
            await self._replace(session, offered)
            self._refused.clear()
            self._tell_taken()
        except AttachError as error:
            if self._session is session and _DENIED in str(error):
                self._tell_none()
                self._uplink.report(_STAYS_OUT, "warning")
            elif self._session is session:
                await self._set_what_can_be(session, offered, error)

    def _tell_taken(self) -> None:
        """Tell the gateway that the session has all that is offered, unless that has changed."""
        if self._session is not None and not self._changed:
            update = SessionUpdate(session_id=self._uplink.id, tools_revision=self._revision)
            self._uplink.send(update)

    def _tell_none(self) -> None:
        """Tell the gateway that the agent has none of the tools, unless it has older ones."""
        if not self._held:
            self._uplink.send(SessionUpdate(session_id=self._uplink.id, tools_revision=0))

    async def _wait(self, session: CliSession, on_consent: Callable[[bool], None]) -> None:
        """Call `on_consent` once the CLI asks the person; it may also take long by itself."""
        await asyncio.sleep(ASKED_TIME)
        self._tell_none()
        try:
            while True:
                if await asks_about_extension(session):
                    on_consent(True)
                    break
                await asyncio.sleep(ASKED_TIME)
        except AttachError as error:
            self._uplink.unanswered(error)

    async def _replace(self, session: CliSession, tools: Sequence[OfferedTool]) -> None:
        asked, within = None, CALL_TIME
        if self._on_consent is not None:
            asked, within = self._uplink.spawn(self._wait(session, self._on_consent)), CONSENT_TIME
        held = {tool.name for tool in tools}
        definitions = [_definition(tool) for tool in tools]
        try:
            await session.ask(
                "offer the tools", "session.tools.set", within=within, tools=definitions
            )
        except NoAnswerError:
            self._held |= held  # it may take them yet
            raise
        finally:
            if asked is not None and self._on_consent is not None:
                asked.cancel()
                self._on_consent(False)
        now = asyncio.get_running_loop().time()
        self._retired.update(dict.fromkeys(self._held - held, now))
        self._held = held

    async def _set_what_can_be(
        self, session: CliSession, offered: Sequence[OfferedTool], first: AttachError
    ) -> None:
        """Leave out what another connection offers already, and try again after a while.

        Each tool that is left out is reported once, however the CLI words it and whichever of
        them become free meanwhile.
        """
        slow = isinstance(first, NoAnswerError)
        free = [] if slow else await self._not_taken(session, offered)
        taken = [tool.name for tool in offered if tool not in free]
        if not taken:
            self._refused.clear()  # free by now: another host has just left
            self._tell_taken()
            return
        try:
            if not free:
                raise first
            await self._replace(session, free)
        except AttachError as error:
            text = f"{error}; the session has the tools it had before"
        else:
            text = (
                f"another program offers {', '.join(taken)} to this session already: "
                "rename the tool, or end the other program (a second tapui?)"
            )
        if not self._refused.issuperset(taken):
            self._uplink.report(text, "warning")
        self._refused.update(taken)
        self._retry = asyncio.get_running_loop().call_later(
            self._uplink.timing.retry_tools, self._try_again
        )

    def _try_again(self) -> None:
        self._changed = True
        self._begin_setting()

    async def _not_taken(
        self, session: CliSession, offered: Sequence[OfferedTool]
    ) -> list[OfferedTool]:
        free: list[OfferedTool] = []
        for tool in offered:
            try:
                await self._replace(session, [*free, tool])
            except AttachError:
                continue  # the caller reports all that are left out
            free.append(tool)
        return free

    def requested(self, event: CliEvent, *, stale: bool) -> None:
        """Answer a call of the model, where the tool is one of ours.

        A `stale` one is history that the CLI tells again: it must not run a second time.
        """
        request_id = text_of(event.data, "requestId")
        tool = text_of(event.data, "toolName")
        if not request_id or not tool or request_id in self._answering:
            return
        work = self._uplink.spawn(self._answer(request_id, tool, event, stale=stale))
        self._answering[request_id] = work
        work.add_done_callback(lambda _: self._answering.pop(request_id, None))

    def completed(self, request_id: str) -> None:
        """The CLI has the answer to a call, or has given it up."""
        if (work := self._answering.pop(request_id, None)) is not None:
            work.cancel()

    def _is_retired(self, tool: str) -> bool:
        """Return whether the tool was ours a moment ago, so that its calls are left to us."""
        since = self._retired.get(tool)
        now = asyncio.get_running_loop().time()
        return tool not in self._held and since is not None and now - since < RETIRED_TIME

    async def _refuse(self, request_id: str, session: CliSession, words: str) -> None:
        try:
            await fail(session, request_id, words)
        except AttachError as error:
            self._uplink.report(f"{error}; press Esc in the CLI if its turn hangs", "warning")

    async def _answer(self, request_id: str, tool: str, event: CliEvent, *, stale: bool) -> None:
        """Answer a call. One of a tool that was taken back is answered, so that the turn goes on.

        It begins after the call of `tools.set` that came back right before: `_held` is up to date.
        """
        session = self._session
        is_ours = tool in self._held or (self._is_retired(tool) and not stale)
        if session is None or not (is_ours or tool == PROBE["name"]):
            return  # another client's
        result: dict[str, Any] = failure(GONE)
        call = self._calls[request_id] = _Call(tool, request_id)
        try:
            if tool in self._held and not stale:
                result = await self._result(call, event)
        finally:
            del self._calls[request_id]
        self._answering.pop(request_id, None)  # the CLI tells that it has the answer
        try:
            await answer(session, request_id, result)
        except LostError:
            self.abandoned.append(request_id)
        except AttachError as error:
            self._uplink.report(f"{error}; press Esc in the CLI if its turn hangs", "warning")

    async def _write_down(self, write: Callable[[str], None], request_id: str) -> None:
        try:
            await asyncio.to_thread(write, request_id)
        except OSError as error:
            self._uplink.report(
                f"pending calls cannot be noted in the session's folder ({error}): "
                "if tapui is killed, press Esc in the CLI to end the turn",
                "warning",
            )

    async def _result(self, call: _Call, event: CliEvent) -> dict[str, Any]:
        """Return what the tool answers, as the CLI has it."""
        await self._write_down(self._ledger.begin, call.request_id)
        try:
            return await result_for_model(await self._invoke(call, event))
        except Exception as error:  # noqa: BLE001 - told; the turn must go on
            self._uplink.on_fault(error)
            return failure(f"tapui failed: {type(error).__name__}: {error}")
        finally:
            await self._write_down(self._ledger.end, call.request_id)

    async def _invoke(self, call: _Call, event: CliEvent) -> ToolOutcome:
        call_id = self._uplink.new_id()
        self._uplink.answers[call_id] = partial(self._on_answer, call)
        arguments, traceparent = event.data.get("arguments"), text_of(event.data, "traceparent")
        self._uplink.send(
            ToolInvoke(
                id=call_id,
                session_id=self._uplink.id,
                tool=call.tool,
                args=raw({} if arguments is None else arguments),
                agent_id=event.agent_id,
                tool_call_id=text_of(event.data, "toolCallId") or "",
                traceparent=traceparent if len(traceparent or "") <= MAX_ID else None,
            )
        )
        try:
            return await call.outcome
        finally:
            del self._uplink.answers[call_id]
            if call.outcome.cancelled():
                self.abandoned.append(call.request_id)
                self._uplink.send(ToolAbort(id=call_id, reason="the session gave the call up"))

    def _on_answer(self, call: _Call, answer: ToolOutcome | ToolProgress | Error) -> None:
        if isinstance(answer, ToolProgress):  # into the timeline, a line a second at most
            now = asyncio.get_running_loop().time()
            if now - call.told_at >= PROGRESS_INTERVAL:
                call.told_at = now
                self._log(f"{call.tool}: {answer.message}")
            return
        if isinstance(answer, Error):
            answer = ToolOutcome(answer.id or "", error=answer.message, error_code=answer.code)
        if not call.outcome.done():  # it was given up else
            call.outcome.set_result(answer)

    async def give_up(self) -> None:
        """Answer the calls in flight with an error, so that the turn continues without us."""
        if self._session is not None:
            for call in list(self._calls.values()):
                await self._refuse(call.request_id, self._session, WORDS)
                self.completed(call.request_id)

    def unbind(self) -> None:
        """Give up all calls: the connection is gone."""
        self._session = None
        self._held = set()
        if self._retry is not None:
            self._retry.cancel()
        for call in self._calls.values():
            call.outcome.cancel()

    def close(self) -> None:
        self.unbind()

        def close() -> str | None:
            try:
                self._ledger.close()
            except OSError as error:
                return str(error)
            return None

        def closed(fault: str | None) -> None:
            if fault is not None:
                self._uplink.report(fault, "warning")

        in_thread(
            asyncio.get_running_loop(), close, closed, otherwise=lambda: None, about=self._ledger
        )


def _definition(tool: OfferedTool) -> dict[str, Any]:
    """Return a tool in the CLI's words."""
    definition = {
        "name": tool.name,
        "description": description_for_model(tool),
        "parameters": msgspec.json.decode(tool.parameters, type=dict[str, Any]) or _NO_ARGUMENTS,
    }
    return definition | {"skipPermission": True} if needs_no_prompt(tool) else definition


async def result_for_model(outcome: ToolOutcome) -> dict[str, Any]:
    text, ok = text_for_model(outcome)
    if not ok:
        return failure(text)
    result: dict[str, Any] = {"textResultForLlm": text, "resultType": "success"}
    file = outcome.file
    if file is not None and file.mime_type in IMAGES:
        data = await asyncio.to_thread(media_of, file)
        if data is not None:
            image = {"data": base64.b64encode(data).decode(), "mimeType": file.mime_type}
            image |= {"type": "image", "description": file.path}
            result["binaryResultsForLlm"] = [image]
    return result
