"""Programs on a real terminal (tmux)."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.rig.gateway import Home
from tests.rig.tmux import Tmux
from tests.rig.tower import TowerProcess


@pytest.fixture
def start_tower(tmux: Tmux, home: Home) -> Callable[..., TowerProcess]:
    """Start towers with a gateway of their own that attach to nothing."""

    def start(*args: str, **options: Any) -> TowerProcess:
        options = {"size": (120, 36), **options}  # without a detail: a request has a sheet
        return TowerProcess(tmux, home, "--no-attach", "--port", "0", *args, **options)

    return start
