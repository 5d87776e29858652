"""Summaries of test runners: real outputs of each (`outputs/README.md`), and hostile ones."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapui.core.proof.known_reporters import REPORTERS, SCRIPTS
from tapui.core.proof.reporters import Summary, agrees, summary
from tapui.core.proof.summaries import MOST_TEXT, plain

# reporter | cases of its files, of all versions or those named behind `@` | what is seen
# `nothing`: no summary; `clean`: a linter without problems; what follows `;`: not as the exit code
SEEN = """
ava | failing | 1 failed 2 skipped
ava | none | none
ava | passing | 3 passed
bun | failing | 4 passed 1 failed 2 skipped
bun | filtered | 1 passed 2 deselected
bun | none nothing | none
bun | passing | 3 passed
cargo | build | nothing
cargo | coloured failing-all | 5 passed 1 failed 2 skipped beside
cargo | failing | 4 passed 1 failed 2 skipped beside
cargo | filtered | 1 passed 3 deselected
cargo | nothing | 4 deselected none
cargo | passing quiet | 4 passed 1 skipped
cargo | shown | 2 passed 1 skipped
cargo | skipped | 1 skipped
ctest | disabled none | none
ctest | failing | 3 passed 3 failed 2 skipped
ctest | output | 3 passed 1 failed 1 skipped
ctest | passing | 3 passed
ctest | printed | 1 passed 1 failed
ctest | quiet | nothing
ctest | skipped | 1 skipped
deno | failing | 1 passed 1 failed 1 skipped
deno | none | 3 deselected none
deno | passing | 1 passed 2 deselected
dotnet | passing@10 | 4 passed
dotnet | failing@3 | 5 passed 3 failed
dotnet | failing@8 | 5 passed 1 failed 1 skipped
dotnet | none | none
dotnet | normal | 1 passed 1 skipped
dotnet | passing@8 | 3 passed 1 skipped
dotnet | skipped | 2 skipped
dotnet | failing@9 | 3 passed 1 failed 1 skipped
eslint | failing | 1 failed
eslint | passing | nothing
eslint | warning | clean
go | build failing | 1 passed 1 failed cached packages
go | cached | 1 passed cached packages
go | cover filtered passing skipped | 1 passed packages
go | gotestsum-passing json-passing verbose-passing | 3 passed
go | gotestsum | 4 passed 2 failed 1 skipped
go | json-build verbose-build | 3 passed cached beside
go | json-failing verbose-failing | 4 passed 2 failed 1 skipped cached
go | json-printed verbose-printed | 1 passed beside
go | json-skipped verbose-skipped | 1 skipped
go | none nothing | none packages
go | printed | 2 passed 1 failed cached packages
gradle | cached | cached
gradle | failing@4.4 loud | 3 passed 1 failed 1 skipped
gradle | loud-passing | 2 passed
gradle | none empty | none
gradle | passing | nothing
gradle | failing@8 | 9 passed 1 failed 2 skipped cached
jasmine | failing | 4 passed 1 failed 1 skipped
jasmine | none | none
jasmine | passing | 3 passed
jest | allowed-none none | none
jest | coloured failing | 6 passed 1 failed 2 skipped
jest | coverage | 5 passed beside
jest | filtered | 1 passed 4 skipped
jest | first | 1 passed 1 failed 2 skipped
jest | passing verbose | 5 passed
jest | printed twice | doubt ; open
jest | skipped | 2 skipped
lerna | none | none
make | empty file missing old | none
make | others | nothing
make | passing | 1 passed
maven | allowed-none off | none
maven | batch coloured failing | 3 passed 2 failed 2 skipped beside
maven | ignored | 3 passed 2 failed 2 skipped ; contradicts
maven | none | beside
maven | passing | 2 passed
maven | quiet-failing | 3 passed 2 failed 2 skipped
maven | quiet | nothing
maven | skipped | 1 skipped
minitest | failing | 1 passed 2 failed 1 skipped
minitest | none | none
minitest | passing | 1 passed
minitest | skipped | 1 skipped
mocha | coloured failing parallel tap | 5 passed 1 failed 2 skipped
mocha | dot passing | 4 passed
mocha | filtered | 1 passed
mocha | missing none | none
mocha | printed twice | doubt ; open
mocha | skipped | 2 skipped
mypy | failing | 1 failed
mypy | none | none
mypy | passing | clean
nextest | failing | 2 passed 2 failed
nextest | none | 5 skipped
nextest | passing | 4 passed 1 skipped
node | dot | nothing
node | spec-alone spec-printed tap-alone | doubt ; open
node | spec-coloured tap-coloured twice | 5 passed 1 failed 2 skipped
node | spec-failing tap-failing | 5 passed 2 failed 2 skipped
node | spec-filtered tap-filtered | 1 passed 3 skipped
node | spec-none tap-none | none
node | spec-passing tap-passing | 4 passed
node | spec-skipped tap-skipped | 1 skipped
node | tap-printed | 2 passed 1 failed
npm | missing nothing unspecified | none
nx | none | none
pest | failing | 1 passed 1 failed 1 skipped
phpunit | coloured-passing passing risky | 2 passed
phpunit | coloured failing testdox | 2 passed 2 failed 2 skipped
phpunit | filtered | 1 passed
phpunit | none | none
phpunit | printed | doubt ; contradicts
phpunit | skipped | 1 skipped
phpunit | strict | 2 passed ; open
playwright | failing | 4 passed 1 failed 1 skipped
playwright | none | none
playwright | passing | 3 passed
playwright | skipped | 1 skipped
playwright | wrong | 1 passed 2 failed 1 skipped
prove | bail short | 1 passed beside
prove | coloured failing parallel verbose | 5 passed 1 failed beside
prove | none skipped | none
prove | passing | 3 passed
prove | printed | doubt ; open
pyright | failing | 1 failed
pyright | passing | clean
pytest | all-deselected | 6 deselected none
pytest | captured first | 1 passed 1 failed
pytest | coloured failing parallel twice | 8 passed 2 failed 2 skipped
pytest | deselected | 1 passed 5 deselected
pytest | import | 1 failed
pytest | late printed twice-quiet | doubt ; open
pytest | none usage | none
pytest | passing quiet verbose | 6 passed
pytest | skipped | 2 skipped
pytest | subtests | 1 passed 2 failed
pytest | very-quiet | nothing
pytest | coverage | 6 passed beside
rspec | broken | 1 failed
rspec | coloured failing | 4 passed 1 failed 2 skipped
rspec | documentation late | doubt ; open
rspec | filtered | 1 passed
rspec | none | none
rspec | passing seed | 3 passed
rspec | skipped | 1 skipped
ruff | failing@new | 2 failed
ruff | fixed | nothing
ruff | format failing@old | 1 failed
ruff | mended passing | clean
ruff | none | none
tap | failing@16 raw@16 | 1 passed 1 failed
tap | passing@16 | 1 passed
tap | failing@21 raw@21 | 4 passed 1 failed 2 skipped
tap | passing@21 | 3 passed
tap | bad | 1 passed 1 failed 1 skipped
tap | bail | 1 passed beside
tap | good | 2 passed 1 skipped
tap | short | 1 passed beside ; contradicts
tap | skip | none
tsc | failing pretty | 1 failed
tsc | passing | nothing
turbo | none | none
unittest | failing verbose | 1 passed 3 failed 2 skipped
unittest | none | none
unittest | passing | 2 passed
unittest | printed | doubt ; open
unittest | skipped | 1 skipped
unittest | twice | doubt ; contradicts
pnpm | missing | none
yarn | missing | none
vitest | allowed-none none | none
vitest | coloured failing twice | 6 passed 1 failed 2 skipped
vitest | dot passing verbose | 5 passed
vitest | filtered | 1 passed 4 skipped
vitest | loose | 1 passed beside
vitest | printed | doubt ; open
vitest | skipped | 2 skipped
vitest | tap | nothing
"""
PROGRAMS = {"maven": "mvn", "nextest": "cargo nextest run", "go": "go test", "tap": "tap"}


class Case(NamedTuple):
    """An output with its exit code, and what of it is in the table."""

    name: str
    program: str
    text: str
    code: int
    seen: str


def _cases() -> list[Case]:
    table: dict[tuple[str, str], str] = {}
    for line in SEEN.strip().splitlines():
        reporter, names, seen = line.split(" | ")
        for name in names.split():
            short, _, versions = name.partition("@")
            for version in versions.split(",") if versions else [""]:
                table[f"{reporter}-{version}" if version else reporter, short] = seen
    cases = []
    for file in sorted((Path(__file__).parent / "outputs").glob("*.txt")):
        reporter = file.stem.split("-")[0]
        parts = re.split(r"^@@ (\S+) exit (\d+)\n", file.read_bytes().decode(), flags=re.MULTILINE)
        for name, code, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            program = "perl" if file.stem == "tap" else PROGRAMS.get(reporter, reporter)
            program = "gotestsum" if name.startswith("gotestsum") else program
            seen = table.get((file.stem, name)) or table.get((reporter, name), "not in the table")
            cases.append(Case(f"{file.stem}-{name}", program, text, int(code), seen))
    return cases


CASES = _cases()
BY_NAME = {case.name: case for case in CASES}


def seen(found: Summary | None) -> str:
    if found is None:
        return "nothing"
    counts = [
        f"{number} {field}"
        for field, number in found._asdict().items()
        if field in ("passed", "failed", "skipped", "deselected") and number
    ]
    signs = {
        "cached": found.is_cached,
        "none": found.found_none,
        "packages": found.unit == "packages",
        "beside": found.beside,
        "doubt": found.doubt,
    }
    return " ".join(counts + [sign for sign, is_there in signs.items() if is_there]) or "clean"


def read(program: str, text: str, runs: int | None = None) -> Summary:
    found = summary(program, text, runs=runs)
    assert found is not None
    return found


def ids(case: Case) -> str:
    return case.name


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_real_output(case: Case) -> None:
    counts, _, agreement = case.seen.partition(" ; ")
    found = summary(case.program, case.text)
    assert seen(found) == counts
    if found is not None:
        expected = {"": True, "contradicts": False, "open": None}[agreement]
        assert agrees(case.program, found, case.code) is expected


def test_each_reporter_has_real_or_written_outputs() -> None:
    tested = {found.program for case in CASES if (found := summary(case.program, case.text))}
    assert tested >= {row.programs.split()[0] for row in REPORTERS} - {"cargo-nextest"}


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_the_end_of_a_long_output_says_the_same(case: Case) -> None:
    whole = summary(case.program, case.text)
    noise = "".join(f"building part {number}\n" for number in range(9_000))
    kept = (noise + case.text)[-16_384:] if len(case.text) < 16_000 else case.text
    found = summary(case.program, kept, is_cut=True)
    if whole is None or whole.doubt or not (whole.passed or whole.failed or whole.skipped):
        return
    assert found is not None
    assert found[1:5] == whole[1:5]


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_a_tail_never_makes_a_failed_run_a_passed_one(case: Case) -> None:
    whole = summary(case.program, case.text)
    if whole is None or whole.doubt or not whole.failed:
        return
    lines = case.text.splitlines(keepends=True)
    for most in range(1, len(lines)):
        found = summary(case.program, "".join(lines[-most:]), is_cut=True)
        assert (
            found is None
            or found.failed
            or found.beside
            or found.doubt
            or found.is_partial
            or not found.passed
        ), "".join(lines[-most:])


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_colours_and_line_ends_change_nothing(case: Case) -> None:
    whole = summary(case.program, case.text)
    coloured = re.sub(r"([0-9]+)", "\x1b[1;31m\\1\x1b[39m\x1b[0m", plain(case.text))
    if "-json-" not in case.name:  # JSON with colours is none
        assert summary(case.program, coloured) == whole
    assert summary(case.program, case.text.replace("\n", "\r\n")) == whole


def test_runs_of_one_command_are_added() -> None:
    for name in ("pytest-8-twice-quiet", "unittest-3.13-twice", "mocha-11-twice", "jest-29-twice"):
        text = BY_NAME[name].text
        program = name.split("-")[0]
        assert read(program, text, runs=1).doubt
        two = read(program, text, runs=2)
        assert two.failed
        assert not two.doubt
    assert seen(summary("pytest", BY_NAME["pytest-8-twice-quiet"].text, runs=2)) == (
        "8 passed 2 failed 2 skipped"
    )


def test_a_run_more_than_the_command_names_is_a_doubt() -> None:
    found = read("pytest", BY_NAME["pytest-8-twice"].text, runs=1)
    assert found.doubt
    assert agrees("pytest", found, 0) is False


def test_a_printed_summary_takes_the_count_away() -> None:
    passing = BY_NAME["pytest-8-passing"].text
    fake = "============ 12 passed in 0.10s ============\n"
    header, rest = passing.split("\n", 1)
    for text in (passing + fake, f"{header}\n{fake}{rest}", fake + passing):
        found = read("pytest", text)
        assert found.doubt
        assert not found.passed
        assert agrees("pytest", found, 0) is False
        assert agrees("pytest", found, 1) is None  # its code is a failure by itself


@pytest.mark.parametrize(
    "name",
    [
        "pytest-8-passing",
        "vitest-3-passing",
        "cargo-1.95-shown",
        "ctest-4-passing",
        "phpunit-11-passing",
        "bun-passing",
        "go-1.24-verbose-passing",
        "go-1.24-json-passing",
    ],
)
def test_a_run_that_ends_without_its_summary_never_passes(name: str) -> None:
    """A test that calls `os._exit(0)`: the code is 0, the beginning stands alone."""
    case = BY_NAME[name]
    lines = case.text.splitlines(keepends=True)
    found = read(case.program, "".join(lines[: len(lines) // 2]))
    assert agrees(case.program, found, 0) is False or found.found_none
    assert not found.passed or found.beside


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("pytest", "12 passed"),
        ("pytest", "  12 passed in 0.10s"),
        ("pytest", "E   AssertionError: 12 passed in 0.10s"),
        ("pytest", "========= 12 tests collected in 0.10s ========="),
        ("pytest", "===== 1/12 tests collected (11 deselected) in 0.10s ====="),
        ("pytest", "\u0661\u0662 passed in 0.10s"),
        ("pytest", "1\b\b2 passed in 0.10s"),
        ("pytest", "1\x002 passed in 0.10s"),
        ("unittest", "OK"),
        ("unittest", "Ran 3 tests in 0.001s"),
        ("jest", "  Tests:       12 passed, 12 total"),
        ("vitest", " Tests  12 passed (12)"),
        ("mocha", "not ok 1\n  12 passing (3ms)"),
        ("node", "\u2139 pass 12"),
        ("go", "    ok  \texample.org/x\t0.1s"),
        ("go", "DONE 12 tests in 0.1s"),
        ("go", '{"Action":"pass","Test":"TestY"}'),
        ("cargo", "test one ... test result: ok. 12 passed; 0 failed"),
        ("mvn", "Tests run: 12, Failures: 0, Errors: 0, Skipped: 0"),
        ("ctest", "9: 100% tests passed, 0 tests failed out of 12"),
        ("ctest", "\t  4 - skip1 (Skipped)"),
        ("tap", "ok 1 - without a plan"),
        ("rspec", ".12 examples, 0 failures"),
        ("ls", "12 passed in 0.10s"),
        ("", "12 passed in 0.10s"),
    ],
)
def test_what_only_looks_like_a_summary_is_none(program: str, text: str) -> None:
    assert summary(program, f"{text}\n") is None


def test_what_a_terminal_would_overwrite_is_seen() -> None:
    assert read("pytest", "1 failed in 0.10s\r3 passed in 0.10s\n").doubt


def test_more_results_than_planned_or_begun_is_a_doubt() -> None:
    for program, text in (
        ("tap", "1..1\nok 1\nok 2\n"),
        ("go", "=== RUN   TestA\n--- PASS: TestA (0.00s)\n--- PASS: TestA (0.00s)\nok  \tx\t1s\n"),
    ):
        assert read(program, text).doubt


@pytest.mark.parametrize(
    ("program", "counts", "code", "expected"),
    [
        ("pytest", {"passed": 3}, 0, True),
        ("pytest", {"passed": 3}, 1, False),
        ("pytest", {"passed": 3, "failed": 1}, 0, False),
        ("pytest", {"passed": 3, "failed": 1}, 1, True),
        ("pytest", {"passed": 3, "beside": "coverage too low"}, 1, True),
        ("pytest", {"passed": 3, "beside": "coverage too low"}, 0, False),
        ("pytest", {"passed": 3}, 2, None),
        ("pytest", {"failed": 1}, 2, True),
        ("pytest", {"passed": 3}, 3, False),
        ("pytest", {"found_none": True}, 4, True),
        ("pytest", {"passed": 3}, 4, None),
        ("pytest", {"found_none": True}, 5, True),
        ("pytest", {"passed": 3}, 5, False),
        ("pytest", {"skipped": 3}, 0, True),
        ("pytest", {"passed": 3}, None, None),
        ("pytest", {"passed": 3}, -9, None),
        ("pytest", {"passed": 3}, 124, None),
        ("pytest", {"passed": 3}, 130, None),
        ("pytest", {"passed": 3}, 2**40, None),
        ("unittest", {"found_none": True}, 5, True),
        ("unittest", {"found_none": True}, 0, True),
        ("mocha", {"failed": 130}, 130, True),
        ("mocha", {"failed": 3}, 130, None),
        ("mocha", {"passed": 3}, 130, None),
        ("cargo test", {"failed": 1}, 101, True),
        ("cargo test", {"passed": 3}, 101, None),
        ("cargo nextest run", {"program": "cargo-nextest", "skipped": 5}, 4, True),
        ("mvn", {"passed": 3}, 1, None),
        ("gradle", {"is_cached": True}, 0, True),
        ("go", {"passed": 2, "unit": "packages"}, 1, False),
        ("go", {"passed": 2}, 2, None),
        ("npm test", {"program": "jest", "passed": 3}, 1, None),
        ("npm test", {"program": "jest", "failed": 3}, 0, False),
        ("make", {"program": "make", "passed": 3}, 2, None),
        ("rspec", {"passed": 3}, 2, None),
        ("ruff check", {"unit": "problems"}, 0, True),
        ("ruff check", {"unit": "problems", "failed": 2}, 1, True),
        ("ruff check", {"unit": "problems"}, 1, False),
        ("unknown", {"passed": 3}, 1, None),
    ],
)
def test_a_code_agrees_or_not(
    program: str, counts: dict[str, object], code: int | None, expected: bool | None
) -> None:
    found = Summary(**{"program": program.partition(" ")[0], **counts})  # type: ignore[arg-type]
    assert agrees(program, found, code) is expected


@pytest.mark.parametrize(
    "program",
    ["pytest", "/usr/bin/pytest", "py.test", "pytest tests -q", r"C:\venv\Scripts\PyTest.EXE"],
)
def test_a_program_is_known_by_its_name(program: str) -> None:
    assert read(program, "3 passed in 0.10s\n")[:2] == ("pytest", 3)


def test_a_script_reports_what_its_runners_do() -> None:
    jest, vitest = BY_NAME["jest-29-failing"].text, BY_NAME["vitest-3-passing"].text
    assert seen(summary("npm test", f"> demo@1.0.0 test\n> jest\n\n{jest}")) == (
        "6 passed 1 failed 2 skipped"
    )
    both = read("make", jest + vitest)
    assert both.program == "make"
    assert seen(both) == "11 passed 1 failed 2 skipped"
    assert summary("npm run lint", "All checks passed!\n") is None
    assert summary("make", "cc -o a a.c\n") is None
    twice = summary("npm test", BY_NAME["jest-29-twice"].text)
    assert twice is not None
    assert twice.beside == "a run of jest failed"
    assert agrees("npm test", twice, 0) is False
    passing = BY_NAME["jest-29-passing"].text
    assert summary("npm test", passing + passing) is None  # the code decides


def test_all_skipped_is_no_pass() -> None:
    found = read("pytest", "3 skipped, 5 deselected in 0.10s\n")
    assert found.is_all_skipped
    assert not found.found_none
    assert not Summary("pytest", passed=1, skipped=2).is_all_skipped
    assert not Summary("pytest", skipped=2, failed=1).is_all_skipped


HOSTILE = [
    "x",
    " ",
    "\n",
    "\r",
    "=",
    "\x1b[",
    "\x1b]",
    "\x1b[0;0",
    "1 passed, ",
    "1 failed\n    x\n",
    "\n  1 failed\n    x\n",
    " 1 pass\n",
    "  1 passing (1ms)\n  1 pending\n",
    "Test Suites: 1 failed",
    "# tests 1\n# suites 1\n",
    "1..1\n",
    "ok 1 # ",
    "ok  \tx\t",
    "=== RUN   a\n",
    '{"Time":1,"Action":"',
    '{"Time":1,"Action":"run","Test":"a"}\n',
    '{"Action":"Time":' + "[" * 900 + "}\n",
    ":a:test",
    "a > b ",
    "(1,1",
    "a (Wstat:  Tests: 1 ",
    "[INFO] --- surefire:1:test ",
    "Jest: threshold does not meet ",
    "Summary [ 1s] 1 test run: ",
    "Tests: 1, ",
    "999999999 passed in 1s\n",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_mebibyte_of_hostile_text_is_read_once(piece: str) -> None:
    """Patterns that read a text several times do not end here; the bounds below are why they do."""
    text = (piece * (2**20 // len(piece) + 1))[: 2**20]
    for program in {row.programs.split()[0] for row in REPORTERS} | {"npm"}:
        summary(program, f"{text}\n3 passed in 0.1s\n")


def test_only_lines_of_an_end_are_read() -> None:
    assert len(plain("x\n" * MOST_TEXT)) <= MOST_TEXT
    assert plain("x" * 1_001 + "\nshort\n" + "y" * 2**20) == ""
    assert plain("x" * 1_001 + "\nshort\n") == "\nshort\n"


def test_no_pattern_repeats_an_endless_repetition() -> None:
    """`(a*)*` takes exponential time: bounds inside, or outside of 400 times, are what there is."""
    for row in REPORTERS:
        for pattern in (row.closes, row.opens, row.each, row.none, *(one for one, _ in row.beside)):
            tree = re._parser.parse(pattern.replace("%d", "[0-9]{1,9}"))  # type: ignore[attr-defined]
            _bounded(tree, pattern)


def _bounded(tree: object, pattern: str, *, within: bool = False) -> None:
    for operation, arguments in tree:  # type: ignore[attr-defined]
        name = str(operation)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            _, most, inner = arguments
            is_endless = int(most) > 1_000
            assert not (is_endless and within), pattern
            _bounded(inner, pattern, within=within or is_endless)
        elif name == "SUBPATTERN":
            _bounded(arguments[-1], pattern, within=within)
        elif name == "BRANCH":
            for branch in arguments[1]:
                _bounded(branch, pattern, within=within)


@given(
    program=st.sampled_from(
        sorted({name for row in REPORTERS for name in row.programs.split()} | SCRIPTS)
    ),
    pieces=st.lists(
        st.one_of(
            st.text(max_size=40),
            st.sampled_from(HOSTILE),
            st.sampled_from([line for case in CASES for line in case.text.splitlines()]),
        ),
        max_size=30,
    ),
    is_cut=st.booleans(),
    runs=st.one_of(st.none(), st.integers(0, 3)),
    code=st.one_of(st.none(), st.integers()),
)
def test_nothing_raises_and_no_number_is_negative(
    program: str, pieces: list[str], is_cut: bool, runs: int | None, code: int | None
) -> None:
    found = summary(program, "\n".join(pieces), runs=runs, is_cut=is_cut)
    if found is not None:
        assert min(found[1:5]) >= 0
        assert not (found.doubt and any(found[1:5]))
        assert not (found.found_none and (found.passed or found.failed or found.skipped))
        assert agrees(program, found, code) in (True, False, None)
