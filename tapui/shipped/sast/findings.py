"""The findings of a folder: its SARIF files found, read when they change, and put together.

Two scanners that find one weakness in one place have one finding: the same CWE, line, and function
or sink where both name one.
"""

import fnmatch
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from tapui.files.foreign_file import open_within, read_up_to, reason
from tapui.shipped.sast.sarif_log import (
    MAX_BYTES,
    CodeFiles,
    SarifFault,
    SarifLog,
    ScannerFinding,
    Suppression,
)
from tapui.shipped.sast.triage import DRIVER, Triage, TriageDecision
from tapui.text import safe_text

PATTERNS = ("**/*.sarif",)
MAX_FILES = 100
MAX_FINDINGS = 50_000
MAX_ENTRIES = 200_000
"""Files and folders that a look for logs passes."""
LOOK_SECONDS = 5.0
"""A look takes no longer."""
_PASSED = frozenset(
    {".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".nox",
     ".mypy_cache", ".ruff_cache", ".pytest_cache", "site-packages"}
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
OPEN = ("open", "accepted")
"""What is to be worked on."""
STATES = ("open", "accepted", "underReview", "rejected", "suppressed")


class TriagedFinding(NamedTuple):
    """A finding, and how it stands: what was decided, else `suppressed` by its scanner or its
    source, else `open`."""

    finding: ScannerFinding
    state: str
    decision: TriageDecision | None

    @property
    def suppressions(self) -> list[Suppression]:
        own = self.decision.suppressions if self.decision is not None else []
        return self.finding.suppressions + own


class _KnownLog(NamedTuple):
    key: tuple[int, int, int]
    findings: list[ScannerFinding]
    tools: list[str]
    told: str
    """What was left out of it; "" for nothing."""


class FolderFindings:
    """The findings of one folder. Safe to use from any thread; not on a loop: files are read."""

    def __init__(
        self,
        folder: str,
        state: Path,
        patterns: Sequence[str] = PATTERNS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder = os.path.realpath(folder)
        self.triage = Triage(state, self.folder, clock)
        self.faults: dict[str, str] = {}
        """What is wrong, by the file."""
        self._patterns = [one.replace("**/", "*") for one in patterns]
        self._own = self.triage.path.parent / "reports"
        self._clock = clock
        self._lock = threading.RLock()
        self._logs: dict[str, _KnownLog] = {}
        self._files: list[str] = []
        self._next_walk = float("-inf")
        self._merged: list[ScannerFinding] = []
        self._ids: dict[str, str] = {}
        self._baseline: dict[str, ScannerFinding] | None = None

    # Reading

    def look(self, *, walks: bool = True) -> bool:
        """Read what has changed; with `walks`, find logs that are new, too. Return whether what is
        known of findings has changed."""
        with self._lock:
            began = time.monotonic()
            if walks and began >= self._next_walk:
                self._files = list(self._walk())
                # A twentieth of the time at most, however large the folder is.
                self._next_walk = began + 20 * (time.monotonic() - began)
            return self._read()

    def _read(self) -> bool:
        is_changed = False
        code = CodeFiles(self.folder)
        own = [str(one) for one in sorted(self._own.glob("*.sarif"))[:MAX_FILES]]
        files = dict.fromkeys((*self._files, *own))
        self.faults = {name: text for name, text in self.faults.items() if name in files}
        for name in [one for one in self._logs if one not in files]:
            del self._logs[name]
            is_changed = True
        for name in files:
            known = self._logs.get(name)
            try:
                log = self._read_one(name, known.key if known else None, code)
            except FileNotFoundError:
                is_changed = self._logs.pop(name, None) is not None or is_changed
                self.faults.pop(name, None)
            except (OSError, SarifFault) as error:
                # What it had before stays until it can be read: a scanner may be writing it.
                fault = str(error) if isinstance(error, SarifFault) else reason(error)
                self.faults[name] = fault
            else:
                if log is not None:
                    self._logs[name] = log
                    self.faults.pop(name, None)
                    if log.told:
                        self.faults[name] = log.told
                    is_changed = True
        if is_changed:
            self._put_together()
        return is_changed

    def _read_one(
        self, name: str, key: tuple[int, int, int] | None, code: CodeFiles
    ) -> _KnownLog | None:
        """Return a log, None where it is as it was. Raises `OSError` and `SarifFault`."""
        base = str(self._own) if name.startswith("/") else self.folder
        fd, info = open_within(os.path.realpath(base), name)
        try:
            found = (info.st_mtime_ns, info.st_size, info.st_ino)
            if found == key:
                return None
            if info.st_size > MAX_BYTES:
                size = info.st_size / 2**20
                raise SarifFault(
                    f"it has {size:,.0f} MiB, and at most {MAX_BYTES // 2**20} are read"
                )
            log = SarifLog(read_up_to(fd, MAX_BYTES + 1), name, code)
        finally:
            os.close(fd)
        if DRIVER in log.tools:
            return _KnownLog(found, [], log.tools, "")
        findings = log.findings()
        told = [f"{log.damaged:,} results are damaged"] if log.damaged else []
        told += [f"{log.left_out:,} results are too many"] if log.left_out else []
        return _KnownLog(found, findings, log.tools, ", ".join(told))

    def _walk(self) -> Iterator[str]:
        """Yield the logs below the folder, by their paths in it; no link is followed."""
        end, left, found = time.monotonic() + LOOK_SECONDS, MAX_ENTRIES, 0
        waiting = [""]
        while waiting:
            inner = waiting.pop()
            try:
                with os.scandir(f"{self.folder}/{inner}") as listed:
                    entries = sorted(islice(listed, left), key=lambda one: one.name)
            except OSError:
                continue  # it may not be read, or has gone
            for entry in entries:
                left -= 1
                if left < 0 or found >= MAX_FILES or time.monotonic() > end:
                    return
                path = f"{inner}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _PASSED:
                        waiting.append(f"{path}/")
                elif any(fnmatch.fnmatchcase(path, one) for one in self._patterns):
                    found += 1
                    yield path

    def keep(self, name: str, data: bytes) -> int:
        """Keep a log that came from elsewhere; return how many findings it has.

        Raises `SarifFault` and `OSError`.
        """
        from tapui.files import private_file
        from tapui.files.locked_folder import locked

        count = len(SarifLog(data, name, CodeFiles(self.folder)).findings())
        parent = self._own.parent
        private_file.private_folder(parent.parent, parent.name, self._own.name)
        with locked(self._own) as fd:
            private_file.write(fd, f"{name}.sarif", data)
        return count

    # Putting together

    def _put_together(self) -> None:
        by_id: dict[str, ScannerFinding] = {}
        for known in sorted(self._logs.values(), key=lambda one: one.key[0]):
            by_id.update((one.id, one) for one in known.findings)
        ranked = sorted(by_id.values(), key=lambda one: one.rank)[:MAX_FINDINGS]
        self._ids = {one.id: one.id for one in ranked}
        places: dict[tuple[str, str, int], list[int]] = {}
        merged: list[ScannerFinding] = []
        for finding in ranked:
            keys = [
                (cwe, finding.location.path, finding.location.line)
                for cwe in finding.cwe
                if finding.location.line
            ]
            at = next(
                (n for key in keys for n in places.get(key, ()) if _fits(merged[n], finding)), None
            )
            if at is None:
                for key in keys:
                    places.setdefault(key, []).append(len(merged))
                merged.append(finding)
            else:
                first = merged[at]
                also = [*first.also_found_by, f"{finding.tool} {finding.rule_id}"]
                merged[at] = replace(first, also_found_by=list(dict.fromkeys(also))[:20])
                self._ids[finding.id] = first.id
        self._merged = merged

    # Asking

    def code(self) -> CodeFiles:
        """Return the source files as they are now."""
        return CodeFiles(self.folder)

    @property
    def logs(self) -> list[str]:
        """The logs that were read, without those of tapui's own."""
        return [name for name, known in self._logs.items() if DRIVER not in known.tools]

    def is_reported(self, finding_id: str) -> bool:
        """Return whether a log has a finding, by its own id or another scanner's for the same."""
        return finding_id in self._ids

    def all(self) -> list[TriagedFinding]:
        """Return the findings, the worst first, as they stand now. Raises `TriageFault`."""
        with self._lock:
            decisions = self._decisions()
            return [self._triaged(one, decisions) for one in self._against_baseline()]

    def get(self, finding_id: str) -> TriagedFinding | None:
        """Return one, also by the id of another scanner's for the same. Raises `TriageFault`."""
        with self._lock:
            wanted = self._ids.get(finding_id, finding_id)
            found = next((one for one in self._against_baseline() if one.id == wanted), None)
            return None if found is None else self._triaged(found, self._decisions())

    def detail(self, finding: ScannerFinding) -> dict[str, Any]:
        """Return help and code flow; nothing where its log has gone or changed."""
        source = finding.source
        if source is None:
            return {}
        base = str(self._own) if source.file.startswith("/") else self.folder
        try:
            fd, _ = open_within(os.path.realpath(base), source.file)
            try:
                data = read_up_to(fd, MAX_BYTES + 1)
            finally:
                os.close(fd)
            return SarifLog(data, source.file, CodeFiles(self.folder)).detail(source)
        except (OSError, SarifFault):
            return {}

    def set_baseline(self, file: str) -> dict[str, int]:
        """Compare with a log of the folder from now on; return how many are new, unchanged, updated
        and absent. Raises `OSError` and `SarifFault`."""
        with self._lock:
            known = self._read_one(file, None, CodeFiles(self.folder))
            assert known is not None, "no key was given"
            self._baseline = {one.id: one for one in known.findings}
            counts = dict.fromkeys(("new", "unchanged", "updated", "absent"), 0)
            for one in self._against_baseline():
                counts[one.baseline_state or "new"] += 1
            return counts

    def _against_baseline(self) -> list[ScannerFinding]:
        if self._baseline is None:
            return self._merged
        found = []
        for finding in self._merged:
            former = self._baseline.get(finding.id)
            if former is None:
                state = "new"
            elif (former.location, former.message) == (finding.location, finding.message):
                state = "unchanged"
            else:
                state = "updated"
            found.append(replace(finding, baseline_state=state))
        gone = [one for id_, one in self._baseline.items() if id_ not in self._ids]
        return found + [replace(one, baseline_state="absent") for one in gone]

    def _decisions(self) -> dict[str, TriageDecision]:
        """Return what holds now, by the id of the finding that stands for others."""
        now, code = self._clock(), CodeFiles(self.folder)
        held = [one for one in self.triage.decisions().values() if one.holds(code, now)]
        return {self._ids.get(one.id, one.id): one for one in held}

    @staticmethod
    def _triaged(finding: ScannerFinding, decisions: dict[str, TriageDecision]) -> TriagedFinding:
        decision = decisions.get(finding.id)
        if decision is not None:
            return TriagedFinding(finding, decision.status, decision)
        # SARIF 3.27.23: it is suppressed where it has suppressions, and all of them are accepted.
        given = finding.suppressions
        is_suppressed = bool(given) and all(one.status == "accepted" for one in given)
        return TriagedFinding(finding, "suppressed" if is_suppressed else "open", None)


def _fits(one: ScannerFinding, other: ScannerFinding) -> bool:
    """Return whether two of one weakness and line are in one function, and reach one sink."""
    pairs = ((one.function, other.function), (one.sink, other.sink))
    return all(a == b or not a or not b for a, b in pairs)


def filtered(
    found: Iterable[TriagedFinding],
    *,
    status: str | None = None,
    level: str | None = None,
    rule: str | None = None,
    path: str | None = None,
    baseline: str | None = None,
) -> list[TriagedFinding]:
    """Return those that match all that is given; without a status, those to be worked on. `path` is
    a file, a folder, or a pattern."""
    states = OPEN if status is None else STATES if status == "all" else (status,)
    return [
        one
        for one in found
        if one.state in states
        and (level is None or one.finding.level == level)
        and (rule is None or rule in (one.finding.rule_id, *one.finding.cwe))
        and (path is None or _is_below(one.finding.location.path, path))
        and (
            one.finding.baseline_state == baseline
            if baseline is not None
            else one.finding.baseline_state != "absent"
        )
    ]


def _is_below(path: str, given: str) -> bool:
    plain = given.removeprefix("./").rstrip("/")
    return path == plain or path.startswith(f"{plain}/") or fnmatch.fnmatchcase(path, plain)


def is_name(text: str) -> bool:
    """Return whether a log that came from elsewhere may have this name."""
    return bool(_NAME.match(text))


def faults_words(faults: dict[str, str]) -> str:
    """Return what is wrong with logs, on one line."""
    told = [f"{safe_text(name, limit=100)}: {text}" for name, text in faults.items()]
    more = f"; {len(told) - 3} more" if len(told) > 3 else ""
    return "; ".join(told[:3]) + more
