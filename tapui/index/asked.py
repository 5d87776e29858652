"""What a person looks for: words, "phrases", beginnings* and changed:FILE, never a syntax error."""

import re
from dataclasses import dataclass

MAX_WORDS = 32
MAX_TEXT = 1_000
"""What is longer is cut: nobody looks for so much."""
_CHANGED = "changed:"
_PARTS = re.compile(r'changed:"(?P<quoted>[^"]*)"?|"(?P<phrase>[^"]*)"?|(?P<word>\S+)')
_TOKEN = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Term:
    """Words that stand one after the other; with `is_prefix` the last one is a beginning."""

    words: tuple[str, ...]
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """All `terms` must be there; `changed`: in what changed that file."""

    terms: tuple[Term, ...] = ()
    changed: str | None = None

    @property
    def is_empty(self) -> bool:
        return not self.terms and self.changed is None

    def is_in(self, text: str) -> bool:
        return all(_pattern((term,)).search(text) for term in self.terms)

    def match(self, scope: str | None) -> str:
        """Return the expression that finds it, in rows of `scope` only."""
        words = " AND ".join(_phrase(term) for term in self.terms)
        found = f"{{text}} : ({words})"
        return found if scope is None else f'{found} AND {{scope}} : "{scope}"'


def asked_for(text: str, *, is_typing: bool = False) -> Asked:
    """Return what a text asks for. `is_typing`: its last word may not be all of it yet."""
    terms: list[Term] = []
    changed = None
    text = text[:MAX_TEXT]
    for part in _PARTS.finditer(text):
        word, phrase, quoted = part["word"], part["phrase"], part["quoted"]
        if quoted is not None or (word or "").startswith(_CHANGED):
            changed = quoted if quoted is not None else word.removeprefix(_CHANGED)
            continue
        tokens = tuple(_TOKEN.findall(word if word is not None else phrase))[:MAX_WORDS]
        if not tokens:
            continue
        is_last = is_typing and part.end() == len(text) and word is not None
        is_prefix = word is not None and (word.endswith("*") or (is_last and len(tokens[-1]) > 1))
        terms.append(Term(tokens, is_prefix))
    return Asked(tuple(terms[:MAX_WORDS]), changed or None)


def _phrase(term: Term) -> str:
    # Tokens are letters and digits only: nothing in them is syntax.
    return f'"{" ".join(term.words)}"' + (" *" if term.is_prefix else "")


_ROOM = 160
_BEFORE = 40
_BREAKS = str.maketrans({"\n": "⏎", "\r": " ", "\t": " "})


def excerpt(text: str, asked: Asked) -> tuple[str, list[tuple[int, int]]]:
    """Return the part of a text around what was found, on one line, and where that stands in it."""
    pattern = _pattern(asked.terms) if asked.terms else None
    first = pattern.search(text) if pattern else None
    start = max(first.start() - _BEFORE, 0) if first else 0
    part = text[start : start + _ROOM].translate(_BREAKS)
    before = "…" if start else ""
    after = "…" if start + _ROOM < len(text) else ""
    shown = f"{before}{part}{after}"
    marks = [found.span() for found in pattern.finditer(shown)] if pattern else []
    return shown, marks


def _pattern(terms: tuple[Term, ...]) -> re.Pattern[str]:
    between = r"[\W_]+"
    alternatives = (
        between.join(map(re.escape, term.words)) + ("" if term.is_prefix else r"(?![^\W_])")
        for term in terms
    )
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(alternatives)})", re.IGNORECASE)
