"""`tapui usage`: what sessions used of which models, from the records, without a gateway."""

import argparse
from collections.abc import Callable

from tapui import times
from tapui.cli import output
from tapui.cli.arguments import CommandParser, moment
from tapui.cli.failure import FAILED
from tapui.cli.journals import indexed_session, open_index
from tapui.index.usage import ModelUse, SessionUse, usage_of_sessions
from tapui.projection.turns.usage import added, total
from tapui.text import cut
from tapui.wire.turns import Usage

COMMANDS = """
220 usage: show what sessions used: tokens, and cost or premium requests where they are known
"""

_LABEL, _MODEL = 32, 40
_OTHER = "(other)"

_COLUMNS: tuple[tuple[str, Callable[[Usage], float | None]], ...] = (
    ("CALLS", lambda usage: usage.calls),
    ("INPUT", lambda usage: usage.input),
    ("OUTPUT", lambda usage: usage.output),
    ("CACHE READ", lambda usage: usage.cache_read),
    ("CACHE WRITE", lambda usage: usage.cache_write),
    ("COST", lambda usage: usage.cost),
    ("PREMIUM", lambda usage: usage.requests),
    ("CREDITS", lambda usage: usage.credits),
)
_ALWAYS = 3
"""So many columns are there also where all their figures are unknown."""


def arguments(usage: CommandParser) -> None:
    usage.runs(
        run,
        "A row for each session and model. The sums hold what a session used before\n"
        "tapui came, or while it was away; with --since that is left out: it has no time.\n"
        "No gateway needs to run.",
    )
    usage.add_argument("--session", metavar="ID", help="only this session (all sessions)")
    usage.add_argument(
        "--since", type=moment, metavar="TIME", help="only since then: 2h, 3d, 2026-11-20"
    )
    usage.add_argument("--json", action="store_true", help="print it as JSON")


def run(args: argparse.Namespace) -> int:
    """Print a row for each session and model, and what all used; 1 when nothing was recorded."""
    with open_index() as search:
        session = indexed_session(search, args.session)
        found = usage_of_sessions(search, session_id=session, since=args.since)
    usage, history, again = (
        total(one.usage for one in found),
        total(one.history for one in found),
        total(one.again for one in found),
    )
    if args.json:
        told = {"usage": usage, "history": history, "again": again}
        output.say_json({**told, "models": _models(found), "sessions": found}, indent=2)
    elif found:
        _print(found, usage)
        _note_history(history, found)
        if again != Usage():
            names = _named([one.session for one in found if one.again != Usage()])
            output.note(
                f"of these, {again.input:,} tokens in and {again.output:,} out ({names}) were used "
                "after an agent was sent back"
            )
    if not found:
        output.note("nothing was recorded of what models used")
    return 0 if found else FAILED


def _models(found: list[SessionUse]) -> list[ModelUse]:
    """Return what all sessions used together, by model, in the order in which they appear."""
    models: dict[str, ModelUse] = {}
    for one in (use for session in found for use in session.models):
        known = models.get(one.model)
        models[one.model] = one if known is None else _together(known, one)
    return list(models.values())


def _together(one: ModelUse, other: ModelUse) -> ModelUse:
    usage, history = added(one.usage, other.usage), added(one.history, other.history)
    return ModelUse(one.model, usage, history, added(one.again, other.again))


def _print(found: list[SessionUse], usage: Usage) -> None:
    columns = [
        (name, read) for at, (name, read) in enumerate(_COLUMNS) if at < _ALWAYS or read(usage)
    ]
    rows = []
    for session in found:
        label, last = _cut(session.session, _LABEL), times.date_and_time(session.last)
        for one in session.models:
            figures = [_figure(read(one.usage)) for _, read in columns]
            rows.append([label, _cut(one.model or _OTHER, _MODEL), *figures, last])
            label, last = "", ""
    rows.append(["all", "", *[_figure(read(usage)) for _, read in columns], ""])
    titles = ["SESSION", "MODEL", *[name for name, _ in columns], "LAST"]
    output.table(titles, rows, margin="", numbers=range(2, 2 + len(columns)))


def _note_history(history: Usage, found: list[SessionUse]) -> None:
    """Say how much of it Copilot told in one sum, because tapui was not there."""
    if history == Usage():
        return
    of_whom = _named([one.session for one in found if one.history != Usage()])
    output.note(
        f"of these, {history.input:,} tokens in and {history.output:,} out ({of_whom}) were used "
        "before tapui came or while it was away: the session told them as one sum"
    )


def _named(names: list[str]) -> str:
    return _cut(names[0], _LABEL) if len(names) == 1 else f"{len(names)} sessions"


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def _cut(text: str, width: int) -> str:
    return cut(" ".join(text.split()), width)
