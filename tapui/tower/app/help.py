"""The keys, what the panes show, and the pages that users read."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from tapui import docs
from tapui.projection.paragraphs import Paragraph, title
from tapui.tower.app.footer import offers
from tapui.tower.keys.bindings import bindings
from tapui.tower.keys.key_table import AREAS, TABLE, Area
from tapui.tower.table.pane import PaneKind
from tapui.tower.textual.dialogs import Choice, ChooseScreen
from tapui.tower.textual.inside import after_refresh
from tapui.tower.textual.reader import Reader
from tapui.tower.textual.sheet import LiveScreen
from tapui.tower.textual.widgets import plain
from tapui.tower.wording.marks import Signs


class ReadScreen(LiveScreen[None]):
    """A headline and a text."""

    def __init__(self, headline: str) -> None:
        super().__init__()
        self._headline = headline

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet"):
            yield Static(plain(self._headline, "bold"), classes="headline", markup=False)
            yield Reader()

    def on_mount(self) -> None:
        self.query_one(Reader).focus()


Section = tuple[str, str, list[tuple[str, str]]]
"""A title, what it is about, and keys with what they do, or signs with what they say."""


class HelpScreen(ReadScreen):
    """Sections of keys; a key leads to the pages."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("topics")
    HAS_HELP = False

    def __init__(self, sections: Iterable[Section]) -> None:
        super().__init__("Help")
        self._sections = list(sections)

    def on_mount(self) -> None:
        parts: list[Paragraph] = []
        for name, about, keys in self._sections:
            parts.append(title(name))
            parts.extend(Paragraph(f"  {key:<11} {what}") for key, what in keys)
            text = " ".join(about.replace("`", "").replace("*", "").split())
            if text:
                parts += [Paragraph(""), Paragraph(text, "muted")]
            parts.append(Paragraph(""))
        self.query_one(Reader).set_parts(parts)

    def action_topics(self) -> None:
        choices = [
            Choice(topic, topic, about.replace("`", "")) for topic, about in docs.TOPICS.items()
        ]
        self.app.push_screen(ChooseScreen("Topics", choices, selected=None), self._open)

    def _open(self, topic: str | None) -> None:
        if topic is not None:
            self.app.push_screen(PageScreen(topic))


class PageScreen(ReadScreen):
    """A page, as `tapui help TOPIC` has it."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"Help: {topic}")
        self._topic = topic

    def on_resize(self) -> None:
        """Lay the page out for the room there is: tables depend on it."""
        super().on_resize()
        after_refresh(self, self._lay_out)

    def _lay_out(self) -> None:
        reader = self.query_one(Reader)
        width = reader.scrollable_content_region.width
        if width > 0:
            reader.set_parts(_laid_out(docs.page(self._topic), width))


def _laid_out(markdown: str, width: int) -> Iterator[Paragraph]:
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.style import Style
    from rich.theme import Theme

    # A mark by which the lines of headings are known again; the tower has styles of its own.
    mark = Style(meta={"heading": True})
    console = Console(width=width, theme=Theme({f"markdown.h{level}": mark for level in range(7)}))
    for line in console.render_lines(Markdown(markdown), pad=False):
        text = "".join(piece.text for piece in line).rstrip()
        is_heading = any(piece.style is not None and piece.style.meta for piece in line)
        yield Paragraph(text, "heading" if is_heading else "", is_laid_out=True)


def legend(parts: Iterable[tuple[str, Signs]]) -> list[tuple[str, str]]:
    """Return what each sign says in these parts of the screen; where there are several, by name."""
    found: dict[str, dict[str, list[str]]] = {}
    for name, signs in parts:
        for sign, words in signs:
            found.setdefault(sign, {}).setdefault(words, []).append(name)
    return [
        (sign, "; ".join(f"{words} ({', '.join(names)})" for words, names in said.items()))
        for sign, said in found.items()
    ]


def sections(
    current: PaneKind,
    kinds: Sequence[PaneKind],
    keys_of: Callable[[str], str],
    areas: Iterable[Area],
    seen: Sequence[PaneKind] = (),
) -> list[Section]:
    """Return the help: what the current pane shows, what the signs on the screen say, then the keys
    of these areas. `seen` are the panes on the screen."""
    shown: list[Section] = [(f"{current.title} (this pane)", current.load().HELP or "", [])]
    signs = legend((kind.title, kind.load().SIGNS) for kind in seen or (current,))
    if signs:
        shown.append(("Signs on this screen", "", signs))
    for area in areas:
        keys = [(keys_of(one.id), one.does) for one in TABLE if one.area == area]
        if area == "screen":
            keys.insert(0, (" ".join(kind.key for kind in kinds), "go to a pane"))
        shown.append((AREAS[area], "", keys))
    others = [kind for kind in kinds if kind is not current]
    return shown + [(kind.title, kind.load().HELP or "", []) for kind in others]


def sheet_sections(screen: LiveScreen[Any]) -> list[Section]:
    """Return what the help says first over a sheet: what it is, its signs, and its keys."""
    about, signs = screen.about()
    keys = [(one.shown, one.words) for one in offers(screen)]
    shown: list[Section] = [("What is open", about, keys)]
    return [*shown, ("Signs on this screen", "", list(signs))] if signs else shown
