"""Endings of turns that claim what is recorded, and such that do not."""

import pytest

from tapui.core.proof.history import FactHistory
from tapui.core.proof.ledger import read
from tapui.core.proof.turn_proofs import turn_proof
from tests.core.proof.endings.false_endings import FALSE_ENDINGS
from tests.core.proof.endings.played import ROOT, SESSION, PlayedSession
from tests.core.proof.endings.steps import TurnStory
from tests.core.proof.endings.true_endings import HELD_UP, TRUE_ENDINGS

ALL = (*FALSE_ENDINGS, *TRUE_ENDINGS)


def name_of(told: TurnStory) -> str:
    return told.name


def test_the_tables_are_large_and_their_names_differ() -> None:
    assert len(FALSE_ENDINGS) >= 160
    assert len(TRUE_ENDINGS) >= 130
    assert len(HELD_UP) <= len(TRUE_ENDINGS) / 20
    assert len({one.name for one in ALL}) == len(ALL)
    assert not any((one.shown or "").startswith("checked") for one in FALSE_ENDINGS)
    for told in TRUE_ENDINGS:
        assert (told.shown or "checked").startswith("checked") or told in HELD_UP


@pytest.mark.parametrize("told", ALL, ids=name_of)
def test_an_ending_is_shown_as_it_was_recorded(told: TurnStory) -> None:
    """Live, a history folds on; read back, each moment is folded anew, from the bytes up to it."""
    session = PlayedSession(told)
    assert session.shown == told.shown
    lines = session.ledger.splitlines(keepends=True)
    live = FactHistory()
    for count, fact in enumerate(session.facts, 1):
        live.add(fact)
        again = FactHistory()
        for earlier in read(SESSION, b"".join(lines[:count])).facts:
            again.add(earlier)
        assert turn_proof(again, ROOT, told.named) == turn_proof(live, ROOT, told.named)
