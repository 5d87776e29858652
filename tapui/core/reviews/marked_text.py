"""Reviews as marked text: what a prompt that can only post writes, and the line of each review.

Today's form begins `REVIEW RECORD <id>: <decision>` and goes on with lines `key: value`; a value
goes on in lines that begin with two blanks. The earlier form is JSON between two marker lines.
"""

import re
from typing import Any, get_args

import msgspec

from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.reviews import Review, ReviewDecision, ReviewGiven

MARK = "REVIEW RECORD"
BEGIN = "=== BEGIN_REVIEW_RECORD ==="
END = "=== END_REVIEW_RECORD ==="
DECISIONS: tuple[str, ...] = get_args(ReviewDecision)
_FIRST = re.compile(rf"{MARK}[ \t]+(\S{{1,{limits.MAX_ID}}}?)[ \t]*:[ \t]*(\S+)[ \t]*")
_KEY = re.compile(r"([A-Za-z]{2,16}):(?:[ \t]+(.*)|[ \t]*)")
_RANGE = re.compile(r"(\d{1,15})\s*(?:-|\.\.)\s*(\d{1,15})")
_ONCE = ("monitor", "stream", "range", "observed", "reason", "confidence", "next")
_OFTEN = ("evidence", "action", "finding")
_IGNORED = ("lines", "unreviewed", "findings", "at")
"""Keys of lines that the gateway writes for people: it counts these itself."""
_KEYS = frozenset((*_ONCE, *_OFTEN, *_IGNORED))
_ISSUES = ("noise_pattern", "missed_signal", "over_filtering", "duplicate_inject", "no_change")


def is_record(text: str) -> bool:
    """Return whether a posted text is meant as a review."""
    return text.startswith(MARK) or text.lstrip().startswith(BEGIN)


def read(text: str, monitor: str = "") -> ReviewGiven:
    """Return the review that a text tells; `monitor` is what it is about where the text does not
    say. Raises `WireError` (`INVALID_JSON`) naming the line or the field."""
    if text.lstrip().startswith(BEGIN):
        return former(text, monitor)
    first, *rest = text.replace("\r\n", "\n").split("\n")
    found = _FIRST.fullmatch(first)
    if found is None or found[2] not in DECISIONS:
        raise _invalid(f"message: begins `{MARK} <id>: <{'|'.join(DECISIONS)}>`")
    values = _values(rest)
    fields: dict[str, Any] = {
        "monitor": values.get("monitor", [monitor])[-1],
        "decision": found[2],
        **{name: values[name][-1] for name in ("stream", "observed", "reason") if name in values},
        "evidence": values.get("evidence", []),
        "actions": [{"what": one} for one in values.get("action", [])],
    }
    if "range" in values:
        fields["range"] = _range(values["range"][-1])
    if "confidence" in values:
        try:
            fields["confidence"] = float(values["confidence"][-1])
        except ValueError:
            raise _invalid("confidence: a number from 0 to 1") from None
    if "next" in values:
        fields["next"] = {"check": values["next"][-1]}
    fields["findings"] = [
        _json(one, f"finding[{at}]") for at, one in enumerate(values.get("finding", []))
    ]
    return _converted(fields)


def _values(lines: list[str]) -> dict[str, list[str]]:
    """Return the values of lines `key: value` by key, in their order."""
    values: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in lines:
        found = _KEY.fullmatch(line)
        key = found[1].lower() if found is not None else ""
        if found is not None and key in _KEYS:
            current = values.setdefault(key, [])
            current.append(found[2] or "")
        elif current is not None:
            current[-1] += "\n" + line.removeprefix("  ")
        elif line.strip():
            raise _invalid(f"message: `{line[:60]}` has no key; known: {', '.join(sorted(_KEYS))}")
    return {key: [one.rstrip() for one in found] for key, found in values.items()}


def _range(text: str) -> dict[str, int]:
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        raise _invalid("range: two numbers of lines, such as 12-40")
    return {"from": int(found[1]), "to": int(found[2])}


def former(text: str, monitor: str = "") -> ReviewGiven:
    """Return the review that JSON between the earlier marker lines tells. Raises `WireError`."""
    _, _, rest = text.partition(BEGIN)
    body, end, _ = rest.partition(END)
    if not end:
        raise _invalid(f"message: no line {END}")
    told = _json(body, "message")
    issue = told.get("issue_type", "no_change")
    if issue not in _ISSUES:
        raise _invalid(f"issue_type: one of {', '.join(_ISSUES)}")
    examined = told.get("entries_examined", 0)
    lists: dict[str, list[str]] = {}
    for name in ("patterns_changed", "remaining_noise_delta", "signal_vocabulary",
                 "noise_vocabulary"):  # fmt: skip
        given = told.get(name) or []
        if not isinstance(given, list):
            raise _invalid(f"{name}: expected a list")
        lists[name] = [one if isinstance(one, str) else _plain(one) for one in given]
    changed = lists.pop("patterns_changed")
    observed = [f"{examined} entries examined", *(
        f"{name.replace('_', ' ')}: {', '.join(found)}" for name, found in lists.items() if found
    )]  # fmt: skip
    decision = "ignore" if issue == "no_change" else "act" if changed else "note"
    return _converted(
        {
            "monitor": told.get("monitor") or monitor,
            "decision": decision,
            "observed": "; ".join(observed)[: limits.MAX_CRITERION],
            "reason": issue.replace("_", " "),
            "actions": [{"what": one[: limits.MAX_CRITERION]} for one in changed],
        }
    )


def _plain(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _json(text: str, field: str) -> dict[str, Any]:
    try:
        told = msgspec.json.decode(text.strip().encode())
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise _invalid(f"{field}: no JSON object") from None
    if not isinstance(told, dict):
        raise _invalid(f"{field}: no JSON object")
    return told


def _converted(fields: dict[str, Any]) -> ReviewGiven:
    if not fields["monitor"]:
        raise _invalid("monitor: missing; write the line `monitor: <emitter or stream>`")
    try:
        return msgspec.json.decode(msgspec.json.encode(fields), type=ReviewGiven)
    except (msgspec.ValidationError, UnicodeError, RecursionError) as error:
        raise _invalid(str(error)) from None


def _invalid(text: str) -> WireError:
    return WireError(ErrorCode.INVALID_JSON, text)


# The line of a review


def text_of(review: Review) -> str:
    """Return a review as the text of its line; `read` makes the same record of it."""
    lines = [f"{MARK} {review.id}: {review.decision}", f"monitor: {_indented(review.monitor)}"]
    if review.stream is not None:
        lines.append(f"stream: {_indented(review.stream)}")
    if review.range is not None:
        lines.append(f"range: {review.range.first}-{review.range.last}")
        lines.append(f"lines: {review.lines}")
    if review.unreviewed:
        lines.append(f"unreviewed: {review.unreviewed}")
    for key, values in (
        ("observed", [review.observed]),
        ("reason", [review.reason]),
        ("evidence", review.evidence),
        ("action", [one.what for one in review.actions]),
        ("next", [review.next.check] if review.next is not None else []),
    ):
        lines += [f"{key}: {_indented(value)}" for value in values if value]
    if review.confidence is not None:
        lines.append(f"confidence: {review.confidence:g}")
    if review.findings:
        lines.append(f"findings: {len(review.findings)}")
    return "\n".join(lines)


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")
