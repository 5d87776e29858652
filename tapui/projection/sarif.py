"""Findings as SARIF 2.1.0 (OASIS): one run for each reviewer, for editors and code hosts."""

import posixpath
from collections.abc import Iterable
from typing import Any

from tapui.projection.fingerprints import base
from tapui.projection.reviews import place_words
from tapui.text import safe_text
from tapui.wire.reviews import PERSON, Finding

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS = {"P0": "error", "P1": "error", "P2": "warning", "P3": "note"}
_NO_RULE = "finding"
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")
_SUPPRESSED = {"rejected": "accepted", "deferred": "underReview"}
"""The status of the suppression of a finding that the person decided about so."""


def sarif(findings: Iterable[Finding], version: str) -> dict[str, Any]:
    """Return a SARIF log; texts from outside are made safe to show."""
    by_reviewer: dict[str, list[Finding]] = {}
    for one in findings:
        by_reviewer.setdefault(one.reviewer, []).append(one)
    runs = [_run(name, found, version) for name, found in by_reviewer.items()]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": runs}


def _run(reviewer: str, findings: list[Finding], version: str) -> dict[str, Any]:
    rules = list(dict.fromkeys(map(_rule, findings)))
    driver: dict[str, Any] = {
        "name": "tapui notes" if reviewer == PERSON else safe_text(reviewer) or "reviewer",
        "semanticVersion": version,
        "rules": [{"id": rule} for rule in rules],
    }
    return {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SESSION": {"description": {"text": "The session's folder"}}},
        "results": [_result(one, rules) for one in findings],
    }


def _rule(finding: Finding) -> str:
    return safe_text(finding.rule) or ("note" if finding.note_id is not None else _NO_RULE)


def _result(finding: Finding, rules: list[str]) -> dict[str, Any]:
    rule = _rule(finding)
    text = safe_text(finding.title) or place_words(finding) or rule
    body = safe_text(finding.body, newlines=True)
    whole = f"{text}\n\n{body}" if body and body != text else text
    result: dict[str, Any] = {
        "ruleId": rule,
        "ruleIndex": rules.index(rule),
        "level": _LEVELS.get(finding.priority or "", "note" if finding.is_opinion else "warning"),
        "kind": "fail",
        "message": {"text": whole},
        "fingerprints": {"tapui/v1": finding.fingerprint},
        "partialFingerprints": {"tapui/line/v1": base(finding.fingerprint)},
        "properties": _properties(finding),
    }
    if finding.confidence is not None:
        result["rank"] = round(finding.confidence * 100, 1)
    if finding.path:
        result["locations"] = [{"physicalLocation": _place(finding)}]
    status = _SUPPRESSED.get(finding.disposition)
    if status is not None and finding.disposed is not None:
        suppression = {"kind": "external", "status": status}
        if finding.disposed.reason:
            suppression["justification"] = safe_text(finding.disposed.reason)
        result["suppressions"] = [suppression]
    return result


def _place(finding: Finding) -> dict[str, Any]:
    path = finding.path
    is_whole = posixpath.isabs(path)
    location = {"uri": ("file://" if is_whole else "") + uri_of(path)}
    if not is_whole:
        location["uriBaseId"] = "SESSION"
    place: dict[str, Any] = {"artifactLocation": location}
    if finding.lines is not None:
        region: dict[str, Any] = {
            "startLine": finding.lines.first,
            "endLine": max(finding.lines.first, finding.lines.last),
        }
        if finding.quote:
            region["snippet"] = {"text": safe_text(finding.quote, newlines=True)}
        place["region"] = region
    return place


def uri_of(path: str) -> str:
    """Return a path as a URI has it (RFC 3986): all but letters, digits and `-._~/` in per cent."""
    data = path.encode("utf-8", "replace")
    return "".join(chr(one) if one in _PLAIN else f"%{one:02X}" for one in data)


def _properties(finding: Finding) -> dict[str, Any]:
    told: dict[str, Any] = {
        "id": finding.id,
        "disposition": finding.disposition,
        "isOpinion": finding.is_opinion,
    }
    if finding.priority is not None:
        told["priority"] = finding.priority
    if finding.verdict is not None:
        told["check"] = finding.verdict.state
    if finding.proposed is not None:
        told["proposed"] = finding.proposed.disposition
    return told
