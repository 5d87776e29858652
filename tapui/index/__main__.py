"""The process that keeps the index: `python -m tapui.index STATE [--keep-days N] [--idle SECONDS]`.

It also removes records that are too old. It ends with its parent (the end of its input), when
nothing was recorded for a while, and at once where another process keeps the index.
"""

import argparse
import logging
import os
import select
import sqlite3
import sys
import time
from pathlib import Path

from tapui.index.sources import Watch
from tapui.index.store import IndexHeld, check_reports, discard, index_path, is_damage, writing
from tapui.index.update import Updater
from tapui.records.retention import expire
from tapui.text import safe_text

LOOK_SECONDS = 0.5
"""Seconds between two looks at what is written to now."""
SURVEY_SECONDS = 60.0
"""Seconds between two looks at everything."""
EXPIRE_SECONDS = 24 * 3600.0
"""Seconds between two looks for records that are too old."""
_NICE = 10
_NAMED = 5
_LOG_FORMAT = "%(levelname)s %(name)s: %(message)s"
"""As `ProgramLog` in `runtime.children.supervisor` reads it, which is a floor above."""

_log = logging.getLogger(__name__)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tapui.index")
    parser.add_argument("state", type=Path)
    parser.add_argument("--keep-days", type=int, metavar="N", help="remove older records")
    parser.add_argument("--idle", type=float, default=60.0, metavar="SECONDS")
    options = parser.parse_args()
    logging.basicConfig(format=_LOG_FORMAT, level=logging.INFO, stream=sys.stderr)
    os.nice(_NICE)
    while not _is_orphaned():  # what a parent that is gone had may have been removed since
        try:
            with writing(options.state) as connection:
                _keep(connection, options.state, options.idle, options.keep_days)
        except IndexHeld as held:
            _log.info("the index is kept by another process: %s", held)
        except sqlite3.DatabaseError as error:
            # The parent starts this process again later: a full disk may have room by then.
            if not is_damage(error):
                _log.warning("the index cannot be written: %s", error)
                return 1
            discard(index_path(options.state), error)
            continue
        except OSError as error:
            where = safe_text(str(error.filename or options.state))
            _log.warning("the index cannot be kept: %s: %s", where, error.strerror or error)
            return 1
        break
    return 0


def _keep(connection: sqlite3.Connection, state: Path, idle: float, days: int | None) -> None:
    updater = Updater(connection, stop=_is_orphaned)
    watch = Watch(state)
    surveyed = expired = 0.0
    last = time.monotonic()
    while not _is_orphaned():
        now = time.monotonic()
        is_survey = not surveyed or now - surveyed > SURVEY_SECONDS
        if days is not None and (not expired or now - expired > EXPIRE_SECONDS):
            expired = now
            _expire(state, days)
        check_reports(state)
        before = connection.total_changes
        updater.update(watch.survey() if is_survey else watch.active(), is_all=is_survey)
        if is_survey:
            surveyed = now
        if connection.total_changes != before:
            last = now
        elif now - last > idle:
            return
        select.select([sys.stdin], [], [], LOOK_SECONDS)


def _expire(state: Path, days: int) -> None:
    removed = expire(state, days)
    if removed:
        ended = ", ".join(safe_text(session_id) for session_id in removed[:_NAMED])
        more = f" and {len(removed) - _NAMED} more" if len(removed) > _NAMED else ""
        _log.info("records of %d days and older were removed: %s%s", days, ended, more)


def _is_orphaned() -> bool:
    """Return whether the parent is gone: nothing is ever written to the input."""
    return bool(select.select([sys.stdin], [], [], 0)[0])


if __name__ == "__main__":
    sys.exit(main())
