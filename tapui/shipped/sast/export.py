"""Findings as a file: SARIF with suppressions, and Markdown."""

from collections.abc import Iterable
from typing import Any

import msgspec

from tapui.shipped.sast.findings import STATES, TriagedFinding
from tapui.shipped.sast.triage import FINGERPRINT, physical, sarif_of, told

EXPORT_TYPES = {"sarif": "application/sarif+json", "md": "text/markdown"}


def as_sarif(found: Iterable[TriagedFinding]) -> bytes:
    """Return a SARIF log of tapui's; a folder's findings are not read from it again."""
    results = []
    for finding, state, decision in found:
        result: dict[str, Any] = {
            "ruleId": finding.rule_id,
            "level": finding.level,
            "message": {"text": finding.message or finding.rule_id},
            "fingerprints": {FINGERPRINT: finding.id},
            "suppressions": [told(one) for one in finding.suppressions]
            + [told(one) for one in (decision.suppressions if decision is not None else ())],
            "properties": {
                "tool": finding.tool,
                "status": state,
                "tags": [f"external/cwe/{one.lower()}" for one in finding.cwe],
            },
        }
        if finding.baseline_state is not None:
            result["baselineState"] = finding.baseline_state
        if finding.location.path:
            result["locations"] = [{"physicalLocation": physical(finding.location)}]
        results.append(result)
    return msgspec.json.format(msgspec.json.encode(sarif_of(results)), indent=2)


def as_markdown(found: Iterable[TriagedFinding]) -> bytes:
    """Return a table for each state; nothing in a text is markup."""
    every = list(found)
    lines = ["# Findings", ""]
    for state in STATES:
        rows = [one for one in every if one.state == state]
        if not rows:
            continue
        lines += [f"## {state} ({len(rows):,})", "", "| id | level | rule | place | message |"]
        lines.append("|---|---|---|---|---|")
        for one in rows:
            finding = one.finding
            cells = (
                finding.id,
                finding.level,
                finding.rule_id,
                str(finding.location),
                finding.message[:300],
            )
            lines.append(f"| {' | '.join(map(_cell, cells))} |")
        lines.append("")
    return "\n".join(lines).encode("utf-8", "replace")


def _cell(text: str) -> str:
    """Return a text for a cell: code, so that links, images and HTML in it are none."""
    plain = " ".join(text.split()).replace("`", "'").replace("|", "\\|")
    return f"`{plain}`" if plain else ""
