"""The process that answers one question to the records: `python -m tapui.index.answering`.

The question comes as JSON on stdin. On stdout an empty line says that it begins; the answer follows
as JSON lines: the columns, a line for each row, and how it ended. SQL is hostile input, so it runs
here, with little memory and time, on a connection that only reads, and is taken only if it asks of
views alone:

1. It begins with SELECT, WITH or VALUES, and is one statement.
2. It compiles in an empty connection that has views of these names and nothing else: there is no
   table behind them that could be named.
3. In the connection with the views, the authorizer lets views read what is below them, and the
   statement nothing but views and listed functions.
"""

import contextlib
import json
import math
import re
import resource
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

from tapui.index.asking import QuestionRefused
from tapui.index.store import IndexMissing, IndexUnusable, index_path, opened_to_read
from tapui.index.views import BY_NAME, GONE, MAX_VALUE, TABLES, imitate, install

MEMORY = 512 * 1024 * 1024
"""Bytes of address space."""
_ENDING = 1.0
"""Seconds beside those of a question that ends by itself once they are over."""
MAX_ANSWER = 32 * 1024 * 1024
"""Bytes of rows; what comes after them is left out."""
FUNCTIONS = frozenset(
    {
        "abs", "avg", "ceil", "ceiling", "coalesce", "concat", "concat_ws", "count", "cume_dist",
        "date", "datetime", "dense_rank", "exp", "first_value", "floor", "format", "glob",
        "group_concat", "hex", "ifnull", "iif", "instr", "json", "json_array_length",
        "json_extract", "json_type", "json_valid", "julianday", "lag", "last_value", "lead",
        "length", "like", "ln", "log", "lower", "ltrim", "max", "min", "mod", "nth_value",
        "ntile", "nullif", "octet_length", "percent_rank", "pow", "power", "printf", "quote",
        "rank", "replace", "round", "row_number", "rtrim", "sign", "sqrt", "strftime",
        "string_agg", "substr", "substring", "sum", "time", "timediff", "total", "trim", "trunc",
        "typeof", "unhex", "unicode", "unixepoch", "unpacked", "upper", "->", "->>", "char",
    }
)  # fmt: skip
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_VALUE,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 500,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 500,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 100,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_LEADING = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*(\w*)", re.DOTALL)


def main() -> int:
    print(flush=True)
    request = json.loads(sys.stdin.buffer.read())
    _confine(request["seconds"] + (0 if "sql" in request else _ENDING))
    try:
        if "records" in request:
            from tapui.index.record_query import answer

            _say(answer(Path(request["state"]), request["records"], request["seconds"]))
        else:
            _answer(request)
    except (IndexUnusable, QuestionRefused) as error:
        is_missing = isinstance(error, IndexMissing)
        _say({"error": str(error), "isMissing": is_missing})
    except (sqlite3.Error, sqlite3.Warning) as error:
        _say({"error": _words(error)})
    except MemoryError:
        _say({"error": _TOO_MUCH})
    return 0


_TOO_MUCH = f"it needs more than {MEMORY // 1024 // 1024} MiB of memory"


def _words(error: Exception) -> str:
    text = str(error)
    if "out of memory" in text:
        return _TOO_MUCH
    if "too big" in text:
        return f"a value is larger than {MAX_VALUE // 1024 // 1024} MiB"
    if "not authorized" in text or "prohibited" in text:
        return f"{text}: a question reads views, and uses no other functions than are listed"
    return text


def _confine(seconds: float) -> None:
    """Bound what this process can use: it is killed, or gets an error, beyond that."""
    bounds = {
        "RLIMIT_AS": MEMORY,
        "RLIMIT_CPU": math.ceil(seconds) + 2,
        "RLIMIT_CORE": 0,
    }
    signal.setitimer(signal.ITIMER_REAL, seconds)
    for name, most in bounds.items():
        with contextlib.suppress(ValueError, OSError):  # macOS takes no bound of address space
            resource.setrlimit(getattr(resource, name), (most, most))


def _say(value: Any) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=True, allow_nan=False) + "\n")


def _answer(request: dict[str, Any]) -> None:
    sql, values = request["sql"], request["values"]
    word = _LEADING.match(sql)
    if word is None or word[1].lower() not in ("select", "with", "values"):
        raise QuestionRefused("a question begins with SELECT or WITH")
    _check(sql, values)
    connection = opened_to_read(index_path(Path(request["state"])))
    past = request.get("past")
    install(connection, None if past is None else Path(past), request.get("provenance", ""))
    _bound(connection)
    connection.set_authorizer(_views_only)
    cursor = connection.execute(sql, values)
    if cursor.description is None:
        raise QuestionRefused("that is no question: it has no columns")
    _say({"columns": [name for name, *_ in cursor.description]})
    room, more = MAX_ANSWER, True
    for _ in range(request["rows"]):
        row = cursor.fetchone()
        if row is None:
            more = False
            break
        told = json.dumps([_plain(value) for value in row], ensure_ascii=True)
        room -= len(told)
        if room < 0:
            break
        sys.stdout.write(told + "\n")
    _say({"truncated": more and (room < 0 or cursor.fetchone() is not None)})


def _check(sql: str, values: dict[str, Any]) -> None:
    """Compile a statement where there are views and nothing else. Raises `sqlite3.Error`."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        imitate(connection)
        _bound(connection)
        connection.set_authorizer(_imitations_only)
        connection.execute(f"EXPLAIN {sql}", values)
    finally:
        connection.close()


def _bound(connection: sqlite3.Connection) -> None:
    for limit, most in _LIMITS.items():
        connection.setlimit(limit, most)


def _imitations_only(
    action: int, one: str | None, two: str | None, _database: str | None, _source: str | None
) -> int:
    if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        return _is((two or "").lower() in FUNCTIONS)
    name = (one or "").lower()
    # Of a common table that is only counted, its name is asked about, with no column.
    is_counted = not two and not name.startswith(("sqlite_", "pragma_"))
    return _is(action == sqlite3.SQLITE_READ and (name in BY_NAME or is_counted))


def _views_only(
    action: int, one: str | None, two: str | None, database: str | None, source: str | None
) -> int:
    # A table below a view has its name: only the view is in `temp`.
    is_below = action == sqlite3.SQLITE_READ and (database != "temp" or one == GONE)
    if not is_below or not two:
        return _imitations_only(action, one, two, database, source)
    return _is((source or "").lower() in BY_NAME and (one in TABLES or one == GONE))


def _is(allowed: bool) -> int:
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _plain(value: Any) -> Any:
    """Return a value for JSON: bytes as their digits, what is no number as nothing."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


if __name__ == "__main__":
    sys.exit(main())
