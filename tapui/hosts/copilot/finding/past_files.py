"""The stored sessions' files of events, read for what their turns changed and checked.

An agent can write to them. Links and what is no file are not opened, a line that is none of the
CLI's changes nothing, and all of it has a limit in bytes and in time.
"""

import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from tapui import times
from tapui.hosts.copilot.finding.past_turns import PastTurn, SessionPast
from tapui.hosts.copilot.finding.stored_sessions import EVENTS

MAX_LINE = 4 * 1024 * 1024
MOST_BYTES = 8 * 1024**3
MOST_SECONDS = 120.0
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_BUFFER = 1024 * 1024
WANTED = (
    "session.start",
    "session.resume",
    "session.context_changed",
    "session.shutdown",
    "session.snapshot_rewind",
    "user.message",
    "hook.end",
    "assistant.turn_start",
    "assistant.turn_end",
    "abort",
    "tool.execution_start",
    "tool.execution_complete",
    "external_tool.requested",
    "system.notification",
)
TYPED = b'{"type":"'
_ENDED = re.compile(rb'\{"type":"tool\.execution_complete","data":\{"toolCallId":"([^"\\]{1,400})"')
_HOOK = re.compile(
    rb'\{"type":"hook\.end","data":\{"hookInvocationId":"[^"\\]*","hookType":"([^"\\]*)"'
)
_EDITED = b'"fileEdits":['


def prefixes_of(names: Iterable[str]) -> tuple[bytes, ...]:
    """Return how the lines of events begin as the CLI writes them."""
    return tuple(TYPED + f'{name}"'.encode() for name in names)


_PREFIXES = prefixes_of(WANTED)


class PastCounts(msgspec.Struct, rename="camel"):
    """What was read, and what came of it. `damaged` are lines that are no events."""

    sessions: int = 0
    turns: int = 0
    """Those that changed files and ended."""
    checked: int = 0
    failed: int = 0
    unchecked: int = 0
    unknown: int = 0
    bytes: int = 0
    damaged: int = 0
    too_long: int = 0
    """Lines over `MAX_LINE`: they were passed over."""
    unreadable: int = 0
    """Files that are links, no files, or cannot be read."""
    left_out: int = 0
    """Older sessions that were not read: the limit in bytes or in time was reached."""


@dataclass(frozen=True, slots=True)
class EventsFile:
    """A stored session's events. `used` is when the file was written last (epoch), `size` in
    bytes."""

    session: str
    path: Path
    used: float
    size: int


class PastSessions:
    """The sessions that were used since a time, the newest first. `counts` are of what was read."""

    def __init__(
        self, copilot_home: Path, since: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.counts = PastCounts()
        self.total = 0
        """The bytes of all files that are read."""
        self.found = 0
        """How many files those are."""
        self.is_late = False
        """Whether the time was over within a file."""
        self._since = since
        self._clock = clock
        self._home = copilot_home

    def turns(self) -> Iterator[PastTurn]:
        """Yield the turns that changed files and ended; of a session the oldest first."""
        for one, lines in self.opened(_PREFIXES):
            past = SessionPast(one.session)
            for line in lines:
                if (turn := self._take(past, line)) is not None:
                    yield from self._counted(turn)
            if not self.is_late and (turn := past.end()) is not None:
                yield from self._counted(turn)

    def opened(
        self, prefixes: tuple[bytes, ...], is_wanted: Callable[[str], bool] = lambda _session: True
    ) -> Iterator[tuple[EventsFile, Iterator[bytes]]]:
        """Yield the files with their lines that begin so, and those that begin as none of the
        CLI's; `is_wanted` is asked with the session."""
        counts, until = self.counts, self._clock() + MOST_SECONDS
        files = [one for one in self._files() if is_wanted(one.session)]
        self.found, self.total = len(files), sum(one.size for one in files)
        for number, one in enumerate(files):
            if self._clock() > until or counts.bytes > MOST_BYTES:
                counts.left_out += len(files) - number
                return
            try:
                with os.fdopen(os.open(one.path, _FLAGS), "rb", _BUFFER) as file:
                    about = os.fstat(file.fileno())
                    if not stat.S_ISREG(about.st_mode):
                        counts.unreadable += 1
                        continue
                    counts.sessions += 1
                    yield one, self._lines(file, about.st_size, prefixes, until)
            except OSError:
                counts.unreadable += 1

    def _files(self) -> list[EventsFile]:
        found: list[EventsFile] = []
        try:
            with os.scandir(self._home / "session-state") as entries:
                found = [one for one in map(self._file, entries) if one is not None]
        except FileNotFoundError:
            return []  # no CLI has ever run here
        except OSError:
            self.counts.unreadable += 1
        return sorted(found, key=lambda one: one.used, reverse=True)

    def _file(self, entry: "os.DirEntry[str]") -> EventsFile | None:
        path = Path(entry.path) / EVENTS
        try:
            if not entry.is_dir(follow_symlinks=False):
                return None
            about = path.stat(follow_symlinks=False)
        except FileNotFoundError:
            return None  # nothing was ever said in it
        except OSError:
            self.counts.unreadable += 1
            return None
        if about.st_mtime < self._since:
            return None
        if not stat.S_ISREG(about.st_mode):
            self.counts.unreadable += 1
            return None
        return EventsFile(entry.name, path, about.st_mtime, about.st_size)

    def _counted(self, turn: PastTurn) -> Iterator[PastTurn]:
        began = times.epoch(turn.started_at)
        if began is None or began < self._since:
            return
        counts = self.counts
        counts.turns += 1
        setattr(counts, turn.state, getattr(counts, turn.state) + 1)
        yield turn

    def _lines(
        self, file: BinaryIO, size: int, prefixes: tuple[bytes, ...], until: float
    ) -> Iterator[bytes]:
        """Yield the lines that may matter, up to the size that the file had at first."""
        try:
            for line in self._bounded(file, size):
                if line.startswith(prefixes) or not line.startswith(TYPED):
                    yield line
                    if self._clock() > until:
                        self.counts.left_out += 1
                        self.is_late = True
                        return
        except OSError:
            self.counts.unreadable += 1

    def _bounded(self, file: BinaryIO, size: int) -> Iterator[bytes]:
        counts = self.counts
        left = size
        while left > 0:
            line = file.readline(MAX_LINE + 1)
            if not line:
                return
            left -= len(line)
            counts.bytes += len(line)
            if len(line) > MAX_LINE and line[-1:] != b"\n":
                counts.too_long += 1
                while left > 0 and line and line[-1:] != b"\n":
                    line = file.readline(MAX_LINE)
                    left -= len(line)
                    counts.bytes += len(line)
                continue
            yield line

    def _take(self, past: SessionPast, line: bytes) -> PastTurn | None:
        ended = _ENDED.match(line)
        hook = _HOOK.match(line)
        if hook is not None and hook[1] != b"agentStop":
            return None
        is_known = ended is None or past.waits_for(ended[1].decode("utf-8", "replace"))
        if not is_known and _EDITED not in line:
            return None  # results are most of the bytes: those of other tools are not decoded
        event = self.event(line)
        if event is None:
            return None
        at = event.get("timestamp")
        is_agent = event.get("agentId") is not None
        told = at if isinstance(at, str) else ""
        return past.take(event["type"], event["data"], told, is_agent=is_agent)

    def event(self, line: bytes) -> dict[str, Any] | None:
        """Return the event of a line: it has a `type` and `data`; a damaged line is counted."""
        try:
            event = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            event = None
        name = event.get("type") if isinstance(event, dict) else None
        data = event.get("data") if isinstance(event, dict) else None
        if not isinstance(name, str) or not isinstance(data, dict):
            self.counts.damaged += 1
            return None
        found: dict[str, Any] = event
        return found
