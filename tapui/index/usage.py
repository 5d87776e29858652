"""What models used, of all that was recorded: a row for each answer, added up when asked.

Two kinds of rows: an *answer* of a model (`assistant.usage`), and what a *total* said beyond them:
all that a session used of a model since its beginning, as its host told it (`session.usage`), also
before tapui came. The plain sum of a session's rows is what it used: `tapui usage` and the view
`usage` are the same rows. What a running session has used, which budgets look at, is folded from
the same events by the same functions (`projection.turns.usage`).
"""

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tapui.index.facts import Names
from tapui.index.numbering import BITS, first_id, id_at, time_of
from tapui.index.search import Search
from tapui.projection.turns.usage import (
    OTHER,
    added,
    bounded,
    less,
    model_of,
    tokens,
    total,
    totals_of,
    usage_of,
)
from tapui.wire import events as ev
from tapui.wire.turns import Usage

_FIGURES = ("input", "output", "cost", "requests", "cache_read", "cache_write", "credits", "calls")
_ANSWER, _FIRST, _LATER = "answer", "first total", "total"
_SUMS = ", ".join(f"sum({name})" for name in _FIGURES)
_ROW = f"INSERT OR REPLACE INTO usage VALUES ({', '.join('?' * 19)})"
_DAY = 86_400_000_000
"""Microseconds."""
_KNOWN = (
    f"SELECT n.name, {_SUMS}, max(kind <> '{_ANSWER}') FROM usage u JOIN names n ON n.id = u.model"
    " WHERE session = ? GROUP BY n.name"
)
_USED = (
    f"SELECT session, model, kind, is_again, {_SUMS}, min(id), max(id) FROM usage"
    " WHERE id >= :since AND (:session IS NULL OR session = :session)"
    " GROUP BY session, model, kind, is_again"
)


@dataclass(frozen=True, slots=True)
class UsageRow:
    """What a record says of one model. `place` is the record's (`IndexRow.place`).

    `is_again`: its turn had been sent back.
    """

    place: tuple[int, int, int | None, int, int, int | None]
    ts: str
    model: str
    is_total: bool
    usage: Usage
    is_again: bool = False


class ModelUse(Struct, rename="camel", frozen=True):
    """What a session used of one model. `history`: the tokens and answers of `usage` that
    tapui did not see; `again`: what of it turns used after their agent was sent back."""

    model: str
    usage: Usage
    history: Usage = Usage()
    again: Usage = Usage()


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
    again: Usage = Usage()


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


class UsageWriter:
    """Writes what was used as rows whose plain sum is what was used in all.

    Of a total, what it has beyond the rows before it is written: what tapui did not see. That may
    be less than nothing, where a total says less than was seen.
    """

    def __init__(self, connection: sqlite3.Connection, names: Names) -> None:
        self._connection = connection
        self._names = names
        self._known: dict[int, dict[str, Usage]] = {}
        """What the rows of a session say so far, of sessions with totals."""
        self._told: set[int] = set()
        """The sessions that have a total."""

    def forget(self) -> None:
        """Rows were taken out: read what is left, when it is needed."""
        self._known.clear()
        self._told.clear()

    def write(self, rows: Iterable[UsageRow]) -> None:
        first: dict[int, tuple[int, int]] = {}
        for row in rows:
            file, offset, session, run, seq, turn = row.place
            assert session is not None
            kind, used, is_new = _ANSWER, row.usage, True
            if row.is_total:
                known = self._known_of(session)
                used = _beyond(row.usage, known.get(row.model, Usage()))
                is_new = row.model not in known or any(msgspec.structs.astuple(used))
                if session not in self._told:
                    self._told.add(session)
                    first[session] = run, seq
                kind = _FIRST if first.get(session) == (run, seq) else _LATER
            if session in self._known:
                known = self._known[session]
                known[row.model] = added(known.get(row.model, Usage()), used)
            if not is_new and kind == _LATER:
                continue
            at = first_id(row.ts) or 0
            self._connection.execute(
                _ROW,
                (
                    (at >> BITS) // _DAY, self._names.number(row.model or _NO_NAME), session, at,
                    run, seq, file, offset, turn, kind, used.input, used.output,
                    used.cost, used.requests, used.cache_read, used.cache_write, used.credits,
                    used.calls, row.is_again,
                ),
            )  # fmt: skip

    def _known_of(self, session: int) -> dict[str, Usage]:
        known = self._known.get(session)
        if known is None:
            known = self._known[session] = {}
            for model, *sums, has_total in self._connection.execute(_KNOWN, (session,)):
                known["" if model == _NO_NAME else model] = _usage(sums)
                if has_total:
                    self._told.add(session)
        return known


_NO_NAME = "(other)"
"""Models that were not named, in the index."""


def _usage(sums: Iterable[Any]) -> Usage:
    """Return a sum of rows. Parts of amounts that only binary fractions have are dropped."""
    figures: list[Any] = [round(one, 9) if isinstance(one, float) else one for one in sums]
    return Usage(*figures)


def _beyond(told: Usage, known: Usage) -> Usage:
    """Return what a total says beyond what is known, of each figure that it has."""

    def amount(one: float | None, other: float | None) -> float | None:
        return None if one is None else round(one - (other or 0.0), 9)

    return Usage(
        told.input - known.input,
        told.output - known.output,
        amount(told.cost, known.cost),
        amount(told.requests, known.requests),
        told.cache_read - known.cache_read,
        told.cache_write - known.cache_write,
        amount(told.credits, known.credits),
        told.calls - known.calls,
    )


# Adding up


def usage_of_sessions(
    search: Search, *, session_id: str | None = None, since: float | None = None
) -> list[SessionUse]:
    """Return what sessions used, the one that was told of last first. Raises `IndexUnusable`.

    It is the sum of the rows of the view `usage`. With `since` (seconds since the epoch) only what
    tapui saw from then on: what was used while it was away has no time. Premium requests are then
    those between two totals.
    """
    asked = {"since": 0 if since is None else id_at(since), "session": session_id}
    found: dict[str, _SessionSums] = {}
    try:
        connection = search.viewed()
        for session, model, kind, is_again, *sums, first, last in connection.execute(_USED, asked):
            one = found.setdefault(session, _SessionSums(first, last))
            one.first, one.last = min(one.first, first), max(one.last, last)
            name = OTHER if model == _NO_NAME else str(model)
            one.add(name, str(kind), _usage(sums), is_again=bool(is_again))
        labels = dict(connection.execute("SELECT session, label FROM sessions").fetchall())
    except sqlite3.Error as error:
        raise search.unusable(error) from None
    uses = []
    for session, sums in sorted(found.items(), key=lambda item: -item[1].last):
        models = [one.told(name, is_all=since is None) for name, one in sums.models.items()]
        used = sorted(
            (one for one in models if one.usage != Usage()),
            key=lambda one: (-tokens(one.usage), one.model),
        )
        if used:
            uses.append(
                SessionUse(
                    session,
                    str(labels.get(session) or session),
                    time_of(sums.first),
                    time_of(sums.last),
                    total(one.usage for one in used),
                    total(one.history for one in used),
                    used,
                    total(one.again for one in used),
                )
            )
    return uses


@dataclass(slots=True)
class _ModelSums:
    """What a session used of a model: seen in answers, told in totals beyond them, and of that in
    its first; and the answers of turns that had been sent back."""

    seen: Usage = field(default_factory=Usage)
    beyond: Usage = field(default_factory=Usage)
    first: Usage = field(default_factory=Usage)
    again: Usage = field(default_factory=Usage)

    def told(self, model: str, *, is_all: bool) -> ModelUse:
        if is_all:
            history = less(self.beyond, Usage())
            history = replace(history, cost=None, requests=None, credits=None)
            return ModelUse(model, bounded(added(self.seen, self.beyond)), history, self.again)
        requests = added(self.seen, _later_requests(self.beyond, self.first)).requests
        return ModelUse(model, replace(self.seen, requests=requests), again=self.again)


@dataclass(slots=True)
class _SessionSums:
    first: int
    last: int
    models: dict[str, _ModelSums] = field(default_factory=dict)

    def add(self, model: str, kind: str, usage: Usage, *, is_again: bool) -> None:
        one = self.models.setdefault(model, _ModelSums())
        if kind == _ANSWER:
            one.seen = added(one.seen, usage)
            if is_again:
                one.again = added(one.again, usage)
            return
        one.beyond = added(one.beyond, usage)
        if kind == _FIRST:
            one.first = added(one.first, usage)


def _later_requests(beyond: Usage, first: Usage) -> Usage:
    """Return the requests of totals that came after the first one."""
    if beyond.requests is None:
        return Usage()
    return Usage(requests=beyond.requests - (first.requests or 0.0))
