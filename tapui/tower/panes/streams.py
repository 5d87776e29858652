"""The streams: which there are, and the tail of one of them."""

from itertools import count, islice, pairwise
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from tapui import invocation
from tapui.projection.state import StreamKey
from tapui.tower.columns import Cell, Column, Row
from tapui.tower.filter import FilterError, parse
from tapui.tower.filter_bar import FilterBar
from tapui.tower.keys.bindings import bindings
from tapui.tower.levels import LEVEL
from tapui.tower.panes.pane import Pane
from tapui.tower.panes.tail import Tail
from tapui.tower.plain import plain
from tapui.tower.rings import RING_LINES, Ring
from tapui.tower.statics import show_in
from tapui.tower.table import Table
from tapui.tower.view import View
from tapui.wire.message import Line
from tapui.wire.tower import StreamRead

OLDER_LINES = 100
"""Lines that are asked for at a time."""
STACKED_BELOW = 96
"""A pane narrower than this has its tail below the list."""

_FIRST_STEPS = (
    ("No stream yet. What providers push shows up here, line by line.", ""),
    ("", ""),
    ("To see streams with a scripted session:", ""),
    (f"  {invocation.command('demo')}", "bold $primary"),
)


class StreamsPane(Pane):
    """The list of streams and the tail of the selected one."""

    TOPICS = frozenset({"streams", "clock"})
    HELP = """\
The tail follows its stream. Moving up stops that, the last line follows again. Pausing stops the
display; no line is lost. A filter is a text or a pattern: `re:err(or)?`. A line is kept, surfaced
(shown to you) or injected (sent to the agent). `┊` marks a line before which others are missing.
From the list, the arrow keys choose a stream and Enter goes to its tail; Esc goes back.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            "pause",
            "filter",
            "copy",
            "older",
            "previous-stream",
            "next-stream",
            "next-match",
            "previous-match",
        ),
        Binding("enter", "details", "open", key_display="⏎"),
    ]
    COLUMNS = (
        Column("stream", 12, 60, grows=True, cuts_middle=True),
        Column("session", 7, 20, rank=2, is_common=True, cuts_middle=True),
        Column("new", 3, 9, right=True),
    )

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.selected: StreamKey | None = None
        self._keys: dict[str, StreamKey] = {}
        self._ring: Ring | None = None
        self._read_ids = count(1)
        self._awaited: tuple[Ring, int, int] | None = None
        self._gap_seen = (0, 0)

    def compose(self) -> ComposeResult:
        """The list, the tail between two lines about it, the filter, and the first steps."""
        with Horizontal(classes="filled"):
            yield Table(self.COLUMNS, has_titles=False)
            with Vertical(classes="reading"):
                yield Static("", classes="heading", markup=False)
                yield Tail()
                yield Static("", classes="standing", markup=False)
                yield FilterBar()
        steps = [
            plain(text, style) for text, style in _FIRST_STEPS[: 1 if self.tower.is_demo else None]
        ]
        yield Static(Content("\n").join(steps), classes="empty", markup=False)

    @property
    def tail(self) -> Tail:
        """The tail."""
        return self.query_one(Tail)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Take in what came and paint it."""
        self.set_empty(not view.state.streams)
        if self.selected not in view.state.streams:
            self._select(view, self._moved(view))
        if self.selected is not None and self._ring is not None and "streams" in dirty:
            self._take(view, self.selected)
        self._show_about(view)
        self.show_frame()
        self._keys = {_row_key(key): key for key in view.state.streams}
        rows = [_row(view, key) for key in view.state.streams]
        table = self.query_one(Table)
        if rows != table.rows:
            table.set_rows(rows)

    def main_widget(self) -> Tail:
        """Return the tail."""
        return self.tail

    def on_resize(self, event: events.Resize) -> None:
        """Put the tail beside or below the list."""
        self.set_class(event.size.width < STACKED_BELOW, "-stacked")

    def on_table_moved(self) -> None:
        """Another stream is selected."""
        key = self._keys.get(self.query_one(Table).selected or "")
        if key is not None and key != self.selected:
            self._select(self.tower.view, key)

    def on_table_opened(self, event: Table.Opened) -> None:
        """Enter in the list goes to the tail."""
        event.stop()
        self.focus_inside()

    def on_tail_changed(self) -> None:
        """Say how the tail stands."""
        self._show_about(self.tower.view)

    def action_step(self, step: int) -> None:
        """Show the next or previous stream."""
        self.query_one(Table).action_move(step)

    def action_pause(self) -> None:
        """Stop painting, or go on."""
        self.tail.action_toggle_pause()

    def action_details(self) -> None:
        """Show the line under the cursor with its metadata."""
        line = self._whole_line()
        if line is None or self.selected is None:
            return
        from tapui.tower.screens.line import LineScreen

        session = self.tower.view.session_name(self.selected[0])
        sheet = LineScreen(
            line, stream=self.selected[1], session=session, lines=lambda: self.tail.rows
        )
        self.app.push_screen(sheet)

    def action_copy(self) -> None:
        """Copy the line under the cursor."""
        line = self._whole_line()
        if line is not None:
            self.tower.copy(line.event, "The line")

    def _whole_line(self) -> Line | None:
        """Return the line under the cursor; the ring may have more of it than the tail took in."""
        line = self.tail.line
        if line is None or self._ring is None:
            return line
        return self._ring.line(line.seq) or line

    def action_older(self) -> None:
        """Ask the gateway for lines before the oldest one here."""
        first = self.tail.lines.first_seq
        ring = self._ring
        if self.selected is None or ring is None or first is None:
            return
        if first <= 1:
            self._say("This is the stream's first line.")
        elif len(ring.lines) >= RING_LINES:
            self._say(f"The tail is full with {RING_LINES:,} lines; older ones are in the records.")
        else:
            self._awaited = (ring, ring.merges, first)
            self._read(self.selected, before=first)

    def action_filter(self) -> None:
        """Type a filter."""
        self.query_one(FilterBar).open(self._filter_text)

    def action_match(self, step: int) -> None:
        """Go to the next or previous line that the filter finds: those are all that are shown."""
        self.tail.action_move(step)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What cannot be done now is not offered."""
        if action in ("pause", "filter", "copy", "older", "details"):
            return not self.has_class("-empty")
        if action == "match":
            return bool(self._filter_text)
        if action == "step":
            return len(self._keys) > 1
        return super().check_action(action, parameters)

    def close_topmost(self) -> bool:
        """Show all lines again; then go from the tail to the list."""
        if self._filter_text:
            self._filter("")
            return True
        if self.tail.has_focus and not self.has_class("-empty"):
            self.screen.set_focus(self.query_one(Table))
            return True
        return False

    def on_filter_bar_typed(self, event: FilterBar.Typed) -> None:
        """Filter by what is typed; a wrong filter is left to be corrected."""
        event.stop()
        if self._filter(event.text) and event.is_done:
            self.query_one(FilterBar).close()
            self.focus_inside()

    @property
    def _filter_text(self) -> str:
        used = self.tail.lines.filter
        return used.text if used else ""

    def _filter(self, text: str) -> bool:
        """Use this filter and return True, or say why not and keep the old one."""
        bar = self.query_one(FilterBar)
        try:
            if text != self._filter_text:
                self.tail.set_filter(parse(text))
        except FilterError as error:
            bar.refuse(error)
            return False
        bar.refuse(None)
        return True

    def _select(self, view: View, key: StreamKey | None) -> None:
        self.selected = key
        self._ring = view.rings.setdefault(key, Ring()) if key else None
        self._awaited = None
        self._gap_seen = (self._ring.merges if self._ring else 0, 0)
        self.tail.open(self._ring or Ring())
        if key is None or self._ring is None:
            return
        self.query_one(Table).select(_row_key(key))
        first = self.tail.lines.first_seq
        posted = view.state.streams[key].count
        lacks = len(self._ring.lines) < min(OLDER_LINES, posted) and (first is None or first > 1)
        if lacks or self._ring.head is not None:
            self._read(key)
        self._take(view, key)

    def _moved(self, view: View) -> StreamKey | None:
        """Return where the shown stream went (its session was replaced), else the first one."""
        for key, ring in view.rings.items():
            if ring is self._ring and key in view.state.streams:
                return key
        return next(iter(view.state.streams), None)

    def _take(self, view: View, key: StreamKey) -> None:
        self._ring = view.rings.setdefault(key, Ring())
        self.tail.take(self._ring)
        if self._awaited is not None:
            ring, merges, first = self._awaited
            if ring is not self._ring or ring.merges != merges:
                self._awaited = None
                if self.tail.lines.first_seq == first:
                    self._say("The gateway has no older lines; the records may have them.")
        if self.tail.lines.is_following and not self.tail.lines.is_paused:
            view.mark_read(key)
        self._close_gap(key, self._ring)

    def _close_gap(self, key: StreamKey, ring: Ring) -> None:
        """A snapshot that replaced lost events brings only a stream's last line: read the rest."""
        merges, asked = self._gap_seen
        if ring.merges == merges:
            return
        newest = list(islice(reversed(ring.lines), OLDER_LINES))
        gap = next((new.seq for new, old in pairwise(newest) if new.seq > old.seq + 1), asked)
        self._gap_seen = (ring.merges, gap)
        if gap != asked:
            self._read(key)

    def _read(self, key: StreamKey, before: int | None = None) -> None:
        read_id = f"streams-{next(self._read_ids)}"
        self.tower.view.expect_lines(read_id, key)
        self.send(
            StreamRead(
                id=read_id, stream=key[1], session_id=key[0], last=OLDER_LINES, before=before
            )
        )

    def _say(self, text: str) -> None:
        self.app.notify(text, markup=False, timeout=4)

    def _show_about(self, view: View) -> None:
        """The line above the tail says what is shown, the one below how it stands."""
        stream = view.state.streams.get(self.selected) if self.selected else None
        if stream is None:
            return
        heading = Content("").join(
            [
                plain(stream.name, "bold"),
                plain(f"  {view.session_name(stream.session_id)}", "$text-muted", limit=66),
                plain(f"  {stream.count:,} lines", "$text-muted"),
            ]
        )
        show_in(self.query_one(".heading", Static), heading)
        show_in(self.query_one(".standing", Static), _standing(self.tail))


def _standing(tail: Tail) -> Content:
    """Return how the tail stands, what is missed, and what the filter leaves."""
    lines = tail.lines
    unseen = lines.unseen()
    about = "up to " if lines.filter and lines.is_frozen else ""
    new = f"{about}{unseen:,} new"
    if lines.is_paused:
        state = plain(f"‖ paused, {new} — Space to resume", "$warning")
    elif lines.is_following:
        state = plain("● following", "$success")
    elif unseen:
        state = plain(f"↓ {new} — End to follow", "$accent")
    else:
        state = plain("○ not following — End to follow", "$text-muted")
    parts = [state]
    if lines.filter:
        parts.append(plain(f"  / {lines.filter.text}", "bold", limit=32))
        parts.append(plain(f"  {len(lines.rows):,} of {lines.count:,} match", "$text-muted"))
    if lines.undecided:
        parts.append(plain(f", {lines.undecided:,} could not be matched", "$warning"))
    if tail.scroll_offset.x:
        parts.append(plain(f"  → {tail.scroll_offset.x}", "$text-muted"))
    return Content("").join(parts)


def _row_key(key: StreamKey) -> str:
    return f"{len(key[0])}:{key[0]}{key[1]}"


def _row(view: View, key: StreamKey) -> Row:
    stream = view.state.streams[key]
    ring = view.rings.get(key)
    unread = ring.unread if ring else 0
    level = LEVEL[stream.last.level] if stream.last else None
    mark = (level.glyph, level.tone) if level else ("·", "muted")
    return Row(
        _row_key(key),
        (
            Cell(stream.name, "strong" if unread else "", *mark),
            Cell(view.session_name(stream.session_id), "muted"),
            Cell(_short(unread), "strong"),
        ),
    )


def _short(number: int) -> str:
    """Return a count of new lines; nothing for none, and no more than can be read at a glance."""
    return ("9k+" if number > 9000 else str(number)) if number else ""
