"""tapui: the control tower for GitHub Copilot sessions."""

__version__ = "0.1.0"
