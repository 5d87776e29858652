"""Text from outside: nothing that a terminal acts on is left of it."""

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapui.text import is_invisible, revealed, safe_name, safe_text

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
    "Hangul fillers": "a\u115f\u1160\u3164\uffa0b",
    "Braille blank": "a\u2800b",
    "grapheme joiner": "a\u034fb",
    "Khmer vowels without ink": "a\u17b4\u17b5b",
    "Mongolian selectors": "a\u180b\u180f",
    "variation selectors": "a\ufe00\ufe0f\U000e0100\U000e01ef",
    "selector of no emoji": "pass\ufe0fword",
}
IGNORABLE = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5),
    (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164),
    (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
"""Default_Ignorable_Code_Point, as Unicode 15 has it."""
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
        ("a\u00a0\u1680\u2000\u200a\u202f\u205f\u3000b", "a       b"),
        ("\u1161a\u11ff\ud7b0", "\\u1161a\\u11ff\\ud7b0"),
        ("\u1112\u1161\u11ab \uac00\u11ab", "\u1112\u1161\u11ab \uac00\u11ab"),
        ("\u1112\u1161\u11ab\u11ab\u0301", "\u1112\u1161\u11ab\\u11ab\\u0301"),
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


@pytest.mark.parametrize("show", [safe_text, revealed])
def test_every_character_that_unicode_ignores_is_escaped(show: Callable[[str], str]) -> None:
    for first, last in (*IGNORABLE, (0x2800, 0x2800)):
        for point in range(first, last + 1):
            assert show(f"a{chr(point)}b") in (
                f"a\\x{point:02x}b",
                f"a\\u{point:04x}b",
                f"a\\U{point:08x}b",
            )
            assert is_invisible(chr(point))


def test_of_more_than_a_line_blanks_stay() -> None:
    assert safe_text("a\u3000b\nc", newlines=True) == "a\u3000b\nc"


def test_the_look_of_an_emoji_stays_but_in_what_is_decided_on() -> None:
    for emoji in ("❤\ufe0f", "☁\ufe0e", "1\ufe0f\u20e3", "‼\ufe0f", "⚠\ufe0f fire"):
        assert safe_text(emoji) == emoji
        assert "\\ufe0" in revealed(emoji)
    assert safe_text("❤\ufe0f\ufe0f") == "❤\ufe0f\\ufe0f"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("rm x" + " " * 3000 + "; rm y", "rm x⟨3,000 blanks⟩; rm y"),
        ("a" + " " * 16 + "b", "a" + " " * 16 + "b"),
        ("a" + "\u2003\u00a0\u3000\t" * 5 + "b", "a⟨20 blanks⟩b"),
        ("a\u00a0b\u3000c", "a\\xa0b\\u3000c"),
        (" " * 40 + "x", " " * 40 + "x"),
        ("+ " + " " * 36 + "x", "+ " + " " * 36 + "x"),
        (" " * 41 + "x", "⟨41 blanks⟩x"),
        ("a\n\n\nb", "a\n\n\nb"),
        ("a" + "\n" * 3001 + "b", "a\n⟨3,000 empty lines⟩\nb"),
        ("a" + "\n   " * 100 + "\nb", "a\n⟨100 empty lines⟩\nb"),
        ("a\u2800b", "a\\u2800b"),
    ],
)
def test_nothing_is_pushed_out_of_sight_of_what_is_decided_on(text: str, shown: str) -> None:
    assert revealed(text, newlines=True) == shown


@settings(max_examples=300, database=None, deadline=None)
@given(st.text(st.characters() | st.sampled_from(" \u3164\ufe0f\u00a0\n"), max_size=80))
def test_what_is_decided_on_has_nothing_invisible(text: str) -> None:
    shown = revealed(text)
    check(shown)
    assert not [char for char in shown if is_invisible(char)]


def test_names_are_cut_at_64() -> None:
    assert safe_name("x" * 64) == "x" * 64
    assert safe_name("x" * 65) == "x" * 63 + "…"
    assert len(safe_name("\x1b" * 1000)) == 64
