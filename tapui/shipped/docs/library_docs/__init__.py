"""Documents that tapui brings along, in its own words: a folder of Markdown for each library."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tapui.shipped.docs.sections import (
    MOST_CHARS,
    DocSection,
    joined,
    overview,
    ranked,
    split,
)

FOLDER = Path(__file__).parent


class BundledLibrary(NamedTuple):
    """What is said of a library before its documents are read."""

    title: str
    description: str
    aliases: tuple[str, ...]


LIBRARIES = {
    "playwright": BundledLibrary(
        "Playwright",
        "Drive browsers in tests: locators, waiting, assertions, network, traces.",
        ("playwright-java", "microsoft/playwright", "pw"),
    ),
    "selenium": BundledLibrary(
        "Selenium WebDriver",
        "Drive browsers by WebDriver: elements, waits, windows, Grid.",
        ("selenium-java", "seleniumhq", "webdriver"),
    ),
    "cucumber": BundledLibrary(
        "Cucumber for the JVM",
        "Run scenarios as tests: step definitions, hooks, tags, JUnit.",
        ("cucumber-java", "cucumber-jvm", "cucumber-junit"),
    ),
    "gherkin": BundledLibrary(
        "Gherkin",
        "The language of feature files: scenarios, outlines, tables, tags.",
        ("feature-file", "bdd", "given-when-then"),
    ),
    "java": BundledLibrary(
        "Java SE",
        "The language and its library: collections, streams, records, files, HTTP, threads.",
        ("java-se", "jdk", "java-api", "java-lang"),
    ),
}
"""By id."""


def normal(name: str) -> str:
    """Return a name as names are compared: without case, `-`, `_` and blanks equal."""
    return re.sub(r"[-_\s]+", "-", name.strip().lower())


_BY_NAME = {
    normal(name): library_id
    for library_id, library in LIBRARIES.items()
    for name in (library_id, library.title, *library.aliases)
}


def resolve(name: str) -> str | None:
    """Return the id of the library that has this id, title or alias."""
    return _BY_NAME.get(normal(name))


@cache
def sections_of(library_id: str) -> list[DocSection]:
    """Return all sections of a library, file by file."""
    files = sorted((FOLDER / library_id).glob("*.md"))
    return [one for file in files for one in split(file.read_text("utf-8"))]


def search_docs(library_id: str, query: str, max_chars: int = MOST_CHARS) -> str:
    """Return the sections that answer a question, as Markdown; an overview where none does."""
    sections = sections_of(library_id)
    return joined(ranked(sections, query) or overview(sections), max_chars)
