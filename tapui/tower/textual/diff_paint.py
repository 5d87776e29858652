"""How lines of a diff look: the words that changed in them, and the colours of their language.

Both are made for the lines in sight alone, from a bounded part of the diff around them. Contents
are hostile: the size of what is compared and read is bounded, and a file whose colours take too
long has none.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tapui.projection.paragraphs import DiffMark, Paragraph

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_CHUNK = 100
"""Lines whose language is read together: what a line means depends on those before it."""
_CHUNK_CHARS = 6_000
_LINE_CHARS = 400
"""Longer lines have neither colours nor marked words."""
_RUN = 200
"""Lines that went and came in one place, in which those are looked for that belong together."""
_TOKENS = 100
_ALIKE = 0.4
"""The share of two lines that is the same, below which one is not the other one changed."""
_CHUNK_SECONDS = 0.05
_SLOW_CHUNKS = 2
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_LANGUAGES = {
    "bash": "sh bash bashrc zsh",
    "c": "c h",
    "cpp": "cc cpp cxx hpp",
    "csharp": "cs",
    "css": "css",
    "dart": "dart",
    "docker": "dockerfile",
    "elixir": "ex exs",
    "go": "go",
    "haskell": "hs",
    "html": "html htm",
    "ini": "ini cfg",
    "java": "java",
    "js": "js mjs cjs jsx",
    "json": "json",
    "kotlin": "kt kts",
    "lua": "lua",
    "make": "makefile mk",
    "markdown": "md",
    "perl": "pl pm",
    "php": "php",
    "powershell": "ps1",
    "python": "py pyi",
    "ruby": "rb gemfile rakefile",
    "rust": "rs",
    "scala": "scala",
    "scss": "scss",
    "sql": "sql",
    "swift": "swift",
    "toml": "toml",
    "ts": "ts tsx mts cts",
    "xml": "xml svg",
    "yaml": "yaml yml",
}
"""By the lexers' names, how the names of their files end, or what those are. Pygments has hundreds
of others, of unknown cost for a hostile text; it also takes 0.1 s to look through all of them."""
_LEXERS = {end: name for name, ends in _LANGUAGES.items() for end in ends.split()}


class DiffSpan(NamedTuple):
    """Characters of a line, from `start` up to `end`, and what they are: `word`, `keyword` …"""

    start: int
    end: int
    look: str


SYNTAX = ("keyword", "string", "number", "comment", "name")


class DiffPaint:
    """Finds the spans of the lines among `parts`; what was found is kept."""

    def __init__(
        self, parts: Sequence[Paragraph], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._parts = parts
        self._clock = clock
        self._words: dict[int, list[DiffSpan]] = {}
        self._syntax: dict[int, list[DiffSpan]] = {}
        self._slow: dict[str, int] = {}
        """By file: how many parts of it took too long to read."""

    def spans(self, index: int) -> list[DiffSpan]:
        """Return the spans of a line, those of its language first; the sign is in none."""
        mark = self._parts[index].diff
        if mark is None or mark.sign not in ("+", "-", " "):
            return []
        if index not in self._syntax:
            self._read_language(index, mark)
        if mark.sign != " " and index not in self._words:
            self._compare(index, mark)
        return [*self._syntax.get(index, ()), *self._words.get(index, ())]

    def has_language(self, index: int) -> bool:
        """Return whether the language of a line's file is read."""
        mark = self._mark(index)
        return mark is not None and bool(self._language(mark.path))

    def _language(self, path: str) -> str:
        return "" if self._slow.get(path, 0) >= _SLOW_CHUNKS else _language(path)

    def _mark(self, index: int) -> DiffMark | None:
        return self._parts[index].diff if 0 <= index < len(self._parts) else None

    # Words

    def _compare(self, index: int, mark: DiffMark) -> None:
        """Compare the lines of the place in which this one went or came: the first that went with
        the first that came, and so on."""
        first, last = index, index
        while index - first < _RUN and self._has(first - 1, "-+" if mark.sign == "+" else "-"):
            if mark.sign == "+" and self._has(first, "-") and self._has(first - 1, "+"):
                break
            first -= 1
        while last - index < _RUN and self._has(last + 1, "-+" if mark.sign == "-" else "+"):
            if mark.sign == "-" and self._has(last, "+") and self._has(last + 1, "-"):
                break
            last += 1
        run = range(first, last + 1)
        for number in run:
            self._words.setdefault(number, [])
        went = [number for number in run if self._has(number, "-")]
        came = [number for number in run if self._has(number, "+")]
        for old, new in zip(went, came, strict=False):
            before, after = self._parts[old].text[1:], self._parts[new].text[1:]
            if max(len(before), len(after)) <= _LINE_CHARS:
                self._words[old], self._words[new] = changed_words(before, after)

    def _has(self, index: int, signs: str) -> bool:
        mark = self._mark(index)
        return mark is not None and mark.sign in signs

    # Language

    def _read_language(self, index: int, mark: DiffMark) -> None:
        start = index - index % _CHUNK
        chunk = [
            number
            for number in range(start, min(start + _CHUNK, len(self._parts)))
            if (one := self._mark(number)) is not None and one[:2] == mark[:2] and one.sign in "+- "
        ]
        for number in chunk:
            self._syntax[number] = []
        language = self._language(mark.path)
        if not language:
            return
        lexer = _lexer(language)
        for signs in ("- ", "+ "):
            side = [number for number in chunk if self._has(number, signs)]
            room = _CHUNK_CHARS
            lines: list[str] = []
            for number in side:
                line = self._parts[number].text[1:]
                line = line if len(line) <= _LINE_CHARS and "\n" not in line else ""
                room -= len(line) + 1
                lines.append(line if room > 0 else "")
            began = self._clock()
            for number, found in zip(side, _coloured(lexer, lines), strict=False):
                self._syntax[number] = found
            if self._clock() - began > _CHUNK_SECONDS:
                self._slow[mark.path] = self._slow.get(mark.path, 0) + 1


def changed_words(old: str, new: str) -> tuple[list[DiffSpan], list[DiffSpan]]:
    """Return where two lines differ, for each of them, behind its sign; nothing where they are not
    alike, or all of them differs."""
    from difflib import SequenceMatcher

    before, after = _WORD.findall(old), _WORD.findall(new)
    head, least = 0, min(len(before), len(after))
    while head < least and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < least - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    middle = before[head : len(before) - tail], after[head : len(after) - tail]
    pieces = [(head, len(before) - tail, head, len(after) - tail)]
    if 0 < max(map(len, middle)) <= _TOKENS:
        matcher = SequenceMatcher(None, *middle, autojunk=False)
        pieces = [
            (head + a, head + b, head + c, head + d)
            for tag, a, b, c, d in matcher.get_opcodes()
            if tag != "equal"
        ]
    spans = (
        _joined(before, [(a, b) for a, b, _, _ in pieces]),
        _joined(after, [(c, d) for _, _, c, d in pieces]),
    )
    gone = sum(end - start for start, end, _ in spans[0])
    come = sum(end - start for start, end, _ in spans[1])
    same = max(len(old) - gone, 0)
    is_alike = same >= _ALIKE * min(len(old), len(new)) and old[: len(old)].strip() and gone + come
    return spans if is_alike else ([], [])


def _joined(tokens: Sequence[str], places: Sequence[tuple[int, int]]) -> list[DiffSpan]:
    ends = [1]  # behind the sign
    for token in tokens:
        ends.append(ends[-1] + len(token))
    return [DiffSpan(ends[start], ends[end], "word") for start, end in places if start < end]


def _language(path: str) -> str:
    """Return the name of the lexer for a file; "" for none."""
    name = path.rpartition("/")[2].lower()
    return _LEXERS.get(name.rpartition(".")[2], "")


@lru_cache(maxsize=len(_LANGUAGES))
def _lexer(name: str) -> "Lexer":
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(name, stripnl=False, ensurenl=False)


def _coloured(lexer: "Lexer", lines: Sequence[str]) -> Iterator[list[DiffSpan]]:
    """Yield the spans of each line, behind its sign."""
    found: list[DiffSpan] = []
    at = 1
    for kind, text in lexer.get_tokens("\n".join(lines)):
        look = _look(str(kind))
        for number, piece in enumerate(text.split("\n")):
            if number:
                yield found
                found, at = [], 1
            if look and piece:
                found.append(DiffSpan(at, at + len(piece), look))
            at += len(piece)
    yield found


_LOOKS = (
    ("Token.Comment", "comment"),
    ("Token.Literal.String.Doc", "comment"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
    ("Token.Keyword.Constant", "number"),
    ("Token.Keyword", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Name.Function", "name"),
    ("Token.Name.Class", "name"),
    ("Token.Name.Decorator", "name"),
    ("Token.Name.Tag", "name"),
    ("Token.Name.Attribute", "name"),
)


@lru_cache(maxsize=512)
def _look(kind: str) -> str:
    return next((look for begins, look in _LOOKS if kind.startswith(begins)), "")
