"""The provider of the tools that are in every session (`tap_…`)."""

from collections.abc import Callable
from typing import Any, Protocol

from tapui.settings.settings import Timeouts
from tapui.tools.definitions import BuiltinTool, RefusedError
from tapui.tools.emitters import EMITTER_TOOLS
from tapui.tools.goals import GOAL_TOOLS
from tapui.tools.records import RECORD_TOOLS
from tapui.tools.reviews import REVIEW_TOOLS
from tapui.tools.streams import INJECTOR_TOOLS, SESSION_TOOLS, STREAM_TOOLS
from tapui.wire.builtin import (
    EmitterAnswer,
    EmittersAnswer,
    ModeAnswer,
    RecordsAnswer,
    StateAnswer,
    StreamPostDone,
)
from tapui.wire.errors import CallError, ErrorCode, WireError
from tapui.wire.goals import ClaimsReported, GoalAnswer, GoalReported, GoalsList
from tapui.wire.limits import PROTOCOL_VERSION
from tapui.wire.message import BUILTIN_PROVIDER, Error, Message
from tapui.wire.provider import Hello, Sessions, ToolCall, ToolCancel, ToolResult
from tapui.wire.reviews import ReviewAnswer
from tapui.wire.tower import StreamLines

TOOLS = (
    *STREAM_TOOLS,
    *SESSION_TOOLS,
    *EMITTER_TOOLS,
    *INJECTOR_TOOLS,
    *GOAL_TOOLS,
    *REVIEW_TOOLS,
    *RECORD_TOOLS,
)

_Answer = (
    StreamPostDone
    | StreamLines
    | StateAnswer
    | ModeAnswer
    | EmitterAnswer
    | EmittersAnswer
    | GoalAnswer
    | GoalsList
    | GoalReported
    | ClaimsReported
    | ReviewAnswer
    | RecordsAnswer
)


class ToolPort(Protocol):
    """The in-process end that the tools speak through."""

    def send(self, message: Message) -> None:
        """Send a message to the gateway; answers come later."""


class BuiltinTools:
    """Answers the calls of the built-in tools. Nothing here waits: answers settle calls."""

    def __init__(
        self,
        open_port: Callable[[Callable[[Message], None], Callable[[], None]], ToolPort],
        timeouts: Timeouts,
    ) -> None:
        self._definitions = [tool.definition(timeouts) for tool in TOOLS]
        self._tools: dict[str, BuiltinTool] = {tool.name: tool for tool in TOOLS}
        self._pending: dict[str, ToolCall] = {}
        self._port = open_port(self._receive, self._closed)

    def _receive(self, message: Message) -> None:
        match message:
            case ToolCall():
                self._on_call(message)
            case ToolCancel():
                self._on_cancel(message)
            case Sessions():
                self._port.send(
                    Hello(
                        BUILTIN_PROVIDER,
                        PROTOCOL_VERSION,
                        session="all",
                        tools=self._definitions,
                    )
                )
            case Error():
                self._on_error(message)
            case _ if isinstance(message, _Answer):
                self._on_answer(message)

    def _closed(self) -> None:
        self._pending.clear()

    def _on_call(self, call: ToolCall) -> None:
        try:
            tool = self._tools[call.tool]
            tool.check(call)
            request = tool.ask(call)
        except WireError as error:
            self._fail(call.id, CallError.INVALID_JSON, error.text)
        except ValueError as error:
            self._fail(call.id, CallError.INVALID_JSON, f"arguments: {error}")
        else:
            self._pending[call.id] = call
            self._port.send(request)

    def _on_cancel(self, message: ToolCancel) -> None:
        call = self._pending.pop(message.id, None)
        withdraw = self._tools[call.tool].withdraw if call is not None else None
        if withdraw is not None:
            self._port.send(withdraw(message.id))
        self._fail(message.id, CallError.CANCELLED, "Cancelled")

    def _on_answer(self, answer: _Answer) -> None:
        call = self._pending.get(answer.id)
        if call is None:
            return
        tool = self._tools[call.tool]
        try:
            told: Any = tool.tell(call, answer)
            reply = told if isinstance(told, Message) else tool.result(call, told)
        except RefusedError as refused:
            del self._pending[call.id]
            self._fail(call.id, CallError.UNAUTHORIZED, str(refused))
        except ValueError as error:
            del self._pending[call.id]
            self._fail(call.id, CallError.INVALID_JSON, f"arguments: {error}")
        else:
            if isinstance(reply, Message):
                self._port.send(reply)
                return
            del self._pending[call.id]
            self._port.send(ToolResult(call.id, data=reply))

    def _on_error(self, message: Error) -> None:
        call = self._pending.pop(message.id or "", None)
        if call is not None:
            is_wrong = message.code == ErrorCode.INVALID_JSON
            code = CallError.INVALID_JSON if is_wrong else CallError.INTERNAL
            self._fail(call.id, code, message.message)

    def _fail(self, call_id: str, code: CallError, text: str) -> None:
        self._port.send(ToolResult(call_id, error=text, error_code=code))
