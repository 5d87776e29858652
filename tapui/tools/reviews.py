"""The built-in tool that records a review of a monitor, or of code with its findings."""

from typing import Any

import msgspec

from tapui.tools.definitions import TEXT, BuiltinTool, Schema, object_of
from tapui.tools.goals import CHECK, criterion_check
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.message import Message
from tapui.wire.provider import ToolCall
from tapui.wire.reviews import Finding, FindingGiven, ReviewAnswer, ReviewAsked, ReviewGiven

_KNOWN = frozenset(ReviewGiven.__struct_encode_fields__)
_REQUIRED = ("monitor", "observed", "decision", "reason")


def _record(call: ToolCall) -> Message:
    args = dict(object_of(call))
    if unknown := args.keys() - _KNOWN:
        raise ValueError(f"{min(unknown)}: not known here; known: {', '.join(sorted(_KNOWN))}")
    if missing := [name for name in _REQUIRED if not args.get(name)]:
        raise ValueError(f"{missing[0]}: missing")
    evidence = args.get("evidence")
    if isinstance(evidence, list):
        args["evidence"] = [one.get("uri") if isinstance(one, dict) else one for one in evidence]
    found = args.pop("findings", None) or []
    if not isinstance(found, list) or len(found) > limits.MAX_REVIEW_FINDINGS:
        raise ValueError(f"findings: a list of at most {limits.MAX_REVIEW_FINDINGS}")
    findings = [_finding(one, f"findings[{at}]") for at, one in enumerate(found)]
    review: ReviewGiven = _converted(args, ReviewGiven, "")
    review = msgspec.structs.replace(review, findings=findings)
    return ReviewAsked(call.id, call.session_id, review)


def _finding(given: Any, field: str) -> FindingGiven:
    if not isinstance(given, dict):
        raise WireError(ErrorCode.INVALID_JSON, f"{field}: expected an object")
    fields = dict(given)
    known = frozenset(FindingGiven.__struct_encode_fields__)
    if unknown := fields.keys() - known:
        names = ", ".join(sorted(known))
        raise ValueError(f"{field}.{min(unknown)}: not known here; known: {names}")
    check = criterion_check(fields.pop("check", None), f"{field}.check")
    lines = fields.get("lines")
    if isinstance(lines, int) and not isinstance(lines, bool):
        fields["lines"] = {"first": lines, "last": lines}
    elif isinstance(lines, list) and len(lines) == 2:
        fields["lines"] = {"first": lines[0], "last": lines[1]}
    priority = fields.get("priority")
    if isinstance(priority, int) and not isinstance(priority, bool):
        fields["priority"] = f"P{priority}"
    finding: FindingGiven = _converted(fields, FindingGiven, f"{field}.")
    return msgspec.structs.replace(finding, check=check)


def _converted(fields: dict[str, Any], kind: Any, prefix: str) -> Any:
    """Return an object of JSON as a Struct. Raises `ValueError` naming the field."""
    try:
        return msgspec.json.decode(msgspec.json.encode(fields), type=kind)
    except msgspec.ValidationError as error:
        text, _, path = str(error).rpartition(" - at ")
        field = path.strip("`").removeprefix("$").removeprefix(".") if text else ""
        name = f"{prefix}{field}".rstrip(".")
        raise ValueError(f"{name}: {text or error}" if name else str(error)) from None


def finding_json(finding: Finding) -> dict[str, Any]:
    """Return of a finding what its agent needs to name it later."""
    told: dict[str, Any] = {
        "id": finding.id,
        "fingerprint": finding.fingerprint,
        "title": finding.title,
    }
    if finding.disposed is not None:
        told |= {"disposition": finding.disposition, "reason": finding.disposed.reason}
    if finding.is_opinion:
        told["isOpinion"] = True
    elif finding.verdict is not None:
        told["check"] = finding.verdict.state
    return told


def _recorded(_call: ToolCall, answer: ReviewAnswer) -> Any:
    review = answer.review
    told: dict[str, Any] = {"reviewId": review.id, "seq": review.seq}
    if review.range is not None:
        told["lines"] = review.lines
    if review.unreviewed:
        told["unreviewed"] = review.unreviewed
    if review.outcomes is not None:
        told["outcomes"] = review.outcomes
    if review.findings:
        told["findings"] = [finding_json(one) for one in review.findings]
    return told


_NUMBER: Schema = {"type": "number", "minimum": 0, "maximum": 1}
_SEQ: Schema = {"type": "integer", "minimum": 1}
_LINES: Schema = {
    "type": "object",
    "properties": {"first": _SEQ, "last": _SEQ},
    "required": ["first", "last"],
}
_FINDING: Schema = {
    "type": "object",
    "properties": {
        "title": TEXT,
        "body": TEXT,
        "confidence": _NUMBER,
        "priority": TEXT | {"enum": ["P0", "P1", "P2", "P3"]},
        "path": TEXT | {"description": "Relative to the session's folder"},
        "lines": _LINES,
        "rule": TEXT | {"description": "What kind of fault: by it the finding is known again"},
        "check": {
            "type": "object",
            "properties": CHECK["properties"],
            "description": "A check as of tap_create_goal that passes once this is mended; without "
            "one the finding is an opinion",
        },
    },
    "required": ["title"],
}
_PROPOSAL: Schema = {
    "type": "object",
    "properties": {
        "finding": TEXT | {"description": "The id or fingerprint of a finding of before"},
        "disposition": TEXT | {"enum": ["open", "accepted", "rejected", "deferred", "fixed"]},
        "reason": TEXT,
    },
    "required": ["finding", "disposition"],
}

REVIEW_TOOLS = (
    BuiltinTool(
        "tap_record_review",
        "Record a review of an emitter's or a stream's lines, also when nothing happened, or of "
        "code with findings. tapui adds line counts, run, turn and model. Findings that the person "
        "rejected before come back as rejected.",
        _record,
        _recorded,
        {
            "monitor": TEXT | {"description": "An emitter, a stream, or what was reviewed"},
            "stream": TEXT | {"description": "The stream, where monitor is no emitter or stream"},
            "range": {
                "type": "object",
                "properties": {"from": _SEQ, "to": _SEQ},
                "required": ["from", "to"],
                "description": "The lines that were read, by seq",
            },
            "observed": TEXT,
            "decision": TEXT | {"enum": ["ignore", "note", "surface", "act", "escalate"]},
            "reason": TEXT,
            "evidence": {
                "type": "array",
                "items": TEXT | {"description": "stream@provider#seq, a file, records:…"},
                "maxItems": limits.MAX_EVIDENCE_CHECKS,
            },
            "actions": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"what": TEXT, "toolCallId": TEXT},
                    "required": ["what"],
                },
                "maxItems": limits.MAX_REVIEW_ACTIONS,
            },
            "confidence": _NUMBER,
            "next": {
                "type": "object",
                "properties": {
                    "check": TEXT | {"description": "10m, RFC 3339 or idle"},
                    "change": {"type": "array", "description": "Filter rules that are proposed"},
                },
            },
            "findings": {
                "type": "array",
                "items": _FINDING,
                "maxItems": limits.MAX_REVIEW_FINDINGS,
            },
            "proposals": {
                "type": "array",
                "items": _PROPOSAL,
                "description": "What to do with earlier findings; the person decides",
                "maxItems": limits.MAX_REVIEW_FINDINGS,
            },
        },
        _REQUIRED,
        former=frozenset({"findings.check.*"}),
    ),
)
