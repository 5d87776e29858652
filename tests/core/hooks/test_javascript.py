"""What JavaScript does otherwise: patterns that it knows, numbers as it writes them."""

import pytest
from msgspec import Raw

from tapui.core.hooks.javascript import number_text, stringified
from tapui.core.hooks.matching import PatternError
from tapui.runtime.system import RegexMatcher

SMILE = "\U0001f600"


@pytest.mark.parametrize(
    ("pattern", "subject", "found"),
    [
        ("a[^]b", "a\nb", True),
        ("a[^]b", "ab", False),
        ("^[^]*$", "one\ntwo", True),
        ("a[]b", "ab", False),
        ("a|[]", "a", True),
        (r"\[^]", "[]", False),
        (r"[\]^]", "^", True),
        ("[^a]", "a", False),
        ("[[^]", "^", True),
        (r"\u{1F600}", SMILE, True),
        (r"[\u{1F600}-\u{1F602}]", "\U0001f601", True),
        (r"\\u{2}", r"\uu", True),
        (r"\u{61}", "a", True),
        (r"a\cJb", "a\nb", True),
        (r"[\cI\cj]", "\t", True),
        (r"\\cJ", r"\cJ", True),
        ("caf\\u00e9", "café", True),
        (r"(?<year>\d{4})", "2026", True),
        (r"a{2}", "aa", True),
    ],
)
def test_forms_of_javascripts_patterns(pattern: str, subject: str, found: bool) -> None:
    assert RegexMatcher().compile(pattern).found_in(subject) is found


@pytest.mark.parametrize(
    ("pattern", "position"), [("a(", 2), ("[^]a(", 5), (r"\u{1F600}\cJ(b", 14), ("[^]a)b[^]", 4)]
)
def test_a_faults_position_is_that_of_the_pattern_as_given(pattern: str, position: int) -> None:
    with pytest.raises(PatternError, match=rf"at position {position}$"):
        RegexMatcher().compile(pattern)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (-1.5, "-1.5"),
        (100.0, "100"),
        (0.1, "0.1"),
        (123456.789, "123456.789"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (0.000001, "0.000001"),
        (1e-7, "1e-7"),
        (-1.25e-9, "-1.25e-9"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (123456789012345680000.0, "123456789012345680000"),
        (0.30000000000000004, "0.30000000000000004"),
    ],
)
def test_numbers_as_javascript_writes_them(number: float, text: str) -> None:
    assert number_text(number) == text


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ('{"a": 1.0, "b": [1e0, 10E-1, -0]}', '{"a":1,"b":[1,1,0]}'),
        ('{"a":12345678901234567890}', '{"a":12345678901234567000}'),
        ('{"a":9007199254740993}', '{"a":9007199254740992}'),
        ('{"a":9007199254740992}', '{"a":9007199254740992}'),
        ('{"a":"1.0 and 1e5","b":true}', '{"a":"1.0 and 1e5","b":true}'),
        ('{"a":"git\\u0020push"}', '{"a":"git push"}'),
        (f'{{"a":{"1" * 400}}}', '{"a":null}'),
    ],
)
def test_arguments_as_javascript_stringifies_them(given: str, text: str) -> None:
    assert stringified(Raw(given.encode())) == text
