"""What of a run's words makes it a check: whole, a part of it, none at all, and its files."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from tapui.core.proof.check_programs import ROWS, CheckProgram, Kind

_ROWS = {tuple(name.split()): row for row in ROWS for name in row.names.split("|")}
_MOST_NAMES = max(map(len, _ROWS))
_MOST_KEPT = 512
"""Commands whose answers are kept: the same few are asked about over and over."""
_SINGLE_DASH = frozenset(
    {"go", "gradle", "gradlew", "mvn", "mvnw", "tsc", "vue-tsc", "ctest", "dotnet", "terraform"}
)
"""Programs of which long options begin with one dash: nothing is glued to a letter there."""
_PACKAGE_SCRIPTS = frozenset({"npm", "yarn", "pnpm", "bun", "composer", "deno"})
"""Programs of which all operands behind the first one are for the script."""
_ALWAYS_IDLE = frozenset({"--help", "--version", "--collect-only"})
_NUMBER = re.compile(r"\d+|N", re.ASCII)
"""N stands for `$(nproc)`."""
_OF_COVERAGE = ("/p:CollectCoverage", "/p:Coverlet")
_UNKNOWN_SCRIPT = frozenset({""})
_PRINTS = re.compile(r"(?:V|VERBOSE|TEST_VERBOSE|Q|CI|NO_COLOR)=[01]?", re.ASCII)
_COMPILING = frozenset({"py_compile", "compileall"})
_BEGINS = frozenset({"-s", "--start-directory", "-t", "--top-level-directory"})
"""Options of unittest that name the folder with all tests."""
_ALL_TESTS = frozenset({"tests", "tests/", "test", "test/", ".", "./"})
_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
_WATCHING = frozenset(
    {"watch", "dev", "start", "serve", "server", "ui", "open", "preview", "storybook"}
)
_NO_CHECK = frozenset(
    {"fix", "update", "write", "deploy", "publish", "install", "clean", "generate", "prepare"}
    | {"gen", "seed", "migrate", "docs", "setup", "tasks", "init", "add", "remove", "list", "reset"}
    | {"deps", "dependencies", "fixtures", "stubs", "image", "images", "up", "down", "report"}
    | {"reports", "html", "badge", "upload"}
)
_NO_CHECK_ALONE = frozenset({"run", "release"})
"""Words that say nothing against tests: `test:run`."""
_FORMATS = frozenset({"format", "fmt", "prettier", "black", "spotless"})
_TESTING = re.compile(r"tests?|specs?|e2e|unit|integration|coverage|pytest|jest|vitest|smoke")
_LINTING = re.compile(r"lint(?:er|ing)?|eslint|ruff|clippy|flake8|style|ktlint|detekt|vet")
_TYPING = re.compile(r"types?|typecheck|tsc|mypy|typing|pyright")
_VAGUE = re.compile(r"checks?|verify|validate|ci")
"""Names that leave open what is checked."""
_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("tests", _TESTING),
    ("lint", _LINTING),
    ("types", _TYPING),
    ("build", re.compile(r"builds?|compile|bundle|assemble|package|dist|all")),
    ("tests", _VAGUE),
)
_AROUND_TESTS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("lint", _LINTING),
    ("types", _TYPING),
    ("build", re.compile(r"builds?|compile|bundle|assemble|classes")),
)
"""What is done to tests without running them: `lint:tests`, `testClasses`."""
_ALL_OF_THEM = re.compile(
    r"all|and|cov|cover|coverage|full|once|parallel|prod|race|run|verbose|v|py\d*|\d+"
    rf"|tests?|specs?|pytest|jest|vitest|{_VAGUE.pattern}|{_LINTING.pattern}|{_TYPING.pattern}",
    re.ASCII,
)
"""Words of a script's name that do not say which tests it runs."""
_OF_PYTHON = re.compile(r"(?:py|pypy)?[\d.]*(?:-[\w.-]+)?|py", re.ASCII)
"""Environments of tox that a version of Python names."""
_MAVEN_TESTS = frozenset({"package", "install", "deploy", "integration-test", "prepare-package"})
"""Phases behind `test`."""
_NAMES = re.compile(
    r"(?<![\w-])(?:" + "|".join(sorted({re.escape(name[0]) for name in _ROWS})) + r")(?!\w)",
    re.ASCII,
)
_QUOTING = re.compile(r"['\"\\]")
_MARKS = ("idle", "masks", "watch", "fixes", "subset", "built", "scripts", "whole", "prints")
Mark = Literal[
    "idle",
    "masks",
    "watch",
    "fixes",
    "subset",
    "built",
    "scripts",
    "whole",
    "prints",
    "operand",
    "other",
]


class Check(NamedTuple):
    """A check that ran. `part` says why it was not the whole one, "" where it was."""

    program: str
    kind: Kind
    part: str = ""
    is_writer: bool = False
    """It may change the files that it checks."""
    about: frozenset[str] = frozenset()
    """The words of a script's name that say which tests it runs; none for all of them."""
    is_vague: bool = False
    """Whether its name leaves open what it checks, such as `make check`."""
    is_of_built: bool = False
    """Whether it runs what was built before, and builds nothing itself."""
    chosen: tuple[str, ...] = ()
    """Names of what its options choose to be run, such as a session of nox."""


class _Script(NamedTuple):
    """What a script or a target is by its name."""

    kind: Kind
    about: frozenset[str] = frozenset()
    is_vague: bool = False


class _Word(NamedTuple):
    mark: Mark
    text: str
    words: tuple[str, ...]


def may_check(text: str, program: str = "") -> bool:
    """Return whether a shell text can run a check, or a given program: fast, and seldom wrong."""
    plain = text
    while True:
        if program in plain if program else _NAMES.search(plain) is not None:
            return True
        unquoted = _QUOTING.sub("", plain)
        if unquoted == plain:
            return False
        plain = unquoted


@lru_cache(maxsize=_MOST_KEPT)
def check(words: tuple[str, ...]) -> Check | None:
    """Return what a program checks; None where it is no check or only watches."""
    found = _row(words)
    if found is None or idle(words):
        return None
    row, name, rest = found
    made = _Script(row.kind)
    chosen: tuple[str, ...] = ()
    seen = list(_sorted(row, name, rest))
    operands = [one.text for one in seen if one.mark == "operand"]
    if row.is_script:
        script, operands = _script(name, operands)
        if script is None:
            return None
        made = script
    elif row.scripts:
        script, operands, chosen = _chosen(name, seen)
        if script is None and name == ("nx", "run-many"):
            return None
        made = script or made
    kind = made.kind
    needed = row.needs.split()
    if needed and not any(one.text.partition("=")[0] in needed for one in seen):
        return None
    targets = row.targets.split()
    part = ""
    for one in seen:
        if one.mark == "scripts" and made.about == _UNKNOWN_SCRIPT:
            part = part or f"it ran {one.text}: a subset"
        if one.mark == "subset" and not (
            name[0] == "unittest" and one.text in _BEGINS and one.words[-1] in _ALL_TESTS
        ):
            part = part or f"it ran {one.text}: a subset"
        elif one.mark == "fixes" and kind == "tests":
            part = part or f"it ran with {one.text}: it writes what it compares"
        elif one.mark == "other" and one.text.partition("=")[0] not in needed:
            part = part or f"it ran with {one.text}"
    for operand in operands:
        if operand.endswith((".sln", ".slnx")) or operand.startswith(_OF_COVERAGE):
            continue
        if operand not in targets and ("*" not in targets or _is_file(operand)):
            part = part or f"it ran {operand}: a subset"
    if name == ("go", "test") and not operands:
        part = part or "it ran one package: a subset"
    if name[0] in _COMPILING:
        part = part or "it only compiles"
    is_writer = row.is_script or kind == "build"
    for one in seen:
        is_known = one.mark != "other" or one.text.partition("=")[0] in needed
        is_writer = is_writer or one.mark == "fixes" or not is_known
    is_of_built = row.built == "*" or any(one.mark == "built" for one in seen)
    return Check(
        " ".join(name), kind, part, is_writer, made.about, made.is_vague, is_of_built, chosen
    )


def idle(words: tuple[str, ...]) -> str:
    """Say why a program checks nothing, or hides it in its exit code; "" where it does not."""
    if not words:
        return ""
    for word in words[1:]:
        if word in _ALWAYS_IDLE:
            return f"{word} checks nothing"
    found = _row(words)
    if found is None:
        return ""
    row, name, rest = found
    if "*" in (row.idle, row.watch):
        return f"{' '.join(name)} {'watches' if row.watch else 'checks nothing'}"
    for one in _sorted(row, name, rest):
        match one.mark:
            case "idle":
                return f"{one.text} checks nothing"
            case "masks":
                return f"{one.text} can hide failures"
            case "watch":
                return f"{one.text} watches"
            case "operand" if row.is_script and _is_watching(one.text):
                return f"{one.text} watches"
            case "operand" if row.is_script and name[0] in _PACKAGE_SCRIPTS:
                # What follows is for the script: only its first operand is a name.
                row = row._replace(is_script=False)
    return ""


@lru_cache(maxsize=_MOST_KEPT)
def bare(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return a program's words without the options that only print."""
    found = _row(words)
    if found is None:
        return words
    row, name, rest = found
    kept = [word for one in _sorted(row, name, rest) if one.mark != "prints" for word in one.words]
    while kept[-1:] == ["--"]:
        kept.pop()
    return (*name, *kept)


def surface(words: tuple[str, ...], files: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the files that say what is checked.

    They are globs to look for in the check's folder and those above it, up to the repository's
    root; `**/` also below. `files` are those of the part itself, such as a script.
    """
    found = _row(words)
    own = found[0].surface.split() if found else []
    return tuple(dict.fromkeys([*own, *files]))


def further(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return more such files: too many to read them all, where one was changed it decides, too."""
    found = _row(words)
    return tuple(found[0].further.split()) if found else ()


def _row(words: tuple[str, ...]) -> tuple[CheckProgram, tuple[str, ...], tuple[str, ...]] | None:
    """Return a program's row, its name, and the words behind that."""
    for size in range(min(_MOST_NAMES, len(words)), 1, -1):
        if (row := _ROWS.get(words[:size])) is not None:
            return row, words[:size], words[size:]
    before = 1
    while before < len(words) and words[before].startswith("-"):
        before += 1
    if 1 < before < len(words):  # `npm --silent test`
        name = (words[0], words[before])
        row = _ROWS.get(name)
        if row is not None and set(words[1:before]) <= set(row.prints.split()):
            return row, name, (*words[1:before], *words[before + 1 :])
    row = _ROWS.get(words[:1])
    return None if row is None else (row, words[:1], words[1:])


@lru_cache(maxsize=256)
def _options(row: CheckProgram) -> tuple[dict[str, Mark], list[tuple[str, str, Mark]]]:
    """Return a row's plain options, and those with a value with the sign that says how."""
    plain: dict[str, Mark] = {}
    valued: list[tuple[str, str, Mark]] = []
    for mark in _MARKS:
        given: str = getattr(row, mark)
        for option in given.split() if given != "*" else ():
            if option[-1] in ":?*" and option != "-?":
                valued.append((option[:-1], option[-1], mark))  # type: ignore[arg-type]
            else:
                plain.setdefault(option, mark)  # type: ignore[arg-type]
    return plain, valued


def _sorted(row: CheckProgram, name: tuple[str, ...], rest: tuple[str, ...]) -> Iterator[_Word]:
    """Yield the words behind a name with what they are."""
    at = 0
    while at < len(rest):
        word = rest[at]
        if word == "--":
            yield _Word("prints" if at == len(rest) - 1 else "whole", word, (word,))
            at += 1
            continue
        if not word.startswith("-") or word == "-":
            yield _Word("operand", word, (word,))
            at += 1
            continue
        made = list(_option(row, name, word, rest[at + 1 : at + 2]))
        yield from made
        at += max(len(one.words) for one in made)


def _option(
    row: CheckProgram, name: tuple[str, ...], word: str, after: tuple[str, ...]
) -> Iterator[_Word]:
    plain, valued = _options(row)
    # `--tb --co`: a word that is an option itself may be taken for one.
    after = () if "".join(after).startswith("-") else after
    if name[0] == "go" and word.startswith("--"):
        word = word[1:]
    if after and (mark := plain.get(f"{word}={after[0]}")):
        yield _Word(mark, word, (word, *after))
        return
    if word in plain:
        yield _Word(plain[word], word, (word,))
        return
    for option, sign, mark in valued:
        is_short = len(option) == 2 and name[0] not in _SINGLE_DASH
        if sign == "*" and word.startswith(option):
            yield _Word(mark, word, (word,))
            return
        if word == option:
            takes = sign == ":" or (after and _NUMBER.fullmatch(after[0]))
            yield _Word(mark, option, (word, *after) if takes else (word,))
            return
        is_glued = word.startswith(f"{option}=") or (
            is_short
            and word.startswith(option)
            and (sign == ":" or _NUMBER.fullmatch(word[2:]) is not None)
        )
        if is_glued and not (is_short and word.startswith("--")):
            yield _Word(mark, option, (word,))
            return
    letters = word[1:]
    if row.has_clusters and letters.isalpha() and all(f"-{one}" in plain for one in letters):
        for one in letters:
            yield _Word(plain[f"-{one}"], f"-{one}", (f"-{one}",))
        return
    # Many programs take the beginning of a long option for all of it.
    begin = word.partition("=")[0]
    for option, mark in plain.items():
        if len(begin) > 3 and mark in ("idle", "masks", "watch") and option.startswith(begin):
            yield _Word(mark, word, (word,))
            return
    if row.has_clusters and not word.startswith("--"):
        for one in letters:
            if (mark := plain.get(f"-{one}", "other")) in ("idle", "masks"):
                yield _Word(mark, word, (word,))
                return
            if any(option == f"-{one}" for option, _, _ in valued):
                break
    yield _Word("other", word, (word,))


def _script(name: tuple[str, ...], operands: list[str]) -> tuple[_Script | None, list[str]]:
    """Return what a script or targets check, and the operands that make it a subset."""
    if name[-1] == "test":
        return _Script("tests"), operands
    if name[0] in _PACKAGE_SCRIPTS:
        return (_named(operands[0]), operands[1:]) if operands else (None, [])
    if not operands:
        is_build = name[0] in ("make", "gmake", "ninja")
        return (_Script("build") if is_build else _DEFAULT.get(name[0])), []
    if name[0] == "nx":
        return _named(operands[0]), operands[1:]
    names = _OWN_NAMES.get(name[0], _named)
    scripts = [one for one in map(names, operands) if one is not None]
    # `make CC=true test`: a variable may make anything of a target
    changed = [one for one in operands if "=" in one and not _PRINTS.fullmatch(one)]
    scripts.sort(key=lambda one: one.kind != "tests" or one.is_vague)
    return next(iter(scripts), None), changed


def _chosen(
    name: tuple[str, ...], seen: list[_Word]
) -> tuple[_Script | None, list[str], tuple[str, ...]]:
    """Return what options choose to be run, such as `tox -e py312`, the operands left, and the
    names that were chosen."""
    chosen: list[str] = []
    operands: list[str] = []
    takes_more = name[0] in ("nox", "nx")
    for one in seen:
        if one.text == "--":
            takes_more = False
        elif one.mark == "scripts":
            chosen += _value(one).split(",")
        elif one.mark == "operand":
            (chosen if takes_more else operands).append(one.text)
    if not chosen:
        return None, operands, ()
    found = [_Script("tests") if _OF_PYTHON.fullmatch(one) else _named(one) for one in chosen]
    found.sort(key=lambda one: one is None or one.kind != "tests" or one.is_vague)
    return found[0] or _Script("tests", _UNKNOWN_SCRIPT), operands, tuple(chosen)


def _value(one: _Word) -> str:
    """Return the value of an option."""
    if len(one.words) > 1:
        return one.words[1]
    return one.words[0].removeprefix(one.text).removeprefix("=")


def _phase(word: str) -> _Script | None:
    """Return what a phase or a goal of Maven checks. `surefire:test` compiles nothing."""
    if ":" in word:
        return _Script("lint") if word.endswith(":check") else None
    return _Script("tests") if word in _MAVEN_TESTS else _named(word)


def _task(word: str) -> _Script | None:
    """Return what a task of Gradle checks: `build` runs the tests, too."""
    return _Script("tests") if word.rpartition(":")[2] == "build" else _named(word)


_DEFAULT = {"rake": _Script("tests", is_vague=True)}
"""What is checked where no target is named."""
_OWN_NAMES = {"mvn": _phase, "mvnw": _phase, "gradle": _task, "gradlew": _task}
"""Programs with targets that each repository has under the same names."""


def _parts(word: str) -> list[str]:
    last = word.rpartition(":")[2] if word.startswith(":") else word
    return [one.lower() for one in _NAME.findall(last)]


def _is_watching(word: str) -> bool:
    return "=" not in word and not _WATCHING.isdisjoint(_parts(word))


def _named(word: str) -> _Script | None:
    """Return what a script or target of that name is likely to check."""
    parts = _parts(word)
    is_testing = any(map(_TESTING.fullmatch, parts))
    if not _NO_CHECK.isdisjoint(parts) or _is_watching(word) or "=" in word:
        return None
    if not is_testing and not _NO_CHECK_ALONE.isdisjoint(parts):
        return None
    if not _FORMATS.isdisjoint(parts):
        return _Script("lint") if "check" in parts else None
    around = _AROUND_TESTS if is_testing and "and" not in parts else ()
    for kind, pattern in (*around, *_KINDS):
        if any(map(pattern.fullmatch, parts)):
            about = [one for one in parts if not _ALL_OF_THEM.fullmatch(one)]
            return _Script(kind, frozenset(about), pattern is _VAGUE)
    return None


def _is_file(operand: str) -> bool:
    """Return whether an operand of a linter is one file, and no folder."""
    return re.search(r"\w\.\w+\Z", operand) is not None
