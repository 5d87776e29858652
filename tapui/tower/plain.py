"""The one way for text to reach a widget: made safe, and never read as markup."""

from textual.content import Content

from tapui.text import NAME_LENGTH, safe_text
from tapui.tower.marks import Mark


def plain(text: object, style: str = "", *, limit: int | None = None) -> Content:
    """Return `text` as content that shows it literally on one line, in `style`."""
    return Content.styled(safe_text(str(text), limit=limit), style)


def plain_lines(text: object, style: str = "") -> Content:
    """Return `text` as `plain` does, with its line feeds kept."""
    return Content.styled(safe_text(str(text), newlines=True), style)


def tone_style(tone: str) -> str:
    """Return the style of content for a tone of `marks`."""
    return {"": "", "muted": "$text-muted", "strong": "bold"}.get(tone, f"${tone}")


def headline(mark: Mark, name: str, rest: str) -> Content:
    """Return a state, a name and what is said of it, in one line."""
    return Content("").join(
        [
            plain(f"{mark.text}  ", tone_style(mark.tone)),
            plain(name, "bold", limit=2 * NAME_LENGTH + 1),
            plain(f"  {rest}", "$text-muted"),
        ]
    )
