"""A finder, and answers of the records, that a test scripts and holds up where it wants."""

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from tapui.tower.app.services import (
    AnswerFault,
    AnswerForm,
    FinderFault,
    FoundRecord,
    KnownQuestion,
    RecordAnswer,
    RecordText,
    WrittenLine,
)
from tests.tower.scripted import at


def found(
    key: str, excerpt: str, *, kind: str = "prompt", ago: float = 0.0, **fields: object
) -> FoundRecord:
    given: dict[str, object] = {
        "ts": at(ago),
        "session_id": "s1",
        "session": "Fix flaky pairing test",
        "turn": 14,
        "title": excerpt,
        "marks": (),
        "is_cut": False,
    }
    return FoundRecord(key=key, kind=kind, excerpt=excerpt, **(given | fields))  # type: ignore[arg-type]


class ScriptedFinder:
    """Finds a text anywhere in the excerpts; `hold` makes it wait in the middle of a search.

    Made on its thread by calling it, like a class.
    """

    def __init__(self, *records: FoundRecord) -> None:
        self.records = list(records)
        self.texts: dict[str, str] = {}
        self.share = 1.0
        self.damaged_lines = 0
        self.catches_up = False
        self.fault: FinderFault | None = None
        self.looked_for: list[str] = []
        self.held = threading.Event()
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.interrupts = 0
        self.closed = threading.Event()
        self.writer: WrittenLine | None = None
        self.writer_fault: FinderFault | None = None
        self.asked_writers: list[tuple[Path, int, str]] = []

    def __call__(self) -> "ScriptedFinder":
        return self

    def hold(self) -> None:
        """Let the next search wait in its middle until `go_on`, or until it is interrupted."""
        self.held.clear()
        self.goes_on.clear()

    def go_on(self) -> None:
        self.goes_on.set()

    def writer_of(self, path: Path, line: int, text: str) -> WrittenLine | None:
        self.asked_writers.append((path, line, text))
        if self.writer_fault is not None:
            raise self.writer_fault
        return self.writer

    def find(self, text: str, most: int) -> Iterator[list[FoundRecord]]:
        self.looked_for.append(text)
        if self.fault is not None:
            raise self.fault
        hits = [one for one in self.records if text.casefold() in one.excerpt.casefold()]
        yield hits[:1]
        if not self.goes_on.is_set():
            self.held.set()
            assert self.goes_on.wait(30)
        yield hits[1:most]

    def indexed(self) -> float:
        return self.share

    def damaged(self) -> int:
        return self.damaged_lines

    def is_catching_up(self) -> bool:
        return self.catches_up

    def read(self, found: FoundRecord) -> RecordText | None:
        text = self.texts.get(found.key)
        return None if text is None else RecordText(text, "/code/s1/files/tap/sessions.jsonl", 1)

    def interrupt(self) -> None:
        self.interrupts += 1
        if self.held.is_set():
            self.goes_on.set()

    def close(self) -> None:
        self.closed.set()


KNOWN = [
    KnownQuestion("denied", "What was denied.", (("since", "30d", "only since then"),)),
    KnownQuestion(
        "slowest-calls",
        "The calls that took longest.",
        (("since", "30d", "only calls since then"), ("limit", "20", "so many")),
    ),
    KnownQuestion("slowest-days", "The days.", is_own=True),
]


def answered(
    columns: str | list[str], *rows: tuple[str | float | None, ...], **more: object
) -> RecordAnswer:
    """Return an answer with these columns, in a text a word each."""
    names = columns.split() if isinstance(columns, str) else columns
    texts = [["" if one is None else str(one) for one in row] for row in rows]
    numbers = frozenset(
        at for at in range(len(names)) if all(not isinstance(row[at], str) for row in rows)
    )
    return RecordAnswer(names, rows, texts, numbers, **more)  # type: ignore[arg-type]


class ScriptedQuestion:
    """An answer that comes once `goes_on` is set; a cancelled one is a fault."""

    def __init__(self, told: RecordAnswer | AnswerFault, goes_on: threading.Event) -> None:
        self._told = told
        self._goes_on = goes_on
        self.is_cancelled = False

    def answer(self) -> RecordAnswer:
        while not self.is_cancelled and not self._goes_on.wait(0.01):
            pass
        if self.is_cancelled:
            raise AnswerFault("it was cancelled")
        if isinstance(self._told, AnswerFault):
            raise self._told
        return self._told

    def cancel(self) -> None:
        self.is_cancelled = True


class ScriptedQuestions:
    """What is answered to which text. Made by calling it, like a class."""

    def __init__(self, answers: Mapping[str, RecordAnswer | AnswerFault]) -> None:
        self.answers = dict(answers)
        self.records: dict[str, tuple[FoundRecord, RecordText]] = {}
        self.asked: list[tuple[str, ScriptedQuestion]] = []
        self.written: list[tuple[RecordAnswer, str, AnswerForm]] = []
        self.write_fault: AnswerFault | None = None
        self.goes_on = threading.Event()
        self.goes_on.set()

    def __call__(self) -> "ScriptedQuestions":
        return self

    def known(self) -> list[KnownQuestion]:
        return KNOWN

    def ask(self, text: str) -> ScriptedQuestion:
        told = self.answers.get(text, AnswerFault(f"there is no question {text}"))
        question = ScriptedQuestion(told, self.goes_on)
        self.asked.append((text, question))
        return question

    def read(self, ref: str) -> tuple[FoundRecord, RecordText] | None:
        return self.records.get(ref)

    def write(self, answer: RecordAnswer, name: str, form: AnswerForm) -> Path:
        if self.write_fault is not None:
            raise self.write_fault
        self.written.append((answer, name, form))
        return Path(f"/home/me/.local/state/tapui/exported/{name}.{form}")
