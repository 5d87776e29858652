"""The files of a whole random run fold to the state that the gateway had."""

from pathlib import Path
from random import Random

import pytest

from tapui.records import register
from tapui.records.journal import Journal
from tapui.records.reader import Damage
from tapui.settings.settings import Records
from tapui.wire.codec import encode
from tapui.wire.events import Entry
from tests.core import says
from tests.core.harness import Conversation
from tests.rig.replayed import replay

STEPS = 400


def speak(talk: Conversation, dice: Random) -> None:
    """Let one step of a conversation happen."""
    peers = [peer for peer in talk.peers.values() if peer.state != "Closed"]
    if len(peers) < 8 and talk.gateway.refusal() is None:
        says.arrive(talk, dice)
    kind = dice.randrange(20)
    if kind == 0:
        talk.wait(dice.choice([0.1, 1.0, 6.0, 31.0]))
    elif kind == 1 and len(peers) > 4:
        dice.choice(peers).drop()
    elif peers:
        peer = dice.choice(peers)
        if (state := peer.state) in says.SPEAKERS:
            message = says.SPEAKERS[state](talk, dice, peer)
            peer.say(message if kind > 3 else says.garbled(dice, message))


@pytest.mark.machine
@pytest.mark.parametrize("seed", range(6))
def test_the_journal_of_a_run_is_its_state(tmp_path: Path, seed: int) -> None:
    dice, talk = Random(seed), Conversation()
    state_dir = tmp_path / "state"
    journal = Journal(state_dir, "run-1", Records(), lambda line, level: None)
    talk.local()
    talk.tools()
    talk.host().open("s1", workspace=str(tmp_path / "workspace"))
    (tmp_path / "workspace").mkdir()
    written: list[Entry] = []

    def write() -> None:
        entries, talk.entries = talk.entries, []
        assert not journal.write([(entry, encode(entry.event)) for entry in entries])
        written.extend(entries)

    write()
    for _ in range(STEPS):
        speak(talk, dice)
        write()
    assert journal.close(10.0)
    kinds = {type(entry.event).__name__ for entry in written}
    assert len(kinds) > 12, kinds
    assert [entry.seq for entry in written] == list(range(1, talk.gateway.seq + 1))
    damage = Damage()
    known = [folder for found in register.sessions(state_dir).values() for folder in found]
    folders = [*known, *register.gateway_folders(state_dir)]
    assert replay(folders, "run-1", damage=damage) == talk.gateway.state
    assert damage == Damage()
