"""A played CLI with one session, and the gateway of a host that has attached to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tapui.hosts.copilot.uplink import HostTiming
from tests.hosts.cli_played import CliPlayed
from tests.hosts.gateway import GatewayPlayed, HostThread
from tests.rig.waiting import until


@pytest.fixture
def cli(copilot_home: Path) -> Iterator[CliPlayed]:
    """A CLI with one session."""
    with CliPlayed(copilot_home, "s1") as played:
        yield played


@pytest.fixture
def gateway(cli: CliPlayed, copilot_home: Path, timing: HostTiming) -> Iterator[GatewayPlayed]:
    """The gateway of a host that has attached to it."""
    played = GatewayPlayed()
    with HostThread(played, copilot_home, timing=timing):
        until(lambda: cli.asked("session.tools.set"), what="the tools")
        yield played
