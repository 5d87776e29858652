"""The lines at the top: where we are, how much goes on, what is wrong, which panes there are."""

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from tapui import times
from tapui.tower.panes.pane import PaneKind
from tapui.tower.plain import plain
from tapui.tower.view import View
from tapui.tower.words import quantity, rate


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
    """The panes by key; the current one stands out, a waiting approval shows."""

    class Chosen(Message):
        """The person clicked a tab."""

        def __init__(self, pane_id: str) -> None:
            super().__init__()
            self.pane_id = pane_id

    def __init__(self, kinds: Sequence[PaneKind]) -> None:
        super().__init__()
        self._kinds = kinds
        self._spans: list[tuple[int, int]] = []
        self._line = Content("")

    def show(self, view: View, current: PaneKind) -> None:
        """Paint it anew."""
        for brevity in range(3):
            texts = [self._text(kind, view, brevity, current) for kind in self._kinds]
            if sum(map(len, texts)) <= self.size.width:
                break
        parts: list[Content] = []
        self._spans = []
        column = 0
        for kind, text in zip(self._kinds, texts, strict=True):
            waits = "$warning bold" if kind.alert(view) else "$text-muted"
            parts.append(plain(text, "bold reverse" if kind is current else waits))
            self._spans.append((column, column + len(text)))
            column += len(text)
        line = Content("").join(parts)
        if not line.is_same(self._line):
            self._line = line
            self.refresh()

    @staticmethod
    def _text(kind: PaneKind, view: View, brevity: int, current: PaneKind) -> str:
        note = kind.note(view)
        title = kind.title[:4] if brevity == 2 and kind is not current else kind.title
        text = f"{kind.key} {title}{' ' + note if note else ''} "
        return text if brevity else f" {text}"

    def render(self) -> Content:
        """Return the line."""
        return self._line

    def on_click(self, event: events.Click) -> None:
        """Go to the pane under the mouse."""
        for kind, (start, end) in zip(self._kinds, self._spans, strict=False):
            if start <= event.x - self.styles.padding.left < end:
                self.post_message(self.Chosen(kind.id))


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
