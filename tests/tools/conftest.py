"""A gateway whose built-in tools are called by a host."""

from typing import Any

import pytest

from tests.core.harness import Conversation, Json, Peer
from tests.core.runner import EmitterShell


class Caller:
    """The agent of session `s1`: calls tools through its host."""

    def __init__(self, talk: Conversation) -> None:
        talk.tools()
        self.host: Peer = talk.host()
        self.host.open("s1", cwd="/repo")
        self.host.hear()
        self._talk = talk
        self._count = 0

    def begins(self, tool: str, **args: Any) -> str:
        """Call a tool; return the call's id."""
        self._count += 1
        id_ = f"t{self._count}"
        self.host.invoke("s1", tool, id_, args=args)
        return id_

    def outcome(self) -> Json:
        """Return the one outcome since the last time."""
        return self.host.hear_one("tool.outcome")

    def outcomes(self) -> list[Json]:
        """Return the outcomes since the last time."""
        return self.host.hear_of("tool.outcome")

    def calls(self, tool: str, **args: Any) -> Any:
        """Call a tool; return the data of its result."""
        self.begins(tool, **args)
        outcome = self.outcome()
        assert "error" not in outcome, outcome
        return outcome["data"]

    def fails(self, tool: str, **args: Any) -> str:
        """Call a tool; return why it failed. Nothing of it is left."""
        self.begins(tool, **args)
        outcome = self.outcome()
        assert self._talk.gateway.state.calls == {}
        return str(outcome["error"])


@pytest.fixture
def talk() -> Conversation:
    return Conversation()


@pytest.fixture
def shell(talk: Conversation) -> EmitterShell:
    """A gateway's shell that runs emitters."""
    talk.runner.begin()
    return talk.runner


@pytest.fixture
def caller(talk: Conversation, shell: EmitterShell) -> Caller:
    return Caller(talk)


@pytest.fixture
def tower(talk: Conversation) -> Peer:
    return talk.tower()
