"""How the levels of a stream's lines look."""

from tapui.tower.marks import Mark

LEVEL: dict[str, Mark] = {
    "keep": Mark("·", "keep", "muted"),
    "surface": Mark("▲", "surface", "strong"),
    "inject": Mark("◆", "inject", "accent"),
}
"""Glyph, word and tone of each level."""
