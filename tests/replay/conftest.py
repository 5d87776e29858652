"""A home whose records are replayed."""

from tests.records.conftest import state, workspace
from tests.rig.idle import own_idle

__all__ = ["own_idle", "state", "workspace"]
