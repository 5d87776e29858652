"""What stands out in the lines of a diff: the words that changed, and the language of its file."""

from itertools import count

import pytest

from tapui.projection.changes import Edit, Hunk, changes, edited, hunk_parts
from tapui.tower.textual.diff_paint import _LANGUAGES, DiffPaint, changed_words
from tapui.tower.textual.reader import Reader
from tapui.wire.changes import DiffHunk
from tests.tower.changes.changes_world import detail, file, opened
from tests.tower.running import running
from tests.tower.scripted import world


def words(old: str, new: str) -> tuple[list[str], list[str]]:
    marked = changed_words(old, new)
    return tuple(  # type: ignore[return-value]
        [f"-{text}"[one.start : one.end] for one in spans]
        for text, spans in zip((old, new), marked, strict=True)
    )


@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        ("x = a + 1", "x = a + 2", (["1"], ["2"])),
        ("def run(a):", "def run(a, b):", ([], [", b"])),
        ("return old(x, y)", "return new(x, z)", (["old", "y"], ["new", "z"])),
        ("alpha beta", "import os, sys, re", ([], [])),
        ("", "x", ([], [])),
        ("same", "same", ([], [])),
    ],
)
def test_the_words_that_changed_are_marked(
    old: str, new: str, marked: tuple[list[str], list[str]]
) -> None:
    assert words(old, new) == marked


def looks(parts: list[object], index: int, clock: object = None) -> list[tuple[str, str]]:
    paint = DiffPaint(parts)  # type: ignore[arg-type]
    text = parts[index].text  # type: ignore[attr-defined]
    return [(text[one.start : one.end], one.look) for one in paint.spans(index)]


def test_lines_that_went_and_came_are_compared_in_their_order() -> None:
    lines = [" a", "-x = 1", "-y = 1", "+x = 2", "+y = 3", "+z = 4", " b", "+x = 5"]
    parts = hunk_parts([DiffHunk(1, 1, lines)], "a.unknown")
    found = [looks(list(parts), index) for index in range(len(parts))]
    assert found == [
        [], [], [("1", "word")], [("1", "word")], [("2", "word")], [("3", "word")], [], [], [],
    ]  # fmt: skip


def test_a_language_is_read_over_lines_and_by_its_side() -> None:
    lines = ['-    """Old', "-    text.", '-    """', '+    "new"', "     return 1"]
    parts = list(hunk_parts([DiffHunk(1, 1, lines)], "src/app.py"))
    assert looks(parts, 2)[0] == ("    text.", "comment")
    assert ("return", "keyword") in looks(parts, 5)
    assert ("1", "number") in looks(parts, 5)


def test_files_without_a_known_language_long_lines_and_slow_ones_have_no_colours() -> None:
    lines = ["+return 1", "+" + "return " * 100]
    assert looks(list(hunk_parts([DiffHunk(0, 1, lines)], "a.py")), 1)
    assert not looks(list(hunk_parts([DiffHunk(0, 1, lines)], "a.py")), 2)
    for name in ("a.strange", "", "x" * 10_000, "\x1b.py/", "a.bf"):
        assert not looks(list(hunk_parts([DiffHunk(0, 1, lines)], name)), 1), name
    parts = hunk_parts([DiffHunk(0, 1, ["+return 1"] * 1_000)], "a.py")
    ticks = count()
    paint = DiffPaint(parts, clock=lambda: float(next(ticks)))
    coloured = [bool(paint.spans(index)) for index in range(1, 1_000)]
    assert coloured.index(False) <= 300
    assert not any(coloured[coloured.index(False) :])


def test_what_takes_long_to_compare_is_not() -> None:
    old, new = "a " * 150 + "x", "b " * 150 + "x"
    assert changed_words(old, new) == ([], [])


def test_a_diff_of_git_and_an_edit_have_numbers_too() -> None:
    diff = "diff --git a/x.py b/x.py\n@@ -9,2 +10,2 @@ def f():\n a\n-b\n+c\n"
    parts = changes(diff)
    assert [part.margin for part in parts] == [
        "      │ ", "      │ ", " 9 10 │ ", "10    │ ", "   11 │ ",
    ]  # fmt: skip
    assert [part.diff.path for part in parts if part.diff] == ["x.py"] * 4
    assert [part.margin for part in changes("+x\n-y")] == ["│ ", "│ "]
    placed = edited([Edit("x.py", [Hunk(["a", "b"], ["a", "c"], 7)])])
    assert [part.margin for part in placed[2:]] == ["  │ ", "7 │ ", "  │ ", "8 │ "]


async def test_a_long_line_keeps_its_marks_and_has_its_numbers_once() -> None:
    long = "x = " + "word " * 40
    hunk = DiffHunk(7, 7, [f"-{long}1", f"+{long}2"])
    async with running(world()) as rig:
        await opened(rig, file("a.py"), [hunk])
        reader = detail(rig).reader
        assert isinstance(reader, Reader)
        shown = [reader.painted(y) for y in range(1, 8)]
        assert shown[0].text.startswith("7   │ -x = word")
        assert shown[1].text.startswith("    │ word")
        base = reader.rich_style.bgcolor
        last = next(strip for strip in shown if strip.text.rstrip().endswith(" 1"))
        (marked,) = [one for one in last if one.text == "1"]
        assert marked.style is not None
        assert marked.style.bgcolor not in (None, base)


@pytest.mark.parametrize("language", sorted(_LANGUAGES))
def test_spans_stay_within_their_lines_in_texts_that_no_language_has(language: str) -> None:
    end = _LANGUAGES[language].split()[0]
    texts = [
        "(" * 390,
        '"' * 390,
        "\\" * 390,
        "a" * 390,
        "/*" * 190,
        " " * 390,
        "<!--" * 90,
        "\r\f",
    ]
    for text in texts:
        parts = hunk_parts([DiffHunk(0, 1, [f"+{text}", "+"] * 50)], f"a.{end}")
        paint = DiffPaint(parts)
        for index, part in enumerate(parts):
            assert all(0 < one.start < one.end <= len(part.text) for one in paint.spans(index))
