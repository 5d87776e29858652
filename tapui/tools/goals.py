"""The built-in tools for goals and evidence, also in the words of the earlier extension.

They open, note and verify; that a goal is achieved no argument can say.
"""

from typing import Any

import msgspec

from tapui.tools.definitions import TEXT, BuiltinTool, Pages, Schema, object_of
from tapui.wire import limits
from tapui.wire.criteria import AnyDemand, FileIs, StreamHas
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.goals import (
    GOALS_STREAM,
    AuditAsked,
    CheckResult,
    Claim,
    ClaimsReported,
    CommandExpected,
    CommandStated,
    CriterionGiven,
    EvidenceCheck,
    EvidenceNamed,
    Goal,
    GoalAnswer,
    GoalAsked,
    GoalBudget,
    GoalReport,
    GoalReported,
    GoalsList,
    GoalUpdateAsked,
    SessionGoalsRead,
    VerifyAsked,
)
from tapui.wire.message import BUILTIN_PROVIDER, Message
from tapui.wire.provider import ToolCall

_DEMANDS: dict[str, Any] = {str(kind.__struct_config__.tag): kind for kind in AnyDemand.__args__}
_FORMER = {"file": "file", "stream": "stream", "command_evidence": "command"}
_EXPECT = {"exitCode", "contains", "notContains", "matches", "in"}


# Checks


def evidence_check(given: Any, field: str) -> EvidenceCheck:
    """Return a check as an agent wrote it. Raises `ValueError` or `WireError` naming
    `field`."""
    if isinstance(given, str):
        return EvidenceCheck(EvidenceNamed(uri=given[: limits.MAX_PATH]))
    if not isinstance(given, dict):
        raise WireError(ErrorCode.INVALID_JSON, f"{field}: expected an object or a text")
    fields = dict(given)
    id_, why = fields.pop("id", None), str(fields.pop("why", ""))
    if "kind" not in fields and fields.get("type") in _FORMER:
        fields = _of_former(fields, field)
        why = why or str(given.get("description", ""))
    kind = fields.pop("kind", None)
    what: Any
    if kind == "command":
        what = _stated(fields, field)
    elif kind in _DEMANDS:
        what = _demand(str(kind), fields, field)
    else:
        kinds = ", ".join([*_DEMANDS, "command"])
        raise ValueError(f"{field}.kind: one of {kinds}")
    return EvidenceCheck(what, None if id_ is None else str(id_)[: limits.MAX_ID],
                         why[: limits.MAX_CRITERION])  # fmt: skip


def criterion_check(given: Any, field: str) -> AnyDemand | None:
    """Return the check of a criterion: a stated command is one that is to run."""
    if given is None:
        return None
    check = evidence_check(given, field).of
    if isinstance(check, CommandStated):
        found: AnyDemand = _demand(
            "ran", {"command": check.command, "exitCode": check.expect.exit_code}, field
        )
        return found
    if isinstance(check, EvidenceNamed):
        raise WireError(ErrorCode.INVALID_JSON, f"{field}: a pointer is no check")
    return check


def _demand(kind: str, fields: dict[str, Any], field: str) -> Any:
    demand = _DEMANDS[kind]
    for name in ("contains", "notContains"):
        if demand is FileIs and isinstance(fields.get(name), str):
            fields[name] = [fields[name]]
    if demand is StreamHas:
        stream = fields.get("stream")
        if isinstance(stream, str) and "@" not in stream:
            fields["stream"] = f"{stream}@{BUILTIN_PROVIDER}"
        if isinstance(fields.get("since"), int):
            fields["since"] = str(fields["since"])
    return _converted(demand, fields, field)


def _converted(kind: Any, fields: dict[str, Any], field: str) -> Any:
    known = frozenset(kind.__struct_encode_fields__)
    unknown = fields.keys() - known
    if unknown:
        raise ValueError(
            f"{field}.{min(unknown)}: not known here; known: {', '.join(sorted(known))}"
        )
    tag = kind.__struct_config__.tag
    tagged = fields if tag is None else {**fields, kind.__struct_config__.tag_field: tag}
    try:
        return msgspec.json.decode(msgspec.json.encode(tagged), type=kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{field}: {error}") from None


def _stated(fields: dict[str, Any], field: str) -> CommandStated:
    expect = fields.pop("expect", {})
    if not isinstance(expect, dict) or expect.keys() - _EXPECT:
        raise ValueError(f"{field}.expect: an object of {', '.join(sorted(_EXPECT))}")
    expect = {("where" if name == "in" else name): one for name, one in expect.items()}
    expected = _converted(CommandExpected, expect, f"{field}.expect")
    told = _converted(CommandStated, fields, field)
    stated: CommandStated = msgspec.structs.replace(told, expect=expected)
    return stated


def _of_former(fields: dict[str, Any], field: str) -> dict[str, Any]:
    """Return a check of the earlier extension in today's words."""
    kind = _FORMER[fields["type"]]
    made: dict[str, Any] = {"kind": kind}
    if kind == "file":
        made["path"] = fields.get("path", "")
        if fields.get("nonEmpty"):
            made["minBytes"] = 1
    elif kind == "stream":
        made["stream"] = fields.get("channel", "")
        for name, former in (("last", "limit"), ("minCount", "minEntries")):
            if fields.get(former) is not None:
                made[name] = fields[former]
    else:
        made["command"] = str(fields.get("label") or fields.get("command") or "")
        code = fields.get("exitCode")
        if code is None and isinstance(fields.get("success"), bool):
            code = 0 if fields["success"] else 1
        if code is not None:
            made["exitCode"] = code
        return made
    if fields.get("contains") is not None:
        made["contains"] = fields["contains"]
    if fields.get("pattern") is not None:
        made["matches"] = fields["pattern"]
    if not made.get("path", made.get("stream")):
        raise ValueError(f"{field}.{'path' if kind == 'file' else 'channel'}: missing")
    return made


def _checks(given: Any, field: str) -> list[EvidenceCheck]:
    if given is None:
        return []
    if not isinstance(given, list) or len(given) > limits.MAX_EVIDENCE_CHECKS:
        raise ValueError(f"{field}: a list of at most {limits.MAX_EVIDENCE_CHECKS}")
    return [evidence_check(one, f"{field}[{at}]") for at, one in enumerate(given)]


def criteria_of(given: Any, field: str) -> list[CriterionGiven]:
    """Return criteria as an agent, or the person, wrote them. Raises `ValueError` or `WireError`
    naming `field`."""
    if given is None:
        return []
    if not isinstance(given, list) or len(given) > limits.MAX_CRITERIA:
        raise ValueError(f"{field}: a list of at most {limits.MAX_CRITERIA}")
    made = []
    for at, one in enumerate(given):
        fields = {"text": one} if isinstance(one, str) else one
        if not isinstance(fields, dict):
            raise WireError(ErrorCode.INVALID_JSON, f"{field}[{at}]: expected an object")
        id_, text = fields.get("id"), fields.get("text", "")
        if not isinstance(text, str) or len(text) > limits.MAX_CRITERION:
            most = limits.MAX_CRITERION
            raise ValueError(f"{field}[{at}].text: a text of at most {most} characters")
        check = criterion_check(fields.get("check"), f"{field}[{at}].check")
        made.append(CriterionGiven(None if id_ is None else str(id_)[: limits.MAX_ID], text, check))
    return made


def _text(args: dict[str, Any], name: str, most: int = limits.MAX_CRITERION) -> str:
    given = args.get(name)
    if given is None:
        return ""
    if not isinstance(given, str) or len(given) > most:
        raise ValueError(f"{name}: a text of at most {most} characters")
    return given


def _optional(args: dict[str, Any], name: str) -> str | None:
    return _text(args, name, limits.MAX_ID) or None


# What is asked


def _create(call: ToolCall) -> Message:
    args = object_of(call)
    budget = args.get("budget")
    return GoalAsked(
        call.id,
        call.session_id,
        _text(args, "title", limits.MAX_SUMMARY),
        criteria_of(args.get("criteria"), "criteria"),
        parent=_optional(args, "parent"),
        deadline=_optional(args, "deadline"),
        budget=_converted(GoalBudget, dict(budget), "budget") if isinstance(budget, dict) else None,
    )


def _update(call: ToolCall) -> Message:
    args = object_of(call)
    status = args.get("status")
    if status not in (None, "active", "paused", "blocked", "abandoned"):
        raise ValueError("status: active, paused, blocked or abandoned; achieved is verified")
    return GoalUpdateAsked(
        call.id,
        call.session_id,
        _needed(args, "goalId"),
        status,
        _text(args, "note"),
        criteria_of(args.get("addCriteria"), "addCriteria"),
        _checks(args.get("evidence"), "evidence"),
    )


def _needed(args: dict[str, Any], name: str) -> str:
    given = _optional(args, name)
    if given is None:
        raise ValueError(f"{name}: missing")
    return given


def _list(call: ToolCall) -> Message:
    args = object_of(call)
    last = args.get("last", 20)
    if isinstance(last, bool) or not isinstance(last, int) or not 1 <= last <= limits.MAX_GOALS:
        raise ValueError(f"last: 1 to {limits.MAX_GOALS}")
    status = args.get("status")
    if status is not None and status not in _STATUSES:
        raise ValueError(f"status: one of {', '.join(_STATUSES)}")
    return SessionGoalsRead(call.id, call.session_id, status, last)


def _verify(call: ToolCall) -> Message:
    args = object_of(call)
    return VerifyAsked(
        call.id,
        call.session_id,
        _optional(args, "goalId"),
        _checks(args.get("checks"), "checks"),
        args.get("allowStated") is True,
    )


def _audit(call: ToolCall) -> Message:
    args = object_of(call)
    given = args.get("claims")
    if not isinstance(given, list) or not 1 <= len(given) <= limits.MAX_CLAIMS:
        raise ValueError(f"claims: a list of 1 to {limits.MAX_CLAIMS}")
    claims = []
    for at, one in enumerate(given):
        if not isinstance(one, dict):
            raise WireError(ErrorCode.INVALID_JSON, f"claims[{at}]: expected an object")
        text = _text({"text": one.get("text", one.get("claim"))}, "text")
        if not text.strip():
            raise ValueError(f"claims[{at}].text: missing")
        evidence = _checks(one.get("evidence"), f"claims[{at}].evidence")
        claims.append(Claim(text, _optional(one, "id"), evidence, one.get("material") is not False))
    if sum(len(one.evidence) for one in claims) > limits.MAX_EVIDENCE_CHECKS:
        raise ValueError(f"claims: at most {limits.MAX_EVIDENCE_CHECKS} checks in all")
    return AuditAsked(call.id, call.session_id, claims, _optional(args, "goalId"))


# What is answered


def _created(_call: ToolCall, answer: GoalAnswer) -> Any:
    criteria = [{"id": one.id, "text": one.text} for one in answer.goal.criteria]
    return {"goalId": answer.goal.id, "stream": GOALS_STREAM, "criteria": criteria}


def _updated(_call: ToolCall, answer: GoalAnswer) -> Any:
    goal = answer.goal
    told = {"goalId": goal.id, "status": goal.status, "revision": goal.revision}
    return told | ({"evidence": report_json(answer.report)} if answer.report is not None else {})


def goal_json(goal: Goal) -> dict[str, Any]:
    """Return a goal as an agent reads it."""
    told = {
        "goalId": goal.id,
        "title": goal.title,
        "status": goal.status,
        "openedBy": goal.opened_by,
        "criteria": [
            {
                "id": one.id,
                "text": one.text,
                "state": one.verdict.state if one.verdict is not None else "open",
                **({"reason": one.verdict.reason} if one.verdict and one.verdict.reason else {}),
            }
            for one in goal.criteria
        ],
        "note": goal.note or None,
        "openedAt": goal.opened_at,
        "closedAt": goal.closed_at,
        "verifiedAt": goal.verified_at,
    }
    return {name: value for name, value in told.items() if value is not None}


def _listed(_call: ToolCall, answer: GoalsList) -> Any:
    return {"goals": [goal_json(one) for one in answer.goals]}


def report_json(report: GoalReport) -> dict[str, Any]:
    """Return a report in the words of the interface."""
    counts = report.counts
    told: dict[str, Any] = {
        "verdict": report.verdict,
        "checks": [_check_json(one) for one in report.checks],
        "counts": {
            "pass": counts.passed,
            "fail": counts.failed,
            "error": counts.error,
            "unknown": counts.unknown,
        },
        "evidenceId": report.evidence_id,
        "checkedAt": report.checked_at,
    }
    return told | ({"goalId": report.goal_id} if report.goal_id is not None else {})


def _check_json(check: CheckResult) -> Any:
    return msgspec.to_builtins(check)


def _verified(call: ToolCall, answer: GoalReported) -> Any:
    told = report_json(answer.report)
    if answer.goal is not None:
        told["status"] = answer.goal.status
    given = object_of(call).get("checks")
    if isinstance(given, list) and any(isinstance(one, dict) and "type" in one for one in given):
        told["text"] = _former_text(given, answer.report)
    return told


def _former_text(given: list[Any], report: GoalReport) -> str:
    """Return a report as the earlier extension said it."""
    is_passed = report.verdict == "verified"
    lines = [f"Goal output verification: {'passed' if is_passed else 'failed'}"]
    for one, check in zip(given, report.checks, strict=False):
        fields = one if isinstance(one, dict) else {}
        names = (fields.get(name) for name in ("description", "path", "channel", "label"))
        name = next((str(found) for found in names if found), check.id)
        is_pass = check.status == "pass"
        why = "" if is_pass else f" — {check.reason or check.actual or check.status}"
        lines.append(f"- {'PASS' if is_pass else 'FAIL'} {name}{why}")
    return "\n".join(lines)


def _audited(_call: ToolCall, answer: ClaimsReported) -> Any:
    audit = answer.audit
    verdicts = [one.verdict for one in audit.claims]
    told: dict[str, Any] = {
        "verdict": audit.verdict,
        "claims": [
            {
                "id": one.id,
                "text": one.text,
                "verdict": one.verdict,
                "reason": one.reason,
                "evidence": [_check_json(check) for check in one.checks],
            }
            for one in audit.claims
        ],
        "counts": {
            name: verdicts.count(name) for name in ("supported", "contradicted", "unsupported")
        },
        "auditId": audit.audit_id,
        "auditedAt": audit.audited_at,
    }
    return told


_STATUSES = ("active", "paused", "blocked", "achieved", "failed", "abandoned")
_GOAL_ID: Schema = TEXT | {"description": "As tap_create_goal or tap_list_goals gave it"}
_FIELDS = dict.fromkeys(
    name for kind in AnyDemand.__args__ for name in kind.__struct_encode_fields__
)
CHECK: Schema = {
    "type": "object",
    "properties": {"kind": TEXT, "id": {}, "why": {}} | {name: {} for name in _FIELDS},
    "description": 'kind "ran" {command, exitCode?}, "file" {path, exists?, contains?, matches?, '
    'json?, sha256?, minBytes?}, "stream" {stream, contains?, matches?, minCount?}, "call" '
    '{tool, ok?, where?}, "person" {text}',
}
_EVIDENCE: Schema = {
    "type": "object",
    "properties": CHECK["properties"]
    | {name: {} for name in CommandStated.__struct_encode_fields__},
    "description": f'{CHECK["description"]}, or "command" {{command, exitCode, toolCallId?}}: '
    "held against what is recorded",
}
_FORMER_CHECKS = frozenset({
    "criteria.check.*", "addCriteria.check.*", "evidence.*", "checks.*", "claims.evidence.*",
})  # fmt: skip
_CRITERIA: Schema = {
    "type": "array",
    "maxItems": limits.MAX_CRITERIA,
    "items": {
        "type": "object",
        "properties": {"id": TEXT, "text": TEXT, "check": CHECK},
        "required": ["text"],
    },
}

GOAL_TOOLS = (
    BuiltinTool(
        "tap_create_goal",
        "Open a goal with criteria that can be checked. It is achieved once all of them have "
        "passed at one moment. Run commands by themselves, without a pipe, so that their exit "
        "code counts.",
        _create,
        _created,
        {
            "title": TEXT,
            "criteria": _CRITERIA,
            "deadline": TEXT | {"description": "RFC 3339"},
            "parent": TEXT | {"description": "The id of another goal"},
            "budget": {
                "type": "object",
                "properties": {"turns": {"type": "integer"}, "tokens": {"type": "integer"}},
            },
        },
        ("title", "criteria"),
        former=_FORMER_CHECKS | {"unproven"},  # the person's to say: what an agent says is not used
    ),
    BuiltinTool(
        "tap_update_goal",
        "Note something at a goal, or pause, block, resume or give up one that you opened. The "
        "person's goals you can only note and verify. No status makes a goal achieved.",
        _update,
        _updated,
        {
            "goalId": _GOAL_ID,
            "status": TEXT | {"enum": ["active", "paused", "blocked", "abandoned"]},
            "note": TEXT,
            "addCriteria": _CRITERIA,
            "evidence": {"type": "array", "items": _EVIDENCE},
        },
        ("goalId",),
        former=_FORMER_CHECKS,
    ),
    BuiltinTool(
        "tap_list_goals",
        "List this session's goals, the person's and yours, with how each criterion stands.",
        _list,
        _listed,
        {
            "status": TEXT | {"enum": list(_STATUSES)},
            "last": {"type": "integer", "minimum": 1, "maximum": limits.MAX_GOALS, "default": 20},
        },
        pages=Pages("goals", "goalId", is_newest_last=True),
    ),
    BuiltinTool(
        "tap_verify_goal_output",
        "Check a goal's criteria, or checks of your own, against files, streams and the recorded "
        "commands. Nothing is run. Commands that only you tell of are unknown.",
        _verify,
        _verified,
        {
            "goalId": _GOAL_ID,
            "checks": {
                "type": "array",
                "items": _EVIDENCE,
                "maxItems": limits.MAX_EVIDENCE_CHECKS,
            },
            "allowStated": {"type": "boolean", "default": False},
        },
        former=_FORMER_CHECKS,
    ),
    BuiltinTool(
        "tap_audit_claims",
        "Hold claims against evidence: files, streams, recorded commands. No model is asked and "
        "nothing is run. A claim without evidence is unsupported.",
        _audit,
        _audited,
        {
            "claims": {
                "type": "array",
                "maxItems": limits.MAX_CLAIMS,
                "items": {
                    "type": "object",
                    "properties": {
                        "id": TEXT,
                        "text": TEXT,
                        "evidence": {"type": "array", "items": _EVIDENCE},
                        "material": {"type": "boolean", "default": True},
                    },
                    "required": ["text", "evidence"],
                },
            },
            "goalId": _GOAL_ID,
        },
        ("claims",),
        former=_FORMER_CHECKS | {"claims.claim"},
    ),
)
