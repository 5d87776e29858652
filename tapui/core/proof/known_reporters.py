"""The test runners, linters and compilers that report in numbers: one row each.

In patterns, for whole lines of a plain output, `%d` is a number. Groups say what is counted:
`before` holds numbers before their words (`12 passed`), `after` behind (`passed: 12`), the others
are a field.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from tapui.core.proof.summaries import Summary, go, gradle, tap


class Reporter(NamedTuple):
    """A row. The rows of one program are asked in their order."""

    programs: str
    closes: str = ""
    """The lines that close a run."""
    opens: str = ""
    """A line that only the beginning of a run prints: two closings after it are one too many."""
    each: str = ""
    """One more test each, where the closing lines do not count them."""
    none: str = ""
    """Nothing was found."""
    beside: tuple[tuple[str, str], ...] = ()
    """Lines that explain an exit code beside failed tests, and what they mean."""
    reads: Callable[[str, bool], Summary | None] | None = None
    """Reads results that have no closing line."""
    codes: Mapping[int, str] = {}
    """Codes with a meaning of their own: `none` found, wrong `usage`, `interrupted`."""
    closes_often: bool = False
    """Whether one command closes several runs: packages, modules, test programs."""
    only_tests: bool = True
    """Whether any other code says that tests failed; a build can fail at another step."""
    counts_in_code: bool = False
    """Whether its code is the number of failed tests."""
    unit: str = "tests"


_PYTEST = r"(?P<before>%d (?!tests?\b)[a-z ]{1,40}(?:, %d [a-z ]{1,40}){0,12})"
"""`12 tests collected` is a list, no result."""
_NODE = "".join(
    rf"(?:^(?P=sign) {word} %d\n)?"
    for word in ("suites", "pass", "fail", "cancelled", "skipped", "todo")
)
_TITLES = r"(?:\n    .*){0,400}\n"
"""The tests that Playwright lists below a number."""
_NOTHING = r"(?:true|:|exit 0|echo [^&|;`$()\n]*)"
"""A script that checks nothing."""
_TARGET = r"[`'](?:[\w.-]+[-_])?(?:tests?|check|spec|verify|ci|unit|e2e|integration)'"
"""A target of tests: that others have nothing to do says nothing of these."""
_NO_BUILD = ("^error: could not compile ", "it did not compile")

REPORTERS: Final = (
    Reporter(
        "pytest py.test",
        rf"^(?:=+ )?(?:{_PYTEST}|no tests ran)"
        r" in [0-9.]{1,12} ?s(?:econds)?(?: \([0-9:]{1,12}\))?(?: =+)?$",
        opens=r"^=+ [tT]est session starts .*$",
        beside=(("^FAIL Required test coverage of ", "coverage too low"),),
        codes={2: "interrupted", 4: "usage", 5: "none"},
    ),
    Reporter(
        "unittest manage.py django-admin nose2",
        r"^Ran (?P<total>%d) tests? in [0-9.]{1,12}s\n\n(?:OK|FAILED|NO TESTS RAN)"
        r"(?: \((?P<after>[a-z =,0-9]{1,200})\))?$",
        codes={5: "none"},
    ),
    Reporter(
        "jest react-scripts",
        r"^(?:Test Suites: (?:(?P<broken>%d) failed)?.*\n)?Tests: {1,9}(?P<before>%d .*)$",
        none=r"^No tests found, exiting with code [01]$",
        beside=(
            (r"^Jest: .*(?:threshold .*not met|does not meet .*threshold)", "coverage too low"),
        ),
    ),
    Reporter(
        "vitest",
        r"^(?: Test Files  (?:(?P<broken>%d) failed)?.*\n)?"
        r" {6}Tests  (?:(?P<before>%d .*)|no tests)$",
        opens=r"^ RUN  v[0-9].*$",
        none=r"^No test files found, exiting with code [01]$",
        beside=(
            (r"^ +Errors  %d errors?$", "errors outside of tests"),
            (r"^ERROR: Coverage for .* does not meet ", "coverage too low"),
        ),
    ),
    Reporter(
        "mocha cypress",
        r"(?:\A|^\n)(?P<before>  %d passing \([0-9]+\w+\)(?:\n  %d pending)?(?:\n  %d failing)?)"
        r"$(?=\n\n|\n?\Z)",
        none=r"^Error: No test files found: ",
        counts_in_code=True,
    ),
    Reporter(
        "node tsx",
        rf"^(?P<after>(?P<sign>[#\u2139]) tests %d\n{_NODE})^(?P=sign) duration_ms ",
        opens=r"^TAP version 1[34]$",
        beside=((r"^[#\u2139] Error: .*coverage does not meet ", "coverage too low"),),
    ),
    Reporter(
        "bun",
        r"(?P<before>(?:^ %d (?:pass|fail|skip|todo|filtered out)\n){1,6})"
        r"(?:^ %d [a-z() ]{1,30}(?:, .{1,60})?\n){0,3}^Ran %d tests? across ",
        opens=r"^bun test v[0-9].*$",
        none=r"^(?:error: regex .* matched 0 tests\.|The following filters did not match any test)",
        only_tests=False,
    ),
    Reporter(
        "deno",
        r"^(?:ok|FAILED) \| (?P<passed>%d) passed(?: \(%d steps?\))?"
        r" \| (?P<failed>%d) failed(?: \(%d steps?\))?"
        r"(?: \| (?P<skipped>%d) ignored(?: \(%d steps?\))?)?(?: \| %d measured)?"
        r"(?: \| (?P<deselected>%d) filtered out)? \(",
        only_tests=False,
    ),
    Reporter(
        "gotestsum",
        r"^DONE (?:%d runs, )?(?P<before>%d tests?(?:, %d (?:skipped|failures?|errors?)){0,3})"
        r" in [0-9.]+m?s$",
    ),
    Reporter("go gotestsum", reads=go, codes={2: "usage"}),
    Reporter(
        "cargo",
        r"^test result: (?:ok|FAILED)\. "
        r"(?P<before>%d passed; %d failed; %d ignored; %d measured; %d filtered out)"
        r"(?:; finished in [0-9.]+s)?$",
        opens=r"^running %d tests?$",
        beside=(
            _NO_BUILD,
            (r"^error: (?:doc)?test failed, to rerun pass ", "a test program failed"),
        ),
        closes_often=True,
        only_tests=False,
    ),
    Reporter(
        "cargo-nextest cargo",
        r"^ +Summary \[ *[0-9.]+s\] (?:%d/)?(?P<before>%d tests? run: .*)$",
        opens=r"^ +Starting %d tests? across ",
        beside=(_NO_BUILD,),
        codes={4: "none"},
        only_tests=False,
    ),
    Reporter("gradle gradlew", reads=gradle, only_tests=False),
    Reporter(
        "mvn mvnw mvnd",
        r"^\[(?:INFO|WARNING|ERROR)\] "
        r"(?P<after>Tests run: %d, Failures: %d, Errors: %d, Skipped: %d)$",
        opens=r"^\[INFO\]  T E S T S$",
        none=r"^\[INFO\] (?:No tests to run\.|Tests are skipped\."
        r"|--- (?:maven-)?(?:surefire|failsafe)(?:-plugin)?:[\w.-]{1,40}"
        r":(?:integration-)?test .*)$",
        beside=((r"^\[INFO\] BUILD FAILURE$", "the build failed"),),
        closes_often=True,
        only_tests=False,
    ),
    Reporter(
        "dotnet",
        r"^(?:(?:Passed|Failed|Skipped)! +- "
        r"(?P<after>Failed: +%d, Passed: +%d, Skipped: +%d, Total: +%d)\b"
        r"|Total tests: (?P<total>%d)(?:\n +Passed: (?P<passed>%d))?"
        r"(?:\n +Failed: (?P<failed>%d))?(?:\n +Skipped: (?P<skipped>%d))?$"
        r"|Test summary: total: (?P<total_>%d), failed: (?P<failed_>%d),"
        r" succeeded: (?P<passed_>%d), skipped: (?P<skipped_>%d), duration: "
        r"|Test run summary: .*\n +total: (?P<total__>%d)\n +failed: (?P<failed__>%d)"
        r"\n +succeeded: (?P<passed__>%d)\n +skipped: (?P<skipped__>%d)$)",
        none=r"^No test (?:is available in|matches the given testcase filter) ",
        codes={8: "none"},
        closes_often=True,
        only_tests=False,
    ),
    Reporter(
        "rspec rake rails",
        r"^(?P<before>%d examples?, %d failures?(?:, %d pending)?"
        r"(?:, %d errors? occurred outside of examples)?)$",
        only_tests=False,
    ),
    Reporter(
        "minitest ruby rake rails",
        r"^(?P<before>%d (?:runs|tests), %d assertions, %d failures, %d errors, "
        r"%d (?:skips|pendings, %d omissions, %d notifications))$",
        only_tests=False,
    ),
    Reporter(
        "phpunit simple-phpunit paratest",
        r"^(?:OK \((?P<before>%d tests?), %d assertions?\)"
        r"|(?:[A-Z]{2,12}|OK, but .{1,80})!\n(?P<after>Tests: %d, .*)\.)$",
        opens=r"^PHPUnit [0-9.]+ by ",
        none=r"^No tests executed!$",
        only_tests=False,
    ),
    Reporter(
        "pest artisan", r"^  Tests: {1,9}(?P<before>%d .*) \(%d assertions?\)$", only_tests=False
    ),
    Reporter(
        "ctest",
        r"^%d% tests passed(?:, (?P<failed>%d) tests? failed)? out of (?P<total>%d)$",
        opens=r"^Test project .*$",
        each=r"^\t *%d - [^\n]+ \((?:Skipped|(?P<outside>Disabled))\)$",
        none=r"^No tests were found!!!$",
    ),
    Reporter(
        "prove",
        r"^Files=%d, Tests=(?P<total>%d), .*\nResult: (?:PASS|FAIL|NOTESTS)$",
        each=r"^[^\n(]+ \(Wstat: [^\n]{0,60} Tests: %d Failed: (?P<failed>%d)\)$",
        beside=((r"^Result: FAIL$", "a test program failed"),),
    ),
    Reporter(
        "playwright",
        r"^\n(?=  %d (?:failed|interrupted|flaky|skipped|passed))"
        rf"(?:  (?P<failed>%d) failed{_TITLES})?(?:  %d interrupted{_TITLES})?"
        rf"(?:  %d flaky{_TITLES})?(?:  (?P<skipped>%d) skipped\n?)?(?:  %d did not run\n)?"
        r"(?:  (?P<passed>%d) passed \([0-9.]+\w+\))?$",
        opens=r"^Running %d tests? using ",
        none=r"^Error: No tests found\.?$",
    ),
    Reporter(
        "ava",
        r"^  (?P<before>%d tests? (?:passed|failed)(?:\n  %d .*){0,6})$",
        none=r"^  [\u2718\xd7] Couldn.t find any",
    ),
    Reporter(
        "jasmine karma ng",
        r"^(?P<before>%d specs?, %d failures?(?:, %d pending specs?)?)$",
        only_tests=False,
    ),
    Reporter("tap", r"^# \{ (?P<after>total: %d(?:, [a-z]+: %d){0,5}) \}$", only_tests=False),
    Reporter("tap tape bats perl mocha zora", reads=tap, only_tests=False),
    # What runs others by a file, and found nothing to run
    Reporter(
        "make gmake",
        none=rf"^g?make: (?:{_TARGET} is up to date|Nothing to be done for {_TARGET})\.$"
        r"|^g?make: \*\*\* No rule to make target [`'][^'\n]*'\.  Stop\.$",
    ),
    Reporter(
        "npm yarn pnpm",
        none=r"^Error: no test specified$|^npm (?:error|ERR!) Missing script: "
        r"|^error Command \".*\" not found\.$|^.?ERR_PNPM_NO_SCRIPT\b"
        rf"|\A(?:\n?> .*\n> |yarn run v[0-9.]+\n\$ ){_NOTHING}$",
    ),
    Reporter("turbo", none=r"^ WARNING  No tasks were executed as part of this run\.$"),
    Reporter("lerna", none=r"^lerna success run No packages found with the lifecycle script '.*'$"),
    Reporter("nx", none=r"^ NX   No tasks were run$"),
    Reporter(
        "ruff",
        r"^(?:All checks passed!"
        r"|Found (?P<failed>%d) errors?(?: \(%d fixed, (?P<failed_>%d) remaining\))?\."
        r"|(?P<failed__>%d) files? would be reformatted(?:, .*)?"
        r"|%d files? (?:already formatted|left unchanged))$",
        none=r"^warning: No Python files found ",
        closes_often=True,
        unit="problems",
    ),
    Reporter(
        "mypy dmypy",
        r"^(?:Success: no issues found in %d source files?"
        r"|Found (?P<failed>%d) errors? in %d files? \(.*\))$",
        none=r"^There are no \.py\[i\] files in directory ",
        unit="problems",
    ),
    Reporter(
        "pyright basedpyright",
        r"^(?P<failed>%d) errors?, %d warnings?(?:, %d (?:informations?|notes?))?$",
        none=r"^No source files found\.$",
        only_tests=False,
        unit="problems",
    ),
    Reporter(
        "eslint",
        r"^\u2716 %d problems? \((?P<failed>%d) errors?, %d warnings?\)$",
        only_tests=False,
        unit="problems",
    ),
    Reporter(
        "tsc vue-tsc",
        r"^Found (?P<failed>%d) errors?(?: in .*)?\.?$",
        each=r"^\S[^\n]*\([0-9]{1,7},[0-9]{1,7}\): (?P<failed>error) TS[0-9]+: ",
        unit="problems",
    ),
)
SCRIPTS: Final = frozenset(
    """npm pnpm yarn lerna nx turbo make gmake ninja just task mage tox nox poe invoke composer
    bundle pre-commit hatch pdm pixi rye pipenv gulp grunt run-s run-p npm-run-all mise moon earthly
    ant scons doit""".split()  # noqa: SIM905 - readable
)
"""Programs that run others by a file of the folder: any test runner may report in their output."""
