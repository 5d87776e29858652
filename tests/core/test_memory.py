"""The core's memory: nothing stays of those who have gone, and nothing waits for the collector."""

from random import Random

from tests.core import says
from tests.core.harness import EVERYTHING, Conversation
from tests.rig.memory import left_to_the_collector

MOST_PEERS = 14


def live(talk: Conversation, dice: Random, steps: int) -> None:
    """Let peers of all sorts come, talk and go by the dice; at the end time passes alone."""
    for _ in range(steps):
        open_ = [peer for peer in talk.peers.values() if peer.state != "Closed"]
        step = dice.random()
        if len(open_) < 4 or (step < 0.1 and len(open_) < MOST_PEERS):
            says.arrive(talk, dice)
        elif step < 0.85:
            peer = dice.choice(open_)
            peer.say(says.SPEAKERS[peer.state](talk, dice, peer))
        elif step < 0.9:
            peer = dice.choice(open_)
            peer.say(says.garbled(dice, says.SPEAKERS[peer.state](talk, dice, peer)))
        elif step < 0.97:
            talk.wait(dice.choice((0.001, 0.05, 0.2, 1.0, 5.0, 12.0)))
        else:
            dice.choice(open_).drop()
        talk.forget()
    for peer in list(talk.peers.values()):
        peer.drop()
    talk.wait(EVERYTHING)
    talk.forget()
    talk.peers.clear()


def test_what_is_dropped_is_freed_without_the_collector() -> None:
    talk = Conversation()
    talk.local()
    talk.tools()
    with left_to_the_collector("tapui") as left:
        live(talk, Random(1), 3000)
    assert left == {}
