"""Rules that judge requests: two hundred of them, and commands as agents write them."""

import time

from tapui.policies import commands
from tapui.policies.guarded import Guards
from tapui.policies.judging import judge
from tapui.policies.leads import Leads
from tapui.policies.requests import of_permission
from tapui.policies.rules import PolicyRule

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


LONGEST = tuple(
    ("git log " + unit * commands.MAX_COMMAND)[:size]
    for size in (commands.MAX_COMMAND // 2, commands.MAX_COMMAND, 2 * commands.MAX_COMMAND)
    for unit in ("word ", "xargs ", "bash -c ", "'a b' ", "npm ci | head; ", "\\a", "$(", "-")
)
"""Commands of 4 to 16 KiB that take long."""


def longest() -> float:
    """Return the milliseconds of CPU of the verdict that took longest, the best of five each."""
    return max(min(_took(one) for _ in range(5)) for one in LONGEST)


def _detail(text: str) -> dict[str, object]:
    leads = Leads(folders=(FOLDER, f"{FOLDER}/web"), home="/home/me")
    return {"kind": "shell", "fullCommandText": text, "leads": leads.as_detail()}


def _took(text: str) -> float:
    asked = of_permission(_detail(text), FOLDER)
    commands.parsed.cache_clear()
    begun = time.thread_time()
    judge(asked, RULES, FOLDER, Guards(frozenset({9400}), (f"{FOLDER}/.tapui",)))
    return (time.thread_time() - begun) * 1000


def times(seconds: float) -> list[float]:
    """Return what single verdicts took of CPU, in milliseconds, each with a new parse."""
    guards = Guards(frozenset({9400}), (f"{FOLDER}/.tapui",))
    asked = [of_permission(_detail(one), FOLDER) for one in COMMANDS]
    judge(asked[0], RULES, FOLDER, guards)  # the parser is loaded with the first
    found: list[float] = []
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for one in asked:
            commands.parsed.cache_clear()
            begun = time.thread_time()
            judge(one, RULES, FOLDER, guards)
            found.append((time.thread_time() - begun) * 1000)
    return sorted(found)
