"""A rule that denies holds for what its reader means, however it is written."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapui.policies.commands import MAX_COMMAND
from tests.policies.judged import allow, ask, deny, on_command

RULES = [
    *deny("git push --force", "rm -rf", "npm publish", "npm install", "shutdown"),
    *deny("docker system prune --all"),
    *allow("git", "echo", "ls", "npm", "rm", "docker", "cat", "grep"),
]
PUSH = "git push --force"

DENIED = [
    # The same by other words
    "git push --force",
    "git push -f",
    "git push -f origin main",
    "git push origin main -f",
    "git push -uf origin main",
    "git push -fu origin main",
    "git push origin +main",
    "git push origin +HEAD:main",
    "git push --force-with-lease",
    "git push --force-with-lease=main origin",
    "git push --force-if-includes",
    "git push --forc",
    "git push --fo origin",
    "git -C x push --force",
    "git -C x push origin --force main",
    "git --git-dir=x push -f",
    "git -c a.b=c push --force",
    "/usr/bin/git push --force",
    "./git push --force",
    "\\git push --force",
    "g'i't push --force",
    'git pu"sh" --force',
    "git push '--force'",
    "git push -\\-force",
    "'git' \"push\" -f",
    "git \\\n push --force",
    "rm -rf x",
    "rm -fr x",
    "rm -r -f x",
    "rm -f -r x",
    "rm -f x -r",
    "rm --recursive --force x",
    "rm --force --recursive x",
    "rm -R -f x",
    "rm -Rf x",
    "rm -fR x",
    "rm -rvf x",
    "rm -vfr x",
    "rm --rec --forc x",
    "rm -r --force x",
    "rm x -rf",
    "npm publish",
    "npm publ",
    "npm publis",
    "npm --silent publish",
    "npm publish --tag next",
    "npm i x",
    "npm add x",
    "npm in x",
    "npm isntall x",
    "npm inst x",
    "npm --prefix a i x",
    "docker system prune --all",
    "docker system prune --al",
    "docker --debug system prune --all",
    "shutdown now",
    "/sbin/shutdown -h now",
    # Behind other programs
    "ssh h 'git push --force'",
    "ssh h git push --force",
    "ssh -p 22 me@h 'cd x && git push -f'",
    "su -c 'git push --force'",
    "su me -c 'git push --force'",
    "su - me -c 'rm -fr x'",
    "script -c 'git push --force'",
    "script -qfc 'git push --force' /dev/null",
    "script -qc 'rm -fr x' x",
    "flock f -c 'git push --force'",
    "flock f git push --force",
    "flock -n f rm -fr x",
    "env -S 'git push --force'",
    "env -S'git push --force'",
    "env --split-string='git push --force'",
    "env A=1 git push -f",
    "parallel ::: 'git push --force'",
    "parallel git push ::: --force",
    "parallel -j2 rm -fr ::: a b",
    "trap 'git push --force' EXIT",
    "trap 'rm -r -f x' INT TERM",
    "trap shutdown EXIT",
    "bash -c -- 'git push --force'",
    "bash -c 'git push --force'",
    "bash -lc 'git push --force'",
    "bash -xc 'git push --force'",
    "bash -o pipefail -c 'git push --force'",
    "bash --norc -c 'git push -f'",
    "sh -ec 'npm publ'",
    "zsh -ic 'rm -fr x'",
    "bash <<EOF\ngit push --force\nEOF",
    "bash <<'EOF'\ncd x\nrm -fr x\nEOF",
    "sh -s <<-EOF\n\tnpm publish\n\tEOF",
    "cat <<EOF | sh\ngit push -f\nEOF",
    "bash <<< 'git push --force'",
    'bash <<< "git push --force"',
    "echo 'git push --force' | sh",
    'echo "git push --force" | bash',
    "echo git push --force | sh",
    "printf 'git push --force' | bash -s",
    "echo 'git push --force' | at now",
    "echo 'git push --force' | batch",
    "echo 'rm -fr x' | ssh h",
    "echo 'rm -fr x' | sudo bash",
    "eval 'git push --force'",
    "eval git push --force",
    "eval \"git\" push -f",
    "xargs git push --force",
    "ls | xargs -I{} git push -f {}",
    "ls | xargs rm -r -f",
    "ls | xargs -n1 sh -c 'rm -fr $0'",
    "watch 'git push --force'",
    "watch -n 1 git push --force",
    "nohup git push --force",
    "timeout 5 git push --force",
    "timeout -k 1 5 git push -f",
    "nice -n 5 git push --force",
    "setsid -f git push --force",
    "doas git push --force",
    "sudo -u me git push --force",
    "sudo -iu me -- git push -f",
    "chroot /x git push --force",
    "chroot /x /bin/sh -c 'git push --force'",
    "find . -exec git push --force ;",
    "find . -execdir rm -fr {} +",
    "find . -exec sh -c 'rm -fr x' ;",
    "fd x -x rm -fr",
    "docker exec c git push --force",
    "docker exec -it c sh -c 'git push --force'",
    "docker -H x exec c git push --force",
    "docker run --rm i npm publ",
    "docker compose exec c git push -f",
    "podman run i sh -c 'rm -fr x'",
    "kubectl exec p -- git push --force",
    "kubectl -n x exec p -- sh -c 'git push -f'",
    "tmux new -d 'git push --force'",
    "tmux new-session -d -s a 'rm -fr x'",
    "busybox sh -c 'git push --force'",
    "busybox rm -fr x",
    "command git push --force",
    "command -p git push -f",
    "builtin command git push -f",
    "exec git push --force",
    "exec -a x git push --force",
    "time git push --force",
    "time -p git push -f",
    "coproc git push --force",
    "cat <(git push --force)",
    "tee >(git push -f)",
    "echo $(git push -f)",
    "echo `git push -f`",
    "f() { git push -f; }; f",
    "function f { rm -fr x; }; f",
    "if true; then git push -f; fi",
    "for x in a; do git push -f; done",
    "make SHELL='git push --force'",
    "git rebase -x 'git push --force' main",
    "git rebase --exec='git push -f' main",
    "git submodule foreach git push -f",
    "git submodule foreach 'git push -f'",
    "git bisect run git push -f",
    "git -c alias.x='push --force' x",
    "git -c alias.x='!git push -f' x",
    "npm exec -- git push -f",
    "npx -c 'git push --force'",
    "uv run git push -f",
    "X=--force; git push $X",
    "X='push --force'; git $X",
    "G=git; $G push --force",
    "G=git && ${G} push -f",
    "F=-fr rm x; rm $F x",
    "sudo env A=1 nohup timeout 5 bash -c \"ssh h 'git push -f'\"",
    "true & git push -f",
    "true | git push -f",
    "! git push -f",
    "git push -f 'unfinished",
]  # fmt: skip

NOT_DENIED = [
    "git push",
    "git push origin main",
    "git push --mirror",
    "git push --delete origin x",
    "git push origin :x",
    "git push -u origin main",
    "git push --tags",
    "git push --dry-run",
    "git push --no-verify",
    "git push origin feature/force",
    "git push origin force",
    "git pull --force",
    "git fetch --force",
    "git fetch origin +main",
    "git checkout -f",
    "git clean -fdx",
    "git log --oneline",
    'echo "git push --force"',
    "echo 'rm -rf x'",
    "echo git push --force",
    'git commit -m "never git push --force"',
    "git commit -m 'rm -rf is bad'",
    "git commit --message='rm -rf x'",
    "git log --grep 'git push --force'",
    "grep -r 'git push --force' .",
    "grep 'npm publish' README.md",
    "rg 'rm -rf'",
    "echo 'git push --force' | grep push",
    "echo 'git push --force' | tee notes",
    "printf 'rm -rf x' > notes",
    "cat <<EOF > notes\ngit push --force\nEOF",
    "cat <<'EOF'\nrm -rf x\nEOF",
    "cat git push --force",
    "ls rm -rf",
    "# git push --force",
    "rm x",
    "rm -r x",
    "rm -f x",
    "rm -i x",
    "rm --force x",
    "rm --recursive x",
    "rm -v x y",
    "rmdir x",
    "npm run build",
    "npm test",
    "npm run publish-docs",
    "npm view x",
    "npm ls",
    "npm pack",
    "npm ci",
    "npm uninstall x",
    "npm init",
    "npm info x",
    "pip install x",
    "docker system prune",
    "docker system df",
    "docker ps --all",
    "docker exec c git push",
    "docker rm x",
    "ssh h 'git push'",
    "ssh h uptime",
    "bash -c 'git push'",
    "bash -c 'git status'",
    "bash x.sh",
    "env A=1 git push",
    "find . -name 'rm -rf'",
    "find . -exec rm {} ;",
    "xargs rm",
    "X=--tags; git push $X",
    "python -c 'print(\"rm -rf\")'",
    "sed 's/git push --force/x/' f",
    "gitx push --force",
    "git stash push",
    "timeout 5 git push",
    "systemctl status shutdown.target",
    "man shutdown",
    "which shutdown",
]


@pytest.mark.parametrize("text", DENIED)
def test_what_does_the_same_is_denied(text: str) -> None:
    assert on_command(text, RULES).effect == "deny"


@pytest.mark.parametrize("text", NOT_DENIED)
def test_what_does_something_else_is_not_denied(text: str) -> None:
    assert on_command(text, RULES).effect != "deny"


def test_the_tables_are_as_large_as_they_should_be() -> None:
    assert len(set(DENIED)) == len(DENIED) >= 120
    assert len(set(NOT_DENIED)) == len(NOT_DENIED) >= 60


@pytest.mark.parametrize("text", ["git push -f", "ssh h 'npm publ'", "echo 'npm publish' | sh"])
def test_rules_that_ask_are_read_in_the_same_way(text: str) -> None:
    assert on_command(text, [*ask(PUSH, "npm publish"), *allow("git", "echo")]).effect == "ask"


@pytest.mark.parametrize("text", ["git push $X", "$G push --force", "g$(echo it) push --force"])
def test_what_cannot_be_followed_is_allowed_by_no_rule(text: str) -> None:
    assert on_command(text, RULES).effect != "allow"


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


WRAPPERS = [
    lambda text: f"bash -c {quoted(text)}",
    lambda text: f"bash -lc -- {quoted(text)}",
    lambda text: f"ssh h {quoted(text)}",
    lambda text: f"su me -c {quoted(text)}",
    lambda text: f"script -qfc {quoted(text)} /dev/null",
    lambda text: f"flock f -c {quoted(text)}",
    lambda text: f"env -S {quoted('sh -c ' + quoted(text))}",
    lambda text: f"eval {quoted(text)}",
    lambda text: f"trap {quoted(text)} EXIT",
    lambda text: f"watch {quoted(text)}",
    lambda text: f"parallel ::: {quoted(text)}",
    lambda text: f"tmux new -d {quoted(text)}",
    lambda text: f"echo {quoted(text)} | sh",
    lambda text: f"bash <<< {quoted(text)}",
    lambda text: f"nohup timeout 5 nice sh -c {quoted(text)}",
    lambda text: f"docker exec c sh -c {quoted(text)}",
    lambda text: f"kubectl exec p -- sh -c {quoted(text)}",
    lambda text: f"find . -exec sh -c {quoted(text)} ;",
    lambda text: f"busybox sh -c {quoted(text)}",
    lambda text: f"( {text} )",
    lambda text: f"f() {{ {text}; }}; f",
    lambda text: f"echo $({text})",
    lambda text: f"true && {text}",
]


@given(
    st.sampled_from(["git push -f", "rm -fr x", "npm publ", "shutdown now"]),
    st.lists(st.sampled_from(WRAPPERS), max_size=5),
)
@settings(max_examples=400, deadline=None)
def test_no_nesting_hides_what_is_denied(text: str, wrappers: list) -> None:  # type: ignore[type-arg]
    for wrapper in wrappers:
        text = wrapper(text)
    if len(text) <= MAX_COMMAND:
        assert on_command(text, RULES).effect == "deny", text


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("rm -rf build", "rm -rf ./build"),
        ("rm -rf build", "rm -rf build/"),
        ("rm -rf build", "rm -rf .//build/."),
        ("rm -rf build", "rm -rf buil?"),
        ("rm -rf build", "rm -rf *"),
        ("cat secrets/key", "cat ./secrets/key"),
        ("cat secrets/key", "cat secrets//key"),
        ("cat secrets/key", "cat a/../secrets/./key"),
        ("cat secrets/key", "cat secrets/*"),
        ("cat /etc/shadow", "cat //etc/./shadow"),
        ("git push -f", "git-push -f"),
        ("git push -f", "/usr/lib/git-core/git-push --force"),
        ("git push -f", "$(git --exec-path)/git-push -f"),
        ("pip install", "python3 -mpip install x"),
        ("npm install", "yarn add x"),
        ("npm install", "pnpm i"),
        ("kubectl delete", "oc delete pod x"),
        ("kubectl delete", "k delete pod x"),
        ("terraform apply", "terragrunt apply"),
    ],
)
def test_a_path_in_any_spelling_and_a_program_by_any_name(rule: str, text: str) -> None:
    assert on_command(text, deny(rule)).effect == "deny"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("rm -rf build", "rm -rf x/build"),
        ("rm -rf build", "rm -rf builds"),
        ("cat secrets/key", "cat secrets/keys"),
        ("git push", "git add *"),
        ("git push", "git add p???"),
        ("git push -f", "git-pull -f"),
        ("npm install left-pad", "pnpm add x"),
    ],
)
def test_another_path_is_another(rule: str, text: str) -> None:
    assert on_command(text, deny(rule)).effect is None
