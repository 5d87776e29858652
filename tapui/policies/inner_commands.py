"""Where the words of a command hold another one, for rules that deny and ask: rather too much.

Texts that are handed to interpreters are not read as a language: what may run programs or delete
files by its names is taken to do it. A text that only computes and prints is none of these.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from tapui.policies.options import entry_of
from tapui.policies.programs import (
    FIND_RUNS,
    GIT_RUNS,
    INTERPRETER,
    KINDS,
    LAUNCHER_NAMES,
    LAUNCHING,
    base_name,
)
from tapui.policies.same_effect import LIKE
from tapui.policies.shell_words import HOLE, QUOTED, VastCommandError

_OTHERS = re.compile(r"[gmn]?awk|g?sed|ed|ex|n?vim?|emacs|osascript|sqlite3|psql|mysql")
"""Programs that are no interpreters by their name, but run commands out of a text."""
_OPTION = re.compile(r"-[A-Za-z]*[cerpEBR]|--(?:eval|print|execute|command|expression)(?:=.*)?")
_GLUED = re.compile(r"-[A-Za-z]{0,6}?[ceE]")
_ODD = re.compile(r"[^\w-]")
_ONLY_TOLD = frozenset({"--version", "-V", "-v", "--help", "-h"})
_RUNS = re.compile(
    r"\bsystem\b|popen|subprocess|spawn|\bexec(?!ut)|\beval\b|child_process|\bpty\b|\bfork|ctypes"
    r"|cffi|__|importlib|(?<!re\.)\bcompile\s*\(|getattr\s*\(|globals\s*\(|locals\s*\(|\bvars\s*\("
    r"|runpy|pexpect|plumbum|\bfabric|(?:import|from)\s+(?:sh|git|invoke|pip|sarge|delegator)\b"
    r"|pickle|marshal|\bFunction\s*\(|require\s*\(\s*(?!['\"])|\bimport\s*\(\s*(?!['\"])"
    r"|process\.(?:binding|dlopen)|['\"](?:node:)?vm['\"]|Open3|\bIO\.|Kernel|%x|\bqx\b"
    r"|\bopen\b[^)\n|]{0,80}\||passthru|shell_exec|proc_open|pcntl|dofile|loadstring|os\.execute"
    r"|\$\(|do shell script|shell-command|call-process|[.\\]shell\b|\\!|[:+]!|^!"
    r"|Deno\.(?:run|Command)|Bun\.|\brun\s*\(|Cmd\b|zx\b|execa|shelljs"
)
"""What runs programs, or hides that it does."""
_PLAIN_NAMES = re.compile(
    r"__(?:name|main|file|init|future|version|doc|str|repr|len|enter|exit|class|all|call|iter|eq"
    r"|hash|post_init|package|path|annotations)__"
)
_BACKTICKS = re.compile(r"ruby|perl|php|lua|julia|osascript")
_AWK_RUNS = re.compile(r"system\s*\(|\|\s*&?\s*getline|\|\s*&?\s*[\"a-zA-Z(]|\"\s*\||@load")
_SED_COMMAND = re.compile(r"(?:^|[;{}\n\d$/!,])\s{0,9}e(?:\s|$)")
_SED_REPLACES = re.compile(r"s([^\w\s\\])")
_MOST_REPLACES = 50
_DELETES = re.compile(
    r"rmtree|\bos\.(?:remove|unlink|rmdir|removedirs)|\.unlink\s*\(|rmSync|\bfs\.(?:promises\.)?rm"
    r"|rmdir|\bunlink|FileUtils|remove_tree|rimraf|\brm_rf|removeSync|remove_dir_all|Deno\.remove"
    r"|File\.delete"
)


def takes_text(name: str) -> bool:
    """Return whether a program may run a text among its words or of its input."""
    return INTERPRETER.fullmatch(name) is not None or _OTHERS.fullmatch(name) is not None


def texts_of(name: str, words: tuple[str, ...]) -> tuple[list[str], bool]:
    """Return the texts among the words behind a program, and whether it runs no other."""
    if INTERPRETER.fullmatch(name) is None:
        return [one for one in words if one[:1] != "-" or " " in one or one[:2] == "-e"], True
    texts: list[str] = []
    for at, word in enumerate(words):
        if _OPTION.fullmatch(word):  # `python -c CODE`, `node --eval=CODE`
            texts += [word.partition("=")[2]] if "=" in word else words[at + 1 : at + 2]
        elif word == "eval":  # `deno eval CODE`
            return [*texts, *words[at + 1 :]], True
        elif word == "-m" or (not word.startswith("-") and not texts):  # a module, a file
            return texts, True
        elif word[:2] != "--" and _GLUED.match(word) and _ODD.search(word):  # `perl -ne'CODE'`
            texts.append(word)
    return texts, bool(texts) or not _ONLY_TOLD.isdisjoint(words)


def runs_programs(name: str, text: str) -> bool:
    if "awk" in name:
        return _AWK_RUNS.search(text) is not None
    if "sed" in name:
        return _SED_COMMAND.search(text) is not None or _runs_replaced(text)
    if "`" in text and _BACKTICKS.match(name):
        return True
    return _RUNS.search(_PLAIN_NAMES.sub("", text)) is not None


def _runs_replaced(text: str) -> bool:
    """Return whether `sed` runs what a replacement made: `s/x/y/e`."""
    for number, found in enumerate(_SED_REPLACES.finditer(text)):
        parts = text[found.end() :].split(found[1], 2)
        if number >= _MOST_REPLACES:
            return True
        flags = re.match(r"[gpiImM0-9]*e", parts[2]) if len(parts) == 3 else None
        if flags is not None:
            return True
    return False


def deletes_files(name: str, text: str) -> bool:
    """Return whether a text may delete files by itself."""
    return INTERPRETER.fullmatch(name) is not None and _DELETES.search(text) is not None


RUN = KINDS.runners | KINDS.rarely_runners
"""Programs whose words hold another command."""
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
_ALL_SHELL = KINDS.shells | RUN | frozenset(LIKE)


def begins(name: str, words: tuple[str, ...]) -> tuple[list[int], bool]:
    """Return the places at which a command may begin, and whether it surely runs."""
    rest = words[1:]
    first = -1
    if name in RUN or name in LAUNCHER_NAMES:  # `sudo -u me rm a`, `npx rimraf a`
        first = 1
    elif name in KINDS.containers and not KINDS.into_container.isdisjoint(rest):
        # `docker exec web rm a`
        first = 1 + next(n for n, word in enumerate(words) if n and word in KINDS.into_container)
    elif name in LAUNCHING and not LAUNCHING[name].isdisjoint(rest):
        # `hatch run rm a` runs what follows the verb; of `uv pip install a`, `pip` is the program
        first = next(n for n, word in enumerate(words) if n and word in LAUNCHING[name])
        first += words[first] != "pip"
    elif INTERPRETER.fullmatch(name) and "-m" in rest:  # `python -m pip install a`
        first = 2 + rest.index("-m")
    elif INTERPRETER.fullmatch(name) and rest and rest[0].endswith("-cli.js"):
        # `node npm-cli.js publish`
        first = 1
    elif name in ("find", "gfind", "fd", "fdfind"):  # `find . -exec rm {} +`, `fd -x rm`
        runs = [n + 1 for n, word in enumerate(words) if n and FIND_RUNS.fullmatch(word)]
        return [at for at in runs if at < len(words)], True
    elif name == "git":  # `git bisect run rm a`, `git rebase --exec "rm a"`
        runs = []
        for at in (n + 1 for n, word in enumerate(words) if n and word in GIT_RUNS):
            runs += [n for n, one in enumerate(words) if n >= at and one[:1] != "-"][:1]
        return runs, True
    elif (
        name not in KINDS.plain_words
        and name not in _ALL_SHELL
        and entry_of(name) is None
        and not ODD.search(name)
    ):
        # `unknown rm a`: it may run any of its words
        return list(range(1, len(words))), False
    return (list(range(first, len(words))), True) if first > 0 else ([], True)


def option_texts(name: str, words: tuple[str, ...]) -> Iterator[str]:
    """Yield the values of options that are commands."""
    before = ""
    for word in words[1:]:
        option, sign, value = word.partition("=")
        if sign and value and RUN_OPTION.search(option) and len(option) > 2:
            # `--rsh="ssh -l me"`, `-oProxyCommand=nc …`
            yield re.sub(r"^[a-z]+=", "", value)
        elif before.startswith("-") and " " in word and RUN_OPTION.search(before):
            # `rsync -e "ssh -l me"`
            if len(before) > 3 or name in _RUN_SHORT:
                yield word.partition("=")[2] or word
        elif word.startswith("ext::"):  # `git clone "ext::sh -c rm% a"`
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
            if word.startswith("--exec="):  # `git rebase --exec="rm a"`
                yield word.partition("=")[2]
            continue
        value = found[1] if found[1] is not None else " ".join(rest[at + 1 : at + 2])
        value = value.strip("'")
        told = " ".join(rest[at + 1 :])
        if value.startswith("!"):  # `git -c alias.x='!rm a' x`
            yield loosened(value[1:])
        elif value:  # `git -c alias.x='push --force' x`
            yield loosened(f"git {value} {told if found[1] is not None else ''}")
    for at, word in enumerate(rest):
        if word in GIT_RUNS:  # `git submodule foreach "rm a"`
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
        name in KINDS.shells
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
