"""The words of a command that may name files: also those within options, texts and variables.

It finds rather too many than too few: a word counts only where there is such a file.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tapui.emitters.consent.startable import Startable
from tapui.emitters.runner.environment import deciding
from tapui.policies.commands import naive_words, parsed
from tapui.policies.programs import base_name
from tapui.wire.limits import MAX_PATH

_SHELLS = ("bash", "sh")
_MAX_NESTED = 3
"""How many texts within texts are looked into."""
_QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", re.DOTALL)
_TOKEN = re.compile(r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\;|&()<>`])+""", re.DOTALL)
"""A word of a command as it is written, with its quotes."""
_PATTERN = re.compile(r"[*?]|\[[^]]+\]")
_PARAMETER = re.compile(r"\$[*?@#!$-]")
"""Parameters of the shell that look like patterns."""
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_TEXT_BEHIND = re.compile(r"-[A-Za-z]*[cS]|--command|--split-string|eval|trap")
"""What a text with a command stands behind: `bash -lc`, `env -S`, `su -c`."""
_INPUT = re.compile(r"<\s*([^\s<>|;&()]+)")
_SPLIT = re.compile(r"[\s=:,;|&()<>'\"`]+")
_IMPORTS = re.compile(
    r"-[A-Za-z]*[mrMIl]|--(require|import|loader|experimental-loader|module|preload)"
)
"""Options with a module behind them."""
_INTERPRETER = re.compile(
    r"(python|pypy|coverage|node|nodejs|bun|deno|tsx|ts-node|ruby|perl|lua|luajit|php)[\d.]*"
)
_MODULE_FILES = (
    ".py", "/__main__.py", "/__init__.py", ".js", ".cjs", ".mjs", ".ts", ".json", "/index.js",
    "/package.json", ".rb", ".pm", ".lua",
)  # fmt: skip
_NODE = ("package.json",)
_COMPOSE = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")
_PYTEST = ("conftest.py", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_READS = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "gmake": ("GNUmakefile", "makefile", "Makefile"),
    "npm": _NODE, "pnpm": _NODE, "yarn": _NODE, "bun": _NODE,
    "docker": ("Dockerfile", *_COMPOSE), "podman": ("Containerfile", "Dockerfile", *_COMPOSE),
    "docker-compose": _COMPOSE,
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile", "rakefile"),
    "cargo": ("Cargo.toml", "build.rs"),
    "go": ("go.mod",),
    "gradle": ("build.gradle", "build.gradle.kts"), "mvn": ("pom.xml",),
    "pytest": _PYTEST, "py.test": _PYTEST, "tox": ("tox.ini", "pyproject.toml"),
    "nox": ("noxfile.py",),
}  # fmt: skip
"""Files that programs read without being told to, which name what else runs."""
_BUILDS = frozenset({"build", "buildx", "bake", "compose"})
"""Verbs of docker that read one."""


@dataclass(slots=True)
class NamedWords:
    """The words of an entry that may name files, and what cannot be followed."""

    words: dict[str, None] = field(default_factory=dict)
    """Each once, in order."""
    patterns: dict[str, None] = field(default_factory=dict)
    """Patterns: the files that they match are known only when it starts."""
    reads: dict[str, str] = field(default_factory=dict)
    """Programs by the names of files that they read without being told to."""
    doubts: list[str] = field(default_factory=list)

    def add(self, words: Iterable[str]) -> None:
        """Add words with all that they may hold."""
        for word in words:
            for part in _parts(word):
                self.words.setdefault(part)


def named_words(entry: Startable) -> NamedWords:
    """Return the words of an entry's command, and of its variables."""
    found = NamedWords()
    if entry.kind == "provider":
        words = (entry.command or "", *entry.args)
        _program(found, words)
        _look_into(found, words, 0)
    elif entry.command is not None:
        command = parsed(entry.command)
        found.doubts += command.doubts
        programs = list(naive_words(entry.command)) if command.is_vast else command.all
        for program in programs:
            _program(found, program)
        found.add(named.strip("\"'") for named in _INPUT.findall(entry.command))
        _look_through(found, entry.command, 0)
        # The shell is looked for along PATH, too, which an entry may set.
        found.add([entry.shell] if entry.shell else _SHELLS)
    for _, value in entry.env:
        found.add((value, *value.split(os.pathsep)))
    found.doubts += deciding(name for name, _ in entry.env)
    return found


def _program(found: NamedWords, words: Sequence[str]) -> None:
    """Add the words of one program, and the files that it reads without being told to."""
    found.add(words)
    for word in words:
        program = base_name(word)
        if program in ("docker", "podman") and _BUILDS.isdisjoint(words):
            continue
        for name in _READS.get(program, ()):
            found.reads.setdefault(name, program)
            found.words.setdefault(name)
    if any(_INTERPRETER.fullmatch(base_name(word)) for word in words):
        for named in _modules(words):
            for path in _module_paths(named):
                found.words.setdefault(path)


def _modules(words: Sequence[str]) -> Iterator[str]:
    """Yield what an interpreter may be told to load: `-m x`, `-rx`, `--require=x`, its script."""
    has_script = False
    before = ""
    for word in words:
        if word.startswith("-"):
            yield from (part for part in _parts(word) if part != word)
        elif _IMPORTS.fullmatch(before) or _ASSIGNED.fullmatch(word):
            yield from _parts(word)
        elif not has_script and before:
            has_script = not _INTERPRETER.fullmatch(base_name(word))
            yield word
        before = word


def _module_paths(name: str) -> Iterator[str]:
    """Yield the files that a module may be in: `pkg.sub` of Python, `./x` of Node, `A::B`."""
    for path in dict.fromkeys((name, name.replace("::", "/"), name.replace(".", "/"))):
        if "//" not in path and path[:1] != "-" and path[-1:].isalnum():
            yield from (f"{path}{ending}" for ending in _MODULE_FILES)
    if not name.startswith(".") and "/" not in name:
        outer = name.split(".")[:-1]
        yield from ("/".join((*outer[: at + 1], "__init__.py")) for at in range(len(outer)))


def _look_through(found: NamedWords, text: str, nesting: int) -> None:
    """Look for patterns and variables that are set in the text of a command."""
    written = _TOKEN.findall(text)
    plain = [_QUOTED.sub(_unquoted, one) for one in written]
    for token, word in zip(written, plain, strict=True):
        if set_here := _ASSIGNED.fullmatch(word):
            found.doubts += deciding([set_here[1]])
            found.add([set_here[2]])
            for named in _modules(("", *set_here[2].split())):
                for path in _module_paths(named):
                    found.words.setdefault(path)
        elif _PATTERN.search(_PARAMETER.sub("", _QUOTED.sub("", token))):
            found.patterns.setdefault(word)
    _look_into(found, plain, nesting)


def _look_into(found: NamedWords, words: Sequence[str], nesting: int) -> None:
    """Look through those words that are commands by themselves."""
    if nesting >= _MAX_NESTED:
        return
    for before, word in zip(("", *words), words, strict=False):
        if _TEXT_BEHIND.fullmatch(before):
            _look_through(found, word, nesting + 1)
        elif word.startswith(("-S", "--split-string=")):
            _look_through(
                found, word.removeprefix("--split-string=").removeprefix("-S"), nesting + 1
            )
        elif set_here := _ASSIGNED.fullmatch(word):
            found.doubts += deciding([set_here[1]])


def _unquoted(quoted: re.Match[str]) -> str:
    text = quoted[0]
    return text[1:] if text.startswith("\\") else text[1:-1]


def _parts(word: str) -> Iterator[str]:
    """Yield a word, and what is named in it: `--file=x`, `-fx`, `@x`, `sh x` of `env -S 'sh x'`."""
    pieces = [word]
    # An address has colons and slashes, and names no file.
    if "://" not in word:
        pieces += _SPLIT.split(word)
    for piece in dict.fromkeys(pieces):
        for part in (piece, piece[1:] if piece.startswith("@") else "", *_behind_letters(piece)):
            if part and len(part) <= MAX_PATH and "\0" not in part:
                yield part


def _behind_letters(word: str) -> Iterator[str]:
    """Yield what stands behind short options in the same word: `-fx`, `-xfx`."""
    if word.startswith("-") and not word.startswith("--"):
        for at in (2, 3, 4):
            if word[1:at].isalpha() and len(word) > at:
                yield word[at:]
