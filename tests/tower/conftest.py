"""Times are shown in the local zone: here that is UTC. The terminal is none of the person's."""

import time
from collections.abc import Iterator

import pytest

from tests.rig.idle import own_idle

__all__ = ["own_idle"]


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("TMUX", raising=False)  # there it is tmux that copies
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
