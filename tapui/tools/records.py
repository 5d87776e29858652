"""The built-in tool that asks a session's own records."""

import re
from typing import Any, get_args

import msgspec
from msgspec import Struct

from tapui.tools.definitions import TEXT, BuiltinTool, Schema, object_of
from tapui.wire.builtin import (
    RecordAggregate,
    RecordAggregation,
    RecordCollection,
    RecordCondition,
    RecordOperator,
    RecordQuery,
    RecordsAnswer,
    RecordsAsked,
)
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.limits import (
    MAX_AGGREGATES,
    MAX_CONDITIONS,
    MAX_FIELDS,
    MAX_GROUPS,
    MAX_ID,
    MAX_PATH,
    MAX_PATTERN,
)
from tapui.wire.message import Message
from tapui.wire.provider import ToolCall

MAX_RECORDS = 500
_COLLECTIONS = get_args(RecordCollection)
_OPERATORS = get_args(RecordOperator)
_AGGREGATIONS = get_args(RecordAggregation)
_FORMER = {"stream-posts": "streams"}
"""Names of the earlier extension's collections."""
_SPAN = re.compile(r"\d{1,6}(?:\.\d{1,3})?\s*[smhdw]\Z")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")


class _Given(Struct, rename="camel", forbid_unknown_fields=True):
    """Arguments of `tap_query_records`, by name; what they hold is looked at one by one."""

    collection: Any = None
    where: Any = None
    any: Any = None
    text: Any = None
    since: Any = None
    until: Any = None
    fields: Any = None
    order: Any = "desc"
    limit: Any = 20
    cursor: Any = None
    group_by: Any = None
    aggregate: Any = None


def query_of(args: dict[str, Any]) -> RecordQuery:
    """Read the arguments. Raises `WireError`, which names the field."""
    unknown = sorted(args.keys() - set(_Given.__struct_encode_fields__))
    if unknown:
        known = ", ".join(_Given.__struct_encode_fields__)
        raise _wrong(unknown[0], f"not an argument; there are {known}")
    given = msgspec.convert(args, _Given)
    collection = _FORMER.get(str(given.collection), given.collection)
    group_by, every = _groups(given.group_by)
    limit = given.limit
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_RECORDS:
        raise _wrong("limit", f"1 to {MAX_RECORDS}")
    return RecordQuery(
        collection=_one_of(collection, _COLLECTIONS, "collection"),
        where=_conditions(given.where, "where"),
        any=_conditions(given.any, "any"),
        text=_text(given.text, "text", MAX_PATTERN),
        since=_moment(given.since, "since"),
        until=_moment(given.until, "until"),
        fields=_paths(given.fields, "fields", MAX_FIELDS),
        order=_one_of(given.order, ("desc", "asc"), "order"),
        limit=limit,
        cursor=_text(given.cursor, "cursor", MAX_PATH),
        group_by=group_by,
        every=every,
        aggregate=_aggregates(given.aggregate),
    )


def _wrong(field: str, text: str) -> WireError:
    return WireError(ErrorCode.INVALID_JSON, f"{field}: {text}")


def _one_of(given: Any, known: tuple[str, ...], field: str) -> Any:
    if given not in known or not isinstance(given, str):
        raise _wrong(field, f"one of {', '.join(known)}")
    return given


def _text(given: Any, field: str, most: int) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str) or not 1 <= len(given) <= most:
        raise _wrong(field, f"a text of 1 to {most} characters")
    return given


def _moment(given: Any, field: str) -> str | None:
    text = _text(given, field, MAX_ID)
    if text is not None and not _SPAN.match(text) and not _TIME.match(text):
        raise _wrong(field, "RFC 3339, or a span before now such as 2h or 3d")
    return text


def _list(given: Any, field: str, most: int) -> list[Any]:
    if given is None:
        return []
    if not isinstance(given, list) or len(given) > most:
        raise _wrong(field, f"a list of at most {most}")
    return given


def _paths(given: Any, field: str, most: int) -> list[str]:
    return [
        _text(one, f"{field}[{at}]", MAX_ID) or ""
        for at, one in enumerate(_list(given, field, most))
        if one is not None
    ]


def _fields_of(given: Any, field: str, known: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise _wrong(field, "an object")
    if unknown := sorted(given.keys() - set(known)):
        raise _wrong(f"{field}.{unknown[0]}", f"not known here; there are {', '.join(known)}")
    return given


def _conditions(given: Any, field: str) -> list[RecordCondition]:
    found = []
    for at, one in enumerate(_list(given, field, MAX_CONDITIONS)):
        where = f"{field}[{at}]"
        told = _fields_of(one, where, ("field", "op", "value"))
        path = _text(told.get("field"), f"{where}.field", MAX_ID)
        if path is None:
            raise _wrong(f"{where}.field", "missing: a path such as call.tool")
        op = _one_of(told.get("op"), _OPERATORS, f"{where}.op")
        value = told.get("value")
        if op in ("in", "nin") and not isinstance(value, list):
            raise _wrong(f"{where}.value", f"a list, for {op}")
        if op in ("startsWith", "endsWith", "matches"):
            _text(value if value is not None else "", f"{where}.value", MAX_PATTERN)
        found.append(RecordCondition(path, op, value))
    return found


def _groups(given: Any) -> tuple[list[str], str | None]:
    if isinstance(given, dict):
        every = _fields_of(given, "groupBy", ("every",)).get("every")
        if not isinstance(every, str) or not _SPAN.match(every):
            raise _wrong("groupBy.every", "a span such as 5m or 1h")
        return [], every
    return _paths(given, "groupBy", MAX_GROUPS), None


def _aggregates(given: Any) -> list[RecordAggregate]:
    found = []
    for at, one in enumerate(_list(given, "aggregate", MAX_AGGREGATES)):
        where = f"aggregate[{at}]"
        told = _fields_of(one, where, ("op", "field", "as"))
        op = _one_of(told.get("op"), _AGGREGATIONS, f"{where}.op")
        path = _text(told.get("field"), f"{where}.field", MAX_ID)
        if path is None and op != "count":
            raise _wrong(f"{where}.field", f"missing: {op} is of a field")
        found.append(RecordAggregate(op, path, _text(told.get("as"), f"{where}.as", MAX_ID)))
    return found


def _ask(call: ToolCall) -> Message:
    return RecordsAsked(call.id, call.session_id, query_of(object_of(call)))


def _told(call: ToolCall, answer: RecordsAnswer) -> Any:
    former = object_of(call).get("collection")
    if former in _FORMER and isinstance(answer.found, dict):
        return {**answer.found, "collection": former}
    return answer.found


_CONDITION: Schema = {
    "type": "object",
    "properties": {
        "field": TEXT | {"description": "A path: call.tool, call.args.command, span.duration"},
        "op": TEXT | {"enum": list(_OPERATORS)},
        "value": {},
    },
    "required": ["field", "op"],
    "additionalProperties": False,
}
_CONDITIONS: Schema = {"type": "array", "items": _CONDITION, "maxItems": MAX_CONDITIONS}
_WHEN: Schema = TEXT | {"description": "RFC 3339, or a span before now: 2h, 3d"}

RECORD_TOOLS = (
    BuiltinTool(
        "tap_query_records",
        "Ask this session's own records: its tool calls and those of providers, stream lines, "
        "approvals, errors, spans, goals. Filter by paths such as call.tool, group, aggregate. "
        "A call is one record, with its end. Use it before saying what was done.",
        _ask,
        _told,
        {
            "collection": TEXT | {"enum": [*_COLLECTIONS, *_FORMER]},
            "where": _CONDITIONS | {"description": "All of these hold"},
            "any": _CONDITIONS | {"description": "One of these holds"},
            "text": TEXT | {"description": "Stands somewhere in the record"},
            "since": _WHEN,
            "until": _WHEN,
            "fields": {"type": "array", "items": TEXT, "maxItems": MAX_FIELDS},
            "order": TEXT | {"enum": ["desc", "asc"], "default": "desc"},
            "limit": {"type": "integer", "minimum": 1, "maximum": MAX_RECORDS, "default": 20},
            "cursor": TEXT | {"description": "That of an answer: what follows it"},
            "groupBy": {"description": 'A list of paths, or {"every": "5m"}'},
            "aggregate": {
                "type": "array",
                "maxItems": MAX_AGGREGATES,
                "items": {
                    "type": "object",
                    "properties": {
                        "op": TEXT | {"enum": list(_AGGREGATIONS)},
                        "field": TEXT,
                        "as": TEXT,
                    },
                    "required": ["op"],
                    "additionalProperties": False,
                },
            },
        },
        ("collection",),
    ),
)
