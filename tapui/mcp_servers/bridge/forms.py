"""What a server asks the person during a call, and their answers."""

import asyncio
from collections.abc import Callable
from typing import Any, Literal

import mcp_types as types
import msgspec
from msgspec import Raw

from tapui.mcp_servers.messages import AnsweredForm, BridgeMessage, ServerAsks, WithdrawnForm

MAX_OPEN = 10
"""Questions that wait for the person at a time."""
MAX_SCHEMA_BYTES = 64 * 1024
MAX_MESSAGE = 4_000
Action = Literal["accept", "decline", "cancel"]


class AskedForms:
    """Questions that wait, by id."""

    def __init__(self, tell: Callable[[BridgeMessage], None]) -> None:
        self._tell = tell
        self._asked = 0
        self._open: dict[str, asyncio.Future[AnsweredForm]] = {}

    async def ask(
        self, params: types.ElicitRequestFormParams, session_id: str | None
    ) -> types.ElicitResult | types.ErrorData:
        """Ask the person, and wait for their answer as long as it takes."""
        schema = msgspec.json.encode(params.requested_schema)
        if len(schema) > MAX_SCHEMA_BYTES or len(self._open) >= MAX_OPEN:
            text = "the form is too large" if len(self._open) < MAX_OPEN else "too many questions"
            return types.ErrorData(code=types.INVALID_REQUEST, message=text)
        self._asked += 1
        id_ = f"form-{self._asked}"
        self._open[id_] = answered = asyncio.get_running_loop().create_future()
        self._tell(ServerAsks(id_, params.message[:MAX_MESSAGE], Raw(schema), session_id))
        try:
            answer = await answered
        except asyncio.CancelledError:
            self._tell(WithdrawnForm(id_))
            raise
        finally:
            del self._open[id_]
        return types.ElicitResult(action=answer.action, content=_content(answer))

    def answered(self, answer: AnsweredForm) -> None:
        """The person has answered; what is not open any more is ignored."""
        waiting = self._open.get(answer.id)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)


def _content(answer: AnsweredForm) -> dict[str, Any] | None:
    if answer.action != "accept":
        return None
    if answer.content is None:
        return {}
    return msgspec.json.decode(answer.content, type=dict[str, Any])
