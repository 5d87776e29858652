"""The session's way to the gateway: events, and requests with their answers."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

from tapui.wire.codec import raw
from tapui.wire.host import (
    ApprovalAnswer,
    ApprovalRequest,
    ApprovalWithdraw,
    HookDecision,
    HookPreToolUse,
    PromptHeld,
    PromptPrepared,
    PromptSubmitted,
    SessionEvent,
    TurnEnd,
    TurnEnding,
)
from tapui.wire.message import Error, Message, ToolAbort, ToolInvoke, ToolOutcome, ToolProgress

DECISION = 8.0
"""Seconds within which the gateway decides about a tool, else it is refused; its gates end after
5 s."""
PROMPT = 3.0
"""Seconds within which it prepares a prompt, else that goes out unchanged."""
TURN_END = 2.0
"""Seconds within which it says whether a turn ends, else it ends."""
PERMISSION = 600.0
"""Seconds that a permission waits for the person, else it is denied."""
_LATER = 10.0
"""Seconds after which the gateway's own time limit counts as failed."""

_Answer = HookDecision | PromptPrepared | TurnEnd | ToolOutcome | ApprovalAnswer


class UnansweredError(Exception):
    """The gateway did not answer, refused the question, or is gone; the text says which."""


class ConversationUplink:
    """What one session sends. `send` does nothing once the port is closed."""

    def __init__(self, session_id: str, send: Callable[[Message], None]) -> None:
        self.session_id = session_id
        self.send = send
        self._numbers = itertools.count(1)
        self._asked: dict[str, tuple[asyncio.Future[_Answer], asyncio.Timeout | None]] = {}
        self._lost = ""

    def event(self, name: str, **data: Any) -> None:
        """Tell that something happened; fields that are None are left out."""
        kept = {key: value for key, value in data.items() if value is not None}
        self.send(SessionEvent(self.session_id, name, raw(kept)))

    # Questions

    async def may_run(self, tool: str, args: Any) -> HookDecision:
        """Ask rules and gates about a call. Raises `UnansweredError`: then it must not run."""
        id_ = self._id()
        question = HookPreToolUse(id_, self.session_id, tool, raw(args))
        answer = await self._ask(question, id_, DECISION)
        if not isinstance(answer, HookDecision):
            raise UnansweredError("the gateway gave another answer")
        return answer

    async def permission(self, detail: dict[str, Any]) -> ApprovalAnswer:
        """Ask the person; the question is taken back when this is cancelled.

        Raises `UnansweredError`.
        """
        id_ = self._id()
        timeout = PERMISSION * 1000
        question = ApprovalRequest(id_, self.session_id, "permission", raw(detail), timeout)
        try:
            answer = await self._ask(question, id_, PERMISSION + _LATER)
        except asyncio.CancelledError:
            self.send(ApprovalWithdraw(id_))
            raise
        if not isinstance(answer, ApprovalAnswer):
            raise UnansweredError("the gateway gave another answer")
        return answer

    async def prepared(self, prompt: str) -> PromptPrepared | None:
        """Have a prompt prepared; None: it goes out unchanged. While the person is asked about it,
        that takes as long as it takes."""
        id_ = self._id()
        question = PromptSubmitted(id_, self.session_id, prompt)
        try:
            answer = await self._ask(question, id_, PROMPT)
        except UnansweredError:
            return None
        return answer if isinstance(answer, PromptPrepared) else None

    async def goes_on(self, last_words: str, *, is_again: bool) -> str | None:
        """Return why the agent is to go on at the end of its turn; None: the turn ends."""
        id_ = self._id()
        question = TurnEnding(id_, self.session_id, None, last_words or None, is_again)
        try:
            answer = await self._ask(question, id_, TURN_END)
        except UnansweredError:
            return None
        if not isinstance(answer, TurnEnd) or answer.decision == "end":
            return None
        return answer.reason or None

    async def invoke(self, tool: str, args: Any, call_id: str | None) -> ToolOutcome:
        """Call a tool of a provider; the call is given up when this is cancelled.

        Raises `UnansweredError`.
        """
        id_ = self._id()
        call = ToolInvoke(id_, self.session_id, tool, raw(args), tool_call_id=call_id)
        try:
            answer = await self._ask(call, id_, None)
        except asyncio.CancelledError:
            self.send(ToolAbort(id_, "the turn was stopped"))
            raise
        if not isinstance(answer, ToolOutcome):
            raise UnansweredError("the gateway gave another answer")
        return answer

    def _id(self) -> str:
        return f"l{next(self._numbers)}"

    async def _ask(self, question: Message, id_: str, within: float | None) -> _Answer:
        if self._lost:
            raise UnansweredError(self._lost)
        answer: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(within) as limit:
                self._asked[id_] = answer, limit
                self.send(question)
                return await answer
        except TimeoutError:
            raise UnansweredError(f"the gateway did not answer in {within:g} s") from None
        finally:
            self._asked.pop(id_, None)

    # Answers

    def take(self, message: Message) -> bool:
        """Take an answer of the gateway; return whether it was one to a question of this session.

        One that comes too late is dropped.
        """
        answer, limit = self._asked.get(getattr(message, "id", None) or "", (None, None))
        if answer is None or answer.done():
            return False
        match message:
            case PromptHeld():
                if limit is not None:
                    limit.reschedule(None)
            case ToolProgress():
                pass  # the server has no place to show it
            case Error():
                answer.set_exception(UnansweredError(f"the gateway refused it: {message.message}"))
            case HookDecision() | PromptPrepared() | TurnEnd() | ToolOutcome() | ApprovalAnswer():
                answer.set_result(message)
            case _:
                return False
        return True

    def lose(self, why: str) -> None:
        """Answer all questions: the gateway is gone, or the session."""
        self._lost = why
        for answer, _ in list(self._asked.values()):
            if not answer.done():
                answer.set_exception(UnansweredError(why))
