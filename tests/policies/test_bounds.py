"""What would take long is not looked at whole: nothing of it is allowed, and a deny still holds.

The gateway waits for each verdict, for all sessions: a command of an agent, or a pattern in the
file of a repository, must not make it wait. Without a bound these tests do not end.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapui.policies.commands import MAX_BLANKS, MAX_COMMAND, MAX_STRUCTURE
from tapui.policies.rule_reader import MAX_FOLDER_RULES, MAX_RULES, RuleReader
from tapui.policies.rules import PolicyRule, fits, path_fits
from tests.policies.judged import allow, deny, on, on_command

UNITS = [
    "a|",
    "a;",
    "a && ",
    "<<E\n",
    "a{b",
    "{",
    "(",
    "$(",
    "`",
    "\n",
    "b ",
    "eval ",
    "{a,",
    "[[ ",
]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("size", [MAX_COMMAND - 8, 1_000_000])
def test_a_vast_command_is_asked_and_a_deny_finds_its_program(unit: str, size: int) -> None:
    vast = unit * (size // len(unit))
    rules = [*allow("a", "git"), *deny("rm -r*")]
    assert on_command(vast, rules).effect is None
    assert on_command(f"{vast[: MAX_COMMAND - 20]}; rm -rf /x", rules).effect in ("deny", None)
    assert on_command(f"{'a;' * MAX_STRUCTURE} rm -rf /x", rules).effect == "deny"
    assert on_command(f"{vast}\nrm -rf /x", rules).effect == "deny"
    assert on_command(vast * 2, rules).unkeepable


def test_substitutions_within_texts_for_shells_are_read_once_each() -> None:
    command = "rm -rf x"
    for _ in range(40):
        command = f'bash -c "$({command})"'
    assert on_command(command, deny("rm -r*")).effect == "deny"


def test_a_command_of_very_many_words_is_asked_and_a_deny_finds_its_program() -> None:
    rules = [*allow("git log", "rm"), *deny("rm -r*")]
    few, many = "x " * (MAX_BLANKS - 8), "x " * (MAX_BLANKS + 1)
    assert on_command(f"git log {few}", rules).effect == "allow"
    assert on_command(f"git log {many}", rules).effect is None
    assert on_command(f"git log {many.replace(' ', chr(9))}", rules).effect is None
    assert on_command(f"git log {many}; rm -rf x", rules).effect == "deny"


@pytest.mark.parametrize("star", ["*a", "**/a", "**a", "?*a"])
def test_a_pattern_of_many_stars_does_not_hang(star: str) -> None:
    pattern, path = "/" + star * 60 + "*b", "/" + "a/" * 1500
    rules = [
        PolicyRule("deny", "write", pattern, targets=(pattern,)),
        PolicyRule("deny", "shell", "git " + star * 60 + "*b"),
    ]
    assert on(rules, kind="write", fileName=path, resolvedPath=path).effect in ("deny", None)
    assert on_command("git " + "a" * 5000, rules).effect is None


def test_a_path_is_compared_to_the_end_with_a_pattern_of_many_stars() -> None:
    pattern = "/" + "*a" * 60 + "*b"
    assert not path_fits(pattern, "/" + "a" * 3000)
    assert path_fits(pattern, "/" + "a" * 3000 + "b")
    assert not path_fits(pattern, "/" + "a" * 1500 + "/" + "a" * 1500 + "b")
    assert path_fits(pattern.replace("*a", "**a"), "/" + "a" * 1500 + "/" + "a" * 1500 + "b")


@given(st.text("ab*?/", max_size=9), st.text("ab/\n", max_size=9))
def test_a_path_pattern_means_what_its_regular_expression_means(pattern: str, path: str) -> None:
    whole = f"{pattern}**" if pattern.endswith("/") else pattern
    means = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", whole)
    regular = "".join(means.get(part, re.escape(part)) for part in parts)
    assert path_fits(pattern, path) == bool(re.fullmatch(regular, path, re.DOTALL))


@given(st.text("ab*", max_size=8), st.text("ab", max_size=12))
def test_stars_stand_for_any_characters(pattern: str, text: str) -> None:
    assert fits(pattern, text) == _slowly(pattern, text)


def _slowly(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(_slowly(pattern[1:], text[at:]) for at in range(len(text) + 1))
    return bool(text) and pattern[0] == text[0] and _slowly(pattern[1:], text[1:])


@pytest.mark.parametrize(("source", "most"), [("folder", MAX_FOLDER_RULES), ("person", MAX_RULES)])
def test_a_file_has_only_so_many_rules(source: str, most: int) -> None:
    reader = RuleReader("f", source, lambda _: 1, str, home="/home/me")  # type: ignore[arg-type]
    assert len(reader.read([{"ask": "x"}] * most).rules) == most
    (fault,) = reader.read([{"ask": "x"}] * (most + 1)).faults
    assert f"more than {most:,} rules" in str(fault)
