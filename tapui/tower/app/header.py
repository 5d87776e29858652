"""The lines at the top: how much goes on, what waits, what went wrong, which panes there are."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from textual import events
from textual.content import Content
from textual.message import Message

from tapui import DEFAULT_PORT, times
from tapui.projection.state import is_local
from tapui.tower.app.view import View
from tapui.tower.table.pane import PaneKind
from tapui.tower.textual.widgets import TextLine, plain
from tapui.tower.wording.words import quantity


class HeaderPart(NamedTuple):
    """A part of the header; `act` is what a click on it does."""

    text: str
    style: str = ""
    act: str = ""


Note: TypeAlias = str | Callable[[View], str]
"""What is said of the tower itself: its first words, and more in parentheses."""


class HeaderLine(TextLine):
    """Sessions, what waits, what failed, the clock. While the gateway is out of reach it shows that
    and what can be done."""

    def __init__(self, address: str, note: Note) -> None:
        super().__init__()
        self._address = "" if address.endswith(f":{DEFAULT_PORT}") else address
        self._note = note
        self._shown: tuple[View, str] | None = None

    def on_resize(self) -> None:
        if self._shown is not None:
            view, start_key = self._shown
            self.show(view, start_key=start_key)

    def show(self, view: View, *, start_key: str) -> None:
        """Paint it anew, in the longest form that fits. `start_key` starts a gateway here; "" where
        none can be started."""
        self._shown = (view, start_key)
        clock = plain(times.clock(view.now), "$text-muted")
        trouble = link_trouble(view, start_key)
        self.set_class(bool(trouble), "-trouble")
        width = max(self.size.width - 2, 1)
        for brevity in range(5):
            parts = [HeaderPart(trouble)] if trouble else self._parts(view, brevity)
            used = sum(len(one.text) for one in parts) + 3 * (len(parts) - 1)
            if used + clock.cell_length + 1 <= width:
                break
        line, spans = Content(""), []
        for number, part in enumerate(parts):
            if number:
                line += plain("   ")
            start = line.cell_length + 1
            line += plain(part.text, part.style, limit=200)
            spans.append((start, line.cell_length + 1, part.act))
        room = width - line.cell_length - clock.cell_length
        cut = line.truncate(width, ellipsis=True)
        self.set_line(line + plain(" " * room) + clock if room > 0 else cut, spans)

    def _parts(self, view: View, brevity: int) -> list[HeaderPart]:
        """Return the parts: 0 has all of them, 4 the fewest and shortest."""
        sessions = [one for one in view.open_sessions if not is_local(one)]
        busy = sum(one.state == "busy" for one in sessions)
        waiting, failed = len(view.waiting), view.unseen_failures
        parts = [HeaderPart("tapui", "bold $primary")] if brevity < 4 else []
        words = quantity(len(sessions), "session") if sessions else "no session"
        if busy:
            words = f"{words}, {busy} busy" if brevity < 2 else f"{busy} busy"
        counts = [HeaderPart(words, "", "app.pane('sessions')")]
        alarms: list[HeaderPart] = []
        if waiting:
            alarms.append(HeaderPart(f"! {waiting} waiting", "bold $warning", "app.answer"))
        if failed:
            since = times.hour_and_minute(view.looked_at)
            text = f"✗ {failed} failed since you looked, {since}"
            if brevity:
                text = f"✗ {failed} failed since {since}" if brevity < 4 else f"✗ {failed}"
            alarms.append(HeaderPart(text, "bold $error", "app.next_failure"))
        parts += [*counts, *alarms] if brevity <= 1 else [*alarms, *counts]
        if (allowed := view.state.rules_allowed) and brevity < 2:
            parts.append(HeaderPart(f"rules allowed {allowed:,}", "$text-muted"))
        if self._address and brevity < 3:
            address = self._address if brevity < 2 else self._address.removeprefix("ws://")
            parts.append(HeaderPart(address, "$text-muted"))
        note = self._note(view) if callable(self._note) else self._note
        if note and brevity < 4:
            parts.append(HeaderPart(note if not brevity else note.partition(" (")[0], "bold"))
        return parts

    async def on_click(self, event: events.Click) -> None:
        if act := self.at(event.x):
            await self.run_action(act)


class PaneTabs(TextLine):
    """The panes by key; the current one stands out. A click goes to one."""

    class Chosen(Message):
        """The person clicked a tab."""

        def __init__(self, pane_id: str) -> None:
            super().__init__()
            self.pane_id = pane_id

    def __init__(self, kinds: Sequence[PaneKind]) -> None:
        super().__init__()
        self._kinds = kinds
        self._shown: tuple[View, PaneKind] | None = None

    def on_resize(self) -> None:
        if self._shown is not None:
            self.show(*self._shown)

    def show(self, view: View, current: PaneKind) -> None:
        self._shown = (view, current)
        for brevity in range(3):
            texts = [self._text(kind, view, brevity, current) for kind in self._kinds]
            if sum(map(len, texts)) <= self.size.width:
                break
        parts: list[Content] = []
        spans: list[tuple[int, int, str]] = []
        column = 0
        for kind, text in zip(self._kinds, texts, strict=True):
            style = "bold reverse" if kind is current else "$text-muted"
            parts.append(plain(text, style))
            spans.append((column, column + len(text), kind.id))
            column += len(text)
        self.set_line(Content("").join(parts), spans)

    @staticmethod
    def _text(kind: PaneKind, view: View, brevity: int, current: PaneKind) -> str:
        note = kind.note(view)
        title = kind.title[:4] if brevity == 2 and kind is not current else kind.title
        text = f"{kind.key} {title}{' ' + note if note else ''} "
        return text if brevity else f" {text} "

    def on_click(self, event: events.Click) -> None:
        if pane_id := self.at(event.x):
            self.post_message(self.Chosen(pane_id))


def link_trouble(view: View, start_key: str) -> str:
    """Return what is wrong with the link to the gateway, "" while it is up."""
    link = view.link
    if link.state == "up":
        return ""
    detail = f": {link.detail}" if link.detail else ""
    start = f"  {start_key} starts a gateway here." if start_key else ""
    if link.state == "ended":
        return f"! The gateway ended{detail}.{start}"
    if not view.run:
        return f"Connecting{detail} …"
    return f"! Gateway lost{detail}. Trying again.{start}"
