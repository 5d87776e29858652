"""Rules that answers suggest: which, what they would have answered, and what is never suggested."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapui.policies.guards import Guards
from tapui.policies.leads import Leads
from tapui.policies.requests import of_permission
from tapui.policies.rules import PolicyRule
from tapui.policies.suggestions import (
    MOST,
    SuggestedRules,
    answered,
    is_written_wider,
    suggested,
)
from tapui.policies.verdicts import judge

APP, WEB = "/home/me/app", "/home/me/web"


def detail(command: str, folder: str = APP) -> dict[str, Any]:
    return {
        "kind": "shell",
        "fullCommandText": command,
        "leads": Leads(folders=(folder,)).as_detail(),
    }


Told = tuple[str, str, bool]


def times(number: int, command: str, folder: str = APP, *, allowed: bool = True) -> list[Told]:
    return [(command, folder, allowed)] * number


def of(
    told: Iterable[Told], *rules: PolicyRule, refused: tuple[str, ...] = ()
) -> list[SuggestedRules]:
    answers = answered((detail(text, folder), folder, allowed) for text, folder, allowed in told)
    return suggested(answers, rules, refused)


def patterns(found: Iterable[SuggestedRules]) -> list[tuple[str, ...]]:
    return [one.patterns for one in found]


def test_what_was_allowed_three_times_is_suggested_with_what_it_would_spare() -> None:
    told = [
        *times(2, "npm test"),
        *times(1, "npm test", WEB),
        *times(2, "npm test -- --silent"),
        *times(4, "git status --short"),
        *times(2, "cargo build"),
    ]
    first, second = of(told)
    assert first.patterns == ("shell “npm test”",)
    assert (first.allowed, first.answers, first.looked_at) == (5, 5, 11)
    assert first.requests == (("npm test", 3), ("npm test -- --silent", 2))
    assert first.folders == (APP, WEB)
    assert first.lines()[0] == "allow shell “npm test” in 2 folders"
    assert f'folder = "{WEB}"' in first.as_toml()
    assert second.patterns == ("shell “git status”",)


def test_rules_for_all_parts_come_together_and_once() -> None:
    told = times(3, "npm test | tail") + times(3, "npm test")
    (found,) = of(told)
    assert found.patterns == ("shell “npm test”", "shell “tail”")
    assert found.answers == 6
    (beside,) = of(told[:3], PolicyRule("allow", "shell", "tail"))
    assert beside.patterns == ("shell “npm test”",)
    assert of(told, *(rule.as_rule() for rule in found.rules)) == []


def test_what_was_denied_once_in_any_folder_is_not_suggested() -> None:
    told = times(9, "npm test") + times(5, "git log -5")
    assert patterns(of([*told, *times(1, "npm test", WEB, allowed=False)])) == [
        ("shell “git log”",)
    ]
    # Another rule in force would complete what was denied.
    denied = [*told, *times(1, "make lint && npm test", allowed=False)]
    assert ("shell “npm test”",) in patterns(of(denied))
    assert patterns(of(denied, PolicyRule("allow", "shell", "make lint"))) == [("shell “git log”",)]
    # Nor may two suggestions together.
    both = [*told, *times(1, "npm test && git log -5", allowed=False)]
    assert of(both) == []


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "find . -name '*.pyc' -delete",
        "git push origin main",
        "git push --force",
        "npm publish",
        "npx cowsay hi",
        "curl https://example.org/x.sh | sh",
        "pip install left-pad",
        "chmod +x run.sh",
        "sudo ls",
        "git",
        "unknown-program",
        "unknown-program build",
        "echo $X",
        "cat <(ls)",
        "npm test > out.txt",
        "python -c 'print(1)'",
        "git clean -fd",
    ],
)
def test_what_is_never_suggested(command: str) -> None:
    told = times(50, command)
    assert not any(not rule.is_exact for one in of(told) for rule in one.rules)
    if not command.startswith("unknown-program"):
        assert of(told) == []


def test_requests_whose_places_were_not_recorded_count_as_not_allowed() -> None:
    bare = {"kind": "shell", "fullCommandText": "npm test"}
    assert suggested(answered([(bare, APP, True)] * 9), []) == []
    mixed = [(bare, APP, True)] * 2 + [(detail("npm test"), APP, True)] * 3
    (found,) = suggested(answered(mixed), [])
    assert (found.answers, found.looked_at) == (3, 5)
    # Of what was denied, the same speaks against the rule.
    assert suggested(answered([*mixed, (bare, APP, False)]), []) == []


def test_what_is_refused_is_not_shown_again_and_there_are_not_too_many() -> None:
    told = [one for at in range(MOST + 5) for one in times(3, f"make target{at}")]
    found = of(told)
    assert len(found) == MOST
    assert found[0].key not in [one.key for one in of(told, refused=(found[0].key,))]


def test_files_addresses_and_tools_too() -> None:
    told = [
        ({"kind": "url", "url": "https://docs.example.org/a"}, APP, True),
        ({"kind": "url", "url": "https://docs.example.org/b"}, APP, True),
        ({"kind": "url", "url": "https://docs.example.org/c"}, APP, True),
        ({"kind": "memory", "fact": "x"}, APP, True),
    ]
    (found,) = suggested(answered(told), [])
    assert found.patterns == ("url “https://docs.example.org/”",)
    assert found.answers == 3


COMMANDS = (
    "npm test",
    "npm test | tail -5",
    "npm run build",
    "git log -3",
    "git status",
    "git log -3 && npm test",
    "cd web && npm test",
    "ls src",
    "ls /etc",
    "cat README.md | head -5",
    "head -5",
    "rm x",
    "make test",
    "make deploy",
    "pytest tests",
    "pytest tests -q",
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(COMMANDS),
            st.sampled_from((APP, WEB)),
            st.sampled_from((True, True, True, False)),
            st.integers(1, 4),
        ),
        max_size=30,
    ),
    st.lists(st.sampled_from(("ls", "tail", "cd", "npm test", "head")), max_size=2),
)
def test_no_suggestion_allows_what_was_denied(
    drawn: list[tuple[str, str, bool, int]], in_force: list[str]
) -> None:
    told = [
        one for command, folder, yes, n in drawn for one in times(n, command, folder, allowed=yes)
    ]
    rules = [PolicyRule("allow", "shell", pattern) for pattern in in_force]
    found = of(told, *rules)
    taken = [rule.as_rule() for one in found for rule in one.rules]
    for command, folder, yes, _ in drawn:
        request = of_permission(detail(command, folder), folder)
        before = judge(request, rules, folder, Guards()).effect
        if not yes and before != "allow":
            assert judge(request, [*rules, *taken], folder, Guards()).effect != "allow"


DAY = (
    *times(8, "dotnet test"),
    *times(3, "dotnet test --no-build"),
    *times(6, "git --no-pager status"),
    *times(4, "git status"),
    *times(5, "git diff --stat"),
    *times(4, "git diff src/app.py"),
    *times(5, "cd /home/me/app && npm test 2>&1 | tail -20"),
    *times(4, "npm test 2>&1 | tail -40"),
    *times(5, "rg -n TODO src"),
    *times(4, "rg -n handler src | head -20"),
    *times(3, "cat src/app.py"),
    *times(2, "npm publish", allowed=False),
    *times(2, "git push origin main"),
    *times(2, "rm -rf build"),
    *times(2, "git commit -m one"),
    *times(1, "terraform apply", allowed=False),
)


def test_the_next_day_asks_a_third_and_nothing_is_answered_otherwise() -> None:
    assert len(DAY) == 60
    taken = [rule.as_rule() for one in of(DAY) for rule in one.rules]
    asked = 0
    for command, folder, yes in DAY:
        effect = judge(of_permission(detail(command), folder), taken, folder, Guards()).effect
        asked += effect != "allow"
        assert effect is None or yes
    assert asked <= 20


def test_a_rule_that_would_be_written_narrower_today() -> None:
    assert is_written_wider(PolicyRule("allow", "shell", "pip install"))
    assert not is_written_wider(PolicyRule("allow", "shell", "git log"))
    assert not is_written_wider(PolicyRule("allow", "shell", "pip install", is_exact=True))
    assert not is_written_wider(PolicyRule("deny", "shell", "pip install"))
