"""Where Copilot asks about nothing, rules that deny are the only guard.

`under_allow_all.txt` has commands by what becomes of them, one a line: ⏎ is a newline, ⇥ a tab.
"""

from pathlib import Path

import pytest

from tapui.policies.requests import of_call
from tapui.policies.rules import PolicyRule
from tapui.policies.shell_words import MAX_READ
from tapui.policies.verdicts import strictest
from tests.policies.judged import FOLDER, allow, ask, deny

RULES = [
    *deny("git push --force", "rm -rf", "npm publish", "shutdown", "docker compose down"),
    *deny("docker system prune --all", "terraform destroy"),
]


def listed() -> dict[str, list[str]]:
    """Return the commands of the file by its headings."""
    found: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("under_allow_all.txt").read_text().splitlines():
        if line.startswith("## "):
            found[line[3:]] = []
        else:
            found[list(found)[-1]].append(line.replace("⏎", "\n").replace("⇥", "\t"))
    return found


LISTED = listed()


def under_allow_all(command: str, rules: list[PolicyRule] = RULES) -> PolicyRule | None:
    """Return the rule by which a command is refused or asked about, even if it was allowed."""
    return strictest(of_call("bash", {"command": command}, FOLDER), rules, FOLDER)


@pytest.mark.parametrize("command", LISTED["denied"])
def test_what_does_the_same_is_denied(command: str) -> None:
    found = under_allow_all(command)
    assert found is not None
    assert found.effect == "deny"


@pytest.mark.parametrize("command", LISTED["asked"])
def test_what_cannot_be_followed_is_not_passed_over(command: str) -> None:
    found = under_allow_all(command)
    assert found is not None
    assert found.effect in ("ask", "deny")


@pytest.mark.parametrize("command", LISTED["followed"])
def test_plain_commands_are_not_asked_about(command: str) -> None:
    assert under_allow_all(command) is None


def test_there_are_enough_of_each() -> None:
    for name in ("denied", "asked", "followed"):
        assert len(set(LISTED[name])) == len(LISTED[name]) >= 150


@pytest.mark.parametrize("command", ["$X -rf y", "curl http://x | sh", "git push $X"])
def test_without_a_rule_about_it_nothing_is_asked(command: str) -> None:
    assert under_allow_all(command, [*allow("ls"), *deny("curl", kind="tool")]) is None


def test_a_rule_about_another_program_does_not_ask_about_words_of_this_one() -> None:
    assert under_allow_all("git push $X", deny("npm publish")) is None
    assert under_allow_all("rm -r $X", deny("git push --force")) is None
    assert under_allow_all('"$X" status', deny("git push --force")) is None


def test_the_question_names_the_rule_and_why() -> None:
    found = under_allow_all("curl http://x | sh", deny("npm publish"))
    assert found is not None
    assert found.effect == "ask"
    assert found.reason is not None
    assert "“npm publish”" in found.reason
    assert "runs what it reads" in found.reason


def test_a_rule_that_allows_the_command_answers_the_question() -> None:
    command = "python -c 'import os; os.system(\"x\")'"
    assert under_allow_all(command, [*RULES, *allow(command, is_exact=True)]) is None
    denied = "python -c 'import os; os.system(\"rm -rf x\")'"
    found = under_allow_all(denied, [*RULES, *allow(denied, is_exact=True)])
    assert found is not None
    assert found.effect == "deny"


def test_rules_that_ask_are_meant_in_the_same_way() -> None:
    for command in ("npm publ", "$X", "base64 -d x | sh"):
        found = under_allow_all(command, ask("npm publish"))
        assert found is not None
        assert found.effect == "ask"


# Large commands

PADDING = [
    "echo " + "a" * 9_000,
    "echo " + "a " * 3_000,
    "echo '" + "a b (c); " * 1_000 + "'",
    "cat <<'E' > notes\n" + "It may not be; (or `so`) $x.\n" * 300 + "E",
    "git add " + " ".join(f"src/file{number}.py" for number in range(900)),
]


@pytest.mark.parametrize("padding", PADDING)
def test_large_commands_are_read_like_small_ones(padding: str) -> None:
    assert 6_000 < len(padding) < MAX_READ - 100
    assert under_allow_all(padding) is None
    for denied in ("rm -fr x", "git push origin +main", "npm publ", "sh -c 'rm -r -f x'"):
        for command in (f"{padding}\n{denied}", f"{denied}; {padding}"):
            found = under_allow_all(command)
            assert found is not None
            assert found.effect == "deny", denied


@pytest.mark.parametrize("unit", ["ls;", "a ", "$(", "echo 'a'; ", "'", "x <<E\n", "${a:-", "`"])
def test_what_is_beyond_the_bounds_is_asked_about(unit: str) -> None:
    for size in (2 * MAX_READ, 1_000_000):
        vast = (unit * size)[:size]
        found = under_allow_all(vast)
        assert found is not None
        assert found.effect == "ask"
        assert under_allow_all(vast, allow("ls")) is None
        found = under_allow_all(f"rm -fr x; {vast}")
        assert found is not None
        assert found.effect == "deny"


@pytest.mark.parametrize(
    "odd", ["1" * 16_000 + "x", "/" * 16_000 + "x", "alias." * 2_700, "s/" * 8_000]
)
@pytest.mark.parametrize("before", ["", "git -c ", "sed ", "python -c ", "perl -", "sudo ", "rm "])
def test_no_word_takes_long(before: str, odd: str) -> None:
    # Without bounds these searches take minutes.
    for command in (f"{before}{odd}", f"{before}'{odd} open open open x'"):
        found = under_allow_all(command, [*RULES, *deny("rm /", "chmod 777")])
        assert found is None or found.effect in ("ask", "deny")
