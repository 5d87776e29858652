"""The gateway's tools in a Copilot session: offered to it, called by it, answered."""

import asyncio
import base64
import math
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from tapui.hosts.copilot import sdk
from tapui.hosts.copilot.asks.permissions import asks_about_extension
from tapui.hosts.copilot.sdk import AttachError, NoAnswerError
from tapui.hosts.copilot.session.ledger import WORDS, Ledger, fail
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

if TYPE_CHECKING:
    from copilot import CopilotSession, Tool, ToolInvocation, ToolResult

PROGRESS_INTERVAL = 1.0
"""Seconds between two lines of progress of one call in the timeline; the tower shows them all."""
RETIRED_TIME = 120.0
"""Seconds in which a request to the model that is under way may still bring a call of a tool that
was taken back."""
_NAMES = 10_000
"""Names of tools that are known as this host's: calls of these are the gateway's to show."""
_REMEMBERED = 1_000
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
    request_id: str | None
    outcome: "asyncio.Future[ToolOutcome]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    told_at: float = -math.inf
    """When its progress was put into the timeline, by the loop's clock."""


class Toolset:
    """The tools of one session.

    `log` puts a line into the session's timeline. `on_consent` is called when the CLI asks the
    person before it takes the tools; without it, it is expected to take them at once.
    """

    def __init__(
        self,
        uplink: SessionUplink,
        *,
        ledger: Ledger,
        log: Callable[[str], None],
        on_consent: Callable[[], None] | None = None,
    ) -> None:
        self._on_consent = on_consent
        self._uplink = uplink
        self._ledger = ledger
        self._log = log
        self._session: CopilotSession | None = None
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
        self._stale: OrderedDict[str, None] = OrderedDict()
        self._traceparents: OrderedDict[str, str] = OrderedDict()
        """Of calls whose handler is about to run, by their request."""

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

    def bind(self, session: "CopilotSession") -> None:
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

    async def _set_once(self, session: "CopilotSession", offered: Sequence[OfferedTool]) -> None:
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

    async def _wait(self, session: "CopilotSession", on_consent: Callable[[], None]) -> None:
        """Call `on_consent` once the CLI asks the person; it may also take long by itself."""
        await asyncio.sleep(ASKED_TIME)
        self._tell_none()
        try:
            while True:
                if await asks_about_extension(session):
                    on_consent()
                    break
                await asyncio.sleep(ASKED_TIME)
        except AttachError as error:
            self._uplink.unanswered(error)

    async def _replace(self, session: "CopilotSession", tools: Sequence[OfferedTool]) -> None:
        setting = session.set_tools(self._definitions(tools))
        if self._on_consent is None:
            await sdk.call("offer the tools", setting)
        else:
            asked = self._uplink.spawn(self._wait(session, self._on_consent))
            try:
                await sdk.call("offer the tools", setting, within=CONSENT_TIME)
            finally:
                asked.cancel()
        held = {tool.name for tool in tools}
        now = asyncio.get_running_loop().time()
        self._retired.update(dict.fromkeys(self._held - held, now))
        self._held = held

    async def _set_what_can_be(
        self, session: "CopilotSession", offered: Sequence[OfferedTool], first: AttachError
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
        self, session: "CopilotSession", offered: Sequence[OfferedTool]
    ) -> list[OfferedTool]:
        free: list[OfferedTool] = []
        for tool in offered:
            try:
                await self._replace(session, [*free, tool])
            except AttachError:
                continue  # the caller reports all that are left out
            free.append(tool)
        return free

    def _definitions(self, offered: Sequence[OfferedTool]) -> "list[Tool]":
        from copilot import Tool

        return [
            Tool(
                name=tool.name,
                description=description_for_model(tool),
                parameters=msgspec.json.decode(tool.parameters, type=dict[str, Any])
                or _NO_ARGUMENTS,
                handler=self._run,
                skip_permission=needs_no_prompt(tool),
            )
            for tool in offered
        ]

    def seen(
        self, request_id: str, tool: str, *, stale: bool, traceparent: str | None = None
    ) -> None:
        """Take note of a call in the session's events, before the SDK runs its handler.

        `traceparent` is the CLI's, which the handler is not given.

        A `stale` one is history that the CLI tells again: it must not run a second time. One of
        a tool that was taken back meanwhile is answered, so that the turn goes on.
        """
        if stale:
            self._stale[request_id] = None
            if len(self._stale) > _REMEMBERED:
                self._stale.popitem(last=False)
        elif self._is_retired(tool) and self._session is not None:
            self._uplink.spawn(self._refuse(request_id, self._session, GONE))
        elif self.is_ours(tool) and traceparent is not None and len(traceparent) <= MAX_ID:
            self._traceparents[request_id] = traceparent
            if len(self._traceparents) > _REMEMBERED:
                self._traceparents.popitem(last=False)

    def _is_retired(self, tool: str) -> bool:
        """Return whether the tool was ours a moment ago, so that its calls are left to us."""
        since = self._retired.get(tool)
        now = asyncio.get_running_loop().time()
        return tool not in self._held and since is not None and now - since < RETIRED_TIME

    async def _refuse(self, request_id: str, session: "CopilotSession", words: str) -> None:
        try:
            await fail(session, request_id, words)
        except AttachError as error:
            self._uplink.report(f"{error}; press Esc in the CLI if its turn hangs", "warning")

    async def _run(self, invocation: "ToolInvocation") -> "ToolResult":
        """Answer a call of the model by a call through the gateway."""
        from copilot import ToolResult

        request_id = invocation.request_id or invocation.tool_call_id
        if request_id in self._stale:
            return ToolResult(text_result_for_llm=GONE, result_type="failure", error=GONE)
        await self._write_down(self._ledger.begin, request_id)
        try:
            outcome = await self._invoke(invocation)
        finally:
            await self._write_down(self._ledger.end, request_id)
        return await result_for_model(outcome)

    async def _write_down(self, write: Callable[[str], None], request_id: str) -> None:
        try:
            await asyncio.to_thread(write, request_id)
        except OSError as error:
            self._uplink.report(
                f"pending calls cannot be noted in the session's folder ({error}): "
                "if tapui is killed, press Esc in the CLI to end the turn",
                "warning",
            )

    async def _invoke(self, invocation: "ToolInvocation") -> ToolOutcome:
        call_id = self._uplink.new_id()
        call = self._calls[call_id] = _Call(invocation.tool_name, invocation.request_id)
        self._uplink.answers[call_id] = partial(self._on_answer, call)
        arguments = {} if invocation.arguments is None else invocation.arguments
        self._uplink.send(
            ToolInvoke(
                id=call_id,
                session_id=self._uplink.id,
                tool=invocation.tool_name,
                args=raw(arguments),
                agent_id=invocation.agent_id,
                tool_call_id=invocation.tool_call_id,
                traceparent=self._traceparents.pop(invocation.request_id or "", None),
            )
        )
        try:
            return await call.outcome
        finally:
            del self._calls[call_id], self._uplink.answers[call_id]
            if call.outcome.cancelled():
                if call.request_id is not None:
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
                if call.request_id is not None:
                    await self._refuse(call.request_id, self._session, WORDS)

    def unbind(self) -> None:
        """Give up all calls: the connection is gone."""
        self._session = None
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


async def result_for_model(outcome: ToolOutcome) -> "ToolResult":
    from copilot import ToolBinaryResult, ToolResult

    text, ok = text_for_model(outcome)
    if not ok:
        return ToolResult(text_result_for_llm=text, result_type="failure", error=text)
    result = ToolResult(text_result_for_llm=text, result_type="success")
    if outcome.file is not None and outcome.file.mime_type in IMAGES:
        data = await asyncio.to_thread(media_of, outcome.file)
        if data is not None:
            image = ToolBinaryResult(
                data=base64.b64encode(data).decode(),
                mime_type=outcome.file.mime_type,
                description=outcome.file.path,
            )
            result.binary_results_for_llm = [image]
    return result
