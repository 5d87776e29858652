"""What the real CLI tells of a session beside its turns, as its agent reads it."""

from collections.abc import Iterator

import pytest

from tapui.wire.host import SessionLook, SessionLooked, SessionOpen
from tests.hosts.gateway import GatewayPlayed, HostThread
from tests.rig.copilot import Copilot


@pytest.fixture
def gateway(copilot: Copilot) -> Iterator[GatewayPlayed]:
    """It has the CLI's session."""
    played = GatewayPlayed()
    with HostThread(played, copilot.copilot_home):
        played.wait(SessionOpen)
        yield played


def test_tasks_schedules_canvases_and_the_screen_are_told(gateway: GatewayPlayed) -> None:
    session = gateway.wait(SessionOpen).session.id
    gateway.tell(SessionLook("lk-1", session))
    told = gateway.wait(SessionLooked, id="lk-1", within=10)
    assert (told.tasks, told.schedules, told.canvases) == ([], [], [])
    assert told.unknown == {}
    assert told.ui is not None
    assert told.ui["elicitation"] is True
