"""The stored sessions' events, in the form in which the gateway would have recorded them.

The fold is the one by which a session's history is read when it is attached
(`session.history`); what a turn's checks show is that of `past_turns`.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from tapui.hosts.copilot.finding.past_files import WANTED, EventsFile, PastSessions, prefixes_of
from tapui.hosts.copilot.finding.past_turns import PastTurn, SessionPast
from tapui.hosts.copilot.finding.stored_sessions import title_of
from tapui.hosts.copilot.session.history import FOLDED, HistoryFold, time_of
from tapui.hosts.copilot.session.translator import session_label
from tapui.wire import limits
from tapui.wire.events import AnyEvent, ModeChanged, SessionOpened, SessionUpdated
from tapui.wire.subjects import Session
from tapui.wire.surrogates import without_surrogates

FORMAT = 1
"""The version of the files of events (`session.start`) that is known."""
OF_SESSION = frozenset(
    {
        "session.start",
        "session.resume",
        "session.context_changed",
        "session.model_change",
        "session.shutdown",
    }
)
"""Events that say what a session is like."""
_PREFIXES = prefixes_of(FOLDED | OF_SESSION | set(WANTED))


class PastEvent(NamedTuple):
    """An event, when it happened, and the bytes of the line that told it."""

    event: AnyEvent
    ts: str
    size: int


@dataclass(slots=True)
class PastSession:
    """A stored session. `turns` are those that changed files and ended, once all was read."""

    id: str
    events: Iterator[PastEvent]
    turns: list[PastTurn] = field(default_factory=list)


class PastEvents:
    """The sessions that were used since a time, the newest first. `counts` are of what was read,
    `others` sessions whose files have another version.

    Sessions for which `is_recorded` are left out, and counted in `recorded`.
    """

    def __init__(
        self,
        copilot_home: Path,
        since: float,
        is_recorded: Callable[[str], bool] = lambda _session: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._files = PastSessions(copilot_home, since, clock)
        self._home = copilot_home
        self._is_recorded = is_recorded
        self.counts = self._files.counts
        self.recorded = 0
        self.others = 0

    @property
    def total(self) -> int:
        """The bytes of all files that are read."""
        return self._files.total

    @property
    def found(self) -> int:
        """How many files those are."""
        return self._files.found

    def sessions(self) -> Iterator[PastSession]:
        """Yield the sessions; the events of one are read before the next."""
        for one, lines in self._files.opened(_PREFIXES, self._is_wanted):
            found = PastSession(_id(one.session), iter(()))
            found.events = self._told(one, lines, found)
            yield found

    def _is_wanted(self, session: str) -> bool:
        is_recorded = self._is_recorded(_id(session))
        self.recorded += is_recorded
        return not is_recorded

    def _told(
        self, one: EventsFile, lines: Iterator[bytes], found: PastSession
    ) -> Iterator[PastEvent]:
        title = session_label(title_of(self._home, one.session))
        reading = _Reading(found, title or found.id[:8])
        for line in lines:
            event = self._files.event(line)
            if event is None:
                continue
            if event["type"] == "session.start" and event["data"].get("version", FORMAT) != FORMAT:
                self.others += 1
                return
            reading.take(event)
            yield from reading.passed_on(len(line))
        reading.end(is_whole=not self._files.is_late)
        yield from reading.passed_on(0)


class _Reading:
    """One session while it is read."""

    def __init__(self, found: PastSession, label: str) -> None:
        self._found = found
        self._past = SessionPast(found.id)
        self._waiting: list[tuple[AnyEvent, str]] = []
        self._history = HistoryFold(found.id, on_event=self._on_event)
        self._session: Session | None = None
        self._label = without_surrogates(label)
        self._is_shut = False
        self._last = ""

    def _on_event(self, event: AnyEvent, at: str) -> None:
        if isinstance(event, ModeChanged) and self._session is not None:
            self._session = replace(self._session, mode=event.mode)
        self._waiting.append((event, at))

    def passed_on(self, size: int) -> Iterator[PastEvent]:
        told, self._waiting = self._waiting, []
        for event, at in told:
            yield PastEvent(event, at, size)

    def take(self, event: dict[str, Any]) -> None:
        at, is_agent = time_of(event.get("timestamp")), event.get("agentId") is not None
        name, data = event["type"], event["data"]
        if at is None:
            return
        if self._session is None:
            self._session = Session(
                id=self._found.id, label=self._label, cwd="", state="idle", host="copilot",
                providers=[], opened_at=at,
            )  # fmt: skip
            self._waiting.append((SessionOpened(self._found.id, self._session), at))
        self._last = max(self._last, at)
        if not is_agent:
            self._about(name, data, at)
        if name in FOLDED:
            self._history.take_told(name, data, at, event.get("agentId"))
        self._keep(self._past.take(name, data, event["timestamp"], is_agent=is_agent))

    def _about(self, name: str, data: dict[str, Any], at: str) -> None:
        assert self._session is not None
        self._is_shut = name == "session.shutdown"
        if name not in OF_SESSION:
            return
        context = data if name == "session.context_changed" else data.get("context")
        cwd = context.get("cwd") if isinstance(context, dict) else None
        model = data.get("newModel" if name == "session.model_change" else "selectedModel")
        session = self._session
        if isinstance(cwd, str):
            session = replace(session, cwd=without_surrogates(cwd[: limits.MAX_PATH]))
        if isinstance(model, str) and model:
            session = replace(session, model=without_surrogates(model[: limits.MAX_ID]))
        if session != self._session:
            self._session = session
            self._waiting.append((SessionUpdated(self._found.id, session), at))

    def _keep(self, turn: PastTurn | None) -> None:
        if turn is not None:
            self._found.turns.append(turn)

    def end(self, *, is_whole: bool) -> None:
        self._history.end()
        if self._session is None:
            return
        if is_whole:
            self._keep(self._past.end())
        if self._is_shut:
            session = replace(self._session, state="ended", ended_at=self._last)
        else:
            session = self._session
        self._waiting.append((SessionUpdated(self._found.id, session), self._last))


def _id(name: str) -> str:
    """Return the id of a session by its folder's name, which is bytes from outside."""
    return without_surrogates(name)[: limits.MAX_ID]
