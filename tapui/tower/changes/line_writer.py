"""Which turn wrote a line of a changed file: by the records, else by who changed the file."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from tapui import times
from tapui.tower.app.services import Finder, FinderFault, WrittenLine
from tapui.tower.app.tower import Tower
from tapui.tower.changes.editor import NoFile, file_in
from tapui.tower.textual.sheet import Sheet
from tapui.tower.turns import steps
from tapui.tower.turns.turn_detail import TurnDetail
from tapui.wire.changes import ChangedFile

_OF_FILE = "The turn that changed the file last: of this line no recorded change is known"
_UNSURE = "This turn probably wrote the line: others changed the file since."


class LineWriterSearch:
    """Looks for the writer of one line of `file` and opens its turn.

    The records are read on a thread: as `tapui why FILE:LINE` does, the changes of the file are
    taken back one by one.
    """

    def __init__(self, tower: Tower, session_id: str, file: ChangedFile) -> None:
        self._tower = tower
        self._session_id = session_id
        self._file = file

    def begin(self, line: int | None, quote: str) -> None:
        """Look for what wrote the line of this number, which says `quote`; None: it is gone."""
        if line is None or self._tower.finder is None:
            self._ended(None)
        else:
            search = self._search(self._tower.finder, line, quote)
            self._tower.run_worker(search, group="line-writer", exclusive=True)

    async def _search(self, make: Callable[[], Finder], line: int, quote: str) -> None:
        found, fault = None, ""
        try:
            path = file_in(self._file.root, self._file.path)
            found = await asyncio.to_thread(_found, make, path, line, quote)
        except (FinderFault, NoFile) as error:
            fault = str(error)
        self._ended(found, fault)

    def _ended(self, found: WrittenLine | None, fault: str = "") -> None:
        """Open the turn of what was found; else that of the newest writer of this session; else say
        what is known."""
        session_id, writers = self._session_id, self._file.by
        turn = found.turn if found is not None else None
        if found is not None:
            session_id = found.session_id or ""
        elif writers:
            turn = writers[0].turn
        key = self._turn_key(session_id, turn)
        if key is not None:
            self._tower.push_screen(Sheet(TurnDetail(key)))
            if found is None:
                self._tower.notify(f"{_OF_FILE}{f': {fault}' if fault else '.'}")
            elif not found.is_sure:
                self._tower.notify(_UNSURE)
        elif found is not None:
            at = times.when(found.ts, self._tower.view.now)
            number = f", turn {turn}" if turn is not None else ""
            asked = f" “{' '.join(found.prompt.split())[:120]}”" if found.prompt else ""
            self._tower.notify(f"{at}  {found.session}{number}{asked}: {found.title}")
        else:
            why = f": {fault}" if fault else ""
            self._tower.notify(f"Which turn wrote this line is not known{why}", severity="warning")

    def _turn_key(self, session_id: str, number: int | None) -> str | None:
        if number is None:
            return None
        turns = steps.keyed_turns(self._tower.view, session_id)
        return next((key for key, turn in turns if turn.number == number), None)


def _found(make: Callable[[], Finder], path: Path, line: int, quote: str) -> WrittenLine | None:
    finder = make()
    try:
        return finder.writer_of(path, line, quote)
    finally:
        finder.close()
