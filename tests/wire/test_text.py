"""Text from outside: nothing that a terminal acts on is left of it."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapui.text import safe_name, safe_text

HOSTILE = {
    "bell": "a\x07b",
    "backspace": "secret\b\b\b\b\b\b",
    "carriage return": "harmless\rrm -rf /",
    "escape": "\x1b[31mred\x1b[0m",
    "clipboard": "\x1b]52;c;cm0gLXJmIC8=\x07",
    "title": "\x1b]0;owned\x07",
    "hyperlink": "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "C1 CSI": "\x9b31m",
    "C1 OSC": "\x9d52;c;eA==\x9c",
    "NUL and DEL": "a\x00b\x7fc",
    "bidi override": "user\u202etxt.exe",
    "bidi isolate": "\u2066hidden\u2069",
    "zero width": "pa\u200bss\u200dwo\u2060rd\ufeff",
    "soft hyphen": "a\u00adb",
    "line separators": "a\u2028b\u2029c",
    "tags": "x\U000e0041\U000e007f",
    "surrogate": "a\ud800b",
    "private": "\ue000\U000f0000",
    "unassigned": "\u0378\U0003fffd",
    "zalgo": "a" + "\u0301" * 50,
    "vertical tab": "a\x0bb\x0cc",
}
DANGEROUS = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def marks_in_a_row(text: str) -> int:
    most = run = 0
    for char in text:
        run = run + 1 if unicodedata.category(char) in ("Mn", "Me", "Mc") else 0
        most = max(most, run)
    return most


def check(text: str) -> None:
    assert not [char for char in text if unicodedata.category(char) in DANGEROUS]
    assert marks_in_a_row(text) <= 2
    text.encode()


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_the_corpus_is_made_visible(text: str) -> None:
    safe = safe_text(text)
    check(safe)
    assert safe != text
    assert "\\x" in safe or "\\u" in safe or "\\U" in safe


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("", ""),
        ("plain text ~", "plain text ~"),
        ("naïve 名前 🚀 مرحبا", "naïve 名前 🚀 مرحبا"),
        ("\x1b", "\\x1b"),
        ("\x9b", "\\x9b"),
        ("\u202e", "\\u202e"),
        ("\U000e0041", "\\U000e0041"),
        ("\t\n", "\\x09\\x0a"),
        ("e\u0301", "e\u0301"),
        ("e\u0301\u0302\u0303", "e\u0301\u0302\\u0303"),
        ("[link=x]y[/]", "[link=x]y[/]"),
        ("\\x1b", "\\x1b"),
    ],
)
def test_what_becomes_of_text(text: str, safe: str) -> None:
    assert safe_text(text) == safe


@settings(max_examples=500, database=None, deadline=None)
@given(st.text(st.characters(), max_size=60) | st.text(alphabet="a\u0301\x1b\u202e\ud800\n"))
def test_nothing_dangerous_is_left_of_any_text(text: str) -> None:
    check(safe_text(text))
    for line in safe_text(text, newlines=True).split("\n"):
        check(line)
    assert safe_text(text, newlines=True).count("\n") == text.count("\n")


@settings(max_examples=300, database=None, deadline=None)
@given(st.text(st.characters(), max_size=60), st.integers(0, 50))
def test_a_limit_holds_and_is_shown(text: str, limit: int) -> None:
    safe = safe_text(text, limit=limit)
    check(safe)
    whole = safe_text(text)
    if len(whole) <= limit:
        assert safe == whole
    else:
        assert len(safe) == max(limit, 1)
        assert safe.endswith("…")


def test_names_are_cut_at_64() -> None:
    assert safe_name("x" * 64) == "x" * 64
    assert safe_name("x" * 65) == "x" * 63 + "…"
    assert len(safe_name("\x1b" * 1000)) == 64
