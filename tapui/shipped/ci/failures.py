"""What failed in a run: the cases of its JUnit reports, and the lines of its log.

Everyone who may push a branch can write both: archives and XML are bounded before they are read.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from tapui.shipped.ci.runs import CiArtifact, CiStep
from tapui.shipped.web.outside import line, plain

MOST_CASES = 50
MOST_LINES = 200
"""Of a log, around its first error."""
_MOST_FILES = 200
_MOST_XML = 5 * 1024 * 1024
_MOST_UNPACKED = 20 * 1024 * 1024
_MOST_DETAILS = 2_000
_MOST_DEPTH = 8
_REPORTS = re.compile(r"junit|surefire|failsafe|test|report|result", re.IGNORECASE)
_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?Z ?")
_ERROR = re.compile(
    r"##\[error\]|error\b|\bfail(?:ed|ure|ures)?\b|exception\b|\btraceback\b|\bpanic\b",
    re.IGNORECASE,
)
_END = "##[error]"


class FailedCase(Struct, frozen=True, omit_defaults=True):
    """A case that failed, or that could not run. Texts are from outside, bounded."""

    suite: str
    name: str
    classname: str = ""
    file: str = ""
    line: int | None = None
    message: str = ""
    type: str = ""
    details: str = ""

    @property
    def place(self) -> str:
        """Where it is: its file, else its class."""
        return self.file or self.classname or self.suite or self.name


def reports(artifacts: Iterable[CiArtifact], most: int) -> list[CiArtifact]:
    """Return the artifacts that may have JUnit reports, by their names, of at most `most` bytes."""
    return [one for one in artifacts if _REPORTS.search(one.name) and one.size <= most][:5]


def failed_cases(archive: bytes) -> list[FailedCase]:
    """Return the failed cases of the JUnit reports in a zip. What is no report is passed over."""
    found: list[FailedCase] = []
    left = _MOST_UNPACKED
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as files:
            listed = [one for one in files.infolist() if one.filename.endswith(".xml")]
            for one in listed[:_MOST_FILES]:
                with files.open(one) as file:
                    data = file.read(min(_MOST_XML, left) + 1)
                left -= len(data)
                if left < 0:
                    break
                if len(data) <= _MOST_XML:
                    found += cases_of(data)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, OSError, NotImplementedError, EOFError):
        return found  # damaged, encrypted, or packed in another way
    return found[:MOST_CASES]


def cases_of(data: bytes) -> list[FailedCase]:
    """Return the failed cases of one report; none where it is no JUnit, or has a DTD."""
    from xml.etree.ElementTree import ParseError

    import defusedxml.ElementTree
    from defusedxml.common import DefusedXmlException
    from junitparser import JUnitXml, JUnitXmlError, TestSuite

    try:
        root = defusedxml.ElementTree.fromstring(data, forbid_dtd=True)
        report: Any = JUnitXml.fromroot(root)
    except (ParseError, DefusedXmlException, JUnitXmlError, ValueError, LookupError):
        return []
    suites = [report] if isinstance(report, TestSuite) else list(report)
    found = [case for suite in suites for case in _cases(suite, "", _MOST_DEPTH)]
    return found[:MOST_CASES]


def _cases(suite: Any, above: str, depth: int) -> Iterator[FailedCase]:
    from junitparser import Error, Failure, TestCase, TestSuite

    name = line(suite.name or above)
    for case in suite.iterchildren(TestCase):
        for result in (*case.iterchildren(Failure), *case.iterchildren(Error)):
            yield _case(name, suite, case, result)
            break  # one of a case is enough
    if depth:
        for inner in suite.iterchildren(TestSuite):
            yield from _cases(inner, name, depth - 1)


def _case(suite_name: str, suite: Any, case: Any, result: Any) -> FailedCase:
    given = case._elem.attrib  # noqa: SLF001 - the library has no accessor for `file` and `line`
    number = given.get("line", "")
    return FailedCase(
        suite=suite_name,
        name=line(case.name or ""),
        classname=line(case.classname or ""),
        file=line(given.get("file") or suite._elem.attrib.get("file") or ""),  # noqa: SLF001 - likewise
        line=int(number[:9]) if number.isascii() and number.isdigit() else None,
        message=line(result.message or "", 500),
        type=line(result.type or ""),
        details=plain(result.text or "", _MOST_DETAILS),
    )


def step_log(log: str, step: CiStep | None) -> list[str]:
    """Return the lines of one step of a job's log, up to its last error; all of them without a
    step. Times in front are left out: by them a step's lines are known."""
    begin, end = (step.started_at[:19], step.ended_at[:19]) if step is not None else ("", "")
    found: list[str] = []
    last, at = -1, ""
    for text in log.splitlines():
        stamp = _STAMP.match(text)
        at = stamp[1] if stamp is not None else at
        if (begin and at < begin) or (end and at > end):
            continue
        found.append(text if stamp is None else text[stamp.end() :])
        if found[-1].startswith(_END):
            last = len(found)
    return found[:last] if last > 0 else found


def around_error(lines: list[str], most: int = MOST_LINES) -> list[str]:
    """Return at most `most` lines around the first that has an error; the last ones without."""
    first = next((at for at, text in enumerate(lines) if _ERROR.search(text)), None)
    if first is None:
        return lines[-most:]
    begin = max(0, min(first - most // 4, len(lines) - most))
    return lines[begin : begin + most]
