"""The person, for parts of this process: a question, and the answer once it comes."""

import asyncio
from collections.abc import Callable
from typing import Any

from tapui.core.approvals.part_questions import PartQuestion, PartQuestions
from tapui.core.effects import AnswerPart


class Person:
    """Asks the person in the name of a part. Use it on the gateway's loop."""

    def __init__(self, questions: PartQuestions, tell: Callable[..., Any]) -> None:
        self._questions = questions
        self._tell = tell
        self._waiting: dict[str, asyncio.Future[AnswerPart]] = {}

    async def ask(
        self,
        question: PartQuestion,
        on_open: Callable[[str], None] | None = None,
        *,
        withdrawn: str = "it needs no answer any more",
    ) -> AnswerPart:
        """Ask, and wait for how it ends; `on_open` gets the approval's id.

        When this is cancelled the question is withdrawn, for the reason `withdrawn`.
        """
        future: asyncio.Future[AnswerPart] = asyncio.get_running_loop().create_future()
        self._waiting[question.id] = future

        approval_id = self._tell(self._questions.ask, question)
        if approval_id is not None and on_open is not None:
            on_open(approval_id)
        try:
            return await future
        finally:
            self._waiting.pop(question.id, None)
            if future.cancelled() or not future.done():
                self._tell(self._questions.withdraw, question.id, withdrawn)

    def answered(self, effect: AnswerPart) -> None:
        future = self._waiting.get(effect.question)
        if future is not None and not future.done():
            future.set_result(effect)
