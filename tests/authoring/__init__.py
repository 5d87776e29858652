"""Tools for authors of providers."""
