"""A home whose records are replayed."""

from tests.records.conftest import state, workspace

__all__ = ["state", "workspace"]
