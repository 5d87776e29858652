"""What the tower suggests rules with: answers on record, the rules, and what was refused."""

import os
from pathlib import Path

import pytest

from tapui.index.store import index_path
from tapui.index.update import bring_up_to_date
from tapui.station.tower import RecordedSuggestions
from tapui.times import epoch
from tapui.tower.app.services import EarlierFault
from tests.cli.test_rules import answer
from tests.records.conftest import state, workspace
from tests.records.turns import Writer, opened, stamp

__all__ = ["state", "workspace"]

WRITTEN_OTHERWISE = "rules = [{allow = 'npm ci'}]\n"


@pytest.fixture
def service(state: Path, tmp_path: Path) -> RecordedSuggestions:
    """The suggestions of a home where two commands were allowed three times each."""
    return RecordedSuggestions(state, tmp_path / "config.toml", lambda: epoch(stamp(0)) or 0.0)


@pytest.fixture
def indexed(service: RecordedSuggestions, workspace: Path) -> None:
    began = opened("s1", workspace)
    with Writer(service.state) as writer:
        writer.turn(began)
        for at in range(3):
            for id_, command in (("n", "npm test"), ("g", "git status")):
                writer.turn(*answer(f"{id_}{at}", command, began.session.cwd))
    assert bring_up_to_date(service.state, 60) == "current"


@pytest.mark.usefixtures("indexed")
def test_what_is_taken_and_what_is_refused_are_not_found_again(
    service: RecordedSuggestions,
) -> None:
    first, second = service.found()
    assert service.take(first) is None
    assert service.config.read_text() == first.as_toml()
    assert service.found() == [second]
    assert service.refuse(second) is None
    assert service.found() == []
    assert service.config.read_text() == first.as_toml()


@pytest.mark.usefixtures("indexed")
def test_what_cannot_be_written_is_told_and_nothing_is(service: RecordedSuggestions) -> None:
    service.config.write_text(WRITTEN_OTHERWISE)
    (first, *_others) = found = service.found()
    assert "the rule cannot be written" in (service.take(first) or "")
    assert service.config.read_text() == WRITTEN_OTHERWISE
    (service.state / "refused-suggestions.json").mkdir()
    assert "It will be shown again" in (service.refuse(first) or "")
    assert service.found() == found


def test_without_an_index_it_says_so(service: RecordedSuggestions) -> None:
    with pytest.raises(EarlierFault, match="Nothing is indexed of the records yet"):
        service.found()


@pytest.mark.usefixtures("indexed")
def test_a_damaged_index_says_so(service: RecordedSuggestions) -> None:
    os.truncate(index_path(service.state), 100)
    with pytest.raises(EarlierFault, match="cannot be read"):
        service.found()
