"""Commands by the dice; what a rule allows is run, and must run and write nothing else.

`python -m tests.policies.fuzz --commands 300000 [--seed S] [--jobs J]`

Bash and the real programs are the judges, as far as they are installed: canaries among the values
of options, in configuration, names of files and folders leave a line when something runs them. The
commands run in a scratch folder, without input, each for at most ten seconds.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tapui.policies.options import KnownVerb, entry_of
from tests.policies.judged import allow, on_command

BATCH = 250
"""Commands that are run in one folder, before it is made anew."""
CHUNK = 5_000
SECRET = "what-lies-elsewhere"
VALUES = [
    *["./canary"] * 6,
    "canary",
    "sh -c ./canary",
    "exec=./canary",
    "WROTE",
    "evil",
    "evil.mk",
    "1",
]
VALUES += [
    "a[$(./canary)]",
    "./canary %s",
    "addopts=-pcanary",
    "x",
    "../WROTE",
    "evil/package.json",
    "ssh",
    "ext",
]
AROUND = [">&0x1", ">&1#x", ">& 0x2", "2>&1", ">/dev/null", ">&2", "> WROTE", ">|WROTE", "&>WROTE"]
AROUND += [
    "$(./canary)",
    "`./canary`",
    "; ./canary",
    "| ./canary",
    "&& ./canary",
    "\n./canary",
]
AROUND += ["*", "./*", "''*", "{a,./canary}", "~", "<(./canary)", "# x", "\\\n", "'", '"', "1>&1-"]
PATHS = ["docs", "..", ".", "", "secret", "a", "*", ".*", "~", "b.md", ".?", "...", "%2e%2e"]


_TARGET = re.compile(r"(?:^|[\s'\"/\\])W")
"""A file that the command names in a word of its own: its program may be meant to write it."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A rule that is fuzzed, and the words with which its command does something.

    `writes` says that its program may make files. `more` follows what a star stands for.
    """

    rule: str
    words: tuple[str, ...] = ()
    writes: bool = False
    options: tuple[str, ...] = ()
    more: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        return self.rule.split()[0]


SUBJECTS = [
    Subject("git fetch", ("origin", "origin main", "--all"), True, ("--upload-pack",)),
    Subject("git ls-remote", ("origin", "", "evil")),
    Subject("git push", ("origin main", "origin"), True),
    Subject("git pull", ("origin main",), True),
    Subject("git log", ("-p", "main", "-1")),
    Subject("git diff", ("HEAD~1", "HEAD~1 a.txt")),
    Subject("git grep", ("one", "-e one")),
    Subject("git rebase", ("main", "HEAD~1", "--root"), True),
    Subject("git merge", ("main", "other"), True),
    Subject("git clone", ("origin.git WORK", "./origin.git"), True, ("-u", "--upload-pack")),
    Subject("git archive", ("HEAD",)),
    Subject("git", ("status", "log -1", "fetch origin", "stash list", "submodule status"), True),
    Subject(
        "tar",
        ("-xf a.tar", "xf a.tar", "-cf x.tar a.txt", "tf a.tar", "cf x.tar"),
        True,
        ("-I", "--to-command", "--use-compress-program"),
    ),
    Subject("make", ("all", "", "-s all", "-n"), False, ("SHELL=", "CC:=", ".SHELLFLAGS=")),
    Subject("sort", ("big.txt", "-S 16k big.txt", "a.txt b.txt")),
    Subject("uniq", ("a.txt", "a.txt WROTE")),
    Subject("find", (".", ". -name a.txt", "a.txt")),
    Subject("grep", ("one a.txt", "-r one .")),
    Subject("rg", ("one", "one a.txt")),
    Subject("diff", ("a.txt b.txt", "-u a.txt b.txt")),
    Subject("zip", ("-r x.zip a.txt", "x.zip a.txt"), True),
    Subject("rsync", ("a.txt c.txt", "-a docs copy", "a.txt h:x"), True),
    Subject("wget", ("http://127.0.0.1:9/x", "-t 1 http://127.0.0.1:9/"), True),
    Subject("split", ("a.txt", "-l 1 a.txt"), True, ("--filter",)),
    Subject("gcc", ("-c x.c", "-fsyntax-only x.c"), True),
    Subject("npm test", ("", "-- x", "--silent"), True),
    Subject("echo", ("a", "a b")),
    Subject("test", ("-n x", "", "", "a = b"), False, ("-v 'a[$(./canary)]'",)),
    Subject("cat docs/*", ("docs/a", "docs/b.md")),
    Subject("head docs/*", ("docs/a",)),
    Subject("tail docs/*", ("docs/a",), more=(*PATHS, "docs/a", "docs/../secret", "-n", "-n1")),
    Subject(
        "diff docs/*", ("docs/a",), more=("docs/b.md", "secret", "--to-file", "--to-file=secret")
    ),
]
NAMES = [one.rule for one in SUBJECTS]


@dataclass(slots=True)
class Found:
    """What a run came to: commands judged, commands run, and what went wrong."""

    judged: int = 0
    ran: int = 0
    faults: list[str] = field(default_factory=list)


# Commands


def _risky(entry: KnownVerb) -> tuple[list[str], list[str]]:
    """Return the options of an entry: those that are never harmless, and the others."""
    risky = [name for name, one in entry.options.items() if not one.is_harmless]
    return risky, [name for name, one in entry.options.items() if one.is_harmless]


def _entry(subject: Subject) -> KnownVerb:
    entry = entry_of(subject.program) or KnownVerb(subject.program)
    for word in subject.rule.split()[1:]:
        entry = entry.verbs.get(word, entry)
    return entry


def _option(dice: Random, subject: Subject) -> str:
    """Return an option: whole, cut, bundled or with other dashes, with a value or none."""
    risky, harmless = _risky(_entry(subject))
    if subject.options and dice.random() < 0.3:
        risky = list(subject.options)
    name = dice.choice(
        risky if risky and (dice.random() < 0.7 or not harmless) else harmless or ["-x"]
    )
    form = dice.randrange(6)
    if name.startswith("--") and form < 3:
        name = name[: dice.randint(3, len(name))]
    elif len(name) == 2 and form < 3:
        flags = [one[1] for one in harmless if len(one) == 2]
        name = "-" + "".join(dice.choices(flags or ["x"], k=dice.randint(0, 2))) + name[1]
    elif form == 3:
        name = name[1:] if name.startswith("--") else f"-{name}"
    value = dice.choice(VALUES)
    return dice.choice(
        [name, f"{name}={value}", f"{name} {_quoted(dice, value)}", f"{name}{value}"]
    )


def _quoted(dice: Random, word: str) -> str:
    """Return a word as it may be written for the shell."""
    if " " in word or "$" in word:
        return f"'{word}'"
    match dice.randrange(8):
        case 0:
            return f"'{word}'"
        case 1:
            return f'"{word}"'
        case 2 if word:
            at = dice.randrange(len(word))
            return f"{word[:at]}\\{word[at:]}"
        case 3:
            return f"''{word}"
        case _:
            return word


def command(dice: Random, subject: Subject) -> str:
    """Return a command that a rule may be about."""
    if "*" in subject.rule:
        path = "/".join(["docs", *dice.choices(PATHS, k=dice.randint(1, 4))])
        words = [subject.program, dice.choice([path, f"'{path}'", dice.choice(subject.words)])]
        if subject.more:
            words += dice.choices(subject.more, k=dice.randint(1, 3))
    else:
        words = [*subject.rule.split(), *(dice.choice(subject.words or ("",))).split()]
        for _ in range(dice.choice((0, 1, 1, 1, 2, 3))):
            place = dice.randint(len(subject.rule.split()), len(words))
            words.insert(place, _option(dice, subject))
    around = 0.6 if subject.program == "echo" else 0.15
    if dice.random() < around and "*" not in subject.rule:
        words.insert(dice.randint(1, len(words)), dice.choice(AROUND))
    if dice.random() < 0.1:
        at = dice.randrange(len(words))
        if " " not in words[at]:
            words[at] = _quoted(dice, words[at])
    return " ".join(words)


# The folder they run in

_CANARY = '#!/bin/sh\necho "canary $*" >>"$CANARY_LOG"\n'


def prepare(top: Path) -> Path:
    """Make a folder in which everything that can be run leaves a line in `top/ran`."""
    work = top / "a" / "b" / "work"
    work.mkdir(parents=True)
    (top / "bin").mkdir()
    (top / "home").mkdir()
    for place in (top / "bin" / "canary", top / "bin" / "git-canary", work / "canary"):
        place.write_text(_CANARY)
        place.chmod(0o755)
    for name in ("git-evil", "git-merge-evil", "git-remote-evil", "ssh", "evil", "vi", "editor"):
        (top / "bin" / name).symlink_to("canary")
    (work / "secret").write_text(SECRET)
    (work.parent / "secret").write_text(SECRET)
    for folder in ("docs/a.d", "evil", "-x"):
        (work / folder).mkdir(parents=True)
    for name in ("docs/a", "docs/b.md", "a.txt", "b.txt"):
        (work / name).write_text(f"one\n{name}\n")
    (work / "big.txt").write_text("".join(f"{n * 7919 % 65536:060}\n" for n in range(4_000)))
    (work / "x.c").write_text("int x;\n")
    (work / "Makefile").write_text("all:\n\t@echo $(CC)\n")
    (work / "evil.mk").write_text("all:\n\t@./canary\n")
    (work / "evil" / "Makefile").write_text("all:\n\t@../canary\n")
    (work / "package.json").write_text('{"name":"a","version":"1.0.0","scripts":{"test":"true"}}')
    (work / "evil" / "package.json").write_text('{"name":"e","scripts":{"test":"../canary"}}')
    for name in ("--checkpoint=1", "--checkpoint-action=exec=canary", "--pre=canary", "-oWROTE"):
        (work / name).write_text("")
    environ = environment(top)
    script = """
        git init -q -b main . && git config user.email a@b && git config user.name a
        git add a.txt b.txt docs && git commit -qm one && echo two >>a.txt && git commit -qam two
        git branch other HEAD~1 && git clone -q --bare . origin.git
        git remote add origin ./origin.git && git fetch -q && tar cf a.tar a.txt docs
        git branch -q --set-upstream-to origin/main
    """
    subprocess.run(["bash", "-c", script], cwd=work, env=environ, check=False, capture_output=True)
    return work


def environment(top: Path) -> dict[str, str]:
    """Return the environment of the commands: nothing of the person's."""
    return {
        "PATH": f"{top}/bin:/usr/local/bin:/usr/bin:/bin",
        "HOME": f"{top}/home",
        "CANARY_LOG": f"{top}/ran",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_EDITOR": "true",
        "GIT_PAGER": "cat",
        "npm_config_offline": "true",
        "npm_config_update_notifier": "false",
        "LC_ALL": "C",
        "TMPDIR": f"{top}/home",
    }


_LOOP = """
number=0
while IFS= read -r -d '' text; do
  : >"$CANARY_LOG"
  timeout -k 1 10 bash --norc -c "$text" </dev/null >"$HOME/out" 2>&1
  files=$(cd .. && ls -A . work; echo .)
  [ -s "$CANARY_LOG" ] && echo "$number ran $(head -c 200 "$CANARY_LOG" | tr '\\n' ' ')"
  [ "$files" != "$last" ] && [ -n "$last" ] && echo "$number made $(
    comm -13 <(sort <<<"$last") <(sort <<<"$files") | tr '\\n' ' ')"
  last=$files
  grep -q what-lies-elsewhere "$HOME/out" && echo "$number read"
  number=$((number + 1))
done
"""


def run(commands: Sequence[tuple[Subject, str]], place: str | None = None) -> list[str]:
    """Run commands that are allowed; return what of them a rule does not name."""
    faults: list[str] = []
    with tempfile.TemporaryDirectory(dir=place, prefix="rules-") as scratch:
        top = Path(scratch)
        work = prepare(top)
        texts = [("true", SUBJECTS[0]), *((text, subject) for subject, text in commands)]
        done = subprocess.run(
            ["bash", "--norc", "-c", _LOOP],
            cwd=work,
            env=environment(top),
            input="".join(f"{text}\0" for text, _ in texts).encode(),
            capture_output=True,
            check=False,
            timeout=11 * len(texts) + 60,
        )
        for line in done.stdout.decode(errors="replace").splitlines():
            number, what, *rest = line.split(" ", 2)
            text, subject = texts[int(number)]
            made = rest[0].split() if rest else []
            if what == "made" and subject.writes and ("WROTE" not in made or _TARGET.search(text)):
                continue
            if what == "read" and "*" not in subject.rule:
                continue
            faults.append(f"rule “{subject.rule}” allows {text!r}: {what} {' '.join(made)[:300]}")
    return faults


def present(names: Sequence[str]) -> list[Subject]:
    """Return the subjects whose programs are installed."""
    builtins = ("echo", "test")
    chosen = [one for one in SUBJECTS if one.rule in names]
    return [one for one in chosen if one.program in builtins or shutil.which(one.program)]


def _allowed(
    dice: Random, subjects: Sequence[Subject], most: int, found: Found
) -> Iterator[tuple[Subject, str]]:
    seen: set[str] = set()
    for _ in range(most):
        subject = dice.choice(subjects)
        text = command(dice, subject)
        found.judged += 1
        if text in seen or "\0" in text:
            continue
        seen.add(text)
        if on_command(text, allow(subject.rule)).effect == "allow":
            yield subject, text


def fuzz(commands: int, seed: int, names: Sequence[str] = NAMES, place: str | None = None) -> Found:
    """Judge so many commands, and run those that are allowed."""
    found = Found()
    waiting: list[tuple[Subject, str]] = []
    for one in _allowed(Random(seed), present(names), commands, found):
        waiting.append(one)
        if len(waiting) == BATCH:
            found.ran += len(waiting)
            found.faults += run(waiting, place)
            waiting = []
    if waiting:
        found.ran += len(waiting)
        found.faults += run(waiting, place)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commands", type=int, default=300_000)
    parser.add_argument("--seed", type=int, default=0, help=f"of the first {CHUNK:,} commands")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    options = parser.parse_args()
    sizes = [CHUNK] * (options.commands // CHUNK)
    if options.commands % CHUNK:
        sizes.append(options.commands % CHUNK)
    begun, total = time.monotonic(), Found()
    with ProcessPoolExecutor(options.jobs) as pool:
        seeds = range(options.seed, options.seed + len(sizes))
        for seed, found in zip(seeds, pool.map(fuzz, sizes, seeds), strict=True):
            total.judged += found.judged
            total.ran += found.ran
            for fault in found.faults:
                total.faults.append(fault)
                sys.stdout.write(f"seed {seed}: {fault}\n")
                sys.stdout.flush()
    seconds = time.monotonic() - begun
    sys.stdout.write(
        f"{total.judged} commands, {total.ran} allowed and run, {len(total.faults)} faults, "
        f"{seconds:.0f} s\n"
    )
    return 1 if total.faults else 0


if __name__ == "__main__":
    sys.exit(main())
