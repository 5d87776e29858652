"""The streams: which there are, and the tail of one of them or of several together."""

from datetime import UTC, datetime
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
from tapui.tower.app.buffers import Ring
from tapui.tower.app.tower import RowAction
from tapui.tower.app.view import View
from tapui.tower.keys.bindings import bindings
from tapui.tower.streams.sources import TailRow
from tapui.tower.streams.stream_list import COLUMNS, StreamList, heading, row_key, standing
from tapui.tower.streams.stream_pages import StreamPages
from tapui.tower.streams.tail import Tail
from tapui.tower.streams.tail_paint import look_of
from tapui.tower.table.columns import held
from tapui.tower.table.filter import Filter, FilterBar, FilterError, parse
from tapui.tower.table.pane import FrameNote, ListPlace, Pane
from tapui.tower.table.table import Table
from tapui.tower.textual.detail import DetailView
from tapui.tower.textual.sheet import ask
from tapui.tower.textual.widgets import plain, show_in
from tapui.tower.wording.marks import LEVEL, SHOWN_LEVELS, stands_out
from tapui.wire.message import Level, Line
from tapui.wire.tower import StreamRead

FIRST_LINES = 100
"""Lines that a stream is shown with at first, at least."""
STACKED_BELOW = 120
"""A pane narrower than this has its tail below the list."""

_FIRST_STEPS = (
    ("No stream yet. What providers push shows up here, line by line.", ""),
    ("", ""),
    ("To see streams with a scripted session:", ""),
    (f"  {invocation.command('demo')}", "bold $primary"),
)
_read_ids = count(1)


class StreamsPane(Pane):
    """The list of streams and the tail of the selected one, or of those that are marked."""

    TOPICS = frozenset({"streams", "clock"})
    HELP = """\
A line is kept, also shown to you, or also sent to the agent: then its session stands at the line's
end. Its sign says which. The tail follows its stream. Moving up stops that, the last line follows
again; farther up, older lines come out of the records. Pausing stops the display; no line is lost.
A filter is a text or a pattern: `re:err(or)?`. Streams that are marked are shown together, by time,
each line with the name of its stream. A muted stream is stored, but neither shown nor counted. The
bars of a stream are its lines a second in the last 30 s; a silent one has none. Lines that are
hidden are hidden here alone; no record changes. From the list, the arrow keys choose a stream and
Enter goes to its tail; Esc goes back.
"""
    DEFAULT_CLASSES: ClassVar[str] = "-empty -stacked"
    SIGNS = (
        *((mark.glyph, mark.word) for mark in LEVEL.values()),
        ("✗", "it tells of a failure"),
        ("┊", "lines before it are missing"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            "pause",
            "filter",
            "copy",
            "older",
            "mark-stream",
            "levels",
            "next-inject",
            "previous-inject",
            "go-to-time",
            "wrap",
            "hide-above",
            "previous-stream",
            "next-stream",
            "next-match",
            "previous-match",
        ),
        Binding("enter", "details", "open", key_display="⏎"),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.selected: StreamKey | None = None
        self.marked: list[StreamKey] = []
        self._keys: dict[str, StreamKey] = {}
        self._list = StreamList()
        self._rings: dict[StreamKey, Ring] = {}
        """Those of the streams that the tail shows."""
        self._gaps_seen: dict[StreamKey, tuple[int, int]] = {}
        self._searched: Filter | None = None
        self._pages: StreamPages | None = None
        self.tail = Tail()

    def compose(self) -> ComposeResult:
        with Horizontal(classes="filled"):
            yield Table(COLUMNS, has_titles=False)
            with Vertical(classes="reading"):
                yield Static("", classes="heading", markup=False)
                yield self.tail
                yield Static("", classes="standing", markup=False)
                yield FilterBar()
        steps = [
            plain(text, style) for text, style in _FIRST_STEPS[: 1 if self.tower.is_demo else None]
        ]
        yield Static(Content("\n").join(steps), classes="empty", markup=False)

    @property
    def pages(self) -> StreamPages:
        if self._pages is None:
            self._pages = StreamPages(
                self.tail, lambda: self.tower.view, self.tower.send, self._say
            )
        return self._pages

    def show(self, view: View, dirty: frozenset[str]) -> None:
        streams = view.state.streams
        self.set_empty(not streams)
        self._follow_moves(view)
        if self.selected not in streams:
            self._select(view, next(iter(streams), None))
        if self._rings and "streams" in dirty:
            self._take(view)
        self._show_about(view)
        self.show_frame()
        self._keys = {row_key(key): key for key in streams}
        table = self.query_one(Table)
        rows = self._list.rows(view, self.marked, dirty)
        table.set_rows(held(rows, table.selected, table.cursor))

    def place_notes(self) -> list[FrameNote]:
        """Return how the tail stands, and how many lines are newer than what it shows."""
        if self.has_class("-empty") or not self.tail.is_attached:
            return []  # the tail comes after the frame
        lines = self.tail.lines
        place = ListPlace(
            lines.is_following,
            lines.unseen(),
            is_above=False,
            is_paused=lines.is_paused,
            is_part=lines.is_sieved and lines.is_frozen,
        )
        return [place.note]

    def main_widget(self) -> Tail:
        return self.tail

    def go_to(self, key: StreamKey) -> None:
        self.marked = []
        self._select(self.tower.view, key)

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width < STACKED_BELOW, "-stacked")

    def on_table_moved(self) -> None:
        key = self._keys.get(self.query_one(Table).selected or "")
        if key is not None and key != self.selected:
            self._select(self.tower.view, key)

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        self.focus_inside()

    def on_tail_changed(self) -> None:
        self._show_about(self.tower.view)

    def on_tail_edge(self, event: Tail.Edge) -> None:
        """The person came to the end of what is here: read on."""
        event.stop()
        if event.is_older:
            self.pages.older(is_reported=False)
        else:
            self.pages.newer()

    # What can be done

    @property
    def subject(self) -> str:
        return self.selected[1] if self.selected else ""

    def row_actions(self) -> list[RowAction]:
        key = self.selected
        if key is None:
            return []
        is_muted = key in self.tower.view.muted
        mute = (
            "show and count it again" if is_muted else "mute it: stored, neither shown nor counted"
        )
        mark = (
            "show it alone no longer together"
            if key in self.marked
            else "show it together with others"
        )
        actions = [
            RowAction("m", mute, lambda: self._mute(key, is_muted=not is_muted)),
            RowAction("t", mark, self.action_mark),
        ]
        if self.marked:
            actions.append(RowAction("u", "show one stream at a time again", self._unmark))
        return actions + [self._level_action(level) for level in ("keep", "surface", "inject")]

    def _level_action(self, level: Level) -> RowAction:
        levels = self.tail.lines.levels
        does = "hide" if level in levels else "show"
        other = levels ^ {level}
        return RowAction(
            level[0], f"{does} lines that are {LEVEL[level].word}", lambda: self._set_levels(other)
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in (
            "pause",
            "filter",
            "copy",
            "older",
            "details",
            "levels",
            "wrap",
            "hide_above",
            "stands_out",
        ):
            return not self.has_class("-empty")
        if action == "go_to_time":
            return not self.has_class("-empty") and not self.tower.is_replay
        if action == "match":
            return self._searched is not None
        if action in ("step", "mark"):
            return len(self._keys) > 1
        return super().check_action(action, parameters)

    def action_step(self, step: int) -> None:
        self.query_one(Table).action_move(step)

    def action_pause(self) -> None:
        self.tail.action_toggle_pause()

    def action_wrap(self) -> None:
        self.tail.action_toggle_wrap()

    def action_hide_above(self) -> None:
        self.tail.hide_above()

    def action_levels(self) -> None:
        levels = self.tail.lines.levels
        at = SHOWN_LEVELS.index(levels) if levels in SHOWN_LEVELS else -1
        self._set_levels(SHOWN_LEVELS[(at + 1) % len(SHOWN_LEVELS)])

    def _set_levels(self, levels: frozenset[Level]) -> None:
        self.tail.set_levels(levels or SHOWN_LEVELS[0])

    def action_mark(self) -> None:
        key = self.selected
        if key is None:
            return
        if key in self.marked:
            self.marked.remove(key)
        else:
            self.marked.append(key)
        self._open(self.tower.view)
        self.tower.view.touch("streams")
        self.tower.wake()

    def _unmark(self) -> None:
        self.marked.clear()
        self._open(self.tower.view)
        self.tower.view.touch("streams")
        self.tower.wake()

    def _mute(self, key: StreamKey, *, is_muted: bool) -> None:
        self.tower.view.mute(key, is_muted=is_muted)
        self._open(self.tower.view)
        self.tower.wake()

    def set_covered(self, lines: int) -> None:
        """A tail that follows ends above the band."""
        self.tail.styles.padding = (0, 0, max(lines - 1, 0), 0)  # the frame is covered first

    def action_details(self) -> None:
        self.open_shown()

    def shown(self) -> DetailView | None:
        """The line under the tail's cursor."""
        row = self.tail.row
        if row is None:
            return None
        from tapui.tower.streams.line_detail import LineDetail

        key = row.source.key
        session = self.tower.view.session_name(key[0])
        return LineDetail(
            self._whole(row),
            stream=key[1],
            session=session,
            lines=lambda: [one.line for one in self.tail.rows if one.source.key == key],
        )

    def action_copy(self) -> None:
        row = self.tail.row
        if row is not None:
            self.tower.copy(self._whole(row).event, "The line")

    def _whole(self, row: TailRow) -> Line:
        """Return a row's line; the ring may have more of it than the tail took in."""
        return row.source.ring.line(row.seq) or row.line

    def action_older(self) -> None:
        self._show_hidden()
        self.tail.stand()
        self.pages.older(is_reported=True)

    def _show_hidden(self) -> None:
        if self.tail.lines.hidden_to is not None:
            self.tail.hide_above()

    def action_stands_out(self, step: int) -> None:
        if not self.tail.find(step, stands_out):
            where = "after" if step > 0 else "before"
            older = f"; {self.tower.key_of('older')} reads older lines" if step < 0 else ""
            self._say(f"No line sent to the agent, and no failure, {where} this one{older}.")

    def action_go_to_time(self) -> None:
        from tapui.tower.textual.dialogs import MomentScreen

        def go(seconds: float) -> None:
            moment = datetime.fromtimestamp(seconds, UTC)
            self._show_hidden()
            self.tail.stand()
            self.pages.jump(moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))

        ask(self.app, MomentScreen(self.tower.clock()), go)

    # The filter

    def action_filter(self) -> None:
        self.query_one(FilterBar).open(self._filter_text)

    def action_match(self, step: int) -> None:
        searched = self._searched
        if self._filter_text:
            self.tail.action_move(step)
        elif searched is not None and not self.tail.find(
            step, lambda one: searched.is_in(one.event)
        ):
            self._say(f"No further match {'after' if step > 0 else 'before'} this line.")

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
                self._searched = self.tail.lines.filter or self._searched
        except FilterError as error:
            bar.refuse(error)
            return False
        bar.refuse(None)
        return True

    # What the tail shows

    def _shown(self) -> list[StreamKey]:
        """Return the streams of the tail: those that are marked, else the selected one."""
        wanted = self.marked or ([self.selected] if self.selected else [])
        return [key for key in wanted if key not in self.tower.view.muted]

    def _select(self, view: View, key: StreamKey | None) -> None:
        self.selected = key
        if key is not None:
            self.query_one(Table).select(row_key(key))
        if not self.marked:
            self._open(view)
        else:
            self._set_look(view)

    def _open(self, view: View) -> None:
        keys = self._shown()
        if list(self._rings) == keys:
            self._set_look(view)
            return
        self.pages.forget()
        self._rings = {key: view.ring(key) for key in keys}
        self._gaps_seen = {key: (ring.merges, 0) for key, ring in self._rings.items()}
        self._set_look(view)
        self.tail.open(self._rings)
        for key, ring in self._rings.items():
            if key not in view.state.streams:
                continue  # it went while it was shown; what is here of it stays
            first = ring.lines[0].seq if ring.lines else None
            lacks = len(ring.lines) < min(FIRST_LINES, view.state.streams[key].count)
            if (lacks and first != 1) or ring.head is not None:
                self._read(key)
        self._take(view)

    def _set_look(self, view: View) -> None:
        self.tail.set_look(look_of(list(self._rings), view.session_name, self.selected))

    def _follow_moves(self, view: View) -> None:
        """Streams went to another session, which replaced theirs; or they are gone."""
        streams = view.state.streams
        for old, ring in list(self._rings.items()):
            if old in streams:
                continue
            new = next((key for key, one in view.rings.items() if one is ring), None)
            if new is None:
                continue
            self.tail.lines.rename(old, new)
            self._rings = {new if key == old else key: one for key, one in self._rings.items()}
            self._gaps_seen[new] = self._gaps_seen.pop(old)
            self.marked = [new if key == old else key for key in self.marked]
            self.selected = new if self.selected == old else self.selected
        if any(key not in streams for key in self.marked):
            self.marked = [key for key in self.marked if key in streams]
            self._open(view)

    def _take(self, view: View) -> None:
        self._rings = {key: view.ring(key) for key in self._rings}
        self._set_look(view)
        self.tail.take(self._rings)
        self.pages.take()
        if self.tail.lines.is_following and not self.tail.lines.is_paused:
            for key in self._rings:
                view.mark_read(key)
        for key, ring in self._rings.items():
            self._close_gap(key, ring)

    def _close_gap(self, key: StreamKey, ring: Ring) -> None:
        """A snapshot that replaced lost events brings only a stream's last line: read the rest."""
        merges, known = self._gaps_seen[key]
        if ring.merges == merges:
            return
        newest = list(islice(reversed(ring.lines), FIRST_LINES))
        gap = next((new.seq for new, old in pairwise(newest) if new.seq > old.seq + 1), known)
        self._gaps_seen[key] = (ring.merges, gap)
        if gap != known:
            self._read(key)

    def _read(self, key: StreamKey) -> None:
        read_id = f"streams-{next(_read_ids)}"
        self.tower.view.expect_lines(read_id, key)
        self.tower.send(StreamRead(id=read_id, stream=key[1], session_id=key[0], last=FIRST_LINES))

    def _say(self, text: str) -> None:
        self.app.notify(text, markup=False, timeout=4)

    def _show_about(self, view: View) -> None:
        if self.selected not in view.state.streams:
            return
        show_in(self.query_one(".heading", Static), heading(view, self._shown(), self.selected))
        show_in(self.query_one(".standing", Static), standing(view, self.tail, self._shown()))
        self.show_frame()
