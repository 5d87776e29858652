"""The one way for text to reach a widget: made safe, and never read as markup."""

from textual.content import Content

from tapui.text import safe_text


def plain(text: object, style: str = "", *, limit: int | None = None) -> Content:
    """Return `text` as content that shows it literally on one line, in `style`."""
    return Content.styled(safe_text(str(text), limit=limit), style)


def plain_lines(text: object, style: str = "", *, limit: int | None = None) -> Content:
    """Return `text` as `plain` does, with its line feeds kept."""
    return Content.styled(safe_text(str(text), limit=limit, newlines=True), style)
