"""What decides over a check beside the code that it checks: its scripts, settings and programs.

An agent can write these, too. A check whose surface was changed in the session proves nothing until
the person has run it.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

from tapui.core.proof.checks import check, further, surface
from tapui.core.proof.deciding import ShellPart, ShellReading, read
from tapui.core.proof.folder_states import DELETED, FolderState, place_of
from tapui.core.proof.known_reporters import SCRIPTS
from tapui.core.proof.writers import CHANGE_FILES, LIBRARIES, may_write

_PROGRAM = re.compile(r"(?:^|[/\s'\"=>])(?:\.?bin|Scripts)/([\w.+-]+)", re.ASCII)
_WRITTEN = re.compile(r">\|?\s*(['\"]?[^\s'\";&|<>()]+)", re.ASCII)
_FOUND = re.compile(r"\b(?:which|command -v|type -[pP])\s+([\w.+-]+)", re.ASCII)
_STARTUP = re.compile(r"(?<![\w.-])\.(?:bashrc|profile|bash_(?:profile|login|aliases))\b", re.ASCII)
"""Files that a shell reads at its beginning, or that a command has it read."""
_READS_STARTUP = re.compile(r"\b(?:bash|sh)\s+(?:-\w+\s+)*(?:-\w*[li]|--login)", re.ASCII)
_NAMES_A_PLACE = re.compile(
    rf"bin[/\s]|Scripts/|_modules|-packages/|\bv?env\b|vendor|{_STARTUP.pattern}", re.ASCII
)
_MAY_WRITE = re.compile(rf"which|command|type|script-shell|{_NAMES_A_PLACE.pattern}", re.ASCII)
_OTHER_SHELL = re.compile(
    r"\b(npm|pnpm|yarn)\s+(?:config\s+)?set\b.*script-shell|script-shell.*>.*\.(npm)rc\b", re.ASCII
)
_UNPACKERS = frozenset({"tar", "unzip", "7z", "git"})
_FETCHERS = _UNPACKERS | {"curl", "wget"}
"""Programs that write files which their words name."""
_EVALUATORS = re.compile(r"python[\d.]*|node|perl|ruby|php|deno|bun|sh|bash")
_EVALUATES = frozenset({"-c", "-e", "--eval", "-r", "eval"})
_FOLDER_OF_PROGRAMS = re.compile(
    r"(?:^|[/=])(?:\.?v?env|node_modules|vendor|(?:\.?v?env/|node_modules/\.)?bin)/?$", re.ASCII
)
_INSTALLED = re.compile(
    r"node_modules/|\.?v?env/(?:bin|Scripts)/|vendor/bin/|\.[tn]ox/|/usr/(?:local/)?s?bin/"
    r"|\.(?:local|cargo)/bin/"
    r"|\bwhich\b|\bcommand -v\b|\btype -[pP]"
)
"""Where programs are that scripts of the folder run by their names."""
_OWN_PACKAGE = re.compile(
    r"\b(?:install|i|add|link)\s(?:[^;&|\n]*\s)?(?:[./~]|file:|git\+|https?:|github:"
    r"|--path[ =])[^\s;&|]*"
    r"(?:pytest|jest|vitest|mocha|playwright|cypress|tox|nox|nextest|phpunit|rspec|eslint|ruff|mypy)"
)
"""An agent may have made what is installed, and it has the name of a check."""
SOME_PROGRAM = "an installed program"
SOME_LIBRARY = "an installed library"
_INTERPRETERS = frozenset({"python", "python3", "node", "sh", "bash", "env", "ruby", "php", "perl"})
"""What programs of these folders begin with."""
_INSTALLERS = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), ("install", "i", "add", "remove", "uninstall")),
    **dict.fromkeys(("uv", "poetry", "pdm", "pipenv"), ("add", "remove", "install", "lock")),
    "cargo": ("add", "remove", "update"),
    "go": ("get", "mod"),
    "dotnet": ("add", "remove"),
    "composer": ("require", "remove"),
    "bundle": ("add", "install"),
}
_ELSEWHERE = re.compile(r"[./~].*|.*(?::|=\.|\bedit\b).*", re.DOTALL)
"""Packages that the agent may have made: of a folder or an address."""
_TESTS = re.compile(
    r"(?:.*/)?(?:tests?|specs?|__tests__|__mocks__|__snapshots__|e2e)/.*"
    r"|(?:.*/)?(?:test_[^/]*|[^/]*[._-](?:test|tests|spec)\.\w+|[^/]*Tests?\.\w+)",
    re.ASCII,
)


def is_test(path: str) -> bool:
    """Return whether a file is one of tests, by its name."""
    return _TESTS.fullmatch(path) is not None


def changed_surface(
    part: ShellPart, folder: str, before: Iterable[FolderState], now: Iterable[FolderState]
) -> Iterator[str]:
    """Yield the files that decide what a check in `folder` does and differ between two looks.

    They are relative to the repository's root. Looks against another tree are not compared.
    """
    states = tuple(now)
    place = place_of(folder, states)
    old = {state.root: state for state in before}
    for state in states:
        earlier = old.get(state.root)
        if place is None or state.root != place.root or earlier is None:
            continue
        if earlier.head != state.head:
            continue
        changed = {
            path
            for path in {*earlier.files, *state.files}
            if earlier.files.get(path) != state.files.get(path)
        }
        yield from surface_files(part, folder, state.root, changed)


def surface_files(part: ShellPart, folder: str, root: str, paths: Iterable[str]) -> list[str]:
    """Return those of the paths, relative to a root, that decide what a check in `folder` does."""
    inner = posixpath.relpath(folder, root)
    globs = (*surface(part.words, part.files), *further(part.words))
    named = _pattern(globs, "" if inner == "." else inner, f"{root.rstrip('/')}/")
    return [path for path in sorted(paths) if named.fullmatch(path)]


@lru_cache(maxsize=256)
def _pattern(globs: tuple[str, ...], folder: str, root: str) -> re.Pattern[str]:
    """Return a pattern of the paths that globs of a check in `folder` name; all but `root` are
    relative to that."""
    found: set[str] = set()
    below = f"{re.escape(folder)}/" if folder else ""
    for glob in globs:
        if glob.startswith("**/"):
            found.add(f"{below}(?:.*/)?{_piece(glob[3:])}")
        for around in _up(folder):
            wanted = posixpath.normpath(posixpath.join(around, glob.removeprefix("**/")))
            found.add(_piece(wanted.removeprefix(root)))
    return re.compile("|".join(sorted(found)), re.DOTALL)


def _piece(glob: str) -> str:
    """Return a glob as a pattern: `*` matches no `/`, `/**` at its end all below a folder, and a
    set of signs ends in `-`. What else stands in it is a name that an agent may have written."""
    name = glob.removesuffix("/**")
    made = ""
    for number, part in enumerate(re.split(r"(\*|\[[a-z._]*-\])", name)):
        made += ("[^/]*" if part == "*" else part) if number % 2 else re.escape(part)
    return made + ("/.*" if name != glob else "")


def _up(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""


def only_installs(reading: ShellReading) -> bool:
    """Return whether of a command only package managers may have changed manifests."""
    return not reading.doubt and all(
        _installs(part.words) or not may_write(part.words) or check(part.words) is not None
        for part in reading.parts
    )


def _installs(words: tuple[str, ...]) -> bool:
    verbs = _INSTALLERS.get(words[0], ()) if words else ()
    return "".join(words[1:2]) in verbs and not any(map(_ELSEWHERE.fullmatch, words[2:]))


# Programs of the folder


def programs_of(path: str) -> Iterator[str]:
    """Yield what a written file may be run as: its name, and what is run without its name."""
    found = _PROGRAM.search(path)
    if found is not None and path.endswith(found[1]):
        yield found[1]
        if _INSTALLED.search(path):
            yield SOME_PROGRAM
    if LIBRARIES.search(path):
        yield SOME_LIBRARY
    elif startup := _STARTUP.search(path):
        yield startup[0]


@lru_cache(maxsize=4_096)  # those of the commands of a session are asked for at each verdict
def written_programs(text: str, shell: str) -> tuple[str, ...]:
    """Return what a command may write that others run, such as `.venv/bin/pytest`, by its names."""
    if _OWN_PACKAGE.search(text):
        return (SOME_LIBRARY,)
    if not _MAY_WRITE.search(text):
        return ()  # without a parse: most commands
    found = [one[1] or one[2] for one in (_OTHER_SHELL.search(text),) if one is not None]
    if re.search(r"\b(?:cp|mv|ln|install|tee|dd)\b|>", text):
        found += _FOUND.findall(text)
        found += [SOME_PROGRAM] * bool(found and _INSTALLED.search(text))
    if not _NAMES_A_PLACE.search(text):
        return tuple(found)
    for written in _WRITTEN.findall(text):
        found += programs_of(written.strip("'\""))
    for part in read(text, shell).parts:
        words = part.words[1:]
        if part.words[:1] and part.words[0] in CHANGE_FILES:
            for word in words:
                found += programs_of(word)
                found += programs_of(posixpath.join(part.folder, word))
        elif part.words[:1] and part.words[0] in _FETCHERS:
            found += (name for word in words for name in _PROGRAM.findall(word))
            if part.words[0] in _UNPACKERS and any(map(_FOLDER_OF_PROGRAMS.search, words)):
                found += [SOME_PROGRAM, SOME_LIBRARY]
        elif part.words[:1] and _EVALUATORS.fullmatch(part.words[0]):
            given = (text for option, text in pairwise(words) if option in _EVALUATES)
            found += (name for text in given for name in _PROGRAM.findall(text))
    return tuple(dict.fromkeys(found))


def is_run_by(name: str, part: ShellPart, text: str) -> bool:
    """Return whether what a command wrote is run by a part of a text, or by what that runs."""
    if name == SOME_PROGRAM:
        return part.words[0] in SCRIPTS
    if _STARTUP.fullmatch(name) and _READS_STARTUP.search(text):
        return True
    words = {posixpath.basename(one) for one in re.split(r"[\s;&|()'\"]+", text)}
    return name in words or name in _INTERPRETERS or name == SOME_LIBRARY


# Tests


def changed_tests(paths: Iterable[str], states: Iterable[FolderState]) -> str:
    """Say which of the changed files are tests: `2 files, 1 removed`; "" for none."""
    gone = {path for state in states for path, content in state.files.items() if content == DELETED}
    tests = {path for path in paths if is_test(path)}
    if not tests:
        return ""
    removed = len(tests & gone)
    kept = len(tests) - removed
    told = [f"{kept} file{'' if kept == 1 else 's'}"] * bool(kept)
    told += [f"{removed} removed"] * bool(removed)
    return ", ".join(told)
