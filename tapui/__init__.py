"""tapui: the control tower for GitHub Copilot sessions."""

__version__ = "0.1.0"

DEFAULT_PORT = 9400
"""The gateway's port where none is set."""
