"""A gateway to talk to, and one with a host, a session, a provider and a tower."""

from dataclasses import dataclass

import pytest

from tests.core.harness import Conversation, Peer
from tests.core.runner import EmitterShell


@pytest.fixture
def talk() -> Conversation:
    return Conversation()


@dataclass
class Scene:
    """A host with session `s1`, a provider `greeter` in it, and a tower."""

    talk: Conversation
    host: Peer
    provider: Peer
    tower: Peer


@pytest.fixture
def scene(talk: Conversation) -> Scene:
    host = talk.host()
    host.open("s1")
    provider = talk.provider("s1")
    tower = talk.tower()
    talk.wait(1)
    talk.forget()
    return Scene(talk, host, provider, tower)


@pytest.fixture
def shell(talk: Conversation) -> EmitterShell:
    """A gateway's shell that runs emitters."""
    talk.runner.begin()
    return talk.runner


@pytest.fixture
def host(talk: Conversation) -> Peer:
    return talk.host()


@pytest.fixture
def tower(talk: Conversation) -> Peer:
    return talk.tower()
