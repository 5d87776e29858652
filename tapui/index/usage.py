"""What models used, of all that was recorded: a row for each answer, added up when asked.

Two kinds of rows: an *answer* of a model (`assistant.usage`), and a *total*: all that a session
used of a model since its beginning, as its host told it (`session.usage`), also before tapui came.
Rows of a session are in the order of its records.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tapui.index.rows import first_id, id_at, time_of
from tapui.index.search import Search
from tapui.projection.turns.usage import OTHER, less, model_of, tokens, total, totals_of, usage_of
from tapui.wire import events as ev
from tapui.wire.turns import Usage

_SUMS = (
    "sum(input), sum(output), sum(cost), sum(requests), sum(cache_read), sum(cache_write),"
    " sum(credits), sum(calls)"
)
_LAST = "SELECT session, max(rowid) FROM usage WHERE total IS NOT NULL GROUP BY session"
_BASE = (
    "SELECT session, coalesce(max(CASE WHEN at < :since THEN rowid END), min(rowid)) FROM usage"
    " WHERE total IS NOT NULL GROUP BY session"
)
_TOTALS = (
    "WITH chosen (session, row) AS ({chosen}) SELECT u.session, u.model, {sums} FROM chosen c"
    " JOIN usage one ON one.rowid = c.row JOIN usage u"
    " ON u.session = one.session AND u.at = one.at AND u.total = one.total"
    " GROUP BY u.session, u.model"
)
_ANSWERS = (
    f"WITH chosen (session, row) AS ({_LAST})"
    " SELECT u.session, u.model, u.rowid < coalesce(c.row, 0) AS is_before, {sums}"
    " FROM usage u LEFT JOIN chosen c ON c.session = u.session"
    " WHERE u.total IS NULL AND u.at >= :since GROUP BY u.session, u.model, is_before"
)
_SESSIONS = (
    "SELECT s.id, s.name, s.label, min(u.at), max(u.at) FROM usage u"
    " JOIN sessions s ON s.id = u.session WHERE u.at >= :since"
    " AND (:session IS NULL OR s.name = :session) GROUP BY s.id ORDER BY max(u.at) DESC"
)
_SUMS_OF_U = _SUMS.replace("sum(", "sum(u.")


@dataclass(frozen=True, slots=True)
class UsageRow:
    """What a record says of one model. `total`: the record's number, of totals; else None."""

    file: int
    session: int
    ts: str
    model: str
    total: int | None
    usage: Usage


class ModelUse(Struct, rename="camel", frozen=True):
    """What a session used of one model. `history`: the tokens and answers of `usage` that
    tapui did not see."""

    model: str
    usage: Usage
    history: Usage = Usage()


class SessionUse(Struct, rename="camel", frozen=True):
    """What a session used, the model first that used most.

    `first` and `last` are when tapui was told of it, RFC 3339.
    """

    session_id: str
    session: str
    first: str
    last: str
    usage: Usage
    history: Usage
    models: list[ModelUse]


# Writing


def usage_in(event: ev.AnyEvent) -> Iterator[tuple[str, Usage, bool]]:
    """Yield what a record says of models: name, usage, and whether that is a total."""
    if not isinstance(event, ev.SessionHappened) or event.data is None:
        return
    if event.event not in ("assistant.usage", "session.usage"):
        return
    try:
        data = msgspec.json.decode(event.data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    if not isinstance(data, dict):
        return
    if event.event == "assistant.usage":
        yield model_of(data), usage_of(data), False
        return
    totals = totals_of(data)
    if totals is not None:
        # Nothing used so far is worth a row: what comes later is then known to be new.
        for model, usage in (totals or {OTHER: Usage()}).items():
            yield model, usage, True


def write(connection: sqlite3.Connection, rows: Iterable[UsageRow]) -> None:
    connection.executemany(
        "INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                one.file, first_id(one.ts) or 0, one.session, one.model, one.total,
                one.usage.input, one.usage.output, one.usage.cost, one.usage.requests,
                one.usage.cache_read, one.usage.cache_write, one.usage.credits, one.usage.calls,
            )
            for one in rows
        ],
    )  # fmt: skip


# Adding up


@dataclass(slots=True)
class _Known:
    """What is known of a session and a model: answers until its last total, that total, answers
    after it, and the total at which what is asked for began."""

    before: Usage = field(default_factory=Usage)
    total: Usage | None = None
    after: Usage = field(default_factory=Usage)
    base: Usage | None = None


def usage_of_sessions(
    search: Search, *, session_id: str | None = None, since: float | None = None
) -> list[SessionUse]:
    """Return what sessions used, the one that was told of last first. Raises `IndexUnusable`.

    With `since` (seconds since the epoch) only what tapui saw from then on: what was used while it
    was away has no time. Premium requests are then those between two totals.
    """
    asked = {"since": 0 if since is None else id_at(since), "session": session_id}
    known: defaultdict[int, defaultdict[str, _Known]] = defaultdict(lambda: defaultdict(_Known))
    try:
        connection = search.opened()
        sessions = connection.execute(_SESSIONS, asked).fetchall()
        for session, model, is_before, *sums in connection.execute(
            _ANSWERS.format(sums=_SUMS), asked
        ):
            one = known[session][model]
            if is_before:
                one.before = Usage(*sums)
            else:
                one.after = Usage(*sums)
        for session, model, *sums in _totals(connection, _LAST, asked):
            known[session][model].total = Usage(*sums)
        if since is not None:
            for session, model, *sums in _totals(connection, _BASE, asked):
                known[session][model].base = Usage(*sums)
    except sqlite3.Error as error:
        raise search.unusable(error) from None
    whole = _whole if since is None else _since
    found = []
    for number, name, label, first, last in sessions:
        models = [whole(model, one) for model, one in known[number].items()]
        used = sorted(
            (one for one in models if one.usage != Usage()),
            key=lambda one: (-tokens(one.usage), one.model),
        )
        if used:
            usage, history = total(one.usage for one in used), total(one.history for one in used)
            times = time_of(first), time_of(last)
            found.append(SessionUse(name, str(label or name), *times, usage, history, used))
    return found


def _totals(
    connection: sqlite3.Connection, chosen: str, asked: dict[str, Any]
) -> Iterable[tuple[Any, ...]]:
    return connection.execute(_TOTALS.format(chosen=chosen, sums=_SUMS_OF_U), asked)


def _whole(model: str, known: _Known) -> ModelUse:
    """Return all that was used: the last total, and the answers after it."""
    seen = total((known.before, known.after))
    if known.total is None:
        return ModelUse(model, seen)
    whole = total((known.total, known.after))
    if known.total.cost is None:  # the host tells the cost of answers only
        whole = replace(whole, cost=seen.cost)
    history = less(known.total, known.before)
    return ModelUse(model, whole, replace(history, cost=None, requests=None, credits=None))


def _since(model: str, known: _Known) -> ModelUse:
    seen = total((known.before, known.after))
    if known.total is not None and known.total.requests is not None:
        base = known.base or Usage()
        requests = total((less(known.total, base), known.after)).requests
        seen = replace(seen, requests=requests)
    return ModelUse(model, seen)
