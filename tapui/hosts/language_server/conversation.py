"""One conversation with the server, as a session of the gateway.

A prompt is `conversation/create` the first time and `conversation/turn` after that; the answer
comes at the turn's end, and what happens meanwhile as `$/progress`. Prompts wait for each other. A
tool that the server has its client run is judged by rules and gates first; what is written and run
here is a request to the person besides.
"""

import asyncio
import itertools
import os
import re
from collections import deque
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tapui.hosts.language_server import asks, client_tools, models
from tapui.hosts.language_server.asks import NeverError
from tapui.hosts.language_server.client_tools import CREATE, EDIT, RUN, NotDoneError
from tapui.hosts.language_server.open_files import ServerFiles, uri_of
from tapui.hosts.language_server.registration import QUIET, ToolRegistration
from tapui.hosts.language_server.rounds import TurnProgress
from tapui.hosts.language_server.server import LanguageServer, ServerError, ServerTiming
from tapui.hosts.language_server.shapes import (
    answer,
    built_in_answer,
    confirmation,
    tool_answer,
)
from tapui.hosts.language_server.uplink import ConversationUplink, UnansweredError
from tapui.hosts.port import Report
from tapui.jsonrpc.connection import OnNotification, OnRequest
from tapui.runtime.tasks import BackgroundTasks
from tapui.wire import limits
from tapui.wire.errors import CallError
from tapui.wire.host import (
    HostSession,
    PromptPrepared,
    SessionSend,
    SessionSent,
    SessionUpdate,
)
from tapui.wire.message import OfferedTool
from tapui.wire.steering import (
    ModelsList,
    ModelsRead,
    OrderResult,
    SessionSet,
    SessionStop,
    SessionTell,
)

KIND = "language-server"
MOST_WAITING = 100
"""Prompts that wait for the turn under way."""
_LAST_WORDS = 4_000
"""Characters of what the agent wrote last that the gateway gets at a turn's end."""
_OWNER = re.compile(r"^copilot(-editor)?\.(?=.)")
"""What stands before a tool's name where the server asks whether it may run."""
_NO_WAY = "the language server has no way"
_NO_TEXT = "its prompt is empty"
_SENT_BACK = {"source": "hook", "delivery": "steering"}
"""Fields of the prompt by which the gateway sends the agent back to work."""
_STOPPED = "the turn was stopped"
_DROPPED = "the turn was stopped, and what waited for its end was dropped"
_ENDED = "the conversation has ended"
_UNSUPPORTED = "Tool '%s' is not supported by this client instance."


@dataclass(slots=True, eq=False)
class _Prompt:
    """A text for the agent: the person's, by an order, or a provider's."""

    text: str
    by: str | None
    order: SessionTell | None = None


@dataclass(slots=True, eq=False)
class _Turn:
    """The turn under way; its token changes with each text that is sent."""

    order: SessionTell | None
    token: str = ""
    progress: TurnProgress | None = None
    is_stopping: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)


class ServerConversation:
    """A session whose agent is the server. `requests` and `notifications` go to the server; `run`
    carries prompts out.

    `model` is `ID` or `PROVIDER/ID`, "" the server's own choice. `unattended`: no person is asked.
    """

    def __init__(
        self,
        session_id: str,
        folder: Path,
        *,
        model: str = "",
        unattended: bool = False,
        environ: Mapping[str, str],
        report: Report,
        timing: ServerTiming | None = None,
        quiet: float = QUIET,
    ) -> None:
        self.id = session_id
        self._folder = os.path.realpath(folder)
        self._model = model
        self._unattended = unattended
        self._environ = environ
        self._report = report
        self._timing = timing or ServerTiming()
        self._quiet = quiet
        self._label = f"{Path(self._folder).name} (language server)"
        self.uplink = ConversationUplink(session_id, lambda _: None)
        self.server: LanguageServer
        self.registration: ToolRegistration
        self._tasks = BackgroundTasks(self._on_fault)
        self._numbers = itertools.count(1)
        self._revision = 0
        self._conversation_id: str | None = None
        self._waiting: deque[_Prompt] = deque()
        self._news = asyncio.Event()
        self._turn: _Turn | None = None
        self._work: set[asyncio.Future[Any]] = set()
        """Calls of the server that are carried out here."""
        self._files = ServerFiles(self._folder, self._tell_server)

    def _on_fault(self, error: BaseException) -> None:
        self._report(f"the language server's host failed: {type(error).__name__}: {error}", "error")

    # The server

    @property
    def requests(self) -> dict[str, OnRequest]:
        return {
            "conversation/invokeClientTool": self._on_invocation,
            "conversation/invokeClientToolConfirmation": self._on_confirmation,
        }

    @property
    def notifications(self) -> dict[str, OnNotification]:
        return {"$/progress": self._on_progress}

    async def begin(self, server: LanguageServer) -> None:
        """Take a server that was started, and find out its tools. Raises `ServerError`."""
        self.server = server
        self.registration = ToolRegistration(
            self._ask_about_tools,
            self._on_left_out,
            self._on_registered,
            always=client_tools.definitions(),
            quiet=self._quiet,
        )
        await self.registration.begin()

    def _tell_server(self, method: str, params: Any) -> None:
        self.server.tell(method, params)

    async def _ask_about_tools(self, method: str, params: Any) -> Any:
        return await self.server.ask(method, params, self._timing.start)

    def _on_left_out(self, tool: str, why: str) -> None:
        self._report(f"the agent does not have the tool {tool}: {why}", "warning")

    def _on_registered(self) -> None:
        self.uplink.send(SessionUpdate(self.id, tools_revision=self._revision))

    # The session

    def opening(self) -> HostSession:
        """Return the session that is to be opened at the gateway."""
        return HostSession(
            self.id,
            self._label,
            self._folder,
            model=self._model[: limits.MAX_ID] or None,
            reserved_tools=sorted(self.registration.own_tools | client_tools.WRITERS),
            shell_tools=[RUN],
            can=["tell", "stop", "model", "label", "close"],
            cannot=dict.fromkeys(("now", "compact", "effort"), _NO_WAY),
            pid=os.getpid(),
            headless=True,
            mcp_servers=[],
            unattended=self._unattended,
        )

    def offer(self, tools: list[OfferedTool], revision: int) -> None:
        self._revision = revision
        self.registration.want(tools)

    def tell(self, order: SessionTell) -> None:
        """Take a text of the person; `OrderResult` goes to the gateway."""
        prompt = _Prompt(order.text, order.sender, order)
        if len(self._waiting) >= MOST_WAITING:
            self._refuse(prompt, f"{MOST_WAITING} prompts wait already")
            return
        is_next = self._turn is None and not self._waiting
        if order.way == "stopFirst":
            self._waiting.appendleft(prompt)
            self._tasks.start(self._stop())
        else:
            self._waiting.append(prompt)
        self.uplink.send(OrderResult(order.id, "working" if is_next else "queued"))
        self._news.set()

    def send(self, message: SessionSend) -> None:
        """Take a prompt of a provider."""
        prompt = _Prompt(message.prompt, message.sender.provider)
        if len(self._waiting) >= MOST_WAITING:
            self._refuse(prompt, f"{MOST_WAITING} prompts wait already")
            return
        self._waiting.append(prompt)
        self._news.set()

    def stop(self, order: SessionStop | None) -> None:
        """Stop the turn under way; what waits for its end is dropped."""
        self._drop(_DROPPED)
        self._tasks.start(self._stop_by(order))

    def _drop(self, why: str) -> None:
        waiting, self._waiting = list(self._waiting), deque()
        for prompt in waiting:
            self._refuse(prompt, why)

    def set(self, order: SessionSet) -> None:
        """Set the label, or the model of the turns to come."""
        self._tasks.start(self._set(order))

    async def _set(self, order: SessionSet) -> None:
        try:
            if order.what == "label":
                self._label = order.value
                self.uplink.send(SessionUpdate(self.id, label=order.value))
            elif order.what == "model":
                self._model = models.checked(order.value, await self._models())
                self.uplink.send(SessionUpdate(self.id, model=self._model))
            else:
                raise ServerError(_NO_WAY)
        except ServerError as error:
            self.uplink.send(OrderResult(order.id, "failed", str(error)))
        else:
            self.uplink.send(OrderResult(order.id, "done"))

    def list_models(self, asked: ModelsRead) -> None:
        self._tasks.start(self._list_models(asked))

    async def _list_models(self, asked: ModelsRead) -> None:
        try:
            answer = ModelsList(asked.id, (await self._models()).choices)
        except ServerError as error:
            answer = ModelsList(asked.id, error=str(error))
        self.uplink.send(answer)

    async def _models(self) -> models.OfferedModels:
        answered = await self.server.ask(models.METHOD, {}, self._timing.start)
        return models.offered(answered)

    async def _choose_model(self) -> None:
        """Take the server's own choice of a model, where none was named. Raises `ServerError`."""
        if not self._model:
            self._model = (await self._models()).default
            if not self._model:
                raise ServerError("the server offers no model: name one with --model")
            self.uplink.send(SessionUpdate(self.id, model=self._model))

    async def run(self) -> None:
        """Register tools and carry prompts out, until it is cancelled. Raises `ServerError`."""
        registering = asyncio.create_task(self.registration.run(), name="register tools")
        prompting = asyncio.create_task(self._carry_prompts_out(), name="prompts")
        both = {registering, prompting}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for one in both:
                if one.done():
                    one.result()
        finally:
            for one in both:
                one.cancel()
            # Their errors were raised above.
            await asyncio.gather(*both, return_exceptions=True)

    async def leave(self, why: str) -> None:
        """Give up what is under way: the session ends."""
        self.uplink.lose(why)
        self._drop(_ENDED)
        for one in list(self._work):
            one.cancel()
        # Each answers by itself.
        await asyncio.gather(*self._work, return_exceptions=True)
        self._tasks.cancel()

    # Turns

    async def _carry_prompts_out(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            while self._waiting:
                await self._carry_out(self._waiting.popleft())

    async def _carry_out(self, prompt: _Prompt) -> None:
        text = prompt.text
        turn = self._turn = _Turn(prompt.order)
        try:
            if not text.strip():
                self._refuse(prompt, _NO_TEXT)
                return
            prepared = await self._prepared(text)
            refused = prepared.refused if prepared is not None else None
            if turn.is_stopping:
                refused = _STOPPED
            if refused is not None:
                self._refuse(prompt, refused)
                return
            name = "user.message" if prompt.order is not None else "prompt.injected"
            self.uplink.event(name, content=text, **{"from": prompt.by})
            if prompt.order is None:
                self.uplink.send(SessionSent(self.id, ok=True))
            context = prepared.context if prepared is not None else []
            await self._go_on(turn, _inert("\n\n".join([*context, text])))
        finally:
            self._turn = None
            turn.over.set()

    async def _prepared(self, text: str) -> PromptPrepared | None:
        """Have a prompt prepared, which may take as long as the person does, or until a stop."""
        preparing = asyncio.ensure_future(self.uplink.prepared(text))
        self._work.add(preparing)
        preparing.add_done_callback(self._work.discard)
        await asyncio.wait({preparing})
        return None if preparing.cancelled() else preparing.result()

    def _refuse(self, prompt: _Prompt, why: str) -> None:
        """Tell that a prompt does not come to the agent."""
        if prompt.order is None:
            self.uplink.send(SessionSent(self.id, ok=False, error=why))
        else:
            self.uplink.send(OrderResult(prompt.order.id, "failed", why))

    async def _go_on(self, turn: _Turn, text: str) -> None:
        """Send a text, and others for as long as the gateway sends the agent back."""
        is_again = False
        while True:
            progress = await self._exchange(turn, text)
            if turn.is_stopping or progress.is_stopped or progress.has_failed:
                break
            last_words = progress.last_words[-_LAST_WORDS:]
            reason = await self.uplink.goes_on(last_words, is_again=is_again)
            if reason is None or turn.is_stopping:
                break
            self.uplink.event("prompt.automatic", content=reason, **_SENT_BACK)
            text, is_again = _inert(reason), True
        is_stopped = progress.is_stopped or turn.is_stopping
        self.uplink.event("session.idle", aborted=is_stopped or None)

    async def _exchange(self, turn: _Turn, text: str) -> TurnProgress:
        """Send a text and return what came of it, at its end."""
        turn.token = f"turn-{next(self._numbers)}"
        progress = turn.progress = TurnProgress(self.id, self._is_providers)
        end: dict[str, Any] = {}
        try:
            await self._choose_model()
            method, params = self._request(turn.token, text)
            answered = await self.server.ask(method, params)
            self._note_conversation(answered)
        except ServerError as error:
            why = await self.server.reason(error)
            end = {"error": {"message": why}}
            if not progress.has_begun:
                self._say(turn, "failed", why)
        self._say(turn, "done")
        self._tell(progress.end(end))
        return progress

    def _request(self, token: str, text: str) -> tuple[str, dict[str, Any]]:
        uri = uri_of(self._folder)
        params: dict[str, Any] = {
            "workDoneToken": token,
            "chatMode": "Agent",
            "modelInfo": models.info(self._model),
            "needToolCallConfirmation": True,
            "computeSuggestions": False,
            "workspaceFolder": uri,
            "workspaceFolders": [{"uri": uri, "name": Path(self._folder).name}],
        }
        if self._conversation_id is None:
            return "conversation/create", params | {"turns": [{"request": text}]}
        known = {"conversationId": self._conversation_id, "message": text}
        return "conversation/turn", params | known

    def _note_conversation(self, answered: Any) -> None:
        if isinstance(answered, list) and answered:
            answered = answered[0]
        id_ = answered.get("conversationId") if isinstance(answered, dict) else None
        if isinstance(id_, str) and id_:
            self._conversation_id = id_

    def _is_providers(self, tool: str) -> bool:
        return tool in self.registration.registered

    def _on_progress(self, params: Any) -> None:
        turn = self._turn
        is_ours = isinstance(params, dict) and turn is not None and params.get("token")
        if turn is None or turn.progress is None or is_ours != turn.token:
            return
        self._tell(turn.progress.take(params.get("value")))
        if turn.progress.has_begun:
            self._say(turn, "done")
        if turn.progress.conversation_id is not None:
            self._conversation_id = turn.progress.conversation_id

    def _tell(self, events: list[Any]) -> None:
        for event in events:
            self.uplink.send(event)

    def _say(self, turn: _Turn, state: Literal["done", "failed"], error: str | None = None) -> None:
        """Tell what became of the turn's order, once."""
        order, turn.order = turn.order, None
        if order is not None:
            self.uplink.send(OrderResult(order.id, state, error))

    async def _stop_by(self, order: SessionStop | None) -> None:
        if order is not None:
            self.uplink.send(OrderResult(order.id, "stopping"))
        rests = await self._stop()
        if order is not None:
            error = f"the turn does not end within {self._timing.rest:g} s"
            state: Literal["done", "failed"] = "done" if rests else "failed"
            self.uplink.send(OrderResult(order.id, state, None if rests else error))

    async def _stop(self) -> bool:
        """Stop the turn; return whether it has ended."""
        turn = self._turn
        if turn is None:
            return True
        turn.is_stopping = True
        if turn.progress is not None:
            turn.progress.stopped_for = _STOPPED
        if turn.token:
            self.server.tell("window/workDoneProgress/cancel", {"token": turn.token})
        for one in list(self._work):
            one.cancel()
        with suppress(TimeoutError):  # told by the caller
            async with asyncio.timeout(self._timing.rest):
                await turn.over.wait()
        return turn.over.is_set()

    # Calls of the server

    async def _on_invocation(self, params: Any) -> list[Any]:
        """Answer `conversation/invokeClientTool`."""
        call = _Call.of(params)
        if call is None:
            return tool_answer("the call has no name, or arguments that are no object", "error")
        is_done_here = call.tool in {CREATE, EDIT, RUN}
        if call.tool in self.registration.own_tools and not is_done_here:
            return built_in_answer(f"{call.tool} is the server's own tool: it is not run here")
        if not (is_done_here or self._is_providers(call.tool)):
            text = f"{CallError.NOT_FOUND}: {_UNSUPPORTED % call.tool}"
            return tool_answer(text, "error")
        round_ = {"roundId": call.round_id, "turnId": call.turn_id}
        self.uplink.event("tool.round", tool=call.tool, toolCallId=call.id, **round_)
        return await self._carried_out(
            self._done_here(call) if is_done_here else self._provided(call),
            tool_answer(f"{CallError.CANCELLED}: {_STOPPED}", "cancelled"),
        )

    async def _on_confirmation(self, params: Any) -> list[Any]:
        """Answer `conversation/invokeClientToolConfirmation`."""
        call = _Call.of(params)
        if call is None:
            return confirmation(accepts=False)
        if self._is_providers(call.tool) or call.tool == RUN:
            return confirmation(accepts=True)  # it is judged when it is to run here
        deciding = self._confirmed(call, str(params.get("title") or ""))
        return await self._carried_out(deciding, confirmation(accepts=False))

    async def _carried_out(
        self, work: Coroutine[Any, Any, list[Any]], stopped: list[Any]
    ) -> list[Any]:
        """Return what `work` answers; `stopped` where the turn is stopped meanwhile."""
        task = asyncio.ensure_future(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:  # the server has given the call up
            task.cancel()
            raise
        return stopped if task.cancelled() else task.result()

    async def _confirmed(self, call: "_Call", title: str) -> list[Any]:
        try:
            detail = asks.of_own_tool(call.tool, call.args, self._folder, title)
            if call.tool not in {CREATE, EDIT}:  # these are judged with what they write
                is_asked_later = call.tool in client_tools.WRITERS
                await self._allowed(call, detail, is_asked_later=is_asked_later)
            await self._files.renew()  # the person may have changed one, too
        except (NeverError, _RefusedError) as error:
            self.uplink.event("log", message=f"{call.tool}: {error}", level="warning")
            return confirmation(accepts=False)
        return confirmation(accepts=True)

    async def _provided(self, call: "_Call") -> list[Any]:
        try:
            context = await self._allowed(call, None)
            outcome = await self.uplink.invoke(call.tool, call.args, call.id)
        except _RefusedError as error:
            return tool_answer(f"{CallError.DENIED}: {error}", "error")
        except UnansweredError as error:
            return tool_answer(f"{CallError.DISCONNECTED}: {error}", "error")
        return _with_context(answer(outcome), context)

    async def _done_here(self, call: "_Call") -> list[Any]:
        try:
            if call.tool == RUN:
                return await self._run_command(call)
            text = call.args.get("content" if call.tool == CREATE else "code")
            planned = await asyncio.to_thread(
                client_tools.planned_write, call.args.get("filePath"), text, self._folder
            )
            if planned.before == planned.text.encode():
                return tool_answer(planned.text, "success")  # the server shows it as the new text
            detail = asks.of_write(planned, call.args.get("explanation"))
            await self._allowed(call, detail)
            await asyncio.to_thread(client_tools.write, planned, self._folder)
        except NotDoneError as error:
            return tool_answer(f"{CallError.INTERNAL}: {error}", "error")
        except _RefusedError as error:
            return tool_answer(f"{CallError.DENIED}: {error}", "error")
        added, removed = planned.counts
        change = {"path": planned.path, "added": added, "removed": removed}
        self._note(call, changes=[change])
        self._files.wrote(planned)
        return tool_answer(planned.text, "success")

    async def _run_command(self, call: "_Call") -> list[Any]:
        command = call.args.get("command")
        if not isinstance(command, str) or not command.strip() or "\0" in command:
            raise NotDoneError("there is no command")
        detail = await asks.of_command(command, self._folder, call.args.get("explanation"))
        context = await self._allowed(call, detail)
        ended = await client_tools.run(command, self._folder, self._environ)
        await self._files.renew()
        # Each command has a shell of its own, which tells its exit code by no text.
        shell = {"id": call.id or RUN, "cwd": self._folder, "isCut": ended.is_cut}
        result = {"type": "timeout" if ended.late else "success", "output": ended.output}
        self._note(call, exitCode=ended.code, shell=shell, result=result)
        status = "success" if ended.code is not None else "error"
        return _with_context(tool_answer(ended.text, status), context)

    def _note(self, call: "_Call", **more: Any) -> None:
        if self._turn is not None and self._turn.progress is not None:
            self._turn.progress.note(call.id, **more)

    async def _allowed(
        self, call: "_Call", detail: dict[str, Any] | None, *, is_asked_later: bool = False
    ) -> str | None:
        """Return what a rule or a gate adds to a call that may run; with a `detail` the person is
        asked, too. Raises `_RefusedError`."""
        try:
            verdict = await self.uplink.may_run(call.tool, call.args)
            if verdict.decision == "deny":
                raise _RefusedError(verdict.reason or "a rule or a provider forbids it")
            if verdict.decision == "ask" and detail is None and not is_asked_later:
                detail = asks.of_provider_tool(call.tool, call.args)
            if detail is not None:
                shown = detail if call.id is None else detail | {"toolCallId": call.id}
                decided = await self.uplink.permission(shown)
                if decided.decision != "approve":
                    late, denied = "the request was not answered in time", "the person denied it"
                    why = late if decided.decision == "expired" else denied
                    raise _RefusedError(decided.reason or why)
        except UnansweredError as error:
            raise _RefusedError(str(error)) from None
        except (TypeError, RecursionError, ValueError) as error:
            raise _RefusedError(f"tapui cannot read this call ({error})") from None
        return verdict.context


class _RefusedError(Exception):
    """A rule, a gate or the person refused a call; the text is for the model."""


@dataclass(frozen=True, slots=True)
class _Call:
    """What the server says of a call."""

    tool: str
    args: dict[str, Any]
    id: str | None
    turn_id: str | None
    round_id: int | str | None

    @classmethod
    def of(cls, params: Any) -> "_Call | None":
        """Return the call that these parameters mean, or None."""
        if not isinstance(params, dict):
            return None
        name, args = params.get("name"), params.get("input", {})
        if not isinstance(name, str) or not 0 < len(name) <= limits.MAX_ID:
            return None
        tool = _OWNER.sub("", name)
        if not isinstance(args, dict):
            return None
        round_ = params.get("roundId")
        return cls(
            tool,
            args,
            _id(params.get("toolCallId")),
            _id(params.get("turnId")),
            round_ if isinstance(round_, int) else _id(round_),
        )


def _inert(text: str) -> str:
    """Return a text that is a prompt and nothing else: the server takes one that begins with `/` or
    `@` for a command."""
    return f"Prompt: {text}" if text.lstrip()[:1] in ("/", "@") else text


def _id(given: Any) -> str | None:
    return given if isinstance(given, str) and 0 < len(given) <= limits.MAX_ID else None


def _with_context(answered: list[Any], context: str | None) -> list[Any]:
    """Return an answer with what a rule or a gate adds to it."""
    if context:
        answered[0]["content"].append({"value": context})
    return answered
