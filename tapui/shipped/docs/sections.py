"""Documents as sections: how they are split, what a question finds in them, how much is shown.

Documents of tapui and of the person are split at `## ` alone, those of packages at any heading of
Markdown or reStructuredText.
"""

import itertools
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from tapui.text import safe_text

MOST_CHARS = 4000
"""Characters of an answer."""
MOST_SECTIONS = 8
_OVERVIEW = 5
"""Sections of a document that are shown where none has a word of the question."""
_FIRST, _FURTHER = 1_700, 1_000
"""Characters of the first section of a package's, and of others."""
_IN_HEADING = 2
"""What a word is worth more that stands in the heading."""
_WORD = re.compile(r"[^\W_]{2,}")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}#{1,4}\s+(.*?)[\s#]*$")
_UNDERLINE = re.compile(r"([=\-~^*+])\1{2,}\s*$")


class DocSection(NamedTuple):
    """A heading and what stands below it."""

    heading: str
    text: str
    """Without the heading."""


def split(text: str) -> list[DocSection]:
    """Split at `## `, but not in a block of code. What stands before the first has no heading."""
    return _split(text, lambda line, _: line[3:].strip() if line.startswith("## ") else None)


def split_any(text: str, title: str) -> list[DocSection]:
    """Split at headings of any form; what stands before the first one has `title`."""
    found = _split(text, _heading)
    return [DocSection(one.heading or title, one.text) for one in found if one.text.strip()]


def _heading(line: str, below: str) -> str | None:
    if found := _ATX.match(line):
        return found[1]
    is_underlined = _UNDERLINE.match(below) and line.strip() and not _UNDERLINE.match(line)
    # A line above a table's rule, or above a short rule, is no heading.
    if not is_underlined or "|" in line or len(below.strip()) < min(len(line.strip()), 8):
        return None
    return line.strip()


def _split(text: str, heading_of: Callable[[str, str], str | None]) -> list[DocSection]:
    found: list[DocSection] = []
    heading, fence = "", ""
    lines: list[str] = []
    rows = [*text.splitlines(), ""]
    for line, below in itertools.pairwise(rows):
        if (mark := _FENCE.match(line)) and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
        if fence or mark or (following := heading_of(line, below)) is None:
            lines.append(line)
            continue
        found.append(DocSection(heading, _body(heading, lines)))
        heading, lines = following, []
    found.append(DocSection(heading, _body(heading, lines)))
    return [one for one in found if one.heading or one.text.strip()]


def _body(heading: str, lines: list[str]) -> str:
    """Join the lines of a section, without the line that underlines its heading."""
    if heading and lines and _UNDERLINE.match(lines[0]):
        lines = lines[1:]
    return "\n".join(lines).strip("\n")


def words(text: str) -> list[str]:
    """Return the words of a question, each once: of two letters or more, in lower case."""
    return list(dict.fromkeys(_WORD.findall(text.lower())))


def ranked(sections: Iterable[DocSection], query: str) -> list[DocSection]:
    """Return the sections in which words of a question are, the one with most of them first.

    Each time that a word stands in a section counts. Those that are equal stay in their order.
    """
    wanted = words(query)
    scored = [(_score(one, wanted), one) for one in sections]
    best = sorted((one for one in scored if one[0]), key=lambda one: -one[0])
    return [one for _, one in best[:MOST_SECTIONS]]


def _score(section: DocSection, wanted: list[str]) -> int:
    heading, text = section.heading.lower(), section.text.lower()
    return sum(
        text.count(word) + heading.count(word) + (_IN_HEADING if word in heading else 0)
        for word in wanted
    )


def overview(sections: list[DocSection]) -> list[DocSection]:
    return sections[:_OVERVIEW]


def joined(sections: Iterable[DocSection], most: int = MOST_CHARS) -> str:
    """Return sections as Markdown of at most so many characters, made safe.

    It is cut at the end of a paragraph, where a `…` stands.
    """
    parts = [f"## {one.heading}\n\n{one.text}" if one.heading else one.text for one in sections]
    return shortened("\n\n".join(part.rstrip() for part in parts), most)


def shortened(text: str, most: int) -> str:
    """Cut a text at the end of a paragraph, or of a line where a paragraph is that long."""
    text = safe_text(text[: 2 * most].expandtabs(4), newlines=True)
    if len(text) <= most:
        return text
    text = text[: most - 2]
    for end in ("\n\n", "\n", " "):
        at = text.rfind(end)
        if at > most // 2:
            return f"{text[:at].rstrip()}\n…"
    return f"{text}\n…"


def allotted(sections: Iterable[DocSection]) -> Iterable[DocSection]:
    """Cut sections so that the first three of them have room in an answer."""
    for at, one in enumerate(sections):
        most = _FIRST if at == 0 else _FURTHER
        yield DocSection(one.heading, shortened(one.text, most - len(one.heading)))
