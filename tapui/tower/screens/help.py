"""The keys, and what the panes show."""

from collections.abc import Iterable, Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from tapui.tower.key_names import key_names
from tapui.tower.panes.pane import PaneKind
from tapui.tower.plain import plain
from tapui.tower.reader import Paragraph, Reader, title
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
        parts: list[Paragraph] = []
        for name, about, keys in self._sections:
            parts.append(title(name))
            parts.extend(Paragraph(f"  {key:<12}{what}") for key, what in keys)
            text = " ".join(about.replace("`", "").replace("*", "").split())
            if text:
                parts += [Paragraph(""), Paragraph(text, "muted")]
            parts.append(Paragraph(""))
        reader = self.query_one(Reader)
        reader.set_parts(parts)
        reader.focus()


def sections(
    current: PaneKind, kinds: Sequence[PaneKind]
) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return what the help tells: the current pane's keys first, then everyone's."""
    everywhere = [
        (" ".join(kind.key for kind in kinds), "go to a pane"),
        ("Tab", "next pane (Shift+Tab: previous)"),
        ("↑ ↓ k j", "move; PgUp and PgDn move by a page"),
        ("Home g", "go to the first row"),
        ("End G", "go to the last row"),
        ("Enter", "open the selected row"),
        ("Esc", "close what is open"),
        ("u", "undo the last move of a provider"),
        ("Ctrl+P", "palette: every action by name"),
        ("t", "next theme"),
        ("?", "this help"),
        ("q", "quit"),
    ]
    told = [_section(current, f"{current.title} (this pane)"), ("Everywhere", "", everywhere)]
    return told + [_section(kind, kind.title) for kind in kinds if kind is not current]


def _section(kind: PaneKind, title: str) -> tuple[str, str, list[tuple[str, str]]]:
    pane = kind.load()
    keys = [(key_names(one), one.tooltip or one.description) for one in pane.own_bindings()]
    return title, pane.HELP or "", keys
