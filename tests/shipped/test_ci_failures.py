"""JUnit reports of several programs, hostile ones, and the lines of a step."""

import io
import zipfile

import pytest

from tapui.shipped.ci.failures import (
    MOST_CASES,
    around_error,
    cases_of,
    failed_cases,
    reports,
    step_log,
)
from tapui.shipped.ci.runs import CiArtifact, CiStep
from tests.shipped.github_server import zipped

PYTEST = b"""<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite
 name="pytest" errors="1" failures="1" skipped="0" tests="3" time="0.044">
<testcase classname="tests.test_cart" name="test_total" time="0.001"><failure
 message="assert 1 == 2">def test_total():
&gt;       assert 1 == 2
E       assert 1 == 2

tests/test_cart.py:2: AssertionError</failure></testcase>
<testcase classname="tests.test_cart" name="test_tax" time="0.001"><error
 message="failed on setup with &quot;KeyError: 'x'&quot;">E   KeyError</error></testcase>
<testcase classname="tests.test_cart" name="test_fine" time="0.001" /></testsuite></testsuites>"""
JEST = b"""<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="jest tests" tests="2" failures="1" errors="0" time="1.1">
  <testsuite name="cart" errors="0" failures="1" skipped="0" tests="2">
    <testcase classname="cart rounds" name="cart rounds" time="0.003" file="src/cart.test.js">
      <failure>Error: expect(received).toBe(expected)
    at Object.toBe (src/cart.test.js:4:15)</failure></testcase>
    <testcase classname="cart adds" name="cart adds" time="0" file="src/cart.test.js"/>
  </testsuite></testsuites>"""
SUREFIRE = b"""<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" version="3.0"
 name="com.acme.CartTest" time="0.05" tests="2" errors="0" skipped="1" failures="1">
  <properties><property name="java.version" value="21"/></properties>
  <testcase name="total" classname="com.acme.CartTest" time="0.01">
    <failure message="expected: &lt;1&gt; but was: &lt;2&gt;"
 type="org.opentest4j.AssertionFailedError"><![CDATA[at com.acme.CartTest.total(CartTest.java:9)]]>
    </failure></testcase>
  <testcase name="later" classname="com.acme.CartTest"><skipped/></testcase></testsuite>"""


@pytest.mark.parametrize(
    ("report", "found"),
    [
        (
            PYTEST,
            [
                ("tests.test_cart", "test_total", "assert 1 == 2"),
                ("tests.test_cart", "test_tax", "failed on setup with \"KeyError: 'x'\""),
            ],
        ),
        (JEST, [("src/cart.test.js", "cart rounds", "")]),
        (SUREFIRE, [("com.acme.CartTest", "total", "expected: <1> but was: <2>")]),
    ],
    ids=["pytest", "jest", "surefire"],
)
def test_failed_cases_of_a_report(report: bytes, found: list[tuple[str, str, str]]) -> None:
    assert [(one.place, one.name, one.message) for one in cases_of(report)] == found


def test_details_and_types_are_kept() -> None:
    (case,) = cases_of(SUREFIRE)
    assert case.type == "org.opentest4j.AssertionFailedError"
    assert case.details.startswith("at com.acme.CartTest.total(CartTest.java:9)")


BOMB = b"""<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><testsuite name="&b;"/>"""
ELSEWHERE = b"""<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]>
<testsuite name="a"><testcase name="&a;"><failure/></testcase></testsuite>"""


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"x", b"<html/>", b"<testsuite>", b"\x00", "<testsuite/>".encode("utf-16"), BOMB),
        *(ELSEWHERE, b"<testsuite>" * 100_000 + b"</testsuite>" * 100_000),
    ],
)
def test_what_is_no_report_has_no_cases(data: bytes) -> None:
    assert cases_of(data) == []


def test_texts_of_a_report_are_bounded_and_safe() -> None:
    case = (
        '<testcase name="{0}" classname="a\u202eb" line="9999999999999999999">'
        '<failure message="{0}">{0}</failure></testcase>'
    ).format("x" * 10_000)
    found = cases_of(f"<testsuite>{case * 200}</testsuite>".encode())
    assert len(found) == MOST_CASES
    assert (len(found[0].name), len(found[0].message), len(found[0].details)) == (200, 500, 2_000)
    assert found[0].classname == "a\\u202eb"


def test_archives_are_bounded() -> None:
    small = zipped({"a/report.xml": PYTEST, "b.txt": PYTEST, "c.xml": b"x"})
    assert len(failed_cases(small)) == 2
    bomb = zipped({f"{number}.xml": b" " * 6_000_000 for number in range(8)})
    assert len(bomb) < 1_000_000
    assert failed_cases(bomb) == []
    assert failed_cases(b"no zip") == []
    assert failed_cases(small[:-30]) == []


def test_an_archive_that_is_damaged_or_encrypted_is_passed_over() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("a.xml", PYTEST)
    data = bytearray(made.getvalue())
    data[data.index(PYTEST) + 5] ^= 0xFF  # its checksum is another now
    assert failed_cases(bytes(data)) == []
    data = bytearray(made.getvalue())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert failed_cases(bytes(data)) == []


def test_which_artifacts_may_have_reports() -> None:
    named = ["junit", "surefire-reports", "test-results (3.11)", "wheel", "large-report"]
    artifacts = [CiArtifact(at, one, 10) for at, one in enumerate(named)]
    artifacts[4] = artifacts[4]._replace(size=1_000)
    assert [one.name for one in reports(artifacts, 100)] == named[:3]


LOG = """\ufeff2026-11-27T11:00:01.1Z ##[group]Set up
2026-11-27T11:00:01.2Z an error of the set-up
2026-11-27T11:00:05.1Z ##[group]Run pytest
2026-11-27T11:00:06.1Z first
no time of its own
2026-11-27T11:00:09.1Z ##[error]Process completed with exit code 1.
2026-11-27T11:00:09.2Z ##[group]Clean up
2026-11-27T11:00:12.2Z done""".removeprefix("\ufeff")


def test_the_lines_of_a_step_are_those_of_its_time_up_to_its_error() -> None:
    step = CiStep("Run", "failed", "2026-11-27T11:00:05Z", "2026-11-27T11:00:09Z")
    assert step_log(LOG, step) == [
        "##[group]Run pytest",
        "first",
        "no time of its own",
        "##[error]Process completed with exit code 1.",
    ]
    assert step_log(LOG, None)[-1].startswith("##[error]")
    assert step_log("plain\nlines", None) == ["plain", "lines"]
    assert step_log("", step) == []


def test_lines_around_the_first_error() -> None:
    lines = ["fine"] * 1_000
    assert around_error(lines) == lines[:200]
    lines[500] = "TypeError: x"
    found = around_error(lines)
    assert (len(found), found.index("TypeError: x")) == (200, 50)
    lines[0] = "FAILED"
    assert around_error(lines)[0] == "FAILED"
    lines = [*["fine"] * 5, "1 error"]
    assert around_error(lines) == lines
