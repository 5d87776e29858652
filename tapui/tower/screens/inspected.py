"""One message of an inspected connection with its fields, and why it was refused."""

from collections.abc import Callable

import msgspec
from msgspec import Raw

from tapui import times
from tapui.tower.bodies import body_of
from tapui.tower.marks import Mark
from tapui.tower.reader import Paragraph, title, value
from tapui.tower.rulings import ruling_of
from tapui.tower.screens.sheet import Keys, Sheet, fact
from tapui.tower.view import View
from tapui.wire.tower import Inspected

_IN = Mark("→", "to the gateway", "accent")
_OUT = Mark("←", "from the gateway", "muted")
_REFUSED = Mark("✗", "refused", "error")


class InspectedScreen(Sheet):
    """A message. `line` returns that of a key, None for one that is no longer kept."""

    def __init__(self, key: str, keys: Keys, line: Callable[[str], Inspected | None]) -> None:
        super().__init__(key, keys)
        self._line = line
        self._shown = line(key)

    def go_to(self, key: str) -> None:
        """Show another message."""
        self._shown = self._line(key) or self._shown
        super().go_to(key)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Show the message."""
        del view, dirty
        line = self._shown
        if line is None:
            return
        way = _IN if line.way == "in" else _OUT
        mark = _REFUSED if line.kind == "error" else way
        self.set_frame(mark, line.kind or "no message", f"{way.word}, {times.moment(line.ts)}")
        whole = "its beginning; " if line.is_cut else ""
        parts = [
            *fact("time", f"{times.date_and_time(line.ts)}  {line.ts}"),
            *fact("size", f"{line.size:,} bytes"),
            *_ruling(line),
            Paragraph(""),
            title(f"fields ({whole}tokens and codes are not shown)"),
            value(line.text if line.is_cut else body_of(Raw(line.text.encode())).text),
        ]
        self.reader.set_parts(parts)

    def copied(self) -> str:
        """Return the message."""
        return self._shown.text if self._shown is not None else ""


def _ruling(line: Inspected) -> list[Paragraph]:
    """Return why the gateway refused, where the message says so."""
    if line.kind != "error" or line.is_cut:
        return []
    try:
        code = msgspec.json.decode(line.text, type=dict[str, object]).get("code")
    except (msgspec.DecodeError, RecursionError):
        return []  # masked text is no JSON any more
    ruling = ruling_of(code)
    return [Paragraph(""), title(f"why: {code}"), value(ruling)] if ruling else []
