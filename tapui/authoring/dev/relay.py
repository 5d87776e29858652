"""The one link to the gateway, and the programs that take turns behind it.

The first program says hello through it. A later one gets the same session; what it declares
differently goes to the gateway as updates, so that the provider never leaves. Calls stay with the
program that has them, new ones go to the newest that the gateway has agreed to.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from tapui.authoring.dev.changes import Update, is_same_provider, tool_changes, updates
from tapui.authoring.dev.gateway_end import GatewayEnd
from tapui.authoring.dev.printer import Printer
from tapui.authoring.dev.signals import DialClosed, Retire, Signal
from tapui.provider.link import Dial, LinkLost
from tapui.provider.members import ALL
from tapui.secret import Secret
from tapui.wire.errors import CallError, ErrorCode
from tapui.wire.limits import GATE_TIMEOUT, TRANSFORM_TIMEOUT
from tapui.wire.message import ActiveSession, Error, Message, Tool, ToolProgress
from tapui.wire.provider import (
    Ack,
    ContextUpdate,
    FilterSet,
    GateCheck,
    GateResult,
    Hello,
    HelloAck,
    HooksUpdate,
    Push,
    SessionLifecycle,
    SessionReady,
    Sessions,
    SessionsUpdated,
    ShutdownReady,
    StreamHistory,
    StreamQuery,
    ToolCall,
    ToolCancel,
    ToolResult,
    ToolsUpdate,
    TransformRequest,
    TransformResult,
)

UPDATE_SECONDS = 10.0
"""How long the gateway may take to agree to an update."""


class RelayedProgram:
    """A program as the relay knows it: a way to send, and the calls and questions it has."""

    def __init__(
        self, number: int, put: Callable[[Message | Signal], None], end: Callable[[], None]
    ) -> None:
        """`put` sends it something; `end` has it ended, without waiting."""
        self.number = number
        self.put = put
        self._end = end
        self.calls: set[str] = set()
        self.questions: set[str] = set()
        """Gates and sections about which it is asked, by the ids of the questions."""
        self.is_retired = False
        self.is_ending = False

    def end(self) -> None:
        self.is_ending = True
        self._end()

    @property
    def is_done(self) -> bool:
        """Whether it was relieved, and owes no answer."""
        return self.is_retired and not self.calls and not self.questions

    def mark(self, id_: str) -> str:
        """Return an id of the program's as one that no other program has."""
        return f"{self.number}:{id_}"


@dataclass(frozen=True, slots=True)
class _Call:
    tool: str
    program: RelayedProgram
    started: float = field(default_factory=time.monotonic)


class _UpdateRefused(Exception):  # noqa: N818 - named for what is the case
    def __init__(self, what: str, error: Error) -> None:
        super().__init__(what)
        self.what = what
        self.error = error


class Relay:
    """See above. Used in the event loop alone. `question_seconds` is how long the gateway waits at
    most for the answer of a gate, or for a section."""

    def __init__(
        self,
        dial: Dial,
        token: Callable[[], Secret | None],
        printer: Printer,
        *,
        question_seconds: float = max(GATE_TIMEOUT, TRANSFORM_TIMEOUT),
    ) -> None:
        self._gateway = GatewayEnd(dial, token, self._heard, self._lose)
        self._printer = printer
        self._question_seconds = question_seconds
        self._active: list[ActiveSession] | None = None
        self._hello: Hello | None = None
        """The last hello to the gateway, with the updates since."""
        self._ack: HelloAck | None = None
        self._asking: tuple[RelayedProgram, Hello] | None = None
        """Who waits for the answer to a hello."""
        self._filters: set[str] = set()
        self._left_out: set[str] = set()
        """Tools whose names were taken when a program said hello."""
        self.current: RelayedProgram | None = None
        self._programs: dict[int, RelayedProgram] = {}
        self._calls: dict[str, _Call] = {}
        self._updates: dict[str, asyncio.Future[Ack | Error]] = {}
        self._count = 0
        self._adopting: set[asyncio.Task[None]] = set()
        self._adoption = asyncio.Lock()

    @property
    def tools(self) -> list[Tool]:
        return list((self._hello.tools if self._hello is not None else None) or ())

    # Programs

    def dialled(self, program: RelayedProgram) -> None:
        self._programs[program.number] = program
        if self._ack is None:
            # None of them is bound: the newest may be.
            if self.current not in (None, program):
                self.current.end()
                if self._asking is not None and self._asking[0] is self.current:
                    self._asking = None
            self.current = program
        if not self._gateway.is_open:
            self._gateway.open()
        elif self._active is not None:
            program.put(Sessions(self._bound_first()))

    def gone(self, program: RelayedProgram, why: str) -> None:
        """A program has ended: its calls are answered for it."""
        self._programs.pop(program.number, None)
        for call_id in list(program.calls):
            text = f"the provider's program ended during the call ({why})"
            self._answer(ToolResult(call_id, error=text, error_code=str(CallError.INTERNAL)))
        if self._asking is not None and self._asking[0] is program:
            self._asking = None
        if self.current is program:
            self.current = None

    async def close(self) -> None:
        self._stop_adopting()
        await self._gateway.close()

    def _stop_adopting(self) -> None:
        for task in self._adopting:
            task.cancel()

    def said(self, program: RelayedProgram, message: Message) -> None:
        """A program has said something; what it may no longer say is dropped."""
        is_current = program is self.current
        match message:
            case Hello():
                self._said_hello(program, message)
            case ToolResult():
                if message.id in program.calls:
                    self._answer(message)
            case ToolProgress():
                if message.id in program.calls:
                    self._gateway.send(message)
            case Push():
                self._gateway.send(message)
            case StreamQuery():
                self._gateway.send(replace(message, query_id=program.mark(message.query_id)))
            case GateResult() | TransformResult():
                program.questions.discard(message.call_id)
                self._gateway.send(message)
                if program.is_done:
                    program.end()
            case _ if not is_current:
                pass
            case ToolsUpdate() | HooksUpdate() | ContextUpdate() | FilterSet():
                self._said_update(program, message)
            case ShutdownReady():
                if self._ack is not None and self._ack.session_id != ALL:
                    self._ack = None
                self._gateway.send(message)
            case SessionReady():
                self._gateway.send(message)

    def _said_update(self, program: RelayedProgram, message: Update | FilterSet) -> None:
        hello = self._hello
        match message:
            case FilterSet(stream=stream):
                self._filters.add(stream)
            case ToolsUpdate(tools=tools, remove=None, session_id=None) if hello is not None:
                self._hello = replace(hello, tools=tools)
            case ContextUpdate(context=context, session_id=None) if hello is not None:
                self._hello = replace(hello, context=context)
        self._gateway.send(replace(message, request_id=program.mark(message.request_id or "")))

    # A new program

    def _said_hello(self, program: RelayedProgram, hello: Hello) -> None:
        if (
            self._ack is not None
            and self._hello is not None
            and program is not self.current
            and is_same_provider(self._hello, hello, self._ack.session_id)
        ):
            task = asyncio.create_task(self._adopt_in_turn(program, hello, self._ack))
            self._adopting.add(task)
            task.add_done_callback(self._adopting.discard)
            return
        token = None if self._ack is not None else hello.reconnect_token
        self._asking = program, hello
        self._gateway.send(replace(hello, reconnect_token=token))

    async def _adopt_in_turn(self, program: RelayedProgram, hello: Hello, ack: HelloAck) -> None:
        async with self._adoption:
            if self._is_there(program):
                await self._adopt(program, hello, ack)

    def _is_there(self, program: RelayedProgram) -> bool:
        return program.number in self._programs

    async def _adopt(self, program: RelayedProgram, hello: Hello, ack: HelloAck) -> None:
        """Have the gateway agree to what a new program declares, then hand over to it."""
        assert self._hello is not None, "the provider is bound"
        before = self._hello
        refusal: _UpdateRefused | None = None
        try:
            for update in updates(before, hello):
                await self._agreed(update)
        except _UpdateRefused as refused:
            refusal = refused
        taken = set((refusal.error.tools if refusal is not None else None) or ())
        if refusal is not None and taken and taken <= self._left_out:
            # Names that were taken before this save, too, are no reason to refuse it.
            free = [tool for tool in hello.tools or () if tool.name not in taken]
            await self._adopt(program, replace(hello, tools=free), ack)
            return
        if refusal is not None or not self._is_there(program):
            for update in updates(hello, before):
                self._gateway.send(replace(update, request_id=self._own_id()))
            if refusal is not None:
                self._printer.refused(refusal.what, refusal.error)
                program.end()
            return
        self._hello = hello
        for stream in self._filters:
            self._gateway.send(FilterSet(stream, [], request_id=self._own_id()))
        self._filters.clear()
        self._hand_over(program)
        program.put(ack)
        program.put(SessionsUpdated(self._active or []))  # as they are, now that it is in its own
        for session in self._bound_sessions(ack):
            program.put(SessionLifecycle(session.id, "started"))
            if session.state == "idle":
                program.put(SessionLifecycle(session.id, "idle"))
        self._printer.took_over(tool_changes(before.tools or (), hello.tools or ()), self.tools)

    async def _agreed(self, update: Update) -> None:
        """Send an update and wait until it is in force. Raises `_UpdateRefused`."""
        id_ = self._own_id()
        answer: asyncio.Future[Ack | Error] = asyncio.get_running_loop().create_future()
        self._updates[id_] = answer
        self._gateway.send(replace(update, request_id=id_))
        try:
            async with asyncio.timeout(UPDATE_SECONDS):
                said = await answer
        except TimeoutError:
            return  # it is in the gateway's hands; the messages after it are in order
        finally:
            del self._updates[id_]
        if isinstance(said, Error):
            raise _UpdateRefused(str(update.__struct_config__.tag), said)

    def _own_id(self) -> str:
        self._count += 1
        return f"dev:{self._count}"

    def _hand_over(self, program: RelayedProgram) -> None:
        former, self.current = self.current, program
        if former is None or former is program:
            return
        former.is_retired = True
        if former.is_done:
            former.end()
        else:
            former.put(Retire())
            loop = asyncio.get_running_loop()
            loop.call_later(self._question_seconds, self._questions_are_over, former)

    def _questions_are_over(self, program: RelayedProgram) -> None:
        """The gateway waits for none of its answers to gates and sections any more."""
        program.questions.clear()
        if program.is_done and self._is_there(program):
            program.end()

    def _bound_sessions(self, ack: HelloAck) -> list[ActiveSession]:
        return [one for one in self._active or () if ack.session_id in (ALL, one.id)]

    def _bound_first(self) -> list[ActiveSession]:
        """Return the sessions as if the one that the provider is in were in front, and the only one
        with a folder: a program that names none chooses that."""
        active = self._active or []
        if self._ack is None or self._ack.session_id == ALL:
            return active
        bound = self._ack.session_id
        return [
            replace(session, foreground=True)
            if session.id == bound
            else replace(session, foreground=False, cwd=None)
            for session in active
        ]

    # The gateway

    def _lose(self, reason: str) -> None:
        self._ack = self._active = self._asking = None
        self._stop_adopting()
        self._forget_calls()
        lasting = [one for one in self._programs.values() if not (one.is_retired or one.is_ending)]
        # The newest, also where the gateway had not agreed to it yet: its save is the last.
        self.current = max(lasting, key=lambda one: one.number, default=None)
        for program in list(self._programs.values()):
            if program is self.current:
                program.put(DialClosed(reason))
            else:
                program.end()

    def _forget_calls(self) -> None:
        """The link of their callers is gone: no answer is awaited."""
        self._calls.clear()
        for program in self._programs.values():
            program.calls.clear()
            program.questions.clear()

    def _heard(self, message: Message) -> None:
        """Take a message of the gateway. Raises `LinkLost` where only another link helps."""
        match message:
            case Sessions() | SessionsUpdated():
                self._active = message.active
                self._forward(message)
            case HelloAck():
                self._heard_ack(message)
            case ToolCall():
                self._heard_call(message)
            case ToolCancel():
                if (call := self._calls.get(message.id)) is not None:
                    call.program.put(message)
            case Ack():
                self._settled(message.request_id, message)
            case StreamHistory():
                program, id_ = self._owner(message.query_id)
                if program is not None:
                    program.put(replace(message, query_id=id_))
            case GateCheck() | TransformRequest():
                if self.current is not None:
                    self.current.questions.add(message.call_id)
                self._forward(message)
            case Error():
                self._heard_error(message)
            case _:
                self._forward(message)

    def _forward(self, message: Message) -> None:
        if self.current is not None:
            self.current.put(message)

    def _heard_ack(self, ack: HelloAck) -> None:
        if self._asking is None:
            return  # who said hello has ended
        program, hello = self._asking
        self._asking = None
        self._ack, self._hello = ack, hello
        self._filters.clear()
        self._hand_over(program)
        program.put(ack)
        front = next((session.id for session in self._active or ()), None)
        self._printer.bound(hello, ack, self._bound_sessions(ack), front)

    def _heard_call(self, call: ToolCall) -> None:
        program = self.current
        self._printer.called(call)
        if program is None:
            text = "the provider's program has ended; its author sees why"
            self._gateway.send(ToolResult(call.id, error=text, error_code=str(CallError.INTERNAL)))
            return
        self._calls[call.id] = _Call(call.tool, program)
        program.calls.add(call.id)
        program.put(call)

    def _answer(self, result: ToolResult) -> None:
        call = self._calls.pop(result.id, None)
        if call is None:
            return
        self._gateway.send(result)
        self._printer.answered(call.tool, result, time.monotonic() - call.started)
        call.program.calls.discard(result.id)
        if call.program.is_done:
            call.program.end()

    def _heard_error(self, error: Error) -> None:
        if error.request_id is not None:
            self._settled(error.request_id, error)
        elif error.query_id is not None:
            program, id_ = self._owner(error.query_id)
            if program is not None:
                program.put(replace(error, query_id=id_))
        elif error.code is ErrorCode.AUTH_FAILED:
            # The gateway may have restarted, with another token: the next link shows that.
            raise LinkLost(error.message)
        elif error.reply_to == "hello" and self._asking is not None:
            program, hello = self._asking
            self._asking = None
            self._left_out |= set(error.tools or ())
            if self.current not in (None, program):
                # In its place the one before may go on: it says hello again.
                self._printer.refused(f"the hello of {hello.name!r}", error)
                program.end()
                raise LinkLost("the gateway has let go of the provider")
            program.put(error)
        else:
            self._forward(error)

    def _settled(self, id_: str, answer: Ack | Error) -> None:
        waiting = self._updates.get(id_)
        if waiting is not None:
            if not waiting.done():
                waiting.set_result(answer)
            return
        program, own = self._owner(id_)
        if program is not None:
            program.put(replace(answer, request_id=own))

    def _owner(self, id_: str) -> tuple[RelayedProgram | None, str]:
        number, _, own = id_.partition(":")
        return (self._programs.get(int(number)) if number.isdecimal() else None), own
