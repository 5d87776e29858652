"""Verdicts on what is not a command, and which rule decides."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapui.policies.requests import of_call, of_permission
from tapui.policies.rules import PolicyRule, RuleEffect
from tapui.policies.verdicts import judge, strictest
from tests.policies.judged import FOLDER, GUARDS, allow, ask, deny, on, on_command


def file_rule(effect: RuleEffect, pattern: str, kind: str = "write") -> PolicyRule:
    return PolicyRule(effect, kind, pattern, targets=(pattern,))  # type: ignore[arg-type]


# Files


@pytest.mark.parametrize(
    ("path", "real", "effect"),
    [
        ("/home/me/src/app/a.py", "/home/me/src/app/a.py", "allow"),
        ("/home/me/src/app/b/c/a.py", "/home/me/src/app/b/c/a.py", "allow"),
        ("/home/me/src/app/a.sh", "/home/me/src/app/a.sh", None),
        ("a.py", "/home/me/src/app/a.py", None),
        ("/home/me/src/app/a.py", None, None),
        ("/home/me/src/app/link.py", "/home/me/.ssh/authorized.py", None),
        ("/home/me/src/app/../../a.py", "/home/me/a.py", None),
        ("/home/me/src/app/a.py", "/home/me/src/app/../../a.py", None),
        ("/home/me/src/app/a.py", "/home/me/src/app/./a.py", None),
        ("/home/me/src/app/a.py", "//home/me/src/app/a.py", None),
        ("/home/me/src/app/.git/hooks/a.py", "/home/me/src/app/.git/hooks/a.py", None),
        ("/home/me/src/app/secret/a.py", "/home/me/src/app/secret/a.py", "deny"),
        ("secret/a.py", None, "deny"),
        ("x/../secret/a.py", None, "deny"),
        ("/tmp/link", "/home/me/src/app/secret/a.py", "deny"),
    ],
)
def test_a_file_is_allowed_where_it_really_is(
    path: str, real: str | None, effect: str | None
) -> None:
    rules = [
        file_rule("allow", "/home/me/src/app/**/*.py"),
        file_rule("deny", "/home/me/src/app/secret/"),
    ]
    detail = {"kind": "write", "fileName": path} | ({"resolvedPath": real} if real else {})
    assert on(rules, **detail).effect == effect


@pytest.mark.parametrize(
    "path",
    [
        "/home/me/.bashrc",
        "/home/me/.zshenv",
        "/home/me/.config/fish/config.fish",
        "/home/me/.gitconfig",
        "/home/me/src/app/.git/config",
        "/home/me/src/app/.GIT/hooks/x",
        "/home/me/.copilot/mcp-config.json",
        "/home/me/src/app/.github/copilot-instructions.md",
        "/home/me/src/app/.github/hooks/a.json",
        "/home/me/src/app/.github/extensions/a/extension.mjs",
        "/home/me/.config/tapui/config.toml",
        "/home/me/.local/state/tapui/run/9400/gateway.json",
        "/home/me/src/app/tapui.toml",
        "/home/me/src/app/.github/tapui.toml",
        "/opt/copilot-home/config.json",
        "/etc/profile.d/x.sh",
        "/home/me/.ssh/authorized_keys",
    ],
)
def test_configuration_that_decides_what_runs_is_always_asked(path: str) -> None:
    found = on([file_rule("allow", "/**")], kind="write", fileName=path, resolvedPath=path)
    assert found.effect is None
    assert found.why == found.unkeepable != ""


def test_a_file_with_a_token_is_not_read_by_a_rule() -> None:
    path = "/home/me/.copilot/extensions/tap/.provider-token"
    rules = [file_rule("allow", "/**", "read")]
    assert on(rules, kind="read", path=path, resolvedPath=path).effect is None
    for name in ("gateway.json", "internal-token", "provider-token"):
        path = f"/opt/state/run/9400/{name}"
        assert on(rules, kind="read", path=path, resolvedPath=path).effect is None
        path = f"{FOLDER}/config/api-{name}"
        assert on(rules, kind="read", path=path, resolvedPath=path).effect == "allow"
    other = "/home/me/.copilot/config.json"
    assert on(rules, kind="read", path=other, resolvedPath=other).effect == "allow"


# URLs


@pytest.mark.parametrize(
    ("url", "effect"),
    [
        ("https://docs.example.org/a", "allow"),
        ("https://docs.example.org", "allow"),
        ("HTTPS://DOCS.EXAMPLE.ORG/a?b=c", "allow"),
        ("https://docs.example.org:443/a", "allow"),
        ("https://docs.example.org:8443/a", None),
        ("http://docs.example.org/a", None),
        ("https://docs.example.org.evil.test/a", None),
        ("https://evil.test/?x=https://docs.example.org/", None),
        ("https://docs.example.org@evil.test/", None),
        ("https://docs.example.org\\@evil.test/", None),
        ("https://docs.example.org /a", None),
        ("https://döcs.example.org/", None),
        ("https://api.test/v1/users", "allow"),
        ("https://api.test/v1/../admin", None),
        ("https://api.test/v1/%2e%2e/admin", None),
        ("https://api.test/v2", None),
        ("https://a.wide.test/", "allow"),
        ("https://wide.test/", None),
        ("https://notwide.test/", None),
        ("https://evil.test/", None),
        ("file:///etc/passwd", None),
        ("javascript:1", None),
        ("https://bad.test/x", "deny"),
        ("http://bad.test:8080/x", "deny"),
        ("https://bad.test./x", "deny"),
        ("https://me@bad.test/x", "deny"),
        ("http://127.0.0.1:18282/", None),
        ("https://api.test/v1/?u=http%3A%2F%2F127.0.0.1%3A18282%2F", None),
        ("https://api.test/v1/issues/18282", "allow"),
    ],
)
def test_a_url_is_read_as_every_program_reads_it(url: str, effect: str | None) -> None:
    rules = [
        *allow("https://docs.example.org", "https://api.test/v1/*", kind="url"),
        *allow("https://*.wide.test", "http://127.0.0.1:18282/", kind="url"),
        *deny("https://bad.test", kind="url"),
    ]
    assert on(rules, kind="url", url=url).effect == effect


# Tools


def test_tools_of_servers_and_others_are_named() -> None:
    rules = [*allow("tower/ping", "docs/*", kind="mcp"), *allow("build_*", kind="tool")]
    assert on(rules, kind="mcp", serverName="tower", toolName="tower-ping").effect == "allow"
    assert on(rules, kind="mcp", serverName="tower", toolName="ping").effect == "allow"
    assert on(rules, kind="mcp", serverName="docs", toolName="docs-find").effect == "allow"
    assert on(rules, kind="mcp", serverName="evil", toolName="tower-ping").effect is None
    assert on(rules, kind="custom-tool", toolName="build_all").effect == "allow"
    assert on(rules, kind="custom-tool", toolName="rebuild_all").effect is None


@pytest.mark.parametrize("kind", ["extension-management", "path", "", "factory-run"])
def test_kinds_that_no_rule_knows_are_asked(kind: str) -> None:
    found = on(allow("*", kind="tool"), kind=kind, toolName="x", path="/x")
    assert found.effect is None
    assert found.unkeepable


def test_what_a_hook_asks_is_for_the_person() -> None:
    asked = {"kind": "hook", "toolName": "bash", "toolArgs": {}}
    assert on(deny("bash", kind="hook"), **asked).effect == "deny"
    assert on([], **asked).unkeepable


def test_memory_is_a_kind() -> None:
    assert on(allow("*", kind="memory"), kind="memory", fact="x").effect == "allow"


# Which rule decides


def test_the_administrators_file_goes_before_every_other() -> None:
    managed = {"source": "managed"}
    assert on_command("npm ci", [*deny("npm ci"), *allow("npm", **managed)]).effect == "allow"
    assert on_command("npm ci", [*allow("npm ci"), *deny("npm", **managed)]).effect == "deny"
    assert on_command("npm ci", [*allow("npm ci"), *ask("npm", **managed)]).effect == "ask"
    both = [*allow("npm", **managed), *deny("rm")]
    assert on_command("npm ci && rm x", both).effect == "deny"


def test_a_rule_of_a_folder_holds_there_and_below() -> None:
    rules = allow("npm ci", folder="/home/me/src")
    given = of_permission({"kind": "shell", "fullCommandText": "npm ci"}, FOLDER)
    for folder, effect in (
        ("/home/me/src/app", "allow"),
        ("/home/me/src", "allow"),
        ("/home/me/src2", None),
        ("/home/me", None),
        (None, None),
    ):
        assert judge(given, rules, folder, GUARDS).effect == effect
    assert on_command("cd /tmp && npm ci", [*rules, *allow("cd")]).effect is None


def test_exactly_this_is_allowed_until_the_session_ends() -> None:
    text = "X=$(date) ./deploy --to staging | tee log"
    asked = of_permission({"kind": "shell", "fullCommandText": text}, FOLDER)
    kept = allow(asked.key, source="session", folder=FOLDER)
    assert on_command(text, kept).effect == "allow"
    assert on_command(text + " ", kept).effect is None
    assert on_command(text.replace("staging", "production"), kept).effect is None
    assert on_command(text, [*kept, *ask("tee")]).effect == "ask"
    assert on_command(text, [*kept, *deny("tee")]).effect == "deny"
    assert (
        on_command("tapui stop", allow('["shell", "tapui stop"]', source="session")).effect is None
    )
    assert on_command("tapui stop", []).unkeepable == "it names tapui"


def test_the_rule_of_a_session_is_no_pattern() -> None:
    asked = of_permission({"kind": "custom-tool", "toolName": "*", "args": {}}, FOLDER)
    kept = allow(asked.key, kind="tool", source="session")
    assert on(kept, kind="custom-tool", toolName="*", args={}).effect == "allow"
    assert on(kept, kind="custom-tool", toolName="x", args={}).effect is None
    assert on(kept, kind="custom-tool", toolName="*", args={"a": 1}).effect is None


# Which rule came nearest

NEARBY = [
    *allow("git log", "git fetch", "git fetch origin main", "cat docs/*", "timeout"),
    *allow("rm -rf build", is_exact=True),
    *allow("npm run build", "npm ci", folder="/home/me/other"),
    *allow("npm ci", "npm test", folder=FOLDER),
    *deny("npm publish"),
]


@pytest.mark.parametrize(
    ("text", "pattern", "why"),
    [
        ("git fetch --upload-pack=x", "git fetch", "git fetch --upload-pack=x may run or write"),
        ("rm -rf", "rm -rf build", "it names build, too"),
        ("git fetch origin dev -x", "git fetch origin main", "it names main, not dev"),
        ("git --no-pager show", "git log", "it names log, not --no-pager"),
        ("git", "git log", "it names log, too"),
        ("git push", "git log", "it names log, not push"),
        ("npm run build", "npm run build", "it only holds in /home/me/other"),
        ("npm ci --frob", "npm ci", "npm ci --frob may run or write"),
        ("cd web; npm test", "npm test", "the command changes its folder before"),
        ("rm -rf build src", "rm -rf build", "it is exact, and src follows"),
        ("cat docs/a b", "cat docs/*", "it does not name b"),
        ("timeout 5 npm ci", "timeout", "timeout runs what follows it"),
    ],
)
def test_what_no_rule_allows_says_which_came_nearest_and_what_is_in_its_way(
    text: str, pattern: str, why: str
) -> None:
    found = on_command(text, NEARBY)
    part = found.parts[-1]
    assert found.effect is None
    assert part.nearest is not None
    assert (part.nearest.pattern, part.why[: len(why)]) == (pattern, why)


@pytest.mark.parametrize("text", ["cargo build", "/bin/git log", "npm ci", "npm publish"])
def test_where_no_rule_names_the_program_or_one_decides_none_came_near(text: str) -> None:
    (part,) = on_command(text, NEARBY).parts
    assert (part.nearest, part.why) == (None, "")


def test_of_rules_that_are_equally_near_one_that_holds_here_is_named_then_the_first() -> None:
    rules = [*allow("npm ci", folder="/x"), *allow("npm ci"), *allow("npm ci", folder=FOLDER)]
    assert on_command("npm ci --frob", rules).parts[0].nearest == rules[1]
    assert on_command("npm ci", rules[:1]).parts[0].nearest == rules[0]


@pytest.mark.parametrize(
    ("rule", "detail", "why"),
    [
        (
            file_rule("allow", f"{FOLDER}/docs/**"),
            {"kind": "write", "fileName": f"{FOLDER}/docs/a", "resolvedPath": "/tmp/x"},
            "it is not about /tmp/x",
        ),
        (
            file_rule("allow", f"{FOLDER}/docs/**"),
            {"kind": "write", "fileName": "/tmp/x", "resolvedPath": "/tmp/x"},
            "",
        ),
        (
            allow("https://api.test/v1/*", kind="url")[0],
            {"kind": "url", "url": "https://api.test/v2"},
            "its scheme, port or path is another",
        ),
        (
            allow("https://api.test/v1/*", kind="url")[0],
            {"kind": "url", "url": "https://b.test/v1/a"},
            "",
        ),
        (
            allow("docs/find", kind="mcp", folder="/x")[0],
            {"kind": "mcp", "serverName": "docs", "toolName": "find"},
            "it only holds in /x",
        ),
    ],
)
def test_a_rule_for_other_things_may_come_near_too(
    rule: PolicyRule, detail: dict[str, object], why: str
) -> None:
    (part,) = on([rule], **detail).parts
    assert part.rule is None
    assert (part.nearest, part.why) == (rule if why else None, why)


# What is forbidden, even if other rules allow it


def test_calls_are_forbidden_by_what_they_do() -> None:
    rules = [
        *deny("rm"),
        *deny("task", kind="tool"),
        *deny("tower/ping", kind="mcp"),
        *deny("https://bad.test", kind="url"),
        file_rule("deny", "/home/me/src/app/.env"),
        file_rule("deny", "/home/me/.aws/", "read"),
        *ask("npm publish"),
    ]

    def is_denied(tool: str, **args: object) -> bool:
        rule = strictest(of_call(tool, args, FOLDER), rules, FOLDER)
        return rule is not None and rule.effect == "deny"

    assert is_denied("bash", command="sudo rm x")
    assert is_denied("write_bash", input="rm x\n")
    assert is_denied("task", prompt="x")
    assert is_denied("tower-ping")
    assert is_denied("web_fetch", url="https://bad.test/x")
    assert is_denied("create", path=".env", file_text="x")
    assert is_denied("edit", path="/home/me/src/app/.env")
    assert is_denied("apply_patch", input="*** Begin Patch\n*** Update File: .env\n")
    assert is_denied("view", path="/home/me/.aws/credentials")
    assert is_denied("grep", pattern="x", paths=["/tmp", "/home/me/.aws/x"])
    assert not is_denied("bash", command="npm publish")
    asking = strictest(of_call("bash", {"command": "npm publish"}, FOLDER), rules, FOLDER)
    assert asking is not None
    assert asking.pattern == "npm publish"
    assert strictest(of_call("bash", {"command": "npm ci"}, FOLDER), rules, FOLDER) is None
    assert not is_denied("view", path=".env")
    assert not is_denied("tower-pong")
    assert not is_denied("bash")


def test_shell_means_every_shell_tool_of_the_session() -> None:
    for rules in (deny("shell", kind="tool"), deny("rm")):
        for tool in ("bash", "write_bash", "terminal"):
            argument = "input" if tool == "write_bash" else "command"
            asked = of_call(tool, {argument: "rm x"}, FOLDER, {"terminal"})
            assert strictest(asked, rules, FOLDER) == rules[0], tool
        assert strictest(of_call("terminal", {"command": "rm x"}, FOLDER), rules, FOLDER) is None


@given(
    st.dictionaries(
        st.sampled_from(["kind", "fullCommandText", "path", "fileName", "url", "commandSegments"]),
        st.one_of(st.none(), st.integers(), st.text(max_size=9), st.lists(st.none(), max_size=2)),
    ),
    st.sampled_from(["shell", "write", "read", "url", "mcp", "custom-tool", "memory", "hook"]),
)
@settings(deadline=None)
def test_odd_requests_are_asked(detail: dict[str, object], kind: str) -> None:
    found = on([*allow("a"), file_rule("allow", "/a")], **{**detail, "kind": kind})
    assert found.effect is None or detail.get("fullCommandText") == "a"


# PowerShell


@pytest.mark.parametrize("command", ["npm ci", "npm test; Remove-Item x", "Get-ChildItem"])
def test_nothing_allows_what_powershell_runs(command: str) -> None:
    rules = [*allow("npm ci", "npm test", "Get-ChildItem"), *allow(command, is_exact=True)]
    judged = on_command(command, rules, shell="powershell")
    assert judged.effect is None
    assert "PowerShell" in judged.why
    assert judged.unkeepable == ""


@pytest.mark.parametrize(
    "command",
    ["remove-item -Recurse x", "if ($true) { Remove-Item x }", "1..3 | % { & REMOVE-ITEM $_ }"],
)
def test_what_is_denied_is_looked_for_in_powershell_too(command: str) -> None:
    rules = [*deny("Remove-Item"), *ask("npm publish")]
    assert on_command(command, rules, shell="powershell").effect == "deny"
    assert on_command("NPM publish", rules, shell="powershell").effect == "ask"
    rule = strictest(of_call("powershell", {"command": command}, FOLDER), rules, FOLDER)
    assert rule is not None
    assert rule.effect == "deny"
