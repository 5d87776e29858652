"""`tapui search`: finds words in everything that was recorded, without a gateway."""

import argparse
import heapq

from tapui import times
from tapui.cli import output
from tapui.cli.context import home
from tapui.cli.failure import FAILED, WRONG_USE, Failure
from tapui.cli.journals import search_of
from tapui.cli.meant import session_meant
from tapui.index.asked import asked_for
from tapui.index.search import Hit, Search
from tapui.index.store import IndexUnusable

LAST = 20
"""Hits that are printed when `--last` does not say how many."""
_SESSION = 24
_TITLE = 60


def run(args: argparse.Namespace) -> int:
    """Print the newest hits, oldest first; 1 when nothing was found."""
    asked = asked_for(" ".join(args.text))
    if asked.is_empty:
        raise Failure("there is nothing to look for: give words of letters or digits", WRONG_USE)
    search = search_of(home().state)
    limit = args.last or LAST
    try:
        session = indexed_session(search, args.session)
        parts = search.find(asked, session_id=session, since=args.since, limit=limit)
        hits = heapq.nlargest(limit, (hit for part in parts for hit in part), key=_number)
    except IndexUnusable as error:
        raise Failure(f"the index cannot be read: {error}") from None
    finally:
        search.close()
    for hit in reversed(hits):
        if args.json:
            output.say_json(hit)
        else:
            _print(hit)
    if not hits:
        output.note("nothing was found")
    return 0 if hits else FAILED


def indexed_session(search: Search, wanted: str | None) -> str | None:
    """Return the session that is meant; raises `Failure`."""
    if wanted is None:
        return None
    none = f"there are no records of session {wanted}"
    return session_meant(search.session_ids(wanted), wanted, otherwise=none)


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
