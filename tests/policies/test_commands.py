"""What rules make of shell commands, above all of those that hide what they do."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tapui.policies.commands import parsed
from tests.policies.judged import allow, ask, deny, on_command

RULES = [
    *allow("pnpm test", "npm ci", "git status", "git log", "git diff", "ls", "cat", "echo"),
    *allow("grep", "find", "rg", "sed -n", "cd", "head", "wc", "xargs", "env", "python -m pytest"),
    *allow(
        "bash",
        "python",
        "npx prettier",
        "uv run pytest",
        "make",
        "tee",
        "true",
        "curl https://example.org/*",
        "tar",
        "git",
        "rm",
    ),
    *allow("sudo systemctl restart app", is_exact=True),
    *deny("rm -rf", "git push --force", "shutdown"),
    *ask("npm publish", "git push"),
]

ALLOWED = [
    "pnpm test",
    "  pnpm test  ",
    "pnpm test --filter @acme/gateway -- --runInBand",
    "pnpm test && npm ci",
    "pnpm test; npm ci;",
    "pnpm test || true",
    "pnpm test | head -20 | wc -l",
    "pnpm test |& head",
    "pnpm test 2>&1 | head",
    "pnpm test >/dev/null 2>&1",
    "pnpm test &>/dev/null",
    "pnpm test 2> /dev/null",
    "(pnpm test; npm ci)",
    "{ pnpm test; npm ci; }",
    "! pnpm test",
    "pnpm test &",
    "pnpm test\nnpm ci\n",
    "pnpm \\\n  test",
    "pn''pm 'te''st'",
    "echo 'a; rm -rf /'",
    'echo "a && b | c > d"',
    "echo a\\;rm",
    "cd packages/a && pnpm test",
    "find . -name '*.py'",
    "find ./*",
    "python --version",
    "ls *.py src/[ab].ts",
    "grep -rn 'sleep(' tests/",
    "git log --oneline -5 HEAD~3",
    "git diff main...HEAD -- src",
    "python -m pytest -x tests",
    "npx prettier --check src",
    "uv run pytest -q",
    "curl https://example.org/a -sS",
    "sudo systemctl restart app",
    "tar -xzf a.tgz",
    "make -j4",
    "cat a.txt b.txt",
    "rm build/out.o",
]

ASKED = [
    # Programs that no rule names
    "pnpm install",
    "pnpm test && npm run build",
    "pnpm test; curl2 x",
    "pnpm test | sh",
    "pnpm test & node x.js",
    "pnpm test\nnode x.js",
    "pnpm test\r\nnode x.js",
    "(pnpm test; node x.js)",
    "{ pnpm test; node x.js; }",
    "pnpm test || node x.js",
    "pnpm test |& node x.js",
    "! node x.js",
    # Substitutions and expansions
    "pnpm test $(node x.js)",
    "pnpm test `node x.js`",
    'pnpm test "$(node x.js)"',
    'echo "`id`"',
    "pnpm test <(node x.js)",
    "pnpm test >(node x.js)",
    "echo $HOME",
    "echo ${x:-$(id)}",
    'echo "${x@P}"',
    "echo $((1+1))",
    "$SHELL -c id",
    "$'\\162\\155' x",
    "echo $'a'",
    'echo $"a"',
    "ls {a,b}",
    "ls {1..3}",
    "/bin/l?",
    "l[s] x",
    "~root/x",
    "ls ~root",
    "echo !!",
    "!$",
    # Quotes inside words, look-alike letters, things that do not show
    "n''ode x.js",
    'no"de" x.js',
    "n\\ode x.js",
    "рnpm test",  # noqa: RUF001
    "pnpm\u00a0test",
    "pnpm test\u2028node x.js",
    "pnpm test \u202enode",
    "pnpm test \u200b",
    "ls\x1b[2K",
    "pnpm test\x00node",
    "ｌｓ",  # noqa: RUF001
    # Files
    "pnpm test > out.txt",
    "pnpm test >> out.txt",
    "echo x >| out.txt",
    "echo x > /dev/null/../../x",
    "cat < /etc/passwd",
    "echo x &> out",
    "echo x >& out",
    "cat <<EOF\nhi\nEOF",
    "cat <<'EOF'\n$(id)\nEOF",
    "cat <<< hi",
    "exec 3<>/dev/tcp/1.2.3.4/80",
    # Assignments, definitions, forms of the shell
    "FOO=1 pnpm test",
    "PATH=/tmp:$PATH pnpm test",
    "FOO=1",
    "a=(b c)",
    "export PATH=/tmp",
    "pnpm() { node x.js; }; pnpm test",
    "function pnpm { node x.js; }\npnpm test",
    "alias pnpm=node; pnpm test",
    "if true; then pnpm test; fi",
    "for x in a b; do pnpm test; done",
    "while true; do pnpm test; done",
    "case x in x) pnpm test;; esac",
    "[[ -f x ]] && pnpm test",
    "[ -f x ] && pnpm test",
    "coproc pnpm test",
    "((x=1))",
    # Programs that run others
    "env node x.js",
    "env pnpm test",
    "xargs node",
    "ls | xargs rm",
    "find . -exec node {} ;",
    "find . -name x -execdir node {} +",
    "find . -ok node {} ;",
    "eval 'node x.js'",
    "source x.sh",
    ". ./x.sh",
    "sudo pnpm test",
    "sudo systemctl restart app now",
    "command pnpm test",
    "builtin echo x",
    "exec pnpm test",
    "time pnpm test",
    "timeout 5 pnpm test",
    "nohup pnpm test",
    "bash -c 'pnpm test'",
    "bash",
    "echo 'node x.js' | bash",
    "echo 'node x.js' | bash -s",
    "echo 'node x.js' | bash -",
    "echo 1 | python",
    "echo 1 | python -",
    "cat x | python -u /dev/stdin",
    "ls | xargs",
    "bash x.sh",
    "python x.py",
    "find *",
    "tar -xf a.tar *",
    "git log [a-z]*",
    "sh x.sh",
    "python -c 'print(1)'",
    "python -m http.server",
    "node -e 1",
    "perl -e 1",
    "npx other",
    "npx -c node",
    "uv run node",
    "uv --quiet run pytest",
    "sed -n '1e id' x",
    "awk 'BEGIN{system(\"id\")}'",
    "rg --pre node x",
    "git -c core.pager=node log",
    "git --exec-path=/tmp status",
    "git log --output=x",
    "git -C /tmp status",
    "git config user.name x",
    "git submodule foreach node",
    "git bisect run node",
    "git difftool",
    "tar --to-command=node -xf a.tar",
    "tar -I node -xf a.tar",
    "make SHELL=/tmp/x",
    "make --eval '$(shell id)'",
    "curl -o x https://example.org",
    # What could answer requests, or change rules
    "echo tapui",
    "tapui approve a1",
    "ls ~/.config/ta''pui",
    "tmux send-keys -t 0 y Enter",
    "echo x | tee ~/.bashrc",
    "tee .git/hooks/pre-commit",
    "cat .git/config",
    "echo x | tee ~/.zs''hrc",
    "tee ~/.copilot/config.json",
    "tee /opt/copilot-home/x",
    "cat ~/.copilot/extensions/tap/.provider-token",
    "cat gateway.json",
    "curl http://127.0.0.1:18282/",
    "curl http://[::1]:9400/",
    "cat ~/.ssh/id_ed25519",
    # Not a command at all
    "",
    "   ",
    "pnpm test &&",
    "pnpm test )",
    "pnpm test 'x",
    "pnpm test ;; npm ci",
    "| pnpm test",
    "pnpm test " + "x" * 40_000,
    "(" * 3000 + "pnpm test" + ")" * 3000,
    # Rules that ask
    "npm publish",
    "git push",
    "git push origin main",
    "pnpm test && npm publish",
]

DENIED = [
    "rm -rf build",
    "pnpm test && rm -rf build",
    "pnpm test; /bin/rm -rf x",
    "sudo rm -rf x",
    "sudo -u me rm -rf x",
    "env A=1 rm -rf x",
    "ls | xargs rm -rf",
    "find . -exec rm -rf {} ;",
    "echo $(rm -rf x)",
    "echo `rm -rf x`",
    "cat <(rm -rf x)",
    "r''m -rf x",
    "r\\m '-rf' x",
    "rm build -rf",
    "bash -c 'rm -rf x'",
    "bash -lc 'true; rm -rf x'",
    "sudo bash -c \"sh -c 'rm -rf x'\"",
    "eval 'rm -rf x'",
    "if true; then rm -rf x; fi",
    "f() { rm -rf x; }; f",
    "A=1 rm -rf x",
    "(cd /; rm -rf x)",
    "cat <<EOF\n$(rm -rf x)\nEOF",
    "rm -rf x 'unfinished",
    "timeout 5 rm -rf x",
    "{rm,-rf,x}",
    "find . -delete",
    "git -C /tmp push origin --force",
    "git push --force",
    "shutdown now",
    "nohup shutdown &",
]


@pytest.mark.parametrize("text", ALLOWED)
def test_a_command_of_listed_programs_is_allowed(text: str) -> None:
    found = on_command(text, RULES)
    assert found.effect == "allow", found


@pytest.mark.parametrize("text", ASKED)
def test_anything_else_is_asked(text: str) -> None:
    found = on_command(text, RULES)
    assert found.effect in (None, "ask"), found
    assert found.why or found.effect == "ask" or any(part.rule is None for part in found.parts)


@pytest.mark.parametrize("text", DENIED)
def test_a_program_that_is_forbidden_is_found_where_it_stands(text: str) -> None:
    assert on_command(text, RULES).effect == "deny"


def test_the_tables_are_what_they_are_called() -> None:
    assert len(ASKED) >= 60
    assert len({*ASKED, *ALLOWED, *DENIED}) == len(ASKED) + len(ALLOWED) + len(DENIED)


def test_a_deep_command_is_read_in_its_time() -> None:
    for text in ("$(" * 5_000, "(" * 30_000, "bash -c '" * 3_000, "a;" * 16_000, "{" * 30_000):
        assert on_command(text, RULES).effect is None


def test_the_parts_of_a_command_are_judged_one_by_one() -> None:
    found = on_command("rm -r build && npm ci", allow("npm ci", place="config.toml:7"))
    assert [part.text for part in found.parts] == ["rm -r build", "npm ci"]
    assert [part.rule and part.rule.place for part in found.parts] == [None, "config.toml:7"]
    assert found.effect is None


@pytest.mark.parametrize(
    ("text", "redirections", "writes"),
    [
        ("rm x && echo y > build/out.txt", "> build/out.txt", ["build/out.txt"]),
        ("echo a >b 2>&1 | tee c >> 'd e'", ">> 'd e'", ["d e"]),
        ("echo '> b' > b", "> b", ["b"]),
        ("cat <<EOF > out\nhi\nEOF", "<<EOF > out", ["out"]),
        ("(a; b) > c", "> c", ["c"]),
        ("ls 2>/dev/null >&2 </etc/hosts", "2>/dev/null >&2 </etc/hosts", []),
        ("a >&f 3> q", ">&f 3> q", ["f", "q"]),
        ("echo hi &> $HOME/x", "&> $HOME/x", ["$HOME/x"]),
        ("a >| n", ">| n", ["n"]),
        ("ls", "", []),
    ],
)
def test_a_part_has_its_redirections_and_what_they_write(
    text: str, redirections: str, writes: list[str]
) -> None:
    part = on_command(text, []).parts[-1]
    assert (part.redirections, list(part.writes)) == (redirections, writes)


def test_a_redirection_before_its_command_is_in_the_text() -> None:
    (part,) = on_command(">x echo hi", []).parts
    assert (part.text, part.redirections, part.writes) == (">x echo hi", "", ("x",))


# Names that are always asked about, where they mean what is guarded

FREELY = allow(
    *("ls", "git", "echo", "grep", "head", "gh issue view", "find", "tree", "rg", "cat", "python"),
    *("curl", "env", "bash", "xargs", "tee", "touch", "du", "frob", "nc", "git config", "rm"),
)
NO_GUARDED_NAMES = """
ls src/screen | git add src/screens/screen | echo tmux | grep -rn screen lib | cat kitty
head -c 9400 x | head -c9400 x | gh issue view 9400 | git log 9400abc | git show 18282ff | cat 9400
grep -rn TODO --exclude-dir=.git src | grep -rn TODO --exclude-dir .git . | tree -I .git
find . -path ./.git -prune -o -name x -print | find . -not -path '*/.git/*' | find . -name .git
rg -g '!**/.git/**' x | rg '--glob=!.git/**' x | ls .git | ls -la .git/hooks .husky
cat .gitattributes | grep lfs web/.gitattributes | cat .gitmodules .gitignore
cat docs/etc/profile.md | cat config/gateway.json | cat deploy/api-gateway.json src/gateway.json.ts
cat internal-token.ts | cat docs/tapui.md | git add docs/about-tapui.md
"""
GUARDED_NAMES = """
tmux | tmux send-keys y | env tmux send-keys | $(which tmux) send-keys | xargs screen
bash -c 'tmux send-keys' | bash -c 'env screen -X stuff y' | frob tmux | ls |xargs -n 1 tmux
find . -exec tmux send-keys {} + | /usr/bin/tmux | "tmux"
curl localhost:9400 | nc localhost 9400 | cat /dev/tcp/127.0.0.1/9400 | curl ws://127.0.0.1:9400/
head -c 5 </dev/tcp/127.0.0.1/9400 | python -c 'f(9400)' | git fetch git://localhost:9400/x
git -c 'core.sshCommand=nc localhost 9400' fetch | frob 9400 | cat <(nc localhost 9400)
cat .git/config | cat .gitattributes .git/config | tee .git/hooks/pre-commit | ls .git > .git/config
touch .gitattributes | tree -I .git -o .git/config | find .git -name config -delete
find . -path ./.git/config -exec tee {} + | git config alias.x '!tee .git/config' | ls ~/.ssh
grep -rn TODO --exclude-dir=.git .git | touch .husky/pre-commit | ls .git && rm .git/index
tee /etc/profile | tee ../../etc/profile.d/x.sh | tee -a//etc/bash.bashrc | touch etc/environment
cat gateway.json | cat ./gateway.json | cat run/9400/gateway.json | cat ../9*/gateway.json
cat internal-token | grep -finternal-token x | cat run/9400/provider-token | cat x/.provider-token
cat tapui.toml | python -m tapui.cli | python -m tapui approve | ls ~/.config/tapui | echo tapui.
"""


def commands_of(table: str) -> list[str]:
    return [one for line in table.strip().split("\n") for one in line.split(" | ")]


@pytest.mark.parametrize("text", commands_of(NO_GUARDED_NAMES))
def test_a_name_that_means_nothing_guarded_is_left_to_the_rules(text: str) -> None:
    found = on_command(text, FREELY)
    assert found.effect == "allow", found


@pytest.mark.parametrize("text", commands_of(GUARDED_NAMES))
def test_no_rule_for_exactly_it_allows_a_command_that_names_what_is_guarded(text: str) -> None:
    exact = [] if "$" in text or "<" in text or ">" in text else allow(text, is_exact=True)
    found = on_command(text, [*FREELY, *exact])
    assert found.effect is None
    assert found.unkeepable, "not even until the session ends"


# Stars in the words of a pattern

STARRED = [
    *allow("cat docs/*", "ls ./*", "head -c *", "wc *", "tail pre*", "grep -f*"),
    *allow("c *"),
]


@pytest.mark.parametrize(
    "text",
    [
        "cat docs/a",
        "cat docs/a/b.md",
        "cat docs/a..b",
        "cat docs/...",
        "cat docs/*.md",
        "cat docs/.hidden",
        "ls ./x",
        "ls ./a/",
        "wc a/b",
        "wc main..dev",
        "c https://example.org/a",
        "head -c 5 x",
        "tail prefix/a",
        "grep -fa x",
    ],
)
def test_a_star_stands_for_what_is_below(text: str) -> None:
    assert on_command(text, STARRED).effect == "allow"


@pytest.mark.parametrize(
    "text",
    [
        "cat docs/..",
        "cat docs/../secret",
        "cat docs/../../secret",
        "cat docs/a/../../b",
        "cat 'docs/../x'",
        "cat docs/.",
        "cat docs/./x",
        "cat docs//etc",
        "cat docs/.*",
        "cat docs/.?/x",
        "cat docs/a=../../x",
        "ls ./..",
        "ls ./../x",
        "wc ..",
        "wc ../x",
        "wc /etc/passwd",
        "wc ~/x",
        "wc -x",
        "wc --file=../x",
        "c file:///etc/passwd",
        "c https://example.org/a/../b",
        "c x=/etc/passwd",
        "c x=~/y",
        "tail pre/../x",
        "grep -f../x y",
        "grep -f/etc/x y",
    ],
)
def test_a_star_leaves_no_folder(text: str) -> None:
    assert on_command(text, STARRED).effect is None


# Redirections


@pytest.mark.parametrize("target", ["0x1", "1#x", "1-", "0b1", "1.5", "-1", "1#1", "10#1", "１"])  # noqa: RUF001
@pytest.mark.parametrize("operator", [">&", "<&", "2>&", ">& "])
def test_only_digits_are_a_descriptor(operator: str, target: str) -> None:
    assert on_command(f"echo a {operator}{target}", RULES).effect is None


@pytest.mark.parametrize("text", ["echo a >&2", "echo a 2>&1", "echo a >&-", "echo a 2>&-"])
def test_descriptors_are_no_files(text: str) -> None:
    assert on_command(text, RULES).effect == "allow"


# What Copilot sees


def test_a_command_in_which_copilot_sees_something_else_is_asked() -> None:
    rules = allow("pnpm test", "npm ci")
    text = "pnpm test && npm ci"

    def seen(*texts: str) -> list[dict[str, str]]:
        return [{"identifier": one.split()[0], "fullCommandText": one} for one in texts]

    same = on_command(text, rules, commandSegments=seen("pnpm test", "npm ci"))
    assert same.effect == "allow"
    for segments in (
        seen("pnpm test"),
        seen("npm ci", "pnpm test"),
        seen("pnpm test", "npm x"),
        [],
    ):
        found = on_command(text, rules, commandSegments=segments)
        assert found.effect is None
        assert "Copilot sees other commands" in found.why
    assert on_command(text, rules, commandSegments=[None, "x"]).effect is None


# What bash makes of it

PIECES = [
    *("pnpm test", "pnpm", "test", "node", "rm", "x", "é", "0", "-c", "--", "A=", "=", "[", "]"),
    *(" ", "\t", "\n", "\r", "\\\n", "\\", "\u00a0", "'", '"', "`", "$", "$(", ")", "(", "${", "}"),
    *("{", ",", ";", ";;", "&", "&&", "|", "||", "|&", "<", ">", ">>", "<(", "<<EOF\n", "\nEOF\n"),
    *("<<<", "2>&1", ">/dev/null", "$'", "!", "#", "*", "?", "~", "if ", " then ", " fi", "f()"),
    *(
        "eval ",
        "exec ",
        "coproc ",
        "time ",
        "function f ",
        "[[",
        "]]",
        "((",
        "))",
        "@",
        "%",
        "\x0b",
    ),
    *("alias pnpm=node\n", "trap node EXIT;", "test=node;", "\\x6e", "env ", "command ", "then"),
]
UNLISTED = ("node", "rm", "x", "env", "time", "test0", "0", "f", "é")


@pytest.fixture(scope="module")
def empty_machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of programs that only write down that they ran."""
    folder = tmp_path_factory.mktemp("machine")
    bash = shutil.which("bash")
    assert bash is not None
    (folder / "bin").mkdir()
    (folder / "work").mkdir()
    for name in ("pnpm", *UNLISTED):
        program = folder / "bin" / name
        program.write_text(f'#!{bash}\necho "${{0##*/}}" >>{folder}/ran\n')
        program.chmod(0o755)
    return folder


def ran(machine: Path, text: str) -> set[str]:
    """Run a command in bash; return the programs that it started, and the files it made."""
    log = machine / "ran"
    log.write_text("")
    handler = f'() {{ echo "$1" >>{log}; }}'
    environ = {"PATH": f"{machine}/bin", "BASH_FUNC_command_not_found_handle%%": handler}
    bash = shutil.which("bash")
    assert bash is not None
    subprocess.run(
        [bash, "--noprofile", "--norc", "-c", text],
        cwd=machine / "work",
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    made = {one.name for one in (machine / "work").iterdir()}
    return set(log.read_text().split()) | made


@pytest.mark.machine
@given(
    st.lists(st.sampled_from(PIECES), max_size=6),
    st.lists(st.sampled_from(PIECES), max_size=8),
)
@example(["A=", "x", " "], [])
@example([], ["\\\n", ";node"])
@example(["'", "\n", "'"], [])
@example([], ["\n", "\\\n", "--"])
@example([], ["\n", "-c", "2>&1"])
@example(["!", "\\\n"], [])
@example(["{", "}", "||"], [])
@settings(
    max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_nothing_around_an_allowed_command_makes_another_program_allowed(
    empty_machine: Path, before: list[str], after: list[str]
) -> None:
    text = "".join([*before, "pnpm test", *after])
    if "\0" in text or on_command(text, allow("pnpm test")).effect != "allow":
        return
    assert ran(empty_machine, text) <= {"pnpm"}, text


@pytest.mark.machine
def test_bash_is_watched_as_the_test_above_needs_it(empty_machine: Path) -> None:
    assert ran(empty_machine, "pnpm test; nothere; exec node") == {"pnpm", "nothere", "node"}


def test_characters_that_the_parser_cannot_take_do_not_reach_it() -> None:
    for text in ("echo é", "\U00100000", "é=1", "$é", "<<é\né", "\ud800", "a\U0001f600b c"):
        parsed(text)
    assert parsed("echo 'é' ö").parts[0].words == ("echo", "é", "ö")


def test_the_tree_binds_as_bash_does() -> None:
    tree = parsed("a && b 2>&1 | { c; } >x &").tree
    assert tree is not None
    first, second, last = tree.inner
    signs = [one.signs for one in (first, second, last)]
    assert (signs, tree.ends) == ([[], ["&&"], ["|"]], ["&"])
    assert [one.written for one in second.redirections] == ["2>&1"]
    assert (last.kind, [list(one.writes()) for one in last.redirections]) == (
        "compound_statement",
        [["x"]],
    )
    assert [word.text for one in last.inner for word in one.words] == ["c"]


def test_words_have_holes_where_they_are_not_known() -> None:
    tree = parsed('rm "a $X" $Y ~/b*').tree
    assert tree is not None
    words = tree.inner[0].words
    assert [word.text for word in words] == ["rm", "a $X", "$Y", "~/b*"]
    assert [word.is_hole for word in words] == [False, False, True, False]
    assert [bool(word.doubts) for word in words] == [False, True, True, False]


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("bash <<< 'rm -rf x'", ("rm", "-rf", "x")),
        ("a $(b $(c d)) `e f`", ("e", "f")),
        ("cat <<EOF | g h\n$(i j)\nEOF", ("i", "j")),
        ("for x in $(k l); do m n; done > $(o p)", ("o", "p")),
        ("A=$(q r) B=(s $(t u))", ("t", "u")),
        ("[[ -n ${X:-$(v w)} ]]", ("v", "w")),
    ],
)
def test_programs_are_seen_wherever_they_stand(text: str, program: tuple[str, ...]) -> None:
    assert program in parsed(text).all


def test_what_the_parser_leaves_out_at_the_beginning_is_a_doubt() -> None:
    assert "it has a form that the parser passes over" in parsed("- 2>&1").doubts


def test_what_the_end_of_a_chain_writes_is_shown() -> None:
    part = on_command("cat a | while read x; do echo $x; done > out", []).parts[-1]
    assert (part.redirections, part.writes) == ("> out", ("out",))


@given(st.text(max_size=200))
@settings(deadline=None, max_examples=300)
def test_any_text_can_be_parsed(text: str) -> None:
    found = parsed(text)
    assert found.parts or found.doubts


def test_a_strict_rule_may_also_ask() -> None:
    rules = [*allow("npm"), *ask("npm publish")]
    assert on_command("npm view left-pad", rules).effect == "allow"
    assert on_command("npm publish", rules).effect == "ask"
    assert on_command("npm --silent publish", rules).effect == "ask"


def test_deny_goes_before_ask_and_ask_before_allow() -> None:
    rules = [*allow("npm"), *ask("npm publish"), *deny("npm publish --force")]
    assert on_command("npm publish --force", rules).effect == "deny"
    assert on_command("npm publish && npm publish --force", rules).effect == "deny"


@pytest.mark.parametrize(
    "text",
    [
        "# run the unit tests\nnpm ci",
        "npm ci # quickly",
        "npm ci\n# at the end, twice",
        "# a\n# b\nnpm ci # c",
        "npm ci; echo $?",
        'npm ci | head -5; echo "exit: ${PIPESTATUS[0]}"',
        "npm ci || true",
        "npm ci && echo $?",
    ],
)
def test_comments_and_how_it_ended_change_nothing(text: str) -> None:
    assert on_command(text, allow("npm ci", "head")).effect == "allow"


@pytest.mark.parametrize(
    "text",
    [
        "npm ci # a && rm x",
        "npm ci # x\nrm -rf src",
        "npm ci # $(rm x)",
        "npm ci # --evil",
        "npm ci # it's",
        "#!/bin/sh\nnpm ci",
        "echo $?",
        "npm ci; echo $? > a",
        "npm ci; echo $X",
        "npm ci; echo ${PIPESTATUS[$(rm x)]}",
        'npm ci; echo "$? $(rm x)"',
        "true",
        "# only this",
    ],
)
def test_what_a_comment_or_an_echo_may_hide_is_asked(text: str) -> None:
    assert on_command(text, allow("npm ci", "head")).effect is None
