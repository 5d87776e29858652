"""Lines that a tail gets from the gateway: pages at its ends, and another time."""

from collections.abc import Callable
from itertools import count

from tapui.projection.state import StreamKey
from tapui.tower.app.view import View
from tapui.tower.streams.lines import Lines, WantedPage
from tapui.tower.streams.tail import Tail
from tapui.wire.limits import STREAM_LINES
from tapui.wire.message import Line, Message
from tapui.wire.tower import StreamLines, StreamRead

MOST_PAGES = 20
"""Pages that are read one after the other for one key, while a filter lets nothing of them
through."""

_read_ids = count(1)


class StreamPages:
    """Asks for pages, one at a time, and puts what comes into the tail.

    `view` returns the model, `say` tells the person something, `send` goes to the gateway.
    """

    def __init__(
        self,
        tail: Tail,
        view: Callable[[], View],
        send: Callable[[Message], None],
        say: Callable[[str], None],
    ) -> None:
        self._tail = tail
        self._view = view
        self._send = send
        self._say = say
        self._pending: tuple[str, WantedPage] | None = None
        self._is_older = True
        self._is_reported = False
        self._left = 0
        self._jumps: dict[str, StreamKey] = {}
        self._jumped: dict[StreamKey, list[Line]] = {}
        self._time = ""

    @property
    def is_reading(self) -> bool:
        """Whether something was asked for and has not come yet."""
        return self._pending is not None or bool(self._jumps)

    def forget(self) -> None:
        """Other streams are shown: nothing is awaited."""
        self._pending = None
        self._jumps.clear()

    def older(self, *, is_reported: bool) -> None:
        """Read lines before those that are here; `is_reported`: say so where there are none."""
        self._begin(is_older=True, is_reported=is_reported)

    def newer(self) -> None:
        self._begin(is_older=False, is_reported=False)

    def _begin(self, *, is_older: bool, is_reported: bool) -> None:
        if not self.is_reading:
            self._is_older, self._is_reported, self._left = is_older, is_reported, MOST_PAGES
            self._ask()

    def _ask(self) -> None:
        lines = self._tail.lines
        before = len(lines.rows)
        wanted = lines.older_wanted() if self._is_older else lines.newer_wanted()
        if wanted is None:
            if self._is_older and self._is_reported:
                self._say(_nothing_older(lines))
            elif not self._is_older:
                self._tail.changed()
                self._go_on(before)
            return
        self._left -= 1
        read_id = f"page-{next(_read_ids)}"
        self._pending = (read_id, wanted)
        self._view().pages.expect(read_id)
        self._send(
            StreamRead(
                id=read_id,
                stream=wanted.key[1],
                session_id=wanted.key[0],
                last=STREAM_LINES,
                before=wanted.before,
                after=wanted.after,
                at=wanted.at or None,
            )
        )

    def jump(self, ts: str) -> None:
        """Show the lines around a time, and the first one after it under the cursor."""
        lines = self._tail.lines
        if lines.covers(ts):
            self._tail.go_to(lines.row_at(ts))
            return
        self.forget()
        self._time, self._jumped = ts, {}
        for key in lines.keys:
            read_id = f"page-{next(_read_ids)}"
            self._jumps[read_id] = key
            self._view().pages.expect(read_id)
            self._send(
                StreamRead(
                    id=read_id, stream=key[1], session_id=key[0], last=STREAM_LINES // 2, at=ts
                )
            )

    def take(self) -> None:
        view = self._view()
        if self._jumps:
            self._take_jumps(view)
        elif self._pending is not None:
            read_id, wanted = self._pending
            if not view.pages.awaits(read_id):
                self._pending = None
                return
            page = view.pages.take(read_id)
            if page is None:
                return
            self._pending = None
            if not isinstance(page, StreamLines):
                self._say(f"These lines cannot be read: {page.message}")
                return
            rows = len(self._tail.rows)
            self._tail.lines.add_page(wanted, page.lines)
            self._tail.changed()
            if not page.lines and self._is_older and self._is_reported:
                self._say(_nothing_older(self._tail.lines))
            self._go_on(rows)

    def _go_on(self, rows: int) -> None:
        lines = self._tail.lines
        if lines.is_working:
            return
        wants = lines.older_wanted() is not None if self._is_older else lines.has_newer
        is_short = len(lines.rows) == rows or len(lines.rows) < self._tail.size.height
        if wants and is_short and self._left > 0 and not lines.is_following:
            self._is_reported = False
            self._left -= 1
            self._ask()

    def _take_jumps(self, view: View) -> None:
        for read_id, key in list(self._jumps.items()):
            if not view.pages.awaits(read_id):
                self.forget()
                return
            page = view.pages.take(read_id)
            if page is not None:
                del self._jumps[read_id]
                self._jumped[key] = page.lines if isinstance(page, StreamLines) else []
        if self._jumps:
            return
        if not any(self._jumped.values()):
            self._say("No lines until then are in the records.")
            return
        self._tail.lines.jump(self._jumped, self._time)
        self._tail.changed()
        self._is_older, self._left = False, 2 * MOST_PAGES
        self._ask()
        self._tail.go_to(self._tail.lines.row_at(self._time))


def _nothing_older(lines: Lines) -> str:
    if not lines.has_first:
        return "No older lines are in the records."
    one = len(lines.keys) == 1
    return "This is the stream's first line." if one else "These are the streams' first lines."
