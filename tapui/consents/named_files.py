"""The files of a folder that a command names, and what is in them.

The words of a command may name files also within options, texts and variables: rather too many are
found than too few, for a word counts only where there is such a file. What cannot be followed is
named as not covered: patterns, links and paths that lead out of the folder, and what programs read
there by themselves, but for those that are known to read only what their words name.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile
from pathlib import Path

from tapui.emitters.runner.environment import deciding
from tapui.files.foreign_file import inner_parts, open_within, read_up_to, real_path
from tapui.policies.commands import UNPARSED, ShellWord, naive_words, parsed
from tapui.policies.inner_commands import runs_programs, takes_text
from tapui.policies.programs import KINDS, base_name
from tapui.policies.rules import is_within
from tapui.text import safe_text
from tapui.wire.limits import MAX_PATH

MAX_FILES = 32
MAX_WHOLE = 8 * 1024 * 1024
"""Bytes up to which a file counts as a whole; of a larger one its size, time and beginning do."""
MAX_HEAD = 1024 * 1024
MAX_ALL = 64 * 1024 * 1024
"""Bytes of an entry's files that count as a whole; the others as large ones."""
MAX_WORDS = 500
_MAX_BASES = 8
_MAX_UNCOVERED = 20
_SHOWN = 200
_NOWHERE = "/dev/"


_SHELLS = ("bash", "sh")
_MAX_NESTED = 3
"""How many texts within texts are looked into."""
_MAX_TEXTS = 20
"""Texts for shells in which programs are looked for."""
_PATTERN = re.compile(r"[*?]|\[[^]]+\]")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_TEXT_BEHIND = re.compile(r"-[A-Za-z]*[cS]|--command|--split-string|eval|trap")
"""What a text with a command stands behind: `bash -lc`, `env -S`, `su -c`."""
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
_NODE_SETTINGS = (".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "bunfig.toml")
_NODE = ("package.json", *_NODE_SETTINGS)
_COMPOSE = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")
_PYTEST = ("conftest.py", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_READS = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "gmake": ("GNUmakefile", "makefile", "Makefile"),
    "npm": _NODE, "pnpm": _NODE, "yarn": _NODE, "bun": _NODE,
    "npx": _NODE_SETTINGS, "pnpx": _NODE_SETTINGS, "bunx": _NODE_SETTINGS,
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
"""Files that programs read without being told to, which name what else runs: a change of them asks
again, and is not all that they read."""
_READ_ONLY_WORDS = frozenset(
    """: [ awk base64 basename
    break cat cd chmod cksum cmp comm continue cp curl cut date df dirname
    du echo egrep exit export false fgrep file free gawk grep head hostname id jq kill ln local
    logger ls mawk md5sum mkdir mktemp mv nl nproc od paste printenv printf ps pwd read readlink
    realpath return rm rmdir sed seq set sha1sum sha256sum sha512sum shift sleep sort stat tac tail
    tee test touch tr true uname uniq unset uptime wait wc whoami xxd
    """.split()  # noqa: SIM905 - readable
)
"""A shell is one more, where it is given a text."""
_BUILDS = frozenset({"build", "buildx", "bake", "compose"})
"""Verbs of docker that read one."""


@dataclass(frozen=True, slots=True)
class ReadCommand:
    """What runs: a `text` that `shell` (or bash, or sh) reads; with `args`, a program."""

    text: str | None
    cwd: str
    args: tuple[str, ...] | None = None
    shell: str | None = None
    env: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class NamedWords:
    """The words of a command that may name files, and what cannot be followed."""

    words: dict[str, None] = field(default_factory=dict)
    """Each once, in order."""
    patterns: dict[str, None] = field(default_factory=dict)
    """Patterns: the files that they match are known only when it starts."""
    readers: dict[str, None] = field(default_factory=dict)
    """Programs that may read more than their words name."""
    texts: set[str] = field(default_factory=set)
    """Those that a shell is given."""
    doubts: list[str] = field(default_factory=list)

    def add(self, words: Iterable[str]) -> None:
        """Add words with all that they may hold."""
        for word in words:
            for part in _parts(word):
                self.words.setdefault(part)


def _named_words(command: ReadCommand) -> NamedWords:
    found = NamedWords()
    if command.args is not None:
        words = (command.text or "", *command.args)
        _program(found, words)
        _look_into(found, [ShellWord(word, word, "") for word in words], 0)
    elif command.text is not None:
        found.doubts += _programs(found, command.text)
        _look_through(found, command.text, 0)
        # The shell is looked for along PATH, too, which an entry may set.
        if command.shell:
            _program(found, (command.shell, "-c", ""))
        else:
            found.add(_SHELLS)
    for _, value in command.env:
        found.add((value, *value.split(os.pathsep)))
    found.doubts += deciding(name for name, _ in command.env)
    return found


def _programs(found: NamedWords, text: str) -> list[str]:
    """Add all programs that are seen in a text; return what of it is not understood."""
    read = parsed(text)
    for program in list(naive_words(text)) if read.is_vast else read.all:
        _program(found, program)
    return read.doubts


def _program(found: NamedWords, words: Sequence[str]) -> None:
    """Add the words of one program, the files that it is known to read without being told to, and
    its name if there may be more of these."""
    found.add(words)
    name = words[0].removeprefix("/usr").removeprefix("/bin/")
    if name in KINDS.shells:
        behind = dropwhile(lambda word: not _TEXT_BEHIND.fullmatch(word), words)
        texts = {word for word in behind if not word.startswith(("-", "+"))}
        is_told = bool(texts) and len(found.texts | texts) <= _MAX_TEXTS
        for text in texts - found.texts if is_told else ():
            found.texts.add(text)
            _programs(found, text)
    else:
        runs = takes_text(name) and any(runs_programs(name, word) for word in words)
        is_told = name in _READ_ONLY_WORDS and not runs
    if name and not is_told:
        found.readers.setdefault(" ".join(words) if name in KINDS.runners else words[0])
    for word in words:
        program = base_name(word)
        if program in ("docker", "podman") and _BUILDS.isdisjoint(words):
            continue
        for name in _READS.get(program, ()):
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
    """Look for patterns, input, and variables that are set in the text of a command."""
    read = parsed(text)
    for guessed in naive_words(text) if read.tree is None or UNPARSED in read.doubts else ():
        _look_into(found, [ShellWord(word, word, word) for word in guessed], nesting)
    for statement in read.tree.all() if read.tree is not None else ():
        sets = [(f"{name}={value.text}", name) for name, value in statement.assignments]
        words = [*(ShellWord(one, "", name) for one, name in sets), *statement.words]
        if statement.kind == "test_command" and statement.text[1:2] not in " \t\n[":
            # The grammar takes `[ab].sh` for a test.
            words.append(ShellWord(statement.text, "", statement.text))
        for one in statement.redirections:
            texts = [word.text for word in one.targets]
            found.add(texts if one.operator in ("<", "<<<") else ())
            if not one.operator.startswith("<<"):
                words += one.targets
            elif nesting < _MAX_NESTED:  # of a here-document
                _look_through(found, " ".join(texts), nesting + 1)
        _look_into(found, words, nesting)


def _look_into(found: NamedWords, words: Sequence[ShellWord], nesting: int) -> None:
    for before, word in zip(("", *(one.text for one in words)), words, strict=False):
        if set_here := _ASSIGNED.fullmatch(word.text):
            found.doubts += deciding([set_here[1]])
            found.add([set_here[2]])
            for named in _modules(("", *set_here[2].split())):
                for path in _module_paths(named):
                    found.words.setdefault(path)
        elif _PATTERN.search(word.unquoted):
            found.patterns.setdefault(word.text)
        inner = word.text.removeprefix("--split-string=").removeprefix("-S")
        if nesting < _MAX_NESTED and (inner != word.text or _TEXT_BEHIND.fullmatch(before)):
            _look_through(found, inner, nesting + 1)


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


@dataclass(slots=True)
class NamedFiles:
    """`digests` by the path in the folder; `uncovered` in words that are safe to show."""

    digests: dict[str, str] = field(default_factory=dict)
    uncovered: list[str] = field(default_factory=list)
    doubts: tuple[str, ...] = ()
    """Why the command may run programs that it does not name."""
    read: int = 0
    """Bytes of files that count as a whole."""

    def uncover(self, words: str) -> None:
        shown = safe_text(words, limit=_SHOWN)
        if shown not in self.uncovered and len(self.uncovered) < _MAX_UNCOVERED:
            self.uncovered.append(shown)


def named_files(folder: str, command: ReadCommand) -> NamedFiles:
    """Find and read the files that a command names. `folder` has no links. Not on a loop."""
    found = NamedFiles()
    words = _words(command, found)
    bases = _bases(folder, command.cwd, words, found)
    more = 0
    for word in words:
        for base in bases:
            name = _inner_file(folder, base, word, found)
            if name is None or name in found.digests:
                continue
            if len(found.digests) >= MAX_FILES:
                more += 1
            elif (digest := _digest(folder, name, found)) is None:
                found.uncover(f"{name}: it cannot be read")
            else:
                found.digests[name] = digest
    if more:
        found.uncovered.append(f"and {more:,} more files: {MAX_FILES} are covered")
    return found


def _words(command: ReadCommand, found: NamedFiles) -> list[str]:
    """Return the words that may name files, each once."""
    named = _named_words(command)
    found.doubts = tuple(dict.fromkeys(named.doubts))
    if named.readers:
        readers = safe_text(" or ".join(named.readers), limit=_SHOWN // 2)
        found.uncover(f"what {readers} reads in this folder by itself")
    for pattern in named.patterns:
        found.uncover(f"{pattern}: a pattern, the files that it stands for are not followed")
    words = list(named.words)
    if len(words) > MAX_WORDS:
        found.uncover(f"and {len(words) - MAX_WORDS:,} more words: {MAX_WORDS} are looked at")
    return words[:MAX_WORDS]


def _bases(folder: str, cwd: str, words: list[str], found: NamedFiles) -> list[str]:
    """Return the folders from which names may be meant: where it runs, and those that it names, in
    which it may run programs as after `cd` or `make -C`, one after the other."""
    bases = [cwd]
    for word in words:
        for base in list(bases):
            path = os.path.normpath(os.path.join(base, word))  # noqa: PTH118 - for each word
            if path in bases or not is_within(path, folder) or not _is_folder(path):
                continue
            if len(bases) < _MAX_BASES:
                bases.append(path)
            else:
                found.uncover(f"{word}: one more folder: {_MAX_BASES} are looked into")
    return bases


def _is_folder(path: str) -> bool:
    try:
        return os.path.isdir(path)  # noqa: PTH112 - text in, for each word
    except ValueError:
        return False


def _inner_file(folder: str, base: str, word: str, found: NamedFiles) -> str | None:
    """Return the path in the folder of the file that a word names; None for none."""
    if word.startswith("~"):
        found.uncover(word)
        return None
    whole = os.path.join(base, word)  # noqa: PTH118 - text in, for each word
    path = os.path.normpath(whole)
    if not is_within(path, folder):
        # Nothing outside is looked at. A word without a slash may name anything.
        if "/" in word and not path.startswith(_NOWHERE):
            found.uncover(word)
        return None
    try:
        os.lstat(whole)  # most words are no files: that is found out soon
        real = real_path(Path(whole))
    except OSError:
        return None  # no file can have this name, or none has it
    parts = inner_parts(folder, real)
    if parts is None and real != folder:
        found.uncover(f"{word}: a link that leads out of the folder")
        return None
    try:
        mode = os.stat(real).st_mode  # noqa: PTH116 - text in, for each word
    except OSError:
        found.uncover(f"{word}: a link to what is not there")
        return None
    if stat.S_ISDIR(mode):
        if word not in (".", ".."):
            found.uncover(f"{word}: a folder, of which only what is named is covered")
        return None
    if parts is None or not stat.S_ISREG(mode):
        found.uncover(f"{word}: no file, what it gives is not known")
        return None
    return "/".join(parts)


def _digest(folder: str, name: str, found: NamedFiles) -> str | None:
    """Return what is in a file, None when it cannot be read."""
    try:
        fd, info = open_within(folder, name)
    except OSError:
        return None
    try:
        if info.st_size <= min(MAX_WHOLE, MAX_ALL - found.read):
            data = read_up_to(fd, MAX_WHOLE + 1)
            if len(data) <= MAX_WHOLE:
                found.read += len(data)
                return f"sha256:{hashlib.sha256(data).hexdigest()}"
            info = os.fstat(fd)  # it grows
            data = data[:MAX_HEAD]
        else:
            data = read_up_to(fd, MAX_HEAD)
    except OSError:
        return None
    finally:
        os.close(fd)
    # A program that writes to it can set one of the times, and not the other.
    times = f"{info.st_mtime_ns}:{info.st_ctime_ns}"
    return f"large:{info.st_size}:{times}:{hashlib.sha256(data).hexdigest()}"
