"""The lines at the top: where we are, how much goes on, what is wrong, which panes there are."""

from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from tapui.tower import times
from tapui.tower.plain import plain
from tapui.tower.view import View
from tapui.tower.words import quantity


def rate(per_second: float) -> str:
    """Return a rate in four characters: `0`, `128`, `9.9k`, `120k`."""
    if per_second < 1000:
        return f"{per_second:.0f}"
    return f"{per_second / 1000:.1f}k" if per_second < 9950 else f"{per_second / 1000:.0f}k"


class HeaderLine(Widget):
    """Address, sessions, providers, calls in flight, events a second, approvals waiting, clock."""

    def __init__(self, address: str, note: str) -> None:
        super().__init__()
        self._address = address
        self._note = note
        self._line = Content("")

    def show(self, view: View) -> None:
        """Paint it anew, in the longest form that fits."""
        clock = plain(times.clock(view.now), "$text-muted")
        for brevity in range(4):
            left = Content("  ").join(self._parts(view, brevity))
            room = self.size.width - cell_len(left.plain) - cell_len(clock.plain)
            if room > 0:
                break
        line = left + plain(" " * max(room, 1)) + clock
        if not line.is_same(self._line):
            self._line = line
            self.refresh()

    def _parts(self, view: View, brevity: int) -> list[Content]:
        waiting = len(view.waiting)
        parts = [plain("tapui", "bold $primary")] if brevity < 2 else []
        address = self._address if brevity == 0 else self._address.removeprefix("ws://")
        parts.append(plain(address, limit=48))
        if self._note:
            note = self._note.partition(" (")[0] if brevity else self._note
            parts.append(plain(note, "bold $accent", limit=40))
        counts = (
            (len(view.open_sessions), "session"),
            (len(view.providers), "provider"),
            (len(view.state.calls), "call"),
        )
        parts += [
            plain(f"{count} {noun[:4]}" if brevity == 3 else quantity(count, noun))
            for count, noun in counts
        ]
        parts.append(
            plain(f"{rate(view.rate)} events/s" if not brevity else f"{rate(view.rate)}/s")
        )
        if waiting:
            parts.append(plain(f"! {waiting} waiting", "bold $warning"))
        elif not brevity:
            parts.append(plain("none waiting", "$text-muted"))
        return parts

    def render(self) -> Content:
        """Return the line."""
        return self._line


class PaneTabs(Widget):
    """The panes by number; the current one stands out, a waiting approval shows."""

    class Chosen(Message):
        """The person clicked a tab."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, titles: list[str]) -> None:
        super().__init__()
        self._titles = titles
        self._spans: list[tuple[int, int]] = []
        self._line = Content("")

    def show(self, view: View, current: int) -> None:
        """Paint it anew. `current` counts from 1."""
        notes = {
            "Calls": f"({len(view.state.calls)})" if view.state.calls else "",
            "Streams": f"({_unread(view)})" if _unread(view) else "",
            "Approvals": f"({len(view.waiting)}!)" if view.waiting else "",
        }
        parts: list[Content] = []
        self._spans = []
        column = 0
        for number, name in enumerate(self._titles, 1):
            note = notes.get(name, "")
            text = f" {number} {name}{' ' + note if note else ''} "
            is_current = number == current
            waits = name == "Approvals" and note
            style = "bold reverse" if is_current else "$warning bold" if waits else "$text-muted"
            parts.append(plain(text, style))
            self._spans.append((column, column + len(text)))
            column += len(text)
        line = Content("").join(parts)
        if not line.is_same(self._line):
            self._line = line
            self.refresh()

    def render(self) -> Content:
        """Return the line."""
        return self._line

    def on_click(self, event: events.Click) -> None:
        """Go to the pane under the mouse."""
        for number, (start, end) in enumerate(self._spans, 1):
            if start <= event.x - self.styles.padding.left < end:
                self.post_message(self.Chosen(number))


class LinkBanner(Static):
    """Says that the gateway is out of reach, and what can be done."""

    DEFAULT_CLASSES: ClassVar[str] = "banner"

    def show(self, view: View, *, can_start: bool) -> None:
        """Show or hide it."""
        link = view.link
        self.set_class(link.state != "up", "-shown")
        if link.state == "up":
            return
        detail = f": {link.detail}" if link.detail else ""
        what = "Connecting" if not view.run and link.state == "down" else "Gateway lost"
        then = " Trying again." if link.state == "down" and view.run else ""
        key = "  S starts a gateway here." if can_start and view.run else ""
        if link.state == "ended":
            what = "The gateway ended"
            key = "  S starts a gateway here." if can_start else ""
        self.update(plain(f"! {what}{detail}.{then}{key}", limit=300))


def _unread(view: View) -> str:
    count = sum(ring.unread for ring in view.rings.values())
    return rate(count) if count else ""
