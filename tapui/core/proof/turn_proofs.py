"""What a turn's end shows: whether what it changed was checked after the last change.

There is a line only for a turn that changed files, where a check is known: one that ran in the
session, or that the person named. A turn is checked where each place that it changed is: by the
tests that are known there, each language's, and by all checks that the person named. Where tests
are known, other checks alone do not make it checked.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import dropwhile, takewhile
from typing import NamedTuple

from tapui.core.proof.check_programs import ROWS
from tapui.core.proof.checks import Check, bare, check, may_check
from tapui.core.proof.deciding import ShellPart, read
from tapui.core.proof.folder_states import (
    MANIFESTS,
    TOO_LARGE,
    CheckPlace,
    FolderState,
    difference,
    is_counted,
    place_of,
)
from tapui.core.proof.history import FactHistory
from tapui.core.proof.surfaces import (
    changed_surface,
    changed_tests,
    is_test,
    only_installs,
)
from tapui.core.proof.verdicts import (
    OUTSIDE,
    CheckRun,
    Judge,
    SinceRun,
    is_about,
    named_files,
)
from tapui.projection.summary import one_line
from tapui.text import cut
from tapui.wire import limits
from tapui.wire.criteria import CheckedRun, Pointer, TurnProof, Verdict

_MOST_CHECKS = 20
"""Different checks that are judged at the end of a turn: those that ran last."""
_LONGEST_NAME = 60
_MOST_FILES = 5
"""Files that changed since a run, and that are pointed to."""
_LANGUAGES = {
    **dict.fromkeys(("pytest", "py.test", "unittest", "nose2", "tox", "nox", "hatch"), "Python"),
    **dict.fromkeys(("jest", "vitest", "mocha", "node", "bun", "deno", "ava", "tap"), "JavaScript"),
    **dict.fromkeys(("karma", "ng"), "JavaScript"),
    **dict.fromkeys(("playwright", "cypress"), "a browser"),
    **dict.fromkeys(("go", "gotestsum"), "Go"),
    **dict.fromkeys(("gradle", "gradlew", "mvn", "mvnw"), "Java"),
    **dict.fromkeys(("rspec", "rails"), "Ruby"),
    **dict.fromkeys(("phpunit", "pest", "php", "paratest"), "PHP"),
}
"""Runners that are run in each other's place. Another one's tests are other tests."""
_SCRIPTS = frozenset(
    name.split()[0] for row in ROWS if row.is_script for name in row.names.split("|")
)
"""Programs that may run anything."""

_CODE = {
    **dict.fromkeys((".py", ".pyi", ".pyx"), "Python"),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".tsx"), "JavaScript"),
    **dict.fromkeys((".vue", ".svelte", ".css", ".scss", ".html"), "JavaScript"),
    **dict.fromkeys((".java", ".kt", ".kts", ".groovy", ".scala"), "Java"),
    ".go": "Go",
    ".rb": "Ruby",
    ".php": "PHP",
    ".rs": "cargo",
}
_WHOLE = frozenset({"tests", "test", "build"})
"""Folders of a package in which all of it is checked."""
_NOT_FOUND = (126, 127)
"""Codes of a shell for a program that it cannot run."""
_BUILDERS = {
    **dict.fromkeys(("ctest", "make", "gmake", "ninja"), ("cmake", "make", "gmake", "ninja")),
    **{name: (name, "ninja") for name in ("meson", "dotnet", "swift", "mix")},
}
"""What builds that which these run."""
_CONFIGURATION = ("-c", "--configuration")
_BUILD_FOLDER = re.compile(r"_?builds?(?:[_-].*)?|cmake-build-.*|out", re.ASCII)
_LOOKING_UP = frozenset({"npm", "yarn", "pnpm", "jest", "cargo", "tsc"})
"""Programs that find their package from any folder in it, and then check all of that."""

_Changes = Mapping[CheckPlace, Sequence[str]]
"""Changed files that count, by place."""


class _Known(NamedTuple):
    """A check that is known in a folder. `run` is its newest; None for one that never ran."""

    part: ShellPart
    folder: str
    what: Check
    run: CheckRun | None
    is_named: bool = False

    @property
    def name(self) -> str:
        return check_name(self.part, self.what)

    @property
    def suite(self) -> str:
        """Whose tests it runs, or what else it checks; "" where that is not known."""
        if self.what.kind != "tests":
            return self.name
        tests = self.run.tests if self.run is not None else None
        program = tests.program if tests is not None else self.part.words[0]
        return "" if program in _SCRIPTS - _LANGUAGES.keys() else _LANGUAGES.get(program, program)


def check_name(part: ShellPart, what: Check) -> str:
    """Name a check: the program, and what it was told to run, such as `make test`."""
    words = bare(part.words)
    rest = words[len(what.program.split()) :]
    if words[0] in _SCRIPTS:
        rest = tuple(dropwhile(_is_option, rest))
    elif words[0] not in _LANGUAGES:
        rest = ()
    given = takewhile(lambda word: not _is_option(word), rest)
    told = [word for word in given if "=" not in word and word != "./..."]
    told = list(what.chosen) or told
    more = [f"and {len(told) - 2} more"] if len(told) > 2 else []
    return cut(" ".join([what.program, *told[:2], *more]), _LONGEST_NAME)


class _Judged(NamedTuple):
    """A known check with its verdict. `doubt`: why it proves nothing although it passed."""

    one: _Known
    verdict: Verdict
    place: CheckPlace | None
    doubt: str
    since: SinceRun
    """What changed since its run, of one that passed then or failed."""

    @property
    def has_passed(self) -> bool:
        return self.verdict.state == "passed" and not (self.doubt or self.one.what.part)

    @property
    def has_failed(self) -> bool:
        """Whether it failed, and nothing changed since."""
        return self.verdict.state == "failed" and not self.since.changed

    @property
    def of_before(self) -> str:
        """Say how much changed since it ran; "" for nothing."""
        if not self.since.changed:
            return ""
        by = OUTSIDE if self.since.is_outside else ""
        was = "failed" if self.verdict.state == "failed" else "passed"
        return f"{files(len(self.since.changed))} changed{by} since {self.one.name} {was}"

    @property
    def pointers(self) -> list[Pointer]:
        """What the line rests on: its run, and the first files that changed since."""
        root = self.place.root if self.place is not None else ""
        paths = [posixpath.join(root, one) for one in self.since.changed[:_MOST_FILES]]
        told = [Pointer("file", one[: limits.MAX_PATH], "observed") for one in paths]
        return [*self.verdict.pointers, *told]

    @property
    def runs(self) -> list[CheckedRun]:
        run = self.one.run
        if run is None:
            return []
        ran, tests = run.command, run.tests
        counts = counted(run)
        if tests is not None and tests.failed and tests.unit != "problems":
            counts = [f"{tests.failed:,} failed", f"{tests.passed:,} passed"]
        command, told = one_line(ran.text), ", ".join(counts)
        return [CheckedRun(command, ran.at, ran.code, told, ran.by, ran.call_id)]

    @property
    def why_not(self) -> str:
        if self.of_before:
            return self.of_before
        if self.verdict.state == "passed" and self.one.what.part:
            return self.one.what.part
        if self.verdict.reason == TOO_LARGE:
            return f"not known: {TOO_LARGE}"
        return f"{self.one.name}: {self.doubt or self.verdict.reason}"


def turn_proof(
    history: FactHistory, folder: str, named: Sequence[str] = (), ignored: Sequence[str] = ()
) -> TurnProof | None:
    """Return what the end of the newest turn shows now; None for no line."""
    changed = _changed(history, history.turn_states, folder, ignored)
    return _proof(history, folder, named, ignored, changed) if changed else None


def has_changed(history: FactHistory, folder: str, ignored: Sequence[str] = ()) -> bool:
    """Return whether the newest turn changed files that count."""
    return bool(_changed(history, history.turn_states, folder, ignored))


def standing(
    history: FactHistory, folder: str, named: Sequence[str] = (), ignored: Sequence[str] = ()
) -> TurnProof | None:
    """Return how the folder stands by its checks, after all that the session has changed."""
    changed = _changed(history, tuple(history.first.values()) or None, folder, ignored)
    return _proof(history, folder, named, ignored, changed)


def _proof(
    history: FactHistory,
    folder: str,
    named: Sequence[str],
    ignored: Sequence[str],
    changed: _Changes,
) -> TurnProof | None:
    judge = Judge(history, folder, ignored)
    found = [_judged(judge, history, one) for one in _known(history, folder, named)]
    found = [_behind_a_build(one, found) for one in found]
    if not found:
        return None
    failed = [
        one
        for one in found
        if one.verdict.state == "failed" and not any(_follows(history, two, one) for two in found)
    ]
    for one in sorted(failed, key=lambda one: not one.has_failed):
        if not one.has_failed:
            return TurnProof("unchecked", one.of_before, one.pointers, runs=one.runs)
        text = ", ".join([one.one.name, one.verdict.reason, *_by([one])])
        return TurnProof("failed", text, one.verdict.pointers, runs=one.runs)
    places = list(changed) or [place_of(folder, history.states or ()) or CheckPlace(folder, "")]
    groups = {
        (place, language): paths
        for place in places
        for language, paths in _by_language(changed.get(place, ())).items()
    }
    covered = {
        (place, language): [one for one in found if _covers(one, place, paths)]
        for (place, language), paths in groups.items()
    }
    if not history.states:
        covered = dict.fromkeys(groups, found)
    missing: dict[CheckPlace, tuple[str, _Judged]] = {}
    for (place, _), here in covered.items():
        if (why := _missing(history, found, here, place)) is not None:
            missing.setdefault(place, why)
    used = [
        one for one in found if one.has_passed and any(one in some for some in covered.values())
    ]
    if not missing:
        paths = [path for some in changed.values() for path in some]
        return _checked(history, _decisive(used), paths, ignored)
    count = sum(map(len, changed.values()))
    text, about = next(iter(missing.values()))
    if len(missing) < len(places):
        done = ", ".join(_name_of(place) for place in places if place not in missing)
        text = f"checked {done}; not checked: {', '.join(map(_name_of, missing))}"
    if text != about.of_before and count:
        text = f"{files(count)} changed; {text}"
    return TurnProof("unchecked", text, about.pointers, runs=about.runs)


def _missing(
    history: FactHistory, found: Sequence[_Judged], here: Sequence[_Judged], place: CheckPlace
) -> tuple[str, _Judged] | None:
    """Say why a place is not checked by what is `here` about it, and of which check that is; None
    where it is."""
    named = next((one for one in here if one.one.is_named and not one.has_passed), None)
    if named is not None:
        return named.why_not, named
    tests = [one for one in here if one.one.what.kind == "tests"]
    tests = [one for one in tests if one.one.suite or not one.one.what.is_vague] or tests
    whole = [one for one in tests or here if not one.one.what.part]
    about = [one for one in whole if not any(_is_wider(history, other, one) for other in whole)]
    passed = {one.one.suite for one in about if one.has_passed}
    if not passed:
        if about or tests or here:
            one = (about or tests or here)[0]
            return one.why_not, one
        one = found[0]
        where = posixpath.relpath(one.one.folder, place.root)
        if one.place == place and not where.startswith(".."):
            scope = ", ".join(_scopes(one.one)) or where
            return f"{one.one.name} ran in {scope}: a subset", one
        return f"{one.one.name}: not run in {_name_of(place)}", one
    for one in about if tests else ():
        if one.one.suite and not {one.one.suite, ""} & passed:
            return one.why_not, one
    return None


def _is_wider(history: FactHistory, wide: _Judged, one: _Judged) -> bool:
    """Return whether a check runs more tests than another one, which may be a part of it."""
    if one.one.suite not in (wide.one.suite, ""):
        return False
    if wide.one.what.about != one.one.what.about:
        return wide.one.what.about < one.one.what.about
    ran, more = _count(one.one.run), _count(wide.one.run)
    return bool(ran and more) and ran < more and not _are_tests_changed(history, wide.one.run)


def _count(run: CheckRun | None) -> int:
    """Return how many tests a run had; 0 where that is not known."""
    tests = run.tests if run is not None else None
    if tests is None or tests.is_partial or tests.unit != "tests":
        return 0
    return tests.passed + tests.failed + tests.skipped


def _are_tests_changed(history: FactHistory, run: CheckRun | None) -> bool:
    """Return whether test files were changed since a run: then it may have had others."""
    before = run.command.after if run is not None else None
    if before is None or history.states is None:
        return True
    changed = difference(before, history.states).changed.values()
    return any(is_test(path) for paths in changed for path in paths)


def _by_language(paths: Sequence[str]) -> dict[str, list[str]]:
    """Return files by their language; under "" those of none."""
    found: dict[str, list[str]] = {} if paths else {"": []}
    for path in paths:
        found.setdefault(_language(path), []).append(path)
    return found


def _language(path: str) -> str:
    return _CODE.get(posixpath.splitext(path)[1], "")


def _covers(one: _Judged, place: CheckPlace, paths: Sequence[str]) -> bool:
    """Return whether a check is about files of one language that changed at a place."""
    if one.place is None or not is_about(place, one.place):
        return False
    suite = one.one.suite
    language = _language(paths[0]) if paths else ""
    if one.place != place and suite in _CODE.values() and language not in (suite, ""):
        return False  # of another package, in another language
    below = posixpath.relpath(one.one.folder, place.root)
    inner = posixpath.relpath(below, one.place.package or ".")
    is_whole = inner in {".", *_WHOLE} or one.one.part.words[0] in _LOOKING_UP
    if not is_whole and not all(path.startswith(f"{below}/") for path in paths):
        return False
    scopes = [posixpath.normpath(posixpath.join(below, scope)) for scope in _scopes(one.one)]
    return not scopes or all(any(_is_in(path, scope) for scope in scopes) for path in paths)


def _scopes(one: _Known) -> list[str]:
    """Return the folders that a check was told to look at; none where it looks at all."""
    words = bare(one.part.words)[len(one.what.program.split()) :]
    given = [word for word in words if not word.startswith("-")]
    if one.part.words[0].startswith("gradle"):
        tasks = [word.strip(":").rpartition(":")[0].replace(":", "/") for word in given]
        return tasks if all(tasks) else []
    if one.what.kind not in ("lint", "types") or one.part.words[0] in {*_SCRIPTS, "cargo"}:
        return []
    return [] if {".", "./", "./..."} & {*given} else [one.removesuffix("/...") for one in given]


def _is_in(path: str, scope: str) -> bool:
    return path == scope or path.startswith(f"{scope}/") or fnmatchcase(path, scope)


def _follows(history: FactHistory, later: _Judged, failed: _Judged) -> bool:
    """Return whether a whole run passed after a failed one of the same, or of a part of it; or
    any tests after such that are not there."""
    if later.one.run is None or failed.one.run is None or later.one.what.part:
        return False
    is_same = later.one.suite == failed.one.suite != ""
    is_instead = later.one.what.kind == "tests" and _is_missing(failed.one.run)
    return (
        later.verdict.state in ("passed", "stale")
        and later.one.run.command.began > failed.one.run.command.began
        and (is_same or is_instead)
        and not _is_wider(history, failed, later)
        and later.place is not None
        and failed.place is not None
        and is_about(failed.place, later.place)
    )


def _is_missing(run: CheckRun) -> bool:
    """Return whether a run failed because its program or its script is not there."""
    code = run.command.reading.code_of(run.at, run.command.code)
    is_script = run.tests is not None and run.tests.program in _SCRIPTS and run.tests.found_none
    return code in _NOT_FOUND or (is_script and code != 0)


def _changed(
    history: FactHistory,
    before: Sequence[FolderState] | None,
    folder: str,
    ignored: Sequence[str],
) -> _Changes:
    """Return the counted files that changed since a look, as far as that is known."""
    if before is None or history.states is None:
        return _written(history.turn_written, folder, ignored)
    told = difference(before, history.states, ignored)
    found = dict(told.changed)
    is_late = before is history.turn_states and history.is_turn_late
    unseen = history.turn_written if is_late or told.unknown else history.written
    for place, paths in _written(unseen, folder, ignored, history.states).items():
        found[place] = tuple(dict.fromkeys([*found.get(place, ()), *paths]))
    return found


def _written(
    paths: Iterable[str], folder: str, ignored: Sequence[str], states: Sequence[FolderState] = ()
) -> _Changes:
    """Return the counted files that tools wrote, by place."""
    found: dict[CheckPlace, list[str]] = {}
    for written in dict.fromkeys(paths):
        path = posixpath.normpath(posixpath.join(folder, written))  # a host may name it in there
        place = place_of(posixpath.dirname(path), states)
        if place is None and states:
            continue  # outside of all repositories
        place = place or CheckPlace(folder, "")
        inner = posixpath.relpath(path, place.root) if path.startswith("/") else path
        if is_counted(inner, ignored):
            found.setdefault(place, []).append(inner)
    return found


# The checks that are known


def _known(history: FactHistory, folder: str, named: Sequence[str]) -> list[_Known]:
    """Return the checks that are known: those that ran, the newest first, and the person's."""
    found: dict[object, _Known] = {}
    seen: set[tuple[ShellPart, str]] = set()
    for run in _runs(history):
        if (run.part, run.command.cwd) in seen:
            continue
        seen.add((run.part, run.command.cwd))
        what = check(run.part.words)
        if what is None and run.command.by == "person" and len(run.command.reading.parts) == 1:
            what = Check(" ".join(run.part.words[:2]), "tests")  # the person named it
        if what is not None:
            found.setdefault(_key(run.part, run.folder), _Known(run.part, run.folder, what, run))
        if len(found) >= _MOST_CHECKS:
            break
    for text in named:
        parts = read(text).parts
        if len(parts) == 1:
            what = check(parts[0].words) or Check(text, "tests")
            new = _Known(parts[0], folder, what._replace(part=""), None)
            key = _key(parts[0], folder)
            ran = found.get(key)
            if ran is not None:
                new = new._replace(run=ran.run)
            found[key] = new._replace(is_named=True)
    return list(found.values())


def _key(part: ShellPart, folder: str) -> object:
    return bare(part.words), tuple(sorted(part.sets)), folder


def _runs(history: FactHistory) -> Iterator[CheckRun]:
    """Yield what ran, the newest first."""
    for command in history.newest():
        if command.by == "agent" and not may_check(command.text):
            continue
        for at, part in reversed(list(enumerate(command.reading.parts))):
            yield CheckRun(command, at, part)


def _judged(judge: Judge, history: FactHistory, one: _Known) -> _Judged:
    verdict = judge.of_part(one.part, one.folder)
    if verdict.pointers:
        # Its newest run may not have been complete: the one that decided is named.
        command = history.command(verdict.pointers[0].uri.removeprefix("call:"))
        for at, part in enumerate(command.reading.parts if command is not None else ()):
            if command is not None and part.is_same(one.part):
                one = one._replace(run=CheckRun(command, at, part))
    doubt, since = "", SinceRun([])
    if one.run is not None and verdict.state == "passed":
        doubt = _doubt(history, one.run)
    elif one.run is not None and verdict.state == "stale":
        since = judge.since(one.run)
    elif one.run is not None and verdict.state == "failed":
        since = judge.since_end(one.run)
    return _Judged(one, verdict, place_of(one.folder, history.states or ()), doubt, since)


def _behind_a_build(one: _Judged, found: Sequence[_Judged]) -> _Judged:
    """Doubt a check that runs what was built before, where no build stands before it."""
    run = one.one.run
    if not one.has_passed or run is None or not _is_of_built(one.one, run):
        return one
    builders = _BUILDERS.get(one.one.part.words[0], ())
    for other in found:
        built = other.one.run
        if not other.has_passed or built is None or other.place != one.place:
            continue
        is_build = other.one.what.kind == "build" and other.one.part.words[0] in builders
        is_build = is_build and _is_for(built, run)
        if is_build and (built.command.began, built.at) < (run.command.began, run.at):
            return one
    return one._replace(doubt="nothing was built for it after the last change")


def _is_for(built: CheckRun, run: CheckRun) -> bool:
    """Return whether a build makes what a run needs: in its folder, with its configuration."""
    words, folder = built.part.words, built.folder
    if words[0] == "dotnet":
        return _configuration(words) == _configuration(run.part.words)
    if words[0] == "cmake":
        if "".join(words[2:3]).startswith("-"):
            return True  # a preset names it
        folder = posixpath.normpath(posixpath.join(folder, *words[2:3]))
        return folder == run.folder
    return f"{run.folder}/".startswith(f"{folder}/")


def _configuration(words: Sequence[str]) -> str:
    after = (words[at + 1 :][:1] for at, word in enumerate(words) if word in _CONFIGURATION)
    return next((one for words in after for one in words), "")


def _is_of_built(one: _Known, run: CheckRun) -> bool:
    """Return whether a check builds nothing itself: CMake's target `test` does not, either."""
    is_of_cmake = run.tests is not None and run.tests.program == "ctest"
    is_target = one.part.words[0] in ("make", "gmake", "ninja") and one.what.kind == "tests"
    in_build = _BUILD_FOLDER.fullmatch(posixpath.basename(one.folder)) is not None
    return one.what.is_of_built or (is_target and (is_of_cmake or in_build))


def _doubt(history: FactHistory, run: CheckRun) -> str:
    """Say why a run proves nothing: what decides over it was changed in the session."""
    command = run.command
    now = command.after or history.states or ()
    base: Sequence[FolderState] = tuple(history.first.values())
    for other in history.newest():
        if other.by == "person" and other.before is not None:
            ran = (CheckRun(other, at, part) for at, part in enumerate(other.reading.parts))
            if any(one.part.is_same(run.part) and one.folder == run.folder for one in ran):
                base = other.before  # the person saw that, and ran it
                break
    for path in changed_surface(run.part, run.folder, base, now):
        if not _is_installed(history, path, base, now):
            return f"{path} decides over it and was changed"
    return ""


def _is_installed(
    history: FactHistory, path: str, base: Sequence[FolderState], now: Sequence[FolderState]
) -> bool:
    """Return whether only package managers have made a manifest what it is."""
    name = posixpath.basename(path)
    if name not in MANIFESTS and not name.endswith((".csproj", ".fsproj")):
        return False
    contents = _contents(base, path)
    for command in history.commands:
        if command.before is None or command.after is None:
            continue
        made = _contents(command.after, path)
        is_next = _contents(command.before, path) == contents != made
        if is_next and only_installs(command.reading):
            contents = made
    return contents == _contents(now, path)


def _contents(states: Sequence[FolderState], path: str) -> list[str | None]:
    return [state.files.get(path) for state in states]


# What is shown


def _decisive(used: Sequence[_Judged]) -> list[_Judged]:
    """Return of each suite and place the newest check; where tests passed, only these."""
    about = [one for one in used if one.one.what.kind == "tests"] or used[:1]
    found: dict[tuple[str, CheckPlace | None], _Judged] = {}
    for one in about:
        found.setdefault((one.one.suite, one.place), one)
    named = {suite for suite, _ in found if suite}
    return [one for one in found.values() if one.one.suite or not named]


def _checked(
    history: FactHistory, used: Sequence[_Judged], changed: Sequence[str], ignored: Sequence[str]
) -> TurnProof:
    is_many = len({one.place for one in used}) > 1
    told = []
    for one in used:
        where = [f"{one.one.name} in {_name_of(one.place)}"] if is_many and one.place else []
        told += [*(where or [one.one.name]), *counted(one.one.run)]
        told += [one.verdict.reason] * bool(one.verdict.reason)
    text = ", ".join([*told, "after the last change", *_by(used)])
    beside = _beside(history, used, ignored)
    text += f" ({named_files(beside)} since)" if beside else ""
    tests = changed_tests(changed, history.states or ())
    counts = _fewer(history, used[0].one, are_changed=bool(tests))
    marks = [f"tests changed: {tests}"] * bool(tests) + [counts] * bool(counts)
    text = ", ".join([text, *marks])
    pointers = [pointer for one in used for pointer in one.verdict.pointers]
    return TurnProof("checked", text, pointers, runs=[run for one in used for run in one.runs])


def _beside(
    history: FactHistory, used: Sequence[_Judged], ignored: Sequence[str]
) -> tuple[str, ...]:
    """Return the documents and the like that were changed since."""
    run = used[0].one.run
    if run is None or run.command.after is None or history.states is None:
        return ()
    found = difference(run.command.after, history.states, ignored).beside
    return tuple(path for paths in found.values() for path in paths)


def _by(used: Sequence[_Judged]) -> list[str]:
    runs = [one.one.run for one in used]
    is_persons = runs and all(run is not None and run.command.by == "person" for run in runs)
    return ["run by you"] if is_persons else []


def files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def counted(run: CheckRun | None) -> list[str]:
    """Return how many tests a run reports, in words; nothing where it reports none."""
    tests = run.tests if run is not None else None
    if tests is None or tests.unit == "problems" or not tests.passed:
        return []
    among = f" of {tests.passed + tests.deselected:,}" if tests.deselected else ""
    unit = tests.unit.removesuffix("s") if tests.passed == 1 and not among else tests.unit
    counted = f"{tests.passed:,}{among} {unit}"
    counted = f"at least {counted}" if tests.is_partial else counted
    return [counted, "from a cache"] if tests.is_cached else [counted]


def _fewer(history: FactHistory, one: _Known, *, are_changed: bool) -> str:
    """Say how the number of tests differs from that of the run before; "" where it does not."""
    if one.run is None or one.run.tests is None or one.run.tests.is_partial:
        return ""
    now = one.run.tests.passed + one.run.tests.failed + one.run.tests.skipped
    key = _key(one.part, one.folder)
    for run in _runs(history):
        if run.command.began >= one.run.command.began or not run.command.tests:
            continue
        tests = run.tests
        if tests is None or tests.is_partial or _key(run.part, run.folder) != key:
            continue
        before = tests.passed + tests.failed + tests.skipped
        is_told = before > now or (are_changed and before != now)
        return f"{before:,} → {now:,} {tests.unit}" if is_told else ""
    return ""


def _is_option(word: str) -> bool:
    return word.startswith("-")


def _name_of(place: CheckPlace) -> str:
    return place.package or posixpath.basename(place.root.rstrip("/")) or place.root
