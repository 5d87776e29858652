"""Questions that the tower asks the records, over the index of this home."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tapui.files import private_file
from tapui.index import answer_forms
from tapui.index.asking import (
    AnswerTable,
    Cancellation,
    QuestionRefused,
    ask,
    parted,
    questions,
    ref_of,
)
from tapui.index.search import Hit, Search, record_of_ref
from tapui.index.sources import record_folders
from tapui.index.store import IndexMissing, IndexUnusable, damage_words
from tapui.records.reader import Record
from tapui.station.index_finder import IndexUpdate, found_record, record_text
from tapui.text import safe_text
from tapui.tower.app.services import (
    AnswerFault,
    AnswerForm,
    FoundRecord,
    KnownQuestion,
    RecordAnswer,
    RecordText,
)

ROWS = 1_000
"""Rows that a screen shows; `tapui query` prints more."""
INDEX_SECONDS = 20.0
"""How long the index may be brought up to date before what there is answers."""
HELD_SECONDS = 5.0
"""How long another process that keeps the index is waited for."""
_BEHIND = "the newest records are not indexed yet: ask again in a moment"
EXPORTS_FOLDER = "exported"
"""In the state folder, for its owner only."""
_LOOK_SECONDS = 0.05
"""Between two looks whether a question was cancelled while the index is brought up to date."""
_MIB = 1024 * 1024
_FORMS: dict[AnswerForm, Callable[[AnswerTable], str]] = {
    "csv": answer_forms.as_csv,
    "json": answer_forms.as_json,
    "md": lambda table: answer_forms.as_markdown(table) + "\n",
}


class IndexQuestions:
    """Asks the index of `state` (`tower.app.services.RecordQuestions`). `config` is the folder of
    the person's own questions, `clock` seconds since the epoch."""

    def __init__(self, state: Path, config: Path, clock: Callable[[], float] = time.time) -> None:
        self._state = state.absolute()
        self._config = config
        self._clock = clock

    def known(self) -> list[KnownQuestion]:
        try:
            found = questions(self._config)
        except OSError as error:
            raise AnswerFault(f"the questions cannot be read: {error.strerror}") from None
        return [
            KnownQuestion(
                one.name,
                one.about,
                tuple((takes.name, takes.default, takes.about) for takes in one.parameters),
                one.is_own,
            )
            for one in found.values()
        ]

    def ask(self, text: str) -> "IndexQuestion":
        return IndexQuestion(self._state, self._config, text)

    def read(self, ref: str) -> tuple[FoundRecord, RecordText] | None:
        try:
            record = record_of_ref(record_folders(self._state), ref_of(ref))
        except QuestionRefused as error:
            raise AnswerFault(str(error)) from None
        if record is None:
            return None
        hit = self._hit(record)
        if hit is not None:
            return found_record(hit), record_text(record, hit.path)
        found = FoundRecord(
            ref, record.kind, record.ts, record.session_id, record.session_id or "", None, ref, "",
            (), is_cut=False,
        )  # fmt: skip
        return found, record_text(record, "")

    def _hit(self, record: Record) -> Hit | None:
        search = Search(self._state)
        try:
            return search.hit_of(record)
        except IndexUnusable:
            return None  # the record itself needs no index
        finally:
            search.close()

    def write(self, answer: RecordAnswer, name: str, form: AnswerForm) -> Path:
        table = AnswerTable(list(answer.columns), [list(row) for row in answer.rows])
        stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(self._clock()))
        file = f"{name}-{stamp}.{form}"
        try:
            folder = private_file.private_folder(self._state, EXPORTS_FOLDER)
            data = _FORMS[form](table).encode("utf-8", "replace")
            private_file.write_in(folder, file, data, is_lasting=False)
        except OSError as error:
            raise AnswerFault(f"it cannot be written: {error.strerror}") from None
        return folder / file


class IndexQuestion:
    """A question with its process (`tower.app.services.AskedQuestion`)."""

    def __init__(self, state: Path, config: Path, text: str) -> None:
        self._state = state
        self._config = config
        self._text = text
        self._cancellation = Cancellation()

    def cancel(self) -> None:
        self._cancellation.set()

    def answer(self) -> RecordAnswer:
        try:
            name, given = parted(self._text)
            is_new = self._bring_up_to_date()
            self._cancellation.check()
            table = ask(
                self._state,
                self._config,
                name,
                given,
                rows=ROWS,
                cancellation=self._cancellation,
            )
            missing, damage = self._missing()
            behind = missing or ("" if is_new else _BEHIND)
            note = "; ".join(filter(None, (behind, damage)))
        except QuestionRefused as error:
            raise AnswerFault(safe_text(str(error), limit=400)) from None
        except IndexMissing:
            raise AnswerFault("nothing is indexed yet: ask again in a moment") from None
        except IndexUnusable as error:
            said = safe_text(str(error), limit=200)
            raise AnswerFault(f"the index cannot be read: {said}") from None
        return RecordAnswer(
            table.columns,
            table.rows,
            answer_forms.texts(table),
            frozenset(answer_forms.number_columns(table)),
            table.is_truncated,
            note,
        )

    def _bring_up_to_date(self) -> bool:
        """Have what is new indexed, by a process; where a gateway keeps the index, it does that.
        Return whether all is."""
        deadline = time.monotonic() + INDEX_SECONDS
        update = IndexUpdate(self._state)
        try:
            while not update.wait(_LOOK_SECONDS):
                if self._cancellation.is_set or time.monotonic() > deadline:
                    return False
        finally:
            update.end()
        # Another process may keep it, which has not come to the newest records.
        deadline = min(deadline, time.monotonic() + HELD_SECONDS)
        folders = record_folders(self._state)
        search = Search(self._state)
        try:
            while _is_behind(search, folders):
                if self._cancellation.is_set or time.monotonic() > deadline:
                    return False
                time.sleep(_LOOK_SECONDS)
            return True
        finally:
            search.close()

    def _missing(self) -> tuple[str, str]:
        """Return in words what is not indexed, and what of it is damaged."""
        search = Search(self._state)
        try:
            progress, damage = search.progress(), damage_words(search.damaged())
        finally:
            search.close()
        if progress.is_complete:
            return "", damage
        done, total = progress.done // _MIB, progress.total // _MIB
        return f"{done:,} of {total:,} MiB of records are indexed", damage


def _is_behind(search: Search, folders: Sequence[Path]) -> bool:
    try:
        return search.unread(folders) > 0
    except IndexMissing:
        return True
