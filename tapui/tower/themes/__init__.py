"""Themes: their files, and switching them live."""
