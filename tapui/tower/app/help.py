"""The keys, and what the panes show."""

from collections.abc import Callable, Iterable, Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from tapui.tower.keys.table import AREAS, TABLE, Area
from tapui.tower.table.pane import PaneKind
from tapui.tower.textual.live_screen import SHEET_CSS, LiveScreen
from tapui.tower.textual.reader import Paragraph, Reader, title
from tapui.tower.textual.widgets import plain


class HelpScreen(LiveScreen[None]):
    """Sections of keys, as (title, about, [(key, what it does)])."""

    CSS_PATH = SHEET_CSS

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
    current: PaneKind,
    kinds: Sequence[PaneKind],
    keys_of: Callable[[str], str],
    areas: Iterable[Area],
) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return what the help tells: what the current pane shows, then the keys of these areas."""
    told: list[tuple[str, str, list[tuple[str, str]]]] = [
        (f"{current.title} (this pane)", current.load().HELP or "", [])
    ]
    for area in areas:
        keys = [(keys_of(one.id), one.does) for one in TABLE if one.area == area]
        if area == "screen":
            keys.insert(0, (" ".join(kind.key for kind in kinds), "go to a pane"))
        told.append((AREAS[area], "", keys))
    return told + [
        (kind.title, kind.load().HELP or "", []) for kind in kinds if kind is not current
    ]
