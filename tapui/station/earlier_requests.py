"""What was asked earlier, from the index of a home; nothing of it is loaded before it is needed."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tapui.text import safe_text
from tapui.tower.app.services import EarlierFault, EarlierRequests

if TYPE_CHECKING:
    from tapui.wire.subjects import Approval


def earlier_requests_of(state_dir: Path) -> EarlierRequests:
    """Return what reads the permissions that were asked for, on the thread that calls it."""

    def asked(folder: str, most: int) -> "Iterator[Approval]":
        from tapui.index.permissions import permissions_asked
        from tapui.index.search import Search
        from tapui.index.store import IndexMissing, IndexUnusable

        search = Search(state_dir)
        try:
            yield from permissions_asked(search, folder, most)
        except IndexMissing:
            raise EarlierFault("Nothing is indexed of the records yet.") from None
        except IndexUnusable as error:
            said = safe_text(str(error), limit=200)
            raise EarlierFault(f"The index of the records cannot be read ({said}).") from None
        finally:
            search.close()

    return asked
