"""Verdicts on commands: whether the history shows that one ran so, and whether that still holds.

The last complete run decides. One that still runs or was interrupted is not complete. One whose
outcome the exit code does not tell is: it may have failed, so what passed before it is unknown.
"""

import posixpath
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

from tapui.core.proof.checks import check, may_check
from tapui.core.proof.deciding import ShellPart, read
from tapui.core.proof.endings import interruption
from tapui.core.proof.folder_states import (
    ADDED,
    CheckPlace,
    Difference,
    FolderState,
    difference,
    is_counted,
    is_output,
    is_report,
    place_of,
)
from tapui.core.proof.history import FactHistory, RecordedCommand
from tapui.core.proof.known_reporters import SCRIPTS
from tapui.core.proof.reporters import agrees
from tapui.core.proof.summaries import Summary
from tapui.core.proof.surfaces import (
    SOME_LIBRARY,
    SOME_PROGRAM,
    is_run_by,
    written_programs,
)
from tapui.wire.criteria import Pointer, Ran, Verdict, VerdictState

NEVER_RUN = "never run"
OUTSIDE = " outside of this session"
_NAMED = 3
"""Changed files that a reason names."""


@lru_cache(maxsize=256)
def _joined(folder: str, inner: str) -> str:
    return posixpath.normpath(posixpath.join(folder, inner))


class CheckRun(NamedTuple):
    """A run of the command that a criterion is about: one part of a command's text."""

    command: RecordedCommand
    at: int
    part: ShellPart

    @property
    def folder(self) -> str:
        """Where it ran."""
        return _joined(self.command.cwd, self.part.folder)

    @property
    def tests(self) -> Summary | None:
        """What its program reports, None where that reports nothing."""
        what = check(self.part.words)
        return self.command.tests.get(what.program) if what is not None else None

    def pointer(self) -> Pointer:
        return Pointer("command", f"call:{self.command.call_id}", "recorded", self.command.at)


def command_fault(command: str) -> str:
    """Return why no run of a command can be what a criterion demands; "" where one can."""
    reading = read(command)
    if len(reading.parts) == 1 and not reading.doubt:
        return ""
    return reading.doubt or "name one command, without pipes and lists"


class SinceRun(NamedTuple):
    """What changed since a run. `why` there may be more; "" where that is all."""

    changed: list[str]
    is_outside: bool = False
    """Whether none of it is this session's."""
    why: str = ""


class Judge:
    """Judges commands by one history. `ignored` are patterns of files that do not count."""

    def __init__(self, history: FactHistory, folder: str, ignored: Sequence[str] = ()) -> None:
        self._history = history
        self._folder = folder
        self._ignored = ignored
        self._programs: tuple[int, dict[str, int]] = (-1, {})

    def verdict(self, wanted: Ran, since: int = 0) -> Verdict:
        """Judge a criterion. `since`: the number of the first fact that counts."""
        if fault := command_fault(wanted.command):
            return Verdict("unknown", fault)
        root = posixpath.normpath(posixpath.join(self._folder, wanted.root or ""))
        return self.of_part(read(wanted.command).parts[0], root, wanted, since)

    def of_part(
        self, part: ShellPart, root: str, wanted: Ran | None = None, since: int = 0
    ) -> Verdict:
        """Judge a command by its words, for the repository and package that `root` lies in."""
        wanted = wanted or Ran(command="")
        runs = self._runs(part, root)
        for at, run in enumerate(runs):
            if run.command.began < since:
                break
            found = self._of_run(wanted, run)
            if found is not None:
                return self._with_retries(found, runs[at:])
        if not runs or runs[0].command.began < since:
            if self._history.doubt:
                return Verdict("unknown", self._history.doubt)
            return Verdict("unknown", NEVER_RUN, cause="never")
        return Verdict("unknown", _incomplete(runs[0].command), [runs[0].pointer()])

    def _runs(self, wanted: ShellPart, root: str) -> list[CheckRun]:
        program = wanted.words[0]
        runs = [
            CheckRun(command, at, command.reading.parts[at])
            for command in self._history.newest()
            if may_check(command.text, program)
            for at in reversed(range(len(command.reading.parts)))
            if command.reading.parts[at].is_same(wanted)
        ]
        return [run for run in runs if self._is_for(run.folder, root)]

    def _is_for(self, folder: str, root: str) -> bool:
        """Return whether a run in `folder` counts for `root`: the same repository and package."""
        if folder == root:
            return True
        states = self._history.states or ()
        place = place_of(folder, states)
        return place is not None and place == place_of(root, states)

    def _of_run(self, wanted: Ran, run: CheckRun) -> Verdict | None:
        """Return what one run says; None where it was not complete."""
        command = run.command
        if _incomplete(command):
            return None
        pointers = [run.pointer()]
        outcome = command.reading.outcome(run.at, command.code)
        own = command.reading.code_of(run.at, command.code)
        if own is None and outcome.state == "unknown":
            return _of_pipe(run, pointers) or Verdict("unknown", outcome.reason, pointers)
        if own != wanted.exit_code:
            said = f"exit {command.code if own is None else own}"
            return Verdict("failed", outcome.reason or said, pointers)
        if fault := _of_tests(run.tests, own, wanted.min_tests):
            return Verdict(fault.state, fault.reason, pointers)
        return self._still(wanted, run, pointers)

    # Whether it still holds

    def _still(self, wanted: Ran, run: CheckRun, pointers: list[Pointer]) -> Verdict:
        history, command = self._history, run.command
        if command.reading.changes_tree:
            return Verdict("unknown", command.reading.changes_tree, pointers)
        if why := command.reading.undoes(run.at):
            return Verdict("unknown", why, pointers)
        for name, number in self._written_programs().items():
            if number < command.began and is_run_by(name, run.part, command.text):
                what = name if name in (SOME_PROGRAM, SOME_LIBRARY) else f"the program {name}"
                why = f"{what} was written in this session"
                return Verdict("unknown", why, pointers)
        changed, is_outside, why = self.since(run, wanted.globs)
        if changed:
            text = f"{named_files(changed)} changed{OUTSIDE if is_outside else ''} since"
            return Verdict("stale", text, pointers, "outside" if is_outside else "")
        if history.unseen:
            why = f"the folder was not looked at since {history.unseen}"
        return Verdict("unknown", why, pointers) if why else Verdict("passed", "", pointers)

    def since_end(self, run: CheckRun) -> SinceRun:
        """Return what changed where a run counts after its end: that it failed may be of before."""
        history, command = self._history, run.command
        if history.states is None or command.after is None:
            return SinceRun([], why="the folder was not looked at")
        place = place_of(run.folder, command.after)
        changed, why = _changed(difference(command.after, history.states, self._ignored), place)
        changed += self._written(history.written, place, command.after)
        return self._told(run, changed, why)

    def since(self, run: CheckRun, globs: Sequence[str] = ()) -> SinceRun:
        """Return what changed since a run where it counts, or may have changed beside it."""
        history, command = self._history, run.command
        base = command.before if self._has_other_writers(run) else command.after
        if base is None or history.states is None or command.after is None:
            return SinceRun([], why="the folder was not looked at")
        place = place_of(run.folder, base)
        changed, why = _changed(difference(base, history.states, self._ignored), place)
        changed += self._written([*history.written, *sorted(command.written)], place, base)
        changed += [*self._beside(run, place), *self._meanwhile(run, place)]
        return self._told(run, [path for path in changed if _is_below(path, globs)], why)

    def _told(self, run: CheckRun, changed: Sequence[str], why: str) -> SinceRun:
        is_outside = self._history.outside_since(run.command.began).issuperset(changed)
        return SinceRun(list(dict.fromkeys(changed)), is_outside, why)

    def _written_programs(self) -> dict[str, int]:
        """Return the programs that the session wrote, such as `.venv/bin/pytest`; when, first."""
        count, found = self._programs
        if count != self._history.count:
            found = dict(self._history.programs)
            for command in self._history.commands:
                for name in written_programs(command.text, command.shell):
                    found[name] = min(found.get(name, command.began), command.began)
            self._programs = self._history.count, found
        return found

    def _meanwhile(self, run: CheckRun, place: CheckPlace | None) -> list[str]:
        """Return files that something else than the check changed while it ran, such as an editor,
        another session or what an earlier command has left running.

        A check makes files, reports and builds. One that the tree has, or that had been changed
        before, it only changes where it is one of these.
        """
        command, what = run.command, check(run.part.words)
        if command.before is None or command.after is None or what is None:
            return []
        is_fixer = what.kind in ("lint", "types") and run.part.words[0] not in SCRIPTS
        if (is_fixer and what.is_writer) or command.reading.writes_before(run.at):
            return []
        known = {path for state in command.before for path in state.files}
        made = {
            path
            for state in command.after
            for path, content in state.files.items()
            if content.endswith(ADDED)
        }
        found, _ = _changed(difference(command.before, command.after, self._ignored), place)
        return [
            path
            for path in found
            if not is_report(path) and (path in known or (path not in made and not is_output(path)))
        ]

    def _has_other_writers(self, run: CheckRun) -> bool:
        """Return whether what it changed may be another's work: then that is no output of it."""
        return bool(run.command.others) or run.command.reading.writes_after(run.at)

    def _beside(self, run: CheckRun, place: CheckPlace | None) -> list[str]:
        """Return files that other commands changed while it ran: they may be as before by now."""
        found: list[str] = []
        command, end = run.command, run.command.ended or self._history.count
        for other in map(self._history.command, sorted(command.others)):
            if other is None or other.before is None or other.after is None:
                continue
            if command.began < other.began and (other.ended or end) < end:
                found += _changed(difference(other.before, other.after, self._ignored), place)[0]
        return found

    def _written(
        self, files: Sequence[str], place: CheckPlace | None, base: Sequence[FolderState]
    ) -> list[str]:
        """Return those of the files that tools wrote which count for a place."""
        found = []
        for written in files:
            path = posixpath.normpath(posixpath.join(self._folder, written))
            where = place_of(posixpath.dirname(path), base)
            if where is None or (place is not None and not is_about(where, place)):
                continue
            inner = posixpath.relpath(path, where.root)
            if is_counted(inner, self._ignored):
                found.append(inner)
        return found

    # Retries

    def _with_retries(self, verdict: Verdict, runs: Sequence[CheckRun]) -> Verdict:
        """Name the runs before one that passed which failed over the same files."""
        if verdict.state != "passed":
            return verdict
        newest, tries, failed = runs[0].command, 1, 0
        for run in runs[1:]:
            command = run.command
            if command.unrun:
                continue
            if command.after is None or newest.after is None or _incomplete(command):
                break
            if difference(command.after, newest.after, self._ignored).verdict != "same":
                break
            own = command.reading.code_of(run.at, command.code)
            has_failed = bool(own) or (run.tests is not None and run.tests.failed > 0)
            tries += has_failed or own == 0
            failed += has_failed
        return (
            Verdict("passed", f"flaky: {failed} of {tries}", verdict.pointers)
            if failed
            else verdict
        )


def _incomplete(command: RecordedCommand) -> str:
    """Say why a command's run is not complete; "" where it is."""
    if command.is_lost:
        return "tapui ended before it did"
    if command.ended is None:
        return f"still runs (shell {command.shell_id})" if command.shell_id else "still runs"
    return command.unrun or ("" if command.code is None else interruption(command.code))


def _of_pipe(run: CheckRun, pointers: list[Pointer]) -> Verdict | None:
    """Judge a run behind filters of text (`pytest | tail`) by its summary, if that was kept.

    One that failed is believed: it takes nothing from the agent to print it.
    """
    tests, by = run.tests, run.part.filtered_by
    if not by or tests is None or tests.doubt:
        return None
    counts = (
        f"{tests.failed} failed, {tests.passed} passed"
        if tests.failed
        else f"{tests.passed} passed"
    )
    state: VerdictState = "failed" if tests.failed else "unknown"
    return Verdict(state, f"its summary says {counts}; the exit code is {by}'s", pointers)


def _of_tests(tests: Summary | None, code: int, least: int | None) -> Verdict | None:
    """Judge a run that ended as wanted by its tests; None where they do not matter, or agree."""
    if tests is None:
        return Verdict("unknown", "the number of tests is not known") if least else None
    if agrees(tests.program, tests, code) is False:
        why = tests.doubt or tests.beside
        return Verdict(
            "unknown", "its summary and its exit code differ" + (f": {why}" if why else "")
        )
    if tests.unit == "problems":
        return Verdict("unknown", "it runs no tests") if least else None
    if tests.found_none:
        return Verdict("failed", "no tests ran")
    if tests.is_all_skipped:
        return Verdict("failed", "all tests were skipped")
    ran = tests.passed + tests.failed
    if least is not None and ran < least:
        if tests.is_partial or tests.unit != "tests":
            return Verdict("unknown", "the number of tests is not known")
        return Verdict("failed", f"{ran} tests ran, {least} are wanted")
    return None


def _changed(told: Difference, place: CheckPlace | None) -> tuple[list[str], str]:
    """Return the files that changed where a check counts, and why there may be more.

    What ran in the root's own package may have checked all packages of the repository.
    """
    changed = [
        path
        for one, paths in told.changed.items()
        if place is None or is_about(one, place)
        for path in paths
    ]
    doubts = [
        why
        for root, reasons in told.unknown.items()
        if place is None or root == place.root
        for why in reasons
    ]
    return changed, "; ".join(doubts)


def is_about(changed: CheckPlace, place: CheckPlace) -> bool:
    """Return whether a check of a place is about what changed in another: of its repository."""
    return changed.root == place.root and place.package in ("", changed.package)


def _is_below(path: str, globs: Sequence[str]) -> bool:
    return not globs or any(fnmatchcase(path, one) for one in globs)


def named_files(paths: Sequence[str]) -> str:
    """Name some files, and say how many more there are."""
    named = ", ".join(paths[:_NAMED])
    more = len(paths) - _NAMED
    return f"{named} and {more} more" if more > 0 else named
