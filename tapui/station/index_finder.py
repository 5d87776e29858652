"""What the tower finds with: the index of this home, brought up to date while it is needed."""

import logging
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Raw

from tapui.index.search import Hit, Search, query_of, record_of
from tapui.index.store import IndexMissing, IndexUnusable
from tapui.index.why import blamed, changes_of, lines_of
from tapui.records.reader import Record
from tapui.runtime.children.supervisor import ProgramLog, own_program
from tapui.text import safe_text
from tapui.tower.app.services import FinderFault, FoundRecord, RecordText, WrittenLine
from tapui.tower.calls.bodies import body_of
from tapui.wire.codec import encode

END_SECONDS = 5.0
"""How long the process that brings the index up to date may take to end."""
AGAIN_SECONDS = 5.0
"""Before an index that cannot be used is tried to be made again: the disk may be full."""
_NOTHING = "There is nothing to look for: type words of letters or digits."
_FIRST = "The index is being made: what is recorded can be found as it grows."

_HEAD = frozenset({"v", "run", "seq", "ts", "sessionId"})
"""Fields of a record that its hit says already, or that say nothing to a person."""

_log = logging.getLogger(__name__)


class IndexFinder:
    """Finds in the index of `state_dir` (`tower.finding.Finder`).

    A process of its own brings the index up to date first, and makes it again where it cannot be
    used. Where a running gateway keeps the index, that process ends at once.
    """

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir.absolute()
        self._search = Search(self._state_dir)
        self._hits: dict[str, Hit] = {}
        self._hits_before: dict[str, Hit] = {}
        self._updating = IndexUpdate(self._state_dir)

    def find(self, text: str, most: int) -> Iterator[list[FoundRecord]]:
        """Yield what is found of a text that is being typed: its last word may be a beginning."""
        query = query_of(text, is_typing=True)
        if query.is_empty:
            raise FinderFault(_NOTHING)
        self._hits_before, self._hits = self._hits, {}  # some of them may still be on screen
        try:
            for hits in self._search.find(query, limit=most):
                self._hits |= {str(hit.id): hit for hit in hits}
                yield [found_record(hit) for hit in hits]
        except IndexUnusable as error:
            raise self._fault(error) from None

    def indexed(self) -> float:
        """Return the share of the records' bytes that is indexed."""
        try:
            progress = self._search.progress()
        except IndexUnusable as error:
            raise self._fault(error) from None
        return 1.0 if progress.is_complete else progress.done / progress.total

    def damaged(self) -> int:
        """Return how many lines of the records are damaged, and cannot be found."""
        try:
            return self._search.damaged()
        except IndexUnusable as error:
            raise self._fault(error) from None

    def is_catching_up(self) -> bool:
        return self._updating.is_running

    def read(self, found: FoundRecord) -> RecordText | None:
        hit = self._hits.get(found.key) or self._hits_before.get(found.key)
        record = record_of(hit) if hit is not None else None
        return record_text(record, hit.path) if hit is not None and record is not None else None

    def writer_of(self, path: Path, line: int, text: str) -> WrittenLine | None:
        """Return the last change of a line, as `tapui why` tells it."""
        try:
            lines = lines_of(path)
            if not 0 < line <= len(lines) or lines[line - 1] != text:
                return None
            found = blamed(changes_of(self._search, path), lines, line)
        except IndexUnusable as error:
            raise self._fault(error) from None
        except OSError as error:
            raise FinderFault(error.strerror or str(error)) from None
        if found is None:
            return None
        one = found.change
        is_sure = found.is_sure and not one.is_probable
        return WrittenLine(
            one.ts, one.session_id, one.session, one.turn, one.prompt, one.title, is_sure
        )

    def interrupt(self) -> None:
        """End a search in another thread."""
        self._search.interrupt()

    def close(self) -> None:
        self._search.close()
        self._updating.end()

    def _fault(self, error: IndexUnusable) -> FinderFault:
        if not error.is_replaced:
            return FinderFault(f"The index cannot be read: {safe_text(str(error), limit=200)}.")
        if self._updating.is_over(AGAIN_SECONDS):
            self._updating.end()
            self._updating = IndexUpdate(self._state_dir)
        if isinstance(error, IndexMissing):
            return FinderFault(_FIRST, will_pass=True)
        said = safe_text(str(error), limit=200)
        return FinderFault(
            f"The index cannot be used ({said}). It is made again from the records.", will_pass=True
        )


class IndexUpdate:
    """A process that indexes what is new, and ends. What it logs goes to the log of this one."""

    def __init__(self, state_dir: Path) -> None:
        command = own_program("tapui.index", str(state_dir), "--idle", "0", environ=os.environ)
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `end`
        self._process: subprocess.Popen[bytes] | None = None
        self._began = time.monotonic()
        try:
            self._process = subprocess.Popen(
                command.argv,
                env=dict(command.environ),
                cwd=command.cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=self._output,
                start_new_session=True,
            )
        except OSError as error:
            _log.warning("the index cannot be brought up to date: %s", error)

    def wait(self, seconds: float) -> bool:
        """Wait until it has ended, for at most so long; return whether it has."""
        process = self._process
        try:
            return process is None or process.wait(seconds) is not None
        except subprocess.TimeoutExpired:
            return False

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def is_over(self, seconds: float) -> bool:
        """Return whether it has ended, and its start is so long ago that another is worth it."""
        return not self.is_running and time.monotonic() - self._began > seconds

    def end(self) -> None:
        """Let it end: what is indexed stays. Its log is taken over."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._output.seek(0)
        log = ProgramLog()
        for line in self._output.read().decode("utf-8", "replace").splitlines():
            log.take("stderr", line)
        self._output.close()


def record_text(record: Record, path: str) -> RecordText:
    """Return a record for the screen; `path` is its file."""
    fields = msgspec.json.decode(record.line, type=dict[str, Raw])
    said = {name: given for name, given in fields.items() if name not in _HEAD}
    return RecordText(body_of(Raw(encode(said))), path, record.masked)


def found_record(hit: Hit) -> FoundRecord:
    return FoundRecord(
        str(hit.id),
        hit.kind,
        hit.ts,
        hit.session_id,
        hit.session,
        hit.turn,
        hit.title,
        hit.excerpt,
        tuple(hit.marks),
        hit.is_cut,
    )
