"""`tapui search`: finds words in everything that was recorded, without a gateway."""

import argparse
import heapq

from tapui import times
from tapui.cli import output
from tapui.cli.arguments import CommandParser, count, moment
from tapui.cli.failure import FAILED, WRONG_USE, Failure
from tapui.cli.journals import indexed_session, open_index
from tapui.index.search import Hit, query_of

COMMANDS = """
190 search: find words in everything that was recorded
"""

LAST = 20
"""Hits that are printed when `--last` does not say how many."""
_SESSION = 24
_TITLE = 60


def arguments(search: CommandParser) -> None:
    search.runs(
        run,
        "Prompts, messages, calls with arguments and results, lines of streams,\n"
        "approvals, errors. All words must be there:\n"
        '  word  beginning*  "one after the other"  changed:FILE\n'
        "No gateway needs to run; what is not indexed yet is indexed first.",
    )
    search.add_argument("text", metavar="TEXT", nargs="+", help="what to look for")
    search.add_argument("--session", metavar="ID", help="only this session (all sessions)")
    search.add_argument("--last", type=count, metavar="N", help="only the newest N (20)")
    search.add_argument(
        "--since", type=moment, metavar="TIME", help="only since then: 2h, 3d, 2026-11-20"
    )
    search.add_argument("--json", action="store_true", help="print a JSON object a line")


def run(args: argparse.Namespace) -> int:
    """Print the newest hits, oldest first; 1 when nothing was found."""
    query = query_of(" ".join(args.text))
    if query.is_empty:
        raise Failure("there is nothing to look for: give words of letters or digits", WRONG_USE)
    limit = args.last or LAST
    with open_index() as search:
        session = indexed_session(search, args.session)
        parts = search.find(query, session_id=session, since=args.since, limit=limit)
        hits = heapq.nlargest(limit, (hit for part in parts for hit in part), key=_number)
    for hit in reversed(hits):
        if args.json:
            output.say_json(hit)
        else:
            _print(hit)
    if not hits:
        output.note("nothing was found")
    return 0 if hits else FAILED


def _number(hit: Hit) -> int:
    return hit.id


def _print(hit: Hit) -> None:
    turn = f"turn {hit.turn}" if hit.turn is not None else ""
    cut = "  (cut: the record holds only its beginning)" if hit.is_cut else ""
    output.say(
        f"{times.date_and_time(hit.ts)}  {hit.session[:_SESSION]:<{_SESSION}}  {turn:<8}  "
        f"{hit.kind:<8}  {hit.title[:_TITLE]}{cut}"
    )
    if hit.excerpt.strip() != hit.title.strip():
        output.say(f"    {hit.excerpt}")
