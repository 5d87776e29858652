"""Forms that a server asks the person to fill in: shown, answered, withdrawn, timed out."""

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import count

import msgspec
from msgspec import Raw

from tapui.core.approvals.part_questions import PartQuestion
from tapui.mcp_servers.messages import AnsweredForm, ServerAsks
from tapui.runtime.person import Person
from tapui.runtime.tasks import BackgroundTasks
from tapui.text import safe_text
from tapui.wire import limits
from tapui.wire.codec import raw

FORM_SECONDS = 600.0
"""How long a form waits for the person."""
MAX_FORMS = 4
"""Forms of a server that wait at once; further ones are declined."""
MAX_UNANSWERED = 20
"""Forms of a server within `limits.ASKED_AGAIN_SECONDS` that the person did not fill in, or that it
took back: further ones are declined."""
MAX_MESSAGE = 4_000
"""Characters of what a form says."""
MAX_SCHEMA = 64 * 1024
"""Bytes of a form's schema."""

_numbers = count(1)


class Forms:
    """The forms of one server, whose `name` they are shown with. `answered` takes each answer."""

    def __init__(
        self,
        name: str,
        person: Person,
        answered: Callable[[AnsweredForm], None],
        background: BackgroundTasks | None = None,
    ) -> None:
        self._background = background or BackgroundTasks()
        self._name = name
        self._person = person
        self._answered = answered
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._unanswered: deque[float] = deque(maxlen=MAX_UNANSWERED)
        """When forms ended that nobody filled in."""

    def ask(self, asked: ServerAsks) -> None:
        """Ask the person; what cannot be shown is declined."""
        form = asked.id
        schema = _schema(asked.schema)
        is_known = form in self._waiting
        if schema is None or is_known or len(self._waiting) >= MAX_FORMS or self._is_tiresome():
            self._answered(AnsweredForm(form, "decline"))
            return
        question = PartQuestion(
            id=f"mcp form {next(_numbers)}",
            kind="elicitation",
            detail={
                "message": safe_text(asked.message, limit=MAX_MESSAGE, newlines=True),
                "mcpServer": self._name,
                "requestedSchema": schema,
            },
            session_id=asked.session_id,
            provider=self._name,
            timeout=FORM_SECONDS,
        )
        task = self._background.start(self._wait(form, question), name=f"a form of {self._name}")
        self._waiting[form] = task
        task.add_done_callback(lambda _: self._waiting.pop(form, None))

    def _is_tiresome(self) -> bool:
        """Return whether it goes on asking what nobody wants to fill in."""
        since = asyncio.get_running_loop().time() - limits.ASKED_AGAIN_SECONDS
        asked = self._unanswered
        return len(asked) + len(self._waiting) >= MAX_UNANSWERED and asked[0] > since

    async def _wait(self, form: str, question: PartQuestion) -> None:
        is_filled_in = False
        try:
            ended = await self._person.ask(
                question, withdrawn="the server needs no answer any more"
            )
            is_filled_in = ended.outcome == "approved"
        finally:
            if not is_filled_in:
                self._unanswered.append(asyncio.get_running_loop().time())
        if ended.outcome == "approved" and isinstance(ended.answer, dict):
            answer = AnsweredForm(form, "accept", raw(ended.answer))
        elif ended.outcome in ("approved", "denied"):
            answer = AnsweredForm(form, "decline")
        else:
            answer = AnsweredForm(form, "cancel")
        self._answered(answer)

    def withdraw(self, form: str) -> None:
        """The server needs no answer any more."""
        task = self._waiting.get(form)
        if task is not None:
            task.cancel()

    def close(self) -> None:
        """The server is gone: what it asked is withdrawn."""
        for task in self._waiting.values():
            task.cancel()


def _schema(given: Raw) -> object:
    """Return the schema of a form, None for one that is too large or no object."""
    if len(memoryview(given)) > MAX_SCHEMA:
        return None
    try:
        found = msgspec.json.decode(given)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
