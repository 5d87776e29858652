"""The private names of Textual that the tower uses: here, and in no other module.

`PRIVATE` lists each; a test holds that it still exists, so that a new Textual release which moves
one fails there and not on a terminal.
"""

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from textual._compositor import ChopsUpdate, Compositor
from textual.app import App
from textual.await_remove import AwaitRemove
from textual.dom import DOMNode
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Event, InputEvent, Key, Paste
from textual.filter import LineFilter
from textual.geometry import Region, Size
from textual.message import Message
from textual.message_pump import MessagePump
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.theme import Theme
from textual.widget import Widget
from textual.worker import WorkerFailed

from tapui.tower.keys.bindings import mark_read
from tapui.tower.textual.terminal import crash_line
from tapui.tower.themes.themes import without_colours
from tapui.update import UpdatedError

PRIVATE_MODULES = ("textual._compositor",)
PRIVATE: tuple[tuple[type, str], ...] = (
    (App, "_driver"),
    (App, "_exception"),
    (App, "_exception_event"),
    (App, "_return_code"),
    (App, "_print_error_renderables"),
    (App, "_close_messages_no_wait"),
    (App, "_handle_exception"),
    (App, "_prune"),
    (MessagePump, "_dispatch_message"),
    (App, "_registered_themes"),
    (App, "_filters"),
    (LinuxDriver, "_sigcont_application"),
    (Compositor, "_dirty_regions"),
    (Compositor, "_get_renders"),
    (Screen, "_compositor"),
    (Widget, "_scroll_update"),
)
"""(class, private name) of everything of Textual's that is used below."""

_log = logging.getLogger(__name__)


class PlainApp(App[str]):
    """An app whose crash is one line, and which can write to its terminal beside the screen.

    The traceback of a crash goes to the log, without the values of variables: they may be secrets.
    `log_file` is where the caller's logging writes; the line names it.
    """

    log_file: Path | None = None
    crash: Exception | None = None

    def __init__(self, ticks: Callable[[], float] = time.monotonic) -> None:
        self.ticks = ticks
        self._plain_themes: dict[str, tuple[Theme, Theme]] = {}
        self._no_way_back: ExitStack | None = None
        super().__init__()

    def get_driver_class(self) -> type[Driver]:
        kind = super().get_driver_class()
        return ContinuingDriver if kind is LinuxDriver else kind

    def enter_again(self) -> None:
        """The process was stopped and continues: the shell may have set the terminal meanwhile.

        The system sends the same signal after a terminal's end, perhaps once the app has left it.
        """
        if self.is_running and not self.has_left:
            with self.suspend():
                pass

    @property
    def has_left(self) -> bool:
        return self._no_way_back is not None

    async def on_event(self, event: Event) -> None:
        """Leave out what is typed or clicked once the screens are gone: none can take it."""
        if self.screen_stack or not isinstance(event, (InputEvent, Paste)):
            await super().on_event(event)

    def exit(
        self,
        result: str | None = None,
        return_code: int = 0,
        message: RenderableType | None = None,
    ) -> None:
        self._stay_away()
        super().exit(result, return_code, message)

    def _stay_away(self) -> None:
        """Ignore later SIGCONT.

        A hang-up sends one too, and re-entering would leave a reader thread that never ends.
        """
        self._no_way_back = self._no_way_back or ExitStack()
        if self._driver is not None:
            self._no_way_back.enter_context(self._driver.no_automatic_restart())

    def _prune(self, *nodes: Widget, parent: DOMNode | None = None) -> AwaitRemove:
        """Take widgets away. Their workers end first: Textual cancels them only once the children
        are gone, which a worker would look for in vain."""
        gone = {one for node in nodes for one in node.walk_children(with_self=True)}
        for worker in list(self.workers):
            if worker.node in gone:
                worker.cancel()
        return super()._prune(*nodes, parent=parent)

    def _handle_exception(self, error: Exception) -> None:
        """End the app. Textual itself would print a traceback with the variables' values."""
        cause = _cause(error)
        if isinstance(cause, UpdatedError):
            self.needs_restart(cause)
            return
        self._stay_away()
        self._return_code = 1
        if self.crash is None:
            _log.error("the screen failed", exc_info=_cause(error))
            self.crash = self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()

    def needs_restart(self, error: UpdatedError) -> None:
        """What was asked for is no longer there, as tapui was updated: all else keeps running."""
        _log.warning("a part of the screen cannot be loaded", exc_info=error)
        if not error.is_told:
            self.notify(str(error), severity="warning")

    def _print_error_renderables(self) -> None:
        """Print what is to be read once the terminal is the shell's again."""
        if self.crash is not None:
            sys.stderr.write(f"{crash_line(_cause(self.crash), self.log_file)}\n")

    def refresh_css(self, animate: bool = True) -> None:
        """Apply what a theme has changed. Before there is a screen nothing was parsed with other
        variables; to parse all of it twice would take 6 ms of the time to the first frame."""
        if self.screen_stack:
            super().refresh_css(animate)
        else:
            self.stylesheet.set_variables(self.get_css_variables())

    def write_terminal(self, sequence: str) -> None:
        """Write control sequences to the terminal; nothing while there is none."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)

    def add_line_filter(self, line_filter: LineFilter) -> None:
        """Have every painted line go through a filter."""
        self._filters.append(line_filter)

    def get_theme(self, theme_name: str) -> Theme | None:
        """Return a theme by name; Textual asks for every painted line, so without a search."""
        theme = self._registered_themes.get(theme_name) or super().get_theme(theme_name)
        if theme is None or not getattr(self, "no_color", False):  # asked for while it is made
            return theme
        known = self._plain_themes.get(theme_name)
        if known is None or known[0] is not theme:
            known = self._plain_themes[theme_name] = (theme, without_colours(theme))
        return known[1]


_dispatched = MessagePump._dispatch_message  # noqa: SLF001


async def _dispatched_or_told(self: MessagePump, message: Message) -> None:
    """Dispatch a message. Where its handler cannot be loaded, the widget continues with the next:
    Textual would end it behind the app's back."""
    try:
        await _dispatched(self, message)
    except UpdatedError as error:
        if not isinstance(self.app, PlainApp):
            raise
        self.app.needs_restart(error)


MessagePump._dispatch_message = _dispatched_or_told  # type: ignore[method-assign]  # noqa: SLF001


class ContinuingDriver(LinuxDriver):
    """A driver that times keys as they are read, and that also bears to be stopped without having
    left the screen (SIGSTOP).

    Textual's own would enter the screen a second time, with a second thread that reads the keys,
    and never end.
    """

    def __init__(self, app: PlainApp, **options: Any) -> None:
        self._continued = app.enter_again
        self._is_away = False
        self._ticks = app.ticks
        self._calls_soon = asyncio.get_running_loop().call_soon_threadsafe
        super().__init__(app, **options)

    def process_message(self, message: Message) -> None:
        """Take a message from the thread that reads the terminal. A key is timed here: the loop may
        come to it much later."""
        if isinstance(message, (Key, Paste)):
            mark_read(message, self._ticks())
        super().process_message(message)

    def suspend_application_mode(self) -> None:
        super().suspend_application_mode()
        self._is_away = True

    def resume_application_mode(self) -> None:
        self._is_away = False
        super().resume_application_mode()

    def _sigcont_application(self, *frame: Any) -> None:
        """The process continues. Called between any two steps of the main thread."""
        if self._is_away:
            super()._sigcont_application(*frame)
        else:
            self._calls_soon(self._continued)


def after(seconds: float, pump: MessagePump, work: Callable[[], object]) -> asyncio.TimerHandle:
    """Have the app, or a widget, do work in so many seconds.

    Textual's `set_timer` never comes where its task rests for that long as it starts: on a busy
    machine, or where next to nothing is to be waited.
    """
    return asyncio.get_running_loop().call_later(seconds, pump.call_next, work)


def after_refresh(pump: MessagePump, work: Callable[[], object]) -> None:
    """Have a widget do work once it has been painted, unless it has ended by then.

    It is the screen that does what `call_after_refresh` leaves to it, up to a frame later: also for
    a widget whose children, which the work would look for, are gone.
    """

    def work_unless_ended() -> object:
        return work() if pump.is_running else None

    pump.call_after_refresh(work_unless_ended)


def _cause(error: Exception) -> BaseException:
    """Return what happened: Textual wraps the error of a worker."""
    return error.error if isinstance(error, WorkerFailed) else error


def set_virtual_size(view: ScrollView, size: Size) -> None:
    """Set the size of what `view` scrolls over, without a new layout of the whole screen.

    Set the usual way, every row that comes or goes would cost one; only a scroll bar that appears
    or vanishes needs it, and asks for it itself.
    """
    view.set_reactive(Widget.virtual_size, size)
    update: Callable[[Size], None] = view._scroll_update  # noqa: SLF001
    update(size)


class OverScreen(ModalScreen[ScreenResultType]):
    """A screen over another one."""

    def __init__(self, *, classes: str = "") -> None:
        super().__init__(classes=classes or None)
        self._compositor = AttachedCompositor()


class LeanScreen(Screen[ScreenResultType]):
    """A screen that renders of a frame only the lines in which something changed."""

    def __init__(self) -> None:
        super().__init__()
        self._compositor = LeanCompositor()


class AttachedCompositor(Compositor):
    """Puts a screen together out of those of its widgets that have not been removed."""

    @property
    def visible_widgets(self) -> dict[Widget, tuple[Region, Region]]:
        """What is to be rendered, front to back.

        A widget that was removed stays in the layout until the next one, and has no styles then:
        Textual's own `TextArea` fails when it is rendered without.
        """
        placed = super().visible_widgets
        if all(widget.parent is not None for widget in placed):
            return placed
        return {widget: place for widget, place in placed.items() if widget.parent is not None}


class LeanCompositor(AttachedCompositor):
    """Puts a screen together out of its widgets.

    Textual's own renders each widget that overlaps the smallest rectangle around all changes: with
    one line changed in each of two panes, all widgets between them, and the frames and containers
    below each of these. This one goes from the front to the back, renders of each widget the lines
    that changed, and stops where nothing that changed is left uncovered.
    """

    def __init__(self) -> None:
        super().__init__()
        self._changed: list[Region] | None = None

    def render_partial_update(self) -> ChopsUpdate | None:
        self._changed = _joined(self._dirty_regions)
        try:
            return super().render_partial_update()
        finally:
            self._changed = None

    def _get_renders(
        self, crop: Region | None = None
    ) -> Iterable[tuple[Region, Region, list[Strip]]]:
        """Yield (region, the same, its lines) of what is to be put together, front to back."""
        if self._changed is None:
            yield from super()._get_renders(crop)
            return
        left = self._changed
        for widget, (region, clip) in self.visible_widgets.items():
            seen = region.intersection(clip)
            parts = [part for one in left if (part := one.intersection(seen))]
            if not parts:
                continue
            for first, end in _runs(parts):
                lines = Region(seen.x, first, seen.width, end - first)
                yield lines, lines, widget.render_lines(lines.translate(-region.offset))
            left = [rest for one in left for rest in uncovered(one, seen)]
            if not left:
                return


def _joined(regions: Iterable[Region]) -> list[Region]:
    joined: list[Region] = []
    for region in sorted(regions, key=lambda one: (one.x, one.width, one.y)):
        last = joined[-1] if joined else None
        if last is not None and last.column_span == region.column_span and region.y <= last.bottom:
            bottom = max(last.bottom, region.bottom)
            joined[-1] = Region(last.x, last.y, last.width, bottom - last.y)
        else:
            joined.append(region)
    return joined


def _runs(regions: list[Region]) -> Iterator[tuple[int, int]]:
    """Yield (first, end) of the lines of these regions that follow each other."""
    spans = sorted(region.line_span for region in regions)
    first, end = spans[0]
    for start, stop in spans[1:]:
        if start > end:
            yield first, end
            first, end = start, stop
        end = max(end, stop)
    yield first, end


def uncovered(region: Region, cover: Region) -> Iterator[Region]:
    """Yield the parts of a region that `cover` leaves, as rectangles."""
    both = region.intersection(cover)
    if not both:
        yield region
        return
    x, y, width, _height = region
    above = Region(x, y, width, both.y - y)
    below = Region(x, both.bottom, width, region.bottom - both.bottom)
    left = Region(x, both.y, both.x - x, both.height)
    right = Region(both.right, both.y, region.right - both.right, both.height)
    yield from (part for part in (above, left, right, below) if part)
