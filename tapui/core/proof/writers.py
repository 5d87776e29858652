"""What programs do beside their exit code: pass lines on, or write files."""

import posixpath
import re

from tapui.core.proof.checks import check
from tapui.core.proof.folder_states import is_counted
from tapui.core.proof.statements import UNKNOWN, Statement
from tapui.core.proof.wrappers import program

_FILTERS = frozenset({"tail", "head", "grep", "egrep", "fgrep", "rg", "tee", "cat", "sort", "uniq"})
"""Filters that pass lines on whole. One that changes lines could make a summary of its own."""
_CUTTING = re.compile(
    r"-[a-zA-Z]*[oc]|-[a-zA-Z]*r|--only-matching|--bytes.*|--replace.*|--passthru"
)
"""Options of these that print a part of a line, or other text in its place."""
_SED_LINES = re.compile(r"(?:[\d$]+(?:,[\d$]+)?|/[^/]*/)p", re.ASCII)
READERS = frozenset(
    """echo printf true false test [ [[ : ls cat head tail grep egrep fgrep rg wc sort uniq cut tr
    pwd which type date sleep du df find stat file diff cmp ps env printenv uname whoami id nproc
    jq sed awk basename dirname realpath readlink tree less more wait exit return cd pushd popd
    set export unset ulimit umask seq column hostname lsof""".split()  # noqa: SIM905
)
"""Programs that write no file but by a redirection."""
_GIT_READS = frozenset(
    {"status", "diff", "log", "show", "branch", "rev-parse", "ls-files", "blame", "remote", "fetch"}
    | {"describe", "config", "add", "tag", "grep", "cat-file", "shortlog"}
)
"""Verbs of git that leave the files of the folder as they are, and run no hooks that may not."""
_WRITING = {
    "awk": re.compile(r"-[fiEl].*|--(?:file|include|exec|load).*|.*(?:>|\||system).*", re.DOTALL),
    "file": re.compile(r"-[a-zA-Z]*C.*|--compile"),
    "find": re.compile(r"-(?:exec|ok|delete|fprint|fls).*"),
    "sort": re.compile(r"-[a-zA-Z]*o.*|--o.*"),
    "tree": re.compile(r"-[a-zA-Z]*o.*|--o.*"),
    "less": re.compile(r"-[a-zA-Z]*[oO].*|--(?:log-file|LOG-FILE).*"),
    "rg": re.compile(r"--pre.*|--hostname-bin.*"),
    "git": re.compile(r"--out.*|-O.*|--open.*|--ext-diff"),
}
"""Words of such programs with which they write, or run others."""
_GIT_CHANGES = frozenset(
    {"stash", "checkout", "switch", "reset", "restore", "clean", "rebase", "merge", "pull", "apply"}
    | {"am", "cherry-pick", "revert", "bisect", "read-tree", "checkout-index", "submodule", "rm"}
)
_ONE_WAY: dict[str, str] = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), "ci install i add update run test"),
    **dict.fromkeys(("pip", "pip3", "uv", "poetry", "pdm", "pipenv"), "install sync add lock"),
    **dict.fromkeys(("bundle", "composer", "shards", "nimble"), "install update require add"),
    **dict.fromkeys(
        ("cargo", "mix", "go"), "add update fetch fmt format mod get deps.get clean fix"
    ),
    **dict.fromkeys(("dotnet", "flutter", "dart", "swift"), "restore add pub package format clean"),
    **dict.fromkeys(
        ("gradle", "gradlew", "mvn", "mvnw", "make", "gmake", "ninja", "just"),
        "clean generate gen codegen proto build all install deps format fmt",
    ),
    "docker": "build pull compose ps logs",
    **dict.fromkeys(
        ("cmake", "meson", "mkdir", "touch", "black", "isort", "gofmt", "goimports"), ""
    ),
    **dict.fromkeys(("prettier", "rustfmt", "clang-format", "ruff", "gh", "corepack"), ""),
    "conda": "activate install",
    **dict.fromkeys(("nvm", "fnm", "pyenv", "rbenv", "sdk", "rustup"), ""),
    "git": "commit push",
    "playwright": "install",
}
"""Programs that undo no change of a file, with the verbs of which that holds; "": all of them."""
CHANGE_FILES = frozenset(
    {"cp", "mv", "ln", "install", "tee", "chmod", "rsync", "dd", "patch", "sed"}
)
"""Programs that change the files which they are given."""
_SED_OPTIONS = re.compile(
    r"-[nErzus]+|--(?:quiet|silent|regexp-extended|null-data|unbuffered|separate|posix|debug)"
)
_SED_PIECES = re.compile(r"[;\n]")
_SED_READS = re.compile(
    r"(?:(?:[\d$]+|/[^/]*/)(?:,(?:[\d$]+|/[^/]*/))?)?"
    r"(?:[pdqQ=]|s([/|#,@!:%])(?:(?!\1).)*\1(?:(?!\1).)*\1[gpIiMm0-9]*)?"
)
"""A command of sed that prints, deletes from what it prints, or replaces in that."""
_SCRATCH = re.compile(r"/dev/(?:null|stdout|stderr|tty)|/tmp/.*|.*\.(?:log|out)", re.DOTALL)
"""Files of which a change is none of the code."""
LIBRARIES = re.compile(r"(?:^|/)(?:node_modules|site-packages|dist-packages)/(?!\.bin/).")
PLACES_OF_PROGRAMS = re.compile(rf"(?:^|/)(?:\.?bin|Scripts)/[^/]+$|{LIBRARIES.pattern}")


def is_scratch(path: str) -> bool:
    """Return whether a change of a file is none of the code."""
    path = posixpath.normpath(path)
    is_text = path.endswith((".txt", ".md")) and not is_counted(path)
    return is_text or _SCRATCH.fullmatch(path) is not None


def _sed_writes(words: tuple[str, ...]) -> bool:
    """Return whether sed may write: all of its script is not known to only print."""
    scripts, rest = [], list(words[1:])
    while rest:
        word = rest.pop(0)
        if word in ("-e", "--expression") and rest:
            scripts.append(rest.pop(0))
        elif word.startswith("-"):
            if not _SED_OPTIONS.fullmatch(word):
                return True
        elif not scripts:
            scripts.append(word)
    return not all(
        _SED_READS.fullmatch(piece.strip()) for one in scripts for piece in _SED_PIECES.split(one)
    )


def is_filter(stage: Statement) -> bool:
    """Return whether a stage of a pipe only passes lines on."""
    if stage.kind != "command" or not stage.command.words or stage.command.sets:
        return False
    words = program(stage.command.words).words
    if any(UNKNOWN in word for word in words):
        return False
    if words[0] == "sed":
        lines = words[1:] if len(words) == 3 and words[1] == "-n" else ()
        return len(lines) == 2 and _SED_LINES.fullmatch(lines[1]) is not None
    if words[0] not in _FILTERS:
        return False
    return words[0] in ("cat", "tee") or not any(map(_CUTTING.fullmatch, words[1:]))


def _git_verb(words: tuple[str, ...]) -> str:
    return next((one for one in words[1:] if not one.startswith("-")), "")


def tree_change(words: tuple[str, ...]) -> str:
    """Say what changes the files of a repository by other states of it, such as `git stash`."""
    if words[:1] == ("git",):
        verb = _git_verb(words)
        if verb in _GIT_CHANGES and words[-2:] != ("stash", "list"):
            return f"git {verb} is in the same command"
    elif words[:3] == ("gh", "pr", "checkout") or words[:2] in (("hg", "update"), ("jj", "edit")):
        return f"{words[0]} {words[1]} is in the same command"
    return ""


def may_write(words: tuple[str, ...]) -> bool:
    """Return whether a program may change files of the folder."""
    if not words:
        return False
    name = words[0]
    if name in _WRITING and any(map(_WRITING[name].fullmatch, words[1:])):
        return True
    if name == "sed":
        return _sed_writes(words)
    if name == "git":
        return _git_verb(words) not in _GIT_READS
    if name == "tee":
        return not all(map(is_scratch, [one for one in words[1:] if one[0:1] != "-"]))
    if name == "uniq" and sum(not one.startswith("-") for one in words[1:]) > 1:
        return True
    if name in READERS:
        return False
    found = check(words)
    return found is None or found.is_writer


def may_undo(words: tuple[str, ...]) -> bool:
    """Return whether a program may put any content into a file: then a second one may undo it."""
    if not may_write(words) or check(words) is not None:
        return False
    verbs = _ONE_WAY.get(words[0])
    verb = next((one for one in words[1:] if not one.startswith("-")), "")
    return verbs is None or (bool(verbs) and verb not in verbs.split())


def changes_programs(words: tuple[str, ...]) -> bool:
    """Return whether a command may put another program in the place of an installed one."""
    is_change = words[:1] and words[0] in CHANGE_FILES
    return bool(is_change) and any(map(PLACES_OF_PROGRAMS.search, words[1:]))
