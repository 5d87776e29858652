"""A screen with nothing but the streams pane, fed by hand."""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace
from textual.app import App, ComposeResult

from tapui.tower.app.registry import PANES
from tapui.tower.app.view import ALL_TOPICS, View
from tapui.tower.calls.bodies import Bodies
from tapui.tower.keys.bindings import bindings
from tapui.tower.streams import streams_pane
from tapui.tower.streams.streams_pane import StreamsPane
from tapui.tower.streams.tail import Tail
from tapui.tower.textual.terminal import Clipboard
from tapui.tower.themes import theme_files, themes
from tapui.wire.events import Entry, SessionOpened, StreamPosted
from tapui.wire.message import Level, Line, Message
from tapui.wire.subjects import Session
from tapui.wire.tower import Snapshot, StreamLines, TowerSnapshot
from tests.rig.waiting import HUNG, until_async

NOW = 1_795_000_000.0
TS = "2026-11-18T08:26:40.000000Z"
CI = "ci-watch@ci"
CSS = Path(streams_pane.__file__).with_suffix(".tcss")


def line(seq: int, text: str = "", level: Level = "keep", metadata: Any = None) -> Line:
    raw = None if metadata is None else msgspec.Raw(msgspec.json.encode(metadata))
    return Line(seq=seq, ts=TS, level=level, event=text or f"line {seq}", metadata=raw)


class Feeder:
    """Makes the events that a gateway would send, and applies them to a view."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.seq = 0
        view.apply(
            TowerSnapshot(
                seq=0,
                run="r1",
                state=Snapshot(sessions=[], providers=[], calls=[], streams=[], approvals=[]),
            )
        )

    def open(self, id_: str = "s1", label: str = "PR #42") -> None:
        session = Session(
            id=id_, label=label, cwd="/code", state="idle", host="local", providers=[], opened_at=TS
        )
        self.apply(SessionOpened(session_id=id_, session=session))

    def apply(self, event: Any) -> None:
        self.seq += 1
        self.view.apply([Entry(run="r1", seq=self.seq, ts=TS, event=event)])

    def post(self, lines: Iterable[Line], stream: str = CI, session: str = "s1") -> None:
        for one in lines:
            self.apply(StreamPosted(session_id=session, stream=stream, line=one))

    def snapshot(self, last: Line) -> None:
        """The link was down: the streams' newest lines come as a snapshot."""
        self.seq += 100
        state = self.view.state.snapshot()
        streams = [replace(one, last=last, count=last.seq) for one in state.streams]
        self.view.apply(
            TowerSnapshot(seq=self.seq, run="r1", state=replace(state, streams=streams))
        )

    def numbers(self, first: int, last: int, stream: str = CI) -> None:
        self.post((line(seq) for seq in range(first, last + 1)), stream)


class Screen(App[str]):
    CSS_PATH = CSS
    BINDINGS = bindings("close")

    def __init__(self) -> None:
        super().__init__()
        self.view = View()
        self.view.now = NOW
        self.bodies = Bodies(self.view, self.send)
        self.feeder = Feeder(self.view)
        self.sent: list[Message] = []
        self.clock: Callable[[], float] = lambda: NOW
        self.is_demo = False
        self.is_replay = False
        self.has_left = False
        self.lines_above = self.lines_below = 0
        self.has_detail = False

    def compose(self) -> ComposeResult:
        pane = StreamsPane()
        pane.kind = next(kind for kind in PANES if kind.id == "streams")
        yield pane

    def on_mount(self) -> None:
        found, _ = themes.load([theme_files.builtin_folder()])
        for theme in found.values():
            self.register_theme(theme)
        self.theme = "tapui-dark"
        self.pane.set_empty(False)  # as the person finds it: with streams in it
        self.pane.focus_inside()

    def send(self, message: Message) -> None:
        self.sent.append(message)

    def key_of(self, action_id: str) -> str:
        return action_id

    def wake(self, *, is_moving: bool = False) -> None:
        pass

    def give_way(self) -> None:
        pass

    def copy(self, text: str, what: str, *, keeps_lines: bool = False) -> None:
        Clipboard(self, None).put(text, what, keeps_lines=keeps_lines)

    def action_close_topmost(self) -> None:
        self.pane.close_topmost()

    @property
    def pane(self) -> StreamsPane:
        return self.query_one(StreamsPane)

    @property
    def tail(self) -> Tail:
        return self.query_one(Tail)

    async def flush(self) -> None:
        """Paint what changed, as the tower does."""
        dirty = self.view.take_dirty()
        if dirty & StreamsPane.TOPICS:
            self.pane.show(self.view, dirty & ALL_TOPICS)
        await self.settle()

    async def settle(self) -> None:
        """Wait until the filter is done and all widgets have handled their messages."""
        await until_async(lambda: not self.tail.lines.is_working, what="the filter is done")
        done = asyncio.Event()
        self.call_after_refresh(done.set)
        await asyncio.wait_for(done.wait(), HUNG)

    def answer(self, lines: list[Line]) -> None:
        """Answer the last `stream.read`."""
        self.view.apply(StreamLines(id=self.sent[-1].id, lines=lines))  # type: ignore[attr-defined]

    def on_screen(self) -> list[str]:
        """What the tail's rows show, top to bottom, without the gutter."""
        rows = (self.tail.render_line(y).text for y in range(self.tail.size.height))
        return [row[12:].rstrip() for row in rows]

    @property
    def frame(self) -> str:
        """The upper edge of the pane's frame."""
        return str(self.pane.border_title)

    def text_of(self, selector: str) -> str:
        return str(self.pane.query_one(selector).render())
