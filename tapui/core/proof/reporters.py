"""What a command's programs report in its output, and whether the exit code agrees.

Only the programs that a command names are looked for, and where the output does not fit their runs,
no count is given but the reason. What cannot be told: a test that prints its runner's closing line
and ends the process before the real one; a closing line that stands alone because the rest was cut
off. Both need the exit code beside the count.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from tapui.core.proof.known_reporters import REPORTERS, SCRIPTS, Reporter
from tapui.core.proof.summaries import MOST_TEXT, Summary, closings, plain

__all__ = ["Summary", "absence", "agrees", "summary"]


def summary(
    program: str, output: str, *, runs: int | None = None, is_cut: bool = False
) -> Summary | None:
    """Return what `program` reports in an output, its runs added; None where it reports nothing.

    `program` is its name or the words of the command from its name on. `runs` is how often the
    command names it; without, several closing lines count as runs only where each has a beginning
    of its own. `is_cut` says that lines are missing: left out by the host, by tail, head or grep.
    """
    name = _name(program)
    is_cut = is_cut or len(output) > MOST_TEXT
    rows = [row for row in REPORTERS if name in row.programs.split()]
    if not rows and name not in SCRIPTS:
        return None
    text = plain(output)
    if name in SCRIPTS:
        return _of_script(name, text, is_cut)
    return next(filter(None, (_read(row, text, runs, is_cut) for row in rows)), None)


def agrees(program: str, summary: Summary, code: int | None) -> bool | None:
    """Return whether an exit code says what the summary says; None where it says nothing of tests.

    A contradiction is code 0 beside a failed test, a run that never closed or a doubt, and another
    code beside tests that all passed. None: no code, a time-out or a signal (124 and above), an
    interrupted run, another step of a build; also a doubt where the code is not 0, which is a
    failure by itself. That nothing was found or all was skipped is no contradiction.
    """
    names = (summary.program, _name(program))
    row = next((row for name in names for row in REPORTERS if name in row.programs.split()), None)
    is_failed = bool(summary.failed or summary.beside)
    if code is None or not 0 <= code < 256:
        return None
    if code == 0:
        return not (is_failed or summary.doubt)
    if code == summary.failed and row is not None and row.counts_in_code:
        return True
    if code >= 124 or summary.doubt:
        return None
    meaning = row.codes.get(code, "") if row is not None else ""
    if meaning == "none":
        return not (summary.passed or summary.failed)
    if is_failed or summary.found_none:
        return True
    is_open = summary.is_partial or meaning in ("interrupted", "usage")
    return None if is_open or row is None or not row.only_tests or names[1] in SCRIPTS else False


def _name(program: str) -> str:
    words = program.split(maxsplit=1)
    name = re.split(r"[/\\]", words[0])[-1].lower() if words else ""
    return re.sub(r"\.(?:exe|cmd|bat|ps1)$", "", name)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("%d", "[0-9]{1,9}"), re.MULTILINE | re.ASCII)


def _of_script(name: str, text: str, is_cut: bool) -> Summary | None:
    """Return what the test runners report that a script ran: the one, or all of them added.

    A script may run one several times: a doubt is no reason against it, but there is no count then.
    """
    found: list[Summary] = []
    for row in REPORTERS:
        if row.unit == "tests" and not (found and row.reads):
            one = _read(row, text, None, is_cut)
            if one is not None and one.doubt:
                if _has_failed(row, text):
                    return Summary(name, beside=f"a run of {one.program} failed")
                return None
            if one is not None and not any(one.program == other.program for other in found):
                found.append(one)
    if len(found) < 2:
        return found[0] if found else None
    return Summary(
        name,
        passed=sum(one.passed for one in found),
        failed=sum(one.failed for one in found),
        skipped=sum(one.skipped for one in found),
        deselected=sum(one.deselected for one in found),
        found_none=all(one.found_none for one in found),
        beside=next((one.beside for one in found if one.beside), ""),
        is_partial=is_cut,
    )


def _read(row: Reporter, text: str, runs: int | None, is_cut: bool) -> Summary | None:
    if row.reads is not None:
        return row.reads(text, is_cut)
    program = row.programs.split()[0]
    closed = list(closings(_compiled(row.closes), text)) if row.closes else []
    opened = [found.start() for found in _starts(row.opens, text)]
    nothing = [found.start() for found in _starts(row.none, text)]
    if _is_doubtful(row, opened, [run.begin for run in closed], runs, is_cut):
        return Summary(program, doubt=f"more lines close a run of {program} than runs began")
    each = list(_starts(row.each, text)) if closed or row.unit == "problems" else []
    beside = next((words for line, words in row.beside if _compiled(line).search(text)), "")
    last_end = max([run.begin for run in closed] + nothing, default=-1)
    if opened and opened[-1] > last_end and not is_cut:
        beside = f"a run of {program} began that never closed"
    if not (closed or nothing or each or beside):
        return None
    if not (closed or nothing or each) and not opened:
        return None
    total = {
        field: sum(run.counts.get(field, 0) for run in closed)
        for field in ("passed", "failed", "skipped", "deselected", "broken")
    }
    for found in each:
        groups = found.groupdict()
        field = "failed" if "failed" in groups else "skipped"
        number = groups.get("failed") or ""
        count = int(number) if number.isdecimal() else 1
        total[field] += count
        if not groups.get("outside"):
            total["passed"] = max(0, total["passed"] - count)
    if total["broken"] and not total["failed"]:
        beside = beside or "a test file failed"
    is_partial = is_cut and row.closes_often
    counted = total["passed"] + total["failed"] + total["skipped"]
    if row.unit == "problems":
        found_none = bool(nothing)
    else:
        found_none = not counted and not beside and not is_partial
    return Summary(
        program,
        passed=total["passed"],
        failed=total["failed"],
        skipped=total["skipped"],
        deselected=total["deselected"],
        found_none=found_none,
        unit=row.unit,
        beside=beside,
        is_partial=is_partial,
    )


def _has_failed(row: Reporter, text: str) -> bool:
    """Return whether one of the lines that close a run counts tests that failed."""
    return any(run.counts.get("failed") for run in closings(_compiled(row.closes), text))


def _starts(pattern: str, text: str) -> list[re.Match[str]]:
    return list(_compiled(pattern).finditer(text)) if pattern else []


def _is_doubtful(
    row: Reporter, opened: list[int], closed: list[int], runs: int | None, is_cut: bool
) -> bool:
    """Return whether there are more closing lines than runs: some of them were only printed."""
    if runs is not None and not row.closes_often:
        return len(closed) > runs
    if not row.opens or not opened:
        return len(closed) > 1 and not row.closes_often
    may_close = is_cut  # the beginning of the first run may be missing
    for _, is_closing in sorted([(at, False) for at in opened] + [(at, True) for at in closed]):
        if is_closing and not may_close:
            return True
        may_close = not is_closing
    return False


# Commands that did not run: a program, a script, a target or a folder of theirs is not there. What
# a line names has to stand in the command, and what counted tests did run.

_ABSENT_CODES = {
    126: "its program cannot be run (exit 126)",
    127: "its program is not there (exit 127)",
}
_CD = re.compile(r"\b(?:cd|pushd)\b")


class _Line(NamedTuple):
    """A line that a program prints in place of what it was to do. `name` is what is not there."""

    what: str
    pattern: str


_FOLDER = "the folder that it names"
_PROGRAM = "its program"
_TARGET = "its script or target"
_FILE = "a file that it names"
_ABSENCES = (
    _Line(_FOLDER, r"(?:.{0,80}: )?cd: (?P<name>.+): (?:No such|Not a dir|Permission).*"),
    _Line(_FOLDER, r"(?:.{0,80}: )?cd: (?:can't cd to|no such file or directory:) (?P<name>.+)"),
    _Line(_FOLDER, r"g?make: \*\*\* (?P<name>.+): No such file or directory\.  Stop\."),
    _Line(_TARGET, r"g?make: \*\*\* No rule to make target [`'](?P<name>.+)'\.  Stop\."),
    _Line(_TARGET, r"g?make: \*\*\* No targets specified and no makefile found\.  Stop\."),
    _Line(_TARGET, r"npm (?:ERR!|error) [Mm]issing script: \"?(?P<name>[^\"]+)\"?"),
    _Line(_TARGET, r"npm (?:ERR!|error) (?:enoent )?Could not read package\.json.*"),
    _Line(_TARGET, r"error Command \"(?P<name>.+)\" not found\."),
    _Line(_TARGET, r"Usage Error: Couldn't find a script named \"(?P<name>.+)\"\."),
    _Line(_TARGET, r".{0,3}ERR_PNPM_NO_SCRIPT.{0,3}Missing script: (?P<name>.+)"),
    _Line(_TARGET, r".{0,3}ERR_PNPM_NO_IMPORTER_MANIFEST_FOUND.*"),
    _Line(_TARGET, r"error: Script not found \"(?P<name>.+)\""),
    _Line(_TARGET, r"error: [Jj]ustfile does not contain recipe [`'](?P<name>.+)[`'].*"),
    _Line(_TARGET, r"error: No justfile found.*"),
    _Line(_TARGET, r"task: Task \"(?P<name>.+)\" does not exist"),
    _Line(_TARGET, r"Don't know how to build task '(?P<name>.+?)'.*"),
    _Line(_TARGET, r"Task '(?P<name>.+?)' not found in .*"),
    _Line(_TARGET, r"error: Task not found: (?P<name>.+)"),
    _Line(_TARGET, r" *Command \"(?P<name>.+)\" is not defined\. *"),
    _Line(_TARGET, r"\[ERROR\] .*there is no POM in this directory.*"),
    _Line(_TARGET, r"error: could not find `Cargo\.toml` in .*"),
    _Line(_PROGRAM, r"error: no such command: `(?P<name>.+)`"),
    _Line(_PROGRAM, r".{0,200}python[0-9.]{0,6}(?:\.exe)?: No module named '?(?P<name>[\w.]+)'?"),
    _Line(_PROGRAM, r"error: Failed to spawn: `(?P<name>.+)`"),
    _Line(_PROGRAM, r"Command not found: (?P<name>.+)"),
    _Line(_PROGRAM, r"npm (?:ERR!|error) could not determine executable to run"),
    _Line(_PROGRAM, r"g?make: \*\*\* \[.*\] Error 12[67]"),
    _Line(_FILE, r"ERROR: file or directory not found: (?P<name>.+)"),
)
_ABSENT = [(one.what, re.compile(f"^{one.pattern}$", re.MULTILINE)) for one in _ABSENCES]


def absence(
    text: str, code: int | None, output: str, tests: Mapping[str, Summary], *, is_cut: bool
) -> str:
    """Say why what a command names did not run; "" where it may have. `tests`: its summaries."""
    if not code or any(one.failed for one in tests.values()):
        return ""
    if code in _ABSENT_CODES:
        return _ABSENT_CODES[code]
    lines = plain(output)
    for what, pattern in _ABSENT:
        for found in pattern.finditer(lines):
            name = found.groupdict().get("name", "").strip()
            if not name or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
                return f"{what} is not there"
    if code == 1 and not tests and not is_cut and not lines.strip() and _CD.search(text):
        return "exit 1 may be that of cd: nothing was printed"
    return ""
