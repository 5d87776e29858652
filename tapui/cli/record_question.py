"""`tapui records query`: what `tap_query_records` asks, for people: of any session, as a table."""

import argparse
import json
import re
from typing import Any

import msgspec

from tapui.cli import output
from tapui.cli.context import home
from tapui.cli.failure import FAILED, WRONG_USE, Failure
from tapui.cli.journals import indexed_session, open_index
from tapui.tools.records import query_of
from tapui.wire.errors import WireError

MAX_ROWS = 10_000
SECONDS = 10.0
"""How long an answer may take; the answer has what was found until then."""
_ROOM = 32 * 1024 * 1024
"""Bytes of an answer."""
_SIGNS = {"=": "eq", "!=": "ne", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte", "~": "matches"}
_BY_SIGN = re.compile(r"([^\s=!<>~]+)\s*(!=|<=|>=|[=<>~])\s*(.*)\Z", re.DOTALL)
_BY_WORD = re.compile(r"(\S+)\s+([a-zA-Z]+)(?:\s+(.*))?\Z", re.DOTALL)
_TEXTS = ("matches", "contains", "startsWith", "endsWith")


def run(args: argparse.Namespace) -> int:
    """Print an answer; 1 where there is none, 2 where the question is wrong."""
    from tapui.index.answer_forms import as_csv, as_markdown, number_columns, texts
    from tapui.index.asking import QuestionRefused, ask_records
    from tapui.index.store import IndexUnusable

    asked = asked_of(args)
    try:
        with open_index() as search:
            asked["session"] = indexed_session(search, args.session)
            found = ask_records(home().state, asked, seconds=SECONDS)
    except QuestionRefused as error:
        raise Failure(str(error), WRONG_USE if error.is_wrong else FAILED) from None
    except IndexUnusable as error:
        raise Failure(f"the index cannot be read: {error}") from None
    if args.format == "jsonl":
        for one in _entries(found):
            output.say_json(one)
    elif (table := table_of(found)).rows or args.format == "csv":
        if args.format == "csv":
            output.say_exactly(as_csv(table))
        elif args.format == "md":
            output.say(as_markdown(table), newlines=True)
        else:
            output.table(table.columns, texts(table), numbers=number_columns(table))
    _tell(found)
    return 0


def asked_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return the question that arguments are, but for its session. Raises `Failure`."""
    if args.limit > MAX_ROWS:
        raise Failure(f"--limit: at most {MAX_ROWS:,}", WRONG_USE)
    given: dict[str, Any] = {
        "collection": args.of,
        "where": [condition(one) for one in args.where],
        "since": args.since,
        "groupBy": args.group_by,
        "aggregate": [_aggregate(one) for one in args.agg],
    }
    try:
        asked: dict[str, Any] = msgspec.to_builtins(query_of(given))
    except WireError as error:
        raise Failure(error.text, WRONG_USE) from None
    return asked | {"limit": args.limit, "room": _ROOM}


def condition(text: str) -> dict[str, Any]:
    """Read `call.duration>500` or `call.tool startsWith ba`. Raises `Failure`.

    A value is JSON where it can be read so, else the text itself.
    """
    if found := _BY_SIGN.match(text.strip()):
        path, op, value = found[1], _SIGNS[found[2]], found[3]
    elif found := _BY_WORD.match(text.strip()):
        path, op, value = found[1], found[2], found[3]
    else:
        wanted = "a path, a comparison and a value such as call.duration>500"
        raise Failure(f"--where {text}: expected {wanted}", WRONG_USE)
    if value is None:
        return {"field": path, "op": op}
    return {"field": path, "op": op, "value": value if op in _TEXTS else _value(value)}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _aggregate(text: str) -> dict[str, Any]:
    op, _, path = text.partition(":")
    return {"op": op, "as": text} | ({"field": path} if path else {})


def _entries(found: dict[str, Any]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = found["groups" if "groups" in found else "records"]
    return entries


def table_of(found: dict[str, Any]) -> Any:
    """Return the groups or records of an answer as a table: a column for each path."""
    from tapui.index.asking import AnswerTable

    rows = []
    for one in _entries(found):
        fields = dict(one)
        # The paths of a group's key stand as they were given.
        key = fields.pop("key", {}) if "groups" in found else {}
        rows.append(key | _flat(fields))
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return AnswerTable(columns, [[row.get(name) for name in columns] for row in rows])


def _flat(fields: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    told: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            told |= _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            told[prefix + name] = json.dumps(value, ensure_ascii=False)
        else:
            told[prefix + name] = value
    return told


def _tell(found: dict[str, Any]) -> None:
    """Note what the answer lacks."""
    if not _entries(found):
        output.note("there are no such records")
    if "cursor" in found:
        output.note("there are more than these; give a higher --limit, or ask for fewer")
    elif found["truncated"]:
        output.note(f"it took longer than {SECONDS:g} seconds: this was found until then")
    if skipped := found.get("skippedTypes"):
        output.note(f"values of another type than asked for: {skipped:,}")
    if "index" in found and found["damaged"]:
        output.note(f"damaged lines passed over: {found['damaged']:,}")
