"""The permissions that were asked for in a folder, of all that was recorded."""

import sqlite3
from collections.abc import Iterator

from tapui.index.search import Search, record_at
from tapui.wire import events as ev
from tapui.wire.subjects import Approval

_ASKED = (
    "SELECT r.file, r.offset, u.name, r.seq FROM rows r JOIN runs u ON u.id = r.run"
    " WHERE r.kind = 'approval' AND r.session IN"
    " (SELECT id FROM sessions WHERE cwd = :folder OR substr(cwd, 1, :length) = :below)"
    " ORDER BY r.id DESC LIMIT :most"
)


def permissions_asked(search: Search, folder: str, most: int) -> Iterator[Approval]:
    """Yield the permissions that sessions in a folder, or below it, asked for, the newest first.

    At most `most` records of requests and answers are looked at. Raises `IndexUnusable`.
    """
    below = f"{folder.rstrip('/')}/"
    given = {"folder": folder, "below": below, "length": len(below), "most": most}
    try:
        for file, offset, run, seq in search.opened().execute(_ASKED, given).fetchall():
            path = search.path_of(file)
            record = record_at(path, offset, run, seq) if path is not None else None
            event = record.event if record is not None else None
            if isinstance(event, ev.ApprovalRequested) and event.approval.kind == "permission":
                yield event.approval
    except sqlite3.Error as error:
        raise search.unusable(error) from None
