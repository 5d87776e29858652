"""The rules that are proposed for a request allow it, and are written as they are read."""

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapui.policies.commands import parsed
from tapui.policies.proposals import ProposedRule, proposed
from tapui.policies.requests import of_permission
from tapui.policies.rule_reader import RuleReader
from tapui.policies.verdicts import judge
from tests.policies.judged import FOLDER, GUARDS, LEADS, command
from tests.policies.test_options import ASKED, PLAIN, spelt


def patterns(text: str) -> list[str]:
    asked = of_permission({"kind": "shell", "fullCommandText": text}, FOLDER)
    return [one.pattern + (" (exact)" if one.is_exact else "") for one in proposed(asked, FOLDER)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("npm ci", ["npm ci"]),
        ("pnpm test --filter x && npm ci", ["pnpm test", "npm ci"]),
        ("rm -rf build && npm ci", ["rm -rf build (exact)", "npm ci"]),
        ("rm build", ["rm build (exact)"]),
        ("ls", ["ls"]),
        ("grep -rn x .", ["grep"]),
        ("timeout 5 pnpm test", ["timeout 5 pnpm test (exact)"]),
        ("npx prettier --check .", ["npx prettier --check . (exact)"]),
        ("git --no-pager log -5", ["git log"]),
        ("tail -20", ["tail"]),
        ("pytest -q tests", ["pytest tests"]),
        ("make -j4 test", ["make test"]),
        ("curl -s http://x.test/a", ["curl http://x.test/a"]),
        ("git push origin main", ["git push origin main (exact)"]),
        ("make -n deploy", ["make -n deploy (exact)"]),
        ("npm publish --dry-run", ["npm publish --dry-run (exact)"]),
        ("cargo install ripgrep", ["cargo install ripgrep"]),
        ("docker rm web", ["docker rm web"]),
        ("black --check src", ["black --check src (exact)"]),
        ("tar -tf a.tar", ["tar -tf a.tar (exact)"]),
        ("nox -s tests", ["nox -s tests (exact)"]),
        ("git commit -m 'a b'", ["git commit"]),
        ("apt-get update", ["apt-get update (exact)"]),
        ("cd a && npm ci", ["cd", "npm ci"]),
        ("python -c 'print(1)'", []),
        ("echo $HOME", []),
        ("npm ci > log", []),
        ("npm run build", ["npm run build"]),
        ("npm run build --silent", ["npm run build"]),
        ("npm run build -- --runner=x", ["npm run build -- --runner=x (exact)"]),
        ("gh pr list --limit 5", ["gh pr list"]),
        ("gh pr", ["gh pr (exact)"]),
        ("docker compose up -d", ["docker compose up"]),
        ("docker compose -f x up", ["docker compose -f x up (exact)"]),
        ("pip install requests", ["pip install requests (exact)"]),
        ("npm install", ["npm install (exact)"]),
        ("kubectl get pods -n x", ["kubectl get pods"]),
        ("git remote add origin x", ["git remote add origin x"]),
        ("git remote", ["git remote (exact)"]),
        ("git log --oneline -5", ["git log"]),
        ("git log --output=x", ["git log --output=x (exact)"]),
        ("git -C x status", ["git -C x status (exact)"]),
        ("git frob", ["git frob (exact)"]),
        ("pnpm build", ["pnpm build (exact)"]),
        ("aws s3 ls", ["aws s3 ls (exact)"]),
        ("frob build --fast", ["frob build --fast (exact)"]),
        ("sort *", []),
        ("npm test 'a*'", ["npm test"]),
        ("find . -name '*.py'", ["find"]),
        ("echo x | bash", ["echo"]),
        ("uv run pytest -q", ["uv run pytest"]),
        ("npm 'c i'", ["npm 'c i' (exact)"]),
    ],
)
def test_a_proposal_is_narrow(text: str, wanted: list[str]) -> None:
    assert patterns(text) == wanted


def test_no_rule_is_proposed_that_would_not_allow_its_part() -> None:
    rows = [*spelt(PLAIN), *spelt(ASKED)]
    for text in [*map(" ".join, rows), "make CC=x", "tar xIf x y", "sh"]:
        asked = command(text)
        rules = [one.as_rule() for one in proposed(asked, FOLDER)]
        if rules and len(rules) == len(parsed(text).parts):
            assert judge(asked, rules, FOLDER, GUARDS).effect == "allow", text


REQUESTS = [
    {"kind": "shell", "fullCommandText": "pnpm test --filter x && npm ci | head -3"},
    {"kind": "shell", "fullCommandText": "cd web && npm ci"},
    {"kind": "write", "fileName": f"{FOLDER}/a b.py", "resolvedPath": f"{FOLDER}/a b.py"},
    {"kind": "read", "path": "/etc/hosts", "resolvedPath": "/etc/hosts"},
    {"kind": "url", "url": "https://docs.example.org:8443/a?b"},
    {"kind": "mcp", "serverName": "tower", "toolName": "tower-ping"},
    {"kind": "custom-tool", "toolName": "build_all", "args": {"x": 1}},
]


@pytest.mark.parametrize("detail", REQUESTS, ids=lambda one: str(one["kind"]))
def test_what_is_proposed_allows_what_it_was_made_from(detail: dict[str, object]) -> None:
    asked = of_permission({**detail, "leads": LEADS.as_detail()}, FOLDER)
    made = proposed(asked, FOLDER)
    assert made
    assert judge(asked, [one.as_rule() for one in made], FOLDER, GUARDS).effect in ("allow", None)
    text = "".join(one.as_toml() for one in made)
    reader = RuleReader("f", "person", lambda _: 1, lambda path: path, home="/home/me")
    found = reader.read(tomllib.loads(text)["rules"])
    assert not found.faults
    if detail.get("fullCommandText", "") != "cd web && npm ci":
        assert judge(asked, found.rules, FOLDER, GUARDS).effect == "allow"


def test_nothing_is_proposed_where_no_rule_may_be() -> None:
    assert not proposed(of_permission({"kind": "hook", "toolName": "bash"}, FOLDER), FOLDER)
    assert not proposed(of_permission({"kind": "memory", "fact": "x"}, FOLDER), FOLDER)
    assert not proposed(of_permission({"kind": "url", "url": "https://a@b/"}, FOLDER), FOLDER)
    assert not proposed(of_permission(REQUESTS[0], FOLDER), None)


@given(st.text(max_size=60), st.text(min_size=1, max_size=60))
@settings(deadline=None)
def test_any_text_is_written_so_that_it_is_read_again(pattern: str, folder: str) -> None:
    pattern = pattern.encode("utf-8", "replace").decode()
    folder = folder.encode("utf-8", "replace").decode()
    written = ProposedRule("tool", pattern, folder).as_toml()
    assert tomllib.loads(written)["rules"] == [{"kind": "tool", "allow": pattern, "folder": folder}]
