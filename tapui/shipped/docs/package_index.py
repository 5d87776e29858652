"""The index of one version of a package: its sections in a file of SQLite's full text search.

A file is made by a process of its own (`__main__`), put into its place when it is whole, and only
read from then on. What is in it comes from the package and is text, never a query.
"""

import contextlib
import math
import os
import re
import sqlite3
from pathlib import Path
from typing import NamedTuple

from tapui.files.locked_folder import folder_name
from tapui.shipped.docs.packages import Package
from tapui.shipped.docs.sections import DocSection, words

FOLDER = "docs"
"""In the state folder; 0700."""
FORM = 1
"""Another number in a file's name than this one: it is of another version of tapui."""
_MOST_WORDS = 12
"""Words of a question that are looked for."""
_CANDIDATES = 100
_COMMON = frozenset(
    words(
        "all also an and any are as at be by can could do does each else every for from get has"
        " have how if in into is it its make me my need not of on one or other please should so"
        " some that the their them then there this to use using want was way we well what when"
        " where which who why will with would you your"
    )
)
"""Words that say nothing about a question's subject."""
_SHORT = {
    "argument": "arg", "authentication": "auth", "configuration": "config", "connection": "conn",
    "database": "db", "directory": "dir", "directories": "dirs", "environment": "env",
    "expression": "expr", "function": "func", "initialize": "init", "message": "msg",
    "parameter": "param", "regular": "regex", "specification": "spec", "temporary": "tmp",
}  # fmt: skip
"""What names have in place of a word of a question."""
_OTHERWISE = {**_SHORT, **{short: word for word, short in _SHORT.items()}}
_BM25 = "bm25(sections, 3.0, 8.0, 5.0, 1.0)"
_MOST_WORTH = 2.0
"""What a rare word is worth at most: beyond it, the rarest would decide alone."""
_BRIEF, _NAME, _RANK, _SHARE = 2.0, 6.0, 0.3, 2.0
"""What a word counts in what a thing does in brief, and in its name, beside one that is anywhere in
the text; what BM25 counts; the power of the share of the question that a section has. The figures
are those of a plateau: questions on five libraries, and on six others, find as much beside them."""
_ENDING = re.compile(r"(?:ings?|ed|es|s|e|ions?|or|er)$")
_CASE = re.compile(r"_|(?<=[a-z])(?=[A-Z])")
"""Where a name has its parts."""


def path_of(state: Path, package: Package) -> Path:
    """Return where the index of a package is.

    Versions of one name that are installed in different places are kept apart: what is installed in
    one folder says nothing about the same name in another.
    """
    import hashlib  # here: OpenSSL takes milliseconds of a provider's start

    place = hashlib.sha256(os.fsencode(package.root)).hexdigest()[:16]
    name = folder_name(f"{package.id}-{package.version}".replace("/", "-"))
    return state / FOLDER / place / f"{name}-{package.stamp}.{FORM}.sqlite"


class FoundSections(NamedTuple):
    """What an index has for a question; `is_overview` where no section has a word of it."""

    sections: list[DocSection]
    is_overview: bool


def search(path: Path, query: str, most: int) -> FoundSections:
    """Return the sections that answer a question best. Raises `sqlite3.Error`."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        db.execute("PRAGMA query_only=ON")
        wanted = [one for one in words(query) if one not in _COMMON][:_MOST_WORDS]
        sections = _best(db, wanted, most) if wanted else []
        if sections:
            return FoundSections(sections, is_overview=False)
        rows = db.execute(
            "SELECT heading, text, rest FROM sections ORDER BY rowid LIMIT ?", (most,)
        )
        return FoundSections([_shown(*row) for row in rows], is_overview=True)


class _Word(NamedTuple):
    """A word of the question, with what an index has of it."""

    worth: float
    """The rarer it is, the more, up to a bound: the rarest word may be beside the point."""
    anywhere: set[int]
    brief: set[int]
    heading: set[int]
    stems: set[str]


def _best(db: sqlite3.Connection, wanted: list[str], most: int) -> list[DocSection]:
    """Return the sections that answer a question best.

    BM25 chooses among all sections. What is chosen is ranked by the words that are in it, most of
    all in what it does in brief and in its name, and by how much of the question it has: by BM25
    alone, a short section that repeats one word goes before the one that answers.
    """
    rows = db.execute(
        f"SELECT rowid, heading, brief, text, rest, weight, {_BM25} AS rank FROM sections"  # noqa: S608
        " WHERE sections MATCH ? ORDER BY rank LIMIT ?",
        (" OR ".join(map(_either, wanted)), _CANDIDATES),
    ).fetchall()
    (total,) = db.execute("SELECT count(*) FROM sections").fetchone()
    found = [one for word in wanted if (one := _word(db, word, total)).anywhere]
    whole = sum(one.worth for one in found)
    scored = []
    for rowid, heading, brief, text, rest, weight, rank in rows:
        share = sum(one.worth for one in found if rowid in one.anywhere)
        score = share + _named(heading, found)
        score += sum(_BRIEF * one.worth for one in found if rowid in one.brief)
        score += sum(one.worth for one in found if rowid in one.heading - one.brief)
        score = weight * (score * (share / whole) ** _SHARE - _RANK * rank)
        scored.append((-score, rowid, heading, brief, text, rest))
    sections: dict[tuple[str, str], DocSection] = {}
    others = []
    for *_, heading, brief, text, rest in sorted(scored):
        # The same in another flavour, of asyncio and of threads say, comes behind all else, and a
        # method behind its like of another class.
        outer, _, name = heading.rpartition(".")
        is_method = outer.rpartition(".")[2][:1].isupper()
        key = (name, "" if is_method else brief or heading)
        if key in sections:
            others.append(_shown(heading, text, rest))
        else:
            sections[key] = _shown(heading, text, rest)
    return [*sections.values(), *others][:most]


def _word(db: sqlite3.Connection, word: str, total: int) -> _Word:
    def having(column: str) -> set[int]:
        match = f"{column}{_either(word)}"
        rows = db.execute("SELECT rowid FROM sections WHERE sections MATCH ?", (match,))
        return {rowid for (rowid,) in rows}

    anywhere = having("")
    worth = min(math.log(1 + total / max(1, len(anywhere))), _MOST_WORTH)
    stems = {_stem(one) for one in (word, _OTHERWISE.get(word, word))}
    return _Word(worth, anywhere, having("{brief} : "), having("{heading} : "), stems)


def _named(heading: str, found: list[_Word]) -> float:
    """Return what the words of the question in a name are worth, times their share of the name."""
    last = heading if " " in heading else heading.rpartition(".")[2]
    parts = [_stem(one) for one in words(_CASE.sub(" ", last))]
    hits = [(one.worth, sum(part in one.stems for part in parts)) for one in found]
    count = sum(times for _, times in hits)
    return _NAME * sum(worth for worth, times in hits if times) * min(1, count / max(1, len(parts)))


def _stem(word: str) -> str:
    stem = _ENDING.sub("", word)
    return stem if len(stem) > 2 else word


def _either(word: str) -> str:
    return f'("{word}" OR "{_OTHERWISE[word]}")' if word in _OTHERWISE else f'"{word}"'


def _shown(heading: str, text: str, rest: str) -> DocSection:
    return DocSection(heading, f"{text}\n\n{rest}" if rest else text)
