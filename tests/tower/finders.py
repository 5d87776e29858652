"""A finder that a test scripts, and holds up where it wants."""

import threading
from collections.abc import Iterator

from tapui.tower.app.services import FinderFault, FoundRecord, RecordText
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
        self.catches_up = False
        self.fault: FinderFault | None = None
        self.looked_for: list[str] = []
        self.held = threading.Event()
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.interrupts = 0
        self.closed = threading.Event()

    def __call__(self) -> "ScriptedFinder":
        return self

    def hold(self) -> None:
        """Let the next search wait in its middle until `go_on`, or until it is interrupted."""
        self.held.clear()
        self.goes_on.clear()

    def go_on(self) -> None:
        self.goes_on.set()

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
