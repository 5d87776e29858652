"""A home with records, and its index."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tapui.index.search import Hit, Search, query_of
from tapui.index.update import bring_up_to_date
from tests.records.conftest import state, workspace

__all__ = ["Find", "find", "state", "workspace"]


Find = Callable[..., list[Hit]]


@pytest.fixture
def find(state: Path) -> Iterator[Find]:
    """Bring the index up to date, then find: the newest first."""
    search = Search(state)

    def found(text: str, *, is_typing: bool = False, **options: object) -> list[Hit]:
        assert bring_up_to_date(state, 30) == "current"
        parts = search.find(query_of(text, is_typing=is_typing), **options)  # type: ignore[arg-type]
        return sorted((hit for part in parts for hit in part), key=lambda hit: -hit.id)

    yield found
    search.close()
