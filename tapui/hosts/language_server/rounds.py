"""What the server tells of a turn (`$/progress`), as events of the session.

A report has `editAgentRounds`: of each round the text since the last report (`reply`) and its tool
calls as they stand now. Everything in it is the server's to say, and is read with care.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeGuard

from tapui.text import cut
from tapui.wire import limits
from tapui.wire.codec import raw
from tapui.wire.host import SessionEvent

OUTPUT_LENGTH = 64 * 1024
"""Characters that are passed on of a message, and of a call's result."""
_MOST_CALLS = 1_000
_ENDS = {"completed": "success", "error": "error", "cancelled": "cancelled"}


class TurnProgress:
    """The reports of one turn; `take` returns the events that one causes.

    `is_ours` tells the names of providers' tools: their calls are the gateway's to show. That the
    session rests is the conversation's to tell.
    """

    def __init__(
        self,
        session_id: str,
        is_ours: Callable[[str], bool],
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._session_id = session_id
        self._is_ours = is_ours
        self._clock = clock or asyncio.get_running_loop().time
        self._reply: list[str] = []
        self._length = 0
        self._calls: OrderedDict[str, tuple[str, float]] = OrderedDict()
        """The tools of calls under way, and when each began."""
        self._ended: OrderedDict[str, None] = OrderedDict()
        self._more: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self.conversation_id: str | None = None
        """The server's, once it has named it."""
        self.stopped_for: str | None = None
        """Why its end was ordered: the server does not always say at the end that it was."""
        self.last_words = ""
        """What the agent wrote last."""
        self.has_begun = self.is_over = self.is_stopped = self.has_failed = False

    def take(self, value: Any) -> list[SessionEvent]:
        """Take one `$/progress` of the turn; after its end there are no events."""
        if not isinstance(value, dict) or self.is_over:
            return []
        if _is_name(id_ := value.get("conversationId")):
            self.conversation_id = id_
        match value.get("kind"):
            case "begin" if not self.has_begun:
                self.has_begun = True
                return self._event("assistant.turn_start")
            case "report":
                return self._reported(value)
            case "end":
                return self.end(value)
        return []

    def end(self, value: dict[str, Any]) -> list[SessionEvent]:
        """Return the events with which the turn ends. Without a report of it `value` is empty."""
        if self.is_over:
            return []
        self.is_over = True
        told = self._message()
        reason = value.get("cancellationReason") or self.stopped_for
        self.is_stopped = reason is not None
        if self.is_stopped:
            told += self._event("abort", reason=_text(reason))
        elif (error := value.get("error")) is not None:
            self.has_failed = True
            about = error.get("message") if isinstance(error, dict) else error
            told += self._event("session.error", message=_text(about) or "the turn failed")
        return told

    def note(self, call_id: str | None, **more: Any) -> None:
        """Keep what is known here of a call that is under way, for the event of its end."""
        if call_id is not None:
            self._more[call_id] = self._more.get(call_id, {}) | more
            if len(self._more) > _MOST_CALLS:
                self._more.popitem(last=False)

    def _reported(self, value: dict[str, Any]) -> list[SessionEvent]:
        told: list[SessionEvent] = []
        rounds = value.get("editAgentRounds")
        for one in rounds if isinstance(rounds, list) else ():
            if not isinstance(one, dict):
                continue
            self._say(one.get("reply"))
            calls = one.get("toolCalls")
            for call in calls if isinstance(calls, list) else ():
                if isinstance(call, dict):
                    told += self._called(call)
        self._say(value.get("reply"))
        used = value.get("tokenUsage")
        if isinstance(used, dict):
            told += self._event(
                "assistant.usage",
                inputTokens=_count(used.get("promptTokens")),
                outputTokens=_count(used.get("completionTokens")),
                cacheReadTokens=_count(used.get("cachedTokens")),
            )
        return told

    def _say(self, text: Any) -> None:
        if isinstance(text, str) and self._length < OUTPUT_LENGTH:
            self._reply.append(text[: OUTPUT_LENGTH - self._length])
            self._length += len(self._reply[-1])

    def _message(self) -> list[SessionEvent]:
        """Return what the agent wrote since its last message."""
        text = "".join(self._reply).strip()
        self._reply, self._length = [], 0
        self.last_words = text or self.last_words
        return self._event("assistant.message", content=text) if text else []

    def _called(self, call: dict[str, Any]) -> list[SessionEvent]:
        id_, tool = call.get("id"), call.get("name")
        if not _is_name(id_) or not _is_name(tool) or id_ in self._ended:
            return []
        told: list[SessionEvent] = []
        if id_ not in self._calls:
            told = self._message()
            self._calls[id_] = tool, self._clock()
            if len(self._calls) > _MOST_CALLS:
                self._calls.popitem(last=False)
            if not self._is_ours(tool):
                told += self._event(
                    "tool.execution_start", tool=tool, toolCallId=id_, args=call.get("input")
                )
        kind = _ENDS.get(str(call.get("status")))
        if kind is None:
            return told
        tool, began = self._calls.pop(id_)
        self._ended[id_] = None
        if len(self._ended) > _MOST_CALLS:
            self._ended.popitem(last=False)
        if self._is_ours(tool):
            return told
        result: dict[str, Any] = {"type": kind}
        if (output := _output(call)) is not None:
            result["output"] = output
        completed = {
            "tool": tool,
            "toolCallId": id_,
            "args": call.get("input"),
            "result": result,
            "durationMs": round((self._clock() - began) * 1000, 3),
        }
        return told + self._event("tool.execution_complete", **completed | self._more.pop(id_, {}))

    def _event(self, name: str, **data: Any) -> list[SessionEvent]:
        kept = {key: value for key, value in data.items() if value is not None}
        return [SessionEvent(session_id=self._session_id, event=name, data=raw(kept))]


def _output(call: dict[str, Any]) -> str | None:
    """Return what a call gave: its error, else the texts of its result."""
    if isinstance(call.get("error"), str):
        return cut(call["error"], OUTPUT_LENGTH)
    result = call.get("result")
    if isinstance(result, str):
        return cut(result, OUTPUT_LENGTH)
    if not isinstance(result, list):
        return None
    texts = [one["value"] for one in result if isinstance(one, dict) and "value" in one]
    return cut("\n".join(text for text in texts if isinstance(text, str)), OUTPUT_LENGTH)


def _is_name(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and 0 < len(value) <= limits.MAX_ID


def _text(value: Any) -> str | None:
    return cut(value, OUTPUT_LENGTH) if isinstance(value, str) else None


def _count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_count else None
