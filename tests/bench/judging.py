"""Rules that judge requests: two hundred of them, and commands as agents write them."""

import time

from tapui.policies import command_meaning, commands
from tapui.policies.guards import Guards
from tapui.policies.leads import Leads
from tapui.policies.requests import of_call, of_permission
from tapui.policies.rules import PolicyRule
from tapui.policies.verdicts import judge, strictest

FOLDER = "/home/me/src/app"
RULES = [
    *(PolicyRule("allow", "shell", f"tool-{number} run") for number in range(150)),
    *(PolicyRule("deny", "shell", f"bad-{number} --force") for number in range(40)),
    *(PolicyRule("allow", "shell", one) for one in ("pnpm test", "npm ci", "cd", "git", "head")),
]
COMMANDS = (
    "npm ci",
    "cd packages/web && pnpm test --filter @acme/gateway -- --runInBand 2>&1 | head -50",
    "git status && git diff --stat && git log --oneline -5",
    "python - <<'EOF'\nprint('x')\nEOF",
    "sudo env A=1 bash -c 'npm ci && bad-1 --force'",
)


DENYING = [
    PolicyRule("deny", "shell", one)
    for one in ("git push --force", "rm -rf", "npm publish", "shutdown", "docker system prune -a")
]
UNITS = (
    *("word ", "xargs ", "bash -c ", "'a b' ", "npm ci | head; ", "\\a", "$(", "-", "eval "),
    *("a ", "a;", "a|", "`", "<<E\n", "${a:-", "#a\n", "'a'\"b\"", '"$a', "{a,b} ", "a=$a;"),
    *("rm ", "git push x;", "sudo rm ", "rm $a ", "sh -c 'rm x' ", "eval 'eval '", "-a=1 "),
    *("x 'rm a b' ", "git -c alias.x='a b' ", '"$(rm x)" ', "find . -exec rm {} ;", "sudo a.b "),
    "cat <<'E'\nfoo(bar); x = {a: b}\nE\n",
)
LONGEST = tuple(
    ("git log " + unit * size)[:size] for size in (4_096, 8_192, 16_384) for unit in UNITS
)
"""Commands of 4 to 16 KiB that take long."""


def longest() -> float:
    """Return the milliseconds of CPU of the verdict that took longest, the best of five each."""
    return max(min(_took(one) for _ in range(5)) for one in LONGEST)


def _detail(text: str) -> dict[str, object]:
    leads = Leads(folders=(FOLDER, f"{FOLDER}/web"), home="/home/me")
    return {"kind": "shell", "fullCommandText": text, "leads": leads.as_detail()}


def longest_of_calls() -> float:
    """Return the same of calls before which only rules that deny are looked at."""
    return max(min(_took_call(one) for _ in range(5)) for one in LONGEST)


def _took(text: str) -> float:
    asked = of_permission(_detail(text), FOLDER)
    _forget()
    begun = time.thread_time()
    judge(asked, RULES, FOLDER, Guards(frozenset({9400}), (f"{FOLDER}/.tapui",)))
    return (time.thread_time() - begun) * 1000


def _took_call(text: str) -> float:
    asked = of_call("bash", {"command": text}, FOLDER)
    _forget()
    begun = time.thread_time()
    strictest(asked, DENYING, FOLDER)
    return (time.thread_time() - begun) * 1000


def _forget() -> None:
    commands.parsed.cache_clear()
    command_meaning.meaning.cache_clear()


def times(seconds: float) -> list[float]:
    """Return what single verdicts took of CPU, in milliseconds, each with a new parse."""
    guards = Guards(frozenset({9400}), (f"{FOLDER}/.tapui",))
    asked = [of_permission(_detail(one), FOLDER) for one in COMMANDS]
    judge(asked[0], RULES, FOLDER, guards)  # the parser is loaded with the first
    found: list[float] = []
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for one in asked:
            _forget()
            begun = time.thread_time()
            judge(one, RULES, FOLDER, guards)
            found.append((time.thread_time() - begun) * 1000)
    return sorted(found)
