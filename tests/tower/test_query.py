"""Questions to the records: asked by the line of commands, answered beside the screen, opened."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from types import MappingProxyType

import pytest
from textual.command import CommandPalette
from textual.widgets import Input

from tapui.tower.app.services import AnswerFault, RecordAnswer, RecordText
from tapui.tower.finding.find_sheet import RecordDetail
from tapui.tower.finding.query_sheet import AnswerRowDetail, AnswerRows, QueryScreen
from tests.rig.waiting import HUNG, until_async
from tests.tower.finders import ScriptedQuestions, answered, found
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import at, world
from tests.tower.test_hostile_text import HOSTILE, check

SLOW = answered(
    "ts tool duration summary ref",
    (at(60), "bash", 900.5, "pytest -q", "calls/r1/5"),
    (at(50), "edit", 12.0, "app.py", "calls/r1/7"),
    (at(40), "view", None, "pair.py", "calls/r1/9"),
)
COUNTS = answered("tool calls", ("bash", 20), ("edit", 3))
ANSWERS: dict[str, RecordAnswer | AnswerFault] = {
    "slowest-calls": SLOW,
    "slowest-calls limit=3": SLOW,
    "SELECT 1": COUNTS,
}
NAMES = {" ": "space", "=": "equals_sign", "-": "minus", "*": "asterisk", "(": "left_parenthesis"}
NAMES[")"] = "right_parenthesis"


class Asks:
    """The sheet, and what is asked."""

    def __init__(self, rig: Running, questions: ScriptedQuestions) -> None:
        self.rig = rig
        self.questions = questions

    @property
    def screen(self) -> QueryScreen:
        (screen,) = (one for one in self.rig.app.screen_stack if isinstance(one, QueryScreen))
        return screen

    @property
    def table(self) -> AnswerRows:
        return self.screen.query_one(AnswerRows)

    @property
    def rows(self) -> list[str]:
        return [row.texts[1] for row in self.table.rows]

    async def until(self, condition: Callable[[], object]) -> None:
        await until_async(condition, what=lambda: f"on the screen:\n{self.rig.text}")
        await self.rig.settle()

    async def type(self, text: str) -> None:
        await self.rig.press(*(NAMES.get(char, char) for char in text))

    async def ask(self, text: str) -> None:
        """Type a question and wait for what comes of it."""
        await self.type(text)
        await self.rig.press("enter")
        await self.answered()

    async def answered(self) -> None:
        await self.until(lambda: not self.screen.is_asking)


async def opened(rig: Running, text: str = "", questions: ScriptedQuestions | None = None) -> Asks:
    """Open the sheet with a question, and wait for its answer."""
    asks = Asks(rig, questions or ScriptedQuestions(ANSWERS))
    rig.app.questions = asks.questions
    rig.app.ask_records(text)
    await asks.until(lambda: bool(asks.screen.known))
    await asks.answered()
    return asks


@asynccontextmanager
async def asking(
    text: str = "",
    *,
    size: tuple[int, int] = (120, 36),
    answers: Mapping[str, RecordAnswer | AnswerFault] = MappingProxyType({}),
) -> AsyncIterator[Asks]:
    questions = ScriptedQuestions({**ANSWERS, **answers})
    async with running(world(), size=size, questions=questions) as rig:
        asks = await opened(rig, text, questions)
        try:
            yield asks
        finally:
            questions.goes_on.set()


def noticed(rig: Running, words: str) -> bool:
    return any(words in one for one in rig.notices)


async def command(rig: Running, text: str) -> None:
    """Type a command behind the colon, and choose the first that fits."""
    await rig.press("colon", *(NAMES.get(char, char) for char in text))
    async with asyncio.timeout(HUNG):
        while isinstance(rig.app.screen, CommandPalette):
            await rig.press("enter")


async def test_the_line_of_commands_asks_and_completes_names() -> None:
    questions = ScriptedQuestions(ANSWERS)
    async with running(world(), size=(120, 36), questions=questions) as rig:
        for typed, asked in (
            ("query slowest-calls", "slowest-calls"),
            ("query slowest-c", "slowest-calls"),
            ("query slowest-calls limit=3", "slowest-calls limit=3"),
            ("query SELECT 1", "SELECT 1"),
        ):
            questions.asked.clear()
            await command(rig, typed)
            asks = Asks(rig, questions)
            await asks.until(lambda: isinstance(rig.app.screen, QueryScreen))
            await asks.answered()
            assert [text for text, _ in questions.asked] == [asked]
            assert asks.screen.query_one(Input).value == asked
            assert "bash" in rig.text, asked
            await rig.close_all()


async def test_typed_in_one_go_the_whole_question_is_asked() -> None:
    questions = ScriptedQuestions(ANSWERS)
    async with running(world(), size=(120, 36), questions=questions) as rig:
        await rig.press("colon", *(NAMES.get(char, char) for char in "query slowest-calls"))
        asks = Asks(rig, questions)
        await asks.until(lambda: "The calls that took" in rig.text or "since=30d" in rig.text)
        await rig.type(*"xyz", "enter", "enter")
        async with asyncio.timeout(HUNG):
            while isinstance(rig.app.screen, CommandPalette):
                await rig.press("enter")
        await asks.answered()
        assert {text for text, _ in questions.asked} == {"slowest-callsxyz"}


async def test_without_a_word_it_lists_what_can_be_asked_and_enter_asks() -> None:
    questions = ScriptedQuestions({"denied": COUNTS})
    async with running(world(), size=(120, 36), questions=questions) as rig:
        await command(rig, "query")
        asks = Asks(rig, questions)
        await asks.until(lambda: "3 questions" in rig.text)
        assert "The calls that took longest." in rig.text
        assert "since=30d limit=20" in rig.text
        assert "The days. (your own)" in rig.text
        assert questions.asked == []
        await rig.press("down", "enter")
        await asks.answered()
        assert [text for text, _ in questions.asked] == ["denied"]


async def test_nothing_is_offered_where_there_are_no_records_to_ask() -> None:
    async with running(world()) as rig:
        assert rig.app.check_action("query", ()) is False
        await rig.app.run_action("query")
        assert len(rig.app.screen_stack) == 1


async def test_tab_completes_the_name_and_what_it_takes() -> None:
    async with asking() as asks:
        field = asks.screen.query_one(Input)
        await asks.type("slo")
        await asks.until(lambda: field._suggestion == "slowest-calls")
        await asks.rig.press("tab")
        assert field.value == "slowest-calls"
        await asks.type(" s")
        await asks.until(lambda: field._suggestion == "slowest-calls since=30d")
        await asks.rig.press("tab")
        await asks.type(" ")
        await asks.until(lambda: field._suggestion == "slowest-calls since=30d limit=20")
        await asks.rig.press("enter")
        await asks.answered()
        assert asks.questions.asked[-1][0] == "slowest-calls since=30d"


async def test_an_answer_sorts_is_turned_round_and_filtered() -> None:
    async with asking("slowest-calls") as asks:
        rig = asks.rig
        assert asks.rows == ["bash", "edit", "view"]
        assert "3 rows" in rig.text
        await rig.press("s", "s", "s")
        assert "duration▲" in rig.text
        assert asks.rows == ["edit", "bash", "view"], "what has no value comes last"
        await rig.press("S")
        assert "duration▼" in rig.text
        await rig.press("slash", *"pair")
        assert asks.rows == ["view"]
        assert "1 of 3" in rig.text
        await rig.press("enter", "escape")
        assert len(asks.rows) == 3, "Escape takes the filter back first"
        assert isinstance(rig.app.screen, QueryScreen)
        await rig.press("escape")
        assert len(rig.app.screen_stack) == 1


async def test_a_row_goes_to_its_turn_where_this_tower_has_it() -> None:
    async with asking("slowest-calls") as asks:
        record = found("1", "pytest -q", kind="call", ago=60)
        asks.questions.records["calls/r1/5"] = (record, RecordText("tool: bash", "/x.jsonl", 0))
        gone: list[str] = []
        asks.rig.app.way_to = lambda record: lambda: gone.append(record.key)  # type: ignore[method-assign]
        await asks.rig.press("enter")
        await asks.until(lambda: gone == ["1"])
        assert len(asks.rig.app.screen_stack) == 1


async def test_a_row_opens_its_record_else_and_says_where_that_is_gone() -> None:
    async with asking("slowest-calls") as asks:
        record = found("1", "pytest -q", kind="call", session_id="s9", session="Old", ago=60)
        asks.questions.records["calls/r1/5"] = (record, RecordText("tool: bash", "/x.jsonl", 0))
        await asks.rig.press("enter")
        await asks.until(lambda: isinstance(on_top(asks.rig.app), RecordDetail))
        assert "tool: bash" in asks.rig.text
        await asks.rig.press("escape", "down", "enter")
        await asks.until(lambda: any("was deleted" in one for one in asks.rig.notices))


async def test_a_row_that_comes_from_no_single_record_opens_in_full() -> None:
    long = "x" * 300 + " the end"
    async with asking(
        "SELECT 2",
        size=(80, 24),
        answers={"SELECT 2": answered("tool note", ("bash", long), ("edit", "short"))},
    ) as asks:
        await asks.rig.press("enter")
        assert isinstance(on_top(asks.rig.app), AnswerRowDetail)
        assert "the end" in asks.rig.text.replace("\n", "")
        await asks.rig.press("right")
        assert "short" in asks.rig.text


async def test_escape_cancels_what_takes_long_and_keys_work_meanwhile() -> None:
    async with asking() as asks:
        asks.questions.goes_on.clear()
        await asks.type("slowest-calls")
        await asks.rig.press("enter")
        assert "asking …" in asks.rig.text
        await asks.type("x")
        assert "slowest-callsx" in asks.rig.text
        await asks.rig.press("escape")
        ((_, question),) = asks.questions.asked
        assert question.is_cancelled
        await asks.answered()
        assert "It was cancelled." in asks.rig.text
        assert "asking …" not in asks.rig.text
        await asks.rig.press("escape")
        assert len(asks.rig.app.screen_stack) == 1


async def test_a_new_question_and_the_end_of_the_sheet_cancel_too() -> None:
    async with asking() as asks:
        asks.questions.goes_on.clear()
        for text in ("slowest-calls", "SELECT 1"):
            asks.screen.ask(text)
        (_, first), (_, second) = asks.questions.asked
        assert (first.is_cancelled, second.is_cancelled) == (True, False)
        asks.screen.dismiss(None)
        await asks.until(lambda: second.is_cancelled)


async def test_faults_are_said_in_words_and_the_answer_before_stays() -> None:
    fault = AnswerFault("no such column: toool")
    async with asking("SELECT 1", answers={"SELECT toool": fault}) as asks:
        asks.screen.ask("SELECT toool")
        await asks.answered()
        assert "✗ no such column: toool" in asks.rig.text
        assert [row.key for row in asks.table.rows] == ["0", "1"]


async def test_an_answer_that_is_cut_or_empty_or_lacks_records_says_it() -> None:
    answers = {
        "a": answered("n", (1,), is_cut=True, note="3 of 9 MiB of records are indexed"),
        "b": answered("n"),
    }
    async with asking("a", answers=answers) as asks:
        assert "the first 1, there are more" in asks.rig.text
        assert "3 of 9 MiB of records are indexed" in asks.rig.text
        asks.screen.ask("b")
        await asks.answered()
        assert "There are no such records." in asks.rig.text


async def test_what_is_shown_is_written_into_a_file_whose_path_is_told() -> None:
    async with asking("slowest-calls") as asks:
        rig = asks.rig
        await rig.press("slash", "i", "enter", "s", "s", "S")
        assert asks.rows == ["view", "edit"]
        for key, form in (("c", "csv"), ("j", "json"), ("m", "md")):
            await rig.press("e")
            assert "Write 2 rows into a file" in rig.text
            await rig.press(key)
            await asks.until(partial(noticed, rig, f"tapui/exported/slowest-calls.{form}"))
        answer, _name, _form = asks.questions.written[0]
        assert [row[1] for row in answer.rows] == ["view", "edit"]


async def test_why_a_file_was_not_written_is_told() -> None:
    async with asking("SELECT 1") as asks:
        asks.questions.write_fault = AnswerFault("it cannot be written: No space left on device")
        await asks.rig.press("e", "c")
        await asks.until(lambda: any("No space left" in one for one in asks.rig.notices))


async def test_the_row_is_copied_whole() -> None:
    async with asking(
        "SELECT 2", answers={"SELECT 2": answered("tool note", ("bash", "y" * 600))}
    ) as asks:
        await asks.rig.press("c")
        await asks.until(lambda: asks.rig.app.clipboard == f"bash  {'y' * 600}")


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_nothing_hostile_is_painted(size: tuple[int, int]) -> None:
    evil = answered(["tool", HOSTILE, "ref"], (HOSTILE, HOSTILE, None), (HOSTILE, 1, None))
    fault = AnswerFault(HOSTILE)
    async with asking("SELECT 2", size=size, answers={"SELECT 2": evil, "SELECT 3": fault}) as asks:
        check(asks.rig.app, "query")
        await asks.rig.press("enter")
        check(asks.rig.app, "query")
        await asks.rig.press("escape")
        asks.screen.ask("SELECT 3")
        await asks.answered()
        check(asks.rig.app, "query")
