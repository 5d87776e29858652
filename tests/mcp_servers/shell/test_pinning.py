"""The pins of a running server: what the person is asked, and what of it holds."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import Raw

from tapui.consents.mcp_servers import Allowable
from tapui.core.approvals.part_questions import PartQuestion
from tapui.core.effects import AnswerPart
from tapui.mcp_servers.messages import MappedTool, ToolsAllowed
from tapui.mcp_servers.pins import ToolPins
from tapui.mcp_servers.shell.requests import MAX_ASKED, Pinning
from tapui.runtime.person import Person
from tapui.runtime.tasks import BackgroundTasks
from tests.rig.machine import fill
from tests.rig.waiting import until_async

MANY = 2 * MAX_ASKED + 5


class Asked:
    """Takes questions in the gateway's place."""

    def __init__(self) -> None:
        self.questions: list[PartQuestion] = []
        self.withdrawn: list[str] = []
        self.person = Person(self, lambda step, *args: step(*args))  # type: ignore[arg-type]

    def ask(self, question: PartQuestion) -> str:
        self.questions.append(question)
        return f"a{len(self.questions)}"

    def withdraw(self, question_id: str, reason: str) -> None:
        self.withdrawn.append(question_id)

    async def approve(self, number: int) -> PartQuestion:
        await until_async(lambda: len(self.questions) >= number, what="the question")
        question = self.questions[number - 1]
        self.person.answered(AnswerPart(question.id, "approved"))
        return question


class Case:
    """Pins of one server."""

    def __init__(
        self, state: Path, on_fault: Callable[[BaseException], None] | None = None
    ) -> None:
        self.asked = Asked()
        self.sent: list[ToolsAllowed] = []
        self.session: str | None = "s1"
        self.fails = False
        """Whether asking for the session raises."""
        self.kept = ToolPins(state, Allowable(kind="own", name="files", command="x"), None)
        self.told: list[str] = []
        self.pinning = Pinning(
            "files",
            self.asked.person,
            self.sent.append,
            lambda _: None,
            self._session,
            on_fault=lambda why, hint: self.told.append(f"{why}; {hint}"),
            background=BackgroundTasks(on_fault),
        )

    def _session(self) -> str | None:
        if self.fails:
            raise LookupError("boom")
        return self.session

    async def has_sent(self, count: int) -> None:
        """Wait until the bridge was sent pins so often."""
        await until_async(lambda: len(self.sent) == count, what="the pins")


def tools(count: int, digest: str = "d1") -> list[MappedTool]:
    return [
        MappedTool(f"t{number}", digest, "Read", Raw(b"{}"), is_changed=True)
        for number in range(count)
    ]


async def test_on_a_full_disk_tools_are_offered_and_it_is_told_that_they_are_not_kept(
    small_disk: Path,
) -> None:
    fill(small_disk)
    case = Case(small_disk / "state")
    await case.pinning.begin(case.kept)
    await case.pinning.take(tools(2))
    assert len(case.sent[-1].pins) == 2
    (told,) = case.told
    assert "could not be kept: No space left on device; mend that" in told
    assert case.kept.read() is None


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda data: data[: len(data) // 2], "truncated"),
        (lambda data: data.replace(b'"version":1', b'"version":2'), "another version"),
    ],
)
async def test_pins_that_cannot_be_read_are_told_and_each_tool_is_asked_about(
    tmp_path: Path, spoil: Callable[[bytes], bytes], why: str
) -> None:
    first = Case(tmp_path)
    await first.pinning.begin(first.kept)
    await first.pinning.take(tools(2))
    (file,) = tmp_path.joinpath("mcp", "pins").glob("*.json")
    file.write_bytes(spoil(file.read_bytes()))
    case = Case(tmp_path)
    assert await case.pinning.begin(case.kept) == {}
    (told,) = case.told
    assert (str(file) in told, why in told) == (True, True)
    await case.pinning.take(tools(2))
    question = await case.asked.approve(1)
    assert len(question.detail["tools"]) == 2
    await case.has_sent(1)
    assert case.kept.read() is not None
    assert case.kept.damage == ""


async def test_many_tools_are_asked_about_in_several_questions(tmp_path: Path) -> None:
    case = Case(tmp_path)
    await case.pinning.begin(case.kept)
    await case.pinning.take([])
    for number in range(1, 4):
        await case.pinning.take(tools(MANY))
        question = await case.asked.approve(number)
        assert len(question.detail["tools"]) <= MAX_ASKED
        await case.has_sent(number + 1)
    assert len(case.sent[-1].pins) == MANY
    await case.pinning.take(tools(MANY))
    assert len(case.asked.questions) == 3


async def test_what_was_allowed_holds_though_the_list_changes_meanwhile(tmp_path: Path) -> None:
    case = Case(tmp_path)
    await case.pinning.begin(case.kept)
    await case.pinning.take([])
    await case.pinning.take(tools(1))
    await case.asked.approve(1)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await case.pinning.take(tools(2))
    await case.has_sent(2)
    assert case.sent[-1].pins == {"t0": "d1"}
    case.pinning.close()


async def test_nobody_to_ask_means_that_it_is_asked_later(tmp_path: Path) -> None:
    case = Case(tmp_path)
    await case.pinning.begin(case.kept)
    await case.pinning.take([])
    case.session = None
    await case.pinning.take(tools(1))
    await asyncio.sleep(0)
    assert not case.asked.questions
    case.session = "s2"
    await case.pinning.take(tools(1))
    await case.asked.approve(1)
    await case.has_sent(2)


@pytest.mark.expects_error_log("a task failed: ask about the tools of files")
async def test_a_question_that_fails_is_logged_and_asked_again(tmp_path: Path) -> None:
    faults: list[BaseException] = []
    case = Case(tmp_path, faults.append)
    await case.pinning.begin(case.kept)
    await case.pinning.take([])
    case.fails = True
    await case.pinning.take(tools(1))
    await until_async(lambda: faults, what="the fault")
    case.fails = False
    await case.pinning.take(tools(1))
    await case.asked.approve(1)
    await case.has_sent(2)
