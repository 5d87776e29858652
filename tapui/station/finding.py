"""How a tower is given what finds: nothing of the index is loaded before it is needed."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tapui.tower.app.services import Finder


def finder_of(state_dir: Path) -> "Callable[[], Finder]":
    """Return what makes a finder in the records of a home, on the thread that calls it."""

    def make() -> "Finder":
        from tapui.station.index_finder import IndexFinder

        return IndexFinder(state_dir)

    return make
