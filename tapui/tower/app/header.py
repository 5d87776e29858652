"""The lines at the top: how much goes on, what waits, what went wrong, which panes there are."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from textual import events
from textual.content import Content
from textual.message import Message

from tapui import DEFAULT_PORT, times
from tapui.projection.proof import is_at_work, unchecked_sessions, waits_for_shell
from tapui.projection.state import is_local
from tapui.projection.words import UNCHECKED_ANSWERS, unsupervised
from tapui.text import cut
from tapui.tower.app.view import View
from tapui.tower.table.pane import PaneKind, is_calm, sign_style
from tapui.tower.textual.widgets import TextLine, plain
from tapui.tower.wording.words import quantity
from tapui.wire.subjects import Session


class HeaderPart(NamedTuple):
    """A part of the header; `act` is what a click on it does."""

    text: str
    style: str = ""
    act: str = ""


NAMED = 2
"""Sessions in which something failed that are named; of more there is one sum, and the newest. Of
those that rest unchecked the newest is named."""
_FORMS = ((0, NAMED), (1, NAMED), (1, 1), (2, 0), (3, 0), (4, 0))
"""How the header gives up room: brevity (`_parts`), and how many sessions it names."""
NAME = 32
"""Characters of a session's name there."""
Note: TypeAlias = str | Callable[[View], str]
"""What is said of the tower itself: its first words, and more in parentheses."""


class HeaderLine(TextLine):
    """Sessions, what waits, what failed, what is unchecked, the clock. While the gateway is out of
    reach it shows that and what can be done."""

    def __init__(self, address: str, note: Note) -> None:
        super().__init__()
        self._address = "" if address.endswith(f":{DEFAULT_PORT}") else address
        self._note = note
        self._shown: tuple[View, str] | None = None
        self._painted: tuple[object, ...] = ()
        """What the line was made of that is shown."""

    def on_resize(self) -> None:
        if self._shown is not None:
            view, start_key = self._shown
            self.show(view, start_key=start_key)

    def show(self, view: View, *, start_key: str) -> None:
        """Paint it anew, in the longest form that fits. `start_key` starts a gateway here; "" where
        none can be started."""
        self._shown = (view, start_key)
        now = times.clock(view.now)
        trouble = link_trouble(view, start_key)
        self.set_class(bool(trouble), "-trouble")
        width = max(self.size.width - 2, 1)
        unchecked = unchecked_sessions(view.state)
        for brevity, named in _FORMS:
            parts = [HeaderPart(trouble)]
            if not trouble:
                parts = self._parts(view, brevity, named, unchecked)
            used = sum(len(one.text) for one in parts) + 3 * (len(parts) - 1)
            if used + len(now) + 1 <= width:
                break
        painted = (parts, now, width)
        if painted == self._painted:
            return
        self._painted, clock = painted, plain(now, "$text-muted")
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

    def _parts(
        self, view: View, brevity: int, named: int, unchecked: Sequence[Session]
    ) -> list[HeaderPart]:
        """Return the parts: brevity 0 has all of them, 4 the fewest and shortest."""
        sessions = [one for one in view.open_sessions if not is_local(one)]
        busy = sum(is_at_work(view.state, one) for one in sessions)
        waiting = len(view.waiting)
        parts = [HeaderPart("tapui", "bold $primary")] if brevity < 4 else []
        words = quantity(len(sessions), "session") if sessions else "no session"
        if busy:
            words = f"{words}, {busy} busy" if brevity < 2 else f"{busy} busy"
        shells = sum(waits_for_shell(view.state, one) for one in sessions)
        if shells and brevity < 2:
            words += f", {shells} {'waits' if shells == 1 else 'wait'} for a shell"
        counts = [HeaderPart(words, "", "app.pane('sessions')")]
        alarms: list[HeaderPart] = []
        if view.started is not None and view.started.unchecked:
            text = UNCHECKED_ANSWERS if brevity < 3 else "not checked"
            alarms.append(HeaderPart(text, "bold $error"))
        if waiting:
            alarms.append(HeaderPart(f"! {waiting} waiting", "bold $warning", "app.answer"))
        failed = _failed_texts(view, named, is_short=brevity == 4)
        alarms += [HeaderPart(text, "bold $error", "app.next_failure") for text in failed]
        if unchecked:
            text = f"○ {len(unchecked)}{' unchecked' if brevity < 4 else ''}"
            if named:
                text += f": {_names(view, unchecked[0].id, len(unchecked))}"
            alarms.append(HeaderPart(text, "bold", "app.pane('sessions')"))
        alone = [one for one in sessions if unsupervised(one)]
        if alone:
            words = f"{len(alone)} unsupervised" if brevity < 3 else f"{len(alone)} alone"
            if named:
                words += f": {_names(view, alone[0].id, len(alone))}"
            alarms.append(HeaderPart(words, "bold $error", "app.pane('sessions')"))
        judged = view.judged
        if judged is not None and not judged.may_decide:
            text = "may not decide" if brevity < 3 else "mute"
            alarms.append(HeaderPart(text, "bold $error"))
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


def _failed_texts(view: View, named: int, *, is_short: bool) -> list[str]:
    """Return what failed and was not seen: each session with its name, or one sum, which names the
    newest where at least one may be `named`."""
    failed = view.unseen_failures
    if not failed:
        return []
    if len(failed) <= named:
        return [
            f"✗ {count}: {cut(view.session_name(session_id), NAME)}"
            for session_id, count in failed.most_common()
        ]
    if named:
        newest = next(one.session_id for one in reversed(view.failures) if one.session_id in failed)
        return [f"✗ {failed.total()}: {_names(view, newest, len(failed))}"]
    return [f"✗ {failed.total()}" if is_short else f"✗ {failed.total()} failed"]


def _names(view: View, session_id: str, count: int) -> str:
    """Return the name of one of so many sessions, and how many others there are."""
    more = f", {count - 1} more" if count > 1 else ""
    return f"{cut(view.session_name(session_id), NAME)}{more}"


class PaneTabs(TextLine):
    """The panes by key; the current one stands out. A click goes to one."""

    class Chosen(Message):
        """The person clicked a tab."""

        def __init__(self, pane_id: str) -> None:
            super().__init__()
            self.pane_id = pane_id

    def __init__(self, kinds: Sequence[PaneKind], sign_of: Callable[[PaneKind, View], str]) -> None:
        super().__init__()
        self._kinds = kinds
        self._sign_of = sign_of
        self._shown: tuple[View, PaneKind] | None = None

    def on_resize(self) -> None:
        if self._shown is not None:
            self.show(*self._shown)

    def show(self, view: View, current: PaneKind) -> None:
        self._shown = (view, current)
        for brevity in range(4):
            signs = [self._sign_of(kind, view) for kind in self._kinds]
            if brevity == 2:
                signs = ["" if is_calm(sign) else sign for sign in signs]
            texts = [
                self._text(kind, sign, brevity, current)
                for kind, sign in zip(self._kinds, signs, strict=True)
            ]
            if sum(map(len, texts)) - 1 <= self.size.width:  # the last blank may be cut
                break
        parts: list[Content] = []
        spans: list[tuple[int, int, str]] = []
        column = 0
        for kind, text, sign in zip(self._kinds, texts, signs, strict=True):
            style = "bold reverse" if kind is current else "$text-muted"
            words, sign_, rest = text.rpartition(sign) if sign else (text, "", "")
            is_loud = sign_style(sign) and kind is not current
            parts += [plain(words, style), plain(sign_, sign_style(sign) if is_loud else style)]
            parts.append(plain(rest, style))
            spans.append((column, column + len(text), kind.id))
            column += len(text)
        self.set_line(Content("").join(parts), spans)

    @staticmethod
    def _text(kind: PaneKind, sign: str, brevity: int, current: PaneKind) -> str:
        title = kind.title[:4] if brevity == 3 and kind is not current else kind.title
        text = f"{kind.key} {title}{' ' + sign if sign else ''} "
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
