"""Counts in the output of a test runner: closing lines, and results that only stand one by one.

An output is hostile: tests print what they like, also lines that look like a summary. A closing
line in the place where the runner prints it cannot be told from a printed one; two of them where
one run ends can be seen, and then no count is believed (`Summary.doubt`). Patterns begin with a
line, and a line has at most `_LONGEST_LINE` characters, so that a long text takes long, no more.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

MOST_TEXT = 65_536
"""Characters of an output that are read, from its end: more than a host keeps of one."""
_LONGEST_LINE = 1_000
_ESCAPES = re.compile(
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b\][^\x07\x1b\n]{0,400}(?:\x07|\x1b\\)"
    r"|\x1b[()][0-9A-B]|\x1b[=>cM78]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class Summary(NamedTuple):
    """What the reporters in one output say, all runs added.

    With a `doubt` all numbers are 0: a wrong count is worse than none.
    """

    program: str
    passed: int = 0
    failed: int = 0
    """Tests that failed, broke, timed out or were cancelled; errors of a linter."""
    skipped: int = 0
    """Skipped, pending, to do, expected to fail: they prove nothing."""
    deselected: int = 0
    is_cached: bool = False
    """Whether results of an earlier run stand for this one."""
    found_none: bool = False
    """Whether the reporter ran and found no test, or no file to look at."""
    unit: str = "tests"
    """What is counted: `packages` of a plain `go test`, `problems` of a linter."""
    beside: str = ""
    """What failed beside tests: `coverage too low`."""
    doubt: str = ""
    """Why the output is not to be believed."""
    is_partial: bool = False
    """Whether the output lacks parts that may have more: the counts are at least these."""

    @property
    def is_all_skipped(self) -> bool:
        return self.skipped > 0 and not (self.passed or self.failed or self.beside)


class Closing(NamedTuple):
    """The lines with which a run closes: where they stand, and their counts."""

    begin: int
    counts: Mapping[str, int]


_WORDS = {
    "passed": "passed passing pass succeeded xpassed measured tests_passed test_passed",
    "failed": """failed failing fail failures failure errors error cancelled timed_out exec_failed
        unexpected_successes subtests_failed errors_occurred_outside_of_examples
        error_occurred_outside_of_examples tests_failed test_failed""",
    "skipped": """skipped skip skips pending pendings todo ignored xfailed expected_failures
        incomplete omissions tests_skipped test_skipped tests_todo test_todo""",
    "deselected": "deselected filtered_out",
    "total": "total tests_run tests test examples example runs specs spec",
}
"""The words of the reporters. Warnings, assertions, reruns, slow or leaky tests count nothing."""
_FIELD_OF = {
    word.replace("_", " "): field for field, words in _WORDS.items() for word in words.split()
}
_WORD = "|".join(sorted(_FIELD_OF, key=len, reverse=True))
_NUMBER_FIRST = re.compile(rf"\b([0-9]{{1,9}}) {{1,9}}({_WORD})\b", re.IGNORECASE | re.ASCII)
_WORD_FIRST = re.compile(rf"\b({_WORD})[=: ] {{0,9}}([0-9]{{1,9}})\b", re.IGNORECASE | re.ASCII)


def plain(output: str) -> str:
    """Return the lines of an output without colours; one that is too long for a summary is empty.

    A carriage return begins a line: what a terminal would overwrite is still seen, as another one.
    Another control character stays as a sign that no pattern knows: a terminal might show another
    number than the one in the text.
    """
    text = _ESCAPES.sub("", output[-MOST_TEXT:])
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(
        "" if len(line) > _LONGEST_LINE else _CONTROLS.sub("\ufffd", line.rstrip(" "))
        for line in lines
    )


def closings(pattern: re.Pattern[str], text: str) -> Iterator[Closing]:
    """Yield what closes a run, with the counts in its groups."""
    for found in pattern.finditer(text):
        counts: dict[str, int] = {}
        groups = found.groupdict()
        for number, word in _NUMBER_FIRST.findall(groups.pop("before", "") or ""):
            field = _FIELD_OF[word.lower()]
            counts[field] = counts.get(field, 0) + int(number)
        for word, number in _WORD_FIRST.findall(groups.pop("after", "") or ""):
            field = _FIELD_OF[word.lower()]
            counts[field] = counts.get(field, 0) + int(number)
        for field, number in groups.items():
            if number and number.isdecimal():  # `failed_` is `failed` in another form of the line
                counts[field.rstrip("_")] = int(number)
        failed, skipped = counts.get("failed", 0), counts.get("skipped", 0)
        if "passed" not in counts:
            counts["passed"] = max(0, counts.get("total", 0) - failed - skipped)
        yield Closing(found.start(), counts)


_GO_PACKAGE = re.compile(
    r"^(ok  |FAIL|\?   )\t[^\t\n]+(?:\t([^\t\n]{1,60}))?(?:\t[^\n]*)?$", re.MULTILINE
)
_GO_RESULT = re.compile(
    r"^ {0,40}(=== RUN  |--- PASS:|--- FAIL:|--- SKIP:) ([^ \n]+)", re.MULTILINE
)
_GO_ACTIONS = {"=== RUN  ": "run", "--- PASS:": "pass", "--- FAIL:": "fail", "--- SKIP:": "skip"}


def go(text: str, is_cut: bool) -> Summary | None:
    """Return the results of `go test`: JSON events, else tests with their `=== RUN`, else packages.

    A result of a test that never began was printed. In JSON what tests print is within a text.
    """
    packages = [(state.strip(), note) for state, note in _GO_PACKAGE.findall(text)]
    events = [event for line in text.split("\n") if (event := _go_event(line))]
    if events:
        results = [(str(event["Action"]), str(event.get("Test", ""))) for event in events]
        packages += [
            ("", "(cached)")
            for event in events
            if str(event.get("Output", "")).endswith("\t(cached)\n")
        ]
        packages += [
            ("FAIL" if action == "fail" else "ok", "")
            for action, test in results
            if action in ("pass", "fail", "skip") and not test
        ]
    else:
        results = [(_GO_ACTIONS[sign], test) for sign, test in _GO_RESULT.findall(text)]
    began = Counter(test for action, test in results if action == "run")
    if not began and not events:
        return _go_packages(packages, is_cut)
    ended = [one for one in results if one[0] in ("pass", "fail", "skip") and one[1] in began]
    if Counter(test for _, test in ended) - began:
        return Summary("go", doubt="it has more results than tests that began")
    passed, failed, skipped = (
        sum(action == end for action, _ in ended) for end in ("pass", "fail", "skip")
    )
    broken = any(state == "FAIL" for state, _ in packages) or not (packages or is_cut)
    return Summary(
        "go",
        passed=passed,
        failed=failed,
        skipped=skipped,
        is_cached=any(note.startswith("(cached)") for _, note in packages),
        found_none=not (passed or failed or skipped or broken or is_cut),
        beside="a package failed or ended beside its tests" if broken and not failed else "",
        is_partial=is_cut,
    )


def _go_event(line: str) -> dict[str, object] | None:
    if not (line.startswith("{") and line.endswith("}") and '"Action":"' in line):
        return None
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_event = "Action" in event and ("Time" in event or "ImportPath" in event)
    return event if is_event else None


def _go_packages(packages: list[tuple[str, str]], is_cut: bool) -> Summary | None:
    """Return the packages of a plain run, without those in which no test ran."""
    ran = [
        (state, note)
        for state, note in packages
        if state != "?" and "[no tests to run]" not in note
    ]
    states = [state for state, _ in ran]
    return (
        Summary(
            "go",
            passed=states.count("ok"),
            failed=states.count("FAIL"),
            is_cached=any(note.startswith("(cached)") for _, note in ran),
            found_none=not ran and not is_cut,
            unit="packages",
            is_partial=is_cut,
        )
        if packages
        else None
    )


_GRADLE_TOTAL = re.compile(
    r"^(?P<total>[0-9]{1,9}) tests? completed(?:, (?P<failed>[0-9]{1,9}) failed)?"
    r"(?:, (?P<skipped>[0-9]{1,9}) skipped)?$",
    re.MULTILINE,
)
_GRADLE_RESULT = re.compile(r"^[^\n>]+ > [^\n]+ (PASSED|FAILED|SKIPPED)$", re.MULTILINE)
_GRADLE_TASK = re.compile(
    r"^(?:> Task )?((?::[\w.-]+)*:(?:test|\w+Tests?))"
    r"(?: (UP-TO-DATE|FROM-CACHE|NO-SOURCE|SKIPPED|FAILED))?$",
    re.MULTILINE,
)
_GRADLE_NONE = re.compile(r"^> No tests found for given includes: ", re.MULTILINE)


def gradle(text: str, is_cut: bool) -> Summary | None:
    """Return the results of Gradle's test tasks.

    It counts only where tests failed or were skipped; else results are seen where the build logs
    them. Without any, cached tasks and those without sources are what is known.
    """
    logged = [state for (state,) in map(re.Match.groups, _GRADLE_RESULT.finditer(text))]
    counted = [closing.counts for closing in closings(_GRADLE_TOTAL, text)]
    tasks = dict(_GRADLE_TASK.findall(text))
    cached = [state for state in tasks.values() if state in ("UP-TO-DATE", "FROM-CACHE")]
    empty = [state for state in tasks.values() if state in ("NO-SOURCE", "SKIPPED")]
    none = _GRADLE_NONE.search(text) is not None or (bool(tasks) and len(empty) == len(tasks))
    if not (counted or logged or cached or none):
        return None
    logs = {state: logged.count(state) for state in ("PASSED", "FAILED", "SKIPPED")}
    failed = max(logs["FAILED"], sum(counts.get("failed", 0) for counts in counted))
    skipped = max(logs["SKIPPED"], sum(counts.get("skipped", 0) for counts in counted))
    return Summary(
        "gradle",
        passed=max(logs["PASSED"], sum(counts["passed"] for counts in counted)),
        failed=failed,
        skipped=skipped,
        is_cached=bool(cached),
        found_none=none and not (logged or counted or cached or is_cut),
        is_partial=is_cut,
    )


_TAP_PLAN = re.compile(r"^1\.\.([0-9]{1,9})(?: *#.*)?$", re.MULTILINE)
_TAP_RESULT = re.compile(r"^(ok|not ok)\b(?: [^\n#]*)?(?:# *((?i:SKIP|TODO))\b)?", re.MULTILINE)
_TAP_BAIL = re.compile(r"^Bail out!", re.MULTILINE)


def tap(text: str, is_cut: bool) -> Summary | None:
    """Return the results of the Test Anything Protocol, top level only, held against its plan."""
    results = [(state, directive.upper()) for state, directive in _TAP_RESULT.findall(text)]
    plans = [int(plan) for plan in _TAP_PLAN.findall(text)]
    if not plans or (is_cut and not results):
        return None
    planned, skipped = sum(plans), sum(bool(directive) for _, directive in results)
    failed = results.count(("not ok", ""))
    if len(results) > planned:
        return Summary("tap", doubt="it has more results than planned tests")
    is_whole = len(results) == planned or is_cut
    return Summary(
        "tap",
        passed=results.count(("ok", "")),
        failed=failed,
        skipped=skipped,
        found_none=not planned,
        beside="" if is_whole and not _TAP_BAIL.search(text) else "fewer tests ran than planned",
        is_partial=is_cut,
    )
