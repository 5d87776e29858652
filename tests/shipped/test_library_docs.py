"""The documents that tapui brings along, and how they are searched."""

from pathlib import Path

import pytest

from tapui.shipped.docs.library_docs import (
    FOLDER,
    LIBRARIES,
    resolve,
    search_docs,
    sections_of,
)
from tapui.shipped.docs.sections import (
    MOST_CHARS,
    DocSection,
    joined,
    ranked,
    shortened,
    split,
    split_any,
    words,
)

ALIASES = {
    "playwright": ("playwright-java", "microsoft/playwright", "pw"),
    "selenium": ("selenium-java", "seleniumhq", "webdriver"),
    "cucumber": ("cucumber-java", "cucumber-jvm", "cucumber-junit"),
    "gherkin": ("feature-file", "bdd", "given-when-then"),
    "java": ("java-se", "jdk", "java-api", "java-lang"),
}


@pytest.mark.parametrize(
    ("library", "name"), [(one, name) for one, names in ALIASES.items() for name in (one, *names)]
)
def test_a_library_has_its_id_and_aliases_in_any_spelling(library: str, name: str) -> None:
    for spelled in (name, name.upper(), name.replace("-", "_"), name.replace("-", " ")):
        assert resolve(spelled) == library, spelled


def test_other_names_are_no_library() -> None:
    assert [resolve(one) for one in ("", "play", "javascript", "../java")] == [None] * 4


def test_each_library_has_documents_with_headings() -> None:
    assert sorted(LIBRARIES) == sorted(ALIASES)
    for library in LIBRARIES:
        sections = sections_of(library)
        assert len(sections) >= 6, library
        assert all(one.heading and one.text for one in sections), library
        assert len({one.heading for one in sections}) == len(sections), library


def test_documents_are_in_the_wheel() -> None:
    assert all((FOLDER / library).is_dir() for library in LIBRARIES)
    assert FOLDER.is_relative_to(Path(__file__).parents[2] / "tapui")


@pytest.mark.parametrize(
    ("library", "query", "heading"),
    [
        ("playwright", "wait for an element", "Wait for an element"),
        ("playwright", "fake a network answer", "Fake the network"),
        ("selenium", "stale", "Stale elements"),
        ("cucumber", "choose scenarios by tags", "Choose scenarios by tags"),
        ("gherkin", "scenario outline examples", "Scenario Outline and Examples"),
        ("java", "virtual threads executor", "Threads, executors and virtual threads"),
    ],
)
def test_a_question_finds_its_section_first(library: str, query: str, heading: str) -> None:
    assert search_docs(library, query).startswith(f"## {heading}\n")


def test_sections_begin_at_level_two_and_not_in_code() -> None:
    text = "# Title\nintro\n## One\na\n### Deep\n```sh\n## no heading\n```\n## Two\nb\n"
    assert split(text) == [
        DocSection("", "# Title\nintro"),
        DocSection("One", "a\n### Deep\n```sh\n## no heading\n```"),
        DocSection("Two", "b"),
    ]


def test_packages_have_headings_of_any_form() -> None:
    text = "before\n\nTitle\n=====\none\n\nInstall it\n----------\ntwo\n\n# Use\nthree\n"
    assert split_any(text, "lib") == [
        DocSection("lib", "before"),
        DocSection("Title", "one"),
        DocSection("Install it", "two"),
        DocSection("Use", "three"),
    ]


def test_words_have_two_letters_and_count_once() -> None:
    assert words("Wait, a WAIT for x_y is_it 42") == ["wait", "for", "is", "it", "42"]


def test_a_section_counts_its_words_and_two_more_for_the_heading() -> None:
    thrice = DocSection("other", "page page page")
    heading = DocSection("page", "page")
    assert ranked([thrice, heading], "page") == [heading, thrice]
    four = DocSection("other", "page page page page")
    assert ranked([heading, four], "page") == [heading, four]  # equal: as they stand
    assert ranked([four, heading], "page") == [four, heading]


def test_the_best_eight_are_shown_and_none_without_a_word() -> None:
    sections = [DocSection(f"s{number}", "page " * number) for number in range(12)]
    assert [one.heading for one in ranked(sections, "page")] == [f"s{n}" for n in range(11, 3, -1)]
    assert ranked(sections, "nothing") == []


def test_a_question_without_its_words_gets_the_first_five() -> None:
    first = [one.heading for one in sections_of("java")[:5]]
    answer = search_docs("java", "zyx qqq")
    shown = [line[3:] for line in answer.splitlines() if line.startswith("## ")]
    assert shown == first


@pytest.mark.parametrize("most", [200, 1000, MOST_CHARS])
def test_an_answer_is_cut_at_a_paragraph(most: int) -> None:
    for library in LIBRARIES:
        answer = search_docs(library, "the", most)
        assert len(answer) <= most
        assert answer.endswith("\n…") or answer == search_docs(library, "the", 100_000)


def test_a_cut_falls_between_paragraphs_where_there_are_some() -> None:
    assert shortened("one\n\ntwo is longer\n\nthree", 22) == "one\n\ntwo is longer\n…"
    assert shortened("word " * 10, 22) == "word word word word\n…"
    assert len(shortened("x" * 5000, 100)) == 100


def test_an_answer_shows_no_control_characters() -> None:
    hostile = DocSection("a\x1b[2J", "b\u202ec\x00\td\u200b")
    answer = joined([hostile])
    assert not {"\x1b", "\u202e", "\x00", "\u200b"} & {*answer}
