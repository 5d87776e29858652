"""The host of conversations with GitHub's Copilot Language Server."""
