"""Forms of a server: how many the person is shown."""

import asyncio

from msgspec import Raw

from tapui.core.approvals.part_questions import PartQuestion
from tapui.core.effects import AnswerPart
from tapui.mcp_servers.messages import AnsweredForm, ServerAsks
from tapui.mcp_servers.shell.requests import MAX_UNANSWERED, Forms
from tapui.runtime.person import Person


class Case:
    """Forms of one server; `answer` is what the person does with each."""

    def __init__(self, answer: AnswerPart | None) -> None:
        self.answer = answer
        self.shown = 0
        self.answered: list[AnsweredForm] = []
        self.person = Person(self, lambda step, *args: step(*args))  # type: ignore[arg-type]
        self.forms = Forms("asks", self.person, self.answered.append)

    def ask(self, question: PartQuestion) -> str:
        self.shown += 1
        if self.answer is not None:
            answer = AnswerPart(question.id, self.answer.outcome, self.answer.answer)
            asyncio.get_running_loop().call_soon(self.person.answered, answer)
        return question.id

    def withdraw(self, question_id: str, reason: str) -> None:
        """The server took it back."""

    async def flood(self, count: int) -> None:
        """Have the server ask, and take back what is not answered."""
        for number in range(count):
            form = f"form-{number}"
            self.forms.ask(ServerAsks(form, "Your password?", Raw(b"{}")))
            for _ in range(5):
                await asyncio.sleep(0)
            self.forms.withdraw(form)
            for _ in range(5):
                await asyncio.sleep(0)


async def test_a_server_that_goes_on_asking_in_vain_is_not_shown_any_more() -> None:
    for answer in (AnswerPart("", "denied"), None):
        case = Case(answer)
        await case.flood(3 * MAX_UNANSWERED)
        assert case.shown == MAX_UNANSWERED
        assert case.answered[-1].action == "decline"


async def test_forms_that_are_filled_in_have_no_such_bound() -> None:
    case = Case(AnswerPart("", "approved", {"who": "Ada"}))
    await case.flood(3 * MAX_UNANSWERED)
    assert case.shown == 3 * MAX_UNANSWERED
    assert {one.action for one in case.answered} == {"accept"}
