"""The words of the house: what the package says is imperative, or a noun phrase of the field.

No docstring, comment or text of `tapui/**/*.py` has a clause with "whoever", "whatever", "nobody",
"no one" or "somebody" as its subject, or one of the phrases below: they have to be read twice.
`documents/test_words.py` reads the documents.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "tapui"
FORBIDDEN = re.compile(
    r"\b(whoever|whatever|nobody|no one|somebody|(?:is|are) told|as it is|says so|its word"
    r"|whose word|what it says|for want of|outside of a turn|came together with others)\b",
    re.IGNORECASE,
)
LEFT: dict[str, int] = {
    "core": 7,
}
"""Rooms that are not mended yet, with the hits that each still has. A number may only become
smaller, and a room without any leaves the table. Those of the core are reasons on the wire and in
records, which do not change with the words."""


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield each comment block and each text of a program with its first line, on one line."""
    block: list[str] = []
    begin = last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if block and token.start[0] == last + 1:
                block.append(token.string.lstrip("# "))
            else:
                if block:
                    yield begin, " ".join(block)
                block, begin = [token.string.lstrip("# ")], token.start[0]
            last = token.start[0]
    if block:
        yield begin, " ".join(block)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = node.value.split()
            if len(words) > 1:  # one alone is a code
                yield node.lineno, " ".join(words)


def hits(file: Path) -> list[str]:
    """Return each place of a file with a forbidden word, and what stands around it."""
    return [
        f"{file}:{line}: …{text[max(0, found.start() - 40) : found.end() + 30]}…"
        for line, text in texts(file.read_text())
        for found in FORBIDDEN.finditer(text)
    ]


def rooms() -> dict[str, list[Path]]:
    """Return the modules by the package's folder that they are in."""
    found: dict[str, list[Path]] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        found.setdefault(file.relative_to(PACKAGE).parts[0].removesuffix(".py"), []).append(file)
    return found


ROOMS = rooms()


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_nothing_has_to_be_read_twice(room: str) -> None:
    found = [one for file in ROOMS[room] for one in hits(file)]
    listed = "\n".join(found)
    assert len(found) <= LEFT.get(room, 0), f"{len(found)} hits:\n{listed}"


def test_a_room_that_is_mended_has_left_the_table() -> None:
    mended = [room for room in LEFT if not any(map(hits, ROOMS.get(room, [])))]
    assert not mended, f"take out of the table: {', '.join(mended)}"


def test_the_search_sees_comments_texts_and_line_ends() -> None:
    source = '"""Whoever\ncomes."""\n# what is\n# told here\nx = f"{1} nobody is"  # says so\n'
    found = [match[0] for _, text in texts(source) for match in FORBIDDEN.finditer(text)]
    assert found == ["is told", "says so", "Whoever", "nobody"]
