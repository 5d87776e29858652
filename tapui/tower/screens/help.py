"""The keys, and what the panes show."""

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from tapui.tower.panes.pane import Pane
from tapui.tower.plain import plain
from tapui.tower.reader import Part, Reader, title
from tapui.tower.screens.live import LiveScreen


class HelpScreen(LiveScreen[None]):
    """Sections of keys, as (title, about, [(key, what it does)])."""

    CSS_PATH = "reading.tcss"

    def __init__(self, sections: Iterable[tuple[str, str, list[tuple[str, str]]]]) -> None:
        super().__init__()
        self._sections = list(sections)

    def compose(self) -> ComposeResult:
        """The text."""
        with Vertical(classes="sheet"):
            yield Static(plain("Help", "bold"), classes="headline", markup=False)
            yield Reader()

    def on_mount(self) -> None:
        """Fill it in."""
        parts: list[Part] = []
        for name, about, keys in self._sections:
            parts.append(title(name))
            parts.extend(Part(f"  {key:<12}{what}") for key, what in keys)
            text = " ".join(about.replace("`", "").replace("*", "").split())
            if text:
                parts += [Part(""), Part(text, "muted")]
            parts.append(Part(""))
        reader = self.query_one(Reader)
        reader.set_parts(parts)
        reader.focus()


def sections(current: Pane, panes: Iterable[Pane]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return what the help tells: the current pane's keys first, then everyone's."""
    everywhere = [
        ("1 - 5", "go to a pane"),
        ("Tab", "next pane (Shift+Tab: former)"),
        ("↑ ↓ / k j", "move; Home and End, PgUp and PgDn go further"),
        ("Enter", "open the selected row"),
        ("ctrl+p", "palette: every action by name"),
        ("t", "next theme"),
        ("?", "this help"),
        ("q", "quit"),
    ]
    told = [(f"{current.TITLE} (this pane)", current.HELP or "", _keys(current))]
    told.append(("Everywhere", "", everywhere))
    told += [(pane.TITLE, pane.HELP or "", _keys(pane)) for pane in panes if pane is not current]
    return told


def _keys(pane: Pane) -> list[tuple[str, str]]:
    return [
        (
            binding.key_display or binding.key.replace(",", " "),
            binding.tooltip or binding.description,
        )
        for binding in pane.own_bindings()
    ]
