"""Rules out of files: each with its place, and what is wrong with them."""

import tomllib

import pytest

from tapui.policies.rule_reader import RuleFile, RuleReader
from tapui.policies.rules import RuleSource
from tapui.settings.toml_file import key_lines, line_of

LINKS = {"/home/me/app": "/data/app"}


def resolve(path: str) -> str:
    """Take the one link out that there is."""
    path = path.replace("~", "/home/me", 1)
    for link, real in LINKS.items():
        path = path.replace(link, real)
    return path.rstrip("/") or "/"


def rules(text: str, source: RuleSource = "person", folder: str | None = None) -> RuleFile:
    lines = key_lines(text)
    reader = RuleReader(
        "config.toml",
        source,
        lambda path: line_of(lines, path),
        resolve,
        home="/home/me",
        folder=folder,
    )
    return reader.read(tomllib.loads(text).get("rules", []))


def test_a_rule_says_where_it_stands() -> None:
    found = rules(
        '# mine\n[[rules]]\nallow = ["npm ci", "npm test"]\nfolder = "~/app"\n\n'
        '[[rules]]\nkind = "url"\ndeny = "https://bad.test"\nreason = "no"\n'
    )
    assert not found.faults
    assert [(one.effect, one.pattern, one.place, one.folder) for one in found.rules] == [
        ("allow", "npm ci", "config.toml:3", "/data/app"),
        ("allow", "npm test", "config.toml:3", "/data/app"),
        ("deny", "https://bad.test", "config.toml:8", None),
    ]
    assert found.rules[2].reason == "no"


def test_a_pattern_of_a_path_is_made_absolute_without_links() -> None:
    found = rules(
        '[[rules]]\nkind = "write"\nallow = ["~/app/src/**/*.py", "/tmp/x/"]\n'
        '[[rules]]\nkind = "read"\nfolder = "~/app"\ndeny = "secret/*"\n'
    )
    assert not found.faults
    assert [one.targets for one in found.rules] == [
        ("/home/me/app/src/**/*.py", "/data/app/src/**/*.py"),
        ("/tmp/x/",),
        ("/data/app/secret/*",),
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("rules = 1", "config.toml:1: rules: expected tables: write [[rules]] above each"),
        ("[rules]\na = 1", "config.toml:1: rules: expected tables: write [[rules]] above each"),
        ("[[rules]]\nalow = 'a'", "config.toml:2: rules.1.alow: unknown key"),
        ("[[rules]]\nkind = 'url'", "config.toml:1: rules.1: write one of allow, ask and deny"),
        ("[[rules]]\nallow = 'a'\ndeny = 'b'", "config.toml:1: rules.1: write one of"),
        ("[[rules]]\nallow = 1", "config.toml:2: rules.1.allow: expected a pattern"),
        ("[[rules]]\nallow = []", "config.toml:2: rules.1.allow: expected a pattern"),
        ("[[rules]]\nallow = ' '", "config.toml:2: rules.1.allow: the pattern is empty"),
        ("[[rules]]\nallow = 'a && b'", "config.toml:2: rules.1.allow: '&' in it"),
        ("[[rules]]\nallow = '\"a'", "config.toml:2: rules.1.allow: no closing quotation"),
        ("[[rules]]\nallow = '*'", "config.toml:2: rules.1.allow: name the program"),
        ("[[rules]]\nallow = 'a'\nkind = 'sh'", "config.toml:3: rules.1.kind: write one of shell"),
        ("[[rules]]\nallow = 'a'\nfolder = 'b'", "config.toml:3: rules.1.folder: expected an"),
        ("[[rules]]\nallow = 'a'\nexact = 1", "config.toml:3: rules.1.exact: expected true"),
        ("[[rules]]\nask = 'a'\nreason = 1", "config.toml:3: rules.1.reason: expected a text"),
        ("[[rules]]\nallow = 'a'\nkind = 'write'", "config.toml:2: rules.1.allow: write an abs"),
        ("[[rules]]\nallow = 'a'\nkind = 'url'", "config.toml:2: rules.1.allow: write it as https"),
        (
            "[[rules]]\nallow = 'https://a*b'\nkind = 'url'",
            "config.toml:2: rules.1.allow: in a host",
        ),
        ("[[rules]]\nallow = 'a'\nkind = 'mcp'", "config.toml:2: rules.1.allow: write server/tool"),
        ("[[rules]]\nallow = 'a'\nkind = 'hook'", "config.toml:2: rules.1.allow: what a hook asks"),
    ],
)
def test_a_fault_is_told_with_file_line_and_key(text: str, fault: str) -> None:
    found = rules(text)
    assert len(found.faults) == 1
    assert str(found.faults[0]).startswith(fault)
    assert all(one.effect == "ask" for one in found.rules)


def test_a_file_with_a_fault_allows_nothing_and_forbids_what_it_can() -> None:
    found = rules(
        "[[rules]]\nallow = 'npm ci'\n[[rules]]\ndeny = 'rm'\n[[rules]]\nask = 'npm publish'\n"
        "[[rules]]\nallow = 'x;y'\n"
    )
    assert [one.effect for one in found.rules] == ["deny", "ask"]
    assert [one.line for one in found.faults] == [8]


def test_a_file_of_a_repository_may_only_ask_and_deny_in_its_folder() -> None:
    text = "[[rules]]\nallow = 'npm ci'\n[[rules]]\ndeny = 'rm'\n[[rules]]\nask = 'git push'\n"
    found = rules(text, "folder", "/data/app")
    assert [(one.effect, one.folder) for one in found.rules] == [
        ("deny", "/data/app"),
        ("ask", "/data/app"),
    ]
    assert "may only ask and deny" in str(found.faults[0])
    outside = rules("[[rules]]\ndeny = 'rm'\nfolder = '/data'\n", "folder", "/data/app")
    assert not outside.rules
    assert "own folder only" in str(outside.faults[0])
    within = rules("[[rules]]\ndeny = 'rm'\nfolder = '/data/app/b'\n", "folder", "/data/app")
    assert [one.folder for one in within.rules] == ["/data/app/b"]
