"""The permissions that were asked for in a folder, from the index."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tapui.index.search import Search, permissions_asked
from tapui.index.store import IndexMissing
from tapui.index.update import bring_up_to_date
from tapui.projection.approvals import request
from tests.index.played import permission
from tests.records.turns import Writer, opened


@pytest.fixture
def search(state: Path) -> Iterator[Search]:
    made = Search(state)
    yield made
    made.close()


def asked(search: Search, folder: str, most: int = 100) -> list[str]:
    return [request(one) for one in permissions_asked(search, folder, most)]


def test_what_was_asked_in_a_folder_and_below_it_newest_first(
    state: Path, tmp_path: Path, search: Search
) -> None:
    with pytest.raises(IndexMissing):
        asked(search, "/code")
    places = {"s1": "/code", "s2": "/code/app", "s3": "/codex"}
    for id_ in places:
        (tmp_path / id_).mkdir()
    with Writer(state) as writer:
        for number, (id_, cwd) in enumerate(places.items()):
            began = opened(id_, tmp_path / id_)
            writer.turn(replace(began, session=replace(began.session, cwd=cwd)))
            writer.turn(*permission(f"a{number}", f"run {id_}", id_))
    assert bring_up_to_date(state, 30) == "current"
    assert asked(search, "/code") == ["run s2", "run s1"]
    assert asked(search, "/code", most=2) == ["run s2"]
    assert asked(search, "/code_") == []


def test_records_that_are_gone_are_left_out(state: Path, workspace: Path, search: Search) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace))
        writer.turn(*permission("a1", "npm ci"))
    assert bring_up_to_date(state, 30) == "current"
    (cwd,) = search.opened().execute("SELECT cwd FROM sessions WHERE name = 's1'").fetchone()
    assert asked(search, cwd) == ["npm ci"]
    for path in workspace.rglob("*.jsonl"):
        path.unlink()
    fresh = Search(state)
    assert asked(fresh, cwd) == []
    fresh.close()
