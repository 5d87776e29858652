"""The verdict of `.ci/run` on a run of pytest, from its JUnit report.

    python -m tests.rig.verdict REPORT STATUS

Each test that failed runs once alone, with nothing beside it. One that fails again is a fault. One
that passed in its second run, beside others or alone, is printed as `UNSTEADY`. More than `AT_MOST`
failures are red without a second run, as is a `STATUS` of pytest other than 0 or 1: it did not run
to its end.
"""

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.rig.machine_tests import FIRST_FAILURE, NOT_MARKED

AT_MOST = 20
"""Failures that run once more, alone."""


@dataclass
class Outcome:
    """What became of one test; it has several reports where it ran twice."""

    failed: bool = False
    skipped: str | None = None
    """Why, where it was skipped."""
    first_failure: str | None = None
    """The first line of its first failure."""
    is_marked: bool = True


@dataclass
class Verdict:
    """What the run was, after the second runs."""

    status: int
    outcomes: dict[str, Outcome]
    faults: dict[str, str] = field(default_factory=dict)
    """Node ids of tests that failed alone too, and the first lines of their failures."""
    unsteady: dict[str, str] = field(default_factory=dict)

    @property
    def is_green(self) -> bool:
        """Return whether nothing failed for good, and something ran."""
        passed = any(outcome.skipped is None for outcome in self.outcomes.values())
        return self.status in (0, 1) and passed and not self.faults

    def lines(self) -> list[str]:
        """Return what is printed last: faults, unsteady tests, skips, and the counts."""
        skips = Counter(o.skipped for o in self.outcomes.values() if o.skipped is not None)
        skipped, failed = sum(skips.values()), len(self.faults)
        passed = len(self.outcomes) - skipped - failed
        printed = [f"FAILED {name}: {line}" for name, line in self.faults.items()]
        printed += [f"UNSTEADY {line}" for line in self.unsteady.values()]
        printed += [f"skipped {count}: {reason}" for reason, count in sorted(skips.items())]
        if self.status not in (0, 1):
            printed.append(f"pytest ended with status {self.status}")
        colour = "green" if self.is_green else "red"
        counts = f"{passed} passed, {failed} failed, {skipped} skipped"
        return [*printed, f"{colour}: {counts}, {len(self.unsteady)} unsteady"]


def outcomes(report: Path) -> dict[str, Outcome]:
    """Read a JUnit report, by node id."""
    found: dict[str, Outcome] = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        outcome = found.setdefault(node_id(case), Outcome())
        for part in case:
            if part.tag in ("failure", "error"):
                outcome.failed = True
                # A worker that has died tells no properties.
                outcome.first_failure = outcome.first_failure or part.get("message", "")
            elif part.tag == "skipped":
                outcome.skipped = part.get("message", "")
        for value in case.iter("property"):
            if value.get("name") == FIRST_FAILURE:
                outcome.first_failure = value.get("value")
            elif value.get("name") == NOT_MARKED:
                outcome.is_marked = False
    return found


def node_id(case: ET.Element) -> str:
    """Return the node id of a test; the report has dots between folders, file and class."""
    names = [name for name in (case.get("classname"), case.get("name", "")) if name]
    folders = names[0].split(".")
    for length in range(len(folders), 0, -1):
        file = Path(*folders[:length]).with_suffix(".py")
        if file.is_file():
            return "::".join([file.as_posix(), *folders[length:], *names[1:]])
    return "::".join(names)


def alone(name: str) -> bool:
    """Run one test with nothing beside it; return whether it passed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        pytest = [sys.executable, "-m", "pytest", "--force-reruns=0", f"--junitxml={report}", name]
        status = subprocess.run(pytest, check=False).returncode
        return status == 0 and any(not o.failed for o in outcomes(report).values())


def judge(status: int, found: dict[str, Outcome], passes_alone: Callable[[str], bool]) -> Verdict:
    """Give what failed its second run, and the verdict."""
    verdict = Verdict(status, found)
    failed = [name for name, outcome in found.items() if outcome.failed]
    for name, outcome in found.items():
        line = outcome.first_failure or ""
        if not outcome.failed:
            if outcome.first_failure is not None:
                verdict.unsteady[name] = f"{name}: {line}"
        elif len(failed) > AT_MOST or status not in (0, 1) or not passes_alone(name):
            verdict.faults[name] = line
        else:
            verdict.unsteady[name] = f"{'' if outcome.is_marked else '(not marked) '}{name}: {line}"
    return verdict


def main() -> int:
    """Print the verdict; return 0 where it is green."""
    report, status = Path(sys.argv[1]), int(sys.argv[2])
    found = outcomes(report) if report.exists() else {}
    verdict = judge(status, found, alone)
    print(*verdict.lines(), sep="\n")
    return 0 if verdict.is_green else 1


if __name__ == "__main__":
    sys.exit(main())
