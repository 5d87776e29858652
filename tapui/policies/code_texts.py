"""Texts that are handed to interpreters: whether they run programs or delete files.

They are not read as a language: what may do it by its names is taken to do it. A text that only
computes and prints is none of these.
"""

import re

from tapui.policies.programs import INTERPRETER

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
        if _OPTION.fullmatch(word):
            texts += [word.partition("=")[2]] if "=" in word else words[at + 1 : at + 2]
        elif word == "eval":
            return [*texts, *words[at + 1 :]], True
        elif word == "-m" or (not word.startswith("-") and not texts):
            return texts, True
        elif word[:2] != "--" and _GLUED.match(word) and _ODD.search(word):
            texts.append(word)
    return texts, bool(texts) or not _ONLY_TOLD.isdisjoint(words)


def runs_programs(name: str, text: str) -> bool:
    """Return whether a text may run programs."""
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
