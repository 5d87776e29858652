"""A runner for a test, closed at its end with all that it started."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.emitters.runner.runs import Rig
from tests.rig.waiting import HUNG


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    made = Rig(tmp_path)
    yield made
    await asyncio.wait_for(made.runner.close(), HUNG)
