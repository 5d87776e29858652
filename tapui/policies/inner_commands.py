"""Where the words of a command hold another one, for rules that deny and ask: rather too much."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from tapui.policies.code_texts import takes_text
from tapui.policies.options import entry_of
from tapui.policies.programs import (
    CONTAINERS,
    FIND_RUNS,
    GIT_RUNS,
    INTERPRETER,
    INTO_CONTAINER,
    LAUNCHER_NAMES,
    LAUNCHING,
    RUNNERS,
    SHELLS,
    base_name,
)
from tapui.policies.same_effect import LIKE
from tapui.policies.shell_words import HOLE, QUOTED, VastCommandError

RUN = RUNNERS | {"trap", "shell", "spawn", "corepack"}
"""Programs whose words hold another command."""
TEXTS = frozenset(
    """man info whereis apropos sed awk gawk mawk vi vim nvim view emacs nano ed ex set export
    alias declare typeset local readonly unset read printf for case select function in type
    hash return exit break continue shift [ [[ ]] : let bat less more history complete getopts
    open xdg-open code subl jq yq sqlite3 psql mysql bc dc brew apt dpkg rpm dnf yum
    pacman""".split()  # noqa: SIM905 - readable
)
"""Programs that are not in the tables of options, and run nothing out of plain words."""
RUN_OPTION = re.compile(
    r"exec|command|cmd\b|program|-pack\b|pager|shell|rsh|filter|askpass|editor|hook|wrapper|alias\.|action"
    r"|^-e$|^-I$|^-x$|^-F$|^-S$|^-P$|^-u$|^-TT?$|^-o$|ProxyCommand|prefix|run",
    re.IGNORECASE,
)
"""Options and variables of which the value is a command."""
_RUN_SHORT = frozenset({"rsync", "tar", "gtar", "scp", "sftp", "zip", "man", "git", "ssh", "xterm"})
_PUSHING = re.compile(r"\b(?:remote\.[^\s=]+\.(?:push|mirror)|push\.\w+)\b", re.IGNORECASE)
"""Settings of git by which a push does what `--force` or `--delete` does."""
_MOST_ALIASES = 3
ODD = re.compile(f"[{HOLE}{QUOTED}*?\\[]")
"""What a name is not known with: a hole, or a pattern."""
_ALL_SHELL = SHELLS | RUN | frozenset(LIKE)


def begins(name: str, words: tuple[str, ...]) -> tuple[list[int], bool]:
    """Return the places at which a command may begin, and whether it surely runs."""
    rest = words[1:]
    first = -1
    if name in RUN or name in LAUNCHER_NAMES:
        first = 1
    elif name in CONTAINERS and not INTO_CONTAINER.isdisjoint(rest):
        first = 1 + next(n for n, word in enumerate(words) if n and word in INTO_CONTAINER)
    elif name in LAUNCHING and not LAUNCHING[name].isdisjoint(rest):
        first = next(n for n, word in enumerate(words) if n and word in LAUNCHING[name])
        first += words[first] != "pip"
    elif INTERPRETER.fullmatch(name) and "-m" in rest:
        first = 2 + rest.index("-m")
    elif INTERPRETER.fullmatch(name) and rest and rest[0].endswith("-cli.js"):
        first = 1
    elif name in ("find", "gfind", "fd", "fdfind"):
        runs = [n + 1 for n, word in enumerate(words) if n and FIND_RUNS.fullmatch(word)]
        return [at for at in runs if at < len(words)], True
    elif name == "git":
        runs = []
        for at in (n + 1 for n, word in enumerate(words) if n and word in GIT_RUNS):
            runs += [n for n, one in enumerate(words) if n >= at and one[:1] != "-"][:1]
        return runs, True
    elif (
        name not in TEXTS
        and name not in _ALL_SHELL
        and entry_of(name) is None
        and not ODD.search(name)
    ):
        return list(range(1, len(words))), False
    return (list(range(first, len(words))), True) if first > 0 else ([], True)


def option_texts(name: str, words: tuple[str, ...]) -> Iterator[str]:
    """Yield the values of options that are commands."""
    before = ""
    for word in words[1:]:
        option, sign, value = word.partition("=")
        if sign and value and RUN_OPTION.search(option) and len(option) > 2:
            yield re.sub(r"^[a-z]+=", "", value)
        elif before.startswith("-") and " " in word and RUN_OPTION.search(before):
            if len(before) > 3 or name in _RUN_SHORT:
                yield word.partition("=")[2] or word
        elif word.startswith("ext::"):
            yield word.removeprefix("ext::").replace("% ", " ")
        before = word


def git_texts(words: tuple[str, ...]) -> Iterator[str]:
    """Yield the aliases and commands in the settings of git. Raises `VastCommandError`."""
    rest = words[1:]
    if sum("alias." in word for word in rest) > _MOST_ALIASES:
        raise VastCommandError
    for at, word in enumerate(rest):
        found = "alias." in word and re.search(r"alias\.[\w.-]{1,64}(?:=(.*))?$", word, re.DOTALL)
        if not found:
            if word.startswith("--exec="):
                yield word.partition("=")[2]
            continue
        value = found[1] if found[1] is not None else " ".join(rest[at + 1 : at + 2])
        value = value.strip("'")
        told = " ".join(rest[at + 1 :])
        if value.startswith("!"):
            yield loosened(value[1:])
        elif value:
            yield loosened(f"git {value} {told if found[1] is not None else ''}")
    for at, word in enumerate(rest):
        if word in GIT_RUNS:
            yield from rest[at + 1 : at + 2]


def pushes_by_setting(words: tuple[str, ...]) -> bool:
    """Return whether a setting of git among the words has a push do what `--force` does."""
    return any(map(_PUSHING.search, words))


def texts_within(words: Iterable[str]) -> Iterable[str]:
    """Return the words that may be a command as a whole, also behind an option."""
    for word in words:
        if any(sign.isspace() or sign in ";|&$`(<'\"" for sign in word):
            yield word
            found = re.match(
                r"(?:EXEC:|SYSTEM:|--?[A-Za-z][\w-]*=|-[A-Za-z]|[A-Za-z_]\w*:?=)(.+)",
                word,
                re.DOTALL,
            )
            if found is not None:
                yield found[1]


@lru_cache(maxsize=1_024)
def is_special(name: str) -> bool:
    """Return whether a program may run more than a command out of its words."""
    return (
        name in SHELLS
        or name in RUN
        or name in ("make", "gmake", "git")
        or name in LAUNCHING
        or takes_text(name)
    )


def is_program(word: str) -> bool:
    """Return whether a word behind `xargs` is a program that runs no other."""
    name = base_name(word)
    return word[:1] != "-" and "=" not in word and not name.isdigit() and name not in RUN


def operands(words: tuple[str, ...], with_value: frozenset[str]) -> Iterator[int]:
    """Yield the places of words that are no options, and no values of these."""
    skips = False
    for at, word in enumerate(words):
        if skips:
            skips = False
        elif word.startswith("-") and len(word) > 1:
            skips = len(word) == 2 and word[1] in with_value
        else:
            yield at


def loosened(text: str) -> str:
    """Return a text as a shell reads it again: what stayed in one word does not any more."""
    return text.replace(QUOTED, HOLE)
