"""What sessions changed in their folders, as this tower asked for it: files, and their lines."""

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from tapui.projection.feed import FeedItem, Link
from tapui.projection.state import is_local, is_open
from tapui.tower.app.view import View
from tapui.wire import events as ev
from tapui.wire.changes import (
    ChangedFile,
    ChangesDone,
    ChangesList,
    ChangesRead,
    DiffRead,
    FileDiff,
    Since,
)
from tapui.wire.message import Error, Message

LEAST_SECONDS = 1.0
"""Between two questions for the files of one session: each has the gateway look at the folder."""
AFTER_FAULT_SECONDS = 15.0
"""The same where the last one was refused: what is refused is recorded."""
NEWS_SECONDS = 3.0
"""After which a list on the screen is asked for again where tapui saw nothing happen: another
program may write."""
NEWS_SHARE = 50
"""The same in times that the last answer took: a look takes 6 to 8 µs CPU a file, and looking is to
cost 2 % of a core at most."""
NEWS_MOST = 60.0
"""Seconds that it is at most: the first answer waits for a process to start."""
KEPT_SESSIONS = 4
"""Sessions whose files are kept: up to 4 MiB each."""
LINK_LOST = "the link to the gateway broke"
_SEPARATOR = "\0"


class ComparedWith(NamedTuple):
    """What a folder is compared with. `turn`: the number of a turn; None: the newest."""

    since: Since = "start"
    turn: int | None = None


START = ComparedWith()


class FileKey(NamedTuple):
    """Which file of which session; as a text it is the key of a row and of a detail."""

    session_id: str
    root: str
    path: str

    @property
    def text(self) -> str:
        return _SEPARATOR.join(self)

    @classmethod
    def of(cls, text: str) -> "FileKey":
        parts = text.split(_SEPARATOR)
        return cls(*parts) if len(parts) == 3 else cls("", "", "")


@dataclass(slots=True, eq=False)
class FolderRead:
    """The files that a session changed since `base`. `fault`: why they cannot be told, in words."""

    session_id: str
    base: ComparedWith = START
    found: ChangesList | None = None
    fault: str = ""
    asked: str = ""
    """The id of the question that is not answered yet."""
    asked_at: float | None = None
    """When the last question was sent, in seconds of `ticks`."""
    worked: int = -1
    """The newest event after which files may be others, when it was sent."""
    next_look: float = 0.0
    """When it is asked whether another program has changed files, in seconds of `ticks`."""
    came_at: float | None = None
    """When the newest answer came."""

    def file(self, key: FileKey) -> ChangedFile | None:
        files = self.found.files if self.found is not None else ()
        return next((one for one in files if (one.root, one.path) == key[1:]), None)


OnDone = Callable[[ChangesDone | str], object]
"""Takes what came of an order, or why it was refused."""
OnDiff = Callable[[FileDiff | str], None]
"""Takes the lines of a file, or why there are none."""


class FolderChanges:
    """Asks for what sessions changed, when it is looked at and again when more may have changed.

    `ticks` are seconds that only go forward. What has come is in `view.changed`, too. In a replay
    nothing is asked: there is no folder.
    """

    def __init__(
        self,
        view: View,
        send: Callable[[Message], None],
        ticks: Callable[[], float],
        *,
        is_replay: bool,
    ) -> None:
        self._view = view
        self._send = send
        self._ticks = ticks
        self._is_replay = is_replay
        self._ids = count(1)
        self._reads: OrderedDict[str, FolderRead] = OrderedDict()
        self._is_away = False
        """The person looks at another window."""
        self._diffs: dict[str, OnDiff] = {}
        self._orders: dict[str, OnDone] = {}

    def read_of(self, session_id: str) -> FolderRead:
        """Return what is known of a session, without asking."""
        read = self._reads.get(session_id)
        if read is None:
            read = self._reads[session_id] = FolderRead(session_id)
            while len(self._reads) > KEPT_SESSIONS:
                gone, _ = self._reads.popitem(last=False)
                self._view.changed.pop(gone, None)
        self._reads.move_to_end(session_id)
        return read

    def can_ask(self, session_id: str) -> bool:
        """Return whether the folder of a session can be looked at: it is open, and not tapui's own
        session."""
        session = self._view.state.sessions.get(session_id)
        is_there = session is not None and is_open(session) and not is_local(session)
        return is_there and not self._is_replay and self._view.link.state == "up"

    def look(self, session_id: str) -> FolderRead:
        """Return what is known of a session that is looked at; ask where that may be old."""
        read = self.read_of(session_id)
        worked, now = self._view.worked.get(session_id, 0), self._ticks()
        known = None
        if worked == read.worked and read.found is not None:
            if self._is_away or now < read.next_look:
                return read
            known = read.found.look or None
        if read.asked or (worked == read.worked and not known) or not self.can_ask(session_id):
            return read
        least = AFTER_FAULT_SECONDS if read.fault else LEAST_SECONDS
        if read.asked_at is not None and now - read.asked_at < least:
            return read
        read.asked, read.asked_at, read.worked = f"changes-{next(self._ids)}", now, worked
        self._send(ChangesRead(read.asked, session_id, *read.base, known))
        return read

    def went_away(self) -> None:
        """The person looks at another window: nothing is asked for them meanwhile."""
        self._is_away = True

    def came_back(self) -> None:
        """The person was in another window."""
        self._is_away = False
        self.doubt()

    def doubt(self) -> None:
        """The person may have changed files elsewhere: what they look at next is asked for again,
        unless it is being asked for or has just been."""
        for read in self._reads.values():
            newest = max(read.asked_at or -math.inf, read.came_at or -math.inf)
            if not read.asked and self._ticks() - newest >= LEAST_SECONDS:
                read.worked = -1
        self._view.touch("changes")

    def compare_with(self, session_id: str, base: ComparedWith) -> None:
        """Compare a session's folder with something else from now on, and ask at once."""
        read = self.read_of(session_id)
        if base != read.base:
            self._reads[session_id] = FolderRead(session_id, base)
            self._view.changed.pop(session_id, None)
            self.look(session_id)
            self._view.touch("changes")

    def ask_diff(
        self, session_id: str, file: ChangedFile, on_diff: OnDiff, *, as_patch: bool = False
    ) -> None:
        """Ask for the lines of a file, or for its patch; `on_diff` is called once."""
        if self._view.link.state != "up":
            on_diff(LINK_LOST)
            return
        id_ = f"diff-{next(self._ids)}"
        self._diffs[id_] = on_diff
        base = self.read_of(session_id).base
        place = (file.root, file.path, file.old_path)
        self._send(DiffRead(id_, session_id, *place, *base, as_patch))

    def order(self, make: Callable[[str], Message], on_done: OnDone) -> None:
        """Send what the person does with a changed file, made with an id. `on_done` is called
        once."""
        if self._view.link.state != "up":
            on_done(LINK_LOST)
            return
        id_ = f"change-{next(self._ids)}"
        self._orders[id_] = on_done
        self._send(make(id_))

    def take(self, item: FeedItem) -> None:
        """Take in what the feed yielded, if it answers what was asked here."""
        match item:
            case ChangesList(id=id_, session_id=session_id):
                read = self._reads.get(session_id)
                if read is None or read.asked != id_:
                    return
                now, read.asked = self._ticks(), ""
                read.came_at = now
                took = now - (read.asked_at or now)
                read.next_look = now + min(max(NEWS_SECONDS, NEWS_SHARE * took), NEWS_MOST)
                if item.same:
                    return
                read.found, read.fault = item, ""
                self._view.changed[session_id] = item
            case Error(reply_to="changes.read", id=str(id_)):
                for read in self._reads.values():
                    if read.asked == id_:
                        read.found, read.fault, read.asked = None, item.message, ""
                        self._view.changed.pop(read.session_id, None)
            case FileDiff(id=id_) if id_ in self._diffs:
                self._diffs.pop(id_)(item)
            case Error(reply_to="diff.read", id=str(id_)) if id_ in self._diffs:
                self._diffs.pop(id_)(item.message)
            case ChangesDone(id=id_) if id_ in self._orders:
                self._orders.pop(id_)(item)
            case Error(id=str(id_)) if id_ in self._orders:
                self._orders.pop(id_)(item.message)
            case Link(state=state) if state != "up":
                for read in self._reads.values():
                    read.asked, read.worked = "", -1
                lost, self._diffs = self._diffs, {}
                for on_diff in lost.values():
                    on_diff(LINK_LOST)
                given, self._orders = self._orders, {}
                for on_done in given.values():
                    on_done(LINK_LOST)
            case list():
                # Its tab counts them, also while the pane is hidden.
                session_id = self._view.shown_session
                has_ended = any(_ends_turn(entry.event, session_id) for entry in item)
                if has_ended and not self.read_of(session_id).fault:
                    self.look(session_id)
                return
            case _:
                return
        self._view.touch("changes")


def _ends_turn(event: ev.Event, session_id: str) -> bool:
    return isinstance(event, ev.SessionHappened) and (event.session_id, event.event) == (
        session_id,
        "session.idle",
    )
